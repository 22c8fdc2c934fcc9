//! What `run` prints, and its exit codes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::support::repository::Bench;
use crate::support::world::{World, alone};

/// A world whose branch `topic` does other work in step `two`: decided after a round, whatever the machine does.
fn different() -> World {
    let world = World::new();
    world.repository.branch("topic", "main", &Bench { items: 8, ..Bench::default() });
    world
}

/// A world whose branch `topic` fails.
fn failing() -> World {
    let world = World::new();
    world.repository.branch("topic", "main", &Bench::first("echo 'no such table' >&2; exit 3"));
    world
}

/// The keys of a value, each once, with names of rows and files taken out.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = match key.as_str() {
                    "TOTAL" | "one" | "two" => "<row>",
                    key => key,
                };
                let at = format!("{at}.{key}");
                keys(value, &at, found);
                found.insert(at);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| keys(value, &format!("{at}[]"), found)),
        _ => {}
    }
}

#[test]
fn json_is_the_answer_of_judge_and_the_context() {
    let world = different();
    let ran = world.run(&["rounds=4", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&answer["verdict"], &answer["reason"]), (&"inconclusive".into(), &"DIFFERENT_WORK".into()));
    let context = &answer["context"];
    assert_eq!(context["ended"]["how"], "judged");
    let folder = world.evidence();
    assert_eq!(context["run"], folder.file_name().expect("a name").to_str().expect("UTF-8"));
    assert_eq!(context["evidence"]["folder"], format!("out/{}", folder.file_name().expect("a name").display()));
    let mut found = BTreeSet::new();
    keys(&answer, "", &mut found);
    // Of the view its parts will do: what is in them is a matter of the tests that make views.
    found.retain(|key| key.strip_prefix(".context.view.").is_none_or(|rest| !rest.contains(['.', '['])));
    let mut lines = String::new();
    for key in found {
        writeln!(lines, "{key}").expect("a string");
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn markdown_is_the_comment_of_the_folder() {
    let world = different();
    let ran = world.run(&["rounds=1", "--format", "markdown"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let comment = std::fs::read_to_string(world.evidence().join("comment.md")).expect("a comment");
    assert_eq!(ran.stdout, comment);
    assert!(comment.starts_with("<!-- zephyr-ab"), "{comment}");
    assert!(comment.contains("\nVerdict: inconclusive\n"), "{comment}");
    assert!(comment.contains("Tiny A/B test"), "{comment}");
}

#[test]
fn text_is_for_people_and_progress_is_in_plain_lines() {
    let world = different();
    let ran = world.run(&["rounds=2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("\nVerdict: inconclusive\n") && !ran.stdout.contains("<!--"), "{}", ran.stdout);
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
    assert!(ran.stderr.contains("round 1 of at most 2: control"), "{}", ran.stderr);
    assert!(ran.stderr.contains("a ledger of its own") || ran.stdout.contains("a ledger of its own"), "{}", ran.stdout);
    let folder = format!("out/{}", world.evidence().file_name().expect("a name").display());
    let told = format!("evidence: {folder} (zephyr-ab evidence verify {folder})\n");
    assert!(ran.stderr.ends_with(&told), "{}", ran.stderr);
}

#[test]
fn a_verdict_that_was_named_is_exit_code_3() {
    let world = failing();
    for (fail_on, code) in [
        (&[][..], 0),
        (&["--fail-on", "regression"], 3),
        (&["--fail-on", "tradeoff,regression"], 3),
        (&["--fail-on", "inconclusive,tradeoff"], 0),
    ] {
        let ran = world.run(&[&["--head", "topic"], fail_on].concat());
        assert_eq!(ran.code, Some(code), "{fail_on:?}: {}{}", ran.stderr, ran.stdout);
        assert!(ran.stdout.contains("\nVerdict: regression\n"), "{}", ran.stdout);
    }
    let world = different();
    assert_eq!(world.run(&["rounds=1", "--fail-on", "inconclusive"]).code, Some(3));
}

#[test]
fn more_cpu_time_for_the_same_work_is_a_regression() {
    let world = World::of(&Bench { one: 100_000, two: 100_000, ..Bench::default() });
    let dear = Bench { one: 100_000, two: 600_000, ..Bench::default() };
    world.repository.branch("topic", "main", &dear);
    let _alone = alone();
    let ran = world.run_alone(&["--fail-on", "regression", "--format", "json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &answer["verdict"]), (Some(3), &"regression".into()), "{}", ran.stdout);
    let ratio = answer["table"]["two"]["cpu"]["ratio"].as_f64().expect("a ratio");
    assert!((3.0..12.0).contains(&ratio), "six times the turns are {ratio} times the CPU time");
    assert_eq!(world.finished().len(), 1);
}

#[test]
fn the_same_is_never_a_regression() {
    let world = World::of(&Bench { one: 100_000, two: 100_000, ..Bench::default() });
    std::fs::write(world.repository.folder().join("README"), "x").expect("a file");
    world.repository.git(&["checkout", "--quiet", "-b", "topic"]);
    world.repository.commit_all("Words");
    let _alone = alone();
    let ran = world.run_alone(&["--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let verdict = answer["verdict"].as_str().expect("a word");
    assert!(["pass", "inconclusive"].contains(&verdict), "{}", ran.stdout);
}

#[test]
fn the_line_that_repeats_a_run_is_accepted() {
    let world = different();
    let said = |args: &[&str]| {
        let ran = world.run(&[&["--format", "json"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let lines = answer["context"]["view"]["reproduce"].as_array().expect("lines").clone();
        (answer["reason"].clone(), lines[0].as_str().expect("a line").to_owned())
    };
    let (reason, line) = said(&["rounds=1", "--head", "topic", "normalize=none"]);
    // The suite is a file and the repository a folder of this world; everything else is taken as it stands.
    let words = line.strip_prefix("zephyr-ab run ").expect("a run").split_once(' ').expect("more words").1;
    let words = words.replace(" --repo .", "").replace(" --repo <repository> --out ..", "");
    let (again, same) = said(&words.split(' ').collect::<Vec<_>>());
    assert_eq!((again, same), (reason, line));
}
