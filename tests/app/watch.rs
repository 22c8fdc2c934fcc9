//! What tests of the service wait for and look at, beyond [`super::harness`].

use std::fs;

use domain::ports::desk::AuditLine;
use domain::ports::{Desk as _, Store as _};
use sandbox::exchange::Logged;
use sandbox::model::{Check, Delivery};
use serde_json::Value;
use store::SqlStore;

use super::harness::{App, REPO};

/// Where nobody listens: deliveries that the sandbox sends there do not arrive.
const NOWHERE: &str = "http://127.0.0.1:9/";

/// What is written about a delivery.
pub(crate) struct Fate {
    pub(crate) done: bool,
    pub(crate) outcome: String,
}

/// The text without what colours it.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

impl App {
    /// A service that lets several runs go on at once.
    pub(crate) fn several(rounds: u32) -> Self {
        let mut app = Self::new(rounds);
        app.reconfigure("local_backend = true", "local_backend = true\nruns_at_once = 4");
        app.start();
        app
    }

    /// Changes the configuration of a service that is not started yet.
    pub(crate) fn reconfigure(&self, from: &str, to: &str) {
        let file = self.folder().join("zephyr-ab.toml");
        let text = fs::read_to_string(&file).expect("a configuration");
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replace(from, to)).expect("a configuration");
    }

    /// The line of the verdict comment that says how far it is.
    pub(crate) fn heading(&self, number: u64) -> Option<String> {
        self.verdict(number)?.lines().nth(1).map(str::to_owned)
    }

    /// Waits until the heading of the verdict comment has a text. Returns the comment.
    pub(crate) fn until_heading(&self, number: u64, text: &str) -> String {
        let what = format!("the heading of {number} has {text:?}");
        self.until(&what, || {
            let body = self.verdict(number)?;
            body.lines().nth(1)?.contains(text).then_some(body)
        })
    }

    /// Waits until the reply has a text. Returns it.
    pub(crate) fn until_reply(&self, number: u64, text: &str) -> String {
        let what = format!("the reply on {number} has {text:?}");
        self.until(&what, || self.reply(number).filter(|body| body.contains(text)))
    }

    /// Waits until a comment has such a reaction.
    pub(crate) fn until_reaction(&self, comment: u64, content: &str) {
        let what = format!("{content} for comment {comment}");
        self.until(&what, || self.reactions(comment).iter().any(|found| found == content).then_some(()));
    }

    /// The address of a comment, as it stands in a text.
    pub(crate) fn comment_url(&self, number: u64, comment: u64) -> String {
        format!("{}/{REPO}/pull/{number}#issuecomment-{comment}", self.sandbox.settings().web)
    }

    /// The newest commit of a pull request.
    pub(crate) fn head(&self, number: u64) -> String {
        self.sandbox.look(REPO, number).expect("a pull request").pull.expect("a pull request").head_sha
    }

    /// The checks of a commit.
    pub(crate) fn checks_of(&self, head: &str) -> Vec<Check> {
        self.checks().into_iter().filter(|check| check.head_sha == head).collect()
    }

    /// Waits until there are so many checks.
    pub(crate) fn until_checks(&self, count: usize) {
        self.until("the checks", || (self.checks().len() == count).then_some(()));
    }

    /// Waits until the one check of a commit has ended, and returns how.
    pub(crate) fn until_concluded(&self, head: &str) -> String {
        self.until("the check ends", || {
            let checks = self.checks_of(head);
            assert!(checks.len() <= 1, "{checks:#?}");
            checks.into_iter().next()?.conclusion
        })
    }

    /// Waits until a check of a commit has such a button, and returns the check.
    pub(crate) fn until_button(&self, head: &str, identifier: &str) -> Check {
        self.until(&format!("the button {identifier}"), || {
            let has = |check: &Check| check.actions.iter().any(|action| action.identifier == identifier);
            self.checks_of(head).into_iter().find(has)
        })
    }

    /// Somebody presses a button. Returns what came of it.
    pub(crate) fn press(&self, check: &Check, identifier: &str, by: &str) -> String {
        self.sandbox.press(check.id, identifier, by).expect("a button");
        self.until_handled(&self.newest("check_run").guid)
    }

    /// Fails where something is said or started of a pull request that nobody asked for.
    pub(crate) fn assert_nothing_started(&self, number: u64) {
        assert_eq!(self.verdict(number), None);
        assert_eq!(self.checks_of(&self.head(number)).len(), 0);
    }

    // ---- deliveries ----

    /// Deliveries of the sandbox do not arrive any more: the test makes them.
    pub(crate) fn deliver_by_hand(&self) {
        self.sandbox.set_webhook(NOWHERE);
    }

    /// The newest delivery of an event.
    pub(crate) fn newest(&self, event: &str) -> Delivery {
        let all = self.sandbox.deliveries();
        all.into_iter().rev().find(|delivery| delivery.event == event).expect("a delivery")
    }

    /// A delivery as the sandbox would send it, over a connection of its own. Returns status and answer.
    pub(crate) async fn post(&self, guid: &str, event: &str, payload: &Value) -> (u16, String) {
        let body = payload.to_string().into_bytes();
        let signature = sandbox::signature::sign(&self.sandbox.settings().secret, &body);
        self.posted(guid, event, "application/json", Some(&signature), body).await
    }

    /// Anything, over a connection of its own. Returns status and answer.
    pub(crate) async fn posted(
        &self,
        guid: &str,
        event: &str,
        kind: &str,
        signature: Option<&str>,
        body: Vec<u8>,
    ) -> (u16, String) {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let mut request = client
            .post(format!("http://127.0.0.1:{}/webhook", self.port))
            .header("Content-Type", kind)
            .header("X-GitHub-Event", event)
            .header("X-GitHub-Delivery", guid);
        if let Some(signature) = signature {
            request = request.header("X-Hub-Signature-256", signature);
        }
        let answer = request.body(body).send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.unwrap_or_default())
    }

    /// Delivers something and waits until it is handled. Returns what came of it.
    pub(crate) fn deliver(&self, guid: &str, event: &str, payload: &Value) -> String {
        let (status, answer) = self.runtime().block_on(self.post(guid, event, payload));
        assert!((200..300).contains(&status), "{guid}: {status} {answer}");
        self.until_handled(guid)
    }

    /// What the log says of a delivery, the newest last.
    pub(crate) fn fates(&self, guid: &str) -> Vec<Fate> {
        let log = plain(&self.log());
        let of = log.lines().filter(|line| line.contains(guid) && line.contains(" outcome="));
        let fate = |line: &str| Fate {
            done: line.contains(" done=true "),
            outcome: line.split_once(" outcome=").map(|(_, text)| text.to_owned()).unwrap_or_default(),
        };
        of.map(fate).collect()
    }

    /// Waits until a delivery is handled. Returns what came of it.
    pub(crate) fn until_handled(&self, guid: &str) -> String {
        self.until("a delivery is handled", || {
            self.fates(guid).into_iter().find(|fate| fate.done).map(|fate| fate.outcome)
        })
    }

    /// Waits until everything that the sandbox has told so far is handled, where it has arrived.
    pub(crate) fn all_handled(&self) {
        self.runtime().block_on(self.sandbox.quiesce());
        for delivery in self.sandbox.deliveries().iter().filter(|delivery| delivery.status.as_deref() == Some("OK")) {
            self.until_handled(&delivery.guid);
        }
    }

    /// Waits until the delivery that told of a comment first is handled. Returns what came of it.
    pub(crate) fn outcome(&self, comment: u64) -> String {
        let all = self.sandbox.deliveries();
        let of = |delivery: &&Delivery| {
            delivery.event == "issue_comment"
                && delivery.action.as_deref() == Some("created")
                && delivery.payload["comment"]["id"] == comment
        };
        let guid = all.iter().find(of).expect("a delivery of the comment").guid.clone();
        self.until_handled(&guid)
    }

    // ---- requests ----

    /// The requests of a method whose path ends so, oldest first.
    pub(crate) fn asked(&self, method: &str, end: &str) -> Vec<Logged> {
        let all = self.sandbox.requests();
        all.into_iter().filter(|one| one.method == method && one.path.ends_with(end)).collect()
    }

    /// Nothing was said and nothing was started on a pull request.
    pub(crate) fn assert_silent(&self, number: u64) {
        let ours: Vec<_> = self.sandbox.comments(REPO, number).into_iter().filter(|one| one.via_app).collect();
        assert!(ours.is_empty(), "{ours:#?}");
        let posts = self.asked("POST", &format!("/issues/{number}/comments"));
        assert!(posts.is_empty(), "{posts:#?}");
        assert_eq!(self.checks_of(&self.head(number)).len(), 0);
    }

    // ---- processes and the store ----

    /// The processes beside that of the service that have to do with the folder of this app.
    fn processes(&self, service: Option<u32>) -> Vec<String> {
        let needle = self.folder().to_str().expect("UTF-8").to_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let name = entry.file_name().display().to_string();
            if name.parse::<u32>().ok().is_none_or(|pid| Some(pid) == service) {
                continue;
            }
            let read = |file: &str| {
                let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let cwd = fs::read_link(entry.path().join("cwd")).map(|path| path.display().to_string());
            let line = read("cmdline");
            if [&line, &read("environ"), &cwd.unwrap_or_default()].into_iter().any(|text| text.contains(&needle)) {
                found.push(format!("{name}: {line}"));
            }
        }
        found
    }

    /// The processes that the service has started and that live.
    pub(crate) fn living(&self) -> Vec<String> {
        self.processes(Some(self.pid()))
    }

    /// Waits until no process of a trial lives.
    pub(crate) fn nothing_lives(&self) {
        self.until("no process lives", || self.living().is_empty().then_some(()));
    }

    /// The same, of a service that was killed.
    pub(crate) fn nothing_lives_of_the_dead(&self) {
        self.until("no process lives", || self.processes(None).is_empty().then_some(()));
    }

    /// Reads the store of a service that was stopped.
    pub(crate) fn read_store<T>(&self, read: impl AsyncFnOnce(&SqlStore) -> T) -> T {
        let url = format!("sqlite:{}", self.database().display());
        self.runtime().block_on(async {
            let store = SqlStore::open(&url, store::Options::default()).await.expect("the store");
            let found = read(&store).await;
            store.close().await;
            found
        })
    }

    /// The audit log of a service that was stopped.
    pub(crate) fn audit(&self) -> Vec<AuditLine> {
        self.read_store(async |store| store.audit(200).await.expect("the audit log"))
    }

    /// How the runs of a pull request ended, the oldest first, and whether each ever was in the engine's hands; of a
    /// service that was stopped.
    pub(crate) fn outcomes(&self, number: u64) -> Vec<(Option<String>, bool)> {
        let repo = self.newest_repo();
        self.read_store(async |store| {
            let mut found = Vec::new();
            let mut rows = store.runs(repo, number).await.expect("runs");
            rows.sort_by_key(|row| row.created);
            for row in rows {
                let subject = store.read(&format!("run:{}", row.id)).await.expect("a subject");
                found.push((row.outcome, subject.is_some()));
            }
            found
        })
    }

    /// The number of the repository that was told of last.
    pub(crate) fn newest_repo(&self) -> u64 {
        let all = self.sandbox.deliveries();
        all.iter().rev().find_map(|delivery| delivery.repository).expect("a delivery of the repository")
    }
}
