use domain::arms::Role;
use domain::ids::{Digest, JobId};
use domain::machine::{Run, State};
use domain::plan::Plan;
use domain::ports::{
    Answer, Clock, Collected, Committed, Decided, Ending, Fate, JobState, Judged, Lab, Look, LookKey, LookRow, Records,
    RecordsError, Sealed, Store, Subject, Submitted, TrialFate, Unreachable, Write,
};
use domain::rounds::TrialName;
use domain::time::{MINUTE, Ms, SECOND};
use domain::view::{Ending as Over, Reason};
use std::sync::Mutex;
use tokio::sync::watch;

use crate::engine::{CancelAnswer, Engine, EngineError, Settings};
use crate::memory::MemoryStore;
use crate::progress::{Phase, Progress};
use crate::run_to_end;

/// A clock that only moves when somebody waits.
#[derive(Default)]
struct Hands(Mutex<u64>);

impl Clock for &Hands {
    fn now(&self) -> Ms {
        Ms(*self.0.lock().unwrap())
    }
    async fn sleep(&self, ms: u64) {
        *self.0.lock().unwrap() += ms;
        tokio::task::yield_now().await;
    }
}

/// A backend whose jobs take a minute each.
struct Bench<'a> {
    clock: &'a Hands,
    jobs: Mutex<Vec<(JobId, u64, bool)>>,
    silent_until: u64,
    /// The answers of the first job are gone.
    forgets: bool,
}

impl<'a> Bench<'a> {
    fn new(clock: &'a Hands) -> Self {
        Self { clock, jobs: Mutex::default(), silent_until: 0, forgets: false }
    }
}

impl Lab for &Bench<'_> {
    async fn submit(&self, _: &Plan, trial: &TrialName, _: &Role) -> Submitted {
        let id: JobId = format!("/bench/{trial}").parse().unwrap();
        self.jobs.lock().unwrap().push((id.clone(), self.clock.now().0, false));
        Submitted::Accepted(id)
    }
    async fn find(&self, _: &Plan, _: &TrialName) -> Result<Option<JobId>, Unreachable> {
        Ok(None)
    }
    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        let jobs = self.jobs.lock().unwrap();
        let (_, began, stopped) = jobs.iter().find(|of| of.0 == *job).unwrap();
        let end = |end| JobState::Ended(end);
        Ok(if *stopped {
            end(domain::ports::End::Failed { cause: domain::ports::Cause::Stopped })
        } else if self.clock.now().0 >= began + MINUTE {
            end(domain::ports::End::Succeeded)
        } else {
            JobState::Running { step: Some("sort".to_owned()), done: 1, of: 3 }
        })
    }
    async fn collect(&self, _: &Plan, _: &TrialName, job: &JobId, _: u32) -> Collected {
        if self.forgets && self.jobs.lock().unwrap()[0].0 == *job {
            return Collected::Gone("it ended with the process that ran it".to_owned());
        }
        if self.clock.now().0 < self.silent_until {
            return Collected::Unavailable("503".to_owned());
        }
        Collected::Complete(vec![Answer { name: "steps.json".to_owned(), bytes: b"[]".to_vec() }])
    }
    async fn terminate(&self, job: &JobId) -> Result<(), Unreachable> {
        let mut jobs = self.jobs.lock().unwrap();
        jobs.iter_mut().filter(|of| of.0 == *job).for_each(|of| of.2 = true);
        Ok(())
    }
}

/// A folder that says what it was asked, and fails so often.
#[derive(Default)]
struct Paper {
    asked: Mutex<Vec<String>>,
    fails: Mutex<u32>,
    permanently: bool,
}

impl Paper {
    fn ask(&self, what: String) -> Result<(), RecordsError> {
        let mut fails = self.fails.lock().unwrap();
        if *fails > 0 {
            *fails -= 1;
            let why = "no space left on device".to_owned();
            return Err(if self.permanently { RecordsError::Unusable(why) } else { RecordsError::Failed(why) });
        }
        self.asked.lock().unwrap().push(what);
        Ok(())
    }
}

impl Records for &Paper {
    fn open(&self, _: &Plan) -> Result<(), RecordsError> {
        self.ask("open".to_owned())
    }
    fn answer(&self, trial: &TrialName, _: &Role, _: &[Answer]) -> Result<(), RecordsError> {
        self.ask(format!("answer {}-{}", trial.round, trial.place))
    }
    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        let counted = if fate.fate == Fate::Counted { "counted" } else { "other" };
        self.ask(format!("{counted} {}-{}", fate.name.round, fate.name.place))
    }
    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        self.ask(format!("judge {}", look.rounds.len()))?;
        let reason = if LookKey::of(look).is_some() { Reason::NoChange } else { Reason::Undecided };
        let treatment = "head".parse().unwrap();
        Ok(Judged { treatments: vec![Decided { treatment, verdict: reason.verdict(), reason }] })
    }
    fn seal(&self, _: &Ending) -> Result<Sealed, RecordsError> {
        self.ask("seal".to_owned())?;
        Ok(Sealed { digest: Digest::of(b"evidence") })
    }
}

fn plan() -> Plan {
    // Seed 0 of the simulated world, with one treatment.
    let mut plan = crate::sim::plan_for_tests();
    plan.mode = domain::rounds::RoundMode::InTurn;
    plan.looks = vec![1];
    plan.confirm = None;
    plan
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

type Tried<'a> = Engine<MemoryStore, &'a Bench<'a>, &'a Paper, &'a Hands>;

fn engine<'a>(lab: &'a Bench<'a>, paper: &'a Paper, clock: &'a Hands) -> Tried<'a> {
    Engine::new(MemoryStore::new(), lab, paper, clock, Settings::default())
}

fn to_end(engine: &Tried<'_>, plan: &Plan) -> (Run, Vec<Progress>) {
    let (_sender, cancel) = watch::channel(None);
    let mut seen = Vec::new();
    let run = block(async {
        engine.start(plan).await.unwrap();
        run_to_end(engine, &plan.run, cancel, |progress| seen.push(progress.clone())).await.unwrap()
    });
    (run, seen)
}

#[test]
fn a_run_from_start_to_seal() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let lab = Bench::new(&clock);
    let engine = engine(&lab, &paper, &clock);
    let (run, seen) = to_end(&engine, &plan());
    assert!(matches!(run.state, State::Done { .. }), "{:?}", run.state);
    // Answers before fates, fates before judging; a declared look after the check that spends nothing.
    assert_eq!(
        paper.asked.lock().unwrap().join(", "),
        "open, answer 1-1, counted 1-1, answer 1-2, counted 1-2, judge 1, judge 1, seal"
    );
    let running: Vec<&Progress> = seen.iter().filter(|of| of.phase == Phase::Running).collect();
    assert_eq!((running[0].round, running[0].of, running[0].trials_planned), (1, 1, 2));
    assert_eq!(running[0].step.as_ref().unwrap().name.as_deref(), Some("sort"));
    assert_eq!(running[0].remaining_ms, None);
    let last = running.last().unwrap();
    assert_eq!((last.trials_done, &last.arms), (1, &vec!["head".parse().unwrap()]));
    // The second trial takes as long as the first, and most of that is over.
    assert!(last.remaining_ms.unwrap() < 20 * SECOND, "{last:?}");
    assert_eq!(seen.last().unwrap().phase, Phase::Over);
    let later = block(engine.cancel(&run.id, "somebody")).unwrap();
    assert_eq!(later, CancelAnswer::AlreadyOver);
}

/// The plan of a run that takes the jobs of an earlier one over, which ended long ago.
fn retrying(lab: &Bench<'_>) -> Plan {
    let mut plan = plan();
    let place = |run: &domain::ids::RunId, place| TrialName { run: run.clone(), round: 1, replacement: 0, place };
    let earlier = domain::ids::RunId::new(1_795_980_000, 5).unwrap();
    let jobs = [1, 2].map(|at| format!("/bench/{}", place(&earlier, at)).parse::<JobId>().unwrap());
    lab.jobs.lock().unwrap().extend(jobs.iter().map(|job| (job.clone(), 0, false)));
    let adopts = [1, 2].map(|at| place(&plan.run, at)).into_iter().zip(jobs).collect();
    plan.continues = Some(earlier);
    plan.retry = Some(domain::retry::Retry { adopts, ..Default::default() });
    plan
}

#[test]
fn jobs_of_an_earlier_run_are_collected_and_nothing_is_launched() {
    let (clock, paper) = (Hands(Mutex::new(60 * MINUTE)), Paper::default());
    let lab = Bench::new(&clock);
    let plan = retrying(&lab);
    let engine = engine(&lab, &paper, &clock);
    let (run, _) = to_end(&engine, &plan);
    assert!(matches!(run.state, State::Done { .. }), "{:?}", run.state);
    assert_eq!(lab.jobs.lock().unwrap().len(), 2);
    assert_eq!(
        paper.asked.lock().unwrap().join(", "),
        "open, answer 1-1, counted 1-1, answer 1-2, counted 1-2, judge 1, judge 1, seal"
    );
}

#[test]
fn what_the_jobs_of_an_earlier_run_do_not_say_is_launched() {
    let (clock, paper) = (Hands(Mutex::new(60 * MINUTE)), Paper::default());
    // The first of them is gone.
    let lab = Bench { forgets: true, ..Bench::new(&clock) };
    let plan = retrying(&lab);
    let engine = engine(&lab, &paper, &clock);
    let (run, _) = to_end(&engine, &plan);
    assert!(matches!(run.state, State::Done { .. }), "{:?}", run.state);
    let launched: Vec<String> = lab.jobs.lock().unwrap()[2..].iter().map(|of| of.0.to_string()).collect();
    assert_eq!(launched, [1, 2].map(|place| format!("/bench/zab-{}-r1.1-{place}", plan.run)));
    assert!(run.discards.is_empty() && run.churned == 0, "{:?}", run.discards);
}

#[test]
fn cancelling_stops_what_runs_and_then_ends() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let lab = Bench::new(&clock);
    let (engine, plan) = (engine(&lab, &paper, &clock), plan());
    let (sender, cancel) = watch::channel(None);
    let mut stopping = 0;
    let run = block(async {
        engine.start(&plan).await.unwrap();
        run_to_end(&engine, &plan.run, cancel, |progress| {
            if progress.phase == Phase::Running {
                sender.send_replace(Some("ctrl-c".to_owned()));
            }
            stopping += u32::from(progress.phase == Phase::Stopping);
        })
        .await
        .unwrap()
    });
    let State::Ended { how: Over::Cancelled, why, alive, .. } = &run.state else { panic!("{:?}", run.state) };
    assert_eq!((why.as_deref(), alive.len()), (Some("ctrl-c"), 0));
    assert!(stopping > 0);
    assert!(lab.jobs.lock().unwrap().iter().all(|job| job.2));
}

#[test]
fn a_silent_source_is_said_and_waited_for() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let mut lab = Bench::new(&clock);
    lab.silent_until = 30 * MINUTE;
    let (run, seen) = to_end(&engine(&lab, &paper, &clock), &plan());
    assert!(matches!(run.state, State::Done { .. }));
    assert!(
        seen.iter().any(|of| of.phase == Phase::Collecting && of.waits.as_deref() == Some("SOURCE_UNAVAILABLE: 503"))
    );
}

#[test]
fn answers_that_are_gone_are_not_waited_for() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let mut lab = Bench::new(&clock);
    lab.forgets = true;
    let (run, _) = to_end(&engine(&lab, &paper, &clock), &Plan { replacements: 1, ..plan() });
    assert!(matches!(run.state, State::Done { .. }), "{:?}", run.state);
    assert_eq!((run.replaced, run.churned), (1, 1));
    assert!(paper.asked.lock().unwrap().contains(&"other 1-1".to_owned()));
    // Three or four jobs of a minute each, and a little.
    let now = (&clock).now();
    assert!(now < Ms(6 * MINUTE), "{now:?}");
}

#[test]
fn a_folder_that_fails_for_a_while_is_asked_again() {
    let (clock, paper) = (Hands::default(), Paper { fails: Mutex::new(3), ..Paper::default() });
    let lab = Bench::new(&clock);
    let (run, _) = to_end(&engine(&lab, &paper, &clock), &plan());
    assert!(matches!(run.state, State::Done { .. }), "{:?}", run.state);
}

#[test]
fn a_folder_that_fails_for_good_ends_the_run_before_anything_is_started() {
    for (fails, permanently) in [(u32::MAX, false), (u32::MAX, true)] {
        let (clock, paper) = (Hands::default(), Paper { fails: Mutex::new(fails), permanently, ..Paper::default() });
        let lab = Bench::new(&clock);
        let (run, _) = to_end(&engine(&lab, &paper, &clock), &plan());
        let State::Ended { how: Over::Failed, why, .. } = &run.state else { panic!("{:?}", run.state) };
        assert_eq!(why.as_deref(), Some("no space left on device"));
        assert!(lab.jobs.lock().unwrap().is_empty());
    }
}

#[test]
fn a_look_that_was_taken_stands() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let lab = Bench::new(&clock);
    let (engine, plan) = (engine(&lab, &paper, &clock), plan());
    let key = LookKey { ledger: plan.ledger.clone(), episode: 1, look: 0 };
    let treatment = "head".parse().unwrap();
    let reason = Reason::CpuHigher;
    let judged = Judged { treatments: vec![Decided { treatment, verdict: reason.verdict(), reason }] };
    let row = LookRow { key, run: plan.run.clone(), judged: judged.clone(), at: Ms(0) };
    let other = Subject {
        key: "run:other".to_owned(),
        body: String::new(),
        state: String::new(),
        version: 0,
        fence: 0,
        due: None,
    };
    let write = Write {
        subject: other.key.clone(),
        version: 0,
        fence: 0,
        state: String::new(),
        due: None,
        finished: Vec::new(),
        effects: Vec::new(),
        look: Some(row),
        at: Ms(0),
    };
    block(async {
        engine.store.create(other).await.unwrap();
        assert_eq!(engine.store.commit(write.clone()).await.unwrap(), Committed::Done(1));
        let again = Write { version: 1, ..write };
        assert_eq!(engine.store.commit(again).await.unwrap(), Committed::LookTaken);
    });
    let (run, _) = to_end(&engine, &plan);
    let State::Done { judged: said, .. } = &run.state else { panic!("{:?}", run.state) };
    assert_eq!(*said, judged);
}

#[test]
fn a_plan_is_started_once_and_checked() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let lab = Bench::new(&clock);
    let engine = engine(&lab, &paper, &clock);
    block(async {
        engine.start(&plan()).await.unwrap();
        engine.start(&plan()).await.unwrap();
        let other = Plan { limit_ms: 1, ..plan() };
        assert!(matches!(engine.start(&other).await, Err(EngineError::Plan(_))));
        let none = Plan { looks: vec![], ..plan() };
        let error = engine.start(&none).await.unwrap_err().to_string();
        assert!(error.starts_with("the looks are []; needed: at least one"), "{error}");
        let newer = Plan { schema: 2, ..plan() };
        assert!(engine.start(&newer).await.unwrap_err().to_string().contains("schema 2"));
        let unknown = domain::ids::RunId::new(0, 0).unwrap();
        assert_eq!(engine.read(&unknown).await, Err(EngineError::NoRun(unknown)));
    });
}

#[test]
fn a_costly_plan_waits_for_its_own_digest() {
    let (clock, paper) = (Hands::default(), Paper::default());
    let lab = Bench::new(&clock);
    let engine = engine(&lab, &paper, &clock);
    let plan = Plan { confirm: Some("61 CPU hours".to_owned()), ..plan() };
    block(async {
        engine.start(&plan).await.unwrap();
        engine.tick(Ms(0)).await.unwrap();
        assert_eq!(engine.progress(&plan.run).await.unwrap().phase, Phase::AwaitingConfirmation);
        assert!(!engine.confirm(&plan.run, &Digest::of(b"another")).await.unwrap());
        assert!(engine.confirm(&plan.run, &plan.digest()).await.unwrap());
    });
}

#[test]
fn leases_and_fences() {
    let store = MemoryStore::new();
    let subject = |key: &str, due| Subject {
        key: key.to_owned(),
        body: String::new(),
        state: "a".to_owned(),
        version: 0,
        fence: 0,
        due: Some(Ms(due)),
    };
    let write = |of: &Subject, effects: &[&str]| Write {
        subject: of.key.clone(),
        version: of.version,
        fence: of.fence,
        state: "b".to_owned(),
        due: Some(Ms(5)),
        finished: Vec::new(),
        effects: effects.iter().map(|key| ((*key).to_owned(), String::new(), Ms(0))).collect(),
        look: None,
        at: Ms(0),
    };
    block(async {
        for (key, due) in [("late", 9), ("second", 2), ("first", 1)] {
            assert!(store.create(subject(key, due)).await.unwrap());
        }
        assert!(!store.create(subject("first", 7)).await.unwrap());
        let claimed = store.claim("one", Ms(2), Ms(100), 1).await.unwrap();
        assert_eq!((claimed.len(), claimed[0].key.as_str(), claimed[0].fence), (1, "first", 1));
        let rest = store.claim("two", Ms(2), Ms(100), 9).await.unwrap();
        assert_eq!(rest.iter().map(|of| of.key.as_str()).collect::<Vec<_>>(), ["second"]);
        assert!(store.claim("two", Ms(3), Ms(100), 9).await.unwrap().is_empty());
        assert_eq!(store.next_due().await.unwrap(), Some(Ms(9)));
        // The lease is over, and so is what the first one may write.
        let again = store.claim("two", Ms(101), Ms(200), 1).await.unwrap();
        assert_eq!((again[0].key.as_str(), again[0].fence), ("first", 2));
        assert_eq!(store.commit(write(&claimed[0], &[])).await.unwrap(), Committed::Outdated);
        assert!(!store.begin("first", "x", 1).await.unwrap());
        assert_eq!(store.commit(write(&again[0], &["x", "x", "y"])).await.unwrap(), Committed::Done(1));
        assert_eq!(store.commit(write(&again[0], &[])).await.unwrap(), Committed::Outdated);
        assert!(store.begin("first", "x", 2).await.unwrap());
        let effects = store.effects("first").await.unwrap();
        assert_eq!(
            effects.iter().map(|of| (of.key.as_str(), of.begun)).collect::<Vec<_>>(),
            [("x", true), ("y", false)]
        );
        // Who gives it back with an old version does not know when it is due.
        store.release("first", 2, 0, None).await.unwrap();
        assert_eq!(store.read("first").await.unwrap().unwrap().due, Some(Ms(5)));
        store.release("first", 2, 1, None).await.unwrap();
        assert_eq!(store.read("first").await.unwrap().unwrap().due, None);
    });
}
