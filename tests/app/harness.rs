//! The real program as a service, between the sandbox and a folder of its own.

use std::cell::Cell;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use domain::ports::Store as _;
use sandbox::clock::Clock;
use sandbox::model::{Check, Comment};
use sandbox::{Options, Sandbox};
use store::SqlStore;
use tokio::runtime::Runtime;

use crate::support::root;
use crate::support::world::{alone, beside_others};

/// Ends of waiting that no machine is too slow for: five minutes.
const PATIENCE: u32 = 6000;
const MOMENT: Duration = Duration::from_millis(50);

/// The repository of the tests.
pub(crate) const REPO: &str = "octo/demo";
/// The marker of the suite of the tests.
pub(crate) const MARKER: &str = "<!-- zephyr-ab-test:tiny -->";
/// The marker of the one further comment.
pub(crate) const REPLY: &str = "<!-- zephyr-ab-reply -->";

/// Two short steps; `@ROUNDS@` rounds, judged once.
const SUITE: &str = r#"schema = 1
name = "tiny"
title = "Tiny A/B test"
backend = "local"

[[steps]]
name = "one"
argv = [["sh", "step.sh", "one"]]
limit = "10min"

[[steps]]
name = "two"
argv = [["sh", "step.sh", "two"]]
limit = "10min"

[presets.quick]
default = true
looks = { C = [@ROUNDS@] }
limit = { wall = "20min" }

[presets.other]
looks = { C = [4] }
limit = { wall = "20min" }

[presets.looked]
looks = { C = [4, 6] }
limit = { wall = "20min" }

[scope]
ignore = ["**/*.md"]

[judging]
margin = { cpu = "90%", elapsed = "100%", total_cpu = "90%", total_elapsed = "100%" }
floor = { cpu = "0.005s", elapsed = "0.005s" }
rounds_mode = "in-turn"

[rerun]
env_allowed = ["KNOB"]
@RERUN@
"#;

/// A step that turns a loop. While a file `hold` stands in the folder that `$HOLD` of the script names, it waits.
const STEP: &str = r#"# A benchmark: sh step.sh one|two
hold=@HOLD@
while [ -e "$hold" ]; do sleep 0.05; done
i=0
while [ "$i" -lt @LOOPS@ ]; do i=$(( i + 1 )); done
echo '{"items": 7}'
"#;

/// Milliseconds since 1970.
#[allow(clippy::disallowed_methods)] // the world that the program lives in
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Lets the world go on for a while.
#[allow(clippy::disallowed_methods)] // the world that the program lives in
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A service, and the GitHub that it serves.
pub(crate) struct App {
    pub(crate) sandbox: Sandbox,
    pub(crate) port: u16,
    pub(crate) rounds: u32,
    /// Whether suites may run on this host.
    pub(crate) local: bool,
    /// What the suite says of pushes.
    pub(crate) rerun: String,
    child: Option<Child>,
    hold: tempfile::TempDir,
    /// What the sandbox runs in.
    runtime: Runtime,
    /// Last: whoever wants the machine for itself waits until this is gone.
    _beside: Beside,
}

thread_local! {
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Keeps those away who measure alone, or everybody. One for each thread: a second one would wait for somebody who waits
/// for the first.
struct Beside(Option<RwLockReadGuard<'static, ()>>, Option<RwLockWriteGuard<'static, ()>>);

impl Beside {
    fn others() -> Self {
        let first = HELD.get() == 0;
        HELD.set(HELD.get() + 1);
        Self(first.then(beside_others), None)
    }

    fn nobody() -> Self {
        let first = HELD.get() == 0;
        HELD.set(HELD.get() + 1);
        Self(None, first.then(alone))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        HELD.set(HELD.get().saturating_sub(1));
        drop((self.0.take(), self.1.take()));
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
}

impl App {
    /// A service that is not started yet; its suite judges after so many rounds.
    pub(crate) fn new(rounds: u32) -> Self {
        Self::at(rounds, Arc::new(now_ms))
    }

    /// The same, in a sandbox with this time.
    pub(crate) fn at(rounds: u32, clock: Arc<dyn Clock>) -> Self {
        Self::empty_at(rounds, clock, Beside::others()).furnished()
    }

    /// With the repository of the tests, and configured.
    fn furnished(self) -> Self {
        let app = self;
        app.sandbox.repository(REPO).expect("a repository");
        for (login, role) in [("mona", "write"), ("hubot", "write"), ("bob", "read"), ("visitor", "none")] {
            app.sandbox.grant(REPO, login, role).expect("a right");
        }
        app.sandbox.commit(REPO, "main", &[("step.sh", Some(&app.step(40_000)))], "A benchmark").expect("a commit");
        app.sandbox.install("octo", &[REPO]).expect("an installation");
        app.configure("");
        app
    }

    /// A sandbox without a repository, and a folder without a configuration.
    pub(crate) fn empty(rounds: u32) -> Self {
        Self::empty_at(rounds, Arc::new(now_ms), Beside::others())
    }

    fn empty_at(rounds: u32, clock: Arc<dyn Clock>, beside: Beside) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let port = free_port();
        let contract = fs::read_to_string(root().join("tests/contract/github.json")).expect("the description");
        let options = Options {
            webhook: Some(format!("http://127.0.0.1:{port}/webhook")),
            judge: Some(sandbox::contract::judge(&contract).expect("a description")),
            ..Options::new(clock)
        };
        let sandbox = runtime.block_on(Sandbox::start(options)).expect("a sandbox");
        let hold = tempfile::Builder::new().prefix("zab-app-").tempdir().expect("a folder");
        let rerun = "on_push = \"off\"".to_owned();
        Self { sandbox, port, rounds, local: true, rerun, child: None, hold, runtime, _beside: beside }
    }

    /// A service that runs and has the machine for itself, as far as whole programs go: what it measures is judged.
    pub(crate) fn measuring(rounds: u32, more: &str) -> Self {
        let mut app = Self::empty_at(rounds, Arc::new(now_ms), Beside::nobody()).furnished();
        app.configure(more);
        app.start();
        app
    }

    /// A service that runs.
    pub(crate) fn started(rounds: u32) -> Self {
        let mut app = Self::new(rounds);
        app.start();
        app
    }

    pub(crate) fn folder(&self) -> &Path {
        self.hold.path()
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder().join("data/zephyr-ab.db")
    }

    /// What the service wrote down.
    pub(crate) async fn store(&self) -> SqlStore {
        let url = format!("sqlite:{}", self.database().display());
        SqlStore::open(&url, store::Options::default()).await.expect("a store")
    }

    /// Waits until the service has looked at the log of deliveries once: from here on what is lost is found.
    pub(crate) fn until_swept(&self) {
        self.until("a store", || self.database().exists().then_some(()));
        let store = self.runtime.block_on(self.store());
        self.until("a look at the log of deliveries", || {
            self.runtime.block_on(store.read("service:sweep")).expect("a subject").map(|_| ())
        });
        self.runtime.block_on(store.close());
    }

    /// The text of the benchmark with so many turns.
    pub(crate) fn step(&self, loops: u32) -> String {
        let hold = self.folder().join("hold");
        STEP.replace("@HOLD@", &hold.display().to_string()).replace("@LOOPS@", &loops.to_string())
    }

    /// Lets steps wait, or go on.
    pub(crate) fn hold_steps(&self, hold: bool) {
        let path = self.folder().join("hold");
        if hold {
            fs::write(path, "").expect("a file");
        } else {
            drop(fs::remove_file(path));
        }
    }

    /// Writes the configuration, with more lines for `[service]`.
    pub(crate) fn configure(&self, more: &str) {
        let folder = self.folder();
        fs::create_dir_all(folder.join("suites")).expect("a folder");
        let suite = SUITE.replace("@ROUNDS@", &self.rounds.to_string()).replace("@RERUN@", &self.rerun);
        fs::write(folder.join("suites/tiny.toml"), suite).expect("a suite");
        self.configuration("tiny", &format!("suites_dir = \"suites\"\nlocal_backend = {}\n{more}", self.local));
    }

    /// Writes a configuration that offers one suite, with more lines for `[service]` and what follows it.
    pub(crate) fn configuration(&self, suite: &str, more: &str) {
        let (folder, settings) = (self.folder(), self.sandbox.settings());
        private(&folder.join("key.pem"), sandbox::PRIVATE_KEY);
        private(&folder.join("secret"), &settings.secret);
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:{}\"\n[github]\napp_id = {}\nprivate_key_file = \"key.pem\"\n\
             webhook_secret_file = \"secret\"\napi_url = \"{}\"\nweb_url = \"{}\"\nwrite_pause_ms = 0\n\
             [store]\nurl = \"sqlite:{}\"\n[service]\ndata_dir = \"data\"\nsuites = [\"{suite}\"]\n{more}\n",
            self.port,
            settings.app_id,
            settings.api,
            settings.web,
            self.database().display()
        );
        fs::write(folder.join("zephyr-ab.toml"), text).expect("a configuration");
    }

    /// Starts the service and waits until it answers.
    pub(crate) fn start(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        let log = fs::File::options().create(true).append(true).open(self.folder().join("log")).expect("a log");
        let child = Command::new(env!("CARGO_BIN_EXE_zephyr-ab"))
            .args(["serve", "--config"])
            .arg(self.folder().join("zephyr-ab.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("the service starts");
        self.child = Some(child);
        self.until("the service answers", || {
            assert!(!self.log().contains("\nerror:") && !self.log().starts_with("error:"), "{}", self.log());
            let asked = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
            asked.is_ok().then_some(())
        });
    }

    /// Ends the service at once, without a word.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Asks the service to end and waits for it.
    pub(crate) fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let asked = Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
        assert!(asked.success());
        let ended = child.wait().expect("it ends");
        assert!(ended.success(), "{ended}\n{}", self.log());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("a running service").id()
    }

    /// What the service wrote.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// A pull request whose head turns the loop so often.
    pub(crate) fn pull(&self, branch: &str, loops: u32) -> u64 {
        let step = self.step(loops) + &format!("# {branch}\n");
        self.sandbox.commit(REPO, branch, &[("step.sh", Some(&step))], branch).expect("a commit");
        self.sandbox.pull(REPO, branch, "main", branch, "mona").expect("a pull request")
    }

    /// Somebody comments.
    pub(crate) fn comment(&self, number: u64, by: &str, body: &str) -> u64 {
        self.sandbox.comment(REPO, number, by, body).expect("a comment")
    }

    /// Comments of the app that begin with the marker.
    pub(crate) fn ours(&self, number: u64, marker: &str) -> Vec<Comment> {
        let all = self.sandbox.comments(REPO, number);
        let of = |comment: &Comment| comment.via_app && comment.body.lines().next() == Some(marker);
        all.into_iter().filter(of).collect()
    }

    /// The verdict comment; one at most.
    pub(crate) fn verdict(&self, number: u64) -> Option<String> {
        let mut ours = self.ours(number, MARKER);
        assert!(ours.len() <= 1, "{ours:#?}");
        ours.pop().map(|comment| comment.body)
    }

    /// The reply comment; one at most.
    pub(crate) fn reply(&self, number: u64) -> Option<String> {
        let mut ours = self.ours(number, REPLY);
        assert!(ours.len() <= 1, "{ours:#?}");
        ours.pop().map(|comment| comment.body)
    }

    /// Reactions of the app to a comment, in words.
    pub(crate) fn reactions(&self, comment: u64) -> Vec<String> {
        let all = self.sandbox.reactions();
        let of = |reaction: &&sandbox::model::Reaction| reaction.subject == sandbox::model::Subject::Comment(comment);
        all.iter().filter(of).map(|reaction| reaction.content.clone()).collect()
    }

    pub(crate) fn checks(&self) -> Vec<Check> {
        self.sandbox.checks()
    }

    /// Waits until something is there.
    #[allow(clippy::disallowed_methods)] // other processes, which no clock of ours can move
    pub(crate) fn until<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        for _ in 0..PATIENCE {
            if let Some(found) = found() {
                return found;
            }
            pause(MOMENT);
        }
        let said: Vec<Comment> = (1..100).flat_map(|number| self.sandbox.comments(REPO, number)).collect();
        panic!("waited in vain: {what}\n{}\n{said:#?}\n{:#?}", self.log(), self.sandbox.violations());
    }

    /// Waits until the verdict comment has a text.
    pub(crate) fn until_comment(&self, number: u64, text: &str) -> String {
        let what = format!("the comment of {number} has {text:?}");
        self.until(&what, || self.verdict(number).filter(|body| body.contains(text)))
    }

    /// Waits until the run of a pull request is over, and returns the comment.
    pub(crate) fn until_over(&self, number: u64) -> String {
        self.until("the run is over", || self.verdict(number).filter(|body| is_over(body)))
    }

    /// Nothing that was sent or answered is against the description of GitHub.
    pub(crate) fn assert_lawful(&self) {
        assert_eq!(self.sandbox.violations(), Vec::<String>::new());
    }
}

/// Processes that have to do with a folder: it stands in their command line or environment, or they are in it.
pub(crate) fn living(folder: &Path) -> Vec<String> {
    let part = folder.display().to_string();
    let has = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(&part);
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let of = |process: PathBuf| {
        let read = |name: &str| fs::read(process.join(name)).unwrap_or_default();
        let inside = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let named = inside || has(read("cmdline")) || has(read("environ"));
        named
            .then(|| format!("{}: {}", process.display(), String::from_utf8_lossy(&read("cmdline")).replace('\0', " ")))
    };
    let is_process =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    all.map(|entry| entry.path()).filter(is_process).filter_map(of).collect()
}

/// Waits until no process has to do with a folder.
pub(crate) fn until_nothing_lives(folder: &Path) {
    for _ in 0..PATIENCE {
        if living(folder).is_empty() {
            return;
        }
        pause(MOMENT);
    }
    panic!("still there: {:#?}", living(folder));
}

/// Whether a comment says that its run is over.
pub(crate) fn is_over(body: &str) -> bool {
    ["✅", "⛔", "⚖️", "❔"].iter().any(|sign| body.lines().nth(1).is_some_and(|heading| heading.contains(sign)))
        || ["cancelled", "could not be run", "refused"]
            .iter()
            .any(|word| body.lines().nth(1).is_some_and(|heading| heading.contains(word) && !heading.contains("⏳")))
}

impl Drop for App {
    fn drop(&mut self) {
        self.hold_steps(false);
        self.kill();
    }
}
