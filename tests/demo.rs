//! `zephyr-ab demo`, each branch once; `tests/bench/demo.sh` runs ten of each.
//!
//! These measure what the machine really does, so each has it for itself as far as other whole programs of these tests
//! go. What else the machine does can hide a change, which is no error: a second attempt is made then. It can never make
//! up another answer.

use serde_json::Value;

use crate::support::world::{World, alone, listed, runs};

const ATTEMPTS: u32 = 2;

struct Shown {
    verdict: String,
    reason: String,
    answer: Value,
}

/// Runs the demo, verifies its folder, and says what it said.
fn show(args: &[&str]) -> Shown {
    let world = World::new();
    let ran = world.call(&[&["demo", "--format", "json"], args].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    world.nothing_lives();
    // The repository and the evidence are kept, and nothing else.
    let [kept] = &listed(&world.path("tmp"))[..] else { panic!("{:?}", listed(&world.path("tmp"))) };
    let out = world.path("tmp").join(kept).join("evidence");
    let [run] = &runs(&out)[..] else { panic!("{:?}", listed(&out)) };
    let folder = out.join(run);
    assert!(ran.stderr.contains(&format!("evidence: {} ", folder.display())), "{}", ran.stderr);
    let verified = world.call(&["evidence", "verify", folder.to_str().expect("UTF-8")]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let text = |key: &str| answer[key].as_str().expect("a word").to_owned();
    Shown { verdict: text("verdict"), reason: text("reason"), answer }
}

/// Runs a branch until it shows what is expected, or, while elapsed time says little because the machine is busy, as much of
/// that as CPU time says alone; nothing may be said but that and `inconclusive`.
fn expect(branch: &str, expected: &str, by_cpu_alone: Option<&str>) {
    let _alone = alone();
    for attempt in 1..=ATTEMPTS {
        let Shown { verdict, reason, answer } = show(&["--branch", branch]);
        println!("demo {branch}: {verdict} ({reason}), 1 of 10 runs, attempt {attempt}");
        if verdict == expected || by_cpu_alone.is_some_and(|enough| enough == reason) {
            return;
        }
        assert_eq!(verdict, "inconclusive", "{branch}: {answer:#}");
    }
    panic!("{branch}: the machine is too busy to show {expected}");
}

#[test]
fn slower_is_a_regression() {
    expect("slower", "regression", None);
}

#[test]
fn dearer_is_a_tradeoff() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: demo dearer needs two processors");
        return;
    }
    expect("dearer", "tradeoff", Some("TRADEOFF_OR_REGRESSION"));
}

#[test]
fn different_work_is_never_compared() {
    let _alone = alone();
    let Shown { verdict, reason, answer } = show(&["--branch", "different"]);
    println!("demo different: {verdict} ({reason}), 1 of 10 runs");
    assert_eq!((verdict.as_str(), reason.as_str()), ("inconclusive", "DIFFERENT_WORK"), "{answer:#}");
}

#[test]
fn the_same_is_a_pass_or_not_known() {
    let _alone = alone();
    let Shown { verdict, reason, answer } = show(&["--branch", "same"]);
    println!("demo same: {verdict} ({reason}), 1 of 10 runs");
    assert!(["pass", "inconclusive"].contains(&verdict.as_str()), "{answer:#}");
}

#[test]
fn once_decides_nothing() {
    let _alone = alone();
    let Shown { verdict, answer, .. } = show(&["--branch", "slower", "--once"]);
    assert_eq!(verdict, "inconclusive", "{answer:#}");
}
