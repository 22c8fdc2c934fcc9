//! The Iris job controller.

mod capabilities;
mod launch;
mod request;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::OnceCell;

pub use capabilities::{Capabilities, Fields};
pub use launch::{BUNDLE_LIMIT, Launched};
pub use request::{
    AttributeValue, Command, Constraint, ConstraintOp, Entrypoint, Environment, ExistingJobPolicy, HIDDEN,
    LaunchRequest, PriorityBand, Resources, bundle_id,
};
pub use status::{
    CurrentUser, Endpoint, JobRecord, JobState, JobStatus, JobTree, TaskAttempt, TaskRecord, TaskState, TaskStatus,
};

use crate::error::Error;
use crate::ids::{JobId, TaskId};
use crate::transport::Transport;

const LAUNCH: &str = "iris.cluster.ControllerService/LaunchJob";
/// Jobs of a page; the controller gives no more.
const PAGE: usize = 500;
/// The controller refuses a page that begins after this many jobs.
const LAST_OFFSET: usize = 5000;

/// An Iris controller. Clones share what was learnt of it.
#[derive(Debug, Clone)]
pub struct Iris {
    transport: Transport,
    capabilities: Arc<OnceCell<Capabilities>>,
    page: usize,
}

impl Iris {
    /// A controller.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { transport, capabilities: Arc::default(), page: PAGE }
    }

    /// The same with smaller pages of jobs, 1 to 500.
    #[must_use]
    pub fn with_page(self, jobs: usize) -> Self {
        Self { page: jobs.clamp(1, PAGE), ..self }
    }

    /// How it is spoken to.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    async fn ask<A: serde::de::DeserializeOwned>(&self, method: &str, request: &serde_json::Value) -> Result<A, Error> {
        self.transport.call(&format!("iris.cluster.ControllerService/{method}"), request).await
    }

    /// Who the controller takes the caller for.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn current_user(&self) -> Result<CurrentUser, Error> {
        self.ask("GetCurrentUser", &json!({})).await
    }

    /// The states of jobs; unknown ones are left out. The cheapest way to follow jobs.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn job_states(&self, jobs: &[JobId]) -> Result<BTreeMap<String, JobState>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            states: BTreeMap<String, JobState>,
        }
        let ids: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
        Ok(self.ask::<Answer>("GetJobState", &json!({ "jobIds": ids })).await?.states)
    }

    /// A job and how it was asked for.
    ///
    /// # Errors
    /// See [`Error`]; `not_found` for an unknown one.
    pub async fn job(&self, job: &JobId) -> Result<JobRecord, Error> {
        self.ask("GetJobStatus", &json!({ "jobId": job.as_str() })).await
    }

    /// The tasks of a job, each with all its attempts; none for an unknown job. One call, and one more for each
    /// task that was tried more than once.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn tasks(&self, job: &JobId) -> Result<Vec<TaskStatus>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            tasks: Vec<TaskStatus>,
        }
        let mut tasks = self.ask::<Answer>("ListTasks", &json!({ "jobId": job.as_str() })).await?.tasks;
        for task in &mut tasks {
            // The list holds the last attempt only.
            let tried = usize::try_from(task.current_attempt_id).unwrap_or(0) + 1;
            if tried > 1 && task.attempts.len() < tried {
                *task = self.task(&TaskId::new(&task.task_id)?).await?.task;
            }
        }
        Ok(tasks)
    }

    /// One task with all its attempts.
    ///
    /// # Errors
    /// See [`Error`]; `not_found` for an unknown one.
    pub async fn task(&self, task: &TaskId) -> Result<TaskRecord, Error> {
        self.ask("GetTaskStatus", &json!({ "taskId": task.as_str() })).await
    }

    /// A job and all its descendants.
    ///
    /// # Errors
    /// See [`Error`]; `not_found` for an unknown one.
    pub async fn tree(&self, job: &JobId) -> Result<JobTree, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            #[serde(default)]
            jobs: Vec<JobStatus>,
            #[serde(default)]
            has_more: bool,
        }
        let root = self.job(job).await?;
        let mut descendants: Vec<JobStatus> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut complete = true;
        let mut offset = 0;
        let mut more = true;
        while more {
            // The prefix is that of plain text: with the slash it holds for no other job. By name: the order stands
            // still while jobs run.
            let query = json!({ "query": {
                "jobIdPrefix": job.below(), "scope": "JOB_QUERY_SCOPE_ALL", "limit": self.page, "offset": offset,
                "sortField": "JOB_SORT_FIELD_NAME", "sortDirection": "SORT_DIRECTION_ASC",
            } });
            let page: Answer = self.ask("ListJobs", &query).await?;
            offset += page.jobs.len();
            more = page.has_more && !page.jobs.is_empty();
            descendants.extend(page.jobs.into_iter().filter(|job| seen.insert(job.job_id.clone())));
            if more && offset > LAST_OFFSET {
                complete = false;
                more = false;
            }
        }
        Ok(JobTree { root, descendants, complete })
    }

    /// Ends a job with all its descendants; one that has ended stays as it is.
    ///
    /// # Errors
    /// See [`Error`]; `not_found` for an unknown one.
    pub async fn terminate(&self, job: &JobId) -> Result<(), Error> {
        self.ask::<serde_json::Value>("TerminateJob", &json!({ "jobId": job.as_str() })).await.map(drop)
    }

    /// Addresses whose names begin with `prefix`, for example `/system/`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn endpoints(&self, prefix: &str) -> Result<Vec<Endpoint>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            endpoints: Vec<Endpoint>,
        }
        let request = json!({ "prefix": prefix });
        let answer: Answer = match self.transport.call("iris.cluster.EndpointService/ListEndpoints", &request).await {
            // A controller of June 2026 has the method in its one service.
            Err(error) if error.is_unimplemented() => self.ask("ListEndpoints", &request).await?,
            other => other?,
        };
        Ok(answer.endpoints)
    }

    /// Whether the controller has a bundle of this id. A job with an id it has not is accepted and fails.
    ///
    /// # Errors
    /// See [`Error`]. One try.
    pub async fn has_bundle(&self, id: &str) -> Result<bool, Error> {
        if id.len() != 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(false);
        }
        match self.transport.fetch(true, &format!("bundles/{id}.zip")).await {
            Ok(_) => Ok(true),
            Err(Error::Rpc { http: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the controller says of its health, as JSON.
    ///
    /// # Errors
    /// See [`Error`]. One try.
    pub async fn health(&self) -> Result<serde_json::Value, Error> {
        let body = self.transport.fetch(false, "health").await?;
        crate::transport::decode("health", &body)
    }
}
