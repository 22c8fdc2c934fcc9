//! Changes that cannot alter what is measured: a person decides, and a push of them is carried over.

use super::harness::{App, REPO};
use super::pushes::QUICK;

const BEFORE: &str = "# Adds.\ndef add(one, other):\n    return one + other\n";
const AFTER: &str = "# Adds two numbers.\ndef add(one, other):\n    # Nothing else.\n    return one + other\n";
const FURTHER: &str = "# Adds two numbers!\ndef add(one, other):\n    return one + other\n";

impl App {
    /// A service that runs, whose repository has a Python file.
    fn with_python() -> Self {
        let app = Self::pushed(4, QUICK);
        app.sandbox.commit(REPO, "main", &[("add.py", Some(BEFORE))], "A file").expect("a commit");
        app
    }

    /// A pull request that changes a comment of it.
    fn comments_only(&self, branch: &str) -> u64 {
        self.sandbox.commit(REPO, branch, &[("add.py", Some(AFTER))], branch).expect("a commit");
        self.sandbox.pull(REPO, branch, "main", branch, "mona").expect("a pull request")
    }
}

#[test]
fn a_trivial_change_waits_for_somebody_who_decides() {
    let mut app = App::with_python();
    let (confirmed, skipped) = (app.comments_only("confirmed"), app.comments_only("skipped"));
    app.comment(confirmed, "bob", "/ab-test tiny plan");
    let plan = app.until_reply(confirmed, "Plan:");
    assert!(plan.contains("no benchmark seems to be needed") && plan.contains("add.py"), "{plan}");
    assert!(plan.contains("waits for an agreement"), "{plan}");
    for number in [confirmed, skipped] {
        app.comment(number, "mona", "/ab-test tiny");
        let waits = app.until_heading(number, "skip proposed");
        for part in ["add.py", "/ab-test tiny confirm", "/ab-test tiny skip"] {
            assert!(waits.contains(part), "{part}: {waits}");
        }
    }
    assert!(app.living().is_empty());
    // A reader decides nothing.
    for verb in ["confirm", "skip no need"] {
        let denied = app.comment(confirmed, "bob", &format!("/ab-test tiny {verb}"));
        app.until_reaction(denied, "confused");
    }
    app.until_heading(confirmed, "skip proposed");
    app.comment(skipped, "hubot", "/ab-test tiny skip only comments");
    let comment = app.until_comment(skipped, "Skipped by `hubot`");
    assert!(comment.contains("only comments"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(skipped)), "neutral");
    app.comment(confirmed, "hubot", "/ab-test tiny confirm");
    let over = app.until_over(confirmed);
    assert!(over.contains("4 interleaved rounds"), "{over}");
    app.until_concluded(&app.head(confirmed));
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(skipped), ["skipped"]);
}

#[test]
fn a_trivial_push_is_carried_over_and_said() {
    let mut app = App::with_python();
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_over(number);
    let conclusion = app.until_concluded(&app.head(number));
    for text in [AFTER, FURTHER] {
        let pushed = app.sandbox.push(REPO, "topic", &[("add.py", Some(text))], "words", "mona").expect("a push");
        let told = app.until_comment(number, &format!("stands for `{}`", &pushed[..7]));
        assert!(told.contains("add.py") && !told.contains("stale"), "{told}");
        assert_eq!(app.until_concluded(&pushed), conclusion);
    }
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number).len(), 1);
}
