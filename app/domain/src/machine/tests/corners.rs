use stats::Reason;

use super::{Bench, failed, frame, preempted, stopped, succeeded};
use crate::machine::{Event, State, TrialEvent};
use crate::ports::{Counted, JobState, LookKind};
use crate::rounds::RoundMode;
use crate::time::MINUTE;
use crate::view::Ending;

#[test]
fn the_control_fails_once_and_the_round_is_replaced() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    bench.end("control", &failed(false));
    assert_eq!(bench.measuring(), (1, 1));
    bench.good_round();
    // It is no confirmation: one failure of the control is not held against anybody.
    assert!(bench.look().confirmations.is_empty());
    bench.clean();
    bench.judge(LookKind::Declared { index: 0 }, &[Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::NoChange]);
}

#[test]
fn the_control_fails_again_and_that_is_the_verdict() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    bench.end("control", &failed(false));
    bench.end("control", &failed(false));
    assert_eq!(bench.look().confirmations.len(), 2);
    bench.judge(LookKind::Guardrail, &[Reason::ControlFailed]);
    assert_eq!(bench.done(), [Reason::ControlFailed]);
}

#[test]
fn a_treatment_is_not_judged_by_failures_before_its_control_ended_well() {
    // Both arms are broken; the treatment is always the faster to fail.
    let mut bench = Bench::new(RoundMode::Together, &["head"], &[1]);
    let control = bench.place("control");
    bench.accept(&control);
    bench.end("head", &failed(false));
    bench.poll(&control, stopped());
    assert_eq!(bench.measuring(), (1, 1));
    let control = bench.place("control");
    bench.accept(&control);
    bench.end("head", &failed(false));
    // The control goes on.
    assert_eq!(bench.measuring(), (1, 1));
    assert!(bench.run.trials.iter().all(|trial| trial.name != control || trial.stop.is_none()));
    bench.poll(&control, failed(false));
    bench.collected(&control);
    bench.judge(LookKind::Guardrail, &[Reason::AppFailureBothArms]);
    // Once is replaced, as for the control alone.
    assert_eq!(bench.measuring(), (1, 2));
    bench.end("control", &failed(false));
    let head = bench.place("head");
    bench.accept(&head);
    bench.poll(&head, stopped());
    bench.judge(LookKind::Guardrail, &[Reason::AppFailureBothArms]);
    assert_eq!(bench.done(), [Reason::AppFailureBothArms]);
}

#[test]
fn what_happens_inside_a_trial_that_ended_well_is_repeated_too() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let first = bench.place("head");
    bench.good_round();
    bench.judge(LookKind::Guardrail, &[Reason::NewOomUnconfirmed]);
    assert_eq!(bench.measuring(), (1, 1));
    assert_eq!(bench.run.confirmations, [first]);
    assert!(bench.run.counted.is_empty());
    // The control's, likewise, and a spoiled round.
    for reason in [Reason::ControlFailed, Reason::InfraChurn, Reason::HostMix] {
        let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
        bench.good_round();
        bench.judge(LookKind::Guardrail, &[reason]);
        assert_eq!(bench.measuring(), (1, 1), "{}", reason.code());
        assert_eq!(bench.run.churned, u32::from(reason != Reason::ControlFailed));
    }
}

#[test]
fn spoiled_rounds_found_by_judging_have_the_same_limit() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    for _ in 0..4 {
        bench.good_round();
        bench.judge(LookKind::Guardrail, &[Reason::InfraChurn]);
    }
    assert_eq!(bench.look().kind, LookKind::Blocked(Reason::ChurnLimit));
    assert!(bench.look().rounds.is_empty());
}

#[test]
fn decided_treatments_leave_and_the_control_stays() {
    let mut bench = Bench::new(RoundMode::InTurn, &["a", "b"], &[1, 2]);
    bench.good_round();
    bench.clean();
    bench.effects.clear();
    bench.judge(LookKind::Declared { index: 0 }, &[Reason::CpuHigher, Reason::Undecided]);
    bench.good_round();
    assert_eq!(bench.submitted(), ["2.0 b", "2.0 control"]);
    let decided = bench.look().decided;
    assert_eq!((decided.len(), decided[0].reason), (1, Reason::CpuHigher));
    // The family keeps its size: every declared treatment is judged, the decided one carried over.
    bench.judge(LookKind::Guardrail, &[Reason::CpuHigher, Reason::Undecided]);
    bench.judge(LookKind::Declared { index: 1 }, &[Reason::CpuHigher, Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::CpuHigher, Reason::NoChange]);
}

#[test]
fn one_treatment_fails_for_good_and_the_others_go_on() {
    let mut bench = Bench::new(RoundMode::InTurn, &["a", "b"], &[1]);
    bench.end("control", &succeeded());
    bench.end("a", &failed(false));
    bench.end("control", &succeeded());
    bench.end("a", &failed(false));
    bench.effects.clear();
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailure, Reason::Undecided]);
    bench.good_round();
    assert_eq!(bench.submitted(), ["1.2 control", "1.2 b"]);
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailure, Reason::Undecided]);
    bench.judge(LookKind::Declared { index: 0 }, &[Reason::NewAppFailure, Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::NewAppFailure, Reason::NoChange]);
}

#[test]
fn repeats_beyond_the_rounds_end_when_nobody_is_left_to_repeat() {
    let mut bench = Bench::new(RoundMode::InTurn, &["a", "b"], &[1]);
    bench.end("control", &succeeded());
    bench.end("a", &failed(false));
    bench.good_round();
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailureUnconfirmed, Reason::Undecided]);
    bench.end("a", &failed(false));
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailure, Reason::Undecided]);
    bench.judge(LookKind::Declared { index: 0 }, &[Reason::NewAppFailure, Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::NewAppFailure, Reason::NoChange]);
}

#[test]
fn a_replaced_round_keeps_its_places_and_its_name_says_so() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[2]);
    bench.good_round();
    bench.clean();
    let before = bench.run.places.clone();
    bench.end("head", &preempted());
    assert_eq!(bench.run.places, before);
    assert!(bench.place("head").to_string().ends_with("-r2.1-1"));
}

#[test]
fn a_rebooted_controller_replaces_the_round_and_fails_nobody() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let name = bench.place("control");
    bench.accept(&name);
    bench.poll(&name, JobState::Unknown);
    bench.now = bench.now.plus(11 * MINUTE);
    bench.poll(&name, JobState::Unknown);
    assert_eq!(bench.measuring(), (1, 1));
    assert!(bench.run.failures.is_empty() && bench.run.control_failures.is_empty());
}

#[test]
fn cancelled_while_it_collects() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let name = bench.place("control");
    bench.accept(&name);
    bench.poll(&name, succeeded());
    bench.send(&Event::Cancel { by: "octocat".to_owned() });
    assert!(matches!(bench.run.state, State::Ended { how: Ending::Cancelled, .. }));
    // A late answer changes nothing.
    let before = bench.run.clone();
    bench.collected(&name);
    assert_eq!(bench.run, before);
}

#[test]
fn a_judged_look_stays_when_the_run_is_cancelled_after_it() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1, 2]);
    bench.good_round();
    bench.clean();
    bench.judge(LookKind::Declared { index: 0 }, &[Reason::Undecided]);
    let name = bench.place("head");
    bench.accept(&name);
    bench.send(&Event::Cancel { by: "octocat".to_owned() });
    bench.poll(&name, stopped());
    assert_eq!(bench.run.looked, 1);
}

#[test]
fn a_job_that_lives_on_is_named() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1]);
    let name = bench.place("control");
    bench.accept(&name);
    bench.send(&Event::Cancel { by: "octocat".to_owned() });
    bench.now = bench.now.plus(30 * MINUTE);
    bench.poll(&name, super::running());
    let State::Ended { alive, .. } = &bench.run.state else { panic!("{:?}", bench.run.state) };
    assert_eq!((alive.len(), &alive[0].trial), (1, &name));
}

#[test]
fn a_continued_run_counts_from_the_earlier_rounds() {
    let continued = crate::machine::Frame { earlier_rounds: 3, ..frame(RoundMode::InTurn, &["head"], &[5]) };
    let mut bench = Bench::of(continued);
    assert_eq!(bench.measuring(), (4, 0));
    assert_eq!(bench.run.places[0].to_string(), "head");
    bench.good_round();
    bench.clean();
    bench.good_round();
    bench.clean();
    assert_eq!(bench.look().kind, LookKind::Declared { index: 0 });
    assert_eq!(bench.look().rounds, [4, 5].map(|round| Counted { round, replacement: 0 }));
}

#[test]
fn an_answer_about_something_else_changes_nothing() {
    let mut bench = Bench::new(RoundMode::InTurn, &["head"], &[1, 2]);
    bench.good_round();
    let old = bench.look();
    bench.clean();
    let before = bench.run.clone();
    let judged = bench.judged(&[Reason::NewOom]);
    bench.send(&Event::Judged(Box::new(old), judged));
    bench.seal();
    bench.send(&Event::SlotGranted);
    bench.send(&Event::Resolved(Box::new(frame(RoundMode::Together, &["x"], &[1]))));
    bench.send(&Event::Refused("no".to_owned()));
    bench.tell(&crate::rounds::TrialName { round: 9, ..before.trials[0].name.clone() }, TrialEvent::Begin);
    bench.send(&Event::Due);
    assert_eq!(bench.run, before);
}
