//! GitHub as it is on other days: answers that are lost, limits, rights that are missing, comments of others, moves.

use sandbox::faults::{Fault, Rule};

use super::harness::{App, MARKER, REPO, is_over};

#[test]
fn a_lost_answer_makes_no_second_comment() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let comments = "/repos/*/issues/*/comments";
    let number = app.pull("lost", 1);
    app.sandbox.add_rule(Rule::next("POST", comments, Fault::Forgotten(502)));
    app.sandbox.add_rule(Rule::next("POST", "/repos/*/check-runs", Fault::Forgotten(502)));
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let posts = app.asked("POST", &format!("/issues/{number}/comments"));
    let posts: Vec<(u16, bool)> = posts.iter().map(|post| (post.status, post.done)).collect();
    assert_eq!(posts, [(502, true)], "it is found, not made once more");
    app.until_checks(1);
    assert_eq!(app.ours(number, MARKER).len(), 1);
    // An edit is repeated as a whole.
    app.sandbox.clear_requests();
    app.sandbox.add_rule(Rule::next("PATCH", "/repos/*/issues/comments/*", Fault::Refused(500)));
    app.comment(number, "mona", "/ab-test tiny cancel");
    app.until_heading(number, "cancelled");
    let edits: Vec<_> =
        app.sandbox.requests().into_iter().filter(|one| one.path.contains("/issues/comments/")).collect();
    let mut edits = edits.into_iter().filter(|one| one.method == "PATCH");
    let (first, second) = (edits.next().expect("an edit"), edits.next().expect("another one"));
    assert_eq!((first.status, second.status), (500, 200));
    assert_eq!((&first.path, &first.body), (&second.path, &second.body));
    let body: serde_json::Value = serde_json::from_str(&second.body).expect("JSON");
    assert!(body["body"].as_str().is_some_and(|body| body.starts_with(MARKER)), "{body}");
    assert_eq!(app.ours(number, MARKER).len(), 1);
    app.assert_lawful();
    app.stop();
}

#[test]
fn limits_are_waited_for_and_missing_rights_are_said() {
    let mut app = App::started(4);
    app.hold_steps(true);
    // Not permitted: said in the log, and not tried again.
    let mute = app.pull("mute", 1);
    let path = format!("/repos/*/issues/{mute}/comments");
    app.sandbox.add_rule(Rule { times: u32::MAX, ..Rule::next("POST", &path, Fault::Forbidden) });
    let asked = app.comment(mute, "mona", "/ab-test help");
    app.until_reaction(asked, "eyes");
    app.until("it is said", || app.log().contains("Resource not accessible by integration").then_some(()));
    // Limited, in both ways in which GitHub says it: again after as long as it said.
    for (at, fault) in [Fault::SecondaryForbidden(2), Fault::Secondary(2)].into_iter().enumerate() {
        let number = app.pull(&format!("limited-{at}"), 1);
        app.sandbox.clear_requests();
        app.sandbox.add_rule(Rule::next("POST", &format!("/repos/*/issues/{number}/comments"), fault));
        let asked = app.comment(number, "mona", "/ab-test help");
        app.until_reply(number, "how to ask");
        app.until_reaction(asked, "eyes");
        let end = format!("/issues/{number}/comments");
        let posts: Vec<u16> = app.asked("POST", &end).iter().map(|post| post.status).collect();
        let limited = if at == 0 { 403 } else { 429 };
        assert_eq!(posts, [limited, 201]);
    }
    app.all_handled();
    let posts = app.sandbox.requests();
    assert!(posts.iter().all(|one| !one.path.ends_with(&format!("/issues/{mute}/comments"))), "tried again");
    assert_eq!(app.reply(mute), None);
    // What it wants to say anew it says at once, where it may by then.
    app.sandbox.clear_rules();
    app.comment(mute, "bob", "/ab-test status");
    app.until_reply(mute, "nothing was asked for");
    app.assert_lawful();
    app.stop();
}

#[test]
fn a_repository_is_followed_by_its_number() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("moves", 1);
    let head = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    let comments = |name: &str| {
        let all = app.sandbox.comments(&format!("octo/{name}"), number);
        let ours = all.into_iter().filter(|comment| comment.via_app && comment.body.starts_with(MARKER));
        ours.map(|comment| (comment.id, comment.body)).collect::<Vec<_>>()
    };
    let before = comments("demo");
    // Its old name leads on.
    app.sandbox.rename(REPO, "second", "mona").expect("another name");
    app.sandbox.comment("octo/second", number, "mona", "/ab-test tiny cancel").expect("a comment");
    app.until("it is cancelled", || comments("second")[0].1.contains("cancelled").then_some(()));
    assert_eq!(comments("second").len(), 1);
    assert_eq!(comments("second")[0].0, before[0].0);
    app.until("the check ends", || app.checks_of(&head)[0].conclusion.clone());
    // It leads nowhere: whoever is asked by the old name says 404.
    app.sandbox.comment("octo/second", number, "mona", "/ab-test tiny").expect("a comment");
    app.until("it runs", || comments("second")[0].1.contains("round 1").then_some(()));
    app.sandbox.add_rule(Rule { times: u32::MAX, ..Rule::next("*", "/repos/octo/second/*", Fault::Gone) });
    app.sandbox.rename("octo/second", "third", "mona").expect("another name");
    app.hold_steps(false);
    app.until("it is over", || is_over(&comments("third")[0].1).then_some(()));
    assert_eq!(comments("third").len(), 1);
    assert_eq!(comments("third")[0].0, before[0].0);
    let ended = || app.checks().iter().filter(|check| check.conclusion.is_some()).count();
    app.until("the checks end", || (ended() == 2).then_some(()));
    assert_eq!(app.checks().len(), 2);
    app.assert_lawful();
    app.stop();
}

#[test]
fn one_comment_of_ours_and_none_of_others() {
    let mut app = App::several(4);
    app.hold_steps(true);
    let ours = app.sandbox.settings().bot.0;
    let all = |number: u64| {
        let all = app.sandbox.comments(REPO, number);
        let marked = all.into_iter().filter(|comment| comment.body.lines().next() == Some(MARKER));
        marked.collect::<Vec<_>>()
    };
    // Two of ours, whoever made them: the oldest is kept.
    let doubled = app.pull("doubled", 1);
    let oldest = app.comment(doubled, &ours, &format!("{MARKER}\nfirst"));
    app.comment(doubled, &ours, &format!("{MARKER}\nsecond"));
    app.comment(doubled, "mona", "/ab-test tiny");
    app.until("one is left", || (all(doubled).len() == 1).then_some(()));
    app.until("it speaks", || all(doubled)[0].body.contains("round 1").then_some(()));
    assert_eq!(all(doubled)[0].id, oldest);
    // One of somebody else.
    let foreign = app.pull("foreign", 1);
    let text = format!("{MARKER}\n## 🤖 Tiny A/B test: ✅ pass\n\nVerdict: pass\n");
    let theirs = app.comment(foreign, "bob", &text);
    app.comment(foreign, "mona", "/ab-test tiny");
    app.until_heading(foreign, "round 1");
    let reply = app.until_reply(foreign, "a comment of somebody else begins with the line by which ours are found");
    assert!(reply.contains(&theirs.to_string()), "{reply}");
    app.comment(foreign, "mona", "/ab-test tiny cancel");
    app.until_heading(foreign, "cancelled");
    let kept = all(foreign);
    assert_eq!(kept.iter().map(|comment| comment.via_app).collect::<Vec<_>>(), [false, true]);
    assert_eq!((kept[0].id, kept[0].body.as_str()), (theirs, text.as_str()));
    // Ours is deleted: it comes back once.
    let deleted = app.pull("deleted", 1);
    app.comment(deleted, "mona", "/ab-test tiny");
    app.until_heading(deleted, "round 1");
    app.sandbox.delete_comment(app.ours(deleted, MARKER)[0].id, "mona").expect("it is there");
    app.comment(deleted, "mona", "/ab-test tiny cancel");
    app.until_heading(deleted, "cancelled");
    let number = app.pull("again", 1);
    app.hold_steps(false);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_over(number);
    for back in [true, false] {
        app.sandbox.delete_comment(app.ours(number, MARKER)[0].id, "mona").expect("it is there");
        app.sandbox.push(REPO, "again", &[("more", Some(&format!("{back}")))], "more", "mona").expect("a push");
        if back {
            app.until_heading(number, "stale");
        }
    }
    app.all_handled();
    // Whatever is said after that is said; it is not.
    let asked = app.comment(number, "bob", "/ab-test status");
    app.until_reaction(asked, "eyes");
    app.until_reply(number, "how things are here");
    assert_eq!(app.verdict(number), None);
    app.assert_lawful();
    app.stop();
}
