//! What pushes do, sentence by sentence.

use super::*;
use crate::pull::push::WORTH_FINISHING;
use crate::view::{Decided, Decision};

const DEBOUNCE: u64 = 600_000;

pub(super) fn ask(n: u32, head: u8) -> Event {
    Event::Ask(Box::new(asked(n, head)))
}

pub(super) fn see(pull: Pull, at: u64) -> Event {
    Event::Observed(Box::new(pull), Ms(at))
}

/// A run of head 2 that goes on.
pub(super) fn running() -> Vec<Event> {
    vec![see(pull(2), 1), ask(1, 2), Event::Planned(run(1))]
}

/// A run of head 2 with a verdict.
pub(super) fn done(of: Verdict) -> Vec<Event> {
    let mut events = running();
    events.push(Event::RunOver(run(1), verdict(of)));
    events
}

fn weighed(n: Option<u32>, head: u8, on_push: OnPush, spent: Option<u32>) -> Weighed {
    let compared = Compared::Changed { why: "lib/a.py".to_owned() };
    let (suite, run) = ("demo".to_owned(), n.map(run));
    Weighed { suite, run, head: sha(head), compared, on_push, debounce_ms: DEBOUNCE, spent }
}

pub(super) fn changed(n: u32, head: u8, on_push: OnPush, spent: Option<u32>) -> Event {
    Event::Weighed(Box::new(weighed(Some(n), head, on_push, spent)))
}

fn same(n: u32, head: u8) -> Event {
    let why = "the files that matter are the same".to_owned();
    Event::Weighed(Box::new(Weighed {
        compared: Compared::Same { why },
        ..weighed(Some(n), head, OnPush::Auto, Some(1))
    }))
}

pub(super) fn then(mut events: Vec<Event>, more: impl IntoIterator<Item = Event>) -> Stepped {
    events.extend(more);
    take(events)
}

fn fate(state: &PullState) -> Option<NewerFate> {
    state.shown["demo"].newer.clone().map(|newer| newer.fate)
}

fn not(state: &PullState) -> NotAgain {
    let Some(NewerFate::Not { why }) = fate(state) else { panic!("{:?}", fate(state)) };
    why
}

fn superseding(effects: &[What]) -> bool {
    let ours = |what: &What| matches!(what, What::Cancel { how: Ending::Superseded, run: of, .. } if *of == run(1));
    effects.iter().any(ours)
}

#[test]
fn a_push_is_weighed_once() {
    let pushed = then(running(), [see(pull(3), 2)]);
    assert_eq!(pushed.effects, [What::Weigh { suite: "demo".to_owned(), head: sha(3), at: Ms(2) }]);
    assert_eq!(fate(&pushed.state), Some(NewerFate::Weighing));
    let again = step(&pushed.state, see(pull(3), 3), Ms(10));
    assert_eq!(again.effects, []);
    // A push that was seen before the command of an older head is weighed all the same.
    let before = take([see(pull(3), 1), ask(1, 2)]);
    assert!(before.effects.contains(&What::Weigh { suite: "demo".to_owned(), head: sha(3), at: Ms(1) }));
    // Nobody asked for anything: nothing to weigh.
    assert_eq!(take([see(pull(2), 1), see(pull(3), 2)]).effects, []);
}

#[test]
fn what_changes_nothing_is_carried_over() {
    for events in [running(), done(Verdict::Pass)] {
        let carried = then(events, [see(pull(3), 2), same(1, 3)]);
        assert_eq!(carried.effects, []);
        let shown = &carried.state.shown["demo"];
        assert_eq!(shown.carried().map(|(head, _)| head.clone()), Some(sha(3)));
        assert_eq!(carried.state.stale(shown), None);
        // The next push is held against what was measured, not against what it was carried to.
        let next = step(&carried.state, see(pull(4), 3), Ms(11));
        assert_eq!(next.effects, [What::Weigh { suite: "demo".to_owned(), head: sha(4), at: Ms(3) }]);
        assert!(next.state.stale(&next.state.shown["demo"]).is_some());
    }
}

#[test]
fn supersede_stops_and_begins_anew_after_a_while() {
    let pushed = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Supersede, Some(90))]);
    assert!(superseding(&pushed.effects));
    let due = Ms(10 + DEBOUNCE);
    assert!(pushed.effects.contains(&What::Begin { at: due }));
    // Nothing begins while the old one is being stopped.
    let early = step(&pushed.state, Event::Due, due);
    assert_eq!((early.effects.as_slice(), early.state.active.as_deref()), ([].as_slice(), Some("demo")));
    let ended = Over { verdict: None, ended: Some((Ending::Superseded, None)), ..verdict(Verdict::Pass) };
    // Over before the time has come: it waits. Over after it: it begins.
    let over = step(&pushed.state, Event::RunOver(run(1), ended.clone()), Ms(20));
    assert_eq!((over.effects.as_slice(), over.state.active.as_deref()), ([].as_slice(), None));
    for begun in [step(&over.state, Event::Due, due), step(&pushed.state, Event::RunOver(run(1), ended), due)] {
        let shown = begun.state.running().unwrap();
        assert_eq!(
            (&shown.asked.head, shown.asked.cause, &shown.asked.pairs),
            (&sha(3), Cause::Push, &asked(1, 2).pairs)
        );
        assert_eq!(begun.effects, [What::Plan { run: shown.asked.run.clone() }]);
        assert_ne!(shown.asked.run, run(1));
        assert_eq!(begun.state.next.len(), 0);
        // No reaction: nobody wrote a comment.
        let planned = step(&begun.state, Event::Planned(shown.asked.run.clone()), due);
        assert_eq!(planned.effects, []);
    }
}

#[test]
fn the_newest_push_wins() {
    let two = then(
        running(),
        [
            see(pull(3), 2),
            changed(1, 3, OnPush::Supersede, Some(1)),
            see(pull(4), 3),
            changed(1, 4, OnPush::Supersede, Some(1)),
        ],
    );
    assert_eq!(two.state.next["demo"].asked.head, sha(4));
    // What was weighed of a head that is gone by now is nothing.
    let late = then(running(), [see(pull(3), 2), see(pull(4), 3), changed(1, 3, OnPush::Supersede, Some(1))]);
    assert_eq!((late.effects.as_slice(), late.state.next.len()), ([].as_slice(), 0));
    // Back at the head that is measured: nothing is to be done any more.
    let back = then(done(Verdict::Pass), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None), see(pull(2), 3)]);
    assert_eq!((back.state.next.len(), fate(&back.state)), (0, None));
    assert_eq!(step(&back.state, Event::Due, Ms(10 * DEBOUNCE)).effects, []);
}

#[test]
fn auto_finishes_what_is_more_than_half_done() {
    for (spent, finishes) in [(None, false), (Some(WORTH_FINISHING), false), (Some(WORTH_FINISHING + 1), true)] {
        let pushed = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Auto, spent)]);
        assert_eq!(pushed.effects.contains(&What::Finish { run: run(1) }), finishes, "{spent:?}");
        assert_eq!(superseding(&pushed.effects), !finishes, "{spent:?}");
        let why = "lib/a.py".to_owned();
        assert_eq!(fate(&pushed.state), Some(NewerFate::Next { finishing: finishes, why }));
    }
}

#[test]
fn finish_goes_on_to_the_verdict_of_the_old_head() {
    let pushed = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Finish, Some(1))]);
    assert!(pushed.effects.contains(&What::Finish { run: run(1) }) && !superseding(&pushed.effects));
    let due = Ms(10 + DEBOUNCE);
    let over = step(&pushed.state, Event::RunOver(run(1), verdict(Verdict::Regression)), due);
    let shown = over.state.running().unwrap();
    assert_eq!(shown.asked.head, sha(3));
    // That the old run is over is told beside what is shown by now.
    assert_eq!(over.ended, [(run(1), verdict(Verdict::Regression))]);
    // The verdict of the old head is named as such.
    assert_eq!((shown.history[0].head.as_str(), shown.history[0].verdict), (sha(2).as_str(), Verdict::Regression));
    // Nothing that was started: nothing to finish.
    let queued = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Finish, None)]);
    assert!(superseding(&queued.effects));
}

#[test]
fn off_only_marks_stale() {
    let pushed = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Off, Some(1))]);
    assert_eq!((pushed.effects.as_slice(), not(&pushed.state)), ([].as_slice(), NotAgain::Off));
    assert!(pushed.state.stale(&pushed.state.shown["demo"]).is_some());
    assert_eq!(pushed.state.active.as_deref(), Some("demo"));
}

#[test]
fn never_forks_and_never_drafts() {
    let fork = Pull { head_repo: Some(8), ..pull(3) };
    let gone = Pull { head_repo: None, ..pull(3) };
    let draft = Pull { draft: true, ..pull(3) };
    for (seen, why) in [(fork, NotAgain::Fork), (gone, NotAgain::Fork), (draft, NotAgain::Draft)] {
        let on = Event::Auto { suite: "demo".to_owned(), auto: auto(true) };
        for before in [vec![], vec![on]] {
            let mut events = running();
            events.extend(before);
            let pushed = then(events, [see(seen.clone(), 2), changed(1, 3, OnPush::Supersede, Some(1))]);
            assert_eq!((pushed.effects.as_slice(), not(&pushed.state)), ([].as_slice(), why.clone()));
            assert_eq!(pushed.state.next.len(), 0);
        }
    }
}

fn auto(on: bool) -> Auto {
    let by = Account { id: 6, login: "hubot".to_owned() };
    Auto { on, by, comment: 77, at: Ms(2), head: None }
}

#[test]
fn auto_on_and_off() {
    let switch = |on| Event::Auto { suite: "demo".to_owned(), auto: auto(on) };
    let off = then(running(), [switch(false), see(pull(3), 3), changed(1, 3, OnPush::Supersede, Some(1))]);
    assert_eq!(not(&off.state), NotAgain::SwitchedOff { by: "hubot".to_owned() });
    // Switched off while it waits: nothing begins.
    let late = then(done(Verdict::Pass), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None), switch(false)]);
    assert_eq!((late.state.next.len(), not(&late.state)), (0, NotAgain::SwitchedOff { by: "hubot".to_owned() }));
    // On goes before the suite's off, and begins again what a person had ended.
    let on = then(running(), [switch(true), see(pull(3), 3), changed(1, 3, OnPush::Off, Some(1))]);
    assert_eq!(on.state.next["demo"].asked.head, sha(3));
    // On where nothing was asked for: the next push asks, not the head that is there.
    let first = take([see(pull(2), 1), switch(true)]);
    assert!(matches!(first.effects.as_slice(), [What::React { .. }]), "{:?}", first.effects);
    let pushed = step(&first.state, see(pull(3), 3), Ms(10));
    assert_eq!(pushed.effects, [What::Weigh { suite: "demo".to_owned(), head: sha(3), at: Ms(3) }]);
    let next = step(&pushed.state, Event::Weighed(Box::new(weighed(None, 3, OnPush::Auto, None))), Ms(11));
    let asked = &next.state.next["demo"].asked;
    assert_eq!((&asked.head, asked.by.login.as_str(), asked.pairs.as_slice()), (&sha(3), "hubot", [].as_slice()));
}

#[test]
fn what_a_person_ended_is_not_begun_by_a_push() {
    let ended = |how| Over { verdict: None, ended: Some((how, None)), ..verdict(Verdict::Pass) };
    for (how, begins) in [
        (Ending::Cancelled, false),
        (Ending::Refused, false),
        (Ending::Expired, false),
        (Ending::Skipped, false),
        (Ending::HeadMoved, false),
        (Ending::Failed, true),
        (Ending::ChecksFailed, true),
    ] {
        let over = Event::RunOver(run(1), ended(how));
        let pushed = then(running(), [over, see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
        assert_eq!(pushed.state.next.contains_key("demo"), begins, "{how:?}");
    }
}

#[test]
fn closing_merging_retargeting_reopening() {
    let waiting = || {
        let mut events = done(Verdict::Pass);
        events.extend([see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
        events
    };
    // Closed unmerged: cancelled, and what would begin does not.
    let closed = then(waiting(), [see(Pull { open: false, ..pull(3) }, 3)]);
    assert_eq!(closed.state.next.len(), 0);
    // Merged: as a push. What was measured goes on, what waits begins.
    let merged = Pull { open: false, merged: true, ..pull(3) };
    let begun = then(waiting(), [see(merged.clone(), 3)]);
    assert_eq!(begun.state.next["demo"].asked.head, sha(3));
    assert_eq!(step(&begun.state, Event::Due, Ms(10 + DEBOUNCE)).state.running().unwrap().asked.head, sha(3));
    let goes_on = then(running(), [see(Pull { open: false, merged: true, ..pull(2) }, 3)]);
    assert_eq!((goes_on.effects.as_slice(), goes_on.state.active.as_deref()), ([].as_slice(), Some("demo")));
    // Retargeted: stale, and nothing begins; nor does a later push to it.
    let other = Pull { base_ref: "next".to_owned(), ..pull(3) };
    let retargeted = then(waiting(), [see(other.clone(), 3)]);
    assert_eq!(retargeted.state.next.len(), 0);
    assert!(retargeted.state.stale(&retargeted.state.shown["demo"]).unwrap().contains("next"));
    let pushed = step(&retargeted.state, see(Pull { head: sha(4), ..other }, 4), Ms(12));
    assert_eq!(pushed.effects, []);
    // Reopened: nothing, also where it was pushed to meanwhile; the next push does.
    let shut = Pull { open: false, ..pull(2) };
    let reopened = then(done(Verdict::Pass), [see(shut, 2), see(pull(3), 3)]);
    assert_eq!((reopened.effects.as_slice(), not(&reopened.state)), ([].as_slice(), NotAgain::Reopened));
    let pushed = step(&reopened.state, see(pull(4), 4), Ms(12));
    assert_eq!(pushed.effects, [What::Weigh { suite: "demo".to_owned(), head: sha(4), at: Ms(4) }]);
}

#[test]
fn back_at_the_branch_that_was_measured_a_newer_head_is_weighed_anew() {
    let waiting = then(done(Verdict::Pass), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
    let other = Pull { base_ref: "next".to_owned(), ..pull(3) };
    let away = step(&waiting.state, see(other, 3), Ms(11));
    // Nothing is promised that nobody will do.
    assert_eq!((away.state.next.len(), fate(&away.state)), (0, None));
    let back = step(&away.state, see(pull(3), 4), Ms(12));
    assert_eq!(back.effects, [What::Weigh { suite: "demo".to_owned(), head: sha(3), at: Ms(4) }]);
    assert_eq!(fate(&back.state), Some(NewerFate::Weighing));
}

#[test]
fn what_came_to_nothing_speaks_for_no_newer_head() {
    // Stopped for 3; then 4 is pushed, whose files are those of 2.
    let mut events = running();
    events.extend([see(pull(3), 2), changed(1, 3, OnPush::Supersede, Some(1)), see(pull(4), 3), same(1, 4)]);
    let ended = Over { verdict: None, ended: Some((Ending::Superseded, None)), ..verdict(Verdict::Pass) };
    let over = then(events, [Event::RunOver(run(1), ended)]);
    assert!(
        over.effects.contains(&What::Weigh { suite: "demo".to_owned(), head: sha(4), at: Ms(3) }),
        "{:?}",
        over.effects
    );
    let next = step(&over.state, same(1, 4), Ms(20));
    assert_eq!(next.state.next["demo"].asked.head, sha(4));
}

#[test]
fn more_rounds_are_of_the_branch_that_was_measured() {
    let more = Asked { pairs: vec![("rounds".to_owned(), "+1".to_owned())], ..asked(2, 2) };
    let other = Asked { base_ref: "next".to_owned(), ..more.clone() };
    assert_eq!(then(done(Verdict::Inconclusive), [Event::Ask(Box::new(other))]).said, Said::NothingToContinue);
    assert_eq!(then(done(Verdict::Inconclusive), [Event::Ask(Box::new(more))]).said, Said::Nothing);
}

#[test]
fn what_becomes_a_draft_is_not_begun() {
    let waiting = then(done(Verdict::Pass), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
    let draft = step(&waiting.state, see(Pull { draft: true, ..pull(3) }, 3), Ms(11));
    assert_eq!((draft.state.next.len(), not(&draft.state)), (0, NotAgain::Draft));
    assert_eq!(step(&draft.state, Event::Due, Ms(10 + DEBOUNCE)).effects, []);
}

#[test]
fn a_head_is_weighed_against_each_run_apart() {
    // The answer for the run before must not take the place of the one for this run.
    let pushed = then(done(Verdict::Inconclusive), [see(pull(3), 2)]);
    let weigh = |at| What::Weigh { suite: "demo".to_owned(), head: sha(3), at: Ms(at) };
    assert_eq!(pushed.effects, [weigh(2)]);
    let again = Asked { at: Ms(20), ..asked(2, 2) };
    let begun = step(&pushed.state, Event::Ask(Box::new(again)), Ms(20));
    assert!(begun.effects.contains(&weigh(20)), "{:?}", begun.effects);
}

#[test]
fn a_request_that_cannot_be_planned_leaves_what_is_said_of_its_head() {
    // 2 has a verdict that speaks for 3 as well; 3 is asked for all the same, and cannot be planned.
    let carried = || {
        let mut events = done(Verdict::Pass);
        events.extend([see(pull(3), 2), same(1, 3), ask(2, 3)]);
        events
    };
    let why = "no such branch".to_owned();
    let refused = Event::NotPlanned { run: run(2), how: Ending::Refused, why: why.clone() };
    let stopped = Event::Cancel { suite: "demo".to_owned(), by: "mona".to_owned(), comment: None };
    for (event, left) in [(refused, NotAgain::Refused { why }), (stopped, NotAgain::Ended)] {
        let over = then(carried(), [event]);
        assert_eq!((&over.state.shown["demo"].asked.run, not(&over.state)), (&run(1), left));
        assert_eq!(over.state.next.len(), 0);
    }
    // A head that came meanwhile is weighed against the verdict that stands again.
    let moved = then(carried(), [see(pull(4), 5), same(2, 4)]);
    assert!(matches!(fate(&moved.state), Some(NewerFate::Carried { .. })));
    let refused = Event::NotPlanned { run: run(2), how: Ending::Failed, why: "gone".to_owned() };
    let over = step(&moved.state, refused, Ms(12));
    assert_eq!(fate(&over.state), Some(NewerFate::Weighing));
    assert!(over.effects.iter().any(|what| matches!(what, What::Weigh { head, .. } if *head == sha(4))));
}

#[test]
fn a_head_that_has_a_verdict_is_not_measured_again() {
    // 2 has a verdict, 3 is being measured, and 2 is pushed again.
    let begun = then(done(Verdict::Regression), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
    let begun = step(&begun.state, Event::Due, Ms(10 + DEBOUNCE));
    let second = begun.state.running().unwrap().asked.run.clone();
    let planned = step(&begun.state, Event::Planned(second.clone()), Ms(700_000));
    let back = step(&planned.state, see(pull(2), 700_001), Ms(700_001));
    let weighed = Weighed { run: Some(second.clone()), ..weighed(None, 2, OnPush::Supersede, Some(1)) };
    let back = step(&back.state, Event::Weighed(Box::new(weighed)), Ms(700_002));
    let ended = Over { verdict: None, ended: Some((Ending::Superseded, None)), ..verdict(Verdict::Pass) };
    let over = step(&back.state, Event::RunOver(second, ended), Ms(800_000));
    let restored = step(&over.state, Event::Due, Ms(2_000_000));
    assert_eq!(restored.effects, []);
    let shown = &restored.state.shown["demo"];
    assert_eq!((&shown.asked.run, restored.state.active.as_deref()), (&run(1), None));
    assert!(matches!(&shown.stage, Stage::Over(over) if over.verdict == Some(Verdict::Regression)));
}

#[test]
fn a_push_that_cannot_be_planned_leaves_the_verdict_and_says_so() {
    let begun = then(done(Verdict::Pass), [see(pull(3), 2), changed(1, 3, OnPush::Auto, None)]);
    let begun = step(&begun.state, Event::Due, Ms(10 + DEBOUNCE));
    let second = begun.state.running().unwrap().asked.run.clone();
    let why = "3 of 3 runs of today".to_owned();
    let refused = step(&begun.state, Event::NotPlanned { run: second, how: Ending::Refused, why: why.clone() }, Ms(20));
    assert_eq!(refused.state.shown["demo"].asked.run, run(1));
    assert_eq!(not(&refused.state), NotAgain::Refused { why });
    assert!(matches!(refused.said, Said::NotAgain(..)));
}

#[test]
fn skipping() {
    let skip = |n, head| Event::Skip { asked: Box::new(asked(n, head)), why: "only words".to_owned() };
    // Nothing runs: it is shown as such, with who and why.
    let skipped = take([see(pull(2), 1), skip(9, 2)]);
    let shown = &skipped.state.shown["demo"];
    let decision = shown.decision.clone().unwrap();
    assert_eq!((decision.what, decision.by.as_str(), decision.why.as_str()), (Decided::Skipped, "mona", "only words"));
    assert!(matches!(&shown.stage, Stage::Over(over) if over.ended.as_ref().unwrap().0 == Ending::Skipped));
    // The head has a verdict: it stays.
    let late = then(done(Verdict::Regression), [skip(9, 2)]);
    assert!(matches!(late.said, Said::NotSkipped(..)) && late.state.shown["demo"].decision.is_none());
    // Planning: the plan is dropped. Running: whoever knows whether it began decides.
    let planning = then(vec![see(pull(2), 1), ask(1, 2)], [skip(9, 2)]);
    let [(ended, over)] = &planning.ended[..] else { panic!("{:?}", planning.ended) };
    assert_eq!((ended, over.ended.as_ref().map(|(how, _)| *how)), (&run(1), Some(Ending::Skipped)));
    assert_eq!((planning.said, planning.state.active), (Said::Nothing, None));
    let going = then(running(), [skip(9, 2)]);
    assert!(going.effects.iter().any(|what| matches!(what, What::Skip { run: of, .. } if *of == run(1))));
}

#[test]
fn accepting() {
    let decision = Decision { what: Decided::Accepted, by: "mona".into(), why: "worth it".into(), at: None };
    let accept =
        || Event::Accept { suite: "demo".to_owned(), decision: decision.clone(), comment: 9, written: Some(Ms(50)) };
    for (of, fine) in [(Verdict::Regression, true), (Verdict::Tradeoff, true), (Verdict::Pass, false)] {
        let accepted = then(done(of), [accept()]);
        assert_eq!(accepted.state.shown["demo"].decision.is_some(), fine, "{of:?}");
        assert_eq!(accepted.said == Said::Nothing, fine);
    }
    assert!(matches!(then(running(), [accept()]).said, Said::NothingToAccept(_)));
}

#[test]
fn retrying() {
    let by = Account { id: 6, login: "hubot".to_owned() };
    let retry = || Event::Retry { suite: "demo".to_owned(), run: run(5), by: by.clone(), comment: Some(9) };
    let evidence = Some(crate::ids::Digest::of(b"evidence"));
    let ended =
        |how| Over { verdict: None, ended: Some((how, None)), evidence: evidence.clone(), ..verdict(Verdict::Pass) };
    let again = then(running(), [Event::RunOver(run(1), ended(Ending::Failed)), retry()]);
    let asked = &again.state.running().unwrap().asked;
    assert_eq!((asked.retries.as_ref(), asked.by.login.as_str(), &asked.run), (Some(&run(1)), "hubot", &run(5)));
    // Nothing was measured: the same is asked for.
    let nothing = Over { evidence: None, ..ended(Ending::ChecksFailed) };
    let again = then(running(), [Event::RunOver(run(1), nothing), retry()]);
    assert_eq!(again.state.running().unwrap().asked.retries, None);
    for events in [vec![], done(Verdict::Pass)] {
        assert_eq!(then(events, [retry()]).said, Said::NothingToRetry);
    }
    assert!(matches!(then(running(), [retry()]).said, Said::Running(_)));
    // A head of a fork is put away without being read: that it is tried again must not run it.
    let unread = Asked { fork: true, ..super::asked(7, 2) };
    let skip = Event::Skip { asked: Box::new(unread), why: "only words".to_owned() };
    let put_away = take([see(Pull { head_repo: Some(8), ..pull(2) }, 1), skip, retry()]);
    assert_eq!((put_away.said, put_away.state.active), (Said::NothingToRetry, None));
}

#[test]
fn the_app_is_removed() {
    let removed = then(running(), [see(pull(3), 2), changed(1, 3, OnPush::Finish, Some(1)), Event::Removed]);
    let why = "the app was removed".to_owned();
    assert_eq!(removed.effects, [What::Cancel { run: run(1), by: why, how: Ending::Cancelled }]);
    assert_eq!(removed.state.next.len(), 0);
}

#[test]
fn forks_wait_for_an_approval_of_their_head() {
    let by = Account { id: 5, login: "mona".to_owned() };
    let approval = Approval { head: sha(2), pairs: vec![], by, comment: 9, at: Ms(1), over: None };
    let needs = Event::NeedsApproval { suite: "demo".to_owned(), approval };
    let fork = |head| Pull { head_repo: Some(8), ..pull(head) };
    let waits = take([see(fork(2), 1), needs]);
    assert_eq!(waits.state.approvals["demo"].over, None);
    let moved = step(&waits.state, see(fork(3), 2), Ms(11));
    assert_eq!(moved.state.approvals["demo"].over.as_deref(), Some("the head has moved"));
    let approved = Asked { cause: Cause::Button, fork: true, ..asked(1, 2) };
    let begun = step(&waits.state, Event::Ask(Box::new(approved)), Ms(11));
    assert_eq!(begun.state.approvals["demo"].over.as_deref(), Some("approved by mona"));
    assert_eq!(begun.effects, [What::Plan { run: run(1) }]);
}

#[test]
fn every_approval_ends_when_the_head_moves_or_the_pull_request_is_closed() {
    let needs = |suite: &str, comment| {
        let by = Account { id: 5, login: "mona".to_owned() };
        let approval = Approval { head: sha(2), pairs: vec![], by, comment, at: Ms(1), over: None };
        Event::NeedsApproval { suite: suite.to_owned(), approval }
    };
    let both = || vec![see(pull(2), 1), needs("demo", 9), needs("other", 10)];
    let waits = take(both());
    assert!(waits.state.matters() && waits.state.approvals.values().all(|approval| approval.over.is_none()));
    let closed = Pull { open: false, ..pull(2) };
    for (seen, why) in [(pull(3), "the head has moved"), (closed, "the pull request was closed")] {
        let then = take(both().into_iter().chain([see(seen, 2), see(pull(2), 3)]));
        assert!(then.state.approvals.values().all(|approval| approval.over.as_deref() == Some(why)), "{why}");
        assert!(!then.state.matters());
    }
}
