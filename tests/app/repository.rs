//! What a repository says of itself, through the whole program.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use sandbox::model::Check;

use super::harness::{App, REPO};

const PLACE: &str = ".github/zephyr-ab.toml";

/// What is said of the suite of the tests.
fn tiny(body: &str) -> String {
    format!("schema = 1\n[suites.tiny]\n{body}\n")
}

impl App {
    /// A service that runs; the default branch of its repository says this.
    fn said(rounds: u32, text: &str) -> Self {
        let mut app = Self::new(rounds);
        app.sandbox.commit(REPO, "main", &[(PLACE, Some(text))], "What we want").expect("a commit");
        app.start();
        app
    }

    /// A pull request that would have the repository say something else.
    fn pull_saying(&self, branch: &str, text: Option<&str>) -> u64 {
        let step = self.step(40_000) + &format!("# {branch}\n");
        let files = [("step.sh", Some(step.as_str())), (PLACE, text)];
        self.sandbox.commit(REPO, branch, &files, branch).expect("a commit");
        self.sandbox.pull(REPO, branch, "main", branch, "mona").expect("a pull request")
    }

    /// The check of what a head has the repository say.
    fn until_configured(&self, head: &str, conclusion: &str) -> Check {
        self.until("the check of the configuration", || {
            let mut all = self.checks_of(head);
            all.retain(|check| check.name == "zephyr-ab / configuration");
            assert!(all.len() <= 1, "{all:#?}");
            all.pop().filter(|check| check.conclusion.as_deref() == Some(conclusion))
        })
    }

    /// The one folder of evidence that is sealed.
    fn sealed(&self) -> PathBuf {
        let all = fs::read_dir(self.folder().join("data/evidence")).expect("evidence").flatten();
        let mut sealed: Vec<PathBuf> =
            all.map(|entry| entry.path()).filter(|path| path.join("sha256sums.txt").exists()).collect();
        assert_eq!(sealed.len(), 1, "{sealed:#?}");
        sealed.remove(0)
    }
}

fn program(words: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_zephyr-ab")).args(words).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn the_default_branch_says_presets_margins_checks_and_pushes() {
    let text = tiny(
        "require_checks = [\"unit\"]\nrerun = { on_push = \"supersede\", debounce = \"1s\" }\n\
         margin = { cpu = \"50%\", elapsed = \"50%\", total_cpu = \"50%\", total_elapsed = \"50%\" }\n\
         presets = { allow = [\"quick\", \"other\"], default = \"mine\", add = { mine = { like = \"other\" } } }",
    );
    let mut app = App::said(4, &text);
    let number = app.pull("topic", 40_000);
    let head = app.head(number);
    // Nothing is launched of a head that its checks refuse.
    app.sandbox.other_check(REPO, &head, "unit", Some("failure")).expect("a check");
    app.comment(number, "mona", "/ab-test tiny");
    app.until_comment(number, "not green: unit");
    // What is planned is what the repository says.
    app.comment(number, "mona", "/ab-test tiny plan");
    let plan = app.until_reply(number, "sets the presets");
    assert!(plan.contains("quick, other, mine") && plan.contains("sets the margins: cpu 50%"), "{plan}");
    app.comment(number, "mona", "/ab-test tiny preset=looked");
    app.until_reply(number, "looked");
    app.sandbox.other_check(REPO, &head, "unit", Some("success")).expect("a check");
    app.comment(number, "mona", "/ab-test tiny preset=mine");
    let done = app.until("the verdict", || {
        app.verdict(number).filter(|body| body.contains("sets the margins") && super::harness::is_over(body))
    });
    assert!(done.contains("--repository repository.toml"), "{done}");
    // The evidence has both files, and proves what was said by both.
    let folder = app.sealed();
    assert_eq!(fs::read_to_string(folder.join("repository.toml")).expect("what the repository said"), text);
    let place = folder.to_str().expect("UTF-8");
    let (fine, said) = program(&["evidence", "verify", place]);
    assert!(fine, "{said}");
    fs::write(folder.join("repository.toml"), tiny("")).expect("a file");
    let (fine, said) = program(&["evidence", "verify", place]);
    assert!(!fine && said.contains("repository.toml: has changed"), "{said}");
    // The suite says that pushes start nothing; the repository says otherwise.
    let step = app.step(1) + "# another\n";
    let next = app.sandbox.push(REPO, "topic", &[("step.sh", Some(&step))], "more", "mona").expect("a push");
    app.sandbox.other_check(REPO, &next, "unit", Some("success")).expect("a check");
    app.until("the new head is measured", || {
        app.verdict(number).filter(|body| body.contains(&next[..12]) && super::harness::is_over(body))
    });
    app.assert_lawful();
    app.stop();
}

#[test]
fn what_cannot_be_read_is_said_and_refuses_every_run() {
    let mut app = App::said(4, &tiny("margin = { cpu = \"5%\" }\nlimits = { confirm_above = { cpu_hours = 1e6 } }"));
    let number = app.pull("topic", 40_000);
    let comment = app.comment(number, "mona", "/ab-test tiny");
    let refused = app.until_comment(number, "configuration cannot be read");
    assert!(refused.contains("zephyr-ab.toml:4: suites.tiny.limits: not for the repository"), "{refused}");
    app.until_reaction(comment, "eyes");
    // Nobody knows who may put a comparison away.
    let skip = app.comment(number, "mona", "/ab-test tiny skip it is only words");
    app.until_reaction(skip, "confused");
    let reply = app.until_reply(number, "configuration cannot be read");
    assert!(reply.contains("zephyr-ab.toml:4: suites.tiny.limits"), "{reply}");
    // Whoever only asks is answered.
    let help = app.comment(number, "mona", "/ab-test help");
    app.until_reaction(help, "eyes");
    app.until_reply(number, "how to ask");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number), [(Some("refused".to_owned()), false)]);
}

#[test]
fn a_pull_request_does_not_loosen_its_own_rules() {
    let mut app = App::said(4, &tiny("who = { run = \"admin\", accept = \"admin\" }"));
    app.sandbox.grant(REPO, "owner", "admin").expect("a right");
    let number = app.pull_saying("loose", Some(&tiny("who = { run = \"write\" }\npresets = { default = \"other\" }")));
    let head = app.head(number);
    let check = app.until_configured(&head, "success");
    let summary = &check.output["summary"];
    assert!(summary.contains("**tiny** sets") && summary.contains("who may run: write"), "{summary}");
    for command in ["/ab-test tiny", "/ab-test tiny accept because"] {
        let denied = app.comment(number, "mona", command);
        app.until_reaction(denied, "confused");
        let reply = app.until_reply(number, "every right is needed for this, and mona has the right to push");
        assert!(reply.contains("zephyr-ab.toml of the repository"), "{reply}");
    }
    assert_eq!(app.verdict(number), None);
    // Somebody who may: what is run is what the default branch says.
    app.comment(number, "owner", "/ab-test tiny plan");
    let plan = app.until_reply(number, "quick");
    assert!(!plan.contains("sets the presets"), "{plan}");
    // A button is as good as the command.
    app.hold_steps(true);
    app.comment(number, "owner", "/ab-test tiny");
    app.until_heading(number, "round 1");
    app.comment(number, "owner", "/ab-test tiny cancel");
    app.until_heading(number, "cancelled");
    let run = app.checks_of(&head).into_iter().find(|check| check.name == "zephyr-ab / tiny").expect("a check");
    app.sandbox.press(run.id, "rerun", "mona").expect("a button");
    app.until("the refusal", || app.audit().into_iter().find(|line| line.detail.contains("denied: by .github")));
    app.hold_steps(false);
    app.assert_lawful();
    app.stop();
}

#[test]
fn a_pull_request_that_changes_it_has_a_check() {
    let mut app = App::started(4);
    // Nothing is asked for, and nothing is said of those that do not change it.
    let other = app.pull("other", 40_000);
    let number = app.pull_saying("says", Some(&tiny("require_checks = [\"<b>@mona</b>\"]")));
    let first = app.head(number);
    let check = app.until_configured(&first, "success");
    assert_eq!(check.output["title"], "it can be read");
    insta::assert_snapshot!("configuration_success", check.output["summary"]);
    let broken = tiny("on_push = \"auto\"");
    let second = app.sandbox.push(REPO, "says", &[(PLACE, Some(&broken))], "broken", "mona").expect("a push");
    let check = app.until_configured(&second, "failure");
    insta::assert_snapshot!("configuration_failure", check.output["summary"]);
    assert!(check.actions.is_empty(), "{check:#?}");
    // Without the file it is as the default branch is: nothing to be said.
    let third = app.sandbox.push(REPO, "says", &[(PLACE, None)], "gone", "mona").expect("a push");
    // What comes after it is handled after it.
    let later = app.pull_saying("later", Some(&broken));
    app.until_configured(&app.head(later), "failure");
    assert!(app.checks_of(&third).is_empty() && app.checks_of(&app.head(other)).is_empty());
    app.assert_lawful();
    app.stop();
}

#[test]
fn the_operator_may_have_none_of_it_read() {
    let mut app = App::new(4);
    app.sandbox.commit(REPO, "main", &[(PLACE, Some("broken"))], "What we want").expect("a commit");
    app.configure("repository_file = false");
    app.start();
    let number = app.pull("topic", 40_000);
    app.comment(number, "mona", "/ab-test tiny plan");
    app.until_reply(number, "quick");
    let asked: Vec<String> =
        app.sandbox.requests().iter().map(|one| one.path.clone()).filter(|path| path.contains("/contents/")).collect();
    assert_eq!(asked, Vec::<String>::new());
    app.stop();
}

#[test]
fn a_file_is_looked_at_without_a_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("zephyr-ab.toml");
    let check = |text: &str, more: &[&str]| {
        fs::write(&path, text).expect("a file");
        let words = [&["config", "check", "--repository", path.to_str().expect("UTF-8")], more].concat();
        program(&words)
    };
    let (fine, said) = check("schema = 1\n[suites.zephyr.margin]\ncpu = \"4%\"\n", &[]);
    assert!(fine && said.contains("zephyr     margins: cpu 4%"), "{said}");
    let (fine, said) = check("schema = 1\n[suites.zephyr.margin]\ncpu = \"1%\"\n", &["--suite", "zephyr"]);
    assert!(!fine && said.contains("zephyr-ab.toml:2: suites.zephyr.margin: margin.total_cpu is wider"), "{said}");
    let (fine, said) = check("schema = 1\n[suites.zefyr]\n", &[]);
    assert!(!fine && said.contains("nearest: zephyr"), "{said}");
}
