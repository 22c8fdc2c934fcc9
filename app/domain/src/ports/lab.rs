//! Where trials run.

use serde::{Deserialize, Serialize};

use crate::arms::Role;
use crate::ids::JobId;
use crate::plan::Plan;
use crate::rounds::TrialName;

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The job is there now.
    Accepted(JobId),
    /// A job of this name was there before: it is ours, because a trial has one name.
    AlreadyThere(JobId),
    /// The backend will not run this, however often it is asked.
    Refused(String),
    /// Nobody knows whether the job is there: no answer, or one that says nothing.
    NoAnswer(String),
}

/// The backend could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// How a job is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits, with the backend's reason. Waiting for capacity is waiting, not failing.
    Pending(String),
    /// It runs.
    Running {
        /// The step that runs, where that is known.
        step: Option<String>,
        /// Steps that are done.
        done: u32,
        /// Steps that there are; 0 where that is not known.
        of: u32,
    },
    /// It is over.
    Ended(End),
    /// The backend does not know this job.
    Unknown,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, successfully. Whether it measured everything is seen when its answers are collected.
    Succeeded,
    /// Otherwise.
    Failed {
        /// Why.
        cause: Cause,
    },
}

/// Why a job failed. Only what is known to be the application's doing is `Application`; every other or unknown cause
/// is `Infrastructure` and never held against the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The program itself failed.
    Application {
        /// By running out of memory.
        oom: bool,
        /// What it said, as it was logged.
        text: String,
    },
    /// Something else failed.
    Infrastructure(String),
    /// It was stopped by [`Lab::terminate`].
    Stopped,
    /// It reached the wall-clock limit of the plan.
    TimeLimit,
}

/// One answer of a trial, written verbatim into the evidence before anything is made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Relative path inside the trial's folder, of `[a-z0-9._-]` and `/`.
    pub name: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// The answers of an ended job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collected {
    /// Everything that was expected is there.
    Complete(Vec<Answer>),
    /// Some of it is missing, and named.
    Incomplete(Vec<Answer>, Vec<String>),
    /// The source of the answers could not be asked.
    Unavailable(String),
    /// They are gone for good, with whatever had them: why.
    Gone(String),
}

/// A backend that runs trials. Every call returns within a time that the backend bounds.
pub trait Lab: Send + Sync {
    /// Starts the job of a trial. Its name is [`TrialName`] as text; a second job of that name must never run.
    fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> impl Future<Output = Submitted> + Send;

    /// A job of an earlier run becomes that of a trial: nothing is started. It is followed and collected from now on, and
    /// stopped where it still runs and the trial is stopped.
    fn adopt(
        &self,
        plan: &Plan,
        trial: &TrialName,
        role: &Role,
        job: &JobId,
    ) -> impl Future<Output = Submitted> + Send {
        let _ = (plan, trial, role);
        let job = job.clone();
        async move { Submitted::AlreadyThere(job) }
    }

    /// The job of a trial in whatever state, if there is one.
    ///
    /// # Errors
    /// The backend could not be asked: that is not "there is none".
    fn find(&self, plan: &Plan, trial: &TrialName) -> impl Future<Output = Result<Option<JobId>, Unreachable>> + Send;

    /// How a job is doing.
    ///
    /// # Errors
    /// The backend could not be asked.
    fn poll(&self, job: &JobId) -> impl Future<Output = Result<JobState, Unreachable>> + Send;

    /// The answers of an ended job. `probe` counts from 1; a failed job may have answers too. Counts as complete only
    /// when two probes in a row are complete and equal, unless [`Self::settles_at_once`].
    fn collect(
        &self,
        plan: &Plan,
        trial: &TrialName,
        job: &JobId,
        probe: u32,
    ) -> impl Future<Output = Collected> + Send;

    /// Stops a job. Stopping what is over is fine; that it is over is seen by [`Self::poll`].
    ///
    /// # Errors
    /// The backend could not be asked.
    fn terminate(&self, job: &JobId) -> impl Future<Output = Result<(), Unreachable>> + Send;

    /// Whether the answers of a job are final when it has ended, so that one probe is enough.
    fn settles_at_once(&self, job: &JobId) -> bool {
        let _ = job;
        false
    }
}
