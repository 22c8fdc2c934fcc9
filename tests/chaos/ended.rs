//! Runs that are ended from outside, in the middle of a step.

use std::fs;
use std::path::PathBuf;

use crate::support::repository::Bench;
use crate::support::world::{World, listed, read_json};

/// A world whose `topic` tells that its second step has begun, and then does not end.
fn endless() -> (World, PathBuf) {
    let world = World::new();
    let begun = world.path("begun");
    let endless = format!("setsid sleep 1000 &\n touch {}\n sleep 1000", begun.display());
    world.repository.branch("topic", "main", &Bench::first(&endless));
    (world, begun)
}

/// The run in the middle of the second trial gets a signal.
fn interrupted(signal: &str, group: bool, by: &str) {
    let (world, begun) = endless();
    let mut run = world.start(&["--head", "topic"]);
    run.until(&begun);
    run.signal(signal, group);
    let ran = run.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("no verdict: ") && ran.stderr.contains(by), "{}", ran.stderr);
    assert!(ran.stderr.contains("stopping what was started"), "{}", ran.stderr);
    // The folder is sealed all the same, and verifies.
    world.check();
    let folder = world.evidence();
    assert_eq!(listed(&folder.join("arms")).first().map(String::as_str), Some("control-1.0-1"));
    let comment = fs::read_to_string(folder.join("comment.md")).expect("a comment");
    assert!(!comment.contains("Verdict: pass") && !comment.contains("Verdict: regression"), "{comment}");
    assert!(read_json(&folder.join("ending.json")).to_string().contains(by));
}

#[test]
fn ctrl_c_stops_what_was_started_and_says_so() {
    interrupted("INT", true, "Ctrl-C");
}

#[test]
fn a_request_to_terminate_does_the_same() {
    interrupted("TERM", false, "terminate");
}

#[test]
fn a_second_ctrl_c_loses_nothing() {
    let (world, begun) = endless();
    let mut run = world.start(&["--head", "topic", "--format", "json"]);
    run.until(&begun);
    for _ in 0..3 {
        run.signal("INT", true);
    }
    let ran = run.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    world.check();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&answer["verdict"], &answer["context"]["ended"]["how"]),
        (&serde_json::Value::Null, &"cancelled".into())
    );
}

#[test]
fn a_killed_program_leaves_no_process_and_the_next_one_sweeps() {
    let (world, begun) = endless();
    let mut run = world.start(&["--head", "topic"]);
    run.until(&begun);
    run.signal("KILL", false);
    assert_eq!(run.wait().code, None);
    world.nothing_lives();
    // What was measured is there; nothing is said of it.
    let [open] = &world.unfinished()[..] else { panic!("{:?}", listed(&world.path("out"))) };
    assert!(world.finished().is_empty(), "{:?}", world.finished());
    let trials = fs::read_to_string(open.join("trials.jsonl")).expect("a file");
    assert_eq!(trials.lines().count(), 1, "{trials}");
    assert!(open.join("arms/control-1.0-1/steps.json").exists() && open.join("plan.json").exists());
    let verified = world.call(&["evidence", "verify", open.to_str().expect("UTF-8")]);
    assert_eq!((verified.code, verified.stdout.as_str()), (Some(2), ""), "{}", verified.stderr);
    // The next start removes the temporary folders of the dead one, and runs.
    let ran = world.run(&["rounds=1", "--head", "main"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!((world.finished().len(), world.unfinished().len()), (1, 1));
}

#[test]
fn a_killed_supervisor_takes_its_step_with_it() {
    let world = World::new();
    let begun = world.path("begun");
    // The parent of a step is its supervisor.
    let kills = format!("setsid sleep 1000 &\n touch {}\n kill -KILL $PPID; sleep 1000", begun.display());
    world.repository.branch("topic", "main", &Bench::first(&kills));
    let ran = world.run(&["--head", "topic"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Verdict: inconclusive"), "{}", ran.stdout);
    let trials = fs::read_to_string(world.evidence().join("trials.jsonl")).expect("a file");
    assert!(trials.contains("its supervisor ended without a report"), "{trials}");
}
