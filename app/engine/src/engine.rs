//! Who asks: starting, confirming, cancelling, reading, and the tick.

use domain::ids::{Digest, RunId};
use domain::machine::{Event, Run, State, StateError, step};
use domain::plan::Plan;
use domain::ports::{Clock, Committed, Lab, Records, Store, StoreError, Subject, Write};
use domain::time::{MINUTE, Ms};
use domain::view::Ending;

use crate::progress::Progress;

/// How an engine works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who this is among several engines on one store.
    pub owner: String,
    /// How long a claimed run is ours, milliseconds. After a crash it waits as long before another takes it.
    pub lease_ms: u64,
    /// How many runs are claimed at once.
    pub batch: usize,
    /// How often the evidence folder may fail in a row before the run fails with it.
    pub records_tries: u32,
    /// How many runs may go on at once; the others wait for their turn.
    pub at_once: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { owner: "engine".to_owned(), lease_ms: MINUTE, batch: 16, records_tries: 5, at_once: 1 }
    }
}

/// What the simulated world may change about an engine. The product has the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habits {
    /// A submission that may have happened is looked up before it is repeated.
    pub(crate) look_first: bool,
    /// Every answer arrives twice.
    pub(crate) answers_twice: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self { look_first: true, answers_twice: false }
    }
}

/// The engine.
#[derive(Debug)]
pub struct Engine<S, L, R, C> {
    pub(crate) store: S,
    pub(crate) lab: L,
    pub(crate) records: R,
    pub(crate) clock: C,
    pub(crate) settings: Settings,
    pub(crate) habits: Habits,
}

/// The engine cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored state cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// Something else that is stored cannot be read.
    #[error("{what} of {key} cannot be read: {why}")]
    Stored {
        /// What.
        what: &'static str,
        /// The subject or the effect.
        key: String,
        /// Why.
        why: String,
    },
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// A run of this id exists with another plan, or the plan cannot be run.
    #[error("{0}")]
    Plan(String),
}

/// What a request to stop is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It is being stopped.
    Stopping,
    /// Nothing was running: it is over.
    Ended,
    /// It was judged before; the verdict stands.
    AlreadyDecided,
    /// It was over before.
    AlreadyOver,
}

/// The key of a run's subject.
#[must_use]
pub(crate) fn key_of(run: &RunId) -> String {
    format!("run:{run}")
}

pub(crate) fn plan_of(subject: &Subject) -> Result<Plan, EngineError> {
    serde_json::from_str(&subject.body).map_err(|error| EngineError::Stored {
        what: "the plan",
        key: subject.key.clone(),
        why: error.to_string(),
    })
}

impl<S: Store, L: Lab, R: Records, C: Clock> Engine<S, L, R, C> {
    /// An engine.
    pub fn new(store: S, lab: L, records: R, clock: C, settings: Settings) -> Self {
        Self { store, lab, records, clock, settings, habits: Habits::default() }
    }

    /// The subject of a run that is to start at once.
    ///
    /// # Errors
    /// A plan that cannot be run.
    pub(crate) fn subject(plan: &Plan, now: Ms) -> Result<Subject, EngineError> {
        plan.check().map_err(|error| EngineError::Plan(error.to_string()))?;
        let body = serde_json::to_string(plan).map_err(|error| EngineError::Plan(error.to_string()))?;
        let state = Run::new(plan.run.clone(), now).to_json()?;
        Ok(Subject { key: key_of(&plan.run), body, state, version: 0, fence: 0, due: Some(now) })
    }

    /// Who this is among several engines on one store.
    pub fn owner(&self) -> &str {
        &self.settings.owner
    }

    /// Writes down a run; the next tick starts it. Starting the same plan again is fine.
    ///
    /// # Errors
    /// A plan that cannot be run, another plan under the same id, or a failing store.
    pub async fn start(&self, plan: &Plan) -> Result<(), EngineError> {
        let subject = Self::subject(plan, self.clock.now())?;
        let (key, body) = (subject.key.clone(), subject.body.clone());
        if !self.store.create(subject).await? {
            let known = self.store.read(&key).await?;
            if known.is_none_or(|known| known.body != body) {
                return Err(EngineError::Plan(format!("run {} exists with another plan", plan.run)));
            }
        }
        Ok(())
    }

    /// The run.
    ///
    /// # Errors
    /// No such run, a state that cannot be read, or a failing store.
    pub async fn read(&self, run: &RunId) -> Result<Run, EngineError> {
        let subject = self.store.read(&key_of(run)).await?.ok_or_else(|| EngineError::NoRun(run.clone()))?;
        Ok(Run::from_json(&subject.state)?)
    }

    /// What a person sees of the run now.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn progress(&self, run: &RunId) -> Result<Progress, EngineError> {
        Ok(Progress::of(&self.read(run).await?, self.clock.now()))
    }

    /// A person agrees to the plan with this digest. `false` where the run waits for no such agreement.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn confirm(&self, run: &RunId, plan: &Digest) -> Result<bool, EngineError> {
        let (before, after) = self.send(run, &Event::Confirm { plan: plan.clone() }).await?;
        Ok(before.state != after.state)
    }

    /// A person wants the run stopped.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn cancel(&self, run: &RunId, by: &str) -> Result<CancelAnswer, EngineError> {
        let (before, after) = self.send(run, &Event::Cancel { by: by.to_owned() }).await?;
        Ok(match (&before.state, &after.state) {
            (State::Done { .. } | State::Ended { .. }, _) => CancelAnswer::AlreadyOver,
            (State::Sealing { .. }, _) => CancelAnswer::AlreadyDecided,
            (_, State::Ended { .. }) => CancelAnswer::Ended,
            _ => CancelAnswer::Stopping,
        })
    }

    /// The run is needless for another reason than that a person stops it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn end(&self, run: &RunId, how: Ending, by: &str) -> Result<(), EngineError> {
        self.send(run, &Event::End { how, by: by.to_owned() }).await?;
        Ok(())
    }

    /// The run goes no further than its next look.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn finish(&self, run: &RunId) -> Result<(), EngineError> {
        self.send(run, &Event::Finish).await?;
        Ok(())
    }

    /// Steps a run with an event from outside, whoever has claimed it: that one finds its own write outdated.
    async fn send(&self, run: &RunId, event: &Event) -> Result<(Run, Run), EngineError> {
        let key = key_of(run);
        loop {
            let subject = self.store.read(&key).await?.ok_or_else(|| EngineError::NoRun(run.clone()))?;
            let before = Run::from_json(&subject.state)?;
            let now = self.clock.now();
            let (after, effects) = step(&before, event, now);
            if before == after && effects.is_empty() {
                return Ok((before, after));
            }
            let write = Write {
                subject: key.clone(),
                version: subject.version,
                fence: subject.fence,
                state: after.to_json()?,
                due: Some(now),
                finished: Vec::new(),
                effects: crate::work::stored(&after, effects)?,
                look: None,
                at: now,
            };
            if let Committed::Done(_) = self.store.commit(write).await? {
                return Ok((before, after));
            }
        }
    }

    /// Does everything that is due. Returns how many runs were claimed.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read. What was claimed and not done is done by whoever
    /// claims it next.
    pub async fn tick(&self, now: Ms) -> Result<usize, EngineError> {
        let until = now.plus(self.settings.lease_ms);
        let claimed = self.store.claim(&self.settings.owner, now, until, self.settings.batch).await?;
        let count = claimed.len();
        let mut failed = None;
        for subject in claimed {
            // One that cannot be read must not keep the others from going on.
            if let Err(error) = self.work(subject).await {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(count), Err)
    }

    /// When something is due next.
    ///
    /// # Errors
    /// A failing store.
    pub async fn next_due(&self) -> Result<Option<Ms>, EngineError> {
        Ok(self.store.next_due().await?)
    }
}
