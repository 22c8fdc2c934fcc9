//! What is missing of a comparison that was broken off.

use std::fs;

use serde_json::{Value, json};

use crate::support::repository::Bench;
use crate::support::world::{SUITE, World, read_json, runs};

/// A world in which every trial leaves a line, and the third one goes on for ever until it is let go.
fn world() -> World {
    let world = World::new();
    let (log, go) = (world.path("launched").display().to_string(), world.path("go").display().to_string());
    let first = format!(
        "echo x >> '{log}'; if [ \"$(wc -l < '{log}')\" -eq 3 ]; then while [ ! -e '{go}' ]; do sleep 0.1; done; fi"
    );
    world.repository.commit(&Bench::first(&first), "Leaves a line");
    // Other code for the same work: nothing of it is decided before its rounds are over.
    world.repository.branch("topic", "main", &Bench::first(&format!("{first}; true")));
    world
}

fn launched(world: &World) -> usize {
    fs::read_to_string(world.path("launched")).unwrap_or_default().lines().count()
}

fn lines(world: &World, file: &str) -> usize {
    fs::read_to_string(world.path(file)).expect("a file").lines().count()
}

/// Breaks a comparison off in the second of its three rounds; returns its folder.
fn broken_off(world: &World) -> String {
    let mut run = world.start(&["rounds=3"]);
    run.until_so("a third trial", || launched(world) == 3);
    run.signal("INT", true);
    let ran = run.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    world.check();
    fs::write(world.path("go"), "").expect("a file");
    format!("out/{}", runs(&world.path("out"))[0])
}

#[test]
fn only_the_rounds_that_are_missing_are_measured() {
    let world = world();
    let first = broken_off(&world);
    let ran = world.run(&["--retry", &first, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("at most 2 rounds, 4 trials"), "{}", ran.stderr);
    assert_eq!(launched(&world), 3 + 4);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["table"]["one"]["cpu"]["n_control"], 3, "{}", ran.stdout);
    let all = runs(&world.path("out"));
    let second = all.iter().find(|name| !first.ends_with(name.as_str())).expect("a second folder");
    let second = format!("out/{second}");
    assert_eq!(lines(&world, &format!("{second}/trials.jsonl")), 4);
    let (before, plan) =
        (read_json(&world.path(&first).join("plan.json")), read_json(&world.path(&second).join("plan.json")));
    for same in ["arms", "origin", "workloads", "launches", "ledger", "looks", "episode", "suite_digest"] {
        assert_eq!(plan[same], before[same], "{same}");
    }
    assert_eq!((&plan["continues"], &plan["earlier_rounds"]), (&before["run"], &json!(1)));
    assert_eq!(plan["retry"], json!({"looked": 0}));
    let said = plan["notes"].to_string();
    assert!(said.contains("which ended as cancelled: 1 round of it counts"), "{said}");
    // What it has come to stands, and so does what became of the first.
    let refused = |from: &str, args: &[&str], why: &str| {
        let ran = world.run(&[&["--retry", from], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    };
    refused(&first, &[], "continues it already; retry that one");
    refused(&second, &[], "its verdict stands");
    refused(&first, &["rounds=3"], "nothing else may be given");
    let ran = world.call(&["evidence", "diff", &first, &second]);
    assert!(ran.stdout.contains("ended without a verdict") && ran.stderr.is_empty(), "{}{}", ran.stdout, ran.stderr);
    // It stands alone, and more rounds can be added to it.
    fs::remove_dir_all(world.path(&first)).expect("it goes");
    world.verify();
    let ran = world.run(&["rounds=+1", "--continue", &second, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["table"]["one"]["cpu"]["n_control"], 4, "{}", ran.stdout);
    assert_eq!(launched(&world), 3 + 4 + 2);
}

#[test]
fn a_suite_that_changed_and_a_folder_that_did_are_not_gone_on_with() {
    let world = world();
    let first = broken_off(&world);
    let refused = |why: &str| {
        let args = ["run", "tiny.toml", "--repo", "repository", "--out", "out", "--retry", &first];
        let ran = world.call(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    };
    world.suite(&SUITE.replace("\"5min\"", "\"6min\""));
    refused("the suite has changed");
    world.suite(SUITE);
    let answers = world.path(&first).join("arms/control-1.0-1/02-two.stdout");
    fs::write(&answers, "{\"items\": 6}\n").expect("a file");
    refused("it does not verify: arms/control-1.0-1/02-two.stdout: ");
}
