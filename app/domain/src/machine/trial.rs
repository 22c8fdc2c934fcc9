//! One trial: from its submission to what became of it.

use serde::{Deserialize, Serialize};

use super::collecting::failure;
use super::effect::{Effect, Keep, What};
use super::timing::{self, Late};
use crate::arms::Role;
use crate::ids::{Digest, JobId};
use crate::ports::{Cause, Discard, End, Fate, JobState, Submitted, TrialFate};
use crate::rounds::TrialName;
use crate::time::Ms;

/// How far a trial has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TrialState {
    /// Nothing was done.
    Planned,
    /// Its job was submitted, or may have been.
    Submitting {
        /// When this attempt began.
        since: Ms,
        /// Which attempt, from 1.
        attempt: u32,
        /// How often the backend said that it has no such job.
        looks: u32,
        /// How often in a row it said nothing.
        unanswered: u32,
    },
    /// Its job is there.
    Live {
        /// Since when the backend does not know it.
        unknown_since: Option<Ms>,
        /// Since when the backend does not answer.
        silent_since: Option<Ms>,
    },
    /// Its job is over; its answers are being asked for.
    Settled {
        /// How it ended.
        end: End,
    },
    /// Its answers are asked for again.
    Collecting {
        /// How the job ended.
        end: End,
        /// Probes that the source answered.
        probes: u32,
        /// Digest of the last complete answers.
        previous: Option<Digest>,
        /// What the source says instead of answering.
        unavailable: Option<Unavailable>,
    },
    /// It is over.
    Over {
        /// What became of it.
        fate: Fate,
    },
}

/// A source of measurements that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unavailable {
    /// What it says instead.
    pub why: String,
    /// How often in a row.
    pub tries: u32,
    /// Since when.
    pub since: Ms,
}

/// The step of a job that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name, where that is known.
    pub name: Option<String>,
    /// Steps that are done.
    pub done: u32,
    /// Steps that there are; 0 where that is not known.
    pub of: u32,
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its name.
    pub name: TrialName,
    /// Its arm.
    pub role: Role,
    /// How far it has come.
    pub state: TrialState,
    /// Its job, once known.
    pub job: Option<JobId>,
    /// When submitting began.
    pub submitted: Option<Ms>,
    /// When it was first seen running.
    pub running: Option<Ms>,
    /// When it was seen to be over.
    pub ended: Option<Ms>,
    /// When it was told to stop.
    pub stop: Option<Ms>,
    /// What it does, as last seen.
    pub step: Option<Step>,
    /// What it waits for, as last seen.
    pub waits: Option<String>,
    /// The number of the last question about it.
    pub asked: u32,
    /// How its measurements are waited for.
    #[serde(default)]
    pub late: Late,
}

/// What came of asking for answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Everything is there.
    Complete {
        /// Digest of the answers.
        digest: Digest,
        /// Whether they are final and kept.
        kept: bool,
    },
    /// Some of it is missing.
    Incomplete {
        /// What is missing.
        missing: Vec<String>,
        /// Whether what is there was kept, because this was the last probe.
        kept: bool,
    },
    /// The source did not answer.
    Unavailable(String),
    /// They cannot be kept: what was kept before is different, or must not be written, or they are gone.
    Unusable(String),
}

/// What happens to a trial. A number is that of the question: an answer to an older one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialEvent {
    /// Submit it.
    Begin,
    /// An attempt to submit was answered, or not.
    Submitted(u32, Submitted),
    /// The attempt to submit was not even begun, because the trial was told to stop.
    NotSubmitted(u32),
    /// Its job was looked for.
    Found(u32, Result<Option<JobId>, String>),
    /// Its job was asked for.
    Polled(u32, Result<JobState, String>),
    /// Its answers were asked for.
    Collected(u32, Probe),
    /// A person says which job it is.
    Adopted(JobId),
    /// Stop it.
    Stop,
}

/// A deadline that a trial missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// It never ran.
    Waiting,
    /// It ran too long.
    Running,
    /// The backend does not say how the job is doing, or whether it has it.
    Silent,
}

impl Trial {
    /// A trial of which nothing was done.
    #[must_use]
    pub fn new(name: TrialName, role: Role, late: Late) -> Self {
        Self {
            name,
            role,
            state: TrialState::Planned,
            job: None,
            submitted: None,
            running: None,
            ended: None,
            stop: None,
            step: None,
            waits: None,
            asked: 0,
            late,
        }
    }

    /// What became of it, once that is known.
    #[must_use]
    pub fn fate(&self) -> Option<&Fate> {
        if let TrialState::Over { fate } = &self.state { Some(fate) } else { None }
    }

    /// Whether it is over and counts.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.fate() == Some(&Fate::Counted)
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.fate().is_some()
    }

    /// Whether a person may say which job it is: nobody knows yet, or the backend does not know the one that is known.
    #[must_use]
    pub fn adopts(&self) -> bool {
        let unknown = |state: &TrialState| matches!(state, TrialState::Live { unknown_since: Some(_), .. });
        matches!(self.state, TrialState::Planned | TrialState::Submitting { .. }) || unknown(&self.state)
    }

    /// Whether its job may be alive although it is over for us.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.fate() == Some(&Fate::Discarded(Discard::Abandoned))
    }

    /// The line of the evidence, once it is over.
    #[must_use]
    pub fn line(&self, at: Ms) -> Option<TrialFate> {
        self.fate().map(|fate| TrialFate {
            name: self.name.clone(),
            role: self.role.clone(),
            fate: fate.clone(),
            job: self.job.clone(),
            submitted: self.submitted,
            running: self.running,
            ended: self.ended,
            at,
        })
    }

    /// The deadline that it has missed. To be asked right after an answer about it and at no other time: an engine that
    /// was away for long must ask how a job is doing before it says that the job takes too long.
    #[must_use]
    pub fn overdue(&self, limit: u64, now: Ms) -> Option<Overdue> {
        if self.stop.is_some() {
            return None;
        }
        let late = |since: Option<Ms>, limit: u64| since.is_some_and(|since| now.since(since) >= limit);
        match (&self.state, self.running) {
            (TrialState::Submitting { attempt, unanswered, .. }, _) => {
                let silent = *unanswered >= timing::FIND_TIMES || *attempt >= timing::SUBMIT_TIMES;
                (silent && late(self.submitted, limit)).then_some(Overdue::Silent)
            }
            (TrialState::Live { silent_since: Some(since), .. }, _) => {
                late(Some(*since), limit).then_some(Overdue::Silent)
            }
            // Of a job that the backend does not know nobody knows whether it waits or runs: it is lost in a while.
            (TrialState::Live { unknown_since: Some(_), .. }, _) => None,
            (TrialState::Live { .. }, None) => late(self.submitted, limit).then_some(Overdue::Waiting),
            (TrialState::Live { .. }, running) => {
                late(running, limit.saturating_add(timing::LIMIT_GRACE)).then_some(Overdue::Running)
            }
            _ => None,
        }
    }

    /// Whether an effect of this trial still matters.
    #[must_use]
    pub fn wants(&self, what: &What) -> bool {
        match (what, &self.state) {
            (What::Submit { attempt, .. }, TrialState::Submitting { attempt: current, .. }) => attempt == current,
            (What::Find { n, .. }, TrialState::Submitting { .. })
            | (What::Poll { n, .. }, TrialState::Live { .. })
            | (What::Collect { n, .. }, TrialState::Settled { .. } | TrialState::Collecting { .. }) => *n == self.asked,
            (What::Terminate { .. }, TrialState::Over { .. }) => self.is_abandoned(),
            (What::Terminate { .. }, TrialState::Live { .. }) | (What::Note { .. }, TrialState::Over { .. }) => true,
            _ => false,
        }
    }

    /// The next state of a trial and what is to be done.
    #[must_use]
    pub fn step(&self, event: &TrialEvent, now: Ms) -> (Self, Vec<Effect>) {
        let mut next = self.clone();
        let mut effects = Vec::new();
        next.react(event, now, &mut effects);
        (next, effects)
    }

    fn react(&mut self, event: &TrialEvent, now: Ms, effects: &mut Vec<Effect>) {
        let asked = self.asked;
        match (self.state.clone(), event) {
            (TrialState::Planned, TrialEvent::Begin) => {
                self.submitted = Some(now);
                self.submit(1, now, effects);
            }
            (TrialState::Submitting { attempt, .. }, TrialEvent::Submitted(n, answer)) if *n == attempt => match answer
            {
                Submitted::Accepted(job) | Submitted::AlreadyThere(job) => self.live(job, now, effects),
                Submitted::Refused(why) => self.over(Fate::Discarded(Discard::Refused(why.clone()))),
                Submitted::NoAnswer(_) => self.find(now.plus(timing::FIND_EVERY), effects),
            },
            (TrialState::Submitting { attempt, .. }, TrialEvent::NotSubmitted(n))
                if *n == attempt && self.stop.is_some() =>
            {
                self.over(Fate::Discarded(Discard::Stopped));
            }
            (TrialState::Submitting { since, attempt, looks, unanswered }, TrialEvent::Found(n, answer))
                if *n == asked =>
            {
                match answer {
                    Ok(Some(job)) => self.live(job, now, effects),
                    Err(_) if self.stopped_for_long(now) => self.over(Fate::Discarded(Discard::Abandoned)),
                    Ok(None) if now.since(since) < timing::FIND_FOR || looks < timing::FIND_TIMES => {
                        self.state =
                            TrialState::Submitting { since, attempt, looks: looks.saturating_add(1), unanswered: 0 };
                        self.find(now.plus(timing::FIND_EVERY), effects);
                    }
                    Ok(None) if self.stop.is_some() => self.over(Fate::Discarded(Discard::Stopped)),
                    Ok(None) => self.submit(attempt.saturating_add(1), now, effects),
                    // No answer is not "there is none".
                    Err(_) => {
                        self.state =
                            TrialState::Submitting { since, attempt, looks, unanswered: unanswered.saturating_add(1) };
                        self.find(now.plus(timing::FIND_EVERY), effects);
                    }
                }
            }
            (_, TrialEvent::Adopted(job)) if self.adopts() => {
                self.submitted.get_or_insert(now);
                // What was seen was another job.
                (self.running, self.step, self.waits) = (None, None, None);
                self.live(job, now, effects);
            }
            (TrialState::Live { unknown_since, silent_since }, TrialEvent::Polled(n, answer)) if *n == asked => {
                self.seen(unknown_since, silent_since, answer, now, effects);
            }
            (TrialState::Settled { end }, TrialEvent::Collected(n, probe)) if *n == asked => {
                self.probed(end, 0, None, None, probe, now, effects);
            }
            (TrialState::Collecting { end, probes, previous, unavailable }, TrialEvent::Collected(n, probe))
                if *n == asked =>
            {
                self.probed(end, probes, previous, unavailable, probe, now, effects);
            }
            (TrialState::Planned, TrialEvent::Stop) => self.over(Fate::Discarded(Discard::Stopped)),
            (TrialState::Submitting { .. }, TrialEvent::Stop) if self.stop.is_none() => self.stop = Some(now),
            (TrialState::Live { .. }, TrialEvent::Stop) if self.stop.is_none() => {
                self.stop = Some(now);
                self.terminate(now, effects);
            }
            (TrialState::Settled { end } | TrialState::Collecting { end, .. }, TrialEvent::Stop) => {
                // The job is over. That a program failed is known without its answers.
                self.over(failure(&end).map_or(Fate::Discarded(Discard::Stopped), Fate::Failed));
            }
            _ => {}
        }
    }

    pub(super) fn over(&mut self, fate: Fate) {
        self.state = TrialState::Over { fate };
        self.step = None;
        self.waits = None;
    }

    fn stopped_for_long(&self, now: Ms) -> bool {
        self.stop.is_some_and(|stop| now.since(stop) >= timing::STOP_FOR)
    }

    fn submit(&mut self, attempt: u32, now: Ms, effects: &mut Vec<Effect>) {
        self.state = TrialState::Submitting { since: now, attempt, looks: 0, unanswered: 0 };
        let what = What::Submit { trial: self.name.clone(), role: self.role.clone(), attempt };
        effects.push(Effect { due: now, what });
    }

    fn find(&mut self, due: Ms, effects: &mut Vec<Effect>) {
        self.asked = self.asked.saturating_add(1);
        effects.push(Effect { due, what: What::Find { trial: self.name.clone(), n: self.asked } });
    }

    fn live(&mut self, job: &JobId, now: Ms, effects: &mut Vec<Effect>) {
        self.job = Some(job.clone());
        self.state = TrialState::Live { unknown_since: None, silent_since: None };
        if self.stop.is_some() {
            self.terminate(now, effects);
        }
        self.poll(now, effects);
    }

    fn terminate(&self, now: Ms, effects: &mut Vec<Effect>) {
        if let Some(job) = self.job.clone() {
            effects.push(Effect { due: now, what: What::Terminate { trial: self.name.clone(), job } });
        }
    }

    fn poll(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        let Some(job) = self.job.clone() else { return };
        // A job that is being stopped is watched closely: something waits for it.
        let since = self.stop.or(self.submitted).unwrap_or(now);
        self.asked = self.asked.saturating_add(1);
        let what = What::Poll { trial: self.name.clone(), job, n: self.asked };
        effects.push(Effect { due: now.plus(timing::poll_after(now.since(since))), what });
    }

    fn seen(
        &mut self,
        unknown_since: Option<Ms>,
        silent_since: Option<Ms>,
        answer: &Result<JobState, String>,
        now: Ms,
        effects: &mut Vec<Effect>,
    ) {
        let (mut unknown, mut silent) = (None, None);
        match answer {
            Ok(JobState::Ended(end)) => return self.settle(end, now, effects),
            Ok(JobState::Pending(why)) => self.waits = Some(why.clone()),
            Ok(JobState::Running { step, done, of }) => {
                self.running.get_or_insert(now);
                self.waits = None;
                self.step = Some(Step { name: step.clone(), done: *done, of: *of });
            }
            Ok(JobState::Unknown) => {
                let since = unknown_since.unwrap_or(now);
                if now.since(since) >= timing::LOST_AFTER {
                    return self.over(Fate::Discarded(Discard::Lost));
                }
                unknown = Some(since);
            }
            Err(_) => (unknown, silent) = (unknown_since, Some(silent_since.unwrap_or(now))),
        }
        if self.stopped_for_long(now) {
            return self.over(Fate::Discarded(Discard::Abandoned));
        }
        self.state = TrialState::Live { unknown_since: unknown, silent_since: silent };
        self.poll(now, effects);
    }

    fn settle(&mut self, end: &End, now: Ms, effects: &mut Vec<Effect>) {
        self.ended = Some(now);
        (self.step, self.waits) = (None, None);
        let discard = match end {
            End::Succeeded | End::Failed { cause: Cause::Stopped } if self.stop.is_some() => Discard::Stopped,
            End::Succeeded | End::Failed { cause: Cause::Application { .. } } => {
                self.state = TrialState::Settled { end: end.clone() };
                return self.collect(
                    1,
                    None,
                    if failure(end).is_some() { Keep::Anything } else { Keep::Repeated },
                    now,
                    effects,
                );
            }
            End::Failed { cause: Cause::Infrastructure(_) | Cause::TimeLimit } if self.stop.is_some() => {
                Discard::Stopped
            }
            End::Failed { cause: Cause::Infrastructure(why) } => Discard::Infrastructure(why.clone()),
            End::Failed { cause: Cause::Stopped } => {
                Discard::Infrastructure("somebody else stopped the job".to_owned())
            }
            End::Failed { cause: Cause::TimeLimit } => Discard::TimeLimit,
        };
        self.over(Fate::Discarded(discard));
    }
}
