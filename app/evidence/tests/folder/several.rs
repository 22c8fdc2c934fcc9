//! Several treatments: one control for all, and treatments that are decided before others.

use domain::arms::Role;
use domain::ports::{Decided, LookKind, Records as _};
use domain::rounds::order;
use evidence::verify;
use stats::{Reason, Verdict};

use crate::support::*;

#[test]
fn treatments_share_the_control_and_leave_when_they_are_decided() {
    let (folder, plan) = (folder(), plan(&["fast", "slow"], &[3, 6]));
    folder.open(&plan).unwrap();
    let by = |role: &Role| if *role == treatment("slow") { 1.6 } else { 1.0 };
    for round in 1..=3 {
        for role in order(round, &plan.treatments()) {
            add(&folder, &plan, round, 0, &role, by(&role));
        }
    }
    let first = look(&plan, LookKind::Declared { index: 0 }, 1, 3);
    let judged = folder.judge(&first).unwrap();
    assert_eq!(judged.treatments.len(), 2);
    let slow = Decided { treatment: "slow".parse().unwrap(), verdict: Verdict::Regression, reason: Reason::CpuHigher };
    for round in 4..=6 {
        for role in [Role::Control, treatment("fast")] {
            add(&folder, &plan, round, 0, &role, by(&role));
        }
    }
    let mut second = look(&plan, LookKind::Declared { index: 1 }, 1, 6);
    second.decided.push(slow.clone());
    let judged = folder.judge(&second).unwrap();
    assert_eq!(judged.treatments[1], slow);
    assert_eq!(judged.treatments[0].verdict, Verdict::Pass, "{judged:?}");
    folder.seal(&ending(&plan, &second, &judged)).unwrap();
    let storage = moved(folder.storage());
    let verified = verify(&storage, &templates()).unwrap();
    assert_eq!(verified.problems, []);
    let judgment = evidence::judge::judge(&storage, "", &second).unwrap();
    assert_eq!((judgment.case.control.len(), judgment.case.arms[0].1.rounds.len()), (6, 6));
    assert_eq!(judgment.case.arms[1].1.rounds.len(), 3);
    insta::assert_json_snapshot!("told", told(&storage));
}
