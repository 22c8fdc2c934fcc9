//! From the stage records of all trials to rows that every trial resolves alike.

use std::collections::{BTreeMap, HashMap};

use stats::Trial;
use stats::output::TOTAL;

use crate::ids::{ExecutionId, IdError};
use crate::record::StageRecord;
use crate::steps::{Coarser, Resolution, RowKey, RowLevel, Steps};
use crate::tally::{Cell, Lacking, RowContext, Tally};

/// Why records are not a set of trials. Trials are counted from 0 in the order of the argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A record with a broken execution id.
    #[error("trial {trial}: {source}")]
    ExecutionId {
        /// The trial.
        trial: usize,
        /// What is wrong with the id.
        source: IdError,
    },
    /// An execution has more than one record for the same stage.
    #[error("trial {trial}: {} records repeat an execution and stage, the first is {}", pairs.len(), repeated(pairs))]
    Duplicates {
        /// The trial.
        trial: usize,
        /// Execution and stage of each record that is one too many.
        pairs: Vec<(String, String)>,
    },
    /// One execution stands in two trials.
    #[error("execution {execution} stands in trial {first} and in trial {second}")]
    SharedExecution {
        /// The execution.
        execution: String,
        /// A trial.
        first: usize,
        /// Another trial.
        second: usize,
    },
    /// Two rows would read the same.
    #[error("two rows read alike: step {:?} with stage {:?}, and step {:?} with stage {:?}", one.step, brief(&one.stage), other.step, brief(&other.stage))]
    AmbiguousRow {
        /// A row.
        one: RowKey,
        /// Another one.
        other: RowKey,
    },
    /// A row has the name of the sum of all rows.
    #[error("a stage is named {TOTAL}, which is the name of the sum of all rows")]
    ReservedRow,
}

/// A foreign name, short and escaped, for a message.
fn brief(text: &str) -> String {
    text.chars().take(60).collect()
}

fn repeated(pairs: &[(String, String)]) -> String {
    pairs.first().map(|(execution, stage)| format!("{execution} {:?}", brief(stage))).unwrap_or_default()
}

/// One trial, assembled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssembledTrial {
    /// What `stats` judges. Its events are the caller's to set.
    pub trial: Trial,
    /// Key and context of each row of `trial.stages`, in the same order.
    pub rows: Vec<(RowKey, RowContext)>,
}

/// All trials of a comparison, assembled.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// The level of the rows.
    pub resolution: Resolution,
    /// The trials in the order of the argument.
    pub trials: Vec<AssembledTrial>,
}

/// Aggregates the records of each trial into rows, at the finest level of `steps` that every execution of every trial
/// has. CPU, elapsed, items, bytes and shards are summed and the peak memory is the largest; rates are not looked at.
/// A value that is missing in every record of a row is missing, in some of them it is bad: a part is never the whole.
/// Rows are in the order of their keys. No work is done per record beyond two look-ups; numbers are summed in the order
/// of the records.
///
/// # Errors
/// See [`AssembleError`]; the first trial with a broken id or a repeated record decides, then a shared execution.
pub fn assemble(trials: &[&[StageRecord<'_>]], steps: &impl Steps) -> Result<Assembly, AssembleError> {
    let mut tallies = Vec::with_capacity(trials.len());
    for (trial, records) in trials.iter().enumerate() {
        let tally = Tally::of(records, steps).map_err(|source| AssembleError::ExecutionId { trial, source })?;
        if !tally.duplicates.is_empty() {
            let own = |(execution, stage): &(&str, &str)| ((*execution).to_owned(), (*stage).to_owned());
            return Err(AssembleError::Duplicates { trial, pairs: tally.duplicates.iter().map(own).collect() });
        }
        tallies.push(tally);
    }
    one_trial_each(&tallies)?;
    let resolution = resolve(&tallies, steps.finest());
    let mut names = HashMap::new();
    let trials = tallies.iter().map(|tally| rows(tally, resolution.level, &mut names)).collect::<Result<_, _>>()?;
    Ok(Assembly { resolution, trials })
}

fn one_trial_each(tallies: &[Tally<'_>]) -> Result<(), AssembleError> {
    let mut owner = HashMap::with_capacity(tallies.iter().map(|tally| tally.ids().len()).sum());
    for (second, tally) in tallies.iter().enumerate() {
        let shared = tally.ids().filter_map(|id| owner.insert(id, second).map(|first| (id, first))).min();
        if let Some((execution, first)) = shared {
            return Err(AssembleError::SharedExecution { execution: execution.to_owned(), first, second });
        }
    }
    Ok(())
}

fn resolve(tallies: &[Tally<'_>], finest: RowLevel) -> Resolution {
    let lacking = |level| -> Lacking {
        let of = |tally: &Tally<'_>| match level {
            RowLevel::Name => tally.without_name.clone(),
            RowLevel::Plan => tally.without_plan.clone(),
            RowLevel::Stage => Lacking::default(),
        };
        tallies.iter().map(of).fold(Lacking::default(), |all, one| Lacking {
            count: all.count + one.count,
            example: all.example.or(one.example),
        })
    };
    let level = [RowLevel::Name, RowLevel::Plan]
        .into_iter()
        .find(|level| *level >= finest && lacking(*level).count == 0)
        .unwrap_or(RowLevel::Stage);
    let Lacking { count, example } = lacking(finest);
    let coarser = example.map(|example: ExecutionId| Coarser { wanted: finest, lacking: count, example });
    Resolution { level, coarser }
}

fn rows(
    tally: &Tally<'_>,
    level: RowLevel,
    names: &mut HashMap<String, RowKey>,
) -> Result<AssembledTrial, AssembleError> {
    let mut cells: BTreeMap<(Option<&str>, &str), Cell<'_>> = BTreeMap::new();
    for (step, stage, cell) in tally.rows(level) {
        cells.entry((step, stage)).or_default().merge(cell);
    }
    let mut assembled = AssembledTrial::default();
    assembled.trial.executions = Some(tally.ids().len() as u64);
    for ((step, stage), cell) in cells {
        let key = RowKey { step: step.map(str::to_owned), stage: stage.to_owned() };
        let name = key.to_string();
        if name == TOTAL {
            return Err(AssembleError::ReservedRow);
        }
        let one = names.entry(name.clone()).or_insert_with(|| key.clone());
        if *one != key {
            return Err(AssembleError::AmbiguousRow { one: one.clone(), other: key });
        }
        assembled.trial.stages.push((name, cell.stage()));
        assembled.rows.push((key, cell.context()));
    }
    Ok(assembled)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use stats::{Reading, Stage};

    use super::*;

    /// Step by the first word of the name, planned step by the random part of the id.
    struct Rules {
        finest: RowLevel,
        planned: &'static [(&'static str, &'static str)],
    }

    impl Steps for Rules {
        fn by_name<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
            execution.name()?.split('-').next()
        }
        fn by_plan<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
            self.planned.iter().find(|(end, _)| execution.suffix().ends_with(end)).map(|(_, step)| *step)
        }
        fn finest(&self) -> RowLevel {
            self.finest
        }
    }

    const NAMES: Rules = Rules { finest: RowLevel::Name, planned: &[] };

    fn id(name: &str, n: u32) -> String {
        let hyphen = if name.is_empty() { "" } else { "-" };
        format!("{name}{hyphen}20261129-202850-{n:08x}")
    }

    fn record(name: &str, n: u32, stage: &'static str) -> StageRecord<'static> {
        StageRecord {
            execution_id: Cow::Owned(id(name, n)),
            stage_name: Cow::Borrowed(stage),
            status: Some(Cow::Borrowed("END")),
            elapsed: Reading::Value(2.0),
            cpu_time_total: Reading::Value(8.0),
            items: Reading::Value(100.0),
            bytes_processed: Reading::Value(1000.0),
            total_shards: Reading::Value(2.0),
            mem_peak_bytes_max: Reading::Value(f64::from(n)),
            mem_bytes_avg: Reading::Value(10.0),
            cpu_pct_avg: Reading::Value(50.0),
        }
    }

    fn names(trial: &AssembledTrial) -> Vec<&str> {
        trial.trial.stages.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn sums_and_the_largest_peak() {
        let mut second = record("exact-code", 2, "map");
        second.total_shards = Reading::Value(6.0);
        second.cpu_pct_avg = Reading::Value(90.0);
        let records =
            [record("exact-web", 1, "map"), second, record("exact-web", 1, "reduce"), record("fuzzy", 3, "map")];
        let assembly = assemble(&[&records], &NAMES).unwrap();
        assert_eq!(assembly.resolution, Resolution { level: RowLevel::Name, coarser: None });
        let trial = &assembly.trials[0];
        assert_eq!(names(trial), ["exact · map", "exact · reduce", "fuzzy · map"]);
        assert_eq!(trial.trial.executions, Some(3));
        let expected = Stage {
            cpu_time_total: Reading::Value(16.0),
            elapsed: Reading::Value(4.0),
            items: Reading::Value(200.0),
            bytes_processed: Reading::Value(2000.0),
            mem_peak_bytes_max: Reading::Value(2.0),
            total_shards: Reading::Value(8.0),
            row_executions: Reading::Value(2.0),
            not_ended: None,
        };
        assert_eq!(trial.trial.stages[0].1, expected);
        let (key, context) = &trial.rows[0];
        assert_eq!(key.to_string(), trial.trial.stages[0].0);
        assert_eq!(*context, RowContext { cpu_pct_avg: Some(80.0), mem_bytes_avg: Some(10.0) });
    }

    #[test]
    fn a_part_is_never_the_whole() {
        use Reading::{Bad, Missing, Value};
        for (one, other, sum, peak) in [
            (Value(1.0), Value(3.0), Value(4.0), Value(3.0)),
            (Value(0.0), Value(0.0), Value(0.0), Value(0.0)),
            (Value(1.0), Missing, Bad, Bad),
            (Missing, Value(0.0), Bad, Bad),
            (Missing, Missing, Missing, Missing),
            (Value(1.0), Bad, Bad, Bad),
            (Missing, Bad, Bad, Bad),
            (Bad, Bad, Bad, Bad),
            (Value(f64::NAN), Value(1.0), Bad, Bad),
            (Value(1.0), Value(-1.0), Bad, Bad),
            (Value(9e17), Value(9e17), Bad, Value(9e17)),
        ] {
            let with = |n, reading| StageRecord {
                cpu_time_total: reading,
                total_shards: reading,
                mem_peak_bytes_max: reading,
                ..record("a", n, "map")
            };
            let records = [with(1, one), with(2, other)];
            let assembly = assemble(&[&records], &NAMES).unwrap();
            let stage = &assembly.trials[0].trial.stages[0].1;
            assert_eq!([stage.cpu_time_total, stage.total_shards], [sum, sum], "{one:?} {other:?}");
            assert_eq!(stage.mem_peak_bytes_max, peak, "{one:?} {other:?}");
            let whole = matches!(sum, Value(v) if v > 0.0);
            assert_eq!(assembly.trials[0].rows[0].1.cpu_pct_avg.is_some(), whole, "{one:?} {other:?}");
        }
    }

    #[test]
    fn any_record_that_did_not_end_marks_its_row() {
        for (status, kept) in
            [(Some("END"), None), (Some("FAILED"), Some("FAILED")), (Some(""), Some("")), (None, Some("null"))]
        {
            let other = StageRecord { status: status.map(Cow::Borrowed), ..record("a", 2, "map") };
            let records = [record("a", 1, "map"), other, record("a", 3, "map")];
            let assembly = assemble(&[&records], &NAMES).unwrap();
            assert_eq!(assembly.trials[0].trial.stages[0].1.not_ended.as_deref(), kept);
        }
    }

    #[test]
    fn ids_with_and_without_a_name_give_the_same_rows() {
        let named = [record("exact-web", 1, "map"), record("fuzzy-web", 2, "map")];
        let bare = [record("", 3, "map"), record("", 4, "map")];
        let assembly = assemble(&[&named, &bare], &NAMES).unwrap();
        assert_eq!(names(&assembly.trials[0]), ["map"]);
        assert_eq!(names(&assembly.trials[1]), ["map"]);
        let coarser = Coarser { wanted: RowLevel::Name, lacking: 2, example: id("", 3).parse().unwrap() };
        assert_eq!(assembly.resolution, Resolution { level: RowLevel::Stage, coarser: Some(coarser.clone()) });

        let plans = Rules { planned: &[("1", "exact"), ("2", "fuzzy"), ("3", "exact"), ("4", "fuzzy")], ..NAMES };
        let assembly = assemble(&[&named, &bare], &plans).unwrap();
        assert_eq!(names(&assembly.trials[0]), ["exact · map", "fuzzy · map"]);
        assert_eq!(names(&assembly.trials[1]), ["exact · map", "fuzzy · map"]);
        assert_eq!(assembly.resolution, Resolution { level: RowLevel::Plan, coarser: Some(coarser) });
    }

    #[test]
    fn a_suite_without_a_rule_has_no_coarser_rows() {
        let bare = [record("", 3, "map")];
        for (rules, level) in [
            (Rules { finest: RowLevel::Stage, planned: &[("3", "exact")] }, RowLevel::Stage),
            (Rules { finest: RowLevel::Plan, planned: &[("3", "exact")] }, RowLevel::Plan),
        ] {
            let resolution = assemble(&[&bare], &rules).unwrap().resolution;
            assert_eq!(resolution, Resolution { level, coarser: None });
        }
    }

    #[test]
    fn repeated_records_are_named() {
        let records = [record("a", 1, "map"), record("a", 1, "reduce"), record("a", 1, "map"), record("a", 2, "map")];
        let error = assemble(&[&records[3..], &records[..3]], &NAMES).unwrap_err();
        assert_eq!(
            error.to_string(),
            "trial 1: 1 records repeat an execution and stage, the first is a-20261129-202850-00000001 \"map\""
        );
        let many: Vec<String> = (0..200).map(|n| format!("stage{n}")).collect();
        let mut records: Vec<StageRecord<'_>> = many
            .iter()
            .map(|stage| StageRecord { stage_name: Cow::Borrowed(stage), ..record("a", 1, "map") })
            .collect();
        assert_eq!(assemble(&[&records], &NAMES).unwrap().trials[0].trial.stages.len(), 200);
        records.push(records[150].clone());
        let pair = (id("a", 1), "stage150".to_owned());
        assert_eq!(assemble(&[&records], &NAMES), Err(AssembleError::Duplicates { trial: 0, pairs: vec![pair] }));
    }

    #[test]
    fn an_execution_belongs_to_one_trial() {
        let (one, other) = ([record("a", 1, "map")], [record("a", 2, "map"), record("a", 1, "reduce")]);
        let expected = AssembleError::SharedExecution { execution: id("a", 1), first: 0, second: 1 };
        assert_eq!(assemble(&[&one, &other], &NAMES), Err(expected));
    }

    #[test]
    fn rows_never_read_alike() {
        struct Odd;
        impl Steps for Odd {
            fn by_name<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
                Some(if execution.name() == Some("a") { "a" } else { "a · b" })
            }
            fn by_plan<'s>(&'s self, _: &'s ExecutionId) -> Option<&'s str> {
                None
            }
            fn finest(&self) -> RowLevel {
                RowLevel::Name
            }
        }
        let (one, other) = ([record("a", 1, "b · c")], [record("b", 2, "c")]);
        assert!(matches!(assemble(&[&one, &other], &Odd), Err(AssembleError::AmbiguousRow { .. })));
        let total = [record("", 1, "TOTAL")];
        assert_eq!(assemble(&[&total], &crate::steps::NoSteps), Err(AssembleError::ReservedRow));
        assert!(assemble(&[&[record("a", 1, "TOTAL")]], &NAMES).is_ok());
    }

    #[test]
    fn broken_ids_are_named_with_their_trial() {
        let broken = [StageRecord { execution_id: Cow::Borrowed("x' OR 1=1"), ..record("a", 1, "map") }];
        let error = assemble(&[&[], &broken], &NAMES).unwrap_err().to_string();
        assert!(error.starts_with("trial 1: an execution id has '\\'' as character 2; allowed: "), "{error}");
    }

    #[test]
    fn a_trial_without_records_has_no_rows() {
        let assembly = assemble(&[&[], &[record("", 1, "map")]], &crate::steps::NoSteps).unwrap();
        assert_eq!(assembly.trials[0].trial.executions, Some(0));
        assert!(assembly.trials[0].trial.stages.is_empty());
    }

    #[test]
    fn hostile_stage_names_are_kept_and_never_shown_raw() {
        let hostile: String = "\u{202e}\u{7}|`<!--@team\n".chars().cycle().take(4000).collect();
        let records: Vec<StageRecord<'_>> =
            (0..2).map(|_| StageRecord { stage_name: Cow::Borrowed(&hostile), ..record("a", 1, "") }).collect();
        let trial = assemble(&[&records[..1]], &NAMES).unwrap().trials.remove(0);
        assert_eq!(trial.rows[0].0.stage, hostile);
        assert_eq!(trial.trial.stages[0].0, format!("a · {hostile}"));
        let message = assemble(&[&records], &NAMES).unwrap_err().to_string();
        assert!(message.len() < 1000 && !message.contains(['\u{202e}', '\u{7}', '\n']), "{message}");
    }
}
