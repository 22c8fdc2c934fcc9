//! The files that a trial writes.

use domain::stats::Reading;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::supervisor::{Exit, Machine};

/// One step as it is written to `steps.json`. What a step printed about its work stands there as it was printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The step; the name of its row.
    pub step: String,
    /// User and system CPU seconds.
    #[serde(default, with = "reading")]
    pub cpu_seconds: Reading,
    /// Seconds from start to end.
    #[serde(default, with = "reading")]
    pub elapsed_seconds: Reading,
    /// Largest resident set of any of its processes, bytes.
    #[serde(default, with = "reading")]
    pub peak_bytes: Reading,
    /// How it ended.
    pub exit: Exit,
    /// Items processed.
    #[serde(default)]
    pub items: Option<Value>,
    /// Bytes processed.
    #[serde(default)]
    pub bytes: Option<Value>,
    /// Shards.
    #[serde(default)]
    pub shards: Option<Value>,
    /// A digest of what it made.
    #[serde(default)]
    pub output_digest: Option<Value>,
    /// Bytes of standard output.
    pub stdout_bytes: u64,
    /// Bytes of standard error.
    pub stderr_bytes: u64,
    /// Some output was not kept.
    pub truncated: bool,
    /// Processes that it left running and that were killed.
    #[serde(default)]
    pub left_behind: usize,
}

/// `load.json`: where a trial ran and what else happened there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The machine.
    pub host: Host,
    /// Per step that ran, in the order of the steps.
    pub steps: Vec<StepLoad>,
}

/// A machine. `None` where something could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processors that may be used.
    pub cores: Option<u64>,
    /// The kind of processor.
    pub cpu: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// How the frequency of the processors is governed.
    pub governor: Option<String>,
}

impl Host {
    /// The kind of machine in a few words, for a reader and for telling kinds apart; `None` where nothing is known.
    #[must_use]
    pub fn class(&self) -> Option<String> {
        let cores = self.cores.map(|cores| format!("{cores} cores"));
        let memory = self.memory_bytes.map(|bytes| format!("{} GiB", bytes.div_ceil(1 << 30)));
        let parts: Vec<String> = self.cpu.clone().into_iter().chain(cores).chain(memory).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// What the machine did while a step ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepLoad {
    /// The step.
    pub step: String,
    /// CPU seconds of everything but this step, a step beside it included; `None` where it could not be read.
    pub other_seconds: Option<f64>,
    /// The readings.
    pub machine: Machine,
}

pub(super) fn of(value: Option<&Value>) -> Reading {
    match value {
        None | Some(Value::Null) => Reading::Missing,
        Some(Value::Number(number)) => number.as_f64().map_or(Reading::Bad, Reading::of),
        Some(_) => Reading::Bad,
    }
}

mod reading {
    use super::{Deserialize as _, Deserializer, Reading, Serializer, Value};

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
    pub(super) fn serialize<S: Serializer>(reading: &Reading, serializer: S) -> Result<S::Ok, S::Error> {
        match reading {
            Reading::Missing => serializer.serialize_none(),
            Reading::Bad => serializer.serialize_str("bad"),
            Reading::Value(value) => serializer.serialize_f64(*value),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reading, D::Error> {
        Ok(super::of(Some(&Value::deserialize(deserializer)?)))
    }
}
