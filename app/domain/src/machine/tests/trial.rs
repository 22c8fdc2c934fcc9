use crate::ids::{Digest, JobId, RunId};
use crate::machine::timing::Late;
use crate::machine::{Effect, Keep, Overdue, Probe, Trial, TrialEvent, TrialState, What, timing};
use crate::ports::{Cause, Discard, End, Failure, Fate, JobState, Submitted};
use crate::rounds::TrialName;
use crate::time::{DAY, HOUR, MINUTE, Ms, SECOND};

use super::{failed, preempted, running, stopped, succeeded};

fn planned() -> Trial {
    let run = RunId::new(1_795_984_130, 7).unwrap();
    Trial::new(TrialName { run, round: 1, replacement: 0, place: 1 }, "head".parse().unwrap(), Late::default())
}

fn job() -> JobId {
    "/bot/x".parse().unwrap()
}

#[allow(clippy::needless_pass_by_value)] // shorter where it is called
fn told(trial: &Trial, event: TrialEvent, at: u64) -> (Trial, Vec<Effect>) {
    trial.step(&event, Ms(at))
}

fn next(trial: &Trial, event: TrialEvent, at: u64) -> Trial {
    told(trial, event, at).0
}

fn submitting() -> Trial {
    next(&planned(), TrialEvent::Begin, 0)
}

fn live() -> Trial {
    next(&submitting(), TrialEvent::Submitted(1, Submitted::Accepted(job())), 0)
}

fn polled(trial: &Trial, state: JobState, at: u64) -> Trial {
    next(trial, TrialEvent::Polled(trial.asked, Ok(state)), at)
}

fn probed(trial: &Trial, probe: Probe, at: u64) -> Trial {
    next(trial, TrialEvent::Collected(trial.asked, probe), at)
}

fn complete(of: &[u8], kept: bool) -> Probe {
    Probe::Complete { digest: Digest::of(of), kept }
}

fn discarded(discard: Discard) -> Fate {
    Fate::Discarded(discard)
}

#[test]
fn submission() {
    let (trial, effects) = told(&planned(), TrialEvent::Begin, 5);
    assert!(matches!(&effects[0].what, What::Submit { attempt: 1, .. }) && effects[0].due == Ms(5));
    for answer in [Submitted::Accepted(job()), Submitted::AlreadyThere(job())] {
        let (live, effects) = told(&trial, TrialEvent::Submitted(1, answer), 6);
        assert!(matches!(live.state, TrialState::Live { .. }) && live.job == Some(job()));
        assert!(matches!(effects[0].what, What::Poll { .. }));
    }
    let refused = next(&trial, TrialEvent::Submitted(1, Submitted::Refused("no".into())), 6);
    assert_eq!(refused.fate(), Some(&discarded(Discard::Refused("no".into()))));
}

#[test]
fn without_an_answer_the_job_is_looked_for_180_seconds_and_then_submitted_by_the_same_name() {
    let (mut trial, mut effects) = told(&submitting(), TrialEvent::Submitted(1, Submitted::NoAnswer("?".into())), 0);
    let (mut looks, mut at) = (0, 0);
    while let What::Find { n, .. } = effects[0].what {
        assert_eq!(effects[0].due, Ms(at + 5 * SECOND));
        at = effects[0].due.0;
        // An unanswered look is none.
        let answer = if looks == 3 { Err("timeout".into()) } else { Ok(None) };
        (trial, effects) = told(&trial, TrialEvent::Found(n, answer), at);
        looks += 1;
    }
    assert!(at >= timing::FIND_FOR && looks >= timing::FIND_TIMES, "{at} {looks}");
    assert!(matches!(&effects[0].what, What::Submit { attempt: 2, trial, .. } if *trial == planned().name));
    // A clock that is set forward does not cut it short.
    let impatient = next(&submitting(), TrialEvent::Submitted(1, Submitted::NoAnswer("?".into())), 0);
    let (_, effects) = told(&impatient, TrialEvent::Found(impatient.asked, Ok(None)), DAY);
    assert!(matches!(effects[0].what, What::Find { .. }));
    // Found in any state, it is ours.
    let found = next(&impatient, TrialEvent::Found(impatient.asked, Ok(Some(job()))), 9);
    assert!(matches!(found.state, TrialState::Live { .. }));
}

#[test]
fn a_job_that_is_unknown_for_ten_minutes_is_lost() {
    // Limits shorter than that say nothing of it: it is lost, and does not wait for a place or run for too long.
    for known in [live(), polled(&live(), running(), SECOND)] {
        let forgotten = polled(&known, JobState::Unknown, MINUTE);
        assert_eq!(forgotten.overdue(MINUTE, Ms(10 * MINUTE)), None);
        assert!(known.overdue(MINUTE, Ms(10 * MINUTE)).is_some());
    }
    let trial = polled(&live(), JobState::Unknown, MINUTE);
    assert!(polled(&trial, JobState::Unknown, 10 * MINUTE).fate().is_none());
    assert_eq!(polled(&trial, JobState::Unknown, 11 * MINUTE).fate(), Some(&discarded(Discard::Lost)));
    let seen = polled(&trial, running(), 2 * MINUTE);
    assert!(polled(&seen, JobState::Unknown, 30 * MINUTE).fate().is_none());
    let unanswered = next(&trial, TrialEvent::Polled(trial.asked, Err("timeout".into())), 2 * MINUTE);
    assert_eq!(polled(&unanswered, JobState::Unknown, 11 * MINUTE).fate(), Some(&discarded(Discard::Lost)));
}

#[test]
fn ends() {
    let failure = || Failure { oom: true, text: "it broke".into() };
    let trial = polled(&live(), failed(true), 9);
    assert!(matches!(trial.state, TrialState::Settled { .. }));
    assert_eq!(probed(&trial, complete(b"", true), 9).fate(), Some(&Fate::Failed(failure())));
    for (state, fate) in [
        (preempted(), discarded(Discard::Infrastructure("preempted".into()))),
        (stopped(), discarded(Discard::Infrastructure("somebody else stopped the job".into()))),
        (JobState::Ended(End::Failed { cause: Cause::TimeLimit }), discarded(Discard::TimeLimit)),
    ] {
        assert_eq!(polled(&live(), state, 9).fate(), Some(&fate));
    }
}

#[test]
fn complete_answers_count_when_they_are_kept() {
    let (trial, effects) = told(&live(), TrialEvent::Polled(1, Ok(succeeded())), 100);
    assert!(matches!(&effects[0].what, What::Collect { probe: 1, previous: None, keep: Keep::Repeated, .. }));
    assert_eq!(probed(&trial, complete(b"a", true), 100).fate(), Some(&Fate::Counted));
    let (trial, effects) = told(&trial, TrialEvent::Collected(trial.asked, complete(b"a", false)), 100);
    assert_eq!(effects[0].due, Ms(100 + timing::REPEAT_AFTER));
    let previous = Some(Digest::of(b"a"));
    assert!(matches!(&effects[0].what, What::Collect { probe: 2, previous: of, .. } if *of == previous));
    assert_eq!(probed(&trial, complete(b"a", true), 200).fate(), Some(&Fate::Counted));
}

#[test]
fn records_that_stay_missing_are_named() {
    let missing = vec!["(x, stage0)".to_owned()];
    let mut trial = polled(&live(), succeeded(), 0);
    let (mut probes, mut at) = (0, 0);
    while trial.fate().is_none() {
        probes += 1;
        let kept = probes == Late::default().probes() + 1;
        let (after, effects) =
            told(&trial, TrialEvent::Collected(trial.asked, Probe::Incomplete { missing: missing.clone(), kept }), at);
        if let Some(Effect { due, what: What::Collect { keep, .. } }) = effects.first() {
            assert!(due.0 > at);
            at = due.0;
            assert_eq!(*keep == Keep::Partial, probes >= Late::default().probes(), "{probes}");
        }
        trial = after;
    }
    assert_eq!(trial.fate(), Some(&discarded(Discard::Incomplete(missing))));
    // Ones that change each time are never complete.
    let mut trial = polled(&live(), succeeded(), 0);
    for n in 0..100u8 {
        trial = probed(&trial, complete(&[n], false), u64::from(n));
    }
    assert!(matches!(trial.fate(), Some(Fate::Discarded(Discard::Incomplete(_)))));
}

#[test]
fn a_silent_source_is_asked_for_a_day() {
    let silent = || Probe::Unavailable("503".into());
    let mut trial = probed(&polled(&live(), succeeded(), 0), silent(), HOUR);
    let TrialState::Collecting { unavailable: Some(of), .. } = &trial.state else { panic!() };
    assert_eq!((of.why.as_str(), of.since), ("503", Ms(HOUR)));
    for hours in 2..25 {
        trial = probed(&trial, silent(), hours * HOUR);
    }
    assert!(trial.fate().is_none());
    assert_eq!(probed(&trial, complete(b"", true), 25 * HOUR).fate(), Some(&Fate::Counted));
    let given_up = discarded(Discard::SourceUnavailable("503".into()));
    assert_eq!(probed(&trial, silent(), 25 * HOUR).fate(), Some(&given_up));
    // What failed is known without it.
    let mut trial = polled(&live(), failed(false), 0);
    for n in 0..u64::from(timing::FAILED_TRIES) {
        trial = probed(&trial, silent(), n);
    }
    assert!(matches!(trial.fate(), Some(Fate::Failed(_))));
}

#[test]
fn stopping() {
    let stop = |trial: &Trial, at| told(trial, TrialEvent::Stop, at);
    let over = discarded(Discard::Stopped);
    assert_eq!(stop(&planned(), 0).0.fate(), Some(&over));
    // A submission that may have happened is settled first.
    let (trial, effects) = stop(&submitting(), 0);
    assert!(trial.fate().is_none() && effects.is_empty());
    assert_eq!(next(&trial, TrialEvent::NotSubmitted(1), 1).fate(), Some(&over));
    assert!(next(&submitting(), TrialEvent::NotSubmitted(1), 1).fate().is_none());
    let (_, effects) = told(&trial, TrialEvent::Submitted(1, Submitted::Accepted(job())), 1);
    assert!(matches!(effects[0].what, What::Terminate { .. }) && matches!(effects[1].what, What::Poll { .. }));
    let mut lost = next(&trial, TrialEvent::Submitted(1, Submitted::NoAnswer("?".into())), 1);
    let mut at = 1;
    while lost.fate().is_none() {
        at += 5 * SECOND;
        lost = next(&lost, TrialEvent::Found(lost.asked, Ok(None)), at);
    }
    assert_eq!(lost.fate(), Some(&over));
    let (trial, effects) = stop(&live(), 0);
    assert!(matches!(effects[0].what, What::Terminate { .. }));
    assert!(stop(&trial, 9).1.is_empty());
    for state in [succeeded(), stopped(), preempted()] {
        assert_eq!(polled(&trial, state, 1).fate(), Some(&over));
    }
    // The program failed before it was stopped: that is known of it.
    assert!(polled(&trial, failed(false), 1).fate().is_none());
    assert_eq!(stop(&polled(&live(), succeeded(), 1), 2).0.fate(), Some(&over));
    assert!(matches!(stop(&polled(&live(), failed(false), 1), 2).0.fate(), Some(Fate::Failed(_))));
}

#[test]
fn a_job_that_does_not_stop_is_given_up_after_thirty_minutes_and_an_answer() {
    let trial = next(&live(), TrialEvent::Stop, 0);
    assert!(polled(&trial, running(), 29 * MINUTE).fate().is_none());
    let abandoned = discarded(Discard::Abandoned);
    assert_eq!(polled(&trial, running(), 30 * MINUTE).fate(), Some(&abandoned));
    let silent = next(&trial, TrialEvent::Polled(trial.asked, Err("timeout".into())), 30 * MINUTE);
    assert_eq!(silent.fate(), Some(&abandoned));
    assert!(silent.is_abandoned());
    // However late one asks, a job that has stopped has stopped.
    assert_eq!(polled(&trial, stopped(), DAY).fate(), Some(&discarded(Discard::Stopped)));
}

#[test]
fn deadlines() {
    let limit = HOUR;
    let pending = polled(&live(), JobState::Pending("no room".into()), 1);
    assert_eq!(pending.waits.as_deref(), Some("no room"));
    assert_eq!(pending.overdue(limit, Ms(limit - 1)), None);
    assert_eq!(pending.overdue(limit, Ms(limit)), Some(Overdue::Waiting));
    let runs = polled(&pending, running(), 30 * MINUTE);
    assert_eq!(runs.overdue(limit, Ms(90 * MINUTE)), None);
    assert_eq!(runs.overdue(limit, Ms(92 * MINUTE)), Some(Overdue::Running));
    let silent = next(&runs, TrialEvent::Polled(runs.asked, Err("timeout".into())), 31 * MINUTE);
    assert_eq!(silent.overdue(limit, Ms(90 * MINUTE)), None);
    assert_eq!(silent.overdue(limit, Ms(91 * MINUTE)), Some(Overdue::Silent));
    let mut unheard = next(&submitting(), TrialEvent::Submitted(1, Submitted::NoAnswer("?".into())), 0);
    // An engine that was away must ask first.
    assert_eq!(next(&unheard, TrialEvent::Found(unheard.asked, Ok(None)), DAY).overdue(limit, Ms(DAY)), None);
    for _ in 0..timing::FIND_TIMES {
        assert_eq!(unheard.overdue(limit, Ms(HOUR)), None);
        unheard = next(&unheard, TrialEvent::Found(unheard.asked, Err("timeout".into())), 1);
    }
    assert_eq!(unheard.overdue(limit, Ms(HOUR - 1)), None);
    assert_eq!(unheard.overdue(limit, Ms(HOUR)), Some(Overdue::Silent));
    assert_eq!(next(&runs, TrialEvent::Stop, 1).overdue(limit, Ms(DAY)), None);
}

#[test]
fn every_other_event_changes_nothing() {
    let collecting = probed(&polled(&live(), succeeded(), 1), complete(b"a", false), 2);
    let over = probed(&collecting, complete(b"a", true), 3);
    let states = [planned(), submitting(), live(), polled(&live(), succeeded(), 1), collecting, over];
    let named: [&[usize]; 6] = [&[0, 1], &[1, 2, 3, 4, 5], &[1, 6, 7], &[1, 8, 9], &[1, 8, 9], &[]];
    for (trial, named) in states.iter().zip(named) {
        for shift in [0, 7] {
            let n = trial.asked + shift;
            let attempt = 1 + shift;
            let events = [
                TrialEvent::Begin,
                TrialEvent::Stop,
                TrialEvent::Submitted(attempt, Submitted::Accepted(job())),
                TrialEvent::Submitted(attempt, Submitted::NoAnswer("?".into())),
                TrialEvent::Found(n, Ok(Some(job()))),
                TrialEvent::Found(n, Ok(None)),
                TrialEvent::Polled(n, Ok(running())),
                TrialEvent::Polled(n, Ok(succeeded())),
                TrialEvent::Collected(n, complete(b"b", false)),
                TrialEvent::Collected(n, Probe::Unavailable("503".into())),
            ];
            for (index, event) in events.into_iter().enumerate() {
                let (after, effects) = trial.step(&event, Ms(9));
                let changes = after != *trial || !effects.is_empty();
                // An answer to another question than the last one is an old one.
                let expected = named.contains(&index) && (shift == 0 || index < 2);
                assert_eq!(changes, expected, "{:?} {event:?}", trial.state);
            }
        }
    }
}

#[test]
fn a_person_says_which_job_it_is_where_nobody_knows() {
    let mine: JobId = "/bot/by-hand".parse().unwrap();
    let adopt = |trial: &Trial, at: u64| told(trial, TrialEvent::Adopted(mine.clone()), at);
    let unanswered = next(&submitting(), TrialEvent::Submitted(1, Submitted::NoAnswer("?".into())), 0);
    let unknown = polled(&polled(&live(), running(), 1), JobState::Unknown, 2);
    for trial in [planned(), submitting(), unanswered, unknown] {
        assert!(trial.adopts());
        let (adopted, effects) = adopt(&trial, 7);
        assert_eq!((adopted.job.as_ref(), adopted.running), (Some(&mine), None));
        assert_eq!(adopted.state, TrialState::Live { unknown_since: None, silent_since: None });
        assert!(adopted.submitted.is_some());
        assert!(matches!(&effects[..], [Effect { what: What::Poll { job, .. }, .. }] if *job == mine), "{effects:?}");
        // Nothing that was asked for before is done any more.
        let (_, before) = told(&planned(), TrialEvent::Begin, 0);
        assert!(before.iter().all(|effect| !adopted.wants(&effect.what)));
    }
    let settled = polled(&live(), succeeded(), 3);
    let lost = polled(&polled(&live(), JobState::Unknown, 0), JobState::Unknown, 11 * MINUTE);
    assert_eq!(lost.fate(), Some(&discarded(Discard::Lost)));
    for trial in [live(), settled, lost] {
        assert!(!trial.adopts());
        assert_eq!(adopt(&trial, 7), (trial, Vec::new()));
    }
}

#[test]
fn an_adopted_job_of_a_trial_that_is_told_to_stop_is_stopped() {
    let stopping = next(&submitting(), TrialEvent::Stop, 3);
    let (_, effects) = told(&stopping, TrialEvent::Adopted(job()), 7);
    assert!(matches!(&effects[0].what, What::Terminate { job: of, .. } if *of == job()), "{effects:?}");
}
