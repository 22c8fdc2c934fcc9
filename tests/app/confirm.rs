//! Plans that wait for a person.

use std::fs;

use super::harness::{App, REPO};

/// A service whose usual preset costs more than anybody may start without being asked.
fn costly() -> App {
    let mut app = App::new(4);
    let path = app.folder().join("suites/tiny.toml");
    let suite = fs::read_to_string(&path).expect("the suite");
    let quick = "limit = { wall = \"20min\" }\n";
    let dear = "limit = { wall = \"20min\" }\nexpect = { cpu_hours = 1, wall = \"3s\" }\n";
    let suite = suite.replacen(quick, dear, 1) + "\n[limits]\nconfirm_above = { cpu_hours = 0.5 }\n";
    fs::write(path, suite).expect("a suite");
    app.start();
    app
}

/// The digest that the comment shows.
fn digest(comment: &str) -> String {
    let hex = |word: &&str| word.len() == 12 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = comment.split(|c: char| !c.is_ascii_alphanumeric());
    let found: Vec<&str> = words.filter(hex).collect();
    found.first().unwrap_or_else(|| panic!("no digest in {comment}")).to_string()
}

#[test]
fn a_costly_plan_waits_for_a_person_and_keeps_nobody_waiting() {
    let mut app = costly();
    app.hold_steps(true);
    let number = app.pull("dear", 40_000);
    app.comment(number, "mona", "/ab-test tiny");
    let waiting = app.until_comment(number, "⏸️");
    assert!(waiting.contains("confirm"), "{waiting}");
    // Another run of the service starts meanwhile, though only one may go on at once.
    let other = app.pull("cheap", 40_000);
    app.comment(other, "mona", "/ab-test tiny preset=other");
    app.until_heading(other, "round 1");
    // Another digest, and somebody who may not.
    let wrong = app.comment(number, "mona", "/ab-test tiny confirm 0123456789ab");
    app.until_reaction(wrong, "eyes");
    app.until_reply(number, "not the one that was confirmed");
    let visitor = app.comment(number, "visitor", &format!("/ab-test tiny confirm {}", digest(&waiting)));
    app.until_reaction(visitor, "confused");
    app.until_comment(number, "⏸️");
    // Confirmed, it waits for its turn.
    app.comment(number, "hubot", &format!("/ab-test tiny confirm {}", digest(&waiting)));
    app.until_heading(number, "queued");
    app.hold_steps(false);
    app.until_over(other);
    app.until_over(number);
    app.assert_lawful();
    app.stop();
}

#[test]
fn what_has_changed_since_is_not_started() {
    let mut app = costly();
    let number = app.pull("moved", 40_000);
    app.comment(number, "mona", "/ab-test tiny");
    let waiting = app.until_comment(number, "⏸️");
    let step = app.step(40_000) + "# more\n";
    app.sandbox.push(REPO, "moved", &[("step.sh", Some(&step))], "more", "mona").expect("a push");
    app.comment(number, "mona", &format!("/ab-test tiny confirm {}", digest(&waiting)));
    app.until_reply(number, "the plan was not started");
    app.until_heading(number, "cancelled");
    app.assert_lawful();
    app.stop();
}
