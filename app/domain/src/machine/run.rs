//! A run: its state, its events, and what it remembers of its rounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::effect::{Effect, What};
use super::state::{Frame, State, Stop};
use super::timing;
use super::trial::{Trial, TrialEvent};
use crate::arms::Role;
use crate::ids::{ArmName, Digest, RunId};
use crate::ports::{Alive, Counted, Decided, Judged, Look};
use crate::rounds::TrialName;
use crate::time::Ms;
use crate::view::Ending as Over;

/// The schema of [`Run`] that this version writes; a newer one is refused.
pub const STATE_SCHEMA: u32 = 1;

/// What happens to a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It may start.
    SlotGranted,
    /// It is planned.
    Resolved(Box<Frame>),
    /// It cannot be planned.
    Refused(String),
    /// A person agrees to a plan.
    Confirm {
        /// Digest of the plan that was shown.
        plan: Digest,
    },
    /// A person wants it stopped.
    Cancel {
        /// Who.
        by: String,
    },
    /// It is to be stopped for another reason.
    End {
        /// What that makes of it.
        how: Over,
        /// Why, or by whom.
        by: String,
    },
    /// It is to go no further than the look that is due next: rounds after that are not worth their cost any more.
    Finish,
    /// Something happens to a trial.
    Trial(TrialName, TrialEvent),
    /// The folder was judged.
    Judged(Box<Look>, Judged),
    /// The folder was sealed.
    Sealed(Digest),
    /// The folder cannot be written or judged.
    RecordsFailed(String),
    /// Time has passed.
    Due,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`STATE_SCHEMA`].
    pub schema: u32,
    /// Its id.
    pub id: RunId,
    /// How far it has come.
    pub state: State,
    /// When it was made.
    pub started: Ms,
    /// What it needs of its plan, once planned.
    pub frame: Option<Frame>,
    /// The current round, counted after those of earlier runs; 0 before the first.
    pub round: u32,
    /// How often that round was replaced.
    pub replacement: u32,
    /// The places of that round.
    pub places: Vec<Role>,
    /// Every trial so far.
    pub trials: Vec<Trial>,
    /// Rounds that count.
    pub counted: Vec<Counted>,
    /// Trials outside the rounds that count.
    pub confirmations: Vec<TrialName>,
    /// Treatments that are decided.
    pub decided: Vec<Decided>,
    /// Declared looks that were taken.
    pub looked: u32,
    /// Rounds that were replaced.
    pub replaced: u32,
    /// Those among them that the infrastructure spoiled.
    pub churned: u32,
    /// Trials that were discarded, per role.
    pub discards: BTreeMap<Role, u32>,
    /// Whether measurements were missing each time that a round was spoiled.
    pub only_missing: bool,
    /// Failures per treatment.
    pub failures: BTreeMap<ArmName, u32>,
    /// Clean trials since the last failure, per treatment that failed.
    pub clean: BTreeMap<ArmName, u32>,
    /// Control trials that failed.
    pub control_failures: Vec<TrialName>,
    /// Whether a control trial ever ended well.
    pub control_ok: bool,
    /// Whether the next declared look is the last one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub finishing: bool,
}

// The form that serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !*value
}

#[derive(Deserialize)]
struct Head {
    schema: u64,
}

/// A stored state that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A state of a newer version.
    #[error("the state of the run has schema {found}; this version reads up to {STATE_SCHEMA}: use a newer zephyr-ab")]
    Newer {
        /// The schema that was found.
        found: u64,
    },
    /// Not a state.
    #[error("the state of the run cannot be read: {0}")]
    Broken(String),
}

/// What a request to stop means.
fn stop_of(event: &Event) -> Stop {
    match event {
        Event::End { how, by } => Stop::Cancelled { by: by.clone(), how: *how },
        Event::Cancel { by } => Stop::Cancelled { by: by.clone(), how: Over::Cancelled },
        _ => Stop::Cancelled { by: String::new(), how: Over::Cancelled },
    }
}

/// The next state of a run and what is to be done. An event that nothing names changes nothing.
#[must_use]
pub fn step(run: &Run, event: &Event, now: Ms) -> (Run, Vec<Effect>) {
    let mut next = run.clone();
    let mut effects = Vec::new();
    next.react(event, now, &mut effects);
    (next, effects)
}

impl Run {
    /// A run that waits for a slot.
    #[must_use]
    pub fn new(id: RunId, now: Ms) -> Self {
        Self {
            schema: STATE_SCHEMA,
            id,
            state: State::Queued,
            started: now,
            frame: None,
            round: 0,
            replacement: 0,
            places: Vec::new(),
            trials: Vec::new(),
            counted: Vec::new(),
            confirmations: Vec::new(),
            decided: Vec::new(),
            looked: 0,
            replaced: 0,
            churned: 0,
            discards: BTreeMap::new(),
            only_missing: true,
            failures: BTreeMap::new(),
            clean: BTreeMap::new(),
            control_failures: Vec::new(),
            control_ok: false,
            finishing: false,
        }
    }

    /// Reads a stored state.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn from_json(text: &str) -> Result<Self, StateError> {
        let broken = |error: serde_json::Error| StateError::Broken(error.to_string());
        // The number first: the rest of a newer state may not be readable at all.
        let found = serde_json::from_str::<Head>(text).map_err(broken)?.schema;
        if found > u64::from(STATE_SCHEMA) {
            return Err(StateError::Newer { found });
        }
        serde_json::from_str(text).map_err(broken)
    }

    /// The state as it is stored.
    ///
    /// # Errors
    /// [`StateError::Broken`], which would be a mistake in this type.
    pub fn to_json(&self) -> Result<String, StateError> {
        serde_json::to_string(self).map_err(|error| StateError::Broken(error.to_string()))
    }

    /// When time alone changes something.
    #[must_use]
    pub fn deadline(&self) -> Option<Ms> {
        if let State::AwaitingConfirmation { until, .. } = &self.state { Some(*until) } else { None }
    }

    /// Whether an effect still matters: one that does not is dropped unperformed.
    #[must_use]
    pub fn wants(&self, what: &What) -> bool {
        let of = |trial: &TrialName| self.trials.iter().find(|known| known.name == *trial);
        match what {
            What::Resolve { .. } => matches!(self.state, State::Planning),
            What::Open => self.frame.is_some() && !self.is_sealed(),
            What::Submit { trial, .. }
            | What::Find { trial, .. }
            | What::Poll { trial, .. }
            | What::Collect { trial, .. }
            | What::Terminate { trial, .. } => of(trial).is_some_and(|known| known.wants(what)),
            What::Note { fate } => !self.is_sealed() && of(&fate.name).is_some_and(|known| known.wants(what)),
            What::Judge { look } => matches!(&self.state, State::Judging { look: current, .. } if current == look),
            What::Seal { .. } => {
                matches!(self.state, State::Sealing { .. } | State::Ended { sealing: true, .. })
            }
        }
    }

    fn is_sealed(&self) -> bool {
        matches!(self.state, State::Done { .. } | State::Ended { sealing: false, .. })
    }

    /// Jobs that may live although their trials are over for us.
    #[must_use]
    pub fn alive(&self) -> Vec<Alive> {
        let of = |trial: &Trial| Alive { trial: trial.name.clone(), job: trial.job.clone() };
        self.trials.iter().filter(|trial| trial.is_abandoned()).map(of).collect()
    }

    /// Treatments that are not decided.
    #[must_use]
    pub fn undecided(&self) -> Vec<ArmName> {
        let decided = |name: &&ArmName| !self.decided.iter().any(|decided| decided.treatment == **name);
        self.frame.iter().flat_map(|frame| &frame.treatments).filter(decided).cloned().collect()
    }

    /// The rounds that count, those of earlier runs included.
    #[must_use]
    pub fn rounds_done(&self) -> u64 {
        let earlier = self.frame.as_ref().map_or(0, |frame| u64::from(frame.earlier_rounds));
        earlier + self.counted.len() as u64
    }

    /// The trials of the current round.
    pub fn current(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| self.is_current(&trial.name))
    }

    pub(super) fn is_current(&self, name: &TrialName) -> bool {
        name.round == self.round && name.replacement == self.replacement
    }

    fn react(&mut self, event: &Event, now: Ms, effects: &mut Vec<Effect>) {
        match (&self.state, event) {
            // Confirmed, it waits for its turn again: what waits for a person takes nobody's place.
            (State::Queued, Event::SlotGranted) if self.frame.is_some() => self.go_on(false, now, effects),
            (State::Queued, Event::SlotGranted) => {
                self.state = State::Planning;
                effects.push(Effect { due: now, what: What::Resolve { plan: 1 } });
            }
            (State::Planning, Event::Resolved(frame)) => self.resolved(frame, now, effects),
            (State::Planning, Event::Refused(why)) => {
                self.ended(Over::Refused, Some(why.clone()), now, effects);
            }
            (State::AwaitingConfirmation { plan, until }, Event::Confirm { plan: shown })
                if plan == shown && now < *until =>
            {
                self.state = State::Queued;
            }
            (State::AwaitingConfirmation { until, .. }, Event::Due) if now >= *until => {
                self.ended(Over::Expired, None, now, effects);
            }
            (
                State::Queued
                | State::Planning
                | State::AwaitingConfirmation { .. }
                | State::Measuring { .. }
                | State::Judging { .. },
                Event::Cancel { .. } | Event::End { .. },
            ) => self.stop(stop_of(event), now, effects),
            (
                State::Stopping { stop: Stop::Blocked { .. } | Stop::Failed { .. }, until },
                Event::Cancel { .. } | Event::End { .. },
            ) => {
                self.state = State::Stopping { stop: stop_of(event), until: *until };
            }
            (State::Measuring { .. } | State::Judging { .. }, Event::Finish) => self.finishing = true,
            (_, Event::Trial(name, event)) => self.trial(name, event, now, effects),
            (State::Judging { look, complete, extra }, Event::Judged(judged_look, judged)) if look == judged_look => {
                let (look, complete, extra) = (look.clone(), *complete, *extra);
                self.judged(&look, complete, extra, judged, now, effects);
            }
            (State::Sealing { ending }, Event::Sealed(digest)) => {
                let alive = ending.alive.clone();
                if let crate::ports::How::Judged { judged, .. } = &ending.how {
                    self.state = State::Done { judged: judged.clone(), evidence: digest.clone(), alive };
                }
            }
            (State::Ended { sealing: true, how, why, alive, .. }, Event::Sealed(digest)) => {
                let (how, why, alive) = (*how, why.clone(), alive.clone());
                self.state = State::Ended { how, why, alive, sealing: false, evidence: Some(digest.clone()) };
            }
            (_, Event::RecordsFailed(why)) => self.records_failed(why, now, effects),
            _ => {}
        }
    }

    fn resolved(&mut self, frame: &Frame, now: Ms, effects: &mut Vec<Effect>) {
        self.frame = Some(frame.clone());
        self.round = frame.earlier_rounds;
        // Rounds that count have a control trial that ended well.
        self.control_ok = frame.earlier_rounds > 0;
        if let Some(retry) = &frame.retry {
            self.looked = retry.looked;
            self.decided.clone_from(&retry.decided);
            self.failures.clone_from(&retry.failures);
            self.discards.clone_from(&retry.discards);
            self.clean = retry.failures.keys().map(|name| (name.clone(), 0)).collect();
        }
        effects.push(Effect { due: now, what: What::Open });
        if frame.confirm.is_some() {
            let until = now.plus(timing::CONFIRM_FOR);
            self.state = State::AwaitingConfirmation { plan: frame.plan.clone(), until };
        } else {
            self.go_on(false, now, effects);
        }
    }

    /// Steps one trial, writes down what became of it, and lets the run react.
    pub(super) fn trial(&mut self, name: &TrialName, event: &TrialEvent, now: Ms, effects: &mut Vec<Effect>) {
        let Some(at) = self.trials.iter().position(|trial| trial.name == *name) else { return };
        let before = self.trials[at].is_over();
        let (trial, asked) = self.trials[at].step(event, now);
        self.trials[at] = trial;
        effects.extend(asked);
        if before {
            return;
        }
        if !self.trials[at].is_over() {
            if matches!(event, TrialEvent::Polled(..) | TrialEvent::Found(..)) {
                self.answered(at, now, effects);
            }
            return;
        }
        if let Some(line) = self.trials[at].line(now) {
            effects.push(Effect { due: now, what: What::Note { fate: Box::new(line) } });
        }
        match self.state {
            State::Measuring { .. } => self.trial_over(at, now, effects),
            State::Stopping { .. } => self.stopped(now, effects),
            _ => {}
        }
    }
}
