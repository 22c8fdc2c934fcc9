//! Runs of any course: whatever happens, the folder verifies, and its case alone gives the same judgement.

use domain::arms::Role;
use domain::ports::{Counted, Discard, Ending, Failure, Fate, LookKind, Records as _};
use domain::rounds::order;
use evidence::{MemoryStorage, Storage as _, verify};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::*;

/// What becomes of a trial.
#[derive(Clone, Copy, Debug)]
enum Course {
    Fine,
    Broken,
    Silent,
    Oom,
    Failed,
    Lost,
}

fn course() -> impl Strategy<Value = Course> {
    prop_oneof![
        30 => Just(Course::Fine),
        1 => Just(Course::Broken),
        1 => Just(Course::Silent),
        1 => Just(Course::Oom),
        1 => Just(Course::Failed),
        1 => Just(Course::Lost),
    ]
}

fn fates(course: Course, by: f64, round: u32) -> (Fate, Vec<domain::ports::Answer>) {
    let fine = answers(&[("sort", 2.0 * by), ("merge", by)], round);
    let failed = |oom| Fate::Failed(Failure { oom, text: "it said so".to_owned() });
    match course {
        Course::Fine => (Fate::Counted, fine),
        Course::Broken => (Fate::Counted, vec![answer("steps.json", "[{}]")]),
        Course::Silent => (Fate::Counted, vec![]),
        Course::Oom => (failed(true), vec![]),
        Course::Failed => (failed(false), fine),
        Course::Lost => (Fate::Discarded(Discard::Lost), vec![]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_course_verifies(
        several in any::<bool>(),
        courses in proptest::collection::vec(proptest::collection::vec(course(), 3), 1..7),
        replaced in proptest::collection::vec(any::<bool>(), 7),
        by in 0.7..1.6_f64,
        decided in proptest::option::weighted(0.2, 1_u32..4),
        blocked in any::<bool>(),
    ) {
        let names: &[&str] = if several { &["one", "other"] } else { &["head"] };
        let rounds = u32::try_from(courses.len()).unwrap();
        let plan = plan(names, &[u64::from(rounds)]);
        let folder = on(MemoryStorage::new());
        folder.open(&plan).unwrap();
        let kind = if blocked {
            LookKind::Blocked(stats::Reason::TimeLimit)
        } else {
            LookKind::Declared { index: 0 }
        };
        let mut look = look(&plan, kind, 1, 0);
        for round in 1..=rounds {
            let gone = |role: &Role| several && *role == treatment("one") && decided.is_some_and(|at| round > at);
            let again = u32::from(replaced[round as usize - 1]);
            for replacement in 0..=again {
                for (place, role) in order(round, &plan.treatments()).into_iter().enumerate().filter(|(_, role)| !gone(role)) {
                    // The round that counts takes the course of the list, the one that it replaced any.
                    let course = courses[(round - 1) as usize][(place + (again - replacement) as usize) % 3];
                    let (fate, answers) = fates(course, if role == Role::Control { 1.0 } else { by }, round);
                    if matches!(fate, Fate::Failed(_)) {
                        look.confirmations.push(name(&plan, round, replacement, &role));
                    }
                    with(&folder, &plan, round, replacement, &role, fate, &answers);
                }
            }
            look.rounds.push(Counted { round, replacement: again });
        }
        if several && decided.is_some_and(|at| at < rounds) {
            let reason = stats::Reason::CpuHigher;
            let verdict = reason.verdict();
            look.decided.push(domain::ports::Decided { treatment: "one".parse().unwrap(), verdict, reason });
        }
        let judged = folder.judge(&look).unwrap();
        folder.seal(&Ending { replaced: 1, ..ending(&plan, &look, &judged) }).unwrap();
        let storage = moved(folder.storage());
        let verified = verify(&storage, &templates()).unwrap();
        prop_assert_eq!(&verified.problems, &[]);
        let document: Value = serde_json::from_slice(&storage.read("evidence.json").unwrap().unwrap()).unwrap();
        let bundle = evidence::Bundle::read(&storage, "").unwrap();
        let judgment = evidence::judge::of(&bundle, &look).unwrap();
        let text = stats::input::write::to_json(&judgment.case).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &document["case"]);
        let outcome = stats::judge(&stats::input::parse(&text).unwrap());
        prop_assert_eq!(&serde_json::to_value(&outcome).unwrap(), &document["outcome"]);
        // NaN stands for what is not known, and equals nothing.
        prop_assert_eq!(format!("{outcome:?}"), format!("{:?}", judgment.outcome));
    }
}
