//! How long a million stage records take from memory to a verdict. Goal: at most 300 ms in release.
#![allow(clippy::print_stdout)] // a bench says what it measured

use std::borrow::Cow;

use domain::assemble::assemble;
use domain::case::{CountedRound, Trials, case};
use domain::ids::ExecutionId;
use domain::record::StageRecord;
use domain::steps::{RowLevel, Steps};
use stats::{Arm, Calibration, Config, Grade, PerMetric, Reading, Trial};

const GOAL_MS: f64 = 300.0;
const ROUNDS: usize = 3;
const EXECUTIONS: usize = 33_334;
const STEPS: [&str; 4] = ["exact", "tokenize", "minhash", "fuzzy"];
const STAGES: [&str; 5] = [
    "stage0-Map → Scatter",
    "stage1-Reduce → Write",
    "stage2-Map → Write",
    "stage3-Map → Scatter",
    "stage4-Reduce → Map → Write",
];

/// The step is the first word of the name.
struct FirstWord;

impl Steps for FirstWord {
    fn by_name<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
        execution.name()?.split('-').next().filter(|word| STEPS.contains(word))
    }
    fn by_plan<'s>(&'s self, _: &'s ExecutionId) -> Option<&'s str> {
        None
    }
    fn finest(&self) -> RowLevel {
        RowLevel::Name
    }
}

/// The ids of one trial; 33,334 executions of 5 stages in 6 trials are 1,000,020 records in 20 rows.
fn ids(trial: usize) -> Vec<String> {
    (0..EXECUTIONS)
        .map(|n| format!("{}-source{n}-20261129-202850-{:08x}", STEPS[n % 4], trial * EXECUTIONS + n))
        .collect()
}

fn records(ids: &[String], trial: usize, shuffled: bool) -> Vec<StageRecord<'_>> {
    let count = ids.len() * STAGES.len();
    // 7,919 is a prime that does not divide the count: a fixed order in which no two neighbours share an execution.
    let place = |n: usize| if shuffled { n * 7_919 % count } else { n };
    (0..count)
        .map(|n| {
            let (execution, stage) = (place(n) / STAGES.len(), place(n) % STAGES.len());
            let wobble = 1.0 + 0.002 * ((trial * 7 + execution % 20 * 3 + stage * 5) % 11) as f64;
            StageRecord {
                execution_id: Cow::Borrowed(&ids[execution]),
                stage_name: Cow::Borrowed(STAGES[stage]),
                status: Some(Cow::Borrowed("END")),
                elapsed: Reading::Value(0.5 * wobble),
                cpu_time_total: Reading::Value(2.0 * wobble),
                items: Reading::Value(1000.0),
                bytes_processed: Reading::Value(1e6),
                total_shards: Reading::Value(4.0),
                mem_peak_bytes_max: Reading::Value(1e9 + execution as f64),
                mem_bytes_avg: Reading::Value(5e8),
                cpu_pct_avg: Reading::Value(90.0),
            }
        })
        .collect()
}

fn calibration(rows: &[(String, stats::Stage)]) -> Calibration {
    let names = rows.iter().map(|(name, _)| name.clone()).chain([stats::output::TOTAL.to_owned()]);
    let ratios: Vec<f64> = (0..10).map(|n| 0.004 * (f64::from(n) - 4.5)).collect();
    let ratios = names.map(|name| (name, ratios.clone())).collect::<std::collections::BTreeMap<_, _>>();
    Calibration { grade: Grade::A, ratios: PerMetric::from_fn(|_| ratios.clone()), residual: PerMetric::default() }
}

fn rounds(mut trials: Vec<Trial>) -> Vec<CountedRound> {
    let treatments = trials.split_off(ROUNDS);
    trials.into_iter().zip(treatments).map(|(control, t)| CountedRound { control, treatments: vec![Some(t)] }).collect()
}

fn main() {
    let ids: Vec<Vec<String>> = (0..2 * ROUNDS).map(ids).collect();
    for (what, shuffled) in [("grouped by execution", false), ("shuffled", true)] {
        let trials: Vec<Vec<StageRecord<'_>>> =
            ids.iter().enumerate().map(|(trial, ids)| records(ids, trial, shuffled)).collect();
        let slices: Vec<&[StageRecord<'_>]> = trials.iter().map(Vec::as_slice).collect();
        let mut best = f64::INFINITY;
        let mut verdict = String::new();
        for _ in 0..7 {
            #[allow(clippy::disallowed_methods)] // a bench measures time
            let start = std::time::Instant::now();
            let assembly = assemble(&slices, &FirstWord).unwrap_or_else(|error| panic!("{error}"));
            let measured: Vec<Trial> = assembly.trials.into_iter().map(|trial| trial.trial).collect();
            let known = calibration(&measured[0].stages);
            let arms = vec![("head".parse().unwrap_or_else(|error| panic!("{error}")), Arm::default())];
            let case = case(Config::default(), known, arms, Trials::Paired(rounds(measured)))
                .unwrap_or_else(|error| panic!("{error}"));
            let outcome = stats::judge(&case);
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            let head = outcome.headline();
            verdict = format!("{} {:?}, {} table rows", head.verdict.word(), head.reason, head.table.0.len());
        }
        let count: usize = trials.iter().map(Vec::len).sum();
        println!(
            "{count} records {what}: best of 7 {best:.1} ms, {:.2} of the goal of {GOAL_MS} ms ({verdict})",
            best / GOAL_MS
        );
    }
}
