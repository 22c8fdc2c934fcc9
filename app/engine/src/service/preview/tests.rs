use domain::arms::{Arms, Declared, Treatment};
use domain::comparability::Context;
use domain::plan::{Origin, Plan};
use domain::rounds::RoundMode;
use domain::scope::{Class, ScopeOf};
use domain::setting::Setting;
use domain::view::{Calibrated, Grade};
use domain::workload::{Field, Known};

use super::{Preview, plan, scope};
use crate::sim::plan_for_tests;

fn whole() -> Plan {
    let mut plan = plan_for_tests();
    let mut declared = Declared::default();
    declared.parameter("pool_ram", "24GiB").unwrap();
    declared.variable("MODE", "a|b").unwrap();
    let commit = "c0ffee1234567890c0ffee1234567890c0ffee12".parse().unwrap();
    let treatment = Treatment { name: "head".parse().unwrap(), commit, declared };
    plan.arms = Arms::new("8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99".parse().unwrap(), vec![treatment]).unwrap();
    plan.origin = Origin {
        repository: "owner/name".to_owned(),
        base: "main".to_owned(),
        head: "@team <!-- x -->".to_owned(),
        behind: Some(3),
        ..Origin::default()
    };
    plan.preset = Some("light".to_owned());
    plan.workloads.get_mut("control").unwrap().set(Field::PoolWorkers, Known::Set(Setting::text("48")));
    let context = |python: &str| Context([("python".to_owned(), Some(python.to_owned()))].into());
    plan.contexts = [("control".to_owned(), context("3.12.1")), ("head".to_owned(), context("3.12.2"))].into();
    plan.mode = RoundMode::Together;
    plan.looks = vec![1, 2, 3, 5];
    plan.replacements = 2;
    plan.calibrated = Some(Calibrated { grade: Grade::A, ratios: Some(12), age_days: Some(9), frozen: None });
    plan.notes = vec!["two merge bases; the first is the control".to_owned()];
    plan
}

fn body(of: &Plan, extra: &Preview) -> String {
    report::Renderer::new().unwrap().reply(&plan(of, extra)).unwrap().body
}

#[test]
fn everything_known() {
    let extra = Preview {
        line: "/ab-test zephyr preset=light".to_owned(),
        cost_cpu_hours: Some(18.28),
        wall_ms: Some(40 * 60_000),
        estimate_source: "mean of 6 runs of this workload".to_owned(),
        scope: vec!["lib/zephyr/shuffle.py leads to stages exact..fuzzy".to_owned(), "`a|b` @team #12".to_owned()],
        confirm: Some("182.8 CPU hours; above 40 a person must agree.".to_owned()),
    };
    insta::assert_snapshot!(body(&whole(), &extra));
}

#[test]
fn nothing_known() {
    let mut plan = plan_for_tests();
    plan.looks = vec![3];
    plan.mode = RoundMode::InTurn;
    plan.replacements = 0;
    plan.confirm = None;
    let extra = Preview { line: "/ab-test sim".to_owned(), ..Preview::default() };
    insta::assert_snapshot!(body(&plan, &extra));
}

#[test]
fn only_the_rounds_that_are_still_to_come_cost_something() {
    let mut plan = whole();
    (plan.earlier_rounds, plan.continues) = (5, Some(plan.run.clone()));
    plan.looks = vec![7];
    let extra = Preview { cost_cpu_hours: Some(2.0), wall_ms: Some(60_000), ..Preview::default() };
    let together = body(&plan, &extra);
    assert!(together.contains("at most 8.00 CPU hours: 2.00 for a trial, 2 arms, 2 rounds"), "{together}");
    assert!(together.contains("about 2 min"), "{together}");
    plan.mode = RoundMode::InTurn;
    assert!(body(&plan, &extra).contains("about 4 min"));
}

#[test]
fn what_a_change_is_about() {
    let mut of = whole();
    of.origin.changed_paths = 1;
    assert_eq!(scope(&of), ["1 changed file"]);
    let mut kinds = ScopeOf::default();
    kinds.add(Class::Shuffle, Some("data moves"));
    kinds.add(Class::Shuffle, Some("spills"));
    kinds.add(Class::Trivial, None);
    of.scope = Some(kinds);
    of.origin.changed_paths = 1200;
    let lines = scope(&of);
    assert_eq!(lines[1..], ["shuffle: data moves; spills", "trivial"]);
    assert!(lines[0].ends_with(" changed files"), "{lines:?}");
    of.skip = Some(vec!["documentation".to_owned(), "comments of a.py".to_owned()]);
    let last = "no benchmark seems to be needed: only documentation, comments of a.py changed";
    assert_eq!(scope(&of).last().map(String::as_str), Some(last));
    // It waits for an agreement as well.
    let extra = Preview { line: "/ab-test sim".to_owned(), ..Preview::default() };
    assert!(body(&of, &extra).contains("waits for an agreement"));
    of.skip = Some(Vec::new());
    assert_eq!(scope(&of).last().map(String::as_str), Some("nothing differs that could alter what is measured"));
}
