//! More rounds of a comparison that is over.

use std::fs;

use serde_json::{Value, json};

use crate::support::repository::Bench;
use crate::support::world::{SUITE, World, listed, read_json, runs};

fn world() -> World {
    let world = World::new();
    // Other code for the same work: nothing of it is decided before its rounds are over.
    world.repository.branch("topic", "main", &Bench::first("true"));
    world
}

fn folders(world: &World) -> Vec<String> {
    runs(&world.path("out"))
}

#[test]
fn rounds_are_added_as_an_episode() {
    let world = world();
    assert_eq!(world.run(&["rounds=2"]).code, Some(0));
    let [first] = &folders(&world)[..] else { panic!("{:?}", folders(&world)) };
    let from = format!("out/{first}");
    // The first folder may move away; what is continued needs the commits and the folder, not its place.
    fs::rename(world.path(&from), world.path("moved")).expect("it moves");
    // A branch that went on meanwhile changes nothing.
    world.repository.commit(&Bench { items: 9, ..Bench::default() }, "Later");
    let ran = world.run(&["rounds=+2", "--continue", "moved", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let [second] = &folders(&world)[..] else { panic!("{:?}", folders(&world)) };
    let folder = world.path("out").join(second);
    let (before, plan) = (read_json(&world.path("moved/plan.json")), read_json(&folder.join("plan.json")));
    assert_eq!((&plan["episode"], &plan["continues"], &plan["looks"]), (&json!(2), &json!(first), &json!([4])));
    for same in ["arms", "origin", "workloads", "launches", "ledger", "suite_digest"] {
        assert_eq!(plan[same], before[same], "{same}");
    }
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["table"]["one"]["cpu"]["n_control"], 4, "{}", ran.stdout);
    assert_eq!(listed(&folder.join("earlier")), std::slice::from_ref(first));
    // The continued folder stands alone, wherever it is.
    fs::remove_dir_all(world.path("moved")).expect("it goes");
    world.verify();
    // And once more, from the folder that is a continuation itself.
    let again = format!("out/{second}");
    let ran = world.run(&["rounds=+1", "--continue", &again, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["table"]["one"]["cpu"]["n_control"], 5, "{}", ran.stdout);
    let last = folders(&world).into_iter().find(|name| name != second).expect("a third folder");
    let plan = read_json(&world.path("out").join(last).join("plan.json"));
    assert_eq!((&plan["episode"], &plan["continues"]), (&json!(3), &json!(second)));
}

#[test]
fn what_cannot_be_continued_is_refused() {
    let world = world();
    assert_eq!(world.run(&["rounds=1"]).code, Some(0));
    let from = format!("out/{}", folders(&world)[0]);
    let refused = |args: &[&str]| {
        let ran = world.run(&[&["--continue", from.as_str()], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert_eq!(folders(&world).len(), 1);
        ran.stderr
    };
    assert!(refused(&["rounds=3"]).contains("rounds=+n"));
    assert!(refused(&["normalize=none"]).contains("only rounds=+n"));
    world.suite(&SUITE.replace("\"5min\"", "\"6min\""));
    assert!(refused(&["rounds=+1"]).contains("the suite has changed"));
    world.suite(SUITE);
    // A byte that is not what it was.
    let answers = world.path(&from).join("arms/control-1.0-1/02-two.stdout");
    fs::write(&answers, "{\"items\": 6}\n").expect("a file");
    let ran = world.call(&["run", "tiny.toml", "--repo", "repository", "--out", "out", "--continue", &from]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "a folder that does not verify was continued");
    assert!(ran.stderr.contains("it does not verify: arms/control-1.0-1/02-two.stdout: "), "{}", ran.stderr);
    fs::write(&answers, "{\"items\": 7}\n").expect("a file");
    world.verify();
}
