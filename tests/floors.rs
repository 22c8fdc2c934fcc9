//! The crates are floors of a house: each one uses only what the table of the architecture names.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::support::root;

/// Crate, floor, and what it may use.
const HOUSE: &[(&str, u8, &[&str])] = &[
    ("stats", 0, &[]),
    ("marin", 0, &[]),
    ("sandbox", 0, &[]),
    ("domain", 1, &["stats"]),
    ("suite", 2, &["domain"]),
    ("report", 2, &["domain"]),
    ("store", 2, &["domain"]),
    ("github", 2, &["domain"]),
    ("lab", 3, &["domain", "suite", "marin"]),
    ("evidence", 4, &["stats", "domain", "report", "lab"]),
    ("engine", 5, &["domain", "suite", "evidence"]),
    (
        "bot",
        6,
        &["stats", "marin", "sandbox", "domain", "suite", "report", "store", "github", "lab", "evidence", "engine"],
    ),
];

fn floors() -> BTreeMap<&'static str, u8> {
    HOUSE.iter().map(|(name, floor, _)| (*name, *floor)).collect()
}

/// What is wrong with the dependency of `user` on `used`, if anything.
fn objection(user: &str, used: &str, only_for_tests: bool) -> Option<String> {
    let floors = floors();
    let Some((_, floor, allowed)) = HOUSE.iter().find(|(name, ..)| *name == user) else {
        return Some(format!("{user} has no floor"));
    };
    let fine =
        if only_for_tests { floors.get(used).is_some_and(|below| below < floor) } else { allowed.contains(&used) };
    (!fine).then(|| format!("{user} must not use {used}"))
}

#[test]
fn every_crate_uses_only_what_its_floor_may() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |package: &serde_json::Value| package["name"].as_str().expect("a name").to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    assert!(ours.contains("bot") && ours.contains("stats"), "{ours:?}");
    let mut objections: Vec<String> = ours
        .iter()
        .filter(|name| !floors().contains_key(name.as_str()))
        .map(|name| format!("{name} has no floor"))
        .collect();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            // A dependency by path is one of ours even when it is left out of the workspace's members.
            if ours.contains(used) || !dependency["path"].is_null() {
                objections.extend(objection(&name(package), used, dependency["kind"] == "dev"));
            }
        }
    }
    assert!(objections.is_empty(), "{objections:#?}");
}

#[test]
fn the_table_itself_only_looks_down() {
    let floors = floors();
    for (name, floor, used) in HOUSE {
        for below in *used {
            assert!(floors[below] < *floor, "{name} -> {below}");
        }
    }
    assert!(objection("report", "store", false).is_some());
    assert!(objection("report", "stats", true).is_none());
    assert!(objection("stats", "domain", true).is_some());
    assert!(objection("attic", "stats", false).is_some());
}
