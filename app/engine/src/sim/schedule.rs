//! One seeded scheduler that picks what happens next, until the run is over.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use domain::machine::{Run, State};
use domain::plan::Plan;
use domain::ports::Clock;
use domain::time::{DAY, HOUR, MINUTE, Ms, SECOND};
use domain::view::Ending;

use super::invariants;
use super::lab::SimLab;
use super::records::SimRecords;
use super::script::{Script, plan};
use super::store::SimStore;
use super::world::{Faults, Shared, SimClock, World};
use crate::drive::is_finished;
use crate::engine::{CancelAnswer, Engine, EngineError, Habits, Settings, key_of};
use crate::memory::MemoryStore;

/// How a schedule is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Plants a mistake: a submission that may have happened is repeated without looking for its job first.
    pub submits_blindly: bool,
    /// Only crashes go wrong, so that the outcome is determined by the seed.
    pub only_crashes: bool,
    /// Not even crashes.
    pub calm: bool,
}

/// What came of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How the run ended: `done` and the reasons, or how it ended without a verdict.
    pub end: String,
    /// Actions that the scheduler picked.
    pub actions: u64,
    /// Crashes among them.
    pub crashes: u64,
    /// Points at which a crash was possible.
    pub points: u64,
    /// What did not hold; empty when all is well.
    pub violations: Vec<String>,
    /// What happened, one line each.
    pub trace: Vec<String>,
}

pub(super) type SimEngine = Engine<SimStore, SimLab, SimRecords, SimClock>;

/// Runs a future whose every wait is a crash: `None` when it died.
pub(super) fn run_or_die<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// A run in its world.
pub(super) struct Stage {
    pub(super) world: Shared,
    pub(super) store: MemoryStore,
    pub(super) plan: Plan,
    habits: Habits,
    engine: SimEngine,
    engines: u64,
    before: Option<Run>,
    cancelled: bool,
}

impl Stage {
    pub(super) fn new(mut world: World, plan: Plan, habits: Habits) -> Self {
        let roles = plan.roles();
        for (role, job) in roles.iter().zip(plan.retry.iter().flat_map(|retry| retry.adopts.values())) {
            if let Ok(name) = job.root_name().parse() {
                world.inherit(&name, role);
            }
        }
        let (world, store) = (Shared::new(world), MemoryStore::new());
        let engine = engine(&world, &store, habits, 0);
        Self { world, store, plan, habits, engine, engines: 0, before: None, cancelled: false }
    }

    /// Performs one action of the engine. After a crash there is a new engine that knows nothing.
    fn act<'a, T, F: Future<Output = Result<T, EngineError>>>(
        &'a mut self,
        action: impl FnOnce(&'a SimEngine, &'a Plan) -> F,
    ) -> Option<T> {
        let answer = run_or_die(action(&self.engine, &self.plan));
        match answer {
            Some(Ok(value)) => Some(value),
            Some(Err(error)) => {
                self.world.lock().violated(format!("the engine failed: {error}"));
                None
            }
            None => None,
        }
    }

    fn after(&mut self) {
        let died = std::mem::take(&mut self.world.lock().crashed);
        if died {
            self.engines += 1;
            self.engine = engine(&self.world, &self.store, self.habits, self.engines);
        }
        self.check();
    }

    pub(super) fn start(&mut self) {
        self.act(Engine::start);
        self.after();
    }

    pub(super) fn tick(&mut self) {
        let now = SimClock(self.world.clone()).now();
        self.act(|engine, _| engine.tick(now));
        self.after();
    }

    fn cancel(&mut self) {
        let answer = self.act(|engine, plan| engine.cancel(&plan.run, "somebody"));
        self.world.lock().log(&format!("cancel: {answer:?}"));
        self.cancelled |= matches!(answer, Some(CancelAnswer::Stopping | CancelAnswer::Ended));
        self.after();
    }

    fn confirm(&mut self) {
        let digest = self.plan.digest();
        self.act(|engine, plan| async move { engine.confirm(&plan.run, &digest).await });
        self.after();
    }

    pub(super) fn run(&self) -> Option<Run> {
        let subject = self.store.subject(&key_of(&self.plan.run))?;
        match Run::from_json(&subject.state) {
            Ok(run) => Some(run),
            Err(error) => {
                self.world.lock().violated(error.to_string());
                None
            }
        }
    }

    fn check(&mut self) {
        let Some(run) = self.run() else { return };
        invariants::check(&mut self.world.lock(), &self.store.looks(), self.before.as_ref(), &run);
        self.before = Some(run);
    }

    fn finished(&self) -> bool {
        self.before.as_ref().is_some_and(is_finished)
    }

    fn awaits_confirmation(&self) -> bool {
        self.before.as_ref().is_some_and(|run| matches!(run.state, State::AwaitingConfirmation { .. }))
    }

    fn advance(&self, to: Ms) {
        self.world.lock().advance(to);
    }

    /// To when the engine has something to do next, by its own clock.
    fn advance_to_due(&self) {
        if let Some(due) = self.store.next_due_now() {
            let mut world = self.world.lock();
            let to = due.plus(world.skew);
            world.advance(to);
        }
    }

    /// Lets everything work from now on; the run must come to its end.
    pub(super) fn finish(&mut self) {
        {
            let mut world = self.world.lock();
            let disk_full = world.faults.disk_full;
            world.faults = Faults { disk_full, ..Faults::default() };
        }
        let until = self.world.lock().now.plus(60 * DAY);
        for _ in 0..20_000 {
            if self.finished() || self.world.lock().now > until {
                break;
            }
            if self.run().is_none() {
                self.start();
            }
            if self.awaits_confirmation() {
                self.confirm();
            }
            self.tick();
            self.advance_to_due();
        }
        if !self.finished() {
            let state = self.before.as_ref().map(|run| run.state.clone());
            self.world.lock().violated(format!("the run does not end: {state:?}"));
        }
        self.ended();
    }

    fn ended(&mut self) {
        let Some(run) = self.before.clone() else { return };
        let mut world = self.world.lock();
        if self.cancelled && !matches!(run.state, State::Ended { how: Ending::Cancelled, .. }) {
            world.violated(format!("it was cancelled and became {:?}", run.state));
        }
        if let State::Ended { how: Ending::Cancelled, .. } = run.state
            && !self.cancelled
            && !world.trace.iter().any(|line| line.ends_with("cancel: None"))
        {
            world.violated("it became cancelled and nobody asked".to_owned());
        }
    }

    pub(super) fn end(&self) -> String {
        match self.before.as_ref().map(|run| &run.state) {
            Some(State::Done { judged, .. }) => {
                let reasons: Vec<&str> = judged.treatments.iter().map(|of| of.reason.code()).collect();
                format!("done {}", reasons.join(" "))
            }
            Some(State::Ended { how, .. }) => format!("ended {}", how.key()),
            _ => "not over".to_owned(),
        }
    }
}

fn engine(world: &Shared, store: &MemoryStore, habits: Habits, number: u64) -> SimEngine {
    let settings = Settings { owner: format!("engine-{number}"), ..Settings::default() };
    let (world, store) = (world.clone(), store.clone());
    let sim_store = SimStore { world: world.clone(), store: store.clone() };
    let lab = SimLab { world: world.clone(), store };
    let mut engine = Engine::new(sim_store, lab, SimRecords(world.clone()), SimClock(world), settings);
    engine.habits = habits;
    engine
}

/// One schedule of a seed. The same seed and options give the same report.
#[must_use]
pub fn schedule(seed: u64, options: Options) -> Report {
    let faulty = !options.only_crashes && !options.calm;
    let mut world = World::new(seed, if faulty { Script::new(seed) } else { Script::calm(seed) });
    if faulty {
        world.faults = Faults {
            lost: world.chance.pick([0, 50, 200, 500]),
            refused: world.chance.pick([0, 0, 0, 5]),
            records: world.chance.pick([0, 0, 50, 300]),
            disk_full: world.chance.happens(20),
        };
    }
    world.at_once = world.chance.happens(250);
    world.jumpy = faulty && world.chance.happens(300);
    let cancels = faulty && world.chance.happens(250);
    let answers_twice = faulty && world.chance.happens(300);
    let habits = Habits { look_first: !options.submits_blindly, answers_twice };
    let plan = match plan(seed) {
        Ok(plan) if !faulty => Plan { confirm: None, ..plan },
        Ok(plan) => plan,
        Err(error) => return broken(seed, error.to_string()),
    };
    let mut stage = Stage::new(world, plan, habits);
    stage.start();
    let (mut actions, mut crashes) = (0, 0);
    while actions < 3000 && !stage.finished() {
        actions += 1;
        crashes += u64::from(act(&mut stage, options, faulty, cancels));
    }
    stage.finish();
    let end = stage.end();
    let mut world = stage.world.lock();
    Report {
        seed,
        end,
        actions,
        crashes,
        points: world.points,
        violations: std::mem::take(&mut world.violations),
        trace: std::mem::take(&mut world.trace),
    }
}

fn broken(seed: u64, why: String) -> Report {
    Report { seed, end: String::new(), actions: 0, crashes: 0, points: 0, violations: vec![why], trace: Vec::new() }
}

/// Picks one action. Says whether the engine died of it.
fn act(stage: &mut Stage, options: Options, faulty: bool, cancels: bool) -> bool {
    let (drawn, jump, dies) = {
        let mut world = stage.world.lock();
        let drawn = world.chance.below(1000);
        let jump = match world.chance.below(20) {
            0 => world.chance.below(HOUR),
            1 | 2 => world.chance.below(5 * MINUTE),
            _ => world.chance.below(10 * SECOND),
        };
        let dies = !options.calm && world.chance.happens(120);
        if dies {
            world.crash_at = Some(world.points + 1 + world.chance.below(14));
        }
        (drawn, jump, dies)
    };
    let engines = stage.engines;
    let agrees = stage.awaits_confirmation() && stage.world.lock().chance.happens(400);
    match drawn {
        _ if agrees => stage.confirm(),
        0..500 => stage.tick(),
        500..800 => {
            stage.advance_to_due();
            stage.tick();
        }
        800..970 => {
            let to = stage.world.lock().now.plus(jump);
            stage.advance(to);
        }
        970..975 if cancels => stage.cancel(),
        985..987 if faulty => stage.world.lock().forget(),
        995..998 if stage.world.lock().jumpy => {
            let mut world = stage.world.lock();
            world.skew = world.chance.pick([0, 0, 30 * MINUTE, 2 * HOUR]);
            let skew = world.skew;
            world.log(&format!("the clock is {skew} ms behind"));
        }
        987..991 if faulty => {
            let mut world = stage.world.lock();
            world.source_silent = world.now.plus(jump * 40);
        }
        991..995 if faulty => {
            let mut world = stage.world.lock();
            world.lab_silent = world.now.plus(jump * 4);
        }
        _ => {
            if stage.run().is_none() {
                stage.start();
            }
        }
    }
    if !dies {
        return false;
    }
    stage.world.lock().crash_at = None;
    stage.engines != engines
}
