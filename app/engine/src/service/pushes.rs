//! What a push needs to be known: whether it changes what was measured, and how much of the run is spent.

use domain::ids::CommitSha;
use domain::machine::Run;
use domain::ports::forge::{CheckFound, CheckState, ForgeError};
use domain::ports::{Clock, Desk, Forge, Lab, NoPlan, Planner};
use domain::pull::{Compared, PullState, Shown, Stage, Waits, Weighed};
use domain::time::{MINUTE, Ms};

use super::{Archive, Service};
use crate::engine::{EngineError, key_of, plan_of};
use crate::progress::Progress;

/// How long required checks are waited for.
pub const CHECKS_FOR: u64 = 60 * MINUTE;

/// What the checks say that a head needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// All are green, or none is needed.
    Green,
    /// These are not green yet.
    Wait(Waits),
    /// They will not be: why.
    Failed(String),
}

/// What these checks mean for a run that was asked for at `at`.
fn checked(found: &[CheckFound], at: Ms, now: Ms) -> Checked {
    let of = |wanted: &[CheckState]| -> Vec<String> {
        found.iter().filter(|check| wanted.contains(&check.state)).map(|check| check.name.clone()).collect()
    };
    let red = of(&[CheckState::Red]);
    if !red.is_empty() {
        return Checked::Failed(format!("not green: {}", red.join(", ")));
    }
    let pending = of(&[CheckState::Pending, CheckState::Missing]);
    let until = at.plus(CHECKS_FOR);
    match (pending.is_empty(), now >= until) {
        (true, _) => Checked::Green,
        (false, true) => Checked::Failed(format!("not green after 60 minutes: {}", pending.join(", "))),
        (false, false) => Checked::Wait(Waits::Checks { names: pending, until }),
    }
}

/// How much of its estimated cost a run has spent, in percent of every round that it may take; `None` where no trial was
/// started. Trials that go on count by the mean time of those that are over.
#[must_use]
pub fn spent(run: &Run, now: Ms) -> Option<u32> {
    run.trials.iter().filter_map(|trial| trial.submitted).min()?;
    let progress = Progress::of(run, now);
    let times: Vec<u64> = run
        .trials
        .iter()
        .filter(|trial| trial.is_counted())
        .filter_map(|trial| Some(trial.ended?.since(trial.submitted?)))
        .collect();
    let mean = times.iter().sum::<u64>().checked_div(times.len() as u64);
    let had = |at: Ms| mean.map_or(0, |mean| (now.since(at).min(mean) * 100).checked_div(mean).unwrap_or(0));
    let going: u64 =
        run.trials.iter().filter(|trial| !trial.is_over()).filter_map(|trial| trial.submitted).map(had).sum();
    let done = progress.trials_done * 100 + going;
    Some(u32::try_from(done.checked_div(progress.trials_planned).unwrap_or(0).min(100)).unwrap_or(100))
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Holds a head against what was measured. `None` where that is no question any more, `Err` inside where it has to wait.
    pub(super) async fn weigh(
        &self,
        state: &PullState,
        suite: &str,
        head: &CommitSha,
        now: Ms,
    ) -> Result<Option<Result<Weighed, String>>, EngineError> {
        let seen = state.seen.as_ref().filter(|seen| seen.head == *head);
        let shown = state.shown.get(suite);
        if seen.is_none() || shown.is_some_and(|shown| shown.asked.head == *head) {
            return Ok(None);
        }
        let manners = match self.planner.manners(&state.id.repo, suite).await {
            Ok(manners) => manners,
            Err(NoPlan::NotNow(why)) => return Ok(Some(Err(why))),
            Err(NoPlan::Never { why, .. }) => {
                tracing::warn!(suite, why, "the rules of a repository cannot be read");
                // Without its rules nothing is begun by a push.
                domain::ports::Manners { on_push: domain::pull::OnPush::Off, ..domain::ports::Manners::default() }
            }
        };
        let mut weighed = Weighed {
            suite: suite.to_owned(),
            run: shown.map(|shown| shown.asked.run.clone()),
            head: head.clone(),
            compared: Compared::Changed { why: String::new() },
            on_push: manners.on_push,
            debounce_ms: manners.debounce_ms,
            spent: None,
        };
        let Some(shown) = shown else { return Ok(Some(Ok(weighed))) };
        if shown.stage == Stage::Planning && !matches!(shown.waits, Some(Waits::Checks { .. })) {
            return Ok(Some(Err("the plan of the head before it is being made".to_owned())));
        }
        if let Some(subject) = self.desk().read(&key_of(&shown.asked.run)).await? {
            let run = Run::from_json(&subject.state)?;
            weighed.spent = if run.state.is_over() { None } else { spent(&run, now) };
            match self.planner.weigh(&asked_on(shown, head), &plan_of(&subject)?, head).await {
                Ok(compared) => weighed.compared = compared,
                Err(NoPlan::NotNow(why)) => return Ok(Some(Err(why))),
                // What cannot be compared is not taken for the same.
                Err(NoPlan::Never { why, .. }) => weighed.compared = Compared::Changed { why },
            }
        }
        Ok(Some(Ok(weighed)))
    }

    /// What the checks say that the head of a run needs.
    pub(super) async fn checked(&self, shown: &Shown, now: Ms) -> Result<Checked, String> {
        let asked = &shown.asked;
        if asked.jobs {
            // Nothing of the head is run.
            return Ok(Checked::Green);
        }
        let manners = match self.planner.manners(&asked.pull.repo, &asked.suite).await {
            Ok(manners) => manners,
            Err(NoPlan::NotNow(why)) => return Err(why),
            Err(NoPlan::Never { why, .. }) => return Ok(Checked::Failed(why)),
        };
        if manners.require_checks.is_empty() {
            return Ok(Checked::Green);
        }
        match self.forge.checks(&asked.pull.repo, &asked.head, &manners.require_checks).await {
            Ok(found) => Ok(checked(&found, asked.at, now)),
            Err(ForgeError::Unavailable(why) | ForgeError::Limited { why, .. }) => Err(why),
            Err(error) => Ok(Checked::Failed(format!("the checks of the head cannot be read: {error}"))),
        }
    }
}

/// The same request, on another head.
fn asked_on(shown: &Shown, head: &CommitSha) -> domain::pull::Asked {
    let mut asked = shown.asked.clone();
    asked.head = head.clone();
    asked.pairs.retain(|(key, _)| key != "sha");
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_checks_mean() {
        let check = |name: &str, state| CheckFound { name: name.to_owned(), state };
        let (green, pending) = (check("unit", CheckState::Green), check("lint", CheckState::Pending));
        let (red, missing) = (check("docs", CheckState::Red), check("mypy", CheckState::Missing));
        let at = Ms(1000);
        let soon = at.plus(CHECKS_FOR - 1);
        assert_eq!(checked(&[], at, soon), Checked::Green);
        assert_eq!(checked(std::slice::from_ref(&green), at, soon), Checked::Green);
        let wait = Waits::Checks { names: vec!["lint".to_owned(), "mypy".to_owned()], until: at.plus(CHECKS_FOR) };
        assert_eq!(checked(&[green.clone(), pending.clone(), missing], at, soon), Checked::Wait(wait));
        let late = Checked::Failed("not green after 60 minutes: lint".to_owned());
        assert_eq!(checked(&[green, pending.clone()], at, at.plus(CHECKS_FOR)), late);
        // A red one is told of at once.
        assert_eq!(checked(&[pending, red], at, soon), Checked::Failed("not green: docs".to_owned()));
    }
}
