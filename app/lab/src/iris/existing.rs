//! Jobs that already ran, as the trials of a comparison: looked at, never launched and never stopped.

use std::collections::BTreeMap;

use domain::arms::Role;
use domain::ids::{ExecutionId, JobId};
use domain::plan::Plan;
use domain::ports::{Collected, End, JobState, Lab, Submitted, Unreachable};
use domain::rounds::{TrialName, order};

use super::{IrisLab, launch_of};

/// Where the measurements of a trial are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// A job.
    Job(JobId),
    /// Executions whose job nobody named.
    Executions(Vec<ExecutionId>),
}

/// The backend of a comparison of jobs that already ran.
#[derive(Debug)]
pub struct ExistingLab {
    iris: IrisLab,
    ran: BTreeMap<(u32, Role), Ran>,
}

/// The user in the ids of trials that have no job.
const NO_JOB: &str = "executions";

impl ExistingLab {
    /// The trials by round, from 1, and role.
    #[must_use]
    pub fn new(iris: IrisLab, ran: BTreeMap<(u32, Role), Ran>) -> Self {
        Self { iris, ran }
    }

    fn of(&self, plan: &Plan, trial: &TrialName) -> Option<(Role, &Ran)> {
        if trial.replacement > 0 {
            return None;
        }
        let place = usize::try_from(trial.place).ok()?.checked_sub(1)?;
        let role = order(trial.round, &plan.treatments()).into_iter().nth(place)?;
        let ran = self.ran.get(&(trial.round, role.clone()))?;
        Some((role, ran))
    }

    fn job(ran: &Ran, trial: &TrialName) -> Option<JobId> {
        match ran {
            Ran::Job(job) => Some(job.clone()),
            Ran::Executions(_) => format!("/{NO_JOB}/{trial}").parse().ok(),
        }
    }
}

impl Lab for ExistingLab {
    async fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        match self.of(plan, trial).and_then(|(_, ran)| Self::job(ran, trial)) {
            Some(job) => {
                self.iris.bears(&job, launch_of(plan, role).map_or(0.0, |launch| launch.rules.max_lost));
                Submitted::AlreadyThere(job)
            }
            None => Submitted::Refused("a job that already ran is not run again".to_owned()),
        }
    }

    async fn find(&self, plan: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        Ok(self.of(plan, trial).and_then(|(_, ran)| Self::job(ran, trial)))
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        if job.user() == NO_JOB { Ok(JobState::Ended(End::Succeeded)) } else { self.iris.poll(job).await }
    }

    async fn collect(&self, plan: &Plan, trial: &TrialName, job: &JobId, probe: u32) -> Collected {
        match self.of(plan, trial) {
            Some((role, Ran::Executions(ids))) => match launch_of(plan, &role) {
                Ok(launch) => self.iris.ask_named(&launch.rules, ids).await,
                Err(why) => Collected::Unavailable(why),
            },
            _ => self.iris.collect(plan, trial, job, probe).await,
        }
    }

    /// Nothing: these jobs are somebody else's.
    async fn terminate(&self, _: &JobId) -> Result<(), Unreachable> {
        Ok(())
    }
}
