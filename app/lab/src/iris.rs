//! Trials as jobs of an Iris cluster, and their measurements from Finelog.
//!
//! [`launch`] is what a trial of an arm is, [`rules`] how its answers become rows; both stand in the plan. A job runs in
//! a [`crate::bundle`] made from git objects: nothing of a commit is executed on this machine. [`tree`] says how a job
//! ended from what the controller tells of it and its descendants, `collect` asks for its measurements by the texts of
//! `queries`, and [`answers`] are the files that they are kept in. [`existing`] is the same for jobs that already ran, and
//! [`seen`] what is there of one that still runs.

pub mod answers;
mod collect;
pub mod existing;
mod follow;
pub mod launch;
mod queries;
pub mod rules;
pub mod seen;
pub mod tree;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::arms::Role;
use domain::ids::JobId;
use domain::plan::Plan;
use domain::ports::{Collected, JobState, Lab, Submitted, Unreachable};
use domain::rounds::TrialName;
use marin::iris::{LaunchRequest, Launched};
use marin::{Clock, Code, Error, Finelog, Iris};

use crate::bundle::{Bundle, Bundler, Overlay};
use crate::git::TreePath;
use answers::{Answers, JobAnswer};
use launch::Launch;

/// What an [`IrisLab`] needs to know.
#[derive(Debug)]
pub struct Settings {
    /// The controller.
    pub iris: Iris,
    /// The store of measurements and logs.
    pub finelog: Finelog,
    /// Whose jobs these are: the first part of their names.
    pub user: String,
    /// Makes the bundles.
    pub bundler: Arc<Bundler>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The backend that runs trials on an Iris cluster.
#[derive(Debug)]
pub struct IrisLab {
    iris: Iris,
    finelog: Finelog,
    user: String,
    bundler: Arc<Bundler>,
    clock: Arc<dyn Clock>,
    known: Mutex<BTreeMap<JobId, Known>>,
}

/// What is remembered of a job, so that it is not asked for again. All of it can be asked for again.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The share of worker attempts that may be lost.
    max_lost: f64,
    /// What the controller said when it had ended.
    tree: Option<Arc<JobAnswer>>,
    /// The last lines of its log, where it failed.
    tail: Option<Arc<Vec<String>>>,
    /// The last complete answers.
    answers: Option<Arc<Answers>>,
    /// How far it was when it was last asked, and when that was.
    progress: Option<(Duration, JobState)>,
}

impl IrisLab {
    /// A backend.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { iris, finelog, user, bundler, clock } = settings;
        Self { iris, finelog, user, bundler, clock, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<JobId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, job: &JobId, change: impl FnOnce(&mut Known)) {
        change(self.known().entry(job.clone()).or_default());
    }

    fn recall(&self, job: &JobId) -> Known {
        self.known().get(job).cloned().unwrap_or_default()
    }

    /// Keeps the share of lost worker attempts above which a job measured nothing.
    pub(crate) fn bears(&self, job: &JobId, max_lost: f64) {
        self.remember(job, |known| known.max_lost = max_lost);
    }

    fn name(&self, trial: &TrialName) -> String {
        format!("/{}/{trial}", self.user)
    }

    /// The bundle that a trial of an arm runs in.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn bundle(&self, plan: &Plan, role: &Role, launch: &Launch) -> Result<Bundle, String> {
        let commit = plan.arms.commit(role).ok_or_else(|| format!("the plan has no arm {role}"))?;
        self.bundler.bundle(commit, overlay(launch).as_ref()).map_err(|why| why.to_string())
    }

    /// The request of a trial with its bundle: by its id where the controller has it.
    async fn request(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Result<LaunchRequest, Submitted> {
        let refused = |why: String| Submitted::Refused(why);
        let launch = launch_of(plan, role).map_err(refused)?;
        let Some(commit) = plan.arms.commit(role) else {
            return Err(Submitted::Refused(format!("the plan has no arm {role}")));
        };
        let bundle = self.bundle(plan, role, &launch).map_err(refused)?;
        let tree = plan.origin.trees.get(&role.to_string()).map_or("", String::as_str);
        let mut request = launch.request(&self.name(trial), trial, (commit, tree), plan.limit_ms).map_err(refused)?;
        match self.iris.has_bundle(&bundle.id).await {
            Ok(true) => request.bundle_id = bundle.id,
            Ok(false) => request.bundle_blob = bundle.bytes,
            // Sending it again is always right.
            Err(error) if !error.is_transient() => request.bundle_blob = bundle.bytes,
            Err(error) => return Err(Submitted::NoAnswer(error.to_string())),
        }
        Ok(request)
    }
}

/// What of an arm's files is taken from another commit.
#[must_use]
pub fn overlay(launch: &Launch) -> Option<Overlay> {
    launch.harness.as_ref().map(|harness| Overlay {
        commit: harness.commit.clone(),
        paths: harness.paths.iter().map(|path| TreePath::new(path.as_bytes())).collect(),
    })
}

/// What a trial of an arm is.
///
/// # Errors
/// The plan has none, or one that makes no sense.
pub fn launch_of(plan: &Plan, role: &Role) -> Result<Launch, String> {
    let value = plan.launches.get(&role.to_string()).ok_or_else(|| format!("the plan has no launch for {role}"))?;
    let launch: Launch =
        serde_json::from_value(value.clone()).map_err(|why| format!("the launch of {role} cannot be read: {why}"))?;
    launch.check().map_err(|why| format!("the launch of {role}: {why}"))?;
    Ok(launch)
}

/// The id of a job as the controller's client has it.
fn outside(job: &JobId) -> Result<marin::JobId, String> {
    marin::JobId::new(job.as_str()).map_err(|why| why.to_string())
}

fn unreachable(error: impl std::fmt::Display) -> Unreachable {
    Unreachable(error.to_string())
}

impl Lab for IrisLab {
    async fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        let request = match self.request(plan, trial, role).await {
            Ok(request) => request,
            Err(answer) => return answer,
        };
        let id = |job: &marin::JobId| job.as_str().parse::<JobId>();
        let mut launched = None;
        let answer = match self.iris.launch(&request).await {
            Ok(Launched::Started(job)) => {
                let answer = id(&job).map(Submitted::Accepted);
                launched = Some(job);
                answer
            }
            Ok(Launched::Existing { job, same: true, .. }) => id(&job).map(Submitted::AlreadyThere),
            Ok(Launched::Existing { job, .. }) => {
                return Submitted::Refused(format!("{job} is there already and does something else"));
            }
            Err(error) => return refusal(&error),
        };
        match answer {
            Ok(answer) => {
                if let (Submitted::Accepted(job) | Submitted::AlreadyThere(job), Ok(launch)) =
                    (&answer, launch_of(plan, role))
                {
                    self.bears(job, launch.rules.max_lost);
                }
                answer
            }
            Err(why) => {
                let mut said = format!("the controller gave the job an id that is none: {why}");
                // What cannot be named cannot be followed: it must not run on.
                if let Some(job) = launched
                    && let Err(error) = self.iris.terminate(&job).await
                {
                    said = format!("{said}; {job} could not be ended and must be by hand: {error}");
                }
                Submitted::Refused(said)
            }
        }
    }

    async fn adopt(&self, plan: &Plan, _: &TrialName, role: &Role, job: &JobId) -> Submitted {
        self.bears(job, launch_of(plan, role).map_or(0.0, |launch| launch.rules.max_lost));
        Submitted::AlreadyThere(job.clone())
    }

    async fn find(&self, plan: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        let name = self.name(trial);
        let job = marin::JobId::new(&name).map_err(unreachable)?;
        match self.iris.job(&job).await {
            Ok(record) => {
                let id: JobId = record.job.job_id.parse().map_err(unreachable)?;
                let launch = plan.roles().into_iter().find_map(|role| launch_of(plan, &role).ok());
                self.bears(&id, launch.map_or(0.0, |launch| launch.rules.max_lost));
                Ok(Some(id))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(unreachable(error)),
        }
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        self.follow(job).await.map_err(unreachable)
    }

    async fn collect(&self, plan: &Plan, _: &TrialName, job: &JobId, probe: u32) -> Collected {
        let rules = plan.roles().into_iter().find_map(|role| launch_of(plan, &role).ok()).map(|launch| launch.rules);
        match rules {
            Some(rules) => self.ask(&rules, job, probe).await,
            None => Collected::Unavailable("the plan has no launch of a cluster".to_owned()),
        }
    }

    async fn terminate(&self, job: &JobId) -> Result<(), Unreachable> {
        let id = outside(job).map_err(unreachable)?;
        match self.iris.terminate(&id).await {
            Ok(()) => Ok(()),
            // What the controller does not know does not run.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(unreachable(error)),
        }
    }
}

/// What a failed launch says: that the controller will never run this, or that nobody knows whether the job is there.
fn refusal(error: &Error) -> Submitted {
    let lasting = match error {
        Error::Rpc { code, .. } => matches!(
            code,
            Code::InvalidArgument
                | Code::FailedPrecondition
                | Code::PermissionDenied
                | Code::Unimplemented
                | Code::OutOfRange
                | Code::NotFound
        ),
        Error::UnsupportedField { .. }
        | Error::UnsupportedValue { .. }
        | Error::BundleTooLarge { .. }
        | Error::BadId(_)
        | Error::BadAddress(_) => true,
        _ => false,
    };
    if lasting { Submitted::Refused(error.to_string()) } else { Submitted::NoAnswer(error.to_string()) }
}
