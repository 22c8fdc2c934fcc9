//! Judgements: what is decided, what is measured on, and what is measured again.

use super::effect::{Effect, What};
use super::run::Run;
use super::standing::{Standing, standing};
use super::state::{State, Stop};
use crate::arms::Role;
use crate::ids::ArmName;
use crate::ports::{Ending, How, Judged, Look, LookKind};
use crate::rounds::TrialName;
use crate::time::Ms;

impl Run {
    /// Judges what needs no statistics. That is done after every round, look or not, and spends nothing; so what
    /// spoils the round or decides a treatment is known before a declared look is spent on it.
    pub(super) fn judge_guardrails(&mut self, complete: bool, extra: bool, now: Ms, effects: &mut Vec<Effect>) {
        self.judge(LookKind::Guardrail, complete, extra, now, effects);
    }

    pub(super) fn judge(&mut self, kind: LookKind, complete: bool, extra: bool, now: Ms, effects: &mut Vec<Effect>) {
        let Some(frame) = self.frame.as_ref() else { return };
        let look = Box::new(Look {
            run: self.id.clone(),
            ledger: frame.ledger.clone(),
            episode: frame.episode,
            kind,
            rounds: self.counted.clone(),
            confirmations: self.confirmations.clone(),
            decided: self.decided.clone(),
            at: now,
        });
        self.state = State::Judging { look: look.clone(), complete, extra };
        effects.push(Effect { due: now, what: What::Judge { look } });
    }

    /// The folder was judged.
    pub(super) fn judged(
        &mut self,
        look: &Look,
        complete: bool,
        extra: bool,
        judged: &Judged,
        now: Ms,
        effects: &mut Vec<Effect>,
    ) {
        match look.kind {
            LookKind::Guardrail => self.guarded(look, complete, extra, judged, now, effects),
            LookKind::Declared { index } => {
                self.looked = index.saturating_add(1);
                self.decide(judged, |standing| {
                    matches!(standing, Standing::Decided | Standing::Guardrail | Standing::Final)
                });
                let last = self.frame.as_ref().is_none_or(|frame| frame.looks.len() <= self.looked as usize);
                if last || self.finishing || self.undecided().is_empty() {
                    self.seal(look, judged, now, effects);
                } else {
                    self.next_round(now, effects);
                }
            }
            LookKind::Blocked(_) => self.seal(look, judged, now, effects),
        }
    }

    fn decide(&mut self, judged: &Judged, holds: impl Fn(Standing) -> bool) {
        let undecided = self.undecided();
        let new = judged.treatments.iter().filter(|of| undecided.contains(&of.treatment) && holds(standing(of.reason)));
        self.decided.extend(new.cloned());
    }

    fn guarded(
        &mut self,
        look: &Look,
        complete: bool,
        extra: bool,
        judged: &Judged,
        now: Ms,
        effects: &mut Vec<Effect>,
    ) {
        let undecided = self.undecided();
        let (mut again, mut spoiled, mut control_failed) = (false, false, false);
        for of in judged.treatments.iter().filter(|of| undecided.contains(&of.treatment)) {
            match standing(of.reason) {
                // Found inside a trial that ended well, such as a worker that ran out of memory and was started again.
                // One that is known already waits for its repeats.
                Standing::Confirm if complete && !self.failures.contains_key(&of.treatment) => {
                    self.failures.insert(of.treatment.clone(), 1);
                    self.clean.insert(of.treatment.clone(), 0);
                    self.confirmations.extend(self.trial_of(&Role::Treatment(of.treatment.clone())));
                    again = true;
                }
                Standing::ControlFailed => control_failed = true,
                Standing::Replace => spoiled = true,
                _ => {}
            }
        }
        if control_failed && complete && self.control_failures.len() < 2 {
            self.control_failures.extend(self.trial_of(&Role::Control));
            again |= self.control_failures.len() < 2;
        }
        let twice = self.control_failures.len() > 1;
        self.decide(judged, |standing| standing.holds_always() || (twice && standing == Standing::ControlFailed));
        if self.undecided().is_empty() {
            return self.seal(look, judged, now, effects);
        }
        if complete && !extra && (again || spoiled) {
            self.counted.pop();
            if !again && let Some(stop) = self.spoiled(false) {
                return self.stop(stop, now, effects);
            }
            return self.replace_round(extra, now, effects);
        }
        // Repeats beyond the planned rounds are over when nobody is left to repeat.
        let nobody = extra && self.unacquitted().is_empty();
        if !complete && !nobody {
            return self.replace_round(extra, now, effects);
        }
        self.go_on(extra, now, effects);
    }

    /// What comes after the rounds that count: the next one, repeats of what failed, or the look that is due.
    pub(super) fn go_on(&mut self, extra: bool, now: Ms, effects: &mut Vec<Effect>) {
        let done = self.rounds_done();
        let Some(frame) = self.frame.as_ref() else { return };
        let next = frame.looks.get(self.looked as usize).copied();
        let last = frame.looks.len() == self.looked as usize + 1;
        if next.is_some_and(|next| done < next) {
            self.next_round(now, effects);
        } else if last && !self.unacquitted().is_empty() {
            self.extra_round(now, effects);
        } else {
            self.judge(LookKind::Declared { index: self.looked }, true, extra, now, effects);
        }
    }

    fn trial_of(&self, role: &Role) -> Option<TrialName> {
        self.current().find(|trial| trial.role == *role).map(|trial| trial.name.clone())
    }

    fn seal(&mut self, look: &Look, judged: &Judged, now: Ms, effects: &mut Vec<Effect>) {
        let how = How::Judged { look: look.clone(), judged: judged.clone() };
        let ending = Box::new(self.ending(how, now));
        self.state = State::Sealing { ending: ending.clone() };
        effects.push(Effect { due: now, what: What::Seal { ending } });
    }

    pub(super) fn ending(&self, how: How, now: Ms) -> Ending {
        let (started, replaced) = (self.started, self.replaced);
        Ending { run: self.id.clone(), how, started, ended: now, replaced, alive: self.alive() }
    }

    /// The verdict of a treatment, where it is decided.
    #[must_use]
    pub fn decision(&self, treatment: &ArmName) -> Option<(stats::Verdict, stats::Reason)> {
        self.decided.iter().find(|of| of.treatment == *treatment).map(|of| (of.verdict, of.reason))
    }
}

impl Stop {
    /// In words, for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Blocked { reason } => reason.code().to_owned(),
            Self::Cancelled { by, .. } => format!("cancelled by {by}"),
            Self::Failed { text } => text.clone(),
        }
    }
}
