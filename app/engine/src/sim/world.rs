//! The state that all ports share, and the fuse that makes a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use domain::arms::Role;
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{Cause, Clock, End, Ending, Sealed, TrialFate};
use domain::rounds::TrialName;
use domain::time::{MINUTE, Ms, SECOND};

use super::chance::Chance;
use super::script::{Course, Script};

/// A job of the simulated backend.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) course: Course,
    pub(super) begins: Ms,
    pub(super) ends: Ms,
    pub(super) end: End,
    pub(super) terminated: bool,
}

impl Job {
    pub(super) fn is_live(&self, now: Ms) -> bool {
        now < self.ends
    }
}

/// What goes wrong, in cases of 1000.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// An answer is lost, or nothing was done at all.
    pub(super) lost: u64,
    /// The backend refuses a trial.
    pub(super) refused: u64,
    /// The folder fails.
    pub(super) records: u64,
    /// The folder never works.
    pub(super) disk_full: bool,
}

/// The evidence folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Folder {
    pub(super) plan: Option<Plan>,
    pub(super) answers: BTreeMap<(TrialName, String), Vec<u8>>,
    pub(super) fates: BTreeMap<TrialName, TrialFate>,
    pub(super) sealed: Option<(Ending, Sealed)>,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: Ms,
    /// How far the clock of the engine is behind.
    pub(super) skew: u64,
    pub(super) chance: Chance,
    pub(super) script: Script,
    pub(super) faults: Faults,
    pub(super) at_once: bool,
    /// Whether the clock of the engine is set forward and back. Then records do not grow: no two probes can be known to
    /// lie far enough apart.
    pub(super) jumpy: bool,
    pub(super) jobs: BTreeMap<TrialName, Job>,
    /// Submissions on their way: when they arrive.
    pub(super) arrivals: Vec<(Ms, TrialName, Role)>,
    pub(super) launches: BTreeMap<TrialName, u32>,
    /// Trials whose jobs the backend has forgotten at least once.
    pub(super) forgotten: BTreeSet<TrialName>,
    /// The source of measurements is silent until then.
    pub(super) source_silent: Ms,
    /// The backend is silent until then.
    pub(super) lab_silent: Ms,
    /// The evidence folder of each run.
    pub(super) folders: BTreeMap<RunId, Folder>,
    /// Points passed at which a crash is possible.
    pub(super) points: u64,
    /// The point at which it happens.
    pub(super) crash_at: Option<u64>,
    pub(super) crashed: bool,
    /// The point at which whatever goes on is held up for a while.
    pub(super) pause_at: Option<u64>,
    pub(super) violations: Vec<String>,
    pub(super) trace: Vec<String>,
}

impl World {
    pub(super) fn new(seed: u64, script: Script) -> Self {
        Self {
            now: Ms(1_795_984_130_000),
            skew: 0,
            chance: Chance::new(seed),
            script,
            faults: Faults::default(),
            at_once: false,
            jumpy: false,
            jobs: BTreeMap::new(),
            arrivals: Vec::new(),
            launches: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            source_silent: Ms(0),
            lab_silent: Ms(0),
            folders: BTreeMap::new(),
            points: 0,
            crash_at: None,
            crashed: false,
            pause_at: None,
            violations: Vec::new(),
            trace: Vec::new(),
        }
    }

    pub(super) fn log(&mut self, line: &str) {
        let now = self.now;
        self.trace.push(format!("{now} {line}"));
    }

    pub(super) fn violated(&mut self, what: String) {
        if !self.violations.contains(&what) {
            self.log(&format!("VIOLATED {what}"));
            self.violations.push(what);
        }
    }

    pub(super) fn folder(&mut self, run: &RunId) -> &mut Folder {
        self.folders.entry(run.clone()).or_default()
    }

    pub(super) fn fate(&self, name: &TrialName) -> Option<&TrialFate> {
        self.folders.get(&name.run)?.fates.get(name)
    }

    pub(super) fn advance(&mut self, to: Ms) {
        let to = to.max(self.now);
        let mut due: Vec<_> = self.arrivals.iter().filter(|(at, ..)| *at <= to).cloned().collect();
        due.sort();
        self.arrivals.retain(|(at, ..)| *at > to);
        for (at, name, role) in due {
            self.now = self.now.max(at);
            self.launch(&name, &role);
        }
        self.now = to;
    }

    /// A submission reaches the backend. It holds names unique among live jobs only: a finished job of the same name
    /// is silently replaced. `false` where a live one is there.
    pub(super) fn launch(&mut self, name: &TrialName, role: &Role) -> bool {
        let now = self.now;
        if self.jobs.get(name).is_some_and(|job| job.is_live(now)) {
            return false;
        }
        let course = self.script.course(name, role);
        let begins = now.plus(course.pending);
        let ends = begins.plus(course.running);
        let job = Job { begins, ends, end: course.end.clone(), course, terminated: false };
        self.jobs.insert(name.clone(), job);
        let launches = self.launches.entry(name.clone()).or_default();
        *launches += 1;
        let again = *launches > 1 && !self.forgotten.contains(name);
        self.log(&format!("launched {name}"));
        if again {
            self.violated(format!("{name} was launched twice"));
        }
        true
    }

    /// A job of an earlier run: over by now, or nearly so.
    pub(super) fn inherit(&mut self, name: &TrialName, role: &Role) {
        let course = self.script.course(name, role);
        let ends = self.now.plus(course.running.saturating_sub(2 * MINUTE));
        let begins = Ms(ends.0.saturating_sub(course.running));
        let job = Job { begins, ends, end: course.end.clone(), course, terminated: false };
        self.jobs.insert(name.clone(), job);
    }

    pub(super) fn terminate(&mut self, name: &TrialName) {
        let (now, delay) = (self.now, self.chance.below(20) * SECOND);
        if let Some(job) = self.jobs.get_mut(name).filter(|job| job.is_live(now)) {
            job.ends = job.ends.min(now.plus(delay));
            job.begins = job.begins.min(job.ends);
            job.end = End::Failed { cause: Cause::Stopped };
            job.terminated = true;
        }
        self.log(&format!("terminated {name}"));
    }

    /// The backend loses its table, and with it the jobs.
    pub(super) fn forget(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        self.forgotten.extend(jobs.into_keys());
        self.log("the backend forgot its jobs");
    }
}

/// The world, shared by its ports.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub(super) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A point at which the process may die. Then whatever asked never gets an answer: the future stays pending and is
    /// dropped, as everything in memory is. Or it is held up: then it goes on when it is asked again.
    pub(super) async fn point(&self, what: &str) {
        let (dies, mut waits) = {
            let mut world = self.lock();
            world.points += 1;
            let (dies, waits) = (world.crash_at == Some(world.points), world.pause_at == Some(world.points));
            if dies {
                world.crashed = true;
                world.log(&format!("CRASH {what}"));
            } else if waits {
                world.log(&format!("held up {what}"));
            }
            (dies, waits)
        };
        if dies {
            std::future::pending::<()>().await;
        }
        std::future::poll_fn(|_| if std::mem::take(&mut waits) { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// The clock of the simulated world.
#[derive(Clone, Debug)]
pub(super) struct SimClock(pub(super) Shared);

impl Clock for SimClock {
    fn now(&self) -> Ms {
        let world = self.0.lock();
        Ms(world.now.0 - world.skew)
    }

    async fn sleep(&self, ms: u64) {
        let mut world = self.0.lock();
        let to = world.now.plus(ms);
        world.advance(to);
    }
}
