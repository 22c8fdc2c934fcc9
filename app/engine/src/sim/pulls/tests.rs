use super::{Habit, PullReport, pulls, shrunk};

/// Enough for every build; `ZEPHYR_AB_PULL_SCHEDULES` or the script beside the benchmarks runs 10,000.
const SCHEDULES: u64 = 300;

fn count() -> u64 {
    std::env::var("ZEPHYR_AB_PULL_SCHEDULES").ok().and_then(|text| text.parse().ok()).unwrap_or(SCHEDULES)
}

#[test]
fn what_must_hold_of_pull_requests_holds_in_every_schedule() {
    let reports: Vec<PullReport> = (0..count()).map(|seed| pulls(seed, Habit::Sound)).collect();
    let broken: Vec<&PullReport> = reports.iter().filter(|of| !of.violations.is_empty()).collect();
    let sum = |of: fn(&PullReport) -> u64| reports.iter().map(of).sum::<u64>();
    println!(
        "{} schedules of pull requests, {} acts, {} plans, {} crashes, {} held up, {} broken",
        reports.len(),
        sum(|of| of.acts),
        sum(|of| of.planned),
        sum(|of| of.crashes),
        sum(|of| of.pauses),
        broken.len(),
    );
    if let Some(first) = broken.first() {
        let seeds: Vec<u64> = broken.iter().map(|of| of.seed).collect();
        panic!("seeds {seeds:?}; the first one shrunk: {:#?}", shrunk(first.seed, Habit::Sound));
    }
    // The schedules are worth something only if they get around.
    let ends: Vec<&str> = reports.iter().flat_map(|of| of.ends.iter().map(String::as_str)).collect();
    for end in [
        "pass",
        "regression",
        "inconclusive",
        "cancelled",
        "superseded",
        "failed",
        "expired",
        "refused",
        "checks_failed",
    ] {
        assert!(ends.contains(&end), "no run ends as {end}");
    }
}

#[test]
fn every_planted_mistake_is_found() {
    for habit in Habit::ALL {
        let found = (0..400).map(|seed| pulls(seed, habit)).find(|of| !of.violations.is_empty());
        let found = found.unwrap_or_else(|| panic!("{habit:?} is not found"));
        println!("{habit:?}: seed {}, {}", found.seed, found.violations[0]);
    }
}

#[test]
fn the_same_seed_of_pull_requests_gives_the_same_trace() {
    for seed in [1, 5] {
        assert_eq!(pulls(seed, Habit::Sound), pulls(seed, Habit::Sound));
    }
}
