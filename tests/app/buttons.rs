//! Checks: what they say, their buttons, how they end.

use serde_json::Value;

use super::harness::{App, REPO};

#[test]
fn a_check_says_how_it_is_and_its_buttons_do_what_commands_do() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    let head = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let check = app.until_button(&head, "cancel");
    assert_eq!((check.status.as_str(), check.actions.len()), ("in_progress", 1));
    app.until("the title is the heading", || {
        app.checks_of(&head)[0].output["title"].contains("round 1 of at most 4").then_some(())
    });
    let outcome = app.press(&check, "cancel", "bob");
    assert!(outcome.contains("denied"), "{outcome}");
    app.until_heading(number, "round 1");
    // A button of another app that says the same.
    app.deliver_by_hand();
    app.sandbox.press(check.id, "cancel", "mona").expect("a button");
    let told = app.newest("check_run");
    let mut foreign = told.payload.clone();
    foreign["check_run"]["app"]["id"] = 4711.into();
    let outcome = app.deliver("foreign", "check_run", &foreign);
    assert!(outcome.contains("another app"), "{outcome}");
    let mut unknown = told.payload.clone();
    unknown["check_run"]["external_id"] = Value::from("what?");
    let outcome = app.deliver("unknown", "check_run", &unknown);
    assert!(outcome.contains("nothing is known"), "{outcome}");
    app.until_heading(number, "round 1");
    // Whoever may stops it.
    app.deliver(&told.guid, "check_run", &told.payload);
    app.sandbox.set_webhook(&format!("http://127.0.0.1:{}/webhook", app.port));
    app.until_heading(number, "cancelled");
    assert_eq!(app.until_concluded(&head), "cancelled");
    app.nothing_lives();
    // Asked for again, it is measured.
    app.hold_steps(false);
    let again = app.until_button(&head, "rerun");
    app.press(&again, "rerun", "hubot");
    app.until("a verdict", || app.verdict(number).filter(|body| body.contains("4 interleaved rounds")));
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number).len(), 2);
    assert_eq!(app.ends(number)[0], "cancelled");
}

#[test]
fn after_a_verdict_the_button_is_answered_with_it() {
    let mut app = App::new(4);
    app.configure("[checks]\nregression = \"neutral\"");
    app.start();
    let number = app.broken("topic");
    let head = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    let over = app.until_over(number);
    assert!(over.contains("\nVerdict: regression\n"), "{over}");
    assert_eq!(app.until_concluded(&head), "neutral");
    let check = app.until_button(&head, "rerun");
    assert!(check.output["title"].contains("regression"), "{:?}", check.output);
    assert!(!check.output["text"].is_empty(), "{:?}", check.output);
    app.press(&check, "rerun", "mona");
    app.until_reply(number, "a verdict");
    // The button that every check has.
    app.comment(number, "bob", "/ab-test help");
    app.until_reply(number, "how to ask");
    app.sandbox.rerequest(check.id, "mona").expect("it is over");
    app.until_reply(number, "a verdict");
    assert_eq!(app.checks_of(&head).len(), 1);
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number), ["regression"]);
}

#[test]
fn every_open_head_has_a_check_where_that_is_wanted() {
    let mut app = App::new(4);
    app.configure("[checks]\nalways_report = true");
    app.start();
    let number = app.pull("topic", 1);
    let head = app.head(number);
    let none = app.until("a check", || app.checks_of(&head).into_iter().next());
    assert_eq!(none.conclusion.as_deref(), Some("neutral"));
    assert!(none.output["title"].contains("no comparison"), "{:?}", none.output);
    assert_eq!(app.verdict(number), None);
    // A newer head has one of its own.
    let step = app.step(1) + "# more\n";
    let pushed = app.sandbox.push(REPO, "topic", &[("step.sh", Some(&step))], "more", "mona").expect("a push");
    app.until("a check", || (app.checks_of(&pushed).len() == 1).then_some(()));
    app.hold_steps(true);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let of_run = app.until_button(&pushed, "cancel");
    let newest = app.checks_of(&pushed).into_iter().max_by_key(|check| check.id).expect("a check");
    assert_eq!((newest.id, newest.name.as_str()), (of_run.id, none.name.as_str()));
    app.hold_steps(false);
    app.until_over(number);
    app.until("it ends", || {
        app.checks_of(&pushed).iter().any(|check| check.id == of_run.id && check.conclusion.is_some()).then_some(())
    });
    // Closed, it needs none.
    let closed = app.pull("closed", 1);
    app.until("a check", || (app.checks_of(&app.head(closed)).len() == 1).then_some(()));
    app.assert_lawful();
    app.stop();
}
