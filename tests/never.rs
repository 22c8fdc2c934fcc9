//! What the procedure never does, on generated cases with its own settings.

use std::collections::BTreeSet;

use stats::config::Metric;
use stats::family::{Direction, Increase};
use stats::output::TOTAL;
use stats::{Grade, Judgement, Reason, Verdict};

use crate::generate::{self, Dice};
use crate::support::json::{Json, num};
use crate::support::judge;

const CASES: u64 = 5_000;
const GUARDRAILS: [Reason; 3] = [Reason::NewOom, Reason::MemOverLimit, Reason::NewAppFailure];
/// What a suite or a look may set without touching the errors that the procedure makes.
const SETTINGS: [&str; 10] = [
    "paired",
    "looks",
    "look_index",
    "episode",
    "mem_limit",
    "normalize",
    "paths_only",
    "work",
    "pool_cores",
    "overhead_frac",
];

/// Cases of every kind that are not refused, with the default margins, floors and budgets.
fn judgements(mut f: impl FnMut(u64, &Json, &Judgement)) {
    let mut judged = 0;
    for seed in 500_000..500_000 + CASES {
        let mut case = generate::case(seed);
        if let Some(Json::Object(config)) = case.get_mut("config") {
            config.retain(|(key, _)| SETTINGS.contains(&key.as_str()));
        }
        let Ok(parsed) = stats::input::parse(&case.to_string()) else { continue };
        judged += 1;
        for (_, judgement) in stats::judge(&parsed).treatments() {
            if !judgement.decided {
                f(seed, &case, judgement);
            }
        }
    }
    assert!(judged > CASES * 4 / 5, "{judged}");
}

#[test]
fn a_pass_is_proven() {
    let mut passes = 0;
    judgements(|seed, _, j| {
        if j.verdict != Verdict::Pass {
            return;
        }
        passes += 1;
        let rows = j.stages[Metric::Cpu].as_ref().expect("a pass has statistics");
        for (row, stats) in rows.iter() {
            let place = format!("seed {seed} {row}: {stats:?}");
            assert!(stats.ni || matches!(stats.direction, Direction::Flat | Direction::Lower), "{place}");
            // Where the noise is wider than the tolerance only a row that got cheaper may pass.
            assert!(!stats.margin_in_noise || (stats.est < 0.0 && stats.hi < stats.margin_pass), "{place}");
            assert!(matches!(stats.increase(), None | Some(Increase::Within)), "{place}");
        }
    });
    assert!(passes > 300, "{passes}");
}

#[test]
fn a_regression_by_time_is_beyond_its_tolerance() {
    let mut regressions = 0;
    judgements(|seed, _, j| {
        if j.verdict != Verdict::Regression || GUARDRAILS.contains(&j.reason) {
            return;
        }
        regressions += 1;
        let rows = j.rows.as_ref().expect("rows");
        let mut red = 0;
        for (row, _) in rows.iter().filter(|(_, verdict)| **verdict == Verdict::Regression) {
            red += 1;
            let beyond =
                Metric::ALL.into_iter().filter_map(|m| j.row(m, row)).any(|s| s.beyond && s.lo >= s.margin_pass);
            assert!(beyond, "seed {seed} {row} {:?}", j.reason);
        }
        assert!(red > 0, "seed {seed}");
    });
    assert!(regressions > 100, "{regressions}");
}

#[test]
fn one_round_says_nothing_of_elapsed_time() {
    let mut single = 0;
    judgements(|seed, _, j| {
        let Some(elapsed) = &j.stages[Metric::Elapsed] else { return };
        if elapsed.iter().any(|(_, s)| s.n >= 2) {
            return;
        }
        single += 1;
        let wall = [Reason::WallHigherRepeated, Reason::WallLowerRepeated, Reason::CpuVsElapsed];
        assert!(!wall.contains(&j.reason), "seed {seed} {:?}", j.reason);
    });
    assert!(single > 300, "{single}");
}

#[test]
fn without_calibration_few_rounds_decide_nothing() {
    let mut few = 0;
    judgements(|seed, _, j| {
        let rounds = j.stages[Metric::Cpu].as_ref().and_then(|rows| rows.0.first()).map_or(0, |(_, s)| s.n);
        if j.grade != Some(Grade::C) || rounds >= 4 || GUARDRAILS.contains(&j.reason) {
            return;
        }
        few += 1;
        assert_eq!(j.verdict, Verdict::Inconclusive, "seed {seed} {:?}", j.reason);
    });
    assert!(few > 100, "{few}");
}

fn names(case: &Json, into: &mut BTreeSet<String>) {
    for (key, value) in case.fields() {
        match key.as_str() {
            "control" | "treatment" | "trials" => {
                let trials = if let Json::List(list) = value { list.as_slice() } else { std::slice::from_ref(value) };
                for trial in trials {
                    into.extend(trial.get("stages").map_or(&[][..], Json::fields).iter().map(|(name, _)| name.clone()));
                }
            }
            "rounds" => value.items().iter().for_each(|round| names(round, into)),
            _ => {}
        }
    }
}

#[test]
fn every_verdict_shows_every_row() {
    let mut shown = 0;
    judgements(|seed, case, j| {
        for (row, cells) in j.table.iter() {
            for metric in Metric::ALL {
                let cell = cells.cell(metric);
                assert_eq!(cell.judged, cell.why.is_none(), "seed {seed} {row}");
                assert!(!cell.judged || cell.ratio.is_some(), "seed {seed} {row}");
            }
        }
        if case.get("treatments").is_some() {
            return;
        }
        let mut expected = BTreeSet::new();
        names(case, &mut expected);
        if expected.len() > 1 {
            expected.insert(TOTAL.to_owned());
        }
        let table: BTreeSet<String> = j.table.iter().map(|(row, _)| row.to_owned()).collect();
        assert_eq!(table, expected, "seed {seed} {:?}", j.reason);
        shown += usize::from(!expected.is_empty());
    });
    assert!(shown > 3000, "{shown}");
}

/// `cpu:*` is what is noted of a metric, and a row may be named `*`.
#[test]
fn no_field_of_an_answer_is_said_twice() {
    let mut shared = 0;
    for seed in 900_000..901_500 {
        let case = Json::read(&generate::case(seed).to_string().replace("\"row0\":", "\"*\":"));
        let Ok(parsed) = stats::input::parse(&case.to_string()) else { continue };
        let answer = Json::of(&stats::judge(&parsed));
        once(&answer, seed);
        let rows = answer.get("notes").and_then(|notes| notes.get("cpu:*"));
        shared += usize::from(rows.is_some_and(|notes| notes.items().len() > 1));
    }
    assert!(shared > 0, "both were noted at least once");
}

fn once(value: &Json, seed: u64) {
    let keys: BTreeSet<&String> = value.fields().iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), value.fields().len(), "seed {seed}: {value}");
    value.fields().iter().for_each(|(_, value)| once(value, seed));
}

/// A stage of a plain case whose row is above both floors, by round, side and row.
fn place(case: &Json, dice: &mut Dice) -> Option<(usize, &'static str, String)> {
    let rounds = case.at("rounds").items();
    if rounds.is_empty() {
        return None;
    }
    let (round, side) = (dice.below(rounds.len()), dice.word(&["control", "treatment"]));
    let stages = rounds[round].at(side).at("stages").fields();
    let name = stages[dice.below(stages.len())].0.clone();
    let long = rounds.iter().all(|round| {
        let stage = round.at("control").at("stages").get(&name).expect("the row");
        stage.at("cpu_time_total").number() > Some(20.0) && stage.at("elapsed").number() > Some(10.0)
    });
    long.then_some((round, side, name))
}

fn stage_mut<'a>(case: &'a mut Json, (round, side, name): &(usize, &'static str, String)) -> &'a mut Json {
    let round = &mut case.get_mut("rounds").expect("rounds").items_mut()[*round];
    round.child(side).child("stages").get_mut(name).expect("the row")
}

#[test]
fn a_bad_value_is_never_a_number() {
    let bad = [
        "null",
        "\"12\"",
        "true",
        "false",
        "[]",
        "[3]",
        "{}",
        "-1",
        "1e300",
        "1e400",
        "1e-10",
        "-1e400",
        "1000000000000000001e1",
    ];
    let columns = [
        "cpu_time_total",
        "elapsed",
        "items",
        "bytes_processed",
        "mem_peak_bytes_max",
        "total_shards",
        "row_executions",
    ];
    let mut times = 0;
    for seed in 0..1500 {
        let mut dice = Dice::new(seed);
        let mut case = generate::plain_rounds(600_000 + seed);
        let Some(at) = place(&case, &mut dice) else { continue };
        let (column, value) = (dice.word(&columns), dice.word(&bad));
        if value == "null" && matches!(column, "total_shards" | "row_executions") {
            continue;
        }
        stage_mut(&mut case, &at).set(column, Json::Num(value.to_owned()));
        let outcome = judge(&case);
        let j = outcome.headline();
        assert_eq!(j.reason, Reason::BadValue, "seed {seed}: {value} as {column}");
        let row = j.table.get(&at.2).expect("shown");
        let side = usize::from(at.1 == "treatment");
        match column {
            "cpu_time_total" => assert_eq!([row.cpu.control, row.cpu.treatment][side], None),
            "elapsed" => assert_eq!([row.elapsed.control, row.elapsed.treatment][side], None),
            "items" => assert_eq!(row.items.expect("a row")[side], None),
            "bytes_processed" => assert_eq!(row.bytes_processed.expect("a row")[side], None),
            "total_shards" => assert_eq!(row.total_shards.expect("a row")[side], None),
            _ => {}
        }
        times += 1;
    }
    assert!(times > 700, "{times}");
}

#[test]
fn no_time_is_never_a_fast_time() {
    let mut times = 0;
    for seed in 0..600 {
        let mut dice = Dice::new(seed);
        let mut case = generate::plain_rounds(700_000 + seed);
        let Some(at) = place(&case, &mut dice) else { continue };
        stage_mut(&mut case, &at).set(dice.word(&["cpu_time_total", "elapsed"]), num(0.0));
        let outcome = judge(&case);
        let reason = outcome.headline().reason;
        // Work that differs is found before a row that took no time.
        let fine = [Reason::ZeroOneSided, Reason::Cached, Reason::DifferentWork];
        assert!(fine.contains(&reason), "seed {seed}: {reason:?}");
        times += 1;
    }
    assert!(times > 300, "{times}");
}

#[test]
fn identical_arms_are_never_worse() {
    let mut times = 0;
    for seed in 0..1000 {
        let mut case = generate::plain_rounds(800_000 + seed);
        for round in case.get_mut("rounds").expect("rounds").items_mut() {
            let twin = round.at("control").clone();
            round.set("treatment", twin);
        }
        let outcome = judge(&case);
        let j = outcome.headline();
        assert!(matches!(j.verdict, Verdict::Pass | Verdict::Inconclusive), "seed {seed} {:?}", j.reason);
        for rows in Metric::ALL.into_iter().filter_map(|m| j.stages[m].as_ref()) {
            for (row, s) in rows.iter() {
                assert_eq!(s.est, 0.0, "seed {seed} {row}");
                let numbers =
                    [s.se, s.df, s.lo, s.hi, s.p_higher, s.holm_higher, s.p_lower, s.holm_lower, s.band, s.mde90];
                assert!(numbers.iter().all(|x| x.is_finite()), "seed {seed} {row}: {s:?}");
                assert_eq!((s.beyond, s.small, s.suspect), (false, None, None), "seed {seed} {row}");
                times += 1;
            }
        }
    }
    assert!(times > 5000, "{times}");
}
