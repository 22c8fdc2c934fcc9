//! Steps that misbehave.

use std::fs;

use serde_json::{Value, json};

use crate::support::program::Ran;
use crate::support::repository::Bench;
use crate::support::world::{SUITE, World, files, listed, read_json};

/// A world whose `main` and `topic` begin their second step so.
fn world(main: &str, topic: &str) -> World {
    let world = World::of(&Bench::first(main));
    world.repository.branch("topic", "main", &Bench::first(topic));
    world
}

/// Runs main against topic and returns the answer.
fn run(world: &World, args: &[&str]) -> (Ran, Value) {
    let ran = world.run(&[&["--head", "topic", "--format", "json"], args].concat());
    let answer = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    (ran, answer)
}

fn reason(answer: &Value) -> (&str, &str) {
    let text = |key: &str| answer[key].as_str().unwrap_or_default();
    (text("verdict"), text("reason"))
}

/// The measurements of the second step in every trial, by the name of the trial's folder.
fn measured(world: &World) -> Vec<(String, Value)> {
    let arms = world.evidence().join("arms");
    let read = |name: String| {
        let steps = read_json(&arms.join(&name).join("steps.json"));
        (name, steps[1].clone())
    };
    listed(&arms).into_iter().map(read).collect()
}

fn comment(world: &World) -> String {
    fs::read_to_string(world.evidence().join("comment.md")).expect("a comment")
}

#[test]
fn processes_that_a_step_leaves_are_killed_and_counted() {
    // A child, a child of a session of its own, and one whose parent is gone.
    let forks = "sleep 1000 &\n setsid sleep 1000 &\n ( setsid sh -c 'sleep 1000 & sleep 1000' & ) >/dev/null 2>&1";
    let world = world(forks, forks);
    let (ran, answer) = run(&world, &["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "FAILED_STAGE"));
    for (trial, step) in measured(&world) {
        assert_eq!(step["exit"], json!({"code": 0}), "{trial}");
        assert!(step["left_behind"].as_u64().is_some_and(|left| left >= 3), "{trial}: {step}");
    }
}

#[test]
fn a_step_that_never_ends_is_stopped_at_its_limit() {
    let world = world("", "trap '' TERM INT HUP; sleep 1000 & wait; sleep 1000");
    world.suite(&SUITE.replacen("limit = \"120s\"\n\n[presets", "limit = \"5s\"\n\n[presets", 1));
    let (ran, answer) = run(&world, &["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "TIME_LIMIT"), "{answer:#}");
    let trials = fs::read_to_string(world.evidence().join("trials.jsonl")).expect("a file");
    let stopped = |line: &&str| line.contains("\"role\":\"head\"") && line.contains("time_limit");
    assert_eq!(trials.lines().filter(stopped).count(), 1, "{trials}");
}

#[test]
fn a_trial_that_never_ends_is_stopped_at_the_limit_of_the_suite() {
    let world = world("sleep 1000", "");
    world.suite(&SUITE.replace("wall = \"5min\"", "wall = \"4s\""));
    let (ran, answer) = run(&world, &["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "TIME_LIMIT"), "{answer:#}");
}

#[test]
fn of_two_hundred_megabytes_the_beginning_and_the_end_are_kept() {
    let loud = "head -c 200000000 /dev/zero | tr '\\0' x; echo; head -c 1000000 /dev/zero >&2";
    let world = world(loud, loud);
    let (ran, answer) = run(&world, &["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "NO_CALIBRATION"));
    for (trial, step) in measured(&world) {
        // The count is on the last line.
        assert_eq!((&step["items"], &step["truncated"]), (&json!(7), &json!(true)), "{trial}");
        assert_eq!((&step["stdout_bytes"], &step["stderr_bytes"]), (&json!(200_000_014), &json!(1_000_000)), "{trial}");
    }
    let bytes: u64 = files(&world.evidence()).iter().map(|file| fs::metadata(file).expect("a file").len()).sum();
    assert!(bytes < 32 << 20, "{bytes} bytes of evidence");
}

#[test]
fn a_change_that_fails_twice_is_a_regression() {
    let world = world("", "echo 'no such table: words' >&2; exit 3");
    let (ran, answer) = run(&world, &["--fail-on", "regression"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("regression", "NEW_APP_FAILURE"), "{answer:#}");
    let failed = measured(&world).into_iter().filter(|(_, step)| step["exit"] == json!({"code": 3})).count();
    assert_eq!(failed, 2, "once may be chance");
    let trials = fs::read_to_string(world.evidence().join("trials.jsonl")).expect("a file");
    assert!(trials.contains("no such table: words"), "{trials}");
    assert!(comment(&world).contains("Verdict: regression"));
}

#[test]
fn a_change_that_crashes_by_a_signal_is_a_regression() {
    let world = world("", "kill -SEGV $$");
    let (ran, answer) = run(&world, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("regression", "NEW_APP_FAILURE"), "{answer:#}");
    assert!(measured(&world).iter().any(|(_, step)| step["exit"] == json!({"signal": 11})));
}

#[test]
fn a_step_that_somebody_kills_proves_nothing() {
    // Who sent SIGKILL is not known: it is measured anew, until that is one-sided.
    let world = world("", "kill -KILL $$");
    let (ran, answer) = run(&world, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer).0, "inconclusive", "{answer:#}");
    assert!(["CHURN_ONE_SIDED", "CHURN_LIMIT"].contains(&reason(&answer).1), "{answer:#}");
}

#[test]
fn what_fails_once_and_then_never_again_is_no_regression() {
    let world = World::new();
    let once = world.path("once");
    let fails_once = format!("if mkdir {} 2>/dev/null; then exit 3; fi", once.display());
    world.repository.branch("topic", "main", &Bench::first(&fails_once));
    let (ran, answer) = run(&world, &["rounds=2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer).0, "inconclusive", "{answer:#}");
    assert_ne!(reason(&answer).1, "NEW_APP_FAILURE_UNCONFIRMED", "{answer:#}");
}

#[test]
fn a_benchmark_that_fails_in_both_arms_says_nothing_of_the_change() {
    let world = world("exit 3", "exit 3");
    let (ran, answer) = run(&world, &["--fail-on", "regression"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (verdict, reason) = reason(&answer);
    assert_eq!(verdict, "inconclusive", "{answer:#}");
    assert!(["APP_FAILURE_BOTH_ARMS", "CONTROL_FAILED"].contains(&reason), "{answer:#}");
}

#[test]
fn a_control_that_fails_is_named() {
    let world = world("exit 3", "");
    let (ran, answer) = run(&world, &["--fail-on", "regression"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "CONTROL_FAILED"), "{answer:#}");
}

#[test]
fn a_step_may_delete_its_checkout() {
    let gone = "rm -rf \"$PWD\" \"$HOME\" \"$TMPDIR\"";
    let world = world(gone, gone);
    let (ran, answer) = run(&world, &["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer), ("inconclusive", "NO_CALIBRATION"), "{answer:#}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let world = world("", "");
    world.suite(&SUITE.replacen("[\"sh\", \"step.sh\", \"two\"]", "[\"no-such-program\"]", 1));
    let (ran, answer) = run(&world, &["rounds=1"]);
    let trials = fs::read_to_string(world.evidence().join("trials.jsonl")).expect("a file");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(reason(&answer).0, "inconclusive", "{answer:#}");
    assert!(trials.contains("step two") && trials.contains("No such file"), "{trials}");
}
