//! The answers of a trial as rows: of this machine here, of a cluster in [`cluster`].

pub mod cluster;
pub mod executions;
mod record;

use domain::ports::Answer;
use domain::stats::output::TOTAL;
use domain::stats::{Event, Reading, Stage, Trial};
use domain::tally::RowContext;
use serde_json::Value;

use crate::supervisor::Exit;
use record::of;
pub use record::{Host, Load, StepLoad, StepRecord};

/// The answer that holds the measurements.
pub const STEPS: &str = "steps.json";
/// The answer that holds the load of the machine.
pub const LOAD: &str = "load.json";

/// Why answers are no trial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// An answer is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An answer does not have the form that it is written in.
    #[error("{name} cannot be read: {why}")]
    Form {
        /// The answer.
        name: &'static str,
        /// What is wrong, with line and column.
        why: String,
    },
    /// An answer is there twice.
    #[error("{0} is there twice")]
    Twice(&'static str),
    /// No step was measured.
    #[error("{STEPS} has no step")]
    NoStep,
    /// A name that no row can have.
    #[error("{STEPS} has a step named {name:?}, {why}")]
    Name {
        /// The name, shortened.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// What is known of a step beside its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// The step.
    pub step: String,
    /// How it ended.
    pub exit: Exit,
    /// A digest of what it made: 1 to 128 characters of `A-Z a-z 0-9 : . _ + / = -`.
    pub output_digest: Option<String>,
    /// It printed a digest that is none.
    pub bad_digest: bool,
    /// Some output was not kept.
    pub truncated: bool,
    /// Processes that it left running and that were killed.
    pub left_behind: usize,
}

/// A trial with its rows, whatever backend ran it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// What is judged.
    pub trial: Trial,
    /// The steps of a trial on this machine.
    pub steps: Vec<StepFacts>,
    /// Where a trial on this machine ran.
    pub load: Option<Load>,
    /// What is known of a trial on a cluster.
    pub cluster: Option<cluster::Facts>,
    /// Averages of each row, as context.
    pub context: Vec<(String, RowContext)>,
}

impl From<LocalTrial> for Measured {
    fn from(local: LocalTrial) -> Self {
        Self { trial: local.trial, steps: local.steps, load: local.load, ..Self::default() }
    }
}

/// A trial of the local backend.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalTrial {
    /// What is judged: a row for each step, in their order, from one execution.
    pub trial: Trial,
    /// The steps, in the same order.
    pub steps: Vec<StepFacts>,
    /// Where it ran; `None` where nobody wrote that down.
    pub load: Option<Load>,
}

/// Reads the answers of a local trial. Pure: the same bytes give the same rows. A number that is missing or bad stays
/// missing or bad.
///
/// # Errors
/// See [`AssembleError`].
pub fn local(answers: &[Answer]) -> Result<LocalTrial, AssembleError> {
    let records: Vec<StepRecord> = read(answers, STEPS)?.ok_or(AssembleError::Missing(STEPS))?;
    let load: Option<Load> = read(answers, LOAD)?;
    if records.is_empty() {
        return Err(AssembleError::NoStep);
    }
    let mut assembled = LocalTrial { trial: Trial { executions: Some(1), ..Trial::default() }, steps: vec![], load };
    for record in records {
        let refused = |why| {
            let name = record.step.chars().take(60).collect();
            Err(AssembleError::Name { name, why })
        };
        if record.step.is_empty() {
            return refused("which names nothing");
        }
        if record.step == TOTAL {
            return refused("which is the name of the sum of all rows");
        }
        if assembled.steps.iter().any(|known| known.step == record.step) {
            return refused("and another one of that name");
        }
        let events = &mut assembled.trial.events;
        for event in events_of(&record.exit) {
            events.set(*event, events.count(*event) + 1);
        }
        assembled.trial.stages.push((record.step.clone(), stage(&record)));
        assembled.steps.push(facts(record));
    }
    Ok(assembled)
}

fn read<T: serde::de::DeserializeOwned>(answers: &[Answer], name: &'static str) -> Result<Option<T>, AssembleError> {
    let mut found = answers.iter().filter(|answer| answer.name == name);
    let Some(answer) = found.next() else { return Ok(None) };
    if found.next().is_some() {
        return Err(AssembleError::Twice(name));
    }
    let read = serde_json::from_slice(&answer.bytes);
    read.map(Some).map_err(|why| {
        // A message may repeat a key of the file.
        let why = why.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        AssembleError::Form { name, why }
    })
}

fn stage(record: &StepRecord) -> Stage {
    Stage {
        cpu_time_total: record.cpu_seconds,
        elapsed: record.elapsed_seconds,
        items: of(record.items.as_ref()),
        bytes_processed: of(record.bytes.as_ref()),
        mem_peak_bytes_max: record.peak_bytes,
        total_shards: of(record.shards.as_ref()),
        row_executions: Reading::Value(1.0),
        not_ended: match &record.exit {
            Exit::Code(0) => left(record.left_behind),
            exit => Some(in_words(exit)),
        },
    }
}

/// A step that ended before the processes it started: what they would still have done was neither done nor counted.
fn left(processes: usize) -> Option<String> {
    match processes {
        0 => None,
        1 => Some("left 1 process running".to_owned()),
        more => Some(format!("left {more} processes running")),
    }
}

fn facts(record: StepRecord) -> StepFacts {
    let ok = |digest: &str| {
        (1..=128).contains(&digest.len())
            && digest.bytes().all(|b| b.is_ascii_alphanumeric() || b":._+/=-".contains(&b))
    };
    let output_digest = record.output_digest.as_ref().and_then(Value::as_str).filter(|d| ok(d)).map(str::to_owned);
    StepFacts {
        bad_digest: record.output_digest.is_some() && output_digest.is_none(),
        output_digest,
        step: record.step,
        exit: record.exit,
        truncated: record.truncated,
        left_behind: record.left_behind,
    }
}

/// What happened to a step that ended so. What is not known to be the program's own doing is not held against it.
fn events_of(exit: &Exit) -> &'static [Event] {
    match exit {
        Exit::Code(0) => &[],
        // Somebody sent SIGKILL, as a shell reports it or as it was seen here, and nobody knows who.
        Exit::Code(137) | Exit::Signal(9) | Exit::Limit(_) | Exit::Stopped(_) | Exit::NotStarted(_) => {
            &[Event::UnknownFailure]
        }
        Exit::Code(_) | Exit::Signal(_) => &[Event::AppFailure],
        Exit::Oom(_) => &[Event::Oom],
    }
}

/// How a step ended, in words that follow the name of the step.
#[must_use]
pub fn in_words(exit: &Exit) -> String {
    match exit {
        Exit::Code(137) => "exited with 137, which is how a shell reports SIGKILL; who sent it is not known".to_owned(),
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(9) => "was ended by SIGKILL; who sent it is not known".to_owned(),
        Exit::Signal(signal) => format!("was ended by signal {signal}{}", signal_name(*signal)),
        Exit::Oom(_) => "was killed for want of memory".to_owned(),
        Exit::Limit(_) => "reached its time limit".to_owned(),
        Exit::Stopped(_) => "was stopped".to_owned(),
        Exit::NotStarted(why) => {
            let why: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
            format!("could not be started: {why}")
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn step(step: &str, exit: &Value) -> Value {
        json!({"step": step, "cpu_seconds": 1.5, "elapsed_seconds": 2, "peak_bytes": 4096, "exit": exit, "items": 7,
            "bytes": null, "shards": "x", "stdout_bytes": 1, "stderr_bytes": 0, "truncated": false})
    }

    fn answers(steps: &Value) -> Vec<Answer> {
        vec![Answer { name: STEPS.to_owned(), bytes: steps.to_string().into_bytes() }]
    }

    #[test]
    fn rows_in_the_order_of_the_steps() {
        let assembled =
            local(&answers(&json!([step("z", &json!({"code": 0})), step("a", &json!({"code": 0}))]))).unwrap();
        let names: Vec<&str> = assembled.trial.stages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(assembled.trial.executions, Some(1));
        let expected = Stage {
            cpu_time_total: Reading::Value(1.5),
            elapsed: Reading::Value(2.0),
            items: Reading::Value(7.0),
            bytes_processed: Reading::Missing,
            mem_peak_bytes_max: Reading::Value(4096.0),
            total_shards: Reading::Bad,
            row_executions: Reading::Value(1.0),
            not_ended: None,
        };
        assert_eq!(assembled.trial.stages[0].1, expected);
        assert!(assembled.load.is_none());
    }

    #[test]
    fn what_is_bad_stays_bad() {
        for (value, expected) in [
            (json!(0), Reading::Value(0.0)),
            (json!(-1), Reading::Bad),
            (json!(1e19), Reading::Bad),
            (json!("7"), Reading::Bad),
            (json!(true), Reading::Bad),
            (json!([7]), Reading::Bad),
            (Value::Null, Reading::Missing),
        ] {
            let mut record = step("a", &json!({"code": 0}));
            for field in ["cpu_seconds", "elapsed_seconds", "peak_bytes", "items", "bytes", "shards"] {
                record[field] = value.clone();
            }
            let stage = &local(&answers(&json!([record]))).unwrap().trial.stages[0].1;
            let readings = [
                stage.cpu_time_total,
                stage.elapsed,
                stage.mem_peak_bytes_max,
                stage.items,
                stage.bytes_processed,
                stage.total_shards,
            ];
            assert_eq!(readings, [expected; 6], "{value}");
        }
        let text = r#"[{"step":"a","cpu_seconds":1e999,"exit":{"code":0},"stdout_bytes":0,"stderr_bytes":0,"truncated":false}]"#;
        let broken = [Answer { name: STEPS.to_owned(), bytes: text.into() }];
        assert!(matches!(local(&broken), Err(AssembleError::Form { name: STEPS, .. })));
    }

    #[test]
    fn how_a_step_ended_is_an_event() {
        for (exit, event) in [
            (json!({"code": 0}), None),
            (json!({"code": 1}), Some(Event::AppFailure)),
            (json!({"signal": 11}), Some(Event::AppFailure)),
            (json!({"oom": true}), Some(Event::Oom)),
            (json!({"code": 137}), Some(Event::UnknownFailure)),
            (json!({"signal": 9}), Some(Event::UnknownFailure)),
            (json!({"limit": true}), Some(Event::UnknownFailure)),
            (json!({"stopped": true}), Some(Event::UnknownFailure)),
            (json!({"not_started": "no such file"}), Some(Event::UnknownFailure)),
        ] {
            let trial = local(&answers(&json!([step("a", &exit)]))).unwrap().trial;
            for known in Event::ALL {
                assert_eq!(trial.events.count(known), u64::from(Some(known) == event), "{exit}");
            }
            assert_eq!(trial.stages[0].1.not_ended.is_some(), event.is_some(), "{exit}");
        }
    }

    #[test]
    fn a_step_that_leaves_processes_has_not_ended() {
        for (left, exit, expected) in [
            (0, json!({"code": 0}), None),
            (1, json!({"code": 0}), Some("left 1 process running")),
            (3, json!({"code": 0}), Some("left 3 processes running")),
            (3, json!({"code": 2}), Some("exited with 2")),
        ] {
            let mut record = step("a", &exit);
            record["left_behind"] = json!(left);
            let assembled = local(&answers(&json!([record]))).unwrap();
            assert_eq!(assembled.trial.stages[0].1.not_ended.as_deref(), expected);
            assert_eq!(assembled.steps[0].left_behind, left);
        }
    }

    #[test]
    fn digests() {
        for (digest, expected, bad) in [
            (json!("sha256:0aF="), Some("sha256:0aF="), false),
            (Value::Null, None, false),
            (json!(""), None, true),
            (json!("a b"), None, true),
            (json!(7), None, true),
            (json!("x".repeat(129)), None, true),
        ] {
            let mut record = step("a", &json!({"code": 0}));
            record["output_digest"] = digest;
            let facts = local(&answers(&json!([record]))).unwrap().steps.remove(0);
            assert_eq!((facts.output_digest.as_deref(), facts.bad_digest), (expected, bad));
        }
    }

    #[test]
    fn what_is_no_trial() {
        let ok = json!({"code": 0});
        assert_eq!(local(&[]), Err(AssembleError::Missing(STEPS)));
        assert_eq!(local(&answers(&json!([]))), Err(AssembleError::NoStep));
        let twice: Vec<Answer> = answers(&json!([step("a", &ok)])).into_iter().cycle().take(2).collect();
        assert_eq!(local(&twice), Err(AssembleError::Twice(STEPS)));
        for (steps, message) in [
            (json!([step("", &ok)]), "steps.json has a step named \"\", which names nothing"),
            (
                json!([step("TOTAL", &ok)]),
                "steps.json has a step named \"TOTAL\", which is the name of the sum of all rows",
            ),
            (
                json!([step("a", &ok), step("a", &ok)]),
                "steps.json has a step named \"a\", and another one of that name",
            ),
        ] {
            assert_eq!(local(&answers(&steps)).unwrap_err().to_string(), message);
        }
        let mut more = step("a", &ok);
        more["wall"] = json!(1);
        let error = local(&answers(&json!([more]))).unwrap_err().to_string();
        assert!(error.starts_with("steps.json cannot be read: unknown field `wall`"), "{error}");
        let mut broken = answers(&json!([step("a", &ok)]));
        broken.push(Answer { name: LOAD.to_owned(), bytes: b"{".to_vec() });
        assert!(matches!(local(&broken), Err(AssembleError::Form { name: LOAD, .. })));
    }

    #[test]
    fn what_is_written_is_read() {
        let record = StepRecord {
            step: "a".to_owned(),
            cpu_seconds: Reading::Value(0.123_456),
            elapsed_seconds: Reading::Missing,
            peak_bytes: Reading::Bad,
            exit: Exit::Signal(6),
            items: Some(json!("given 2 times")),
            bytes: None,
            shards: Some(json!(3)),
            output_digest: None,
            stdout_bytes: 1 << 40,
            stderr_bytes: 0,
            truncated: true,
            left_behind: 2,
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<StepRecord>(&text).unwrap(), record);
    }

    #[test]
    fn the_kind_of_a_machine() {
        assert_eq!(Host::default().class(), None);
        let host = Host { cores: Some(2), memory_bytes: Some((8 << 30) - 5), ..Host::default() };
        assert_eq!(host.class().as_deref(), Some("2 cores, 8 GiB"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), load in prop::collection::vec(any::<u8>(), 0..40)) {
            let answers = [Answer { name: STEPS.to_owned(), bytes }, Answer { name: LOAD.to_owned(), bytes: load }];
            prop_assert!(local(&answers).is_err());
        }

        #[test]
        fn a_changed_byte_is_an_error_or_a_trial(at in 0_usize..400, byte in any::<u8>()) {
            let mut answers = answers(&json!([step("a", &json!({"code": 0})), step("b", &json!({"signal": 9}))]));
            let at = at % answers[0].bytes.len();
            answers[0].bytes[at] = byte;
            if let Ok(assembled) = local(&answers) {
                prop_assert_eq!(assembled.trial.stages.len(), assembled.steps.len());
                for (_, stage) in &assembled.trial.stages {
                    for reading in [stage.cpu_time_total, stage.elapsed, stage.items, stage.mem_peak_bytes_max] {
                        prop_assert!(reading.value().is_none_or(|value| Reading::of(value) == reading));
                    }
                }
            }
        }
    }
}
