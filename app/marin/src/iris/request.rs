//! What a job is to be: the request of a launch, which is also what the controller tells of a job's origin.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::wire::{self, Extra, Millis, is_default, open_enum};

open_enum!(
    /// How urgent a job is. Interactive over budget may become batch: the controller's answer tells the one in force.
    PriorityBand, Inherit {
        /// The parent's, or the controller's default.
        Inherit = "PRIORITY_BAND_INHERIT" 0,
        /// By prior agreement only.
        Production = "PRIORITY_BAND_PRODUCTION" 1,
        /// Of people who wait.
        Interactive = "PRIORITY_BAND_INTERACTIVE" 2,
        /// Yields to all others and needs no budget.
        Batch = "PRIORITY_BAND_BATCH" 3,
        /// The cluster's own.
        System = "PRIORITY_BAND_SYSTEM" 4,
    }
);

open_enum!(
    /// What happens when a job of the name exists.
    ExistingJobPolicy, Unspecified {
        /// A running one is an error, a finished one is replaced.
        Unspecified = "EXISTING_JOB_POLICY_UNSPECIFIED" 0,
        /// An error, finished or not.
        Error = "EXISTING_JOB_POLICY_ERROR" 1,
        /// A running one is kept, a finished one is replaced.
        Keep = "EXISTING_JOB_POLICY_KEEP" 2,
        /// Replaced.
        Recreate = "EXISTING_JOB_POLICY_RECREATE" 3,
    }
);

open_enum!(
    /// How a constraint compares.
    ConstraintOp, Eq {
        /// Equal.
        Eq = "CONSTRAINT_OP_EQ" 0,
        /// Not equal.
        Ne = "CONSTRAINT_OP_NE" 1,
        /// There.
        Exists = "CONSTRAINT_OP_EXISTS" 2,
        /// Not there.
        NotExists = "CONSTRAINT_OP_NOT_EXISTS" 3,
        /// Above.
        Gt = "CONSTRAINT_OP_GT" 4,
        /// Above or equal.
        Ge = "CONSTRAINT_OP_GE" 5,
        /// Below.
        Lt = "CONSTRAINT_OP_LT" 6,
        /// Below or equal.
        Le = "CONSTRAINT_OP_LE" 7,
        /// One of several.
        In = "CONSTRAINT_OP_IN" 8,
    }
);

/// A value of a constraint: one of the three.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttributeValue {
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// An integer, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub int_value: Option<String>,
    /// A number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub float_value: Option<f64>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// What a worker must be like.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Constraint {
    /// The attribute: `region`, `zone`, `preemptible`, `cluster`.
    pub key: String,
    /// How it compares.
    pub op: ConstraintOp,
    /// With what.
    #[serde(skip_serializing_if = "is_default")]
    pub value: AttributeValue,
    /// With which, for `In`.
    #[serde(skip_serializing_if = "is_default")]
    pub values: Vec<AttributeValue>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

impl Constraint {
    /// `key` is one of `values`.
    #[must_use]
    pub fn one_of(key: &str, values: &[&str]) -> Self {
        let mut values: Vec<_> = values
            .iter()
            .map(|text| AttributeValue { string_value: Some((*text).to_owned()), ..AttributeValue::default() })
            .collect();
        let key = key.to_owned();
        match values.pop() {
            Some(value) if values.is_empty() => Self { key, op: ConstraintOp::Eq, value, ..Self::default() },
            last => {
                values.extend(last);
                Self { key, op: ConstraintOp::In, values, ..Self::default() }
            }
        }
    }
}

/// What a job gets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// Thousandths of a processor.
    pub cpu_millicores: i64,
    /// Bytes.
    #[serde(with = "wire::int64")]
    pub memory_bytes: i64,
    /// Bytes.
    #[serde(with = "wire::int64")]
    pub disk_bytes: i64,
    /// What this version does not know, the device among it.
    #[serde(flatten)]
    pub other: Extra,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entrypoint {
    /// Shell texts that run before the command; without them nothing is installed.
    #[serde(skip_serializing_if = "is_default")]
    pub setup_commands: Vec<String>,
    /// The command.
    pub run_command: Command,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// What it runs in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Environment {
    /// Variables. They are shown by the controller to whoever asks: no place for secrets.
    #[serde(skip_serializing_if = "is_default")]
    pub env_vars: BTreeMap<String, String>,
    /// Shell texts that children of the job inherit. A controller of June 2026 has no such field.
    #[serde(skip_serializing_if = "is_default")]
    pub setup_scripts: Vec<String>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// A job to launch, and the origin of one that was. Fields that are empty are not sent.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchRequest {
    /// `/user/job`; fresh, for the logs of a former job stay under its name.
    pub name: String,
    /// What runs.
    pub entrypoint: Entrypoint,
    /// What it gets.
    pub resources: Resources,
    /// What it runs in.
    pub environment: Environment,
    /// SHA-256 of a zip the controller has, 64 hex digits.
    #[serde(skip_serializing_if = "is_default")]
    pub bundle_id: String,
    /// The zip itself, at most 25 MiB.
    #[serde(skip_serializing_if = "is_default", with = "wire::bytes")]
    pub bundle_blob: Vec<u8>,
    /// What the workers must be like.
    #[serde(skip_serializing_if = "is_default")]
    pub constraints: Vec<Constraint>,
    /// Tasks.
    pub replicas: i64,
    /// Failed tasks a job bears.
    #[serde(skip_serializing_if = "is_default")]
    pub max_task_failures: i64,
    /// Failures of its own a task is tried again after.
    #[serde(skip_serializing_if = "is_default")]
    pub max_retries_failure: i64,
    /// Preemptions a task is tried again after.
    #[serde(skip_serializing_if = "is_default")]
    pub max_retries_preemption: i64,
    /// How long it may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// How long it may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_timeout: Option<Millis>,
    /// How urgent it is.
    #[serde(skip_serializing_if = "is_default")]
    pub priority_band: PriorityBand,
    /// What happens when a job of the name exists. A launch of this crate sends `Error`.
    #[serde(skip_serializing_if = "is_default")]
    pub existing_job_policy: ExistingJobPolicy,
    /// The container image; the cluster's where empty.
    #[serde(skip_serializing_if = "is_default")]
    pub task_image: String,
    /// What the container may do. A controller of June 2026 has no such field.
    #[serde(skip_serializing_if = "is_default")]
    pub container_profile: String,
    /// Where the container may connect to. A controller of June 2026 has no such field.
    #[serde(skip_serializing_if = "is_default")]
    pub egress_policy: String,
    /// What the controller's pages show as the command that submitted the job.
    #[serde(skip_serializing_if = "is_default")]
    pub submit_argv: Vec<String>,
    /// Build date of the client, `YYYY-MM-DD`. Newer controllers take a request without one and refuse one of an
    /// old date; a controller of June 2026 refuses a request without one.
    #[serde(skip_serializing_if = "is_default")]
    pub client_revision_date: String,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

// By hand: a bundle is megabytes.
impl fmt::Debug for LaunchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchRequest")
            .field("name", &self.name)
            .field("argv", &self.entrypoint.run_command.argv)
            .field("resources", &self.resources)
            .field("bundle_id", &self.bundle_id)
            .field("bundle_bytes", &self.bundle_blob.len())
            .field("constraints", &self.constraints)
            .field("priority_band", &self.priority_band)
            .finish_non_exhaustive()
    }
}

/// The id the controller gives a bundle: SHA-256 in hex.
#[must_use]
pub fn bundle_id(zip: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(zip).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a controller shows in the place of a value of the environment, or of a part of one, that looks like a secret:
/// also of every long random text, which a commit is.
pub const HIDDEN: &str = "[REDACTED]";

/// Whether a controller may show `value` as `shown`.
fn may_be_shown_as(value: &str, shown: &str) -> bool {
    let mut parts: Vec<&str> = shown.split(HIDDEN).collect();
    let Some(last) = parts.pop().filter(|_| !parts.is_empty()) else { return value == shown };
    let Some(mut rest) = value.strip_prefix(parts[0]) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl LaunchRequest {
    /// Whether a job with the origin `recorded` does what this request asks for: the same command, set-up,
    /// environment, bundle and size, as far as it is shown. Names, bands and constraints may have been changed by the
    /// controller.
    #[must_use]
    pub fn asks_the_same_as(&self, recorded: &Self) -> bool {
        let bundle = |request: &Self| {
            if request.bundle_blob.is_empty() { request.bundle_id.clone() } else { bundle_id(&request.bundle_blob) }
        };
        let size = |request: &Self| {
            let Resources { cpu_millicores, memory_bytes, disk_bytes, .. } = request.resources;
            (cpu_millicores, memory_bytes, disk_bytes)
        };
        self.entrypoint.run_command.argv == recorded.entrypoint.run_command.argv
            && self.entrypoint.setup_commands == recorded.entrypoint.setup_commands
            && self.environment.env_vars.len() == recorded.environment.env_vars.len()
            && self.environment.env_vars.iter().all(|(name, value)| {
                recorded.environment.env_vars.get(name).is_some_and(|shown| may_be_shown_as(value, shown))
            })
            && bundle(self) == bundle(recorded)
            && size(self) == size(recorded)
            && self.replicas.max(1) == recorded.replicas.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_are_compared_as_far_as_they_are_shown() {
        for (value, shown, same) in [
            ("1", "1", true),
            ("1", "2", false),
            ("1", "[REDACTED]", true),
            (r#"{"commit":"5c5f1305","dirty":false}"#, r#"{"commit":"[REDACTED]","dirty":false}"#, true),
            (r#"{"commit":"5c5f1305","dirty":true}"#, r#"{"commit":"[REDACTED]","dirty":false}"#, false),
            ("a=x,b=y", "a=[REDACTED],b=[REDACTED]", true),
            ("a=x,c=y", "a=[REDACTED],b=[REDACTED]", false),
            ("a", "aa[REDACTED]", false),
        ] {
            let request = |text: &str| {
                let mut request = LaunchRequest::default();
                request.environment.env_vars.insert("A".to_owned(), text.to_owned());
                request
            };
            assert_eq!(request(value).asks_the_same_as(&request(shown)), same, "{value} {shown}");
        }
        let mut more = LaunchRequest::default();
        more.environment.env_vars.insert("A".to_owned(), "1".to_owned());
        assert!(!more.asks_the_same_as(&LaunchRequest::default()));
    }
}
