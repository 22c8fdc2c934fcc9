//! What the verbs do that neither run nor cancel, through the whole program.

use std::fs;

use super::harness::{App, REPLY, REPO};
use super::pushes::QUICK;

/// A benchmark that writes down every step and what it was given; from step `@AFTER@` on it waits while it is held.
const COUNTING: &str = r#"log=@FOLDER@/steps
echo "$1 ${KNOB-none}" >> "$log"
n=$(wc -l < "$log")
i=0
while [ "$i" -lt 40000 ]; do i=$(( i + 1 )); done
if [ "$n" -gt @AFTER@ ]; then while [ -e @FOLDER@/hold ]; do sleep 0.05; done; fi
echo '{"items": 7}'
"#;

impl App {
    /// A pull request whose steps are counted in both arms; from step `after` on they wait while they are held.
    pub(super) fn counted(&self, branch: &str, after: u32) -> u64 {
        let folder = self.folder().display().to_string();
        let step = COUNTING.replace("@FOLDER@", &folder).replace("@AFTER@", &after.to_string());
        self.sandbox.commit(REPO, "main", &[("step.sh", Some(&step))], "A counted benchmark").expect("a commit");
        let step = format!("{step}# {branch}\n");
        self.sandbox.commit(REPO, branch, &[("step.sh", Some(&step))], branch).expect("a commit");
        self.sandbox.pull(REPO, branch, "main", branch, "mona").expect("a pull request")
    }

    /// The steps that were launched, a line each.
    pub(super) fn launched(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder().join("steps")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// A pull request whose head cannot be run any more: a regression that needs no statistics.
    pub(super) fn broken(&self, branch: &str) -> u64 {
        let step = "echo broken >&2\nexit 3\n";
        self.sandbox.commit(REPO, branch, &[("step.sh", Some(step))], branch).expect("a commit");
        self.sandbox.pull(REPO, branch, "main", branch, "mona").expect("a pull request")
    }
}

#[test]
fn a_plan_is_shown_and_nothing_starts() {
    let mut app = App::started(4);
    app.hold_steps(true);
    let number = app.pull("topic", 1);
    // Whoever reads may look.
    let asked = app.comment(number, "bob", "/ab-test tiny plan preset=looked");
    app.until_reaction(asked, "eyes");
    let reply = app.until_reply(number, "Plan:");
    let head = app.head(number);
    for part in [
        &head[..7],
        "| control |",
        "| `head` |",
        "### Scope",
        "1 changed file",
        "fingerprint",
        "| Rounds | at most 6, looked at after 4 and 6",
        "| Calibration |",
        "| CPU time |",
        "Nothing was started. `/ab-test tiny preset=looked` starts it.",
    ] {
        assert!(reply.contains(part), "{part}: {reply}");
    }
    // Arms with differences, in the same comment.
    app.comment(number, "mona", "/ab-test tiny plan treatment=a@head,env.KNOB=1 treatment=b@head,env.KNOB=2");
    let reply = app.until_reply(number, "`env.KNOB=2`");
    assert!(reply.contains("| `a` |") && reply.contains("| `b` |") && reply.contains("`env.KNOB=1`"), "{reply}");
    // What cannot be planned is told, and so is who may not look.
    app.comment(number, "mona", "/ab-test tiny plan control=0123456789abcdef0123456789abcdef01234567");
    app.until_reply(number, "cannot be planned");
    let denied = app.comment(number, "visitor", "/ab-test tiny plan");
    app.until_reaction(denied, "confused");
    app.until_reply(number, "the right to read");
    app.all_handled();
    app.assert_nothing_started(number);
    assert_eq!(app.ours(number, REPLY).len(), 1);
    assert!(app.living().is_empty());
    app.assert_lawful();
    app.stop();
    assert_eq!(app.outcomes(number), []);
}

#[test]
fn a_retry_launches_what_is_missing() {
    let mut app = App::new(4);
    app.start();
    app.hold_steps(true);
    // Two steps of two arms are a round: the first one is measured, the second one is held.
    let number = app.counted("topic", 4);
    app.comment(number, "mona", "/ab-test tiny");
    app.until("the second round waits", || (app.launched().len() == 5).then_some(()));
    app.until_heading(number, "round 2");
    app.comment(number, "mona", "/ab-test tiny cancel");
    app.until_heading(number, "cancelled");
    app.nothing_lives();
    assert_eq!(app.launched().len(), 5);
    app.hold_steps(false);
    let denied = app.comment(number, "bob", "/ab-test tiny retry");
    app.until_reaction(denied, "confused");
    let retry = app.comment(number, "hubot", "/ab-test tiny retry");
    app.until_reaction(retry, "eyes");
    let over = app.until("a verdict", || app.verdict(number).filter(|body| body.contains("4 interleaved rounds")));
    // Three rounds of four steps were missing.
    assert_eq!(app.launched().len(), 5 + 12, "{over}");
    app.assert_lawful();
    app.stop();
    let repo = app.newest_repo();
    let ledgers: Vec<_> = app.read_store(async |store| {
        let rows = domain::ports::Desk::runs(store, repo, number).await.expect("runs");
        rows.into_iter().map(|row| row.ledger).collect()
    });
    assert_eq!(ledgers.len(), 2);
    assert!(ledgers[0].is_some() && ledgers[0] == ledgers[1], "{ledgers:?}");
}

#[test]
fn a_regression_is_accepted_by_somebody_who_may() {
    let mut app = App::started(4);
    let number = app.broken("topic");
    // Nothing is there yet to be accepted or to be measured again.
    let early = app.comment(number, "mona", "/ab-test tiny accept the old hash was wrong");
    app.until_reaction(early, "confused");
    app.until_reply(number, "would have to be accepted");
    let early = app.comment(number, "mona", "/ab-test tiny retry");
    app.until_reaction(early, "confused");
    app.until_reply(number, "could be completed");
    app.comment(number, "mona", "/ab-test tiny");
    let over = app.until_over(number);
    assert!(over.contains("\nVerdict: regression\n"), "{over}");
    let head = app.head(number);
    assert_eq!(app.until_concluded(&head), "failure");
    // It can be neither skipped nor measured again.
    for (verb, says) in [("retry", "could be completed"), ("skip it is fine", "cannot be skipped any more")] {
        let refused = app.comment(number, "mona", &format!("/ab-test tiny {verb}"));
        app.until_reaction(refused, "confused");
        app.until_reply(number, says);
    }
    let denied = app.comment(number, "bob", "/ab-test tiny accept I say so");
    app.until_reaction(denied, "confused");
    app.until_reply(number, "the right to push is needed");
    assert_eq!(app.until_concluded(&head), "failure");
    let accepted = app.comment(number, "hubot", "/ab-test tiny accept the old hash was <b>wrong</b>");
    app.until_reaction(accepted, "eyes");
    let comment = app.until_comment(number, "Accepted by `hubot`");
    assert!(comment.contains("\nVerdict: regression\n") && comment.contains("the old hash was"), "{comment}");
    assert!(!comment.contains("<b>"), "{comment}");
    app.until("the check is neutral", || (app.until_concluded(&head) == "neutral").then_some(()));
    app.assert_lawful();
    app.stop();
    let audit = app.audit();
    let line = audit.iter().find(|line| line.action == "accept" && line.actor.contains("hubot"));
    assert!(line.is_some_and(|line| line.detail.contains("the old hash")), "{audit:#?}");
}

#[test]
fn a_head_is_skipped_with_a_reason() {
    let mut app = App::started(4);
    let number = app.pull("topic", 1);
    let without = app.comment(number, "mona", "/ab-test tiny skip");
    app.until_reaction(without, "confused");
    app.until_reply(number, "skip");
    let denied = app.comment(number, "bob", "/ab-test tiny skip no need");
    app.until_reaction(denied, "confused");
    app.assert_nothing_started(number);
    let skip = app.comment(number, "mona", "/ab-test tiny skip only the words changed");
    app.until_reaction(skip, "eyes");
    let comment = app.until_heading(number, "skipped");
    assert!(comment.contains("Skipped by `mona`") && comment.contains("only the words changed"), "{comment}");
    assert!(comment.contains("\nVerdict: none\n"), "{comment}");
    assert_eq!(app.until_concluded(&app.head(number)), "neutral");
    // Whoever wants it measured after all asks for it; a run that has begun is not skipped.
    app.hold_steps(true);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_heading(number, "round 1");
    app.until("a step lives", || (!app.living().is_empty()).then_some(()));
    app.comment(number, "mona", "/ab-test tiny skip too late");
    app.until_reply(number, "cancel it first");
    let goes_on = app.until_heading(number, "round 1");
    assert!(!goes_on.contains("too late"), "{goes_on}");
    app.assert_lawful();
    app.stop();
    let audit = app.audit();
    let line = audit.iter().find(|line| line.action == "skip" && line.actor.contains("mona"));
    assert!(line.is_some_and(|line| line.detail.contains("only the words") || line.detail.contains("too late")));
    assert_eq!(app.ends(number), ["goes on"]);
}

#[test]
fn a_row_is_explained_and_treatments_are_measured() {
    let mut app = App::started(4);
    app.hold_steps(false);
    let number = app.counted("topic", 0);
    app.comment(number, "bob", "/ab-test tiny explain one");
    app.until_reply(number, "one");
    // A variable that the suite does not allow.
    let wrong = app.comment(number, "mona", "/ab-test tiny treatment=a@head,env.KNOBS=1");
    app.until_reaction(wrong, "confused");
    app.until_reply(number, "nearest: KNOB");
    app.comment(number, "mona", "/ab-test tiny treatment=a@head,env.KNOB=1 treatment=b@head,env.KNOB=2");
    let over = app.until_over(number);
    assert!(over.contains("env.KNOB=1") && over.contains("env.KNOB=2"), "{over}");
    let launched = app.launched();
    for given in ["one none", "one 1", "one 2", "two none", "two 1", "two 2"] {
        assert_eq!(launched.iter().filter(|line| *line == given).count(), 4, "{given}: {launched:?}");
    }
    app.comment(number, "bob", "/ab-test tiny explain one");
    let exact = app.until_reply(number, "Treatment a");
    assert!(exact.contains("Treatment b"), "{exact}");
    app.comment(number, "bob", "/ab-test tiny explain tow");
    let near = app.until_reply(number, "tow");
    assert!(near.contains("`two`"), "{near}");
    let denied = app.comment(number, "visitor", "/ab-test tiny explain one");
    app.until_reaction(denied, "confused");
    app.assert_lawful();
    app.stop();
}

#[test]
fn switched_on_a_push_is_measured_where_the_suite_wants_none() {
    let mut app = App::pushed(4, "on_push = \"off\"\ndebounce = \"1s\"");
    let number = app.pull("topic", 1);
    let on = app.comment(number, "mona", "/ab-test tiny auto on");
    app.until_reaction(on, "eyes");
    app.until_reply(number, "measured by themselves from now on");
    app.assert_nothing_started(number);
    let pushed = app.push("topic", 2);
    let over = app.until_over(number);
    assert!(over.contains(&pushed[..12]), "{over}");
    app.until_concluded(&pushed);
    app.assert_lawful();
    app.stop();
    assert_eq!(app.ends(number).len(), 1);
}

#[test]
fn an_agreement_is_bound_to_the_plan_that_was_shown() {
    let mut app = App::pushed(4, QUICK);
    let number = app.pull("topic", 1);
    // Nothing waits.
    let early = app.comment(number, "mona", "/ab-test tiny confirm");
    app.until_reaction(early, "confused");
    app.until_reply(number, "no plan of this suite waits");
    app.assert_nothing_started(number);
    app.assert_lawful();
    app.stop();
}
