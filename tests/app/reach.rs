//! The app is removed or suspended in the middle of a run, and events come in any order.

use super::harness::{App, REPO};
use super::pushes::QUICK;

impl App {
    fn installation(&self) -> u64 {
        let all = self.sandbox.deliveries();
        all.iter().find_map(|delivery| delivery.installation).expect("an installation")
    }
}

#[test]
fn removed_nothing_of_it_lives_on() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    app.until("a step lives", || (!app.living().is_empty()).then_some(()));
    app.sandbox.uninstall(app.installation(), "mona").expect("it is removed");
    app.nothing_lives();
    app.assert_lawful();
    app.until("the run is over", || {
        let repo = app.newest_repo();
        let rows = app.runtime().block_on(async {
            let store = app.store().await;
            let rows = domain::ports::Desk::runs(&store, repo, number).await.expect("runs");
            store.close().await;
            rows
        });
        (rows.len() == 1 && rows[0].outcome.as_deref() == Some("cancelled")).then_some(())
    });
    app.stop();
}

#[test]
fn suspended_it_goes_on_and_says_so_later() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    app.until("a step lives", || (!app.living().is_empty()).then_some(()));
    let installation = app.installation();
    app.sandbox.suspend(installation, true, "mona").expect("it is suspended");
    app.all_handled();
    app.hold_steps(false);
    let repo = app.newest_repo();
    app.until("the run is over", || {
        let rows = app.runtime().block_on(async {
            let store = app.store().await;
            let rows = domain::ports::Desk::runs(&store, repo, number).await.expect("runs");
            store.close().await;
            rows
        });
        rows.iter().any(|row| row.outcome.is_some()).then_some(())
    });
    // It cannot be said yet.
    app.until("GitHub refuses it", || {
        let refused = |one: &sandbox::exchange::Logged| one.status == 403 && one.path.contains("/issues/");
        app.sandbox.requests().iter().any(refused).then_some(())
    });
    app.until_heading(number, "round");
    app.sandbox.suspend(installation, false, "mona").expect("it is back");
    let over = app.until_over(number);
    assert!(over.contains("4 interleaved rounds"), "{over}");
    app.until_concluded(&app.head(number));
    app.stop();
}

/// A push is told of before or after the command that was written before it: the end is the same.
#[test]
fn a_push_and_the_command_before_it_in_both_orders() {
    let mut app = App::pushed(4, QUICK);
    app.deliver_by_hand();
    app.hold_steps(true);
    for push_first in [true, false] {
        let branch = format!("first-{push_first}");
        let number = app.pull(&branch, 1);
        let before = app.head(number);
        app.comment(number, "mona", "/ab-test tiny");
        let mut command = app.newest("issue_comment");
        // GitHub's times are whole seconds: the command is an old one.
        command.payload["comment"]["created_at"] = "2026-01-02T03:04:05Z".into();
        if !push_first {
            app.deliver(&command.guid, &command.event, &command.payload);
            app.until_heading(number, "round 1");
        }
        let after = app.push(&branch, 2);
        let push = app.newest("pull_request");
        app.deliver(&push.guid, &push.event, &push.payload);
        if push_first {
            app.deliver(&command.guid, &command.event, &command.payload);
        }
        app.until("the new head is measured", || {
            let now = format!("head `{}", &after[..7]);
            app.verdict(number).filter(|body| body.contains("round 1") && body.contains(&now))
        });
        app.until("its check", || (app.checks_of(&after).len() == 1).then_some(()));
        app.comment(number, "mona", "/ab-test tiny cancel");
        let cancel = app.newest("issue_comment");
        app.deliver(&cancel.guid, &cancel.event, &cancel.payload);
        app.until_heading(number, "cancelled");
        assert_ne!(before, after);
    }
    app.assert_lawful();
    app.stop();
    for number in [1, 2] {
        assert_eq!(app.ends(number), ["superseded", "cancelled"]);
    }
}

/// A command, a push and the closing, all of them told of when all has happened: nothing runs, in whatever order.
#[test]
fn what_is_closed_by_now_is_not_measured_in_any_order() {
    let mut app = App::pushed(4, QUICK);
    app.deliver_by_hand();
    app.hold_steps(true);
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut numbers = Vec::new();
    for (at, order) in orders.iter().enumerate() {
        let branch = format!("order-{at}");
        let number = app.pull(&branch, 1);
        app.comment(number, "mona", "/ab-test tiny");
        let command = app.newest("issue_comment");
        app.push(&branch, 2);
        let push = app.newest("pull_request");
        app.sandbox.close(REPO, number, "mona").expect("it is closed");
        let all = [command, push, app.newest("pull_request")];
        for told in order.iter().map(|at| &all[*at]) {
            app.deliver(&told.guid, &told.event, &told.payload);
        }
        app.until_reply(number, "the pull request is closed");
        app.assert_nothing_started(number);
        numbers.push(number);
    }
    assert!(app.living().is_empty());
    app.assert_lawful();
    app.stop();
    for number in numbers {
        assert_eq!(app.outcomes(number), []);
    }
}
