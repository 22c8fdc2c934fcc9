//! Jobs that already ran, as the trials of a comparison: looked at, never launched and never stopped.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use domain::arms::Role;
use domain::ids::{ExecutionId, IdError, JobId};
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

/// A job, or the ids of executions with commas between them: as it stands in [`domain::plan::Origin::ran`].
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job) => job.fmt(f),
            Self::Executions(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                f.write_str(&ids.join(","))
            }
        }
    }
}

impl FromStr for Ran {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('/') {
            return text.parse().map(Self::Job);
        }
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Executions)
    }
}

/// The backend of a comparison of jobs that already ran.
#[derive(Debug)]
pub struct ExistingLab {
    iris: Arc<IrisLab>,
    ran: BTreeMap<(u32, Role), Ran>,
}

fn job_of(ran: &Ran) -> Option<&JobId> {
    match ran {
        Ran::Job(job) => Some(job),
        Ran::Executions(_) => None,
    }
}

/// The user in the ids of trials that have no job.
const NO_JOB: &str = "executions";

impl ExistingLab {
    /// The backend of a plan, which says where its trials are.
    ///
    /// # Errors
    /// A plan that names something else than jobs and executions.
    pub fn of_plan(iris: Arc<IrisLab>, plan: &Plan) -> Result<Self, IdError> {
        let mut ran = BTreeMap::new();
        for role in plan.roles() {
            let all = plan.origin.ran.get(&role.to_string()).map(Vec::as_slice).unwrap_or_default();
            for (round, text) in (1_u32..).zip(all) {
                ran.insert((round, role.clone()), text.parse()?);
            }
            // After a restart nobody submits them again.
            let max_lost = launch_of(plan, &role).map_or(0.0, |launch| launch.rules.max_lost);
            for job in ran.iter().filter(|((_, of), _)| *of == role).filter_map(|(_, ran)| job_of(ran)) {
                iris.bears(job, max_lost);
            }
        }
        Ok(Self { iris, ran })
    }

    /// The jobs that are looked at.
    pub fn jobs(&self) -> impl Iterator<Item = &JobId> {
        self.ran.values().filter_map(job_of)
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
    async fn submit(&self, plan: &Plan, trial: &TrialName, _: &Role) -> Submitted {
        match self.of(plan, trial).and_then(|(_, ran)| Self::job(ran, trial)) {
            Some(job) => Submitted::AlreadyThere(job),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_is_read_as_it_is_written() {
        for text in
            ["/me/a", "/me/a/b", "20261129-202850-8d10c1b5", "a-20261129-202850-8d10c1b5,b-20261129-202851-8d10c1b5"]
        {
            let ran: Ran = text.parse().unwrap();
            assert_eq!(matches!(ran, Ran::Job(_)), text.starts_with('/'), "{text}");
            assert_eq!(ran.to_string(), text);
        }
        for text in ["", "/", "/me/../a", "me/a", "20261129-202850-8d10c1b5,", "/me/a,/me/b"] {
            assert!(text.parse::<Ran>().is_err(), "{text}");
        }
    }
}
