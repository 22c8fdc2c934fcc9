//! Cases from the field: the right sentence for the right outcome.

use domain::scope::{Class, Classified, ScopeOf};
use domain::view::{Direction, Metric, Reason, Verdict, View};
use serde_json::{Value, json};

use crate::support::{comment, input, judged, vector};

/// Multiplies a field of `row` (all rows where it is `None`) in every treatment trial.
fn scale(input: &mut Value, row: Option<&str>, field: &str, by: f64) {
    for round in input["rounds"].as_array_mut().unwrap() {
        for (name, stage) in round["treatment"]["stages"].as_object_mut().unwrap() {
            if row.is_none_or(|r| r == name) {
                stage[field] = json!(stage[field].as_f64().unwrap() * by);
            }
        }
    }
}

fn interpretation(body: &str) -> &str {
    body.lines().find(|l| l.starts_with("Interpretation: ")).unwrap()
}

/// Same code in both arms, `n` rounds that differ a little, calibrated.
fn quiet(n: usize) -> Value {
    let mut input = input(if n >= 5 { "v08_wall_only_repeated_n5" } else { "v01_aa_n3" });
    if n >= 5 {
        scale(&mut input, None, "elapsed", 1.0 / 1.36);
    }
    input
}

#[test]
fn pooling_is_a_latency_and_topology_win() {
    let mut case = quiet(5);
    scale(&mut case, None, "elapsed", 1.0 / 28.72);
    scale(&mut case, None, "cpu_time_total", 0.9877);
    for round in case["rounds"].as_array_mut().unwrap() {
        for arm in ["control", "treatment"] {
            for stage in round[arm]["stages"].as_object_mut().unwrap().values_mut() {
                stage["elapsed"] = json!(stage["elapsed"].as_f64().unwrap() * 30.0);
            }
        }
    }
    case["topology"] = json!(true);
    let view = judged(&case);
    let body = comment(&view);
    assert_eq!(view.treatments[0].judgement.as_ref().unwrap().verdict, Verdict::Pass);
    assert!(!body.to_lowercase().contains("efficien"), "{body}");
    assert!(interpretation(&body).contains("latency and topology win"), "{body}");
    insta::assert_snapshot!(body);
}

#[test]
fn a_topology_change_never_speaks_of_work_per_core() {
    for (id, input) in crate::support::vectors() {
        if input.get("treatments").is_some() {
            continue;
        }
        let mut input = input.clone();
        input["topology"] = json!(true);
        let body = comment(&judged(&input));
        assert!(!body.to_lowercase().contains("efficien"), "{id}: {body}");
    }
}

#[test]
fn a_change_of_the_pool_is_an_exchange_of_latency_and_compute() {
    let mut scope = ScopeOf::default();
    scope.add(Class::Shuffle, Some("spill & merge need <b>skewed</b> data"));
    scope.add(Class::Topology, Some("pool lifecycle\n@everyone"));
    for (id, input) in crate::support::vectors() {
        let mut view = judged(input);
        view.scope = Some(scope.clone());
        let body = comment(&view);
        assert!(!body.to_lowercase().contains("efficien"), "{id}: {body}");
        assert!(body.contains("Scope: shuffle (") && body.contains("; topology ("), "{id}: {body}");
        assert!(!body.contains("<b>") && !body.contains("@everyone"), "{id}: {body}");
    }
    let mut case = quiet(5);
    scale(&mut case, None, "elapsed", 1.0 / 1.5);
    let mut view = judged(&case);
    view.workload = vec!["preset light".to_owned()];
    let before = comment(&view);
    view.scope = Some(scope);
    let body = comment(&view);
    assert!(interpretation(&body).contains("latency with compute cost"), "{body}");
    assert!(interpretation(&body).contains("latency and topology win"), "{body}");
    let changed: Vec<&str> = body.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    insta::assert_snapshot!(changed.join("\n"));
}

#[test]
fn a_change_of_a_stage_may_be_one_of_work_per_core() {
    let mut case = quiet(5);
    scale(&mut case, None, "cpu_time_total", 1.3);
    let mut view = judged(&case);
    let plain = interpretation(&comment(&view)).to_owned();
    view.scope = Some(ScopeOf { classes: vec![Classified { class: Class::StageLocal, why: Vec::new() }] });
    let body = comment(&view);
    assert!(body.contains("Scope: stage-local."), "{body}");
    assert!(plain.contains("Efficiency"), "{plain}");
    assert_eq!(interpretation(&body), plain);
}

#[test]
fn faster_and_more_expensive() {
    let mut case = quiet(5);
    scale(&mut case, None, "elapsed", 1.0 - 0.2726);
    scale(&mut case, None, "cpu_time_total", 1.0559);
    let body = comment(&judged(&case));
    assert!(body.contains("⚖️ tradeoff"), "{body}");
    assert!(interpretation(&body).contains("Faster and more expensive."), "{body}");
}

#[test]
fn a_latency_win_measured_once_is_to_be_repeated() {
    let mut case = quiet(3);
    case["rounds"].as_array_mut().unwrap().truncate(1);
    scale(&mut case, None, "elapsed", 0.84);
    let view = judged(&case);
    let body = comment(&view);
    assert_eq!(view.treatments[0].judgement.as_ref().unwrap().verdict, Verdict::Inconclusive, "{body}");
    assert!(body.contains("one comparison"), "{body}");
    assert!(body.contains("/ab-test zephyr rounds=+"), "{body}");
}

#[test]
fn one_bad_stage_among_forty_is_the_headline() {
    let mut case = input("v01_aa_n3");
    // The bad stage is one of the five, the others are split in eight flat parts each.
    for round in case["rounds"].as_array_mut().unwrap() {
        for arm in ["control", "treatment"] {
            let stages = round[arm]["stages"].as_object_mut().unwrap();
            let whole: Vec<(String, Value)> = stages.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            stages.clear();
            for (name, stage) in whole {
                for part in 0..8 {
                    let mut stage = stage.clone();
                    for field in ["cpu_time_total", "elapsed"] {
                        stage[field] = json!(stage[field].as_f64().unwrap() / 8.0);
                    }
                    stages.insert(format!("{name}-{part}"), stage);
                }
            }
        }
    }
    let calibration = case["calibration"].clone();
    for metric in ["cpu", "elapsed"] {
        let rows = case["calibration"][metric].as_object_mut().unwrap();
        for (name, ratios) in calibration[metric].as_object().unwrap() {
            if name != "TOTAL" {
                rows.remove(name);
                for part in 0..8 {
                    rows.insert(format!("{name}-{part}"), ratios.clone());
                }
            }
        }
    }
    scale(&mut case, Some("minhash-3"), "cpu_time_total", 1.3);
    let view = judged(&case);
    let body = comment(&view);
    let heading = body.lines().nth(1).unwrap();
    assert!(heading.contains("⛔ regression · `minhash-3` CPU +"), "{heading}");
    assert!(body.contains("15 of 41 rows"), "{body}");
    assert!(body.contains("<summary>All 41 rows</summary>"));
    let first: Vec<&str> = body.lines().filter(|l| l.starts_with("| `treatment` |")).take(2).collect();
    assert!(first[0].contains("**TOTAL**") && first[1].contains("minhash-3"), "{first:?}");
}

#[test]
fn counts_of_zero_are_not_equal_work() {
    for value in [json!(0), Value::Null] {
        let mut case = input("v01_aa_n3");
        for round in case["rounds"].as_array_mut().unwrap() {
            for arm in ["control", "treatment"] {
                for stage in round[arm]["stages"].as_object_mut().unwrap().values_mut() {
                    stage["items"] = value.clone();
                    stage["bytes_processed"] = value.clone();
                }
            }
        }
        let body = comment(&judged(&case));
        let check = body.lines().find(|l| l.starts_with("Data check: ")).unwrap();
        assert!(check.contains("items not counted; bytes not counted."), "{check}");
        assert!(!check.contains(" equal in "), "{check}");
        case["config"]["work"] = json!("uncounted-ok");
        let body = comment(&judged(&case));
        assert!(body.lines().nth(1).unwrap().contains("✅ pass"), "{body}");
        assert!(body.lines().nth(1).unwrap().ends_with("work not counted"), "{body}");
    }
}

#[test]
fn digests_are_compared_where_there_are_some() {
    let output = |digest: &str| domain::view::Output { name: "dedup".into(), digest: digest.into() };
    let mut view = vector("v01_aa_n3");
    assert!(comment(&view).contains("Matching counts do not prove equal output."));
    view.control.outputs = vec![output("a")];
    view.treatments[0].outputs = vec![output("a")];
    assert!(comment(&view).contains("Output digests equal (1 of 1)."));
    view.treatments[0].outputs = vec![output("b")];
    assert!(comment(&view).contains("**Output digests differ** in 1 of 1: `dedup`."));
}

#[test]
fn cached_missing_and_mismatched_are_said() {
    for (id, words) in [
        ("w34_cached_treatment", "that is not faster"),
        ("v23_missing_stage", "missing in the treatment"),
        ("v29_fingerprint", "did not run the same workload"),
    ] {
        let body = comment(&vector(id));
        assert!(body.contains("❔ inconclusive"), "{body}");
        assert!(body.contains(words), "{id}: {body}");
        assert!(body.contains("| **TOTAL** |"), "{body}");
    }
    let mut case = input("v29_fingerprint");
    case["fingerprint_mismatch"] = json!([{ "field": "pool_workers", "control": 5, "treatment": 80 }]);
    assert!(comment(&judged(&case)).contains("**Differs, undeclared:** `pool_workers`: `5` → `80`"));
}

#[test]
fn the_number_of_rounds_is_the_one_that_decides() {
    // Band 0.1 around no change against a tolerance of ln 1.05: 3 · (0.1 / ln 1.05)² = 12.6, so 13 rounds.
    let mut view = vector("v01_aa_n3");
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    let rows = judgement.stages[Metric::Cpu].as_mut().unwrap();
    let row = &mut rows.0.iter_mut().find(|(name, _)| name == "minhash").unwrap().1;
    row.margin_pass = 1.05f64.ln();
    (row.est, row.band, row.margin_in_noise, row.n) = (0.0, 0.1, true, 3);
    (row.ni, row.direction) = (false, Direction::Unknown);
    let told = |view: &View| comment(view).replace('\u{A0}', " ");
    assert!(told(&view).contains("margin inside the noise band, which decides nothing here"));
    let judgement = view.treatments[0].judgement.as_mut().unwrap();
    (judgement.verdict, judgement.reason) = (Verdict::Inconclusive, Reason::MarginInNoiseBand);
    for (name, verdict) in &mut judgement.rows.as_mut().unwrap().0 {
        if name == "minhash" {
            *verdict = Verdict::Inconclusive;
        }
    }
    let body = told(&view);
    assert!(body.contains("margin inside the noise band; needs 13 rounds"), "{body}");
    assert!(body.contains("`/ab-test zephyr rounds=+10` (13 rounds in all would decide it"), "{body}");
}

#[test]
fn the_headline_treatment_comes_first() {
    let view = vector("w44_two_treatments");
    let body = comment(&view);
    let lines: Vec<&str> = body.lines().filter(|l| l.starts_with("- `")).collect();
    assert!(lines[0].starts_with("- `dearer`: **regression**"), "{lines:?}");
    assert!(lines[1].starts_with("- `same`: **pass**"), "{lines:?}");
    assert!(body.lines().nth(1).unwrap().ends_with("· `dearer`"));
    assert_eq!(view.head().unwrap().judgement.as_ref().unwrap().reason, Reason::CpuHigher);
}
