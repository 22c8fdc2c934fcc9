//! Stopping, and ends without a verdict.

use super::effect::{Effect, What};
use super::run::Run;
use super::state::{State, Stop};
use super::timing;
use super::trial::{Trial, TrialEvent};
use crate::ports::{How, LookKind};
use crate::rounds::TrialName;
use crate::time::Ms;
use crate::view::Ending as Over;

impl Run {
    /// Stops every trial; goes on when all of them are settled, at once where none is alive.
    pub(super) fn stop(&mut self, stop: Stop, now: Ms, effects: &mut Vec<Effect>) {
        self.state = State::Stopping { stop, until: now.plus(timing::STOP_FOR) };
        let alive: Vec<TrialName> =
            self.trials.iter().filter(|trial| !trial.is_over()).map(|trial| trial.name.clone()).collect();
        for name in alive {
            self.trial(&name, &TrialEvent::Stop, now, effects);
        }
        self.stopped(now, effects);
    }

    /// Goes on when every trial is settled.
    pub(super) fn stopped(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        let State::Stopping { stop, .. } = &self.state else { return };
        if !self.trials.iter().all(Trial::is_over) {
            return;
        }
        match stop.clone() {
            // Its verdict comes from the folder like every other.
            Stop::Blocked { reason } => self.judge(LookKind::Blocked(reason), false, false, now, effects),
            Stop::Cancelled { by, how } => self.ended(how, Some(by), now, effects),
            Stop::Failed { text } => self.ended(Over::Failed, Some(text), now, effects),
        }
    }

    /// Ends without a verdict. The folder, where there is one, is sealed all the same.
    pub(super) fn ended(&mut self, how: Over, why: Option<String>, now: Ms, effects: &mut Vec<Effect>) {
        let sealing = self.frame.is_some();
        let ending = Box::new(self.ending(How::Ended { how, why: why.clone() }, now));
        let alive = ending.alive.clone();
        self.state = State::Ended { how, why, alive, sealing, evidence: None };
        if sealing {
            effects.push(Effect { due: now, what: What::Seal { ending } });
        }
    }

    /// The folder cannot be written or judged: the run ends with that, after its trials are stopped.
    pub(super) fn records_failed(&mut self, why: &str, now: Ms, effects: &mut Vec<Effect>) {
        let text = why.to_owned();
        match &self.state {
            State::AwaitingConfirmation { .. } | State::Measuring { .. } | State::Judging { .. } => {
                self.stop(Stop::Failed { text }, now, effects);
            }
            State::Stopping { stop: Stop::Blocked { .. }, until } => {
                self.state = State::Stopping { stop: Stop::Failed { text }, until: *until };
            }
            State::Sealing { ending } => {
                let alive = ending.alive.clone();
                let (how, why) = (Over::Failed, Some(text));
                self.state = State::Ended { how, why, alive, sealing: false, evidence: None };
            }
            State::Ended { how, why, alive, sealing: true, evidence } => {
                let (how, why, alive, evidence) = (*how, why.clone(), alive.clone(), evidence.clone());
                self.state = State::Ended { how, why, alive, sealing: false, evidence };
            }
            _ => {}
        }
    }
}
