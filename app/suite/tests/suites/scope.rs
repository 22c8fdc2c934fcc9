//! What a change needs, and what becomes of a request by it.

use domain::request::{Options, Request};
use domain::scope::Class;
use suite::{Applied, Suite, apply};

/// A suite with every kind of rule. `large` costs less than `middle`, and nobody knows what `odd` costs.
const RULED: &str = r#"schema = 1
name = "ruled"
title = "Ruled A/B test"
backend = "local"

[parameters]
parts = { kind = "span", of = ["read", "sort", "join", "write"], default = "read..write", keys = ["first-part", "last-part"], alias = "target" }
inputs = { kind = "list", default = ["all"], excludes = ["share"] }
share = { kind = "float", range = [0.1, 1], optional = true }
at_once = { kind = "int", range = [1, 64], default = 2 }

[presets.small]
default = true
set = { share = 0.1 }
expect = { sources = 3, cpu_hours = 1 }
[presets.middle]
set = { share = 0.5 }
expect = { sources = 10, cpu_hours = 8 }
[presets.large]
expect = { sources = 20, cpu_hours = 4 }
[presets.odd]
set = { inputs = ["a", "b"] }

[[steps]]
name = "one"
argv = [["true", "{parts:first}", "{at_once}"], ["{inputs:comma}", "?"], ["{share}", "?"]]

[scope]
ignore = ["*.md"]
sources = "inputs"
concurrency = "at_once"
rules = [
  { paths = ["sort/**"], class = "stage-local", stages = "sort" },
  { paths = ["join/**"], class = "stage-local", stages = "join", why = "joins only" },
  { paths = ["spill/**"], class = "shuffle", stages = "sort..write", min_preset = "large", why = "spilling needs much data" },
  { paths = ["merge/**"], class = "shuffle", stages = "sort..join", min_preset = "middle", why = "merging needs more" },
  { paths = ["pool/**"], class = "topology", stages = "read..write", min_sources = 12, min_concurrency = 8, why = "pools show at scale" },
  { paths = ["few/**"], class = "topology", stages = "read..write", min_sources = 5, min_concurrency = 4 },
  { paths = ["made/**"], class = "trivial", why = "generated" },
]
"#;

fn ruled() -> Suite {
    Suite::parse("ruled.toml", RULED).unwrap()
}

fn options(words: &str) -> Options {
    Request::new("ruled", words.split_whitespace()).unwrap().options().unwrap()
}

fn applied(paths: &[&str], words: &str) -> Applied {
    let suite = ruled();
    apply(&suite, &options(words), &suite.scope.of(paths.iter().copied())).unwrap()
}

/// The preset, the values and the notes.
fn shown(paths: &[&str], words: &str) -> String {
    let applied = applied(paths, words);
    let values: Vec<String> =
        applied.resolved.control.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let preset = applied.resolved.preset.clone().unwrap_or_default();
    let mut lines = vec![format!("{} | {words}\n  {preset} {}", paths.join(" "), values.join(" "))];
    lines.extend(applied.notes.iter().map(|note| format!("  {note}")));
    lines.join("\n")
}

#[test]
fn what_the_rules_want_is_taken_where_nothing_else_is_said() {
    let cases = [
        ("sort/a", ""),
        ("sort/a join/b", ""),
        ("spill/a", ""),
        ("merge/a", ""),
        ("spill/a merge/b", ""),
        ("pool/a", ""),
        ("few/a", ""),
        ("few/a pool/b sort/c", ""),
        ("other", ""),
        ("other sort/a", ""),
        ("x.md made/a", ""),
        ("made/a sort/a", ""),
        ("", ""),
    ];
    let shown = cases.map(|(paths, words)| shown(&paths.split_whitespace().collect::<Vec<_>>(), words));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_the_request_says_wins_and_what_was_wanted_is_said() {
    let cases = [
        ("sort/a", "parts=read..join"),
        ("spill/a", "last-part=join"),
        ("spill/a", "target=read preset=small"),
        ("spill/a", "preset=large parts=read..write"),
        ("merge/a", "preset=odd"),
        ("pool/a", "inputs=a,b at_once=2"),
        ("pool/a", "share=0.2 at_once=9"),
        ("pool/a", "preset=middle"),
        ("few/a", "inputs=all treatment=b@head,at_once=3"),
        ("sort/a", "treatment=b@head,parts=join"),
    ];
    let shown = cases.map(|(paths, words)| shown(&[paths], words));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn all_arms_run_what_was_taken_and_the_fingerprint_has_it() {
    let plain = applied(&["other"], "treatment=a@head treatment=b@head,share=0.3");
    let taken = applied(&["few/a"], "treatment=a@head treatment=b@head,share=0.3");
    let print = |applied: &Applied| applied.resolved.control.workload.fingerprint(&[]).unwrap();
    assert_ne!(print(&plain), print(&taken));
    let at_once = |values: &suite::values::Values| values.get("at_once").map(ToString::to_string);
    assert_eq!(at_once(&taken.resolved.control.values).as_deref(), Some("4"));
    for treatment in &taken.resolved.treatments {
        assert_eq!(at_once(&treatment.arm.values).as_deref(), Some("4"));
    }
    assert_eq!(taken.resolved.treatments[0].arm.workload, taken.resolved.control.workload);
    assert!(taken.differs(&options("")) && !plain.differs(&options("treatment=a@head treatment=b@head,share=0.3")));
}

#[test]
fn what_does_not_go_with_the_request_is_left_out_and_said() {
    let text = RULED
        .replace("at_once", "pool_workers")
        .replace("[scope]", "[limits]\nshards_per_worker = { min = 1 }\n[scope]");
    let text = text.replace("[presets.small]", "parallelism = { kind = \"int\", default = 2 }\n[presets.small]");
    let text = text.replace("\"{pool_workers}\"", "\"{pool_workers}\", \"{parallelism}\"");
    let suite = Suite::parse("ruled.toml", &text).unwrap();
    let applied = apply(&suite, &options(""), &suite.scope.of(["pool/a"])).unwrap();
    assert_eq!(
        applied.notes,
        [
            "not taken, since it does not go with the request (parallelism=2 and pool_workers=8: 0.25 shards per worker, \
             fewer than 1; say pool_workers=2 at most or parallelism=8 at least): preset large, which has 12 sources at least, by the rules for topology (pools show at scale); pool \
             workers 8 by the rules for topology (pools show at scale)"
        ]
    );
    assert_eq!(applied.resolved.preset.as_deref(), Some("small"));
    assert!(apply(&suite, &options("parts=sorted"), &suite.scope.of(["pool/a"])).is_err());
}

#[test]
fn kinds_and_reasons_of_a_change() {
    let needed = ruled().scope.of(["made/x", "spill/a", "merge/b", "pool/a", "new"]);
    let classes: Vec<Class> = needed.classes.classes.iter().map(|one| one.class).collect();
    assert_eq!(classes, [Class::Shuffle, Class::Topology, Class::Trivial]);
    assert_eq!(needed.classes.classes[0].why, ["spilling needs much data", "merging needs more"]);
    assert_eq!((needed.ignored, needed.unmatched, needed.is_trivial()), (1, 1, false));
}

#[test]
fn rules_that_make_no_sense() {
    let errors: Vec<String> = [
        ("class = \"topology\"", "class = \"topologie\""),
        ("min_preset = \"large\"", "min_preset = \"lagre\""),
        ("min_sources = 12", "min_sources = 21"),
        ("sources = \"inputs\"", "sources = \"share\""),
        ("sources = \"inputs\"\n", ""),
        ("concurrency = \"at_once\"", "concurrency = \"at_onse\""),
        ("concurrency = \"at_once\"\n", ""),
        ("min_concurrency = 8", "min_concurrency = 65"),
        ("class = \"trivial\"", "class = \"trivial\", stages = \"sort\""),
        ("class = \"trivial\"", "class = \"trivial\", min_preset = \"large\""),
        ("class = \"topology\", stages = \"read..write\"", "class = \"topology\""),
        ("stages = \"sort..write\"", "stages = \"write..sort\""),
        ("min_preset", "min_presets"),
    ]
    .iter()
    .map(|(from, to)| {
        assert!(RULED.contains(from), "{from}");
        let error = Suite::parse("ruled.toml", &RULED.replacen(from, to, 1)).map(drop).expect_err(to);
        format!("{from:?} -> {to:?}\n    {error}")
    })
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn the_pool_of_zephyr_wants_pipelines_at_once() {
    let suite = crate::zephyr();
    let needed = suite.scope.of(["lib/zephyr/src/zephyr/pool.py"]);
    let taken = apply(&suite, &options("preset=range"), &needed).unwrap();
    assert_eq!(taken.resolved.control.values.get("max_concurrent").map(ToString::to_string).as_deref(), Some("8"));
    let plain = apply(&suite, &options(""), &needed).unwrap();
    assert!(plain.notes.is_empty() && !plain.differs(&options("")), "80 are enough: {:?}", plain.notes);
    let local = suite.scope.of(["lib/marin/src/marin/processing/tokenize/a.py"]);
    let narrow = apply(&suite, &options(""), &local).unwrap();
    assert_eq!(narrow.notes, ["stages tokenize..tokenize by the rules for stage-local"]);
}
