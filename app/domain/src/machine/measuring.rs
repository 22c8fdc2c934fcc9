//! Rounds: which trials start when, and what becomes of a round when a trial does not count.

use stats::Reason;

use super::churn;
use super::effect::Effect;
use super::run::Run;
use super::state::{State, Stop, Then};
use super::trial::{Overdue, Trial, TrialEvent};
use crate::arms::Role;
use crate::ids::ArmName;
use crate::ports::{Counted, Discard, Fate};
use crate::rounds::{TrialName, order};
use crate::time::Ms;

/// Clean trials that acquit a treatment which failed once.
const ACQUITTED: u32 = 2;

impl Run {
    /// Starts the next round with every treatment that is not decided.
    pub(super) fn next_round(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        self.round = self.round.saturating_add(1);
        self.replacement = 0;
        self.places = order(self.round, &self.undecided());
        self.begin_round(false, now, effects);
    }

    /// Starts repeats of the treatments that failed once, beyond the planned rounds.
    pub(super) fn extra_round(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        self.round = self.round.saturating_add(1);
        self.replacement = 0;
        self.places = self.unacquitted().into_iter().map(Role::Treatment).collect();
        self.begin_round(true, now, effects);
    }

    /// Starts the current round anew, its places in the same order.
    pub(super) fn replace_round(&mut self, extra: bool, now: Ms, effects: &mut Vec<Effect>) {
        if self.replaced >= self.most_replacements() {
            return self.stop(Stop::Blocked { reason: Reason::ChurnLimit }, now, effects);
        }
        self.replacement = self.replacement.saturating_add(1);
        self.replaced = self.replaced.saturating_add(1);
        let left = if extra { self.unacquitted() } else { self.undecided() };
        self.places.retain(|role| if let Role::Treatment(name) = role { left.contains(name) } else { true });
        self.begin_round(extra, now, effects);
    }

    /// More than these are never needed: spoiled rounds have their own limit, each arm fails twice at most before it is
    /// judged, and an acquitted one may do so again.
    fn most_replacements(&self) -> u32 {
        let (spoiled, arms) = self.frame.as_ref().map_or((0, 0), |frame| (frame.replacements, frame.treatments.len()));
        spoiled.saturating_add(4 * (u32::try_from(arms).unwrap_or(u32::MAX / 8) + 1))
    }

    fn begin_round(&mut self, extra: bool, now: Ms, effects: &mut Vec<Effect>) {
        self.state = State::Measuring { then: None, extra };
        self.submit_places(now, effects);
    }

    /// Treatments that failed and are neither decided nor acquitted.
    pub(super) fn unacquitted(&self) -> Vec<ArmName> {
        let mut left = self.undecided();
        left.retain(|name| self.failures.contains_key(name) && self.clean.get(name).copied().unwrap_or(0) < ACQUITTED);
        left
    }

    /// Submits as many of the places that were not submitted as may be under way at once.
    fn submit_places(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        let Some(mode) = self.frame.as_ref().map(|frame| frame.mode) else { return };
        let at_once = mode.in_flight(self.places.len());
        let running = self.current().filter(|trial| !trial.is_over()).count();
        let left: Vec<usize> = (0..self.places.len()).filter(|at| !self.is_submitted(*at)).collect();
        for at in left.into_iter().take(at_once.saturating_sub(running)) {
            self.submit_place(at, now, effects);
        }
    }

    fn name_of(&self, at: usize) -> TrialName {
        let place = u32::try_from(at + 1).unwrap_or(u32::MAX);
        TrialName { run: self.id.clone(), round: self.round, replacement: self.replacement, place }
    }

    fn is_submitted(&self, at: usize) -> bool {
        let name = self.name_of(at);
        self.trials.iter().any(|trial| trial.name == name)
    }

    fn submit_place(&mut self, at: usize, now: Ms, effects: &mut Vec<Effect>) {
        let name = self.name_of(at);
        self.trials.push(Trial::new(
            name.clone(),
            self.places[at].clone(),
            self.frame.as_ref().map(|frame| frame.late).unwrap_or_default(),
        ));
        self.trial(&name, &TrialEvent::Begin, now, effects);
    }

    /// A trial is over while rounds are measured.
    pub(super) fn trial_over(&mut self, at: usize, now: Ms, effects: &mut Vec<Effect>) {
        let (name, role) = (self.trials[at].name.clone(), self.trials[at].role.clone());
        let Some(fate) = self.trials[at].fate().cloned() else { return };
        if !self.is_current(&name) {
            return;
        }
        match (&fate, role) {
            (Fate::Counted, Role::Control) => self.control_ok = true,
            (Fate::Counted, Role::Treatment(treatment)) => {
                if self.unacquitted().contains(&treatment) {
                    *self.clean.entry(treatment).or_default() += 1;
                    self.confirmations.push(name);
                }
            }
            (Fate::Failed(_), Role::Control) => self.control_failed(name),
            (Fate::Failed(_), Role::Treatment(treatment)) => self.treatment_failed(&treatment, name),
            (Fate::Discarded(discard), role) => {
                if let Some(stop) = self.discarded(&name, discard, &role) {
                    return self.stop(stop, now, effects);
                }
            }
        }
        self.advance(now, effects);
    }

    fn treatment_failed(&mut self, treatment: &ArmName, name: TrialName) {
        let failures = self.failures.entry(treatment.clone()).or_default();
        *failures += 1;
        let again = *failures > 1;
        self.clean.insert(treatment.clone(), 0);
        self.confirmations.push(name);
        match again {
            false => self.then(Then::Replace),
            true if self.control_ok => self.then(Then::Judge),
            true => self.then(Then::JudgeAfterControl),
        }
    }

    fn control_failed(&mut self, name: TrialName) {
        self.control_failures.push(name);
        if self.control_failures.len() > 1 {
            for failed in &self.control_failures {
                if !self.confirmations.contains(failed) {
                    self.confirmations.push(failed.clone());
                }
            }
            self.then(Then::Judge);
        } else {
            self.then(Then::Replace);
        }
    }

    fn discarded(&mut self, name: &TrialName, discard: &Discard, role: &Role) -> Option<Stop> {
        let adopted = self.frame.iter().flat_map(|frame| &frame.retry).any(|retry| retry.adopts.contains_key(name));
        match discard {
            // It was told to, by what is to happen then.
            Discard::Stopped => return None,
            // Nobody expected more than that it may have ended well. A job that was stopped with its run says nothing.
            _ if adopted && !matches!(discard, Discard::SourceUnavailable(_) | Discard::Incomplete(_)) => {
                self.then(Then::Replace);
                return None;
            }
            Discard::Refused(why) => return Some(Stop::Failed { text: why.clone() }),
            Discard::TimeLimit => return Some(Stop::Blocked { reason: Reason::TimeLimit }),
            Discard::SourceUnavailable(_) => return Some(Stop::Blocked { reason: Reason::SourceUnavailable }),
            Discard::Lost | Discard::Infrastructure(_) | Discard::Incomplete(_) | Discard::Abandoned => {}
        }
        let missing = matches!(discard, Discard::Incomplete(_));
        *self.discards.entry(role.clone()).or_default() += 1;
        let lost = |role: &Role| self.discards.get(role).copied().unwrap_or(0);
        if *role != Role::Control && churn::one_sided(lost(&Role::Control), lost(role)) {
            return Some(Stop::Blocked { reason: Reason::ChurnOneSided });
        }
        if adopted {
            // The earlier run has counted that round as spoiled.
            self.then(Then::Replace);
            return None;
        }
        match self.then_of() {
            Some(Then::Replace | Then::Judge) => None,
            Some(Then::JudgeAfterControl) if *role != Role::Control => None,
            Some(Then::JudgeAfterControl) | None => self.spoiled(missing),
        }
    }

    /// A round is spoiled: it is replaced, or the run cannot be completed.
    pub(super) fn spoiled(&mut self, missing: bool) -> Option<Stop> {
        self.only_missing &= missing;
        let allowed = self.frame.as_ref().map_or(0, |frame| frame.replacements);
        if self.churned >= allowed {
            let reason = if self.only_missing { Reason::RowsMissing } else { Reason::ChurnLimit };
            return Some(Stop::Blocked { reason });
        }
        self.churned += 1;
        if let State::Measuring { then, .. } = &mut self.state {
            *then = Some(Then::Replace);
        }
        None
    }

    fn then_of(&self) -> Option<Then> {
        if let State::Measuring { then, .. } = self.state { then } else { None }
    }

    /// What is judged is not replaced instead.
    fn then(&mut self, wanted: Then) {
        if let State::Measuring { then, .. } = &mut self.state {
            let keeps =
                matches!((*then, wanted), (Some(Then::Judge), _) | (Some(Then::JudgeAfterControl), Then::Replace));
            if !keeps {
                *then = Some(wanted);
            }
        }
    }

    /// Goes on with the round: submits, waits, stops the rest, or is done with it.
    fn advance(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        let State::Measuring { then, extra } = self.state else { return };
        match then {
            None => {
                self.submit_places(now, effects);
                let complete =
                    (0..self.places.len()).all(|at| self.is_submitted(at)) && self.current().all(Trial::is_counted);
                if complete {
                    if !extra {
                        self.counted.push(Counted { round: self.round, replacement: self.replacement });
                    }
                    self.judge_guardrails(true, extra, now, effects);
                }
            }
            // Where places are submitted in turn the control of the first round comes first, so it has ended well here.
            Some(Then::JudgeAfterControl) => {
                if !self.current().any(|trial| trial.role == Role::Control && !trial.is_over()) {
                    self.state = State::Measuring { then: Some(Then::Judge), extra };
                    self.advance(now, effects);
                }
            }
            Some(then) => {
                self.stop_rest(now, effects);
                if self.current().all(Trial::is_over) {
                    // Stopping the rest may itself have brought more to light.
                    let then = self.then_of().unwrap_or(then);
                    match then {
                        Then::Replace => self.replace_round(extra, now, effects),
                        Then::Judge | Then::JudgeAfterControl => self.judge_guardrails(false, extra, now, effects),
                    }
                }
            }
        }
    }

    /// Tells every trial of the round that is not over to stop. Each that is over at once is accounted for without
    /// going on with the round, which is the caller's.
    fn stop_rest(&mut self, now: Ms, effects: &mut Vec<Effect>) {
        let rest: Vec<TrialName> =
            self.current().filter(|trial| !trial.is_over() && trial.stop.is_none()).map(|t| t.name.clone()).collect();
        for name in rest {
            self.settle_quietly(&name, &TrialEvent::Stop, now, effects);
        }
    }

    /// Steps a trial whose end is accounted for but makes nothing else happen.
    fn settle_quietly(&mut self, name: &TrialName, event: &TrialEvent, now: Ms, effects: &mut Vec<Effect>) {
        let state = std::mem::replace(&mut self.state, State::Queued);
        self.trial(name, event, now, effects);
        self.state = state;
        let Some(at) = self.trials.iter().position(|trial| trial.name == *name) else { return };
        match (self.trials[at].fate().cloned(), self.trials[at].role.clone()) {
            (Some(Fate::Failed(_)), Role::Control) => self.control_failed(name.clone()),
            (Some(Fate::Failed(_)), Role::Treatment(treatment)) => self.treatment_failed(&treatment, name.clone()),
            _ => {}
        }
    }

    /// A trial is not over, as an answer said just now: it may be taking too long.
    pub(super) fn answered(&mut self, at: usize, now: Ms, effects: &mut Vec<Effect>) {
        let limit = self.frame.as_ref().map_or(u64::MAX, |frame| frame.limit_ms);
        if let (State::Measuring { .. }, Some(overdue)) = (&self.state, self.trials[at].overdue(limit, now)) {
            let stop = match overdue {
                Overdue::Waiting => Stop::Blocked { reason: Reason::Capacity },
                Overdue::Running => Stop::Blocked { reason: Reason::TimeLimit },
                Overdue::Silent => Stop::Failed { text: "the backend does not answer".to_owned() },
            };
            self.stop(stop, now, effects);
        }
    }
}
