//! Trials as processes on this machine.
//!
//! A trial is a checkout of its arm's commit in a folder of its own, made anew for every trial, and the steps of a
//! [`Launch`], run in it one after the other (or side by side), each under a [`crate::supervisor`]. The steps see a
//! clean environment: `PATH`, a `HOME` and a `TMPDIR` that are empty and removed afterwards, `LANG`, and what the suite
//! declares. All paths have the same length in every arm, because even that changes how fast a program is.
//!
//! Each trial is run by a thread, so that it does not matter which runtime, if any, the caller waits in. A trial dies
//! with the process that started it: the supervisors see the pipe to it close. What is left on the disk after a crash is
//! removed by the next [`LocalLab::open`]. Dropping a [`LocalLab`] stops everything, waits for it and removes its folder.

mod contact;
mod host;
mod launch;
mod trial;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use domain::arms::Role;
use domain::ids::JobId;
use domain::plan::Plan;
use domain::ports::{Answer, Cause, Collected, End, JobState, Lab, Submitted, Unreachable};
use domain::rounds::TrialName;

use crate::git::{CheckoutLimits, Mirror};
use crate::plain;
use crate::scratch::{self, Scratch};
pub use host::host_class;
pub use launch::{Launch, LaunchError, Step};
use trial::{Task, Watch, answers};

/// How long the end of a trial that was stopped is waited for. It takes seconds, unless the system itself hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a [`LocalLab`] needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the folder of the backend is made, such as the system's folder for temporary files. UTF-8.
    pub root: PathBuf,
    /// Holds the commits of all arms.
    pub mirror: Mirror,
    /// The program that runs [`crate::supervisor::main`], and the arguments that make it do so.
    pub supervisor: Vec<OsString>,
    /// `PATH` of the steps.
    pub path: String,
    /// How much of each output of a step is kept, bytes.
    pub keep_bytes: usize,
    /// How large a checkout may be.
    pub checkout: CheckoutLimits,
}

impl Settings {
    /// Settings with 8 MiB of each output and the usual limits of a checkout.
    #[must_use]
    pub fn new(root: PathBuf, mirror: Mirror, supervisor: Vec<OsString>, path: String) -> Self {
        Self { root, mirror, supervisor, path, keep_bytes: 8 << 20, checkout: CheckoutLimits::default() }
    }
}

/// The backend could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{folder}: {why}")]
pub struct OpenError {
    /// The folder that cannot be used.
    pub folder: String,
    /// Why.
    pub why: String,
}

/// The backend that runs trials on this machine.
#[derive(Debug)]
pub struct LocalLab {
    settings: Arc<Settings>,
    folder: Scratch,
    jobs: Mutex<BTreeMap<TrialName, Job>>,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    steps: u32,
    watch: Arc<Watch>,
    folder: PathBuf,
    thread: JoinHandle<()>,
    /// Disconnected when the thread is over, however it ended.
    over: Receiver<()>,
}

impl LocalLab {
    /// Opens the backend and removes what crashed ones left in the same root.
    ///
    /// # Errors
    /// The root cannot be written to, or its path is no UTF-8.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let failed = |why: String| OpenError { folder: settings.root.display().to_string(), why };
        scratch::sweep(&settings.root);
        let folder = Scratch::create(&settings.root).map_err(|why| failed(why.to_string()))?;
        if folder.path().to_str().is_none() {
            return Err(failed("the path is no UTF-8".to_owned()));
        }
        Ok(Self { settings: Arc::new(settings), folder, jobs: Mutex::default() })
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<TrialName, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `see` with a job of this backend.
    fn with<T>(&self, id: &JobId, see: impl FnOnce(&Job) -> T) -> Option<T> {
        let trial: TrialName = id.root_name().parse().ok()?;
        self.jobs().get(&trial).filter(|job| job.id == *id).map(see)
    }

    fn start(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        let id = match format!("/local/{trial}").parse::<JobId>() {
            Ok(id) => id,
            Err(why) => return Submitted::Refused(why.to_string()),
        };
        let (commit, launch) = match (plan.arms.commit(role), launch(plan, role)) {
            (Some(commit), Ok(launch)) => (commit.clone(), launch),
            (None, _) => return Submitted::Refused(format!("the plan has no arm {role}")),
            (_, Err(why)) => return Submitted::Refused(why),
        };
        let mut jobs = self.jobs();
        if let Some(job) = jobs.get(trial) {
            return Submitted::AlreadyThere(job.id.clone());
        }
        // Every trial of a backend has its own number, and all of these paths are of one length.
        let folder = self.folder.path().join(format!("{:06}", jobs.len()));
        if let Err(why) = fs::create_dir(&folder) {
            return Submitted::Refused(format!("{}: {why}", folder.display()));
        }
        let (watch, steps) = (Arc::new(Watch::default()), u32::try_from(launch.steps.len()).unwrap_or(0));
        let task = Task {
            settings: Arc::clone(&self.settings),
            watch: Arc::clone(&watch),
            job: id.clone(),
            trial: trial.clone(),
            role: role.clone(),
            commit,
            launch,
            limit_ms: plan.limit_ms,
            folder: folder.clone(),
        };
        let (running, over) = sync_channel(0);
        let run = move || {
            task.run();
            drop(running);
        };
        match std::thread::Builder::new().name("trial".to_owned()).spawn(run) {
            Ok(thread) => {
                let job = Job { id: id.clone(), steps, watch, folder, thread, over };
                jobs.insert(trial.clone(), job);
                Submitted::Accepted(id)
            }
            Err(why) => Submitted::Refused(format!("no thread can be started: {why}")),
        }
    }
}

impl Drop for LocalLab {
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        for job in jobs.values() {
            job.watch.stop();
        }
        // The folder goes after this, when nothing writes to it any more.
        while let Some((_, job)) = jobs.pop_first() {
            if job.over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected) {
                drop(job.thread.join());
            }
        }
    }
}

impl Lab for LocalLab {
    async fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        self.start(plan, trial, role)
    }

    async fn find(&self, _: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        Ok(self.jobs().get(trial).map(|job| job.id.clone()))
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        let state = self.with(job, |job| {
            if let Some((end, _)) = job.watch.over() {
                return JobState::Ended(end);
            }
            if job.thread.is_finished() {
                let cause = Cause::Infrastructure("the thread of the trial panicked".to_owned());
                return JobState::Ended(End::Failed { cause });
            }
            match job.watch.progress() {
                (None, 0) => JobState::Pending("checking out the commit".to_owned()),
                (step, done) => JobState::Running { step, done, of: job.steps },
            }
        });
        Ok(state.unwrap_or(JobState::Unknown))
    }

    async fn collect(&self, _: &Plan, _: &TrialName, job: &JobId, _: u32) -> Collected {
        let Some((folder, over)) = self.with(job, |job| (answers(&job.folder), job.watch.over())) else {
            return Collected::Unavailable(format!("{job} is not known"));
        };
        let Some((_, names)) = over else { return Collected::Unavailable(format!("{job} has not ended")) };
        read(&folder, names)
    }

    async fn terminate(&self, job: &JobId) -> Result<(), Unreachable> {
        self.with(job, |job| job.watch.stop());
        Ok(())
    }

    fn settles_at_once(&self, _: &JobId) -> bool {
        true
    }
}

fn read(folder: &Path, names: Vec<String>) -> Collected {
    let (mut answers, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match bytes(&folder.join(&name)) {
            Ok(bytes) => answers.push(Answer { name, bytes }),
            Err(why) => missing.push(format!("{name}: {why}")),
        }
    }
    if missing.is_empty() { Collected::Complete(answers) } else { Collected::Incomplete(answers, missing) }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn launch(plan: &Plan, role: &Role) -> Result<Launch, String> {
    let value = plan.launches.get(&role.to_string()).ok_or_else(|| format!("the plan has no launch for {role}"))?;
    let launch: Launch =
        serde_json::from_value(value.clone()).map_err(|why| format!("the launch of {role} cannot be read: {why}"))?;
    launch.check().map_err(|why| format!("the launch of {role}: {why}"))?;
    Ok(launch)
}
