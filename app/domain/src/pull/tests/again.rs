//! What is not lost: a head that is back, what was measured before a retry, decisions, what waits.

use super::pushes::{ask, changed, done, running, see, then};
use super::*;
use crate::ids::Digest;
use crate::view::{Decided, Decision};

const DEBOUNCE: u64 = 600_000;

fn ended(how: Ending) -> Over {
    Over { verdict: None, ended: Some((how, None)), ..verdict(Verdict::Pass) }
}

fn accepted() -> Decision {
    Decision { what: Decided::Accepted, by: "mona".to_owned(), why: "worth it".to_owned(), at: None }
}

fn retry(n: u32, comment: u64) -> Event {
    let by = Account { id: 6, login: "hubot".to_owned() };
    Event::Retry { suite: "demo".to_owned(), run: run(n), by, comment: Some(comment) }
}

#[test]
fn a_head_that_is_back_while_its_run_is_stopped_is_measured_after_all() {
    let stopped = |more: Vec<Event>| then(running(), more);
    let pushed = [see(pull(3), 2), changed(1, 3, OnPush::Supersede, Some(1)), see(pull(2), 3)];
    let over = Event::RunOver(run(1), ended(Ending::Superseded));
    let back = stopped(pushed.into_iter().chain([over]).collect());
    let again = back.state.running().unwrap();
    assert_eq!((&again.asked.head, again.asked.cause), (&sha(2), Cause::Push));
    // The same where it was still being planned.
    let planning =
        vec![see(pull(2), 1), ask(1, 2), see(pull(3), 2), changed(1, 3, OnPush::Supersede, None), see(pull(2), 3)];
    let back = take(planning);
    assert!(back.state.next.contains_key("demo") || back.state.running().is_some(), "{:?}", back.state);
    // Cancelled by a person it is not.
    let cancelled = stopped(vec![see(pull(3), 2), see(pull(2), 3), Event::RunOver(run(1), ended(Ending::Cancelled))]);
    assert_eq!((cancelled.state.active, cancelled.state.next.len()), (None, 0));
}

#[test]
fn what_was_measured_is_there_for_the_next_retry() {
    let evidence = Some(Digest::of(b"evidence"));
    let broken = Over { evidence: evidence.clone(), ..ended(Ending::Failed) };
    let refused = |n| Event::NotPlanned { run: run(n), how: Ending::Refused, why: "no budget".to_owned() };
    for before in [running(), {
        let mut events = done(Verdict::Inconclusive);
        events.extend([ask(4, 2), Event::Planned(run(4))]);
        events
    }] {
        let first = take(before.clone()).state.running().unwrap().asked.run.clone();
        let events = [Event::RunOver(first.clone(), broken.clone()), retry(5, 90), refused(5)];
        let after = then(before, events);
        let shown = &after.state.shown["demo"];
        assert_eq!((&shown.asked.run, &shown.stage), (&first, &Stage::Over(broken.clone())));
        let again = step(&after.state, retry(6, 91), Ms(20));
        assert_eq!(again.state.running().unwrap().asked.retries, Some(first));
    }
}

#[test]
fn nothing_is_retried_or_pressed_on_a_closed_pull_request() {
    let over = Event::RunOver(run(1), Over { evidence: Some(Digest::of(b"e")), ..ended(Ending::Failed) });
    let closed = || then(running(), [over.clone(), see(Pull { open: false, ..pull(2) }, 2)]);
    let retried = step(&closed().state, retry(5, 90), Ms(20));
    assert_eq!((retried.said, retried.state.active), (Said::Closed, None));
    let pressed = Asked { cause: Cause::Button, ..asked(6, 2) };
    let pressed = step(&closed().state, Event::Ask(Box::new(pressed)), Ms(20));
    assert_eq!((pressed.said, pressed.state.active), (Said::Closed, None));
}

#[test]
fn a_decision_stays_with_its_verdict() {
    let accept = Event::Accept { suite: "demo".to_owned(), decision: accepted(), comment: 9, written: Some(Ms(50)) };
    let mut events = done(Verdict::Regression);
    events.extend([accept, see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
    let begun = step(&take(events).state, Event::Due, Ms(10 + DEBOUNCE));
    assert_eq!(begun.state.shown["demo"].decision, None);
    let second = begun.state.running().unwrap().asked.run.clone();
    let refused = Event::NotPlanned { run: second, how: Ending::Refused, why: "no budget".to_owned() };
    let stands = step(&begun.state, refused, Ms(20));
    assert_eq!(stands.state.shown["demo"].decision, Some(accepted()));
    assert_eq!(stands.state.shown["demo"].asked.run, run(1));
}

#[test]
fn what_was_not_read_is_not_accepted() {
    let accept = |written| Event::Accept {
        suite: "demo".to_owned(),
        decision: accepted(),
        comment: 9,
        written: Some(Ms(written)),
    };
    let decided = || {
        let mut events = running();
        events.push(Event::RunOver(run(1), Over { at: Ms(5000), ..verdict(Verdict::Regression) }));
        events
    };
    let early = then(decided(), [accept(3999)]);
    assert_eq!((early.said, early.state.shown["demo"].decision.clone()), (Said::NewerVerdict("demo".to_owned()), None));
    // Times of comments have no fraction of a second.
    let later = then(decided(), [accept(4000)]);
    assert_eq!(later.state.shown["demo"].decision, Some(accepted()));
}

#[test]
fn another_request_is_not_answered_by_a_verdict_when_its_head_is_back() {
    let other = |n, head| Asked { pairs: vec![("preset".to_owned(), "full".to_owned())], ..asked(n, head) };
    let mut events = done(Verdict::Pass);
    events.extend([Event::Ask(Box::new(other(4, 2))), Event::Planned(run(4))]);
    events.extend([see(pull(3), 2), changed(4, 3, OnPush::Supersede, Some(1)), see(pull(2), 3)]);
    events.push(Event::RunOver(run(4), ended(Ending::Superseded)));
    let back = take(events);
    let shown = back.state.running().expect("it is measured");
    assert_eq!((&shown.asked.head, &shown.asked.pairs), (&sha(2), &other(4, 2).pairs));
}

#[test]
fn reopening_starts_nothing_where_pushes_are_switched_on_either() {
    let by = Account { id: 6, login: "hubot".to_owned() };
    let auto = Auto { on: true, by, comment: 77, at: Ms(2), head: None };
    let on = Event::Auto { suite: "demo".to_owned(), auto };
    let reopened = take([see(pull(2), 1), on, see(Pull { open: false, ..pull(3) }, 3), see(pull(3), 4)]);
    assert_eq!(reopened.effects, []);
    let pushed = step(&reopened.state, see(pull(4), 5), Ms(10));
    assert!(matches!(pushed.effects.as_slice(), [What::Weigh { .. }]), "{:?}", pushed.effects);
}

#[test]
fn a_weighing_that_comes_late_changes_nothing_that_was_decided() {
    let shut = Pull { open: false, ..pull(2) };
    let events = [see(pull(3), 2), see(shut, 3), see(pull(3), 4), changed(1, 3, OnPush::Auto, None)];
    let late = then(done(Verdict::Pass), events);
    assert_eq!((late.effects.as_slice(), late.state.next.len()), ([].as_slice(), 0));
}

#[test]
fn a_head_that_is_measured_waits_for_no_approval() {
    let by = Account { id: 5, login: "mona".to_owned() };
    let approval =
        |head| Approval { head: sha(head), pairs: vec![], by: by.clone(), comment: 60, at: Ms(1), over: None };
    let needs = |head| Event::NeedsApproval { suite: "demo".to_owned(), approval: approval(head) };
    for events in [running(), done(Verdict::Pass)] {
        assert_eq!(then(events.clone(), [needs(2)]).state.approvals.len(), 0);
        assert_eq!(then(events, [needs(3)]).state.approvals.len(), 1);
    }
}

#[test]
fn a_button_asks_once_however_often_it_is_told_of() {
    let of = |n: u32, seconds: u64| {
        let run = RunId::new(1_795_984_130 + seconds, n).unwrap();
        Asked { cause: Cause::Button, run, ..asked(1, 2) }.key()
    };
    assert_eq!(of(7, 0), of(7, 99));
    assert_ne!(of(7, 0), of(8, 0));
}
