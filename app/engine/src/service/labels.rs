//! Labels of a pull request: the one that says how things are with its newest run.

use domain::ports::desk::Want;
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{PullState, Stage};
use domain::time::Ms;
use domain::view::Verdict;

use super::saying::{Saying, labels_target};
use super::{Archive, Service};
use crate::engine::EngineError;

/// The labels of the states of a run; `None` where a state has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Nothing got worse.
    pub pass: Option<String>,
    /// Proven to cost more than is tolerated.
    pub regression: Option<String>,
    /// One of CPU and elapsed time got better, the other worse.
    pub tradeoff: Option<String>,
    /// Nothing is proven.
    pub inconclusive: Option<String>,
    /// Being planned, waiting or running.
    pub running: Option<String>,
}

impl Labels {
    /// Those that there are. States may share one.
    fn all(&self) -> Vec<&String> {
        let all = [&self.pass, &self.regression, &self.tradeoff, &self.inconclusive, &self.running];
        all.into_iter().flatten().collect()
    }

    /// The label of a pull request: of its newest run, whatever the suite. A verdict that no longer speaks of what would be
    /// merged has none, and neither has a run that ended without one.
    fn of(&self, state: &PullState) -> Option<&String> {
        let newest = state.shown.values().max_by_key(|shown| (shown.asked.at, &shown.asked.run))?;
        match &newest.stage {
            Stage::Planning | Stage::Running => self.running.as_ref(),
            Stage::Over(over) if state.stale(newest).is_none() => match over.verdict? {
                Verdict::Pass => self.pass.as_ref(),
                Verdict::Regression => self.regression.as_ref(),
                Verdict::Tradeoff => self.tradeoff.as_ref(),
                Verdict::Inconclusive => self.inconclusive.as_ref(),
            },
            Stage::Over(_) => None,
        }
    }

    /// What is put on a pull request, and what is taken off it.
    fn wanted(&self, state: &PullState) -> (Vec<String>, Vec<String>) {
        let add = self.of(state);
        let mut remove: Vec<String> = Vec::new();
        for label in self.all() {
            let is = |other: &String| other.to_lowercase() == label.to_lowercase();
            if !add.is_some_and(is) && !remove.iter().any(is) {
                remove.push(label.clone());
            }
        }
        (add.cloned().into_iter().collect(), remove)
    }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// The labels that a pull request should have, where it should have any, or has had one.
    pub(super) async fn labels(&self, state: &PullState, now: Ms) -> Result<Option<Want>, EngineError> {
        let (add, remove) = self.settings.labels.wanted(state);
        if add.is_empty() && remove.is_empty() {
            return Ok(None);
        }
        let target = labels_target(&state.id);
        if add.is_empty() && self.desk().wanted(&target).await?.is_none() {
            return Ok(None);
        }
        Saying::Labels { pull: state.id.clone(), add, remove }.want(target, now).map(Some)
    }
}
