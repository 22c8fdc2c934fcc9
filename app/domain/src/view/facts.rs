//! What was found beside the measurements.

use serde::{Deserialize, Serialize};

use super::{Difference, Grade, Job, Verdict};

/// The workload fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Its digest.
    pub digest: String,
    /// Its fields and values, in canonical order.
    pub fields: Vec<(String, String)>,
    /// Undeclared differences between the arms.
    pub differences: Vec<Difference>,
}

/// What the calibration is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Its grade.
    pub grade: Grade,
    /// Same-code ratios per row.
    pub ratios: Option<u64>,
    /// Age of the newest ratio in days.
    pub age_days: Option<u64>,
    /// The date at which it was frozen for this comparison.
    pub frozen: Option<String>,
}

/// Rounds and looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds that were counted.
    pub done: u64,
    /// The largest number of rounds that is planned.
    pub planned: Option<u64>,
    /// After which rounds the comparison is looked at.
    pub looks: Vec<u64>,
    /// Looks of this ledger so far.
    pub looked: Option<u64>,
}

/// What can happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A machine was taken away.
    Preemption,
    /// A task was started again.
    Retry,
    /// The application failed.
    AppFailure,
    /// The infrastructure failed.
    InfraFailure,
    /// A machine was faulty.
    HardwareFault,
    /// A failure of unknown cause.
    UnknownFailure,
    /// A worker was lost; the clock of the round does not count.
    LostWorker,
    /// A shard was much slower than the others.
    Straggler,
    /// A worker ran out of memory.
    Oom,
}

impl Happening {
    /// Every happening.
    pub const ALL: [Self; 9] = [
        Self::Preemption,
        Self::Retry,
        Self::AppFailure,
        Self::InfraFailure,
        Self::HardwareFault,
        Self::UnknownFailure,
        Self::LostWorker,
        Self::Straggler,
        Self::Oom,
    ];

    /// The key of its words.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Preemption => "preemption",
            Self::Retry => "retry",
            Self::AppFailure => "app_failure",
            Self::InfraFailure => "infra_failure",
            Self::HardwareFault => "hardware_fault",
            Self::UnknownFailure => "unknown_failure",
            Self::LostWorker => "lost_worker",
            Self::Straggler => "straggler",
            Self::Oom => "oom",
        }
    }
}

/// What happened to one arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArmFacts {
    /// Name of the arm.
    pub arm: String,
    /// How often what happened; nothing that happened 0 times.
    pub happened: Vec<(Happening, u64)>,
    /// The kinds of machines it ran on.
    pub host_classes: Vec<String>,
    /// The zones of those machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Largest memory of one of its tasks, MiB, where that is measured apart from the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_task_mib: Option<u64>,
}

/// A machine that did other things meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// The largest mean number of runnable processes over one minute.
    pub load: f64,
    /// Its processors.
    pub cores: u64,
}

/// A step that did not end well, or whatever else kept trials of an arm from their end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Name of the arm.
    pub arm: String,
    /// How it ended, such as `step sort exited with 1`.
    pub what: String,
    /// In how many trials of the arm.
    pub times: u64,
    /// The last lines that it printed, as they were logged.
    pub said: Vec<String>,
}

/// What happened on the machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Infrastructure {
    /// Per arm, control first.
    pub arms: Vec<ArmFacts>,
    /// Rounds that were thrown away and measured anew.
    pub replaced_rounds: Option<u64>,
    /// Scheduling priority, such as `batch, not preemptible`.
    pub priority: Option<String>,
    /// Where more wanted to run than there are processors, and others did.
    pub busy: Option<Busy>,
    /// What else a reader should know of how the measurements were collected; foreign text among it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Shard-weighted averages of one row of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// Name of the arm.
    pub arm: String,
    /// The row.
    pub row: String,
    /// Average CPU use in percent of a core.
    pub cpu_pct: Option<f64>,
    /// Average resident memory in bytes.
    pub mem_bytes: Option<f64>,
}

/// How long something took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// What, such as `round 1, control: launcher job`.
    pub what: String,
    /// When it began.
    pub began: Option<String>,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// The job that it is about, where its arm does not name it.
    pub job: Option<Job>,
}

/// An earlier verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Head that was measured.
    pub head: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// What it came to in a few words, such as `CPU −1.2 %`.
    pub said: Option<String>,
    /// When.
    pub at: Option<String>,
    /// Its page.
    pub url: Option<String>,
}

/// Commits, ids and links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The repository as people know it, such as `owner/name`.
    pub repository: Option<String>,
    /// The head that was measured.
    pub head: Option<String>,
    /// The merge base of head and base branch.
    pub merge_base: Option<String>,
    /// Id of the run.
    pub run: Option<String>,
    /// Digest of the evidence.
    pub evidence: Option<String>,
    /// Page of the run; every row is there.
    pub page: Option<String>,
}
