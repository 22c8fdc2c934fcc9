use stats::{Reason, Verdict};

use super::{Bench, failed, frame, preempted, succeeded};
use crate::ids::JobId;
use crate::machine::{Event, Frame, Probe, State, TrialEvent};
use crate::ports::{Counted, Decided, LookKind, Submitted};
use crate::retry::Retry;
use crate::rounds::{RoundMode, TrialName};

fn retried(treatments: &[&str], looks: &[u64], earlier_rounds: u32, retry: Retry) -> Frame {
    Frame { earlier_rounds, retry: Some(retry), ..frame(RoundMode::Together, treatments, looks) }
}

/// The trials of round 2 are jobs of an earlier run.
fn adopting(replacements: u32) -> Bench {
    let id = Bench::queued().run.id;
    let name = |place| TrialName { run: id.clone(), round: 2, replacement: 0, place };
    let job: JobId = "/bot/zab-20261129T202850Z-8d10c1b5-r2.0-1".parse().unwrap();
    let adopts = [(name(1), job.clone()), (name(2), job)].into();
    let retry = Retry { adopts, ..Retry::default() };
    Bench::of(Frame { replacements, ..retried(&["head"], &[2], 1, retry) })
}

#[test]
fn looks_go_on_where_they_stopped() {
    let retry = Retry { looked: 1, ..Retry::default() };
    let mut bench = Bench::of(retried(&["head"], &[1, 2, 3], 1, retry));
    assert_eq!(bench.measuring(), (2, 0));
    bench.good_round();
    bench.clean();
    assert_eq!(bench.look().kind, LookKind::Declared { index: 1 });
    assert_eq!(bench.look().rounds, [Counted { round: 2, replacement: 0 }]);
    bench.judge(LookKind::Declared { index: 1 }, &[Reason::Undecided]);
    bench.good_round();
    bench.clean();
    bench.judge(LookKind::Declared { index: 2 }, &[Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::NoChange]);
}

#[test]
fn rounds_that_are_all_there_are_only_judged() {
    let mut bench = Bench::of(retried(&["head"], &[1, 2], 2, Retry { looked: 1, ..Retry::default() }));
    assert_eq!(bench.kinds(), "resolve open judge");
    assert_eq!(bench.look().kind, LookKind::Declared { index: 1 });
    bench.judge(LookKind::Declared { index: 1 }, &[Reason::NoChange]);
    assert_eq!(bench.done(), [Reason::NoChange]);
    // A person agrees first where that is asked for, and then nothing else happens.
    let frame = Frame { confirm: Some("much".to_owned()), ..retried(&["head"], &[2], 2, Retry::default()) };
    let plan = frame.plan.clone();
    let mut bench = Bench::of(frame);
    bench.send(&Event::Confirm { plan });
    bench.send(&Event::SlotGranted);
    assert_eq!(bench.look().kind, LookKind::Declared { index: 0 });
}

#[test]
fn a_failure_of_the_earlier_run_is_not_forgotten() {
    let retry = || Retry { failures: [("head".parse().unwrap(), 1)].into(), ..Retry::default() };
    let mut bench = Bench::of(retried(&["head"], &[2], 1, retry()));
    bench.end("control", &succeeded());
    bench.end("head", &failed(false));
    // It is the second one.
    assert_eq!((bench.look().kind, bench.look().confirmations.len()), (LookKind::Guardrail, 1));
    assert!(matches!(&bench.run.state, State::Judging { complete: false, .. }));
    // And it is acquitted by two trials of this run, the second beyond the planned rounds.
    let mut bench = Bench::of(retried(&["head"], &[2], 1, retry()));
    bench.good_round();
    bench.judge(LookKind::Guardrail, &[Reason::NewAppFailureUnconfirmed]);
    assert_eq!((bench.measuring(), bench.run.places.len()), ((3, 0), 1));
    bench.end("head", &succeeded());
    bench.clean();
    assert_eq!(bench.look().kind, LookKind::Declared { index: 0 });
    // Where the rounds are all there, they are not judged before.
    let bench = Bench::of(retried(&["head"], &[1], 1, retry()));
    assert_eq!((bench.measuring(), bench.run.places.len()), ((2, 0), 1));
}

#[test]
fn a_treatment_that_was_decided_leaves() {
    let known = Decided { treatment: "a".parse().unwrap(), verdict: Verdict::Regression, reason: Reason::CpuHigher };
    let retry = Retry { looked: 1, decided: vec![known.clone()], ..Retry::default() };
    let mut bench = Bench::of(retried(&["a", "b"], &[1, 2], 1, retry));
    assert_eq!(bench.submitted(), ["2.0 b", "2.0 control"]);
    bench.good_round();
    assert_eq!(bench.look().decided, [known]);
}

#[test]
fn discards_of_the_earlier_run_count_against_the_arm() {
    let retry = Retry { discards: [("head".parse().unwrap(), 2)].into(), ..Retry::default() };
    let mut bench = Bench::of(retried(&["head"], &[2], 1, retry));
    bench.end("control", &succeeded());
    bench.end("head", &preempted());
    assert_eq!(bench.look().kind, LookKind::Blocked(Reason::ChurnOneSided));
}

#[test]
fn a_job_that_was_taken_over_and_did_not_end_well_is_replaced_and_held_against_nobody() {
    // Without a single round that may be replaced because of the infrastructure.
    let mut bench = adopting(0);
    bench.effects.clear();
    bench.end("control", &super::stopped());
    let other = bench.place("head");
    bench.accept(&other);
    bench.poll(&other, super::stopped());
    assert_eq!(bench.measuring(), (2, 1));
    assert_eq!(bench.submitted(), ["2.1 head", "2.1 control"]);
    assert_eq!((bench.run.churned, bench.run.discards.len(), bench.run.replaced), (0, 0, 1));
    // What replaces it is a trial like any other.
    bench.end("control", &preempted());
    let other = bench.place("head");
    bench.accept(&other);
    bench.poll(&other, super::stopped());
    assert_eq!(bench.look().kind, LookKind::Blocked(Reason::ChurnLimit));
}

#[test]
fn records_that_are_still_missing_replace_the_round_and_count_as_lost() {
    let mut bench = adopting(0);
    bench.end("control", &succeeded());
    let name = bench.place("head");
    bench.accept(&name);
    bench.poll(&name, succeeded());
    let probe = Probe::Incomplete { missing: vec!["x".to_owned()], kept: true };
    let asked = bench.asked(&name);
    bench.tell(&name, TrialEvent::Collected(asked, probe));
    assert_eq!(bench.measuring(), (2, 1));
    assert_eq!((bench.run.churned, bench.run.discards.values().sum::<u32>()), (0, 1));
}

#[test]
fn jobs_that_are_collected_again_complete_the_round() {
    let mut bench = adopting(0);
    for role in ["head", "control"] {
        let name = bench.place(role);
        let job: JobId = "/bot/zab-20261129T202850Z-8d10c1b5-r2.0-1".parse().unwrap();
        bench.tell(&name, TrialEvent::Submitted(1, Submitted::AlreadyThere(job)));
        bench.poll(&name, succeeded());
        bench.collected(&name);
    }
    assert_eq!(bench.look().rounds, [Counted { round: 2, replacement: 0 }]);
}
