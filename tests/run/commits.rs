//! Which commits are compared, and that the repository is only read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::repository::{Bench, Repository};
use crate::support::world::{World, files, listed, read_json, runs};

/// The control of the one run of a world.
fn control(world: &World) -> String {
    world.plan()["arms"]["control"].as_str().expect("a commit").to_owned()
}

fn notes(world: &World) -> Vec<String> {
    let plan = world.plan();
    plan["notes"].as_array().expect("notes").iter().map(|note| note.as_str().expect("text").to_owned()).collect()
}

/// What the second step printed in the first trial of an arm.
fn printed(world: &World, role: &str) -> String {
    let arms = world.evidence().join("arms");
    let trial = listed(&arms).into_iter().find(|name| name.starts_with(&format!("{role}-1."))).expect("a trial");
    fs::read_to_string(arms.join(trial).join("02-two.stdout")).expect("an answer")
}

#[test]
fn the_control_is_the_merge_base() {
    let world = World::new();
    let base = world.repository.commit_of("main");
    let head = world.repository.branch("topic", "main", &Bench { items: 8, ..Bench::default() });
    world.repository.git(&["checkout", "--quiet", "main"]);
    world.repository.commit(&Bench { items: 9, ..Bench::default() }, "Later");
    let ran = world.run(&["rounds=1", "--head", "topic"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let plan = world.plan();
    assert_eq!(plan["arms"], json!({"control": base, "treatments": [{"name": "head", "commit": head}]}));
    let origin = &plan["origin"];
    assert_eq!((&origin["base"], &origin["head"]), (&json!("main"), &json!("topic")));
    assert_eq!((&origin["behind"], &origin["changed_paths"]), (&json!(1), &json!(1)));
    assert_eq!(origin["merge_bases"], json!([base]));
    assert_eq!(
        (printed(&world, "control"), printed(&world, "head")),
        ("{\"items\": 7}\n".into(), "{\"items\": 8}\n".into())
    );
}

#[test]
fn of_several_merge_bases_the_newest_is_taken_and_all_are_told() {
    let world = World::new();
    let repository = &world.repository;
    let early = repository.branch("a", "main", &Bench::default());
    repository.git(&["checkout", "--quiet", "-b", "b", "main"]);
    fs::write(repository.folder().join("other"), "b").expect("a file");
    repository.git(&["add", "--all"]);
    repository.git_at("2026-11-30T00:00:00Z", &["commit", "--quiet", "--message", "b"]);
    let late = repository.commit_of("b");
    // Both merge the other: criss-cross.
    repository.git(&["checkout", "--quiet", "a"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "b into a", &late]);
    repository.git(&["checkout", "--quiet", "b"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "a into b", &early]);
    let ran = world.run(&["rounds=1", "--base", "a", "--head", "b"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(control(&world), late);
    assert_eq!(world.plan()["origin"]["merge_bases"], json!([late, early]));
    let said = format!("2 merge bases ({}, {}); the newest is the control", &late[..7], &early[..7]);
    assert!(notes(&world).contains(&said), "{:?}", notes(&world));
    assert!(ran.stdout.contains(&said), "{}", ran.stdout);
}

#[test]
fn a_head_that_is_the_base_is_compared_and_noted() {
    let world = World::new();
    let ran = world.run(&["rounds=1", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = "control and head are the same commit".to_owned();
    assert!(notes(&world).contains(&said), "{:?}", notes(&world));
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_ne!(answer["verdict"], "regression", "{}", ran.stdout);
}

#[test]
fn the_usual_names_of_a_base_are_tried() {
    // A clone knows what its origin's HEAD is; that goes before a branch of its own.
    let world = World::new();
    let clone = world.path("clone");
    world.repository.git(&["clone", "--quiet", ".", clone.to_str().expect("UTF-8")]);
    let clone = Repository::empty(&clone, "ignored");
    clone.commit(&Bench { items: 8, ..Bench::default() }, "Only here");
    let base = |repo: &str| {
        let out = format!("out-{repo}");
        let ran = world.measure(&["run", "tiny.toml", "rounds=1", "--repo", repo, "--out", &out]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let [run] = &runs(&world.path(&out))[..] else { panic!("{:?}", listed(&world.path(&out))) };
        let origin = &read_json(&world.path(&out).join(run).join("plan.json"))["origin"];
        (origin["base"].clone(), origin["behind"].clone())
    };
    assert_eq!(base("clone"), (json!("origin/HEAD"), json!(0)));
    let old = Repository::empty(&world.path("old"), "master");
    old.commit(&Bench::default(), "A benchmark");
    old.branch("topic", "master", &Bench { items: 8, ..Bench::default() });
    assert_eq!(base("old"), (json!("master"), json!(0)));
    let other = Repository::empty(&world.path("other"), "trunk");
    other.commit(&Bench::default(), "A benchmark");
    let ran = world.call(&["run", "tiny.toml", "--repo", "other"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("--base"), "{}", ran.stderr);
}

#[test]
fn a_control_can_be_named() {
    let world = World::new();
    let first = world.repository.commit_of("main");
    world.repository.commit(&Bench { items: 8, ..Bench::default() }, "Second");
    world.repository.commit(&Bench { items: 9, ..Bench::default() }, "Third");
    let named = format!("control={}", &first[..12]);
    let ran = world.run(&["rounds=1", &named]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(control(&world), first);
    assert_eq!(printed(&world, "control"), "{\"items\": 7}\n");
    assert_eq!(printed(&world, "head"), "{\"items\": 9}\n");
}

#[test]
fn treatments_differ_by_what_they_declare() {
    let world = World::of(&Bench::first("echo \"knob ${KNOB-unset}\""));
    let treatments = ["treatment=small@head,env.KNOB=1", "treatment=large@head,env.KNOB=64"];
    let ran = world.run(&["rounds=1", treatments[0], treatments[1], "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let names: Vec<Value> =
        world.plan()["arms"]["treatments"].as_array().expect("arms").iter().map(|arm| arm["name"].clone()).collect();
    assert_eq!(names, ["small", "large"]);
    for (role, knob) in [("control", "unset"), ("small", "1"), ("large", "64")] {
        assert!(printed(&world, role).starts_with(&format!("knob {knob}\n")), "{role}: {}", printed(&world, role));
    }
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for name in ["small", "large"] {
        // One round decides nothing, and a declared difference is no unequal workload.
        assert_eq!(answer["treatments"][name]["verdict"], "inconclusive", "{}", ran.stdout);
        assert_eq!(answer["treatments"][name]["reason"], "NO_CALIBRATION", "{}", ran.stdout);
    }
}

/// Everything below a folder with its bytes and times.
fn snapshot(world: &World) -> Vec<(String, Vec<u8>)> {
    let read = |path: std::path::PathBuf| (path.display().to_string(), fs::read(&path).unwrap_or_default());
    files(world.repository.folder()).into_iter().map(read).collect()
}

#[test]
fn the_repository_is_only_read_and_runs_nothing_of_its_own() {
    let world = World::of(&Bench::first("cat notes"));
    let repository = &world.repository;
    fs::write(repository.folder().join("notes"), "committed\n").expect("a file");
    fs::write(repository.folder().join(".gitattributes"), "notes filter=loud\n").expect("a file");
    repository.commit_all("Notes");
    repository.branch("topic", "main", &Bench { items: 8, ..Bench::first("cat notes") });
    let touched = world.path("touched");
    let touch = format!("#!/bin/sh\ntouch {}\ncat\n", touched.display());
    let hooks = repository.folder().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    for hook in
        ["post-checkout", "pre-receive", "post-update", "reference-transaction", "pre-auto-gc", "post-index-change"]
    {
        fs::write(hooks.join(hook), &touch).expect("a file");
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let loud = format!("touch {}; cat", touched.display());
    for (key, value) in
        [("filter.loud.smudge", loud.as_str()), ("core.fsmonitor", &loud), ("uploadpack.packObjectsHook", &loud)]
    {
        let config = repository.folder().join(".git/config");
        let (section, name) = key.rsplit_once('.').expect("a key");
        let section = section.split_once('.').map_or(format!("[{section}]"), |(one, two)| format!("[{one} \"{two}\"]"));
        let text = fs::read_to_string(&config).expect("a file") + &format!("{section}\n\t{name} = \"{value}\"\n");
        fs::write(&config, text).expect("a file");
    }
    // What is not committed is not measured.
    fs::write(repository.folder().join("notes"), "dirty\n").expect("a file");
    fs::write(repository.folder().join("untracked"), "x").expect("a file");
    drop(fs::remove_file(&touched));
    let before = snapshot(&world);
    let ran = world.run(&["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!touched.exists(), "something of the repository was run");
    assert!(before == snapshot(&world), "the repository has changed");
    for role in ["control", "head"] {
        assert!(printed(&world, role).starts_with("committed\n"), "{}", printed(&world, role));
    }
}

#[test]
fn a_folder_inside_the_work_tree_will_do() {
    let world = World::new();
    let inner = world.repository.folder().join("a/b");
    fs::create_dir_all(&inner).expect("a folder");
    let ran = world.measure(&["run", "tiny.toml", "rounds=1", "--repo", "repository/a/b", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world.check();
    assert_eq!(world.plan()["origin"]["repository"], "repository");
}
