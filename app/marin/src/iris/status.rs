//! What became of a job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::request::{LaunchRequest, Resources};
use crate::wire::{Extra, Timestamp, open_enum};

open_enum!(
    /// The state of a job.
    JobState, Unspecified {
        /// Not said.
        Unspecified = "JOB_STATE_UNSPECIFIED" 0,
        /// Waits for a place.
        Pending = "JOB_STATE_PENDING" 1,
        /// Is being set up.
        Building = "JOB_STATE_BUILDING" 2,
        /// Runs.
        Running = "JOB_STATE_RUNNING" 3,
        /// Ended well.
        Succeeded = "JOB_STATE_SUCCEEDED" 4,
        /// Ended badly by its own doing.
        Failed = "JOB_STATE_FAILED" 5,
        /// Was ended.
        Killed = "JOB_STATE_KILLED" 6,
        /// Lost its workers.
        WorkerFailed = "JOB_STATE_WORKER_FAILED" 7,
        /// Can never get a place.
        Unschedulable = "JOB_STATE_UNSCHEDULABLE" 8,
    }
);

impl JobState {
    /// Whether the job has ended; a state this version does not know counts as going on.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Killed | Self::WorkerFailed | Self::Unschedulable)
    }
}

open_enum!(
    /// The state of a task or of one attempt at it.
    TaskState, Unspecified {
        /// Not said.
        Unspecified = "TASK_STATE_UNSPECIFIED" 0,
        /// Waits for a place.
        Pending = "TASK_STATE_PENDING" 1,
        /// Is being set up.
        Building = "TASK_STATE_BUILDING" 2,
        /// Runs.
        Running = "TASK_STATE_RUNNING" 3,
        /// Ended well.
        Succeeded = "TASK_STATE_SUCCEEDED" 4,
        /// Ended badly by its own doing.
        Failed = "TASK_STATE_FAILED" 5,
        /// Was ended.
        Killed = "TASK_STATE_KILLED" 6,
        /// Lost its worker.
        WorkerFailed = "TASK_STATE_WORKER_FAILED" 7,
        /// Can never get a place.
        Unschedulable = "TASK_STATE_UNSCHEDULABLE" 8,
        /// Has a place.
        Assigned = "TASK_STATE_ASSIGNED" 9,
        /// Had to make room.
        Preempted = "TASK_STATE_PREEMPTED" 10,
        /// A task that had to run beside it failed.
        CoschedFailed = "TASK_STATE_COSCHED_FAILED" 11,
        /// Is not to be found.
        Missing = "TASK_STATE_MISSING" 12,
    }
);

/// A job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Its id; on a cluster with logins not always the name that was asked for.
    pub job_id: String,
    /// Its state.
    pub state: JobState,
    /// Why it ended; hostile text.
    pub error: String,
    /// When its first task began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When it was launched.
    pub submitted_at: Option<Timestamp>,
    /// Attempts that failed. Not those of children.
    pub failure_count: i64,
    /// Attempts that had begun and were preempted, lost their worker or were killed. Not those of children.
    pub preemption_count: i64,
    /// What it gets.
    pub resources: Resources,
    /// Tasks by state, in small letters.
    pub task_state_counts: BTreeMap<String, i64>,
    /// Tasks.
    pub task_count: i64,
    /// Tasks that ended well.
    pub completed_count: i64,
    /// Why it waits; after the end a repetition of `error`.
    pub pending_reason: String,
    /// Whether it launched jobs.
    pub has_children: bool,
    /// Which job launched it; empty for a root, and in lists: there the name tells.
    pub parent_job_id: String,
    /// What this version does not know. `exitCode` is among it: it is 0 even for a failed job.
    #[serde(flatten)]
    pub other: Extra,
}

/// A job and how it was asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRecord {
    /// The job.
    pub job: JobStatus,
    /// The request it came from, without the zip; the band in it is the one in force.
    pub request: LaunchRequest,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskAttempt {
    /// From 0.
    pub attempt_id: i64,
    /// The worker it ran on.
    pub worker_id: String,
    /// Its state.
    pub state: TaskState,
    /// Exit code, or minus the signal.
    pub exit_code: i64,
    /// Why it ended; hostile text.
    pub error: String,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Whether the worker was at fault.
    pub is_worker_failure: bool,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatus {
    /// `/user/job/index`.
    pub task_id: String,
    /// Its state.
    pub state: TaskState,
    /// The worker it runs on.
    pub worker_id: String,
    /// Exit code of the last attempt.
    pub exit_code: i64,
    /// Why the last attempt ended; hostile text.
    pub error: String,
    /// When the last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When it was launched.
    pub submitted_at: Option<Timestamp>,
    /// The number of the last attempt.
    pub current_attempt_id: i64,
    /// The attempts, from the first.
    pub attempts: Vec<TaskAttempt>,
    /// Why it waits.
    pub pending_reason: String,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// A task with what only a question for itself tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskRecord {
    /// The task with all its attempts.
    pub task: TaskStatus,
    /// Lines the controller found telling; hostile text.
    pub root_cause_highlights: Vec<String>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// A job with all its descendants.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobTree {
    /// The job and how it was asked for.
    pub root: JobRecord,
    /// The descendants by name.
    pub descendants: Vec<JobStatus>,
    /// Whether these are all: a controller lists at most 5,500.
    pub complete: bool,
}

/// Who the controller takes the caller for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CurrentUser {
    /// The identity.
    pub user_id: String,
    /// `admin`, `user`, `dashboard` (reads only).
    pub role: String,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// An address a service or a job announced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// Its id.
    pub endpoint_id: String,
    /// Its name.
    pub name: String,
    /// Where it is, as seen from the cluster.
    pub address: String,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}
