//! What `run` refuses before it starts anything: exit code 2, one line, and no folder.

use std::fmt::Write as _;
use std::fs;

use crate::support::repository::{Bench, Repository};
use crate::support::world::{SUITE, World, listed};

/// The line of a refusal, with the paths and the commits of this world taken out.
fn refused(world: &World, args: &[&str]) -> String {
    let mut all = vec!["run"];
    all.extend(args);
    let ran = world.call(&all);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
    world.check();
    assert_eq!(listed(&world.path("zephyr-ab-evidence")), [""; 0], "{args:?}");
    assert!(world.unfinished().is_empty(), "{args:?}");
    world.plain(ran.stderr.trim_end())
}

#[test]
fn requests_that_make_no_sense_are_refused_in_one_line() {
    let world = World::new();
    world.repository.branch("topic", "main", &Bench::default());
    fs::write(world.path("no.json"), "{}").expect("a file");
    fs::write(world.path("broken.toml"), SUITE.replace("argv", "arvg")).expect("a file");
    let empty = SUITE.split("[presets").next().expect("a part");
    fs::write(world.path("plain.toml"), empty).expect("a file");
    let here = ["tiny.toml", "--repo", "repository"];
    let mut lines = String::new();
    for (name, args) in [
        ("no suite", vec!["tny", "--repo", "repository"]),
        ("nearly a suite", vec!["dmo", "--repo", "repository"]),
        ("no such file", vec!["none.toml", "--repo", "repository"]),
        ("a suite with a typing error", vec!["broken.toml", "--repo", "repository"]),
        ("no repository", vec!["tiny.toml", "--repo", "tmp"]),
        ("no folder", vec!["tiny.toml", "--repo", "none"]),
        ("a URL of another kind", vec!["tiny.toml", "--repo", "ssh://host/x"]),
        ("a word", [&here[..], &["topic"]].concat()),
        ("a key", [&here[..], &["prset=quick"]].concat()),
        ("a preset", [&here[..], &["preset=qick"]].concat()),
        ("a preset where there is none", vec!["plain.toml", "--repo", "repository", "preset=quick"]),
        ("rounds", [&here[..], &["rounds=0"]].concat()),
        ("more rounds", [&here[..], &["rounds=+2"]].concat()),
        ("a priority", [&here[..], &["normalize=itme"]].concat()),
        ("twice", [&here[..], &["rounds=1", "rounds=2"]].concat()),
        ("an option as a value", [&here[..], &["preset=--help"]].concat()),
        ("a shell", [&here[..], &["preset=$(id)"]].concat()),
        ("a control by name", [&here[..], &["control=main"]].concat()),
        ("a control that is not there", [&here[..], &["control=0123456789"]].concat()),
        ("a treatment", [&here[..], &["treatment=x"]].concat()),
        ("a variable that is not allowed", [&here[..], &["treatment=x@head,env.LD_PRELOAD=x"]].concat()),
        ("a head", [&here[..], &["--head", "topci"]].concat()),
        ("a head that looks like an option", [&here[..], &["--head=--output=x"]].concat()),
        ("a base", [&here[..], &["--base", "mian"]].concat()),
        ("the head that was meant", [&here[..], &["sha=0123456"]].concat()),
        ("no calibration", [&here[..], &["--calibration", "none.json"]].concat()),
        ("not a calibration", [&here[..], &["--calibration", "no.json"]].concat()),
        ("nothing to continue", [&here[..], &["--continue", "none"]].concat()),
        ("not evidence to continue", [&here[..], &["--continue", "repository"]].concat()),
        ("exact rounds to continue", [&here[..], &["--continue", "none", "rounds=3"]].concat()),
        ("another request to continue", [&here[..], &["--continue", "none", "normalize=none"]].concat()),
        ("nothing to retry", [&here[..], &["--retry", "none"]].concat()),
        ("not evidence to retry", [&here[..], &["--retry", "repository"]].concat()),
        ("another request to retry", [&here[..], &["--retry", "none", "rounds=3"]].concat()),
    ] {
        let line = refused(&world, &args);
        assert!(line.starts_with("error: ") && !line.contains(char::is_control), "{name}: {line:?}");
        writeln!(lines, "{name}\n    {line}").expect("a string");
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let world = World::new();
    for args in [
        &[][..],
        &["tiny.toml", "--colour"],
        &["tiny.toml", "--format", "yaml"],
        &["tiny.toml", "--fail-on", "regresion"],
        &["tiny.toml", "--fail-on", "pass"],
        &["tiny.toml", "--repo"],
    ] {
        assert!(!refused(&world, args).is_empty(), "{args:?}");
    }
}

#[test]
fn unrelated_histories_have_no_control() {
    let world = World::new();
    let base = world.repository.commit_of("main");
    world.repository.git(&["checkout", "--quiet", "--orphan", "island"]);
    let head = world.repository.commit(&Bench { items: 8, ..Bench::default() }, "Alone");
    let line = refused(&world, &["tiny.toml", "--repo", "repository", "--head", "island"]);
    let expected =
        format!("error: {} and {} have no common ancestor: name the control commit explicitly", &base[..7], &head[..7]);
    assert_eq!(line, expected);
    // Named, it is compared.
    let named = format!("control={base}");
    let ran = world.run(&["rounds=1", "--head", "island", &named]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn an_empty_repository_has_no_head() {
    let world = World::new();
    Repository::empty(&world.path("empty"), "main");
    let line = refused(&world, &["tiny.toml", "--repo", "empty"]);
    assert!(line.contains("HEAD"), "{line}");
}

#[test]
fn what_costs_much_needs_agreement() {
    let world = World::new();
    let dear = SUITE.replace("[rerun]", "[limits]\nconfirm_above = { cpu_hours = 1 }\n\n[rerun]");
    let dear = dear.replace("looks = { C = [5] }", "looks = { C = [4] }\nexpect = { cpu_hours = 0.2 }");
    world.suite(&dear);
    let line = refused(&world, &["tiny.toml", "--repo", "repository"]);
    insta::assert_snapshot!(line);
    // One round costs less than what needs agreement.
    assert_eq!(world.run(&["rounds=1"]).code, Some(0));
    assert_eq!(world.run(&["rounds=5", "--yes"]).code, Some(0));
}
