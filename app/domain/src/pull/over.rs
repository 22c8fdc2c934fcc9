//! How a run comes into being and is left.

use super::asked::{Asked, Cause};
use super::push::{Newer, NewerFate, NotAgain};
use super::state::{Over, Shown, Stage, Waits};
use super::step::{Said, Stepped, What};
use crate::ids::RunId;
use crate::ports::forge::Reaction;
use crate::time::Ms;
use crate::view::Ending;

impl Shown {
    /// Shows a verdict again that was shown before. Returns what was shown in its place.
    pub(super) fn restore(&mut self, asked: Asked, over: Over) -> Asked {
        let other = std::mem::replace(&mut self.asked, asked);
        if self.history.first().is_some_and(|first| first.head == self.asked.head.as_str()) {
            self.history.remove(0);
        }
        self.stage = Stage::Over(over);
        self.decision = self.before_decision.take();
        (self.before, self.newer, self.waits) = (None, None, None);
        other
    }
}

impl Stepped {
    /// The run has a subject of its own.
    pub(super) fn planned(&mut self, run: &RunId) {
        let Some(shown) = self.state.shown.values_mut().find(|shown| shown.asked.run == *run) else { return };
        if shown.stage == Stage::Planning {
            (shown.stage, shown.waits) = (Stage::Running, None);
            if shown.asked.cause == Cause::Command {
                self.effects.push(What::React { comment: shown.asked.comment, with: Reaction::Rocket });
            }
        }
    }

    /// The plan has to wait.
    pub(super) fn waits(&mut self, run: &RunId, what: Waits) {
        let planning = |shown: &&mut Shown| shown.asked.run == *run && shown.stage == Stage::Planning;
        if let Some(shown) = self.state.shown.values_mut().find(planning) {
            shown.waits = Some(what);
        }
    }

    /// The run cannot be planned.
    pub(super) fn not_planned(&mut self, run: &RunId, how: Ending, why: String, now: Ms) {
        let said = why.lines().next().unwrap_or_default().to_owned();
        let ended = Some((how, Some(why)));
        let over = Over { verdict: None, ended, said, evidence: None, alive: Vec::new(), at: now };
        self.unplanned(run, over, now);
    }

    /// A run is over before it had a subject of its own.
    pub(super) fn unplanned(&mut self, run: &RunId, over: Over, now: Ms) {
        let planning = |shown: &&mut Shown| shown.asked.run == *run && shown.stage == Stage::Planning;
        let Some(shown) = self.state.shown.values_mut().find(planning) else { return };
        if self.state.active.as_ref() == Some(&shown.asked.suite) {
            self.state.active = None;
        }
        self.ended.push((run.clone(), over.clone()));
        shown.waits = None;
        match shown.before.take() {
            // Nothing was measured: what was known before is still what is known.
            Some(before) => {
                let newer = shown.newer.clone();
                let asked = shown.restore(before.0, before.1);
                let how = over.ended.as_ref().map(|(how, _)| *how);
                let superseded = how == Some(Ending::Superseded);
                let why = if matches!(how, Some(Ending::Cancelled | Ending::Skipped)) {
                    NotAgain::Ended
                } else {
                    let why = over.ended.as_ref().and_then(|(_, why)| why.clone());
                    NotAgain::Refused { why: why.unwrap_or_else(|| over.said.clone()) }
                };
                shown.newer = match newer {
                    newer if superseded => newer,
                    // What was held against the run that is gone says nothing about the one that stands again.
                    Some(newer) => {
                        Some(newer).filter(|of| matches!(of.fate, NewerFate::Weighing | NewerFate::Not { .. }))
                    }
                    None if asked.head == shown.asked.head => None,
                    None => Some(Newer { head: asked.head.clone(), fate: NewerFate::Not { why } }),
                };
                let told = if superseded || asked.cause == Cause::Push { Said::NotAgain } else { Said::NotPlanned };
                self.said = told(Box::new(asked), over);
            }
            None => shown.stage = Stage::Over(over),
        }
        self.heads();
        self.measured_after_all(run, now);
        self.begin_due(now);
    }

    /// A run that a push stopped is over, and the head is back where it was: what was asked for is not done.
    pub(super) fn measured_after_all(&mut self, run: &RunId, now: Ms) {
        let Some(shown) = self.state.of_run(run) else { return };
        let superseded = |over: &Over| matches!(over.ended, Some((Ending::Superseded, _)));
        let Some(seen) = self.state.seen.clone().filter(|seen| seen.open || seen.merged) else { return };
        let back = matches!(&shown.stage, Stage::Over(over) if superseded(over))
            && (&shown.asked.head, &shown.asked.base_ref) == (&seen.head, &seen.base_ref);
        if back {
            let suite = shown.asked.suite.clone();
            self.begin_again(&suite, &seen, now);
        }
    }

    /// A run is over that had a subject of its own.
    pub(super) fn over(&mut self, run: &RunId, over: Over, now: Ms) {
        let running = |shown: &&mut Shown| shown.asked.run == *run && shown.stage == Stage::Running;
        let Some(shown) = self.state.shown.values_mut().find(running) else { return };
        if self.state.active.as_ref() == Some(&shown.asked.suite) {
            self.state.active = None;
        }
        self.ended.push((run.clone(), over.clone()));
        shown.waits = None;
        if over.verdict.is_none() && shown.carried().is_some() {
            // What came to nothing speaks for nothing.
            shown.newer = None;
        }
        shown.stage = Stage::Over(over);
        self.heads();
        self.measured_after_all(run, now);
        self.begin_due(now);
    }
}
