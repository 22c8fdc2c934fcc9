//! How much a change needs, and changes that cannot alter a measurement.

use std::fs;

use serde_json::{Value, json};

use crate::support::repository::Bench;
use crate::support::world::{SUITE, World, runs};

/// Rules for the files of these tests, and a parameter that both steps take.
const RULES: &str = r#"
[scope]
ignore = ["tests/**"]
concurrency = "at_once"
rules = [
  { paths = ["pool/**"], class = "topology", stages = "one..two", min_concurrency = 3, why = "pools show with several at once" },
  { paths = ["*.gen"], class = "trivial", why = "generated" },
]
"#;
const PARAMETERS: &str = r#"
[parameters]
at_once = { kind = "int", range = [1, 9], default = 1 }
parts = { kind = "span", of = ["one", "two"], default = "one..two" }

"#;

fn ruled() -> World {
    let world = World::of(&Bench::first("echo \"at once $3\""));
    let suite = SUITE.replacen("\n[[steps]]", &format!("{PARAMETERS}[[steps]]"), 1);
    let suite = suite.replace("\"two\"]]", "\"two\", \"{parts:first}\", \"{at_once}\"]]");
    world.suite(&(suite + RULES));
    world
}

/// Adds a branch `topic` whose commit has these files beside those of `main`.
fn topic(world: &World, files: &[(&str, &str)]) {
    let repository = &world.repository;
    repository.git(&["checkout", "--quiet", "-b", "topic", "main"]);
    write(world, files);
    repository.commit_all("A topic");
}

fn write(world: &World, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = world.repository.folder().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

fn notes(world: &World) -> Vec<String> {
    serde_json::from_value(world.plan()["notes"].clone()).expect("notes")
}

/// What the control was told of the parameter.
fn at_once(world: &World) -> Value {
    world.plan()["workloads"]["control"]["set"]["at_once"].clone()
}

#[test]
fn what_the_rules_want_is_taken_and_said() {
    let world = ruled();
    topic(&world, &[("pool/a.py", "x = 1\n"), ("b.gen", "b")]);
    let ran = world.run(&["rounds=1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let plan = world.plan();
    assert_eq!(at_once(&world), json!(3));
    assert_eq!(plan["workloads"]["control"], plan["workloads"]["head"]);
    assert_eq!(
        plan["scope"]["classes"],
        json!([
            {"class": "topology", "why": ["pools show with several at once"]},
            {"class": "trivial", "why": ["generated"]}
        ])
    );
    assert_eq!((&plan["skip"], &plan["confirm"]), (&Value::Null, &Value::Null));
    let said = "at once 3 by the rules for topology (pools show with several at once)";
    assert!(notes(&world).iter().any(|note| note == said), "{:?}", notes(&world));
    assert!(ran.stdout.contains("Scope: topology (pools show with several at once)"), "{}", ran.stdout);
    assert!(!ran.stdout.to_lowercase().contains("efficien"), "{}", ran.stdout);
}

#[test]
fn what_is_asked_for_wins_and_the_wish_is_said() {
    let world = ruled();
    topic(&world, &[("pool/a.py", "x = 1\n")]);
    let ran = world.run(&["rounds=1", "at_once=2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(at_once(&world), json!(2));
    let said = "the rules want at once 3 at least for topology (pools show with several at once); the request says 2";
    assert!(notes(&world).iter().any(|note| note == said), "{:?}", notes(&world));
}

#[test]
fn a_trivial_change_waits_for_an_agreement() {
    let world = ruled();
    let file = "def f(x):\n    return x  # as it is\n";
    world.repository.git(&["checkout", "--quiet", "main"]);
    write(&world, &[("lib/f.py", file), ("README.md", "old")]);
    world.repository.commit_all("Files");
    let new = "def f(x: int) -> int:\n    \"\"\"Returns it.\"\"\"\n    return x\n";
    topic(&world, &[("lib/f.py", new), ("README.md", "new"), ("tests/a.py", "assert True"), ("b.gen", "b")]);
    let ran = world.call(&["run", "tiny.toml", "--repo", "repository", "--out", "out", "rounds=1"]);
    let said = "only 1 documentation file; 2 files that the suite ignores (generated); comments, docstrings, types in \
                lib/f.py changed, and measuring it is likely to show nothing";
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains(said) && ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert_eq!(runs(&world.path("out")), [""; 0], "nothing was started");
    let ran = world.run(&["rounds=1", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let reasons = json!([
        "1 documentation file",
        "2 files that the suite ignores (generated)",
        "comments, docstrings, types in lib/f.py"
    ]);
    assert_eq!(world.plan()["skip"], reasons);
    assert!(notes(&world).iter().any(|note| note.starts_with("only 1 documentation file")), "{:?}", notes(&world));
}

#[test]
fn what_may_matter_is_not_trivial() {
    let python = "x = 1\n";
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("another value", &[("lib/f.py", "x = 2\n"), ("README.md", "new")]),
        ("a new file", &[("lib/g.py", "# nothing\n")]),
        ("no Python", &[("lib/f.txt", "new")]),
        ("data", &[("data/a.md", "new")]),
        ("unreadable", &[("lib/f.py", "x = '\n")]),
        ("not UTF-8", &[]),
    ];
    for (what, files) in cases {
        let world = ruled();
        write(&world, &[("lib/f.py", python), ("README.md", "old"), ("data/a.md", "old"), ("lib/f.txt", "old")]);
        world.repository.commit_all("Files");
        topic(&world, files);
        if files.is_empty() {
            fs::write(world.repository.folder().join("lib/f.py"), b"x = 1 # \xff\n").expect("a file");
            world.repository.commit_all("Bytes");
        }
        let ran = world.run(&["rounds=1"]);
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
        assert_eq!(world.plan()["skip"], Value::Null, "{what}");
    }
}

#[test]
fn neither_are_modes_renames_and_removals() {
    let cases: [(&str, &[&str]); 3] = [
        ("a mode", &["update-index", "--chmod=+x", "lib/f.py"]),
        ("a rename", &["mv", "lib/f.py", "lib/g.py"]),
        ("a removal", &["rm", "--quiet", "README.md"]),
    ];
    for (what, change) in cases {
        let world = ruled();
        write(&world, &[("lib/f.py", "x = 1\n"), ("README.md", "old")]);
        world.repository.commit_all("Files");
        world.repository.git(&["checkout", "--quiet", "-b", "topic", "main"]);
        world.repository.git(change);
        world.repository.git(&["commit", "--quiet", "--message", what]);
        let ran = world.run(&["rounds=1"]);
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
        assert_eq!(world.plan()["skip"], Value::Null, "{what}");
    }
}

#[test]
fn a_declared_difference_is_no_trivial_change() {
    let world = ruled();
    write(&world, &[("README.md", "old")]);
    world.repository.commit_all("Files");
    topic(&world, &[("README.md", "new")]);
    let ran = world.run(&["rounds=1", "treatment=more@head,at_once=4"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.plan()["skip"], Value::Null);
}

#[test]
fn a_calibration_of_the_request_says_nothing_of_what_the_rules_want() {
    let world = ruled();
    let calibrate = ["calibrate", "tiny.toml", "--repo", "repository", "--out", "calibrations", "--trials", "3"];
    let ran = world.measure(&[&calibrate[..], &["--file", "tiny.json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    topic(&world, &[("pool/a.py", "x = 1\n")]);
    fs::write(world.path("broken.json"), "{}").expect("a file");
    let ran = world.call(&["run", "tiny.toml", "--repo", "repository", "--out", "out", "--calibration", "broken.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let ran = world.run(&["rounds=1", "--calibration", "tiny.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let plan = world.plan();
    assert_eq!((at_once(&world), &plan["calibration"]), (json!(3), &json!({})));
    let said = "not calibrated for what the rules want: ";
    assert!(notes(&world).iter().any(|note| note.starts_with(said)), "{:?}", notes(&world));
}
