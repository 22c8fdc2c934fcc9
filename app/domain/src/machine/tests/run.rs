use stats::Reason;

use super::{Bench, failed, frame, preempted, succeeded};
use crate::ids::Digest;
use crate::machine::{Event, Run, State, StateError, Stop, TrialEvent};
use crate::ports::{Counted, How, JobState, LookKind, Submitted};
use crate::rounds::RoundMode;
use crate::time::{DAY, Ms};
use crate::view::Ending;

const FIRST: LookKind = LookKind::Declared { index: 0 };
const SECOND: LookKind = LookKind::Declared { index: 1 };

fn ended(bench: &Bench) -> Ending {
    let State::Ended { how, .. } = bench.run.state else { panic!("{:?}", bench.run.state) };
    how
}

#[test]
fn a_run_from_its_slot_to_its_verdict() {
    let mut bench = Bench::queued();
    bench.send(&Event::SlotGranted);
    assert_eq!((bench.run.state.clone(), bench.kinds().as_str()), (State::Planning, "resolve"));
    bench.send(&Event::Resolved(Box::new(frame(RoundMode::Together, &["head"], &[1, 3]))));
    assert_eq!(bench.submitted(), ["1.0 control", "1.0 head"]);
    assert_eq!(bench.kinds(), "open submit submit");
    bench.good_round();
    bench.kinds();
    bench.clean();
    assert_eq!(bench.kinds(), "judge");
    bench.judge(FIRST, &[Reason::Undecided]);
    assert_eq!(bench.submitted(), ["2.0 head", "2.0 control"]);
    bench.good_round();
    bench.clean();
    assert_eq!(bench.measuring(), (3, 0));
    bench.good_round();
    bench.clean();
    let round = |round| Counted { round, replacement: 0 };
    assert_eq!(bench.look().rounds, [round(1), round(2), round(3)]);
    bench.kinds();
    bench.judge(SECOND, &[Reason::Undecided]);
    assert!(matches!(bench.run.state, State::Sealing { .. }));
    assert_eq!(bench.kinds(), "seal");
    assert_eq!(bench.done(), [Reason::Undecided]);
}

#[test]
fn in_turn_submits_one_place_after_the_other() {
    let mut bench = Bench::new(RoundMode::InTurn, &["a", "b"], &[1]);
    assert_eq!(bench.submitted(), ["1.0 control"]);
    bench.end("control", &succeeded());
    assert_eq!(bench.submitted(), ["1.0 control", "1.0 a"]);
    bench.end("a", &succeeded());
    bench.end("b", &succeeded());
    assert_eq!(bench.look().kind, LookKind::Guardrail);
}

#[test]
fn what_the_statistics_decide_seals_at_once() {
    for reason in [Reason::NoChange, Reason::CpuHigher, Reason::CpuVsElapsed, Reason::MemAtRisk, Reason::DifferentWork]
    {
        let mut bench = Bench::new(RoundMode::Together, &["head"], &[1, 3]);
        bench.good_round();
        bench.clean();
        bench.judge(FIRST, &[reason]);
        assert_eq!(bench.done(), [reason]);
    }
}

#[test]
fn a_guardrail_holds_look_or_not_and_spends_nothing() {
    for reason in [Reason::NewOom, Reason::MemOverLimit, Reason::DifferentWork, Reason::FingerprintMismatch] {
        let mut bench = Bench::new(RoundMode::Together, &["head"], &[3]);
        bench.good_round();
        bench.judge(LookKind::Guardrail, &[reason]);
        assert_eq!(bench.run.looked, 0);
        assert_eq!(bench.done(), [reason]);
    }
    // What needs statistics decides nothing there.
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[3]);
    bench.good_round();
    bench.judge(LookKind::Guardrail, &[Reason::CpuHigher]);
    assert_eq!(bench.measuring(), (2, 0));
}

#[test]
fn a_plan_that_costs_too_much_waits_for_its_confirmation() {
    let costly = || {
        let mut frame = frame(RoundMode::InTurn, &["head"], &[1]);
        frame.confirm = Some("61 CPU hours".to_owned());
        Bench::of(frame)
    };
    let mut bench = costly();
    assert!(bench.submitted().is_empty());
    bench.send(&Event::Confirm { plan: Digest::of(b"another plan") });
    assert!(matches!(bench.run.state, State::AwaitingConfirmation { .. }));
    bench.send(&Event::Confirm { plan: Digest::of(b"plan") });
    assert_eq!((&bench.run.state, bench.submitted().len()), (&State::Queued, 0));
    bench.send(&Event::SlotGranted);
    assert_eq!(bench.measuring(), (1, 0));
    let mut bench = costly();
    bench.send(&Event::Due);
    assert!(matches!(bench.run.state, State::AwaitingConfirmation { .. }));
    assert_eq!(bench.run.deadline(), Some(bench.now.plus(7 * DAY - 1000)));
    bench.now = bench.now.plus(7 * DAY);
    bench.send(&Event::Confirm { plan: Digest::of(b"plan") });
    assert!(matches!(bench.run.state, State::AwaitingConfirmation { .. }));
    bench.send(&Event::Due);
    assert_eq!(ended(&bench), Ending::Expired);
}

#[test]
fn a_plan_that_cannot_be_run_is_refused() {
    let mut bench = Bench::queued();
    bench.send(&Event::SlotGranted);
    bench.kinds();
    bench.send(&Event::Refused("no looks".to_owned()));
    assert_eq!((ended(&bench), bench.kinds().as_str()), (Ending::Refused, ""));
}

#[test]
fn a_spoiled_round_is_replaced_whole() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1]);
    let control = bench.place("control");
    bench.accept(&control);
    bench.end("head", &preempted());
    bench.kinds();
    // Its other trial is settled first.
    assert_eq!(bench.measuring(), (1, 0));
    bench.poll(&control, super::stopped());
    assert_eq!(bench.measuring(), (1, 1));
    assert_eq!(bench.submitted(), ["1.1 control", "1.1 head"]);
    bench.good_round();
    bench.clean();
    assert_eq!(bench.look().rounds, [Counted { round: 1, replacement: 1 }]);
}

#[test]
fn too_many_spoiled_rounds_are_a_verdict_of_their_own() {
    for (missing, reason) in [(false, Reason::ChurnLimit), (true, Reason::RowsMissing)] {
        let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
        for n in 0..4 {
            assert_eq!(bench.measuring(), (1, n));
            if missing {
                let name = bench.place("control");
                bench.accept(&name);
                bench.poll(&name, succeeded());
                let asked = bench.asked(&name);
                let probe = crate::machine::Probe::Incomplete { missing: vec!["x".to_owned()], kept: true };
                bench.tell(&name, TrialEvent::Collected(asked, probe));
            } else {
                bench.end("control", &preempted());
            }
        }
        bench.judge(LookKind::Blocked(reason), &[reason]);
        assert_eq!(bench.done(), [reason]);
    }
}

#[test]
fn one_sided_discards_end_the_run() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    for _ in 0..3 {
        bench.end("control", &succeeded());
        bench.end("head", &preempted());
    }
    assert_eq!(bench.look().kind, LookKind::Blocked(Reason::ChurnOneSided));
}

#[test]
fn limits_of_time_are_judged_by_answers() {
    let hour = 3_600_000;
    for (state, after, reason) in [
        (JobState::Pending("no room".to_owned()), hour, Reason::Capacity),
        (super::running(), hour + 200_000, Reason::TimeLimit),
    ] {
        let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
        let name = bench.place("control");
        bench.accept(&name);
        bench.poll(&name, state.clone());
        bench.now = bench.now.plus(after);
        let before = bench.run.clone();
        bench.send(&Event::Due);
        assert_eq!(bench.run, before);
        bench.poll(&name, state);
        assert_eq!(bench.stopping(), Stop::Blocked { reason });
        bench.poll(&name, super::stopped());
        bench.judge(LookKind::Blocked(reason), &[reason]);
        assert_eq!(bench.done(), [reason]);
    }
}

#[test]
fn a_refused_trial_fails_the_run() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1]);
    let (control, head) = (bench.place("control"), bench.place("head"));
    bench.accept(&control);
    bench.tell(&head, TrialEvent::Submitted(1, Submitted::Refused("no such image".to_owned())));
    assert_eq!(bench.stopping(), Stop::Failed { text: "no such image".to_owned() });
    bench.poll(&control, super::stopped());
    assert_eq!(ended(&bench), Ending::Failed);
}

#[test]
fn cancelled_at_every_point() {
    let cancel = Event::Cancel { by: "octocat".to_owned() };
    // Live trials are settled first.
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let control = bench.place("control");
    bench.accept(&control);
    bench.kinds();
    bench.send(&cancel);
    assert_eq!(
        (bench.stopping(), bench.kinds().as_str()),
        (Stop::Cancelled { by: "octocat".to_owned(), how: Ending::Cancelled }, "terminate")
    );
    bench.send(&cancel);
    bench.poll(&control, super::stopped());
    assert_eq!((ended(&bench), bench.kinds().as_str()), (Ending::Cancelled, "note seal"));
    // Without live trials it is over at once.
    let mut points = vec![Bench::queued(), Bench::queued()];
    points[1].send(&Event::SlotGranted);
    let mut costly = frame(RoundMode::InTurn, &["head"], &[1]);
    costly.confirm = Some("much".to_owned());
    points.push(Bench::of(costly));
    let mut judging = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    judging.good_round();
    points.push(judging);
    for mut bench in points {
        bench.send(&cancel);
        assert_eq!(ended(&bench), Ending::Cancelled);
    }
    // What is decided stays decided.
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    bench.good_round();
    bench.clean();
    bench.judge(FIRST, &[Reason::NoChange]);
    let before = bench.run.clone();
    bench.send(&cancel);
    assert_eq!(bench.run, before);
    assert_eq!(bench.done(), [Reason::NoChange]);
    let before = bench.run.clone();
    bench.send(&cancel);
    assert_eq!(bench.run, before);
}

#[test]
fn a_run_that_is_being_stopped_for_another_reason_can_be_cancelled() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1]);
    let (control, head) = (bench.place("control"), bench.place("head"));
    bench.accept(&control);
    bench.tell(&head, TrialEvent::Submitted(1, Submitted::Refused("no".to_owned())));
    bench.send(&Event::Cancel { by: "octocat".to_owned() });
    bench.poll(&control, super::stopped());
    assert_eq!(ended(&bench), Ending::Cancelled);
}

#[test]
fn a_folder_that_cannot_be_written_fails_the_run() {
    let full = Event::RecordsFailed("no space left on device".to_owned());
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let control = bench.place("control");
    bench.accept(&control);
    bench.send(&full);
    bench.poll(&control, super::stopped());
    assert_eq!(ended(&bench), Ending::Failed);
    assert!(bench.run.wants(&bench.effects.last().unwrap().what));
    bench.send(&full);
    assert!(!bench.run.wants(&bench.effects.last().unwrap().what));
    // While sealing, there is no verdict without evidence.
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    bench.good_round();
    bench.clean();
    bench.judge(FIRST, &[Reason::NoChange]);
    bench.send(&full);
    assert_eq!(ended(&bench), Ending::Failed);
}

#[test]
fn the_end_is_fixed_before_it_is_sealed() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    bench.good_round();
    bench.clean();
    bench.judge(FIRST, &[Reason::NoChange]);
    let State::Sealing { ending } = &bench.run.state else { panic!() };
    assert_eq!((ending.started, ending.ended), (Ms(1000), bench.now));
    assert!(matches!(&ending.how, How::Judged { look, .. } if look.kind == FIRST));
}

#[test]
fn a_failure_that_happens_once_is_repeated_and_acquitted_by_two_clean_trials() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[2]);
    bench.end("control", &succeeded());
    let first = bench.place("head");
    bench.end("head", &failed(false));
    assert_eq!(bench.measuring(), (1, 1));
    let repeat = bench.place("head");
    bench.good_round();
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailureUnconfirmed]);
    assert_eq!(bench.measuring(), (2, 0));
    let next = bench.place("head");
    bench.good_round();
    assert_eq!(bench.look().confirmations, [first, repeat, next]);
    assert_eq!(bench.look().rounds, [Counted { round: 1, replacement: 1 }, Counted { round: 2, replacement: 0 }]);
    bench.clean();
    assert_eq!(bench.look().kind, FIRST);
}

#[test]
fn a_failure_in_the_last_round_is_repeated_beyond_it() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head", "other"], &[1]);
    bench.end("control", &succeeded());
    bench.end("head", &failed(true));
    bench.good_round();
    bench.effects.clear();
    bench.judge(LookKind::Guardrail, &[Reason::NewOomUnconfirmed, Reason::Undecided]);
    assert_eq!(bench.submitted(), ["2.0 head"]);
    bench.end("head", &succeeded());
    assert_eq!(bench.look().rounds, [Counted { round: 1, replacement: 1 }]);
    assert_eq!(bench.look().confirmations.len(), 3);
    bench.clean();
    assert_eq!(bench.look().kind, FIRST);
}

#[test]
fn a_failure_that_happens_again_is_judged() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[3]);
    bench.end("control", &succeeded());
    bench.end("head", &failed(true));
    bench.end("control", &succeeded());
    bench.end("head", &failed(true));
    assert_eq!(bench.look().confirmations.len(), 2);
    assert!(bench.look().rounds.is_empty());
    bench.judge(LookKind::Guardrail, &[Reason::NewOom]);
    assert_eq!(bench.done(), [Reason::NewOom]);
}

#[test]
fn a_newer_state_is_refused() {
    let text = Bench::queued().run.to_json().unwrap();
    let newer = text.replace("\"schema\":1", "\"schema\":2,\"what\":\"this version does not know\"");
    assert_eq!(Run::from_json(&newer), Err(StateError::Newer { found: 2 }));
    assert!(matches!(Run::from_json("{"), Err(StateError::Broken(_))));
    assert!(matches!(Run::from_json(&text.replace("queued", "resting")), Err(StateError::Broken(_))));
}

#[test]
fn what_is_needless_ends_as_such() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1]);
    let (control, head) = (bench.place("control"), bench.place("head"));
    bench.accept(&control);
    bench.accept(&head);
    bench.send(&Event::End { how: Ending::Superseded, by: "by a newer commit".to_owned() });
    bench.poll(&control, super::stopped());
    bench.poll(&head, super::stopped());
    assert_eq!(ended(&bench), Ending::Superseded);
}

#[test]
fn finishing_makes_the_next_look_the_last() {
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[2, 3, 5]);
    bench.send(&Event::Finish);
    for _ in 0..2 {
        bench.good_round();
        bench.clean();
    }
    bench.judge(FIRST, &[Reason::Undecided]);
    assert_eq!(bench.done(), [Reason::Undecided]);
    // Said while a look is being taken, that one is the last.
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1, 3]);
    bench.good_round();
    bench.clean();
    bench.send(&Event::Finish);
    bench.judge(FIRST, &[Reason::Undecided]);
    assert_eq!(bench.done(), [Reason::Undecided]);
    // Nothing was started: there is nothing to finish.
    let mut bench = Bench::queued();
    bench.send(&Event::Finish);
    assert!(!bench.run.finishing);
}
