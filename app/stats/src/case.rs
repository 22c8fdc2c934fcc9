//! A case as it was read: trials of a control and of treatments, calibration, flags.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, PerMetric};
use crate::reason::{Reason, Verdict};

/// One measured value. A number is only good when it is 0 or within 1e-9 ..= 1e18; nothing else ever becomes 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reading {
    /// Absent or null.
    #[default]
    Missing,
    /// There, but not a usable number.
    Bad,
    /// A usable number.
    Value(f64),
}

impl Reading {
    /// The reading of a number: [`Reading::Bad`] when it is negative, not finite, or beyond the accepted range.
    #[must_use]
    pub fn of(number: f64) -> Self {
        if number == 0.0 || (1e-9..=1e18).contains(&number) { Self::Value(number) } else { Self::Bad }
    }

    /// The number, where there is a usable one.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        if let Self::Value(v) = self { Some(v) } else { None }
    }

    /// Absent or null.
    #[must_use]
    pub fn is_missing(self) -> bool {
        self == Self::Missing
    }

    /// The number where it is usable and above 0: what can be divided by.
    #[must_use]
    pub fn positive(self) -> Option<f64> {
        self.value().filter(|v| *v > 0.0)
    }
}

/// The sums of one row in one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// User and system CPU seconds.
    pub cpu_time_total: Reading,
    /// Summed stage elapsed, seconds.
    pub elapsed: Reading,
    /// Items processed.
    pub items: Reading,
    /// Bytes processed.
    pub bytes_processed: Reading,
    /// Largest resident memory of a shard, bytes.
    pub mem_peak_bytes_max: Reading,
    /// Shards.
    pub total_shards: Reading,
    /// Executions that this row was summed over.
    pub row_executions: Reading,
    /// The status where it is not END.
    pub not_ended: Option<String>,
}

impl Stage {
    /// The seconds of a metric.
    #[must_use]
    pub fn metric(&self, metric: crate::config::Metric) -> Reading {
        match metric {
            crate::config::Metric::Cpu => self.cpu_time_total,
            crate::config::Metric::Elapsed => self.elapsed,
        }
    }
}

/// What happened to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A worker ran out of memory.
    Oom,
    /// The application failed; the cause is known to be the application.
    AppFailure,
    /// Something spoiled the clock of this trial but not its CPU time.
    ChurnElapsed,
    /// Preempted.
    Preempted,
    /// A machine was faulty.
    HardwareFault,
    /// The infrastructure failed.
    InfraFailure,
    /// One shard was much slower than the others, and not because of the change.
    Straggler,
    /// Failed for a reason that is not known.
    UnknownFailure,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 8] = [
        Self::Oom,
        Self::AppFailure,
        Self::ChurnElapsed,
        Self::Preempted,
        Self::HardwareFault,
        Self::InfraFailure,
        Self::Straggler,
        Self::UnknownFailure,
    ];
    /// The events that void a round.
    pub const CHURN: [Self; 5] =
        [Self::Preempted, Self::HardwareFault, Self::InfraFailure, Self::Straggler, Self::UnknownFailure];

    /// The key in the input.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Oom => "oom",
            Self::AppFailure => "app_failure",
            Self::ChurnElapsed => "churn_elapsed",
            Self::Preempted => "preempted",
            Self::HardwareFault => "hardware_fault",
            Self::InfraFailure => "infra_failure",
            Self::Straggler => "straggler",
            Self::UnknownFailure => "unknown_failure",
        }
    }
}

/// How often each event happened in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events([u64; 8]);

impl Events {
    /// How often `event` happened.
    #[must_use]
    pub fn count(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// Sets how often `event` happened.
    pub fn set(&mut self, event: Event, count: u64) {
        self.0[event as usize] = count;
    }
}

/// One job of one arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Rows in the order of the input; no name twice.
    pub stages: Vec<(String, Stage)>,
    /// Pipeline executions, where they were counted.
    pub executions: Option<u64>,
    /// What happened.
    pub events: Events,
}

/// The control trial of a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A trial of its own.
    Own(Trial),
    /// A control trial of the case, by index, shared between treatments.
    Shared(usize),
}

/// One control trial and one treatment trial side by side in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The control trial.
    pub control: Control,
    /// The treatment trial.
    pub treatment: Trial,
}

/// Trials outside the rounds: a failed one whose round was replaced, and its repeats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confirmation {
    /// A control trial.
    pub control: Option<Trial>,
    /// A treatment trial.
    pub treatment: Option<Trial>,
}

/// One treatment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arm {
    /// Paired rounds.
    pub rounds: Vec<Round>,
    /// Trials of an unpaired comparison.
    pub trials: Vec<Trial>,
    /// The undeclared differences of the fingerprints; `Some` (even if it names none) is a mismatch.
    pub fingerprint_mismatch: Option<Vec<Value>>,
    /// Differences that the arm declares; echoed and printed.
    pub declared: Vec<(String, Value)>,
    /// A declared or detected change of pool, parallelism or concurrency.
    pub topology: bool,
    /// A failure was confirmed elsewhere.
    pub confirmed: bool,
    /// Trials outside the rounds.
    pub confirmations: Vec<Confirmation>,
    /// A reason found by the engine.
    pub blocked: Option<Reason>,
    /// The verdict of an earlier look, carried over.
    pub decided: Option<(Verdict, Reason)>,
}

/// What the calibration of a comparison is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// The same setting, at least ten ratios, at most 30 days old.
    A,
    /// The same setting, five to nine ratios.
    A5,
    /// A similar or older setting.
    B,
    /// No calibration to speak of.
    #[default]
    C,
}

impl Grade {
    /// The word in input and output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::A5 => "A5",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

/// Variance learnt from earlier comparisons: a sum of squares about the mean of each comparison, and its degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// Sum of squares, log scale, pair scale.
    pub ss: f64,
    /// Degrees of freedom.
    pub df: f64,
}

/// What is known of the noise of this workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// What the caller says it is worth; the number of ratios caps it.
    pub grade: Grade,
    /// Same-code log ratios per row, TOTAL among them.
    pub ratios: PerMetric<BTreeMap<String, Vec<f64>>>,
    /// Free growth per row.
    pub residual: PerMetric<BTreeMap<String, Residual>>,
}

/// The name of the only treatment of a case that does not name it.
pub const SOLE_TREATMENT: &str = "treatment";

/// Everything that a verdict is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The settings.
    pub config: Config,
    /// What is known of the noise.
    pub calibration: Calibration,
    /// Control trials that treatments share (paired) or are compared with (unpaired).
    pub control: Vec<Trial>,
    /// The treatments by name, in the order of their declaration. At least one.
    pub arms: Vec<(String, Arm)>,
    /// Whether the input named its treatments; the output then does too.
    pub several: bool,
}
