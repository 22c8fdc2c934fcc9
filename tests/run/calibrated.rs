//! `zephyr-ab calibrate`, and runs that use its file.

use std::fs;

use serde_json::{Value, json};

use crate::support::repository::Bench;
use crate::support::world::{SUITE, World, read_json};

const CALIBRATE: [&str; 6] = ["calibrate", "tiny.toml", "--repo", "repository", "--out", "calibrations"];

/// A world with a calibration of twelve trials.
fn calibrated() -> World {
    let world = World::new();
    let ran = world.measure(&[&CALIBRATE[..], &["--file", "tiny.json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world.check();
    world
}

#[test]
fn a_calibration_is_raw_sums_and_a_run_says_that_it_used_it() {
    let world = calibrated();
    let file = read_json(&world.path("tiny.json"));
    assert_eq!((&file["schema"], &file["suite"], &file["preset"]), (&json!(1), &json!("tiny"), &json!("quick")));
    let trials = file["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 12);
    for trial in trials {
        for row in ["one", "two"] {
            for metric in ["cpu", "elapsed"] {
                assert!(trial["rows"][row][metric].as_f64().is_some_and(|seconds| seconds > 0.0), "{trial}");
            }
        }
    }
    let ran = world.run(&["rounds=1", "--calibration", "tiny.json", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let calibration = &answer["context"]["view"]["calibration"];
    assert_eq!((&calibration["grade"], &calibration["ratios"]), (&json!("A"), &json!(11)), "{calibration}");
    assert_ne!(answer["reason"], "NO_CALIBRATION", "{}", ran.stdout);
    let folder = world.evidence();
    assert_eq!(
        fs::read(folder.join("calibration.json")).expect("kept"),
        fs::read(world.path("tiny.json")).expect("a file")
    );
    // What is continued keeps its calibration, which needs no file any more.
    let from = format!("out/{}", folder.file_name().expect("a name").display());
    let ran = world.run(&["rounds=+1", "--continue", &from, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["context"]["view"]["calibration"]["ratios"], 11, "{}", ran.stdout);
    // An existing file is not overwritten.
    let ran = world.measure(&[&CALIBRATE[..], &["--file", "tiny.json"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
}

#[test]
fn a_calibration_of_something_else_is_refused() {
    let world = World::new();
    let ran = world.measure(&[&CALIBRATE[..], &["--file", "tiny.json", "--trials", "2"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let refused = |args: &[&str]| {
        let ran = world.run(&[&["rounds=1", "--calibration"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        ran.stderr
    };
    let text = fs::read_to_string(world.path("tiny.json")).expect("a file");
    fs::write(world.path("other.json"), text.replace("\"tiny\"", "\"huge\"")).expect("a file");
    assert!(refused(&["other.json"]).contains("it is of suite huge, and this comparison is of suite tiny"));
    fs::write(world.path("newer.json"), text.replace("\"schema\": 1", "\"schema\": 2")).expect("a file");
    assert!(refused(&["newer.json"]).contains("schema 2"));
    world.suite(&SUITE.replace("\"two\"]]", "\"two\", \"more\"]]"));
    assert!(refused(&["tiny.json"]).contains("it is of workload "));
    // On another kind of machine its ratios say nothing, which is no error.
    world.suite(SUITE);
    let mut value = read_json(&world.path("tiny.json"));
    value["host_class"] = json!("another machine");
    fs::write(world.path("elsewhere.json"), value.to_string()).expect("a file");
    let ran = world.run(&["rounds=1", "--calibration", "elsewhere.json", "--format", "json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &answer["context"]["view"]["calibration"]["grade"]), (Some(0), &json!("C")));
}

#[test]
fn a_step_that_fails_is_no_calibration() {
    let world = World::of(&Bench::first("exit 3"));
    let ran = world.measure(&[&CALIBRATE[..], &["--file", "tiny.json", "--trials", "2"]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(!world.path("tiny.json").exists());
    world.check();
}
