//! Runs: stopped in every state, ended without a verdict, overtaken by pushes, gone on with.

use std::process::Command;

use sandbox::faults::{Fault, Rule};

use super::harness::{App, MARKER, REPO};

/// Longer than anything that is done meanwhile.
const SLOW_MS: u64 = 8000;

impl App {
    /// The next plan takes its time: git waits for its login.
    fn slow_plan(&self) {
        self.sandbox.add_rule(Rule::next("POST", "/app/installations/*/access_tokens", Fault::Slow(SLOW_MS)));
    }

    /// Asks for something and waits until it is answered, so that the service has what it needs to speak.
    fn warm(&self, number: u64) {
        let comment = self.comment(number, "bob", "/ab-test help");
        self.until_reaction(comment, "eyes");
        self.until_reply(number, "how to ask");
    }

    /// The processes of steps.
    fn steps(&self) -> Vec<String> {
        self.living().into_iter().filter(|line| line.contains("step.sh")).collect()
    }

    /// Somebody wants it stopped.
    fn cancel(&self, number: u64, by: &str) -> u64 {
        self.comment(number, by, "/ab-test tiny cancel")
    }
}

#[test]
fn cancelled_while_it_is_planned() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("planned", 1);
    app.warm(number);
    app.slow_plan();
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "planning");
    app.cancel(number, "mona");
    let comment = app.until_heading(number, "cancelled");
    assert!(comment.contains("Verdict: none") && comment.contains("Asked by mona."), "{comment}");
    assert_eq!(app.until_concluded(&app.head(number)), "cancelled");
    // The plan that came too late is dropped: what is asked for next is the only thing that runs.
    let again = app.comment(number, "mona", "/ab-test tiny");
    app.until_reaction(again, "rocket");
    app.until_heading(number, "round 1");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number), [(Some("cancelled".to_owned()), false), (None, true)]);
}

#[test]
fn cancelled_while_it_waits_and_while_it_runs() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let (first, second, third) = (app.pull("first", 1), app.pull("second", 1), app.pull("third", 1));
    app.comment(first, "mona", "/ab-test tiny");
    app.until_heading(first, "round 1");
    app.comment(second, "hubot", "/ab-test tiny");
    let waits = app.until_heading(second, "queued");
    assert!(waits.contains("behind 1 other run"), "{waits}");
    app.comment(third, "mona", "/ab-test tiny");
    let waits = app.until_heading(third, "queued");
    assert!(waits.contains("behind 2 other runs"), "{waits}");
    // A reader may not, whoever asked may, also when the right to push is gone meanwhile.
    app.sandbox.grant(REPO, "hubot", "read").expect("a right");
    let denied = app.cancel(second, "bob");
    app.until_reaction(denied, "confused");
    app.until_reply(second, "the right to push is needed");
    let obeyed = app.cancel(second, "hubot");
    app.until_reaction(obeyed, "eyes");
    let comment = app.until_heading(second, "cancelled");
    assert!(comment.contains("Asked by hubot.") && comment.contains("Verdict: none"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(second)), "cancelled");
    app.until_comment(third, "behind 1 other run");
    // The first is in the middle of its first step.
    let steps = app.until("a step lives", || Some(app.steps()).filter(|steps| !steps.is_empty()));
    app.cancel(first, "mona");
    let comment = app.until_heading(first, "cancelled");
    // It says so when nothing of it is left.
    let living = app.living();
    assert!(steps.iter().all(|step| !living.contains(step)), "{living:#?}");
    assert!(!comment.contains("may still be running"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(first)), "cancelled");
    // Its place is free.
    app.until_heading(third, "round 1");
    app.cancel(third, "mona");
    app.until_heading(third, "cancelled");
    app.nothing_lives();
    // What is over cannot be stopped.
    let late = app.cancel(third, "mona");
    app.until_reaction(late, "confused");
    app.until_reply(third, "nothing of this suite runs here");
    app.assert_lawful();
    app.stop();
    for number in [first, second, third] {
        assert_eq!(app.outcomes(number), [(Some("cancelled".to_owned()), true)]);
    }
}

/// Somebody cancels at once, or as soon as something is seen: whatever the run is doing then, it ends.
#[test]
fn cancelled_at_any_moment() {
    type Seen = fn(&App, u64, u64) -> bool;
    let moments: [(&str, Seen); 6] = [
        ("at-once", |_, _, _| true),
        ("noticed", |app, _, comment| app.reactions(comment).contains(&"eyes".to_owned())),
        ("said", |app, number, _| app.verdict(number).is_some()),
        ("started", |app, _, comment| app.reactions(comment).contains(&"rocket".to_owned())),
        ("submitted", |app, _, _| !app.living().is_empty()),
        ("runs", |app, _, _| !app.steps().is_empty()),
    ];
    let mut app = App::started(4);
    app.hold_steps(true);
    for (moment, seen) in moments {
        let number = app.pull(moment, 1);
        let comment = app.comment(number, "mona", "/ab-test tiny");
        app.until(moment, || seen(&app, number, comment).then_some(()));
        app.cancel(number, "mona");
        let shown = app.until_heading(number, "cancelled");
        assert!(!shown.contains("may still be running"), "{moment}: {shown}");
        assert_eq!(app.until_concluded(&app.head(number)), "cancelled", "{moment}");
        app.nothing_lives();
    }
    app.assert_lawful();
    app.stop();
}

/// A plan that takes long is nobody else's business: what is to be stopped elsewhere is stopped meanwhile.
#[test]
fn a_slow_plan_holds_nobody_else_up() {
    const OTHER: &str = "octo/other";
    let app = App::several(4);
    app.hold_steps(true);
    app.sandbox.repository(OTHER).expect("a repository");
    app.sandbox.grant(OTHER, "mona", "write").expect("a right");
    app.sandbox.commit(OTHER, "main", &[("step.sh", Some(&app.step(1)))], "A benchmark").expect("a commit");
    app.sandbox.commit(OTHER, "topic", &[("note", Some("x"))], "A note").expect("a commit");
    app.sandbox.install("octo", &[OTHER]).expect("an installation");
    let number = app.pull("quick", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    // The first login there is for the API, the second one for git.
    let tokens = "/app/installations/*/access_tokens";
    app.sandbox.add_rule(Rule { skip: 1, ..Rule::next("POST", tokens, Fault::Slow(4 * SLOW_MS)) });
    let before = app.asked("POST", "/access_tokens").len();
    let slow = app.sandbox.pull(OTHER, "topic", "main", "A note", "mona").expect("a pull request");
    app.sandbox.comment(OTHER, slow, "mona", "/ab-test tiny").expect("a comment");
    app.until("git asks for its login", || (app.asked("POST", "/access_tokens").len() == before + 2).then_some(()));
    app.cancel(number, "mona");
    app.until_heading(number, "cancelled");
    let said = app.sandbox.comments(OTHER, slow).pop().expect("a comment").body;
    assert!(said.contains("⏳ planning") && !app.log().contains("the plan has to wait"), "{said}\n{}", app.log());
    app.assert_lawful();
}

#[test]
fn the_approved_commit_of_a_fork_or_none() {
    let mut app = App::several(4);
    app.hold_steps(true);
    app.sandbox.fork(REPO, "stranger").expect("a fork");
    let fork = |branch: &str| {
        let step = app.step(1) + &format!("# {branch}\n");
        app.sandbox.commit("stranger/demo", branch, &[("step.sh", Some(&step))], branch).expect("a commit");
        let head = format!("stranger/demo:{branch}");
        app.sandbox.pull(REPO, &head, "main", branch, "stranger").expect("a pull request")
    };
    // A forced push between the command and the plan, for which git gets no login until then.
    let forced = fork("forced");
    let approved = app.head(forced);
    app.warm(forced);
    let tokens = "/app/installations/*/access_tokens";
    app.sandbox.add_rule(Rule { times: u32::MAX, ..Rule::next("POST", tokens, Fault::Refused(502)) });
    app.comment(forced, "mona", &format!("/ab-test tiny sha={approved}"));
    app.until_heading(forced, "planning");
    let hidden =
        app.sandbox.commit("stranger/demo", "hidden", &[("step.sh", Some("exit 1\n"))], "x").expect("a commit");
    app.sandbox.force("stranger/demo", "forced", &hidden, "stranger").expect("a forced push");
    app.sandbox.clear_rules();
    let comment = app.until_heading(forced, "head moved");
    assert!(comment.contains(&approved[..7]) && comment.contains("was not started"), "{comment}");
    assert_eq!(app.checks_of(&hidden).len(), 0);
    let number = fork("feature");
    let head = app.head(number);
    let whole = format!("/ab-test tiny preset=quick sha={head}");
    for typed in ["/ab-test tiny preset=quick".to_owned(), format!("/ab-test tiny preset=quick sha={}", &head[..12])] {
        let comment = app.comment(number, "mona", &typed);
        app.until_reaction(comment, "confused");
        app.until_reply(number, &whole);
        assert_eq!(app.verdict(number), None, "{typed}");
    }
    // What was read is not what is there any more.
    let step = app.step(1) + "# another\n";
    let newer = app.sandbox.push("stranger/demo", "feature", &[("step.sh", Some(&step))], "more", "stranger");
    let newer = newer.expect("a push");
    let comment = app.comment(number, "mona", &whole);
    app.until_reaction(comment, "confused");
    let reply = app.until_reply(number, &format!("/ab-test tiny preset=quick sha={newer}"));
    assert!(reply.contains("Nothing was started"), "{reply}");
    // The line of the reply, as somebody pastes it.
    let line = reply.split('`').find(|part| part.starts_with("/ab-test")).expect("a line").to_owned();
    let comment = app.comment(number, "mona", &line);
    app.until_reaction(comment, "rocket");
    app.until_heading(number, "round 1");
    app.until("a check", || (app.checks_of(&newer).len() == 1).then_some(()));
    app.until("the older commit waits for nobody", || {
        let over =
            |check: &sandbox::model::Check| check.conclusion.as_deref() == Some("neutral") && check.actions.is_empty();
        app.checks_of(&head).iter().all(over).then_some(())
    });
    // The stranger has no say.
    let own = fork("own");
    let comment = app.comment(own, "stranger", &format!("/ab-test tiny sha={}", app.head(own)));
    app.until_reaction(comment, "confused");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(own), []);
    let [(how, launched)] = &app.outcomes(forced)[..] else { panic!("one run") };
    assert_eq!((how.as_deref(), *launched), (Some("head_moved"), false));
}

#[test]
fn a_verdict_stays_true_of_what_it_is_about() {
    let mut app = App::measuring(5, "");
    let number = app.pull("topic", 40_000);
    let first = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    let done = app.until_over(number);
    assert!(done.contains("\nVerdict: pass\n"), "{done}");
    assert_eq!(app.until_concluded(&first), "success");
    // Asking again buys nothing, more rounds do.
    let again = app.comment(number, "hubot", "/ab-test tiny");
    app.until_reaction(again, "eyes");
    let reply = app.until_reply(number, "a verdict");
    assert!(reply.contains("/ab-test tiny rounds=+2"), "{reply}");
    let verdict = app.ours(number, MARKER)[0].id;
    assert!(reply.contains(&app.comment_url(number, verdict)), "{reply}");
    app.hold_steps(true);
    let more = app.comment(number, "hubot", "/ab-test tiny rounds=+2");
    app.until_reaction(more, "rocket");
    app.until_comment(number, "round 6 of at most 7");
    // A push in the middle: what was measured is finished, and said to be of the older commit.
    let pushed = app.sandbox.push(REPO, "topic", &[("more", Some("x"))], "more", "mona").expect("a push");
    app.hold_steps(false);
    let stale = app.until_heading(number, "stale");
    assert!(stale.contains("7 interleaved rounds"), "{stale}");
    assert!(stale.contains(&format!("the head is now {}", &pushed[..7])), "{stale}");
    assert!(stale.contains(&first[..7]), "{stale}");
    assert_eq!(app.checks_of(&pushed).len(), 0);
    // Rounds cannot be added to a commit that has none.
    let nothing = app.comment(number, "mona", "/ab-test tiny rounds=+2");
    app.until_reaction(nothing, "confused");
    app.until_reply(number, "there is none with a verdict");
    // Back to where it was: the verdict is about that again; another base: it is not.
    app.sandbox.force(REPO, "topic", &first, "mona").expect("a forced push");
    app.until("it is true again", || app.heading(number).filter(|heading| !heading.contains("stale")));
    app.sandbox.commit(REPO, "release", &[("note", Some("x"))], "a release").expect("a commit");
    app.sandbox.retarget(REPO, number, "release", "mona").expect("another base");
    let stale = app.until_heading(number, "stale");
    assert!(stale.contains("the base branch is now release"), "{stale}");
    assert_eq!(app.ours(number, MARKER).len(), 1);
    app.assert_lawful();
    app.stop();
}

#[test]
fn what_has_no_verdict_does_not_keep_saying_that_it_runs() {
    let mut app = App::started(4);
    // A commit that is not there is found out when the plan is made.
    let refused = app.pull("refused", 1);
    app.comment(refused, "mona", "/ab-test tiny control=0123456789abcdef0123456789abcdef01234567");
    // A base branch that is gone.
    app.sandbox.commit(REPO, "release", &[("note", Some("x"))], "a release").expect("a commit");
    let gone = {
        let step = app.step(1) + "# gone\n";
        app.sandbox.commit(REPO, "gone", &[("step.sh", Some(&step))], "gone").expect("a commit");
        app.sandbox.pull(REPO, "gone", "release", "gone", "mona").expect("a pull request")
    };
    let git = Command::new("git")
        .arg("-C")
        .arg(app.sandbox.folder(REPO).expect("a repository"))
        .args(["update-ref", "-d", "refs/heads/release"])
        .status();
    assert!(git.expect("git runs").success());
    app.comment(gone, "mona", "/ab-test tiny");
    // A benchmark that fails in both arms.
    let step = "echo broken >&2; exit 3\n";
    let broken = app.sandbox.commit(REPO, "broken", &[("step.sh", Some(step))], "broken").expect("a commit");
    app.sandbox.force(REPO, "also", &broken, "mona").expect("a branch");
    app.sandbox.commit(REPO, "also", &[("note", Some("x"))], "x").expect("a commit");
    let fails = app.sandbox.pull(REPO, "also", "broken", "also", "mona").expect("a pull request");
    app.comment(fails, "mona", "/ab-test tiny");
    let comment = app.until_heading(refused, "refused");
    assert!(comment.contains("Verdict: none") && comment.contains("0123456"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(refused)), "neutral");
    let comment = app.until_heading(fails, "❔");
    assert!(comment.contains("Verdict: inconclusive") && comment.contains("fail"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(fails)), "neutral");
    let comment = app.until("it ends", || {
        app.verdict(gone).filter(|body| body.lines().nth(1).is_some_and(|line| !line.contains('⏳')))
    });
    assert!(comment.contains("Verdict: none") && comment.contains("release"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(gone)), "neutral");
    // A pull request that is closed in the middle of it.
    app.hold_steps(true);
    let closed = app.pull("closed", 1);
    app.comment(closed, "mona", "/ab-test tiny");
    app.until_heading(closed, "round 1");
    app.sandbox.close(REPO, closed, "mona").expect("it is closed");
    let comment = app.until_heading(closed, "cancelled");
    assert!(comment.contains("The pull request was closed."), "{comment}");
    assert_eq!(app.until_concluded(&app.head(closed)), "cancelled");
    app.nothing_lives();
    // Nothing is started on what is closed.
    let late = app.comment(closed, "mona", "/ab-test tiny");
    app.until_reaction(late, "confused");
    app.until_reply(closed, "the pull request is closed");
    app.assert_lawful();
    app.stop();
}
