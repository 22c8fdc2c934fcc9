//! The backends of a service: each run has one, and it is found again after a restart.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use domain::arms::Role;
use domain::ids::{JobId, RunId};
use domain::plan::Plan;
use domain::ports::{Cause, Collected, Desk, End, JobState, Lab, Submitted, Unreachable};
use domain::rounds::TrialName;
use lab::bundle::Bundler;
use lab::git::Mirror;
use lab::iris::IrisLab;
use lab::iris::existing::ExistingLab;
use lab::local::{LocalLab, Settings};
use suite::Backend;

use super::shared::Shared;
use crate::cluster::connect;
use crate::command::run::{SUPERVISE, runtime};
use crate::config::Config;
use crate::failure::Failure;

/// Where the trials of a run run.
#[derive(Clone)]
enum Place {
    Here(Arc<LocalLab>),
    Cluster(Arc<IrisLab>),
    /// Jobs of somebody else, which are looked at only.
    Existing(Arc<ExistingLab>),
}

#[derive(Default)]
struct Known {
    runs: BTreeMap<RunId, Place>,
    /// Jobs that had run before the comparison that looks at them.
    existing: BTreeMap<JobId, Arc<ExistingLab>>,
    here: BTreeMap<u64, Arc<LocalLab>>,
    clusters: BTreeMap<(String, u64), Arc<IrisLab>>,
}

impl Known {
    /// The backend of a comparison that looks at a job.
    fn looking(&self, job: &JobId) -> Option<Place> {
        self.existing.get(job).map(|lab| Place::Existing(Arc::clone(lab)))
    }
}

/// Whether a plan compares a job that had run before.
fn looks_at(plan: &Plan, job: &JobId) -> bool {
    plan.origin.ran.values().flatten().any(|ran| ran == job.as_str())
}

/// The backends of a service.
pub struct Labs<D> {
    shared: Shared,
    desk: D,
    known: Mutex<Known>,
}

/// Whether somebody else than the service can have ended a trial of this machine.
const GONE: &str = "it ended with the process that ran it";

impl<D: Desk + Clone> Labs<D> {
    /// Without any yet.
    pub fn new(shared: Shared, desk: D) -> Self {
        Self { shared, desk, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn of_plan(&self, plan: &Plan) -> Result<Place, Unreachable> {
        if let Some(place) = self.known().runs.get(&plan.run) {
            return Ok(place.clone());
        }
        let place = self.open(plan).await.map_err(|failure| Unreachable(failure.to_string()))?;
        let mut known = self.known();
        if let Place::Existing(lab) = &place {
            known.existing.extend(lab.jobs().map(|job| (job.clone(), Arc::clone(lab))));
        }
        known.runs.insert(plan.run.clone(), place.clone());
        Ok(place)
    }

    async fn plan(&self, run: &RunId) -> Result<Option<Plan>, Unreachable> {
        let subject = self.desk.read(&format!("run:{run}")).await.map_err(|why| Unreachable(why.to_string()))?;
        let plan = subject.map(|subject| serde_json::from_str(&subject.body)).transpose();
        plan.map_err(|why| Unreachable(why.to_string()))
    }

    /// The backend of the comparison that looks at a job which somebody named. It may be called like a trial of ours, and
    /// is nobody's to stop all the same.
    async fn existing(&self, job: &JobId) -> Result<Option<Place>, Unreachable> {
        if let Some(place) = self.known().looking(job) {
            return Ok(Some(place));
        }
        // After a restart, or where another service had begun it.
        let active = self.desk.active_runs().await.map_err(|why| Unreachable(why.to_string()))?;
        for row in active.iter().filter(|row| row.ledger.is_some()) {
            if self.known().runs.contains_key(&row.id) {
                continue;
            }
            if let Some(plan) = self.plan(&row.id).await?.filter(|plan| looks_at(plan, job)) {
                self.of_plan(&plan).await?;
                return Ok(self.known().looking(job));
            }
        }
        Ok(None)
    }

    async fn of_job(&self, job: &JobId) -> Result<Place, Unreachable> {
        let trial: Result<TrialName, _> = job.root_name().parse();
        let known = {
            let known = self.known();
            let ours = || trial.as_ref().ok().and_then(|trial| known.runs.get(&trial.run).cloned());
            known.looking(job).or_else(ours)
        };
        if let Some(place) = known {
            return Ok(place);
        }
        if let Some(place) = self.existing(job).await? {
            return Ok(place);
        }
        let run = trial.map_err(|why| Unreachable(format!("{job} is no job of a run: {why}")))?.run;
        let plan = self.plan(&run).await?.ok_or_else(|| Unreachable(format!("there is no run {run}")))?;
        self.of_plan(&plan).await
    }

    async fn open(&self, plan: &Plan) -> Result<Place, Failure> {
        let repo = plan.origin.pull.as_ref().map(|pull| pull.repo).context("the run is of no pull request")?;
        let suite = self.shared.suites.get(plan.suite.as_str());
        let suite = suite.with_context(|| format!("the suite {} is not offered any more", plan.suite))?;
        let machine = &self.shared.machine;
        let mirror = Mirror::open(&self.shared.mirror(repo), &machine.path).map_err(anyhow::Error::from)?;
        let Backend::Iris(cluster) = &suite.backend else {
            let mut known = self.known();
            if let Some(here) = known.here.get(&repo) {
                return Ok(Place::Here(Arc::clone(here)));
            }
            let root = self.shared.scratch();
            std::fs::create_dir_all(&root).with_context(|| root.display().to_string())?;
            let supervisor = vec![machine.program.clone().into_os_string(), OsString::from(SUPERVISE)];
            let path = machine.path.to_string_lossy().into_owned();
            let here = LocalLab::open(Settings::new(root, mirror, supervisor, path)).map_err(anyhow::Error::from)?;
            let here = Arc::new(here);
            known.here.insert(repo, Arc::clone(&here));
            return Ok(Place::Here(here));
        };
        let there = self.cluster(&cluster.launcher.cluster, repo, mirror).await?;
        if plan.origin.ran.is_empty() {
            return Ok(Place::Cluster(there));
        }
        let looks = ExistingLab::of_plan(there, plan).map_err(anyhow::Error::from)?;
        Ok(Place::Existing(Arc::new(looks)))
    }

    async fn cluster(&self, name: &str, repo: u64, mirror: Mirror) -> Result<Arc<IrisLab>, Failure> {
        let key = (name.to_owned(), repo);
        if let Some(there) = self.known().clusters.get(&key) {
            return Ok(Arc::clone(there));
        }
        let (file, name) = (self.shared.file.clone(), key.0.clone());
        let connect = move |world: &mut crate::world::World<'_>| {
            let config = Config::load(file.as_deref())?;
            runtime()?.block_on(connect(&config, &name, world))
        };
        let connection = self.shared.apart(connect).await?;
        let there = Arc::new(connection.lab(Arc::new(Bundler::new(mirror))));
        self.known().clusters.insert(key, Arc::clone(&there));
        Ok(there)
    }
}

impl<D: Desk + Clone> Lab for Labs<D> {
    async fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        match self.of_plan(plan).await {
            Ok(Place::Here(lab)) => lab.submit(plan, trial, role).await,
            Ok(Place::Cluster(lab)) => lab.submit(plan, trial, role).await,
            Ok(Place::Existing(lab)) => lab.submit(plan, trial, role).await,
            Err(why) => Submitted::NoAnswer(why.0),
        }
    }

    async fn adopt(&self, plan: &Plan, trial: &TrialName, role: &Role, job: &JobId) -> Submitted {
        let place = match self.of_plan(plan).await {
            Ok(place) => place,
            Err(why) => return Submitted::NoAnswer(why.0),
        };
        // It is asked for by its own name from now on, which is that of a trial of the earlier run.
        if let Ok(earlier) = job.root_name().parse::<TrialName>() {
            self.known().runs.entry(earlier.run).or_insert_with(|| place.clone());
        }
        match place {
            Place::Here(lab) => lab.adopt(plan, trial, role, job).await,
            Place::Cluster(lab) => lab.adopt(plan, trial, role, job).await,
            Place::Existing(lab) => lab.adopt(plan, trial, role, job).await,
        }
    }

    async fn find(&self, plan: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        match self.of_plan(plan).await? {
            Place::Here(lab) => match lab.find(plan, trial).await? {
                Some(job) => Ok(Some(job)),
                // It was started, or is certain not to be: either way nothing of it lives, and asking says so.
                None => Ok(format!("/local/{trial}").parse().ok()),
            },
            Place::Cluster(lab) => lab.find(plan, trial).await,
            Place::Existing(lab) => lab.find(plan, trial).await,
        }
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        match self.of_job(job).await? {
            Place::Here(lab) => Ok(match lab.poll(job).await? {
                JobState::Unknown => JobState::Ended(End::Failed { cause: Cause::Infrastructure(GONE.to_owned()) }),
                state => state,
            }),
            Place::Cluster(lab) => lab.poll(job).await,
            Place::Existing(lab) => lab.poll(job).await,
        }
    }

    async fn collect(&self, plan: &Plan, trial: &TrialName, job: &JobId, probe: u32) -> Collected {
        match self.of_plan(plan).await {
            // Whoever ran it is gone, and what it measured with it.
            Ok(Place::Here(lab)) if matches!(lab.poll(job).await, Ok(JobState::Unknown)) => {
                Collected::Gone(GONE.to_owned())
            }
            Ok(Place::Here(lab)) => lab.collect(plan, trial, job, probe).await,
            Ok(Place::Cluster(lab)) => lab.collect(plan, trial, job, probe).await,
            Ok(Place::Existing(lab)) => lab.collect(plan, trial, job, probe).await,
            Err(why) => Collected::Unavailable(why.0),
        }
    }

    async fn terminate(&self, job: &JobId) -> Result<(), Unreachable> {
        // What a comparison only looks at goes first: it may be called like a trial of another run.
        let place = match self.existing(job).await? {
            Some(place) => place,
            None => self.of_job(job).await?,
        };
        match place {
            Place::Here(lab) => lab.terminate(job).await,
            Place::Cluster(lab) => lab.terminate(job).await,
            Place::Existing(lab) => lab.terminate(job).await,
        }
    }

    fn settles_at_once(&self, job: &JobId) -> bool {
        let trial: Result<TrialName, _> = job.root_name().parse();
        trial.is_ok_and(|trial| matches!(self.known().runs.get(&trial.run), Some(Place::Here(_))))
    }
}
