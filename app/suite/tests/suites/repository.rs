//! What a repository says: read, refused, applied.

use domain::command::VerbKind;
use domain::ids::Digest;
use domain::plan::suite_digest;
use domain::ports::Notify;
use domain::ports::forge::Permission;
use domain::pull::OnPush;
use domain::request::Options;
use domain::view::Grade;
use proptest::prelude::*;
use suite::repository::{LARGEST, PLACE, apply};
use suite::{RepositoryFile, Suite, SuiteError};

use crate::hostile;
use crate::{local, zephyr};

const EXAMPLE: &str = include_str!("../../../../config/zephyr-ab.repository.example.toml");
const README: &str = include_str!("../../../../README.md");

fn of(suite: &Suite, text: &str) -> Result<Suite, SuiteError> {
    let file = RepositoryFile::parse(PLACE, text)?;
    file.applied([suite])?;
    apply(suite, &file)
}

/// The text for the suite of the tests on this machine.
fn words(body: &str) -> String {
    format!("schema = 1\n[suites.words]\n{body}")
}

/// What is said against each of these texts.
fn refused(texts: &[&str]) -> String {
    let one = |text: &&str| format!("{text}\n    {}", of(&local(), text).map(drop).expect_err(text));
    texts.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn preset(suite: &Suite, words: &[&str]) -> Option<String> {
    let pairs = words.iter().copied();
    let options: Options = domain::request::Request::new(suite.name.as_str(), pairs).unwrap().options().unwrap();
    suite::resolve(suite, &options).unwrap().preset
}

#[test]
fn what_is_the_operators() {
    let bodies = [
        "backend = \"local\"",
        "argv = [[\"sh\"]]",
        "steps = []",
        "launcher = { cluster = \"mine\" }",
        "limits = { confirm_above = { cpu_hours = 1e6 } }",
        "confirm_above = 1",
        "budgets = {}",
        "env_allowed = [\"PATH\"]",
        "judging = { margin = { cpu = \"5%\" } }",
        "parameters = {}",
        "margin = { floor = \"1%\" }",
        "rerun = { env_allowed = [\"PATH\"] }",
        "rerun = { forks = true }",
        "presets.add.mine = { like = \"small\", limit = { wall = \"99h\" } }",
        "presets.add.mine = { like = \"small\", looks = { A = [9] } }",
        "presets.add.mine = { like = \"small\", expect = { cpu_hours = 0.1 } }",
        "scope = { sources = \"files\" }",
    ];
    let mut texts: Vec<String> = bodies.iter().map(|body| words(body)).collect();
    texts.push("schema = 1\n[clusters.mine]\ncontroller = \"https://mine.example\"".to_owned());
    texts.push("schema = 1\n[service]\nlocal_backend = true".to_owned());
    insta::assert_snapshot!(refused(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn what_makes_no_sense() {
    let bodies = [
        "preset = {}",
        "margins = { cpu = \"5%\" }",
        "margin = { cpu = 5 }",
        "margin = { cpu = \"0.1%\" }",
        "margin = { cpu = \"60%\" }",
        "margin = { cpu = \"4%\" }",
        "presets = { allow = [] }",
        "presets = { allow = [\"smal\"] }",
        "presets = { allow = [\"small\", \"small\"] }",
        "presets = { default = \"larg\" }",
        "presets = { allow = [\"small\"], default = \"large\" }",
        "presets.add.large = { set = { size = 7 } }",
        "presets.add.Mine = { set = { size = 7 } }",
        "presets.add.mine = { like = \"tiny\" }",
        "presets.add.mine = { set = { size = 1001 } }",
        "presets.add.mine = { set = { sise = 7 } }",
        "presets.add.mine = { set = { files = [\"-rf\"] } }",
        "presets.add.mine = 7",
        "scope = { rules = [{ paths = [\"a\"], class = \"shufle\" }] }",
        "scope = { rules = [{ paths = [\"{a\"], class = \"shuffle\" }] }",
        "scope = { rules = [{ paths = [\"a\"], class = \"shuffle\", min_preset = \"mine\" }] }",
        "scope = { suite_rules = \"before\" }",
        "rerun = { on_push = \"always\" }",
        "rerun = { debounce = \"0s\" }",
        "rerun = { debounce = \"25h\" }",
        "rerun = { notify = \"mail\" }",
        "require_checks = \"unit\"",
        "require_checks = [\"\"]",
        "who = { run = \"read\" }",
        "who = { rum = \"write\" }",
        "who = { help = \"admin\" }",
        "who = { run = [\"mona\"] }",
    ];
    let mut texts: Vec<String> = bodies.iter().map(|body| words(body)).collect();
    let whole = [
        "",
        "schema = 2",
        "schema = 1\nsuite = {}",
        "schema = 1\n[suites.word]",
        "schema = 1\nsuites = 3",
        "schema = ",
    ];
    texts.extend(whole.map(str::to_owned));
    insta::assert_snapshot!(refused(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn what_is_no_text_of_a_sensible_size() {
    let long = format!("schema = 1\n#{}", "x".repeat(LARGEST));
    let error = RepositoryFile::parse(PLACE, &long).unwrap_err().to_string();
    assert_eq!(error, ".github/zephyr-ab.toml:1: what a repository says has at most 65536 bytes");
    let error = RepositoryFile::read(PLACE, b"schema = 1\n\xff").unwrap_err().to_string();
    assert_eq!(error, ".github/zephyr-ab.toml:2: not TOML: it is not UTF-8");
    assert!(RepositoryFile::read(PLACE, b"schema = 1").unwrap().is_empty());
}

#[test]
fn the_example_and_the_readme_are_whole() {
    let example = of(&zephyr(), EXAMPLE).unwrap();
    assert_eq!(preset(&example, &[]).as_deref(), Some("shuffle"));
    let section = README.split("## What a repository may say").nth(1).expect("the section");
    let text = section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let readme = of(&zephyr(), text).unwrap();
    assert_eq!(readme.judging, example.judging);
    assert_eq!(readme.rerun, example.rerun);
    let names = |suite: &Suite| suite.presets.iter().map(|preset| preset.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&readme), ["light", "shuffle", "full"]);
    assert_eq!(names(&readme), names(&example));
    let file = RepositoryFile::parse(PLACE, EXAMPLE).unwrap();
    let said: Vec<String> = file.says().iter().map(|(of, lines)| format!("{of}\n  {}", lines.join("\n  "))).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_preset_of_the_repository_has_the_limits_of_what_it_is_like() {
    let changed =
        of(&local(), &words("presets.add.mine = { like = \"large\", set = { size = 400 }, expect = { shards = 3 } }"))
            .unwrap();
    let (large, mine) = (changed.preset("large").unwrap(), changed.preset("mine").unwrap());
    assert!(mine.of_repository && !large.of_repository);
    assert_eq!((mine.limit, &mine.looks), (large.limit, &large.looks));
    assert_eq!(mine.looks.of(Grade::A, 1), [2, 4]);
    assert_eq!((mine.expect.shards, mine.expect.cpu_hours), (Some(3), None));
    assert_eq!(preset(&changed, &["preset=mine"]).as_deref(), Some("mine"));
    assert_eq!(preset(&changed, &[]).as_deref(), Some("small"));
    // It ranks with what it is like.
    let names: Vec<&str> = changed.presets.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(names, ["small", "large", "mine"]);
    // The only one that is left is the default.
    let only = of(&local(), &words("presets = { allow = [\"large\"] }")).unwrap();
    assert_eq!(preset(&only, &[]).as_deref(), Some("large"));
}

#[test]
fn only_what_alters_the_measurement_makes_another_suite() {
    let suite = local();
    let manners = words(
        "require_checks = [\"unit\"]\nrerun = { on_push = \"finish\", debounce = \"5min\", notify = \"none\", forks = false }\nwho = { run = \"admin\" }",
    );
    let same = of(&suite, &manners).unwrap();
    assert_eq!((&same.digest, &same.repository), (&suite.digest, &None));
    assert_eq!((same.rerun.on_push, same.rerun.debounce.0, same.rerun.notify), (OnPush::Finish, 300_000, Notify::None));
    assert_eq!(same.rerun.require_checks, ["unit"]);
    for body in ["margin = { cpu = \"7%\" }", "presets = { default = \"large\" }", "scope = { ignore = [\"docs/**\"] }"]
    {
        let text = words(body);
        let other = of(&suite, &text).unwrap();
        assert_eq!(other.digest, suite_digest(&suite.digest, Some(&Digest::of(text.as_bytes()))), "{body}");
        let said = other.repository.unwrap();
        assert_eq!((said.text, said.notes.len()), (text, 1), "{body}");
    }
    // Of another suite nothing is said.
    let file = RepositoryFile::parse(PLACE, &manners).unwrap();
    assert_eq!(apply(&zephyr(), &file).unwrap().rerun, zephyr().rerun);
}

#[test]
fn rules_go_before_those_of_the_suite_or_instead_of_them() {
    let text = |more: &str| {
        format!(
            "schema = 1\n[suites.zephyr.scope]\nignore = [\"own/**\"]\n\
             rules = [{{ paths = [\"lib/**\"], class = \"stage-local\", stages = \"tokenize\", why = \"ours\" }}]\n{more}"
        )
    };
    let path = "lib/zephyr/src/zephyr/shuffle.py";
    let suites = zephyr().scope.of([path]);
    let after = of(&zephyr(), &text("")).unwrap();
    let none = of(&zephyr(), &text("suite_rules = \"none\"")).unwrap();
    assert_ne!(after.scope.of([path]), suites);
    assert_eq!(after.scope.of([path]), none.scope.of([path]));
    assert!(after.scope.of(["own/a.py"]).is_trivial());
    let ruler = "experiments/datakit/zephyr_benchmark.py";
    assert_eq!(after.scope.of([ruler]), zephyr().scope.of([ruler]));
    assert_eq!(none.scope.of([ruler]).unmatched, 1);
    // A rule of the suite keeps the preset that it needs.
    let rule = "[scope]\nrules = [{ paths = [\"deep/**\"], class = \"shuffle\", min_preset = \"large\" }]\n";
    let suite = Suite::parse("local.toml", &format!("{}{rule}", crate::LOCAL)).unwrap();
    let error = of(&suite, &words("presets = { allow = [\"small\"] }")).map(drop).unwrap_err();
    assert!(error.to_string().contains("the preset large is needed by a rule of the suite"), "{error}");
}

#[test]
fn who_is_only_ever_stricter() {
    let file = RepositoryFile::parse(PLACE, &words("who = { run = \"admin\", retry = \"write\", cancel = \"write\" }"))
        .unwrap();
    let least = |verb| file.least("words", verb);
    assert_eq!(least(VerbKind::Run), Some(Permission::Admin));
    assert_eq!(least(VerbKind::Compare), Some(Permission::Admin));
    assert_eq!(least(VerbKind::Auto), Some(Permission::Admin));
    assert_eq!(least(VerbKind::Retry), Some(Permission::Write));
    assert_eq!(least(VerbKind::Cancel), Some(Permission::Write));
    assert_eq!(least(VerbKind::Accept), None);
    assert_eq!(file.least("other", VerbKind::Run), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_stands_there_is_a_file_or_one_line(changes in hostile::changes()) {
        let text = hostile::apply(EXAMPLE.to_owned(), changes);
        if let Err(error) = of(&zephyr(), &text) {
            let lines = text.split('\n').count();
            prop_assert!((1..=lines).contains(&error.line), "line {} of {lines}", error.line);
            let shown = error.to_string();
            prop_assert!(shown.starts_with(&format!("{PLACE}:{}: ", error.line)), "{shown}");
            prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(file) = RepositoryFile::read(PLACE, &bytes) {
            prop_assert!(file.applied([&zephyr()]).is_ok() || !file.is_empty());
        }
    }
}
