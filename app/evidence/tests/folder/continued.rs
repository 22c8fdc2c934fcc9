//! A run that continues another one.

use domain::ids::RunId;
use domain::ports::{Records as _, RecordsError};
use evidence::{EvidenceError, Storage as _, verify};

use crate::support::*;

#[test]
fn rounds_of_earlier_runs_count() {
    let (first, mut plan) = (folder(), plan(&["head"], &[3]));
    plan.calibration = serde_json::json!({});
    let (before, _) = whole(&first, &plan, 3, 1.02);
    let earlier = moved(first.storage());
    let second = folder();
    let mut next = plan.clone();
    next.run = "20261130T081510Z-02c4aa71".parse::<RunId>().unwrap();
    (next.episode, next.continues, next.looks) = (2, Some(plan.run.clone()), vec![6]);
    next.earlier_rounds = second.continues(&next.run, &earlier).unwrap();
    assert_eq!(next.earlier_rounds, 3);
    let (after, _) = whole(&second, &next, 3, 1.02);
    println!("{before:?}\n{after:?}");
    let alone = MemoryOf(second.storage(), next.run.as_str()).alone();
    let verified = verify(&alone, &templates()).unwrap();
    assert_eq!(verified.problems, []);
    let bundle = evidence::Bundle::read(&alone, "").unwrap();
    let Some(domain::ports::How::Judged { look, .. }) = bundle.ending.as_ref().map(|e| &e.how) else { panic!() };
    let judgment = evidence::judge::of(&bundle, look).unwrap();
    assert_eq!(judgment.case.arms[0].1.rounds.len(), 6);
    assert_eq!((judgment.case.config.episode, judgment.case.config.look_index), (2, Some(0)));
    assert!(verified.files.iter().any(|f| f == &format!("earlier/{}/arms/control-1.0-1/steps.json", plan.run)));

    // A third one takes both.
    let third = folder();
    let mut last = next.clone();
    last.run = "20261130T091510Z-02c4aa72".parse::<RunId>().unwrap();
    (last.episode, last.continues, last.looks) = (3, Some(next.run.clone()), vec![8]);
    last.earlier_rounds = third.continues(&last.run, &alone).unwrap();
    assert_eq!(last.earlier_rounds, 6);
    whole(&third, &last, 2, 1.02);
    let alone = MemoryOf(third.storage(), last.run.as_str()).alone();
    assert_eq!(verify(&alone, &templates()).unwrap().problems, []);
    assert_eq!(evidence::Bundle::read(&alone, "").unwrap().earlier.len(), 2);
}

#[test]
fn what_does_not_add_up_is_refused() {
    let (first, plan) = (folder(), plan(&["head"], &[3]));
    let open = first.continues(&plan.run, &evidence::MemoryStorage::new());
    assert!(matches!(open, Err(EvidenceError::NotEvidence(_) | EvidenceError::Io { .. })), "{open:?}");
    whole(&first, &plan, 3, 1.0);
    let second = folder();
    let mut next = plan.clone();
    next.run = "20261130T081510Z-02c4aa71".parse().unwrap();
    second.continues(&next.run, &moved(first.storage())).unwrap();
    second.open(&next).unwrap();
    let refused = second.judge(&look(&next, domain::ports::LookKind::Guardrail, 1, 0));
    let Err(RecordsError::Unusable(why)) = refused else { panic!("{refused:?}") };
    assert_eq!(why, "plan.json: counts 0 rounds of earlier runs, of which there are 3");
}

struct MemoryOf<'a>(&'a evidence::MemoryStorage, &'a str);

impl MemoryOf<'_> {
    fn alone(&self) -> evidence::MemoryStorage {
        let alone = evidence::MemoryStorage::new();
        for file in self.0.list(self.1).unwrap() {
            alone.write(&file, &self.0.read(&format!("{}/{file}", self.1)).unwrap().unwrap()).unwrap();
        }
        alone
    }
}
