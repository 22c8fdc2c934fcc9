//! What must not change, or must change in a known way, when a case is changed in a known way.

use crate::generate;
use crate::reference::{close, unequal};
use crate::support::json::{Json, int, num, object, text};
use crate::support::judge;

const CASES: u64 = 600;

/// Plain cases of rounds with their answers.
fn cases() -> impl Iterator<Item = (u64, Json, Json)> {
    (0..CASES).map(|i| 70_000 + i).map(|seed| {
        let case = generate::plain_rounds(seed);
        let answer = Json::of(&judge(&case));
        (seed, case, answer)
    })
}

fn rounds(case: &mut Json) -> &mut Vec<Json> {
    case.get_mut("rounds").expect("rounds").items_mut()
}

fn every_stage(case: &mut Json, mut f: impl FnMut(&mut Json)) {
    for round in rounds(case) {
        for side in ["control", "treatment"] {
            let stages = round.get_mut(side).and_then(|trial| trial.get_mut("stages"));
            stages.into_iter().flat_map(Json::fields_mut).for_each(|(_, stage)| f(stage));
        }
    }
}

fn row_names(case: &Json) -> Vec<String> {
    case.at("rounds").items().first().map_or(Vec::new(), |round| {
        round.at("control").at("stages").fields().iter().map(|(name, _)| name.clone()).collect()
    })
}

/// (metric, row, statistics) of an answer.
fn statistics(answer: &Json) -> Vec<(&str, &str, &Json)> {
    let metrics = answer.at("stages").fields().iter();
    metrics.flat_map(|(m, rows)| rows.fields().iter().map(move |(row, s)| (m.as_str(), row.as_str(), s))).collect()
}

fn field(stats: &Json, key: &str) -> f64 {
    stats.at(key).number().unwrap_or(f64::NAN)
}

/// A row so close to a boundary that the last place of a logarithm may decide it.
fn on_the_edge(metric: &str, stats: &Json) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let eps: f64 = if metric == "cpu" { 0.01 } else { 0.02 };
    let (margin, tolerance) = (field(stats, "margin"), field(stats, "margin_pass"));
    let values = ["est", "lo", "hi", "band"].map(|key| field(stats, key).abs());
    let bounds = [eps.ln_1p(), 0.1f64.ln_1p(), margin, tolerance];
    values.iter().any(|v| bounds.iter().any(|b| near(*v, *b)))
        || ["holm_higher", "holm_lower"].iter().any(|key| near(field(stats, key), 0.05))
}

fn edgy(answer: &Json) -> bool {
    statistics(answer).into_iter().any(|(metric, _, stats)| on_the_edge(metric, stats))
}

fn verdict(answer: &Json) -> (&str, &str) {
    (answer.at("verdict").str().expect("a word"), answer.at("reason").str().expect("a code"))
}

fn find<'a>(answer: &'a Json, metric: &str, row: &str) -> Option<&'a Json> {
    answer.at("stages").get(metric)?.get(row)
}

/// How many comparisons a law was really tried on.
fn tried(times: usize, at_least: usize) {
    assert!(times >= at_least, "only {times}");
}

#[test]
fn swapping_the_arms_mirrors() {
    let mut times = 0;
    for (seed, mut case, answer) in cases() {
        // Normalising brings the treatment to the work of the control, in TOTAL row by row: no mirror has that.
        case.child("config").set("normalize", text("none"));
        let answer = if edgy(&answer) { answer } else { Json::of(&judge(&case)) };
        for round in rounds(&mut case) {
            for (key, _) in round.fields_mut() {
                *key = if key == "control" { "treatment" } else { "control" }.to_owned();
            }
        }
        let mirrored = Json::of(&judge(&case));
        let rows = |answer: &Json| {
            let mut rows: Vec<String> = statistics(answer).iter().map(|(m, row, _)| format!("{m}:{row}")).collect();
            rows.sort();
            rows
        };
        // Shares are those of the control: a row at the edge of being material may come or go, and with it the family.
        if rows(&answer) != rows(&mirrored) || edgy(&answer) || edgy(&mirrored) {
            continue;
        }
        for (metric, row, before) in statistics(&answer) {
            let after = find(&mirrored, metric, row).expect("the same rows");
            let place = format!("seed {seed} {metric}:{row}");
            assert!(close(field(before, "est"), -field(after, "est")), "{place}: {before} {after}");
            for (a, b) in [("lo", "hi"), ("hi", "lo")] {
                assert!(close(field(before, a), -field(after, b)), "{place}: {before} {after}");
            }
            for (a, b) in [("p_higher", "p_lower"), ("holm_higher", "holm_lower"), ("se", "se"), ("df", "df")] {
                assert!(close(field(before, a), field(after, b)), "{place}: {before} {after}");
            }
            for key in ["direction", "suspect"] {
                let swapped = match before.at(key).str() {
                    Some("higher") => text("lower"),
                    Some("lower") => text("higher"),
                    _ => before.at(key).clone(),
                };
                assert_eq!(&swapped, after.at(key), "{place}");
            }
            times += 1;
        }
    }
    tried(times, 3000);
}

#[test]
fn another_unit_of_time_changes_nothing() {
    let mut times = 0;
    for (seed, case, answer) in cases() {
        for factor in [4.0, 0.25, 3.7] {
            let mut scaled = case.clone();
            for metric in ["cpu_time_total", "elapsed"] {
                every_stage(&mut scaled, |stage| stage.set(metric, num(field(stage, metric) * factor)));
            }
            // The floors are in the same unit.
            let floors = object([("cpu", num(10.0 * factor)), ("elapsed", num(5.0 * factor))]);
            scaled.child("config").set("min_value", floors);
            let after = Json::of(&judge(&scaled));
            // A factor of two is exact in every step; of any other the last place may decide an edge.
            if factor == 3.7 && edgy(&answer) {
                continue;
            }
            assert_eq!(verdict(&answer), verdict(&after), "seed {seed}");
            for key in ["rows", "stages", "notes"] {
                let found = unequal(after.at(key), answer.at(key), key);
                assert!(found.is_none(), "seed {seed} x{factor}: {}", found.expect("just seen"));
            }
            times += 1;
        }
    }
    tried(times, 1500);
}

#[test]
fn a_round_equal_to_the_mean_leaves_the_estimate() {
    let mut times = 0;
    for (seed, mut case, _) in cases() {
        case.child("config").set("normalize", text("none"));
        let before = Json::of(&judge(&case));
        let Some(first) = rounds(&mut case).first().cloned() else { continue };
        let mut extra = first.clone();
        for (name, stage) in extra.child("treatment").child("stages").fields_mut() {
            for (metric, column) in [("cpu", "cpu_time_total"), ("elapsed", "elapsed")] {
                if let Some(stats) = find(&before, metric, name) {
                    let control = field(first.at("control").at("stages").get(name).expect("the row"), column);
                    stage.set(column, num(control * field(stats, "est").exp()));
                }
            }
        }
        rounds(&mut case).push(extra);
        let after = Json::of(&judge(&case));
        for (metric, row, stats) in statistics(&before) {
            let Some(now) = find(&after, metric, row).filter(|_| row != "TOTAL") else { continue };
            assert!((field(stats, "est") - field(now, "est")).abs() < 1e-9, "seed {seed} {metric}:{row} {stats} {now}");
            assert_eq!(field(stats, "n") + 1.0, field(now, "n"));
            times += 1;
        }
    }
    tried(times, 3000);
}

fn renamed(value: &Json, names: &[String]) -> Json {
    let new = |key: &str| {
        let (prefix, row) = key.split_once(':').map_or(("", key), |(prefix, row)| (prefix, row));
        let Some(at) = names.iter().position(|name| name == row) else { return key.to_owned() };
        let row = format!("{}-was-{row}", names.len() - at);
        if prefix.is_empty() { row } else { format!("{prefix}:{row}") }
    };
    match value {
        Json::Object(fields) => Json::Object(fields.iter().map(|(key, v)| (new(key), renamed(v, names))).collect()),
        Json::List(items) => Json::List(items.iter().map(|item| renamed(item, names)).collect()),
        other => other.clone(),
    }
}

#[test]
fn renaming_rows_renames() {
    let mut times = 0;
    for (seed, case, answer) in cases() {
        let names = row_names(&case);
        // The others have names that are also fields of the contract.
        if names.is_empty() || !names.iter().all(|name| name.starts_with("row")) {
            continue;
        }
        let after = Json::of(&judge(&renamed(&case, &names)));
        let found = unequal(&after, &renamed(&answer, &names), "");
        assert!(found.is_none(), "seed {seed}: {}", found.expect("just seen"));
        times += 1;
    }
    tried(times, 400);
}

#[test]
fn a_row_below_the_floor_is_shown_and_changes_no_other() {
    let mut times = 0;
    for (seed, mut case, answer) in cases() {
        // Beside a single row it would bring a TOTAL, and with it a larger family.
        if row_names(&case).len() < 2 || edgy(&answer) {
            continue;
        }
        for round in rounds(&mut case) {
            for side in ["control", "treatment"] {
                let stage = object([
                    ("cpu_time_total", num(0.001)),
                    ("elapsed", num(0.0005)),
                    ("items", int(10)),
                    ("bytes_processed", int(10)),
                    ("mem_peak_bytes_max", int(10)),
                ]);
                round.child(side).child("stages").set("short", stage);
            }
        }
        let after = Json::of(&judge(&case));
        assert_eq!(statistics(&answer).len(), statistics(&after).len(), "seed {seed}");
        for (metric, row, before) in statistics(&answer) {
            let now = find(&after, metric, row).expect("the same rows");
            let allowed = if row == "TOTAL" { 1e-3 } else { 1e-12 };
            assert!((field(before, "est") - field(now, "est")).abs() <= allowed, "seed {seed} {metric}:{row}");
            if row != "TOTAL" && !on_the_edge(metric, now) {
                assert_eq!(before.at("direction"), now.at("direction"), "seed {seed} {metric}:{row}");
            }
        }
        for metric in ["cpu", "elapsed"] {
            let cell = after.at("table").get("short").expect("shown").at(metric);
            assert_eq!(cell.at("judged"), &Json::Bool(false), "seed {seed}");
            if statistics(&after).iter().any(|(m, ..)| *m == metric) {
                assert_eq!(cell.at("why"), &text("below_floor"), "seed {seed}");
            }
        }
        times += 1;
    }
    tried(times, 300);
}

#[test]
fn the_order_of_rounds_changes_no_estimate() {
    let mut times = 0;
    for (seed, mut case, answer) in cases() {
        rounds(&mut case).reverse();
        let third = rounds(&mut case).len() / 3;
        rounds(&mut case).rotate_left(third);
        let after = Json::of(&judge(&case));
        if !edgy(&answer) {
            assert_eq!(verdict(&answer), verdict(&after), "seed {seed}");
            let found = unequal(after.at("stages"), answer.at("stages"), "stages");
            assert!(found.is_none(), "seed {seed}: {}", found.expect("just seen"));
            times += 1;
        }
    }
    tried(times, 400);
}

#[test]
fn more_memory_allowed_never_makes_a_regression() {
    let mut times = 0;
    for (seed, mut case, _) in cases() {
        let mut peaks = Vec::new();
        every_stage(&mut case, |stage| peaks.push(field(stage, "mem_peak_bytes_max")));
        let Some(most) = peaks.into_iter().reduce(f64::max) else { continue };
        let mut before: Option<(String, String)> = None;
        for factor in [0.97, 0.99, 1.0, 1.01, 1.0 / 0.96, 1.06, 3.0] {
            case.child("config").set("mem_limit", num((most * factor).round()));
            let answer = Json::of(&judge(&case));
            let (now, reason) = verdict(&answer);
            if let Some((word, code)) = before {
                // Above the limit in both arms nothing was judged; with room for both, it is.
                if word != "regression" && code != "MEM_OVER_LIMIT_BOTH_ARMS" {
                    assert_ne!(now, "regression", "seed {seed} x{factor}: {code} became {reason}");
                    times += 1;
                }
            }
            before = Some((now.to_owned(), reason.to_owned()));
        }
    }
    tried(times, 1000);
}
