//! Heads of forks: nothing of them runs that nobody who may has read.

use sandbox::faults::{Fault, Rule};

use super::harness::{App, REPO};

impl App {
    /// A service that runs, and a fork.
    fn forked() -> Self {
        let app = Self::several(4);
        app.hold_steps(true);
        app.sandbox.fork(REPO, "stranger").expect("a fork");
        app
    }

    /// A pull request of the fork.
    fn stranger(&self, branch: &str) -> u64 {
        let step = self.step(1) + &format!("# {branch}\n");
        self.sandbox.commit("stranger/demo", branch, &[("step.sh", Some(&step))], branch).expect("a commit");
        let head = format!("stranger/demo:{branch}");
        self.sandbox.pull(REPO, &head, "main", branch, "stranger").expect("a pull request")
    }

    /// The stranger pushes something.
    fn sneak(&self, branch: &str) -> String {
        let step = self.step(1) + "# sneaked\n";
        self.sandbox.push("stranger/demo", branch, &[("step.sh", Some(&step))], "more", "stranger").expect("a push")
    }
}

#[test]
fn a_fork_is_approved_with_the_button_or_not_at_all() {
    let mut app = App::forked();
    let number = app.stranger("feature");
    let head = app.head(number);
    let asked = app.comment(number, "mona", "/ab-test tiny preset=other");
    app.until_reaction(asked, "confused");
    let reply = app.until_reply(number, "credentials of the cluster");
    assert!(reply.contains(&format!("/ab-test tiny preset=other sha={head}")), "{reply}");
    let check = app.until_button(&head, "approve");
    assert_eq!(check.conclusion.as_deref(), Some("action_required"));
    let summary = &check.output["summary"];
    assert!(summary.contains("credentials of the cluster") && summary.contains(&head), "{summary}");
    // A reader and the stranger press in vain.
    for login in ["bob", "stranger"] {
        let outcome = app.press(&check, "approve", login);
        assert!(outcome.contains("denied") && outcome.contains("the right to push"), "{outcome}");
    }
    assert_eq!(app.verdict(number), None);
    let outcome = app.press(&check, "approve", "hubot");
    assert!(outcome.contains("approve"), "{outcome}");
    let comment = app.until_heading(number, "round 1");
    assert!(comment.contains(&head[..7]), "{comment}");
    // Twice is once.
    let payload = app.newest("check_run").payload;
    let outcome = app.deliver("pressed-again", "check_run", &payload);
    assert!(outcome.contains("nothing waits for this approval"), "{outcome}");
    let said = app.until("the check says who", || {
        let all = app.checks_of(&head);
        all.into_iter().find(|one| one.id == check.id && one.actions.is_empty())
    });
    assert_eq!((said.conclusion.as_deref(), said.output["title"].as_str()), (Some("neutral"), "approved by hubot"));
    app.until_button(&head, "cancel");
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number), ["goes on"]);
    let audit = app.audit();
    for login in ["bob", "stranger"] {
        let line = audit.iter().find(|line| line.action == "denied" && line.actor.contains(login));
        assert!(line.is_some_and(|line| line.detail.contains("denied")), "{audit:#?}");
    }
    assert!(audit.iter().any(|line| line.action == "pressed" && line.actor.contains("hubot")), "{audit:#?}");
}

#[test]
fn a_head_that_moved_is_not_started_by_the_button() {
    let mut app = App::forked();
    // The push is told of before the button, and after it.
    for push_first in [true, false] {
        let branch = format!("moved-{push_first}");
        let number = app.stranger(&branch);
        let head = app.head(number);
        app.comment(number, "mona", "/ab-test tiny");
        let check = app.until_button(&head, "approve");
        app.all_handled();
        app.deliver_by_hand();
        let newer = app.sneak(&branch);
        let push = app.newest("pull_request");
        app.sandbox.press(check.id, "approve", "mona").expect("a button");
        let mut both = [push, app.newest("check_run")];
        if !push_first {
            both.reverse();
        }
        for told in &both {
            app.deliver(&told.guid, &told.event, &told.payload);
        }
        let said = app.until("the check says so", || {
            app.checks_of(&head).into_iter().find(|one| one.conclusion.as_deref() == Some("neutral"))
        });
        assert_eq!((said.id, said.output["title"].as_str()), (check.id, "the head has moved"));
        assert!(said.actions.is_empty());
        assert_eq!(app.verdict(number), None);
        assert_eq!(app.checks_of(&newer).len(), 0);
        app.sandbox.set_webhook(&format!("http://127.0.0.1:{}/webhook", app.port));
    }
    app.assert_lawful();
    app.stop();
    for number in [1, 2] {
        assert_eq!(app.outcomes(number), []);
    }
    let audit = app.audit();
    assert_eq!(audit.iter().filter(|line| line.action == "refused").count(), 2, "{audit:#?}");
}

/// Whoever asks again is told of the newer head before its push is: the check of the older one waits for nobody.
#[test]
fn asked_again_the_newer_head_waits() {
    let mut app = App::forked();
    let number = app.stranger("feature");
    let head = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_button(&head, "approve");
    app.all_handled();
    app.deliver_by_hand();
    let newer = app.sneak("feature");
    app.comment(number, "mona", "/ab-test tiny");
    let asked = app.newest("issue_comment");
    app.deliver(&asked.guid, &asked.event, &asked.payload);
    app.until_button(&newer, "approve");
    app.until("the older one waits for nobody", || {
        app.checks_of(&head).iter().all(|check| check.conclusion.as_deref() == Some("neutral")).then_some(())
    });
    assert!(app.checks_of(&head).iter().all(|check| check.actions.is_empty()));
    assert_eq!(app.verdict(number), None);
    app.assert_lawful();
    app.stop();
}

#[test]
fn a_forced_push_between_the_button_and_the_launch() {
    let mut app = App::forked();
    let number = app.stranger("feature");
    let approved = app.head(number);
    app.comment(number, "mona", "/ab-test tiny");
    let check = app.until_button(&approved, "approve");
    // Git gets no login until the head is another one.
    let tokens = "/app/installations/*/access_tokens";
    app.sandbox.add_rule(Rule { times: u32::MAX, ..Rule::next("POST", tokens, Fault::Refused(502)) });
    app.press(&check, "approve", "mona");
    app.until_heading(number, "planning");
    let hidden =
        app.sandbox.commit("stranger/demo", "hidden", &[("step.sh", Some("exit 1\n"))], "x").expect("a commit");
    app.sandbox.force("stranger/demo", "feature", &hidden, "stranger").expect("a forced push");
    app.sandbox.clear_rules();
    let comment = app.until_heading(number, "head moved");
    assert!(comment.contains(&approved[..7]) && comment.contains("was not started"), "{comment}");
    assert_eq!(app.checks_of(&hidden).len(), 0);
    assert!(app.living().is_empty());
    app.assert_lawful();
    app.stop();
    let [(how, launched)] = &app.outcomes(number)[..] else { panic!("one run") };
    assert_eq!((how.as_deref(), *launched), (Some("head_moved"), false));
}
