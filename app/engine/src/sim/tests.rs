use super::{Options, every_crash, schedule};

/// Enough to reach every row of the machines, few enough for every build; the script beside the benchmarks runs 10,000.
const SCHEDULES: u64 = 150;

#[test]
fn what_must_hold_holds_in_every_schedule() {
    let reports: Vec<_> = (0..SCHEDULES).map(|seed| schedule(seed, Options::default())).collect();
    let broken: Vec<_> =
        reports.iter().filter(|of| !of.violations.is_empty()).map(|of| (of.seed, &of.violations)).collect();
    let crashes: u64 = reports.iter().map(|of| of.crashes).sum();
    println!("{SCHEDULES} schedules, {crashes} crashes, {} broken", broken.len());
    assert!(broken.is_empty(), "{broken:#?}");
    // The schedules are worth something only if they get around.
    for end in [
        "done NO_CHANGE",
        "done CPU_HIGHER",
        "done NEW_OOM",
        "done NEW_APP_FAILURE",
        "done CONTROL_FAILED",
        "done CHURN_LIMIT",
        "done CHURN_ONE_SIDED",
        "done TIME_LIMIT",
        "done CAPACITY",
        "done SOURCE_UNAVAILABLE",
        "done DIFFERENT_WORK",
        "ended cancelled",
        "ended failed",
        "ended expired",
    ] {
        assert!(reports.iter().any(|of| of.end == end), "no schedule ends as {end}");
    }
}

#[test]
fn the_planted_mistake_is_found() {
    let blind = Options { submits_blindly: true, ..Options::default() };
    let found = (0..2000).flat_map(|seed| schedule(seed, blind).violations).find(|what| what.contains("twice"));
    assert!(found.is_some());
    let crashed = every_crash(0, true);
    assert!(crashed.violations.iter().any(|(_, what)| what.ends_with("was launched twice")), "{crashed:?}");
}

#[test]
fn a_crash_at_any_point_changes_nothing() {
    let crashes = every_crash(0, false);
    println!("{} points, {}", crashes.points, crashes.end);
    assert!(crashes.points > 60);
    assert!(crashes.end.starts_with("done "), "{}", crashes.end);
    assert_eq!(crashes.violations, []);
}

#[test]
fn a_crash_while_jobs_are_taken_over_changes_nothing() {
    let retries = |seed: &u64| super::script::plan(*seed).unwrap().retry.is_some();
    let seed = (1..100).find(retries).unwrap();
    let crashes = every_crash(seed, false);
    assert!(crashes.end.starts_with("done "), "{}", crashes.end);
    assert_eq!(crashes.violations, []);
    let report = schedule(seed, Options { calm: true, ..Options::default() });
    let lines = |what: &str| report.trace.iter().filter(|line| line.contains(what)).count();
    assert!(lines("takes /sim/") >= 2, "{:?}", report.trace);
    assert_eq!((lines("submit zab-20261129T202850Z-00000007-r1.0"), report.violations.len()), (0, 0));
}

#[test]
fn jobs_that_are_taken_over_and_say_nothing_are_launched_again() {
    let retries = |seed: &u64| super::script::plan(*seed).unwrap().retry.is_some();
    let reports: Vec<_> = (0..600).filter(retries).map(|seed| schedule(seed, Options::default())).collect();
    let any = |what: &str| reports.iter().filter(|of| of.trace.iter().any(|line| line.contains(what))).count();
    let broken: Vec<_> =
        reports.iter().filter(|of| !of.violations.is_empty()).map(|of| (of.seed, &of.violations)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    println!("{} schedules, {} launch the round anew", reports.len(), any("-r1.1-1: Accepted"));
    assert!(any("-r1.1-1: Accepted") > 10 && any(" takes /sim/") > 100);
}

#[test]
fn any_number_of_crashes_changes_nothing() {
    let crashing = Options { only_crashes: true, ..Options::default() };
    let calm = Options { calm: true, ..Options::default() };
    let mut crashes = 0;
    for seed in 40..60 {
        let (crashed, calm) = (schedule(seed, crashing), schedule(seed, calm));
        assert_eq!((&crashed.end, &crashed.violations), (&calm.end, &calm.violations), "seed {seed}");
        crashes += crashed.crashes;
    }
    assert!(crashes > 20, "{crashes}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in [3, 72, 197] {
        assert_eq!(schedule(seed, Options::default()), schedule(seed, Options::default()));
    }
    assert_ne!(schedule(3, Options::default()).trace, schedule(72, Options::default()).trace);
}
