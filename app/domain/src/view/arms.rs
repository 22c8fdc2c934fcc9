//! Control and treatments.

use serde::{Deserialize, Serialize};

use super::Judgement;

/// One job of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Its id, such as `/ab/zephyr-k7-1-control`.
    pub id: String,
    /// Its page.
    pub url: Option<String>,
}

/// The digest of one output of an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// What was digested, such as `dedup/attributes`.
    pub name: String,
    /// Its digest, such as `sha256:9f…`.
    pub digest: String,
}

/// A field that differs between control and treatment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The field, such as `pool_workers`.
    pub field: String,
    /// Its value in the control, where it has one.
    pub control: Option<String>,
    /// Its value in the treatment, where it has one.
    pub treatment: Option<String>,
}

/// The control arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Control {
    /// Its commit.
    pub sha: Option<String>,
    /// The branch it was taken from, such as `main`.
    pub base_ref: Option<String>,
    /// How many commits it is behind that branch.
    pub behind: Option<u64>,
    /// Its jobs.
    pub jobs: Vec<Job>,
    /// Runs that were counted.
    pub runs: Option<u64>,
    /// Pipeline executions of all runs together.
    pub executions: Option<u64>,
    /// Digests of its outputs.
    pub outputs: Vec<Output>,
    /// Error lines of its failures, as they were logged.
    pub errors: Vec<String>,
}

/// One treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Treatment {
    /// Its name.
    pub name: String,
    /// Its commit.
    pub sha: Option<String>,
    /// Differences that it declares.
    pub declared: Vec<Difference>,
    /// Differences of the workload that nobody declared.
    pub mismatch: Vec<Difference>,
    /// Whether any trial of it was ever started.
    pub started: Option<bool>,
    /// Its jobs.
    pub jobs: Vec<Job>,
    /// Runs that were counted.
    pub runs: Option<u64>,
    /// Pipeline executions of all runs together.
    pub executions: Option<u64>,
    /// Digests of its outputs.
    pub outputs: Vec<Output>,
    /// Error lines of its failures, as they were logged.
    pub errors: Vec<String>,
    /// What the procedure says of it, where it has been judged.
    pub judgement: Option<Judgement>,
}

impl Treatment {
    /// A treatment of which only the name is known.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            sha: None,
            declared: Vec::new(),
            mismatch: Vec::new(),
            started: None,
            jobs: Vec::new(),
            runs: None,
            executions: None,
            outputs: Vec::new(),
            errors: Vec::new(),
            judgement: None,
        }
    }
}
