//! The whole path: a comment, a reaction, a run, one comment through its states, a check, a verdict.

use super::harness::{App, MARKER, REPO};

#[test]
fn a_command_becomes_one_true_comment() {
    let mut app = App::measuring(5, "notify_after_s = 0");
    let number = app.pull("topic", 40_000);
    app.hold_steps(true);
    let asked = app.comment(number, "mona", "Is this slower?\r\n\r\n/ab-test tiny\r\n");
    let first = app.until("a comment", || app.verdict(number));
    assert!(first.contains("Verdict:"), "{first}");
    let running = app.until_comment(number, "round 1 of at most 5");
    assert!(running.lines().next() == Some(MARKER), "{running}");
    let reactions = app.until("reactions", || Some(app.reactions(asked)).filter(|all| all.len() == 2));
    assert_eq!(reactions, ["eyes", "rocket"]);
    let check = app.until("a check", || app.checks().pop());
    assert_eq!((check.status.as_str(), check.name.as_str()), ("in_progress", "zephyr-ab / tiny"));
    app.hold_steps(false);
    let done = app.until_over(number);
    assert!(done.contains("\nVerdict: pass\n"), "{done}");
    let check = app.until("the check ends", || app.checks().pop().filter(|check| check.status == "completed"));
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert_eq!(app.ours(number, MARKER).len(), 1);
    assert_eq!(app.checks().len(), 1);
    assert_eq!(app.reply(number), None);
    // Who asked is told, because an edit tells nobody; once.
    let told = || app.sandbox.comments(REPO, number).into_iter().filter(|comment| comment.body.contains("@mona"));
    let note = app.until("a note", || told().next());
    let verdict = &app.ours(number, MARKER)[0];
    assert!(
        note.body.contains("pass") && note.body.contains(&format!("#issuecomment-{}", verdict.id)),
        "{}",
        note.body
    );
    assert_eq!(told().count(), 1);
    app.assert_lawful();
    app.stop();
}
