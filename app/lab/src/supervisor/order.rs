//! What a supervisor is told and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Machine, Work};

/// One step to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Program and arguments; never given to a shell.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The folder it runs in.
    pub dir: PathBuf,
    /// After how many milliseconds it is killed.
    pub limit_ms: u64,
    /// How much of each output is kept, bytes: the first and the last half.
    pub keep_bytes: usize,
    /// Where standard output is kept.
    pub stdout: PathBuf,
    /// Where standard error is kept.
    pub stderr: PathBuf,
}

/// `true` in JSON, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yes;

impl Serialize for Yes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? { Ok(Self) } else { Err(serde::de::Error::custom("expected true")) }
    }
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal, which nobody here sent.
    Signal(i32),
    /// Killed by the kernel, which had run out of memory meanwhile.
    Oom(Yes),
    /// Killed at its time limit.
    Limit(Yes),
    /// Killed because its trial was stopped, or because a step beside it failed.
    Stopped(Yes),
    /// Its program could not be started, as the system said.
    NotStarted(String),
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How it ended; `None` where the supervisor failed, see `problem`.
    pub exit: Option<Exit>,
    /// User and system CPU seconds; `None` where they could not be read.
    pub cpu_seconds: Option<f64>,
    /// Seconds from start to end.
    pub elapsed_seconds: f64,
    /// Largest resident set of any of its processes, bytes.
    pub peak_bytes: Option<u64>,
    /// Bytes of standard output, kept or not.
    pub stdout_bytes: u64,
    /// Bytes of standard error, kept or not.
    pub stderr_bytes: u64,
    /// Some output was not kept.
    pub truncated: bool,
    /// What its last JSON line says it did.
    pub work: Work,
    /// Processes that it left running and that were killed.
    pub left_behind: usize,
    /// What the machine did meanwhile.
    pub machine: Machine,
    /// What went wrong with measuring it, if anything did: then its numbers are not to be trusted.
    pub problem: Option<String>,
}

impl Report {
    pub(crate) fn failed(problem: String) -> Self {
        Self {
            exit: None,
            cpu_seconds: None,
            elapsed_seconds: 0.0,
            peak_bytes: None,
            stdout_bytes: 0,
            stderr_bytes: 0,
            truncated: false,
            work: Work::default(),
            left_behind: 0,
            machine: Machine::default(),
            problem: Some(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_as_json() {
        for (exit, text) in [
            (Exit::Code(3), r#"{"code":3}"#),
            (Exit::Signal(11), r#"{"signal":11}"#),
            (Exit::Oom(Yes), r#"{"oom":true}"#),
            (Exit::Limit(Yes), r#"{"limit":true}"#),
            (Exit::Stopped(Yes), r#"{"stopped":true}"#),
            (Exit::NotStarted("no".to_owned()), r#"{"not_started":"no"}"#),
        ] {
            assert_eq!(serde_json::to_string(&exit).unwrap(), text);
            assert_eq!(serde_json::from_str::<Exit>(text).unwrap(), exit);
        }
        for bad in [r#"{"limit":false}"#, r#"{"code":"0"}"#, r#"{"code":0,"signal":1}"#, "{}", "0"] {
            assert!(serde_json::from_str::<Exit>(bad).is_err(), "{bad}");
        }
    }
}
