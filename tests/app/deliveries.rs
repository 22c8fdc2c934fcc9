//! Deliveries as they come: twice, late, in another order, with fields that are null, and across an end of the service.

use std::fs;

use sandbox::faults::{Fault, Rule};
use serde_json::{Value, json};

use super::harness::{App, MARKER, REPO};

const MIB: usize = 1 << 20;

/// All requests of a kind meet a fault, until the rules are cleared.
fn always(method: &str, path: &str, fault: Fault) -> Rule {
    Rule { times: u32::MAX, ..Rule::next(method, path, fault) }
}

#[test]
fn what_comes_twice_is_done_once() {
    let mut app = App::new(4);
    app.deliver_by_hand();
    app.start();
    app.hold_steps(true);
    let number = app.pull("twice", 1);
    let comment = app.comment(number, "mona", "/ab-test tiny");
    let told = app.newest("issue_comment");
    // The same delivery at once on two connections, and the same comment under another id.
    let answers = app.runtime().block_on(async {
        let one = app.post(&told.guid, "issue_comment", &told.payload);
        let other = app.post(&told.guid, "issue_comment", &told.payload);
        let renamed = app.post("another-id", "issue_comment", &told.payload);
        let (one, other, renamed) = tokio::join!(one, other, renamed);
        [one.0, other.0, renamed.0]
    });
    assert!(answers.iter().all(|status| (200..300).contains(status)), "{answers:?}");
    app.until_handled(&told.guid);
    app.until_handled("another-id");
    app.until_heading(number, "round 1");
    // And once more when it runs.
    app.deliver("a-third-id", "issue_comment", &told.payload);
    let (status, _) = app.runtime().block_on(app.post(&told.guid, "issue_comment", &told.payload));
    assert!((200..300).contains(&status));
    app.until_reaction(comment, "rocket");
    let mut reactions = app.reactions(comment);
    reactions.sort();
    assert_eq!(reactions, ["eyes", "rocket"]);
    assert_eq!(app.reply(number), None);
    app.until_checks(1);
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number).len(), 1);
}

/// A payload with one place changed.
fn with(payload: &Value, at: &str, to: Value) -> Value {
    let mut payload = payload.clone();
    *payload.pointer_mut(at).expect("a place") = to;
    payload
}

/// A payload without one place.
fn without(payload: &Value, at: &str) -> Value {
    let mut payload = payload.clone();
    let (parent, key) = at.rsplit_once('/').expect("a place");
    let parent = payload.pointer_mut(parent).expect("a place").as_object_mut().expect("an object");
    assert!(parent.remove(key).is_some(), "{at}");
    payload
}

#[test]
fn what_is_not_known_is_no_error() {
    let mut app = App::new(4);
    app.deliver_by_hand();
    app.start();
    app.hold_steps(true);
    let number = app.pull("strange", 1);
    app.comment(number, "mona", "/ab-test help");
    let help = app.newest("issue_comment").payload;
    let opened = app.newest("pull_request").payload;
    // Nothing to do, and no complaint.
    for (guid, event, payload) in [
        ("n-1", "issue_comment", with(&help, "/action", "pinned".into())),
        ("n-2", "tomorrow", help.clone()),
        ("n-3", "star", json!({})),
        ("n-4", "issue_comment", json!([])),
        ("n-5", "issue_comment", without(&help, "/comment")),
        ("n-6", "issue_comment", without(&help, "/issue/pull_request")),
        ("n-7", "issue_comment", with(&help, "/comment/body", Value::Null)),
        ("n-8", "pull_request", with(&opened, "/action", "frobnicated".into())),
        ("n-9", "pull_request", with(&opened, "/pull_request/head/repo", Value::Null)),
        ("n-10", "pull_request", json!({ "action": "synchronize" })),
        ("n-11", "repository", json!({ "action": "renamed" })),
        ("n-12", "check_run", json!({ "action": "requested_action", "requested_action": null })),
    ] {
        app.deliver(guid, event, &payload);
    }
    app.assert_silent(number);
    // What is needed is there: it is acted on.
    let mut at = 100_000;
    for (guid, payload) in [
        ("y-1", with(&help, "/comment/user", Value::Null)),
        ("y-2", with(&help, "/comment/author_association", "OVERLORD".into())),
        ("y-3", with(&help, "/sender/type", "Mannequin".into())),
        ("y-4", with(&help, "/issue/state", "limbo".into())),
        ("y-5", without(&help, "/comment/author_association")),
        ("y-6", without(&help, "/comment/reactions")),
        ("y-7", without(&help, "/issue/title")),
        ("y-8", without(&help, "/sender/login")),
        ("y-9", with(&help, "/issue/user", Value::Null)),
    ] {
        at += 1;
        let outcome = app.deliver(guid, "issue_comment", &with(&payload, "/comment/id", at.into()));
        assert!(outcome.contains("help"), "{guid}: {outcome}");
    }
    app.until_reply(number, "how to ask");
    // A comment whose author is gone, on a pull request whose fork is gone.
    app.sandbox.fork(REPO, "stranger").expect("a fork");
    app.sandbox.commit("stranger/demo", "feature", &[("step.sh", Some(&app.step(2)))], "theirs").expect("a commit");
    let orphan = app.sandbox.pull(REPO, "stranger/demo:feature", "main", "theirs", "stranger").expect("a pull request");
    app.sandbox.delete_fork("stranger/demo").expect("it is gone");
    app.comment(orphan, "mona", &format!("/ab-test tiny sha={}", app.head(orphan)));
    let asked = app.newest("issue_comment").payload;
    assert_eq!(app.sandbox.look(REPO, orphan).expect("it is there").pull.expect("a pull request").head_repo, None);
    let outcome = app.deliver("y-10", "issue_comment", &with(&asked, "/comment/user", Value::Null));
    assert!(outcome.contains("run"), "{outcome}");
    app.until_heading(orphan, "round 1");
    app.assert_lawful();
    app.stop();
}

/// `{"x":"..."}` of a size.
fn json_of(size: usize) -> Vec<u8> {
    let mut body = b"{\"x\":\"".to_vec();
    body.resize(size - 2, b'x');
    body.extend_from_slice(b"\"}");
    body
}

#[test]
fn the_door_opens_for_what_is_signed_and_not_too_large() {
    const BEFORE: &str = "the secret before this one";
    let mut app = App::new(4);
    fs::write(app.folder().join("secret.old"), BEFORE).expect("a file");
    app.reconfigure("webhook_secret_file = \"secret\"", "webhook_secret_file = [\"secret\", \"secret.old\"]");
    app.start();
    let secret = app.sandbox.settings().secret;
    let sign = |secret: &str, body: &[u8]| sandbox::signature::sign(secret, body);
    let send = |guid: &str, kind: &str, signature: Option<String>, body: Vec<u8>| {
        app.runtime().block_on(app.posted(guid, "star", kind, signature.as_deref(), body))
    };
    let json = "application/json";
    let large = json_of(24 * MIB);
    assert_eq!(send("d-24", json, Some(sign(&secret, &large)), large).0 / 100, 2);
    let larger = json_of(26 * MIB);
    assert_eq!(send("d-26", json, Some(sign(&secret, &larger)), larger).0, 413);
    let form = b"payload=%7B%7D".to_vec();
    let (status, said) = send("d-form", "application/x-www-form-urlencoded", Some(sign(&secret, &form)), form);
    assert_eq!(status, 415);
    assert!(said.contains("application/json"), "{said}");
    let body = || b"{}".to_vec();
    assert_eq!(send("d-wrong", json, Some(sign("somebody else's secret", &body())), body()).0, 401);
    assert_eq!(send("d-none", json, None, body()).0, 401);
    assert_eq!(send("d-old", json, Some(sign(BEFORE, &body())), body()).0 / 100, 2);
    app.until_handled("d-24");
    app.until_handled("d-old");
    for refused in ["d-26", "d-form", "d-wrong", "d-none"] {
        assert_eq!(app.fates(refused).len(), 0, "{refused}");
    }
    app.stop();
}

#[test]
fn a_stored_delivery_outlives_the_service() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("outlives", 1);
    app.all_handled();
    // GitHub cannot be asked: what was taken in cannot be handled yet.
    app.sandbox.add_rule(always("GET", "*", Fault::Refused(502)));
    let comment = app.comment(number, "mona", "/ab-test tiny");
    let guid = app.newest("issue_comment").guid;
    app.until("it is put off", || app.fates(&guid).first().map(|fate| assert!(!fate.done, "{}", fate.outcome)));
    app.kill();
    app.assert_silent(number);
    assert_eq!(app.reactions(comment), Vec::<String>::new());
    app.sandbox.clear_rules();
    app.start();
    app.until_handled(&guid);
    app.until_heading(number, "round 1");
    app.until_reaction(comment, "rocket");
    assert_eq!(app.reactions(comment), ["eyes", "rocket"]);
    app.until_checks(1);
    // And in the middle of the run: it goes on, and says so in the same places.
    app.kill();
    app.nothing_lives_of_the_dead();
    app.start();
    app.hold_steps(false);
    app.until_over(number);
    app.until_concluded(&app.head(number));
    assert_eq!((app.ours(number, MARKER).len(), app.checks().len()), (1, 1));
    let handled = app.fates(&guid).iter().filter(|fate| fate.done).count();
    assert_eq!(handled, 1);
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number).len(), 1);
}

/// The head that somebody saw who wrote a command is what is measured, also where the push is told of first.
#[test]
fn a_push_after_the_command_is_not_measured() {
    let mut app = App::new(4);
    app.deliver_by_hand();
    app.start();
    app.hold_steps(true);
    let number = app.pull("later", 1);
    let before = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    let mut command = app.newest("issue_comment");
    let after = app.sandbox.push(REPO, "later", &[("more", Some("x"))], "more", "mona").expect("a push");
    let push = app.newest("pull_request");
    assert_eq!((push.payload["before"].as_str(), push.payload["after"].as_str()), (Some(&*before), Some(&*after)));
    // GitHub's times are whole seconds: the command is an old one.
    command.payload["comment"]["created_at"] = "2026-01-02T03:04:05Z".into();
    for told in [push, command] {
        app.deliver(&told.guid, &told.event, &told.payload);
    }
    app.until_heading(number, "round 1");
    app.until_checks(1);
    assert_eq!((app.checks_of(&before).len(), app.checks_of(&after).len()), (1, 0));
    let comment = app.until_heading(number, "round 1");
    assert!(comment.contains(&before[..7]), "{comment}");
    app.assert_lawful();
    app.stop();
}

/// A pull request ends in the same state whatever order its events are told in.
#[test]
fn events_in_another_order_come_to_the_same() {
    let mut app = App::new(4);
    app.deliver_by_hand();
    app.start();
    app.hold_steps(true);
    for closed_first in [true, false] {
        let branch = format!("closed-{closed_first}");
        let number = app.pull(&branch, 1);
        app.comment(number, "mona", "/ab-test tiny");
        let command = app.newest("issue_comment");
        app.deliver(&command.guid, &command.event, &command.payload);
        app.until_heading(number, "round 1");
        let measured = app.head(number);
        app.sandbox.push(REPO, &branch, &[("more", Some("x"))], "more", "mona").expect("a push");
        let push = app.newest("pull_request");
        app.sandbox.close(REPO, number, "mona").expect("it is closed");
        let closed = app.newest("pull_request");
        let mut both = [push, closed];
        if closed_first {
            both.reverse();
        }
        for told in &both {
            app.deliver(&told.guid, &told.event, &told.payload);
        }
        app.until_heading(number, "cancelled");
        assert_eq!(app.until_concluded(&measured), "cancelled");
        assert_eq!(app.checks_of(&app.head(number)).len(), 0, "what was pushed is not measured");
        app.nothing_lives();
    }
    app.assert_lawful();
    app.stop();
}
