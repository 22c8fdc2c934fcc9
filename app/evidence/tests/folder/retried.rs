//! A run that goes on from one that came to no verdict, or to none about the change.

use std::collections::BTreeMap;

use domain::arms::Role;
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{
    Decided, Discard, Ending, Failure, Fate, How, Judged, Look, LookKind, Records as _, RecordsError, TrialFate,
};
use domain::rounds::{TrialName, order};
use domain::time::Ms;
use domain::view::Ending as Over;
use evidence::bundle::LookLine;
use evidence::retry::{Taken, of};
use evidence::{Bundle, EvidenceError, Folder, MemoryStorage, Storage, verify};
use stats::Reason;

use crate::support::*;

/// What is wrong with a plan.
type Change<'a> = &'a dyn Fn(&mut Plan);

const FIRST: LookKind = LookKind::Declared { index: 0 };

fn next_id() -> RunId {
    "20261130T081510Z-02c4aa71".parse().unwrap()
}

fn cancelled(plan: &Plan) -> Ending {
    let how = How::Ended { how: Over::Cancelled, why: Some("octocat".to_owned()) };
    Ending { run: plan.run.clone(), how, started: Ms(START), ended: Ms(START + 901_000), replaced: 0, alive: vec![] }
}

fn round<S: Storage>(folder: &Folder<S>, plan: &Plan, round: u32) {
    for role in order(round, &plan.treatments()) {
        add(folder, plan, round, 0, &role, if role == Role::Control { 1.0 } else { 1.02 });
    }
}

fn stopped() -> Fate {
    Fate::Discarded(Discard::Stopped)
}

/// A run with a look after its first round, and a third one that was stopped when it was collected.
fn broken_off() -> (MemoryStorage, Plan) {
    let (first, plan) = (folder(), plan(&["head"], &[1, 2, 3]));
    first.suite(&plan.run, SUITE.as_bytes()).unwrap();
    first.open(&plan).unwrap();
    round(&first, &plan, 1);
    first.judge(&look(&plan, LookKind::Guardrail, 1, 1)).unwrap();
    first.judge(&look(&plan, FIRST, 1, 1)).unwrap();
    round(&first, &plan, 2);
    first.judge(&look(&plan, LookKind::Guardrail, 1, 2)).unwrap();
    add(&first, &plan, 3, 0, &Role::Control, 1.0);
    with(&first, &plan, 3, 0, &treatment("head"), stopped(), &[]);
    first.seal(&cancelled(&plan)).unwrap();
    (moved(first.storage()), plan)
}

fn retrying(earlier: &MemoryStorage, adopting: bool) -> Plan {
    let bundle = Bundle::read(earlier, "").unwrap();
    let taken = of(&bundle, &next_id(), adopting);
    let continues = Some(bundle.plan.run.clone());
    Plan { run: next_id(), continues, earlier_rounds: taken.rounds, retry: Some(taken.retry), ..bundle.plan }
}

/// The second run: the look that was due, the round that was missing, and the last look.
fn finished(earlier: &MemoryStorage, plan: &Plan) -> MemoryStorage {
    let second = folder();
    second.suite(&plan.run, SUITE.as_bytes()).unwrap();
    second.open(plan).unwrap();
    assert_eq!(second.retries(&plan.run, earlier).unwrap(), plan.earlier_rounds);
    // What was looked at is not looked at again.
    let again = second.judge(&look(plan, FIRST, 3, 0));
    assert!(matches!(&again, Err(RecordsError::Unusable(why)) if why.contains("look 0 was taken")), "{again:?}");
    second.judge(&look(plan, LookKind::Declared { index: 1 }, 3, 0)).unwrap();
    round(&second, plan, 3);
    let last = look(plan, LookKind::Declared { index: 2 }, 3, 1);
    let judged = second.judge(&last).unwrap();
    second.seal(&ending(plan, &last, &judged)).unwrap();
    let alone = MemoryStorage::new();
    for file in second.storage().list(plan.run.as_str()).unwrap() {
        alone.write(&file, &second.storage().read(&format!("{}/{file}", plan.run)).unwrap().unwrap()).unwrap();
    }
    alone
}

#[test]
fn rounds_and_looks_of_an_unfinished_run_stay_taken() {
    let (earlier, before) = broken_off();
    let plan = retrying(&earlier, true);
    let retry = plan.retry.clone().unwrap();
    assert_eq!((plan.earlier_rounds, retry.looked, plan.episode), (2, 1, before.episode));
    // Round 3 begins with the control, and so did it then.
    let adopted: Vec<String> = retry.adopts.iter().map(|(name, job)| format!("{name} {job}")).collect();
    assert_eq!(
        adopted,
        [1, 2].map(|place| format!("zab-{}-r3.0-{place} /local/zab-{}-r3.0-{place}", next_id(), before.run))
    );
    let alone = finished(&earlier, &plan);
    let verified = verify(&alone, &templates()).unwrap();
    assert_eq!(verified.problems, []);
    let bundle = Bundle::read(&alone, "").unwrap();
    let Some(How::Judged { look: last, .. }) = bundle.ending.as_ref().map(|e| &e.how) else { panic!() };
    let judgment = evidence::judge::of(&bundle, last).unwrap();
    assert_eq!(judgment.case.arms[0].1.rounds.len(), 3);
    assert_eq!((judgment.case.config.episode, judgment.case.config.look_index), (1, Some(2)));
    // All looks of both runs spend what the plan declared, once.
    let spent: f64 =
        bundle.runs().flat_map(|run| &run.looks).filter_map(|line| line.spent.get("cpu")).map(|s| s.confirm).sum();
    let whole = judgment.case.config.alpha_reg[stats::Metric::Cpu];
    assert!((spent - whole).abs() < 1e-12, "{spent} {whole}");
    let view = verified.composed.unwrap();
    let lines = serde_json::from_slice::<serde_json::Value>(&view.evidence).unwrap()["view"]["reproduce"].clone();
    assert!(lines[0].as_str().unwrap().ends_with(&format!("--retry <folder of {}>", before.run)), "{lines}");
    // A folder that was retried can be continued, and does not need what it retried.
    let third = folder();
    let last: RunId = "20261130T091510Z-02c4aa72".parse().unwrap();
    assert_eq!(third.continues(&last, &alone).unwrap(), 3);
    // What was not retried needs a verdict.
    let refused = folder().continues(&last, &earlier);
    assert!(matches!(refused, Err(EvidenceError::NotEvidence(_))), "{refused:?}");
}

#[test]
fn what_is_taken_over_is_what_was_left() {
    let (earlier, _) = broken_off();
    let good = retrying(&earlier, false);
    assert!(good.retry.as_ref().unwrap().adopts.is_empty());
    assert_eq!(verify(&finished(&earlier, &good), &templates()).unwrap().problems, []);
    let with = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        let problems = verify(&finished(&earlier, &plan), &templates()).unwrap().problems;
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let taken = "plan.json: takes over something else than 20261129T202850Z-8d10c1b5 left";
    let failures = |plan: &mut Plan| plan.retry.as_mut().unwrap().failures.extend([("head".parse().unwrap(), 1)]);
    assert_eq!(with(&failures), taken);
    assert_eq!(with(&|plan| plan.retry.as_mut().unwrap().discards.extend([(Role::Control, 1)])), taken);
    let looks = "plan.json: does not go on with the looks of 20261129T202850Z-8d10c1b5";
    assert_eq!(with(&|plan| plan.looks = vec![1, 3, 4]), looks);
    assert_eq!(with(&|plan| plan.episode = 2), looks);
}

#[test]
fn plans_that_take_over_what_does_not_fit_are_refused() {
    let (earlier, _) = broken_off();
    let good = retrying(&earlier, true);
    assert_eq!(good.check(), Ok(()));
    let with = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    };
    let head = Decided { treatment: "head".parse().unwrap(), verdict: stats::Verdict::Pass, reason: Reason::NoChange };
    let changes: [(Change<'_>, &str); 6] = [
        (&|plan| plan.continues = None, "there is no earlier run"),
        (&|plan| plan.retry.as_mut().unwrap().looked = 3, "the looks are [1, 2, 3]"),
        (&|plan| plan.earlier_rounds = 3, "the looks are [1, 2, 3]"),
        (&|plan| plan.retry.as_mut().unwrap().decided = vec![head.clone()], "every treatment is decided"),
        (
            &|plan| plan.retry.as_mut().unwrap().failures.extend([("x".parse().unwrap(), 1)]),
            "a treatment that there is not",
        ),
        (&|plan| plan.run = "20261130T081510Z-02c4aa79".parse().unwrap(), "a trial of another run"),
    ];
    for (change, why) in changes {
        let said = with(change);
        assert!(said.contains(why), "{said}");
    }
}

/// What a run left that had these trials and these judgements.
fn left(plan: &Plan, fates: &[TrialFate], judged: &[(Look, &[Reason])], how: Option<Over>) -> Taken {
    let storage = MemoryStorage::new();
    let line = |value: serde_json::Value| value.to_string() + "\n";
    let judgements: Vec<(Look, Judged)> = judged
        .iter()
        .map(|(look, reasons)| {
            let of =
                |(treatment, reason): (_, &Reason)| Decided { treatment, verdict: reason.verdict(), reason: *reason };
            (look.clone(), Judged { treatments: plan.treatments().into_iter().zip(*reasons).map(of).collect() })
        })
        .collect();
    let ending = match (how, judgements.last()) {
        (Some(how), _) => Ending { how: How::Ended { how, why: None }, ..cancelled(plan) },
        (None, Some((look, judged))) => ending(plan, look, judged),
        (None, None) => panic!("nothing was judged"),
    };
    let looks = judgements
        .into_iter()
        .map(|(look, judged)| line(serde_json::to_value(LookLine { look, spent: BTreeMap::new(), judged }).unwrap()));
    storage.write("plan.json", serde_json::to_string(plan).unwrap().as_bytes()).unwrap();
    storage.write("looks.jsonl", looks.collect::<String>().as_bytes()).unwrap();
    let fates: String = fates.iter().map(|fate| line(serde_json::to_value(fate).unwrap())).collect();
    storage.write("trials.jsonl", fates.as_bytes()).unwrap();
    storage.write("ending.json", serde_json::to_string(&ending).unwrap().as_bytes()).unwrap();
    of(&Bundle::read(&storage, "").unwrap(), &next_id(), true)
}

fn line(plan: &Plan, round: u32, role: &str, kind: Fate) -> TrialFate {
    let role: Role = role.parse().unwrap();
    fate(name(plan, round, 0, &role), role, kind)
}

fn lost() -> Fate {
    Fate::Discarded(Discard::Infrastructure("preempted".to_owned()))
}

fn late() -> Fate {
    Fate::Discarded(Discard::Incomplete(vec!["stage0".to_owned()]))
}

fn broke() -> Fate {
    Fate::Failed(Failure { oom: false, text: "it broke".to_owned() })
}

#[test]
fn a_round_is_collected_again_as_a_whole_or_not_at_all() {
    let plan = plan(&["head"], &[3]);
    let with = |control: Fate, head: Fate| {
        let fates = [line(&plan, 1, "control", control), line(&plan, 1, "head", head)];
        let taken = left(&plan, &fates, &[], Some(Over::Failed));
        let discards: u32 = taken.retry.discards.values().sum();
        (taken.rounds, taken.retry.adopts.len(), discards)
    };
    let unavailable = || Fate::Discarded(Discard::SourceUnavailable("503".to_owned()));
    assert_eq!(with(Fate::Counted, late()), (0, 2, 0));
    assert_eq!(with(late(), stopped()), (0, 2, 0));
    assert_eq!(with(unavailable(), unavailable()), (0, 2, 0));
    assert_eq!(with(Fate::Counted, lost()), (0, 0, 1));
    assert_eq!(with(late(), lost()), (0, 0, 2));
    assert_eq!(with(Fate::Counted, broke()), (0, 0, 0));
    // One whose partner was never begun.
    let alone = left(&plan, &[line(&plan, 1, "control", Fate::Counted)], &[], Some(Over::Cancelled));
    assert_eq!(alone.retry.adopts.len(), 0);
}

#[test]
fn what_speaks_against_an_arm_is_taken_over() {
    let plan = plan(&["head", "wide"], &[1, 3]);
    let fates =
        [line(&plan, 1, "control", Fate::Counted), line(&plan, 1, "head", broke()), line(&plan, 1, "wide", lost())];
    let taken = left(&plan, &fates, &[], Some(Over::Cancelled));
    assert_eq!(taken.retry.failures, [("head".parse().unwrap(), 1)].into());
    assert_eq!(taken.retry.discards, [("wide".parse().unwrap(), 1)].into());
    // Of one that is decided nothing more is needed.
    let judged: (Look, &[Reason]) =
        (look(&plan, LookKind::Guardrail, 1, 0), &[Reason::NewAppFailure, Reason::Undecided]);
    let taken = left(&plan, &fates, &[judged], Some(Over::Cancelled));
    assert_eq!((taken.retry.failures.len(), taken.retry.decided.len()), (0, 1));
    assert_eq!(taken.undecided, ["wide".parse().unwrap()]);
}

#[test]
fn a_spoiled_round_does_not_count() {
    let plan = plan(&["head"], &[1, 3]);
    let both = |round| [line(&plan, round, "control", Fate::Counted), line(&plan, round, "head", Fate::Counted)];
    let fates = [both(1), both(2)].concat();
    let with = |kind: LookKind, reason: Reason| {
        let first: (Look, &[Reason]) = (look(&plan, FIRST, 1, 1), &[Reason::Undecided]);
        let reasons = [reason];
        let taken = left(&plan, &fates, &[first, (look(&plan, kind, 1, 2), &reasons)], Some(Over::Cancelled));
        assert!(taken.retry.adopts.is_empty());
        (taken.rounds, taken.retry.looked, taken.retry.failures.values().sum::<u32>(), taken.undecided.len())
    };
    assert_eq!(with(LookKind::Guardrail, Reason::Undecided), (2, 1, 0, 1));
    assert_eq!(with(LookKind::Guardrail, Reason::InfraChurn), (1, 1, 0, 1));
    assert_eq!(with(LookKind::Guardrail, Reason::RowsMissing), (1, 1, 0, 1));
    assert_eq!(with(LookKind::Guardrail, Reason::ControlFailed), (1, 1, 0, 1));
    // Out of memory inside a trial that ended well: the round is measured again, and it is known.
    assert_eq!(with(LookKind::Guardrail, Reason::NewOomUnconfirmed), (1, 1, 1, 1));
    assert_eq!(with(LookKind::Guardrail, Reason::DifferentWork), (2, 1, 0, 0));
    assert_eq!(with(LookKind::Blocked(Reason::Capacity), Reason::Capacity), (2, 1, 0, 1));
    // The limit that a treatment ran into holds, although the run was cancelled.
    assert_eq!(with(LookKind::Blocked(Reason::TimeLimit), Reason::TimeLimit), (2, 1, 0, 0));
}

#[test]
fn a_verdict_is_only_retried_where_the_infrastructure_was_in_the_way() {
    let plan = plan(&["head"], &[3]);
    let with = |reason: Reason| {
        let reasons = [reason];
        let blocked = look(&plan, LookKind::Blocked(reason), 1, 0);
        let taken = left(&plan, &[], &[(blocked.clone(), &reasons)], None);
        let judged = Judged {
            treatments: vec![Decided { treatment: "head".parse().unwrap(), verdict: reason.verdict(), reason }],
        };
        let storage = MemoryStorage::new();
        storage.write("plan.json", serde_json::to_string(&plan).unwrap().as_bytes()).unwrap();
        storage
            .write("ending.json", serde_json::to_string(&ending(&plan, &blocked, &judged)).unwrap().as_bytes())
            .unwrap();
        taken.only_infrastructure(&Bundle::read(&storage, "").unwrap()) == Some(true)
    };
    for reason in Reason::ALL {
        assert_eq!(with(*reason), domain::retry::is_infrastructure(*reason), "{}", reason.code());
    }
}

#[test]
fn a_retry_of_a_retry_takes_over_from_both() {
    let (earlier, before) = broken_off();
    let mut plan = retrying(&earlier, true);
    plan.retry.as_mut().unwrap().failures = [("head".parse().unwrap(), 1)].into();
    let fates = [
        fate(TrialName { run: plan.run.clone(), round: 3, replacement: 0, place: 1 }, Role::Control, lost()),
        fate(TrialName { run: plan.run.clone(), round: 3, replacement: 1, place: 1 }, Role::Control, lost()),
    ];
    let taken = left(&plan, &fates, &[], Some(Over::Cancelled));
    assert_eq!((taken.rounds, taken.retry.looked), (2, 1));
    assert_eq!(taken.retry.failures, [("head".parse().unwrap(), 1)].into());
    // The first of them was of a job that was taken over.
    assert_eq!(taken.retry.discards, [(Role::Control, 1)].into());
    assert_eq!(before.run, plan.continues.unwrap());
}
