//! Checks of other programs that a suite wants green first.

use super::harness::{App, REPO};

const REQUIRED: &str = "on_push = \"off\"\nrequire_checks = [\"unit\", \"lint\"]";

#[test]
fn what_is_pending_is_waited_for_and_what_is_green_runs() {
    let mut app = App::pushed(4, REQUIRED);
    let number = app.pull("topic", 1);
    let head = app.head(number);
    app.sandbox.other_check(REPO, &head, "unit", None).expect("a check");
    app.sandbox.set_status(REPO, &head, "lint", "success").expect("a status");
    app.comment(number, "mona", "/ab-test tiny");
    let waits = app.until_heading(number, "waiting for checks");
    assert!(waits.contains("unit") && !waits.contains("lint") && waits.contains("at most until"), "{waits}");
    assert!(app.living().is_empty());
    assert!(app.checks_of(&head).iter().all(|check| check.name == "unit"));
    app.sandbox.other_check(REPO, &head, "unit", Some("success")).expect("a check");
    let over = app.until_over(number);
    assert!(over.contains("4 interleaved rounds"), "{over}");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number).len(), 1);
}

#[test]
fn what_is_red_ends_it_and_what_waits_can_be_stopped() {
    let mut app = App::pushed(4, REQUIRED);
    app.hold_steps(true);
    let (red, missing) = (app.pull("red", 1), app.pull("missing", 1));
    let head = app.head(red);
    app.sandbox.other_check(REPO, &head, "unit", Some("failure")).expect("a check");
    app.sandbox.set_status(REPO, &head, "lint", "pending").expect("a status");
    app.comment(red, "mona", "/ab-test tiny");
    let ended = app.until("it ends", || app.verdict(red).filter(|body| body.contains("not green: unit")));
    assert!(ended.contains("Verdict: none"), "{ended}");
    let ours = app.until("our check", || app.checks_of(&head).into_iter().find(|check| check.name.contains("tiny")));
    let ours = app
        .until("it ends", || app.checks().into_iter().find(|check| check.id == ours.id && check.conclusion.is_some()));
    assert_eq!(ours.conclusion.as_deref(), Some("neutral"));
    // A check that nobody has begun yet is waited for as well.
    app.comment(missing, "mona", "/ab-test tiny");
    let waits = app.until_heading(missing, "waiting for checks");
    assert!(waits.contains("unit") && waits.contains("lint"), "{waits}");
    app.comment(missing, "mona", "/ab-test tiny cancel");
    app.until_heading(missing, "cancelled");
    assert!(app.living().is_empty());
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(red).iter().filter(|(_, launched)| *launched).count(), 0);
    assert_eq!(app.ends(missing), ["cancelled"]);
}
