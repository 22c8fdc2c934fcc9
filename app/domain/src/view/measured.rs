//! What was measured, trial by trial: where the numbers of the table come from.

use std::sync::Arc;

use stats::case::{Control, Event, Residual, Trial};
use stats::output::TOTAL;
use stats::{Case, Metric};

/// The case behind a view. It is no part of what is written down of a view: the case stands beside it there.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured(Arc<Case>);

/// A row by one metric in one round, seconds. `None` where it was not measured, or is no usable number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// In the control.
    pub control: Option<f64>,
    /// In the treatment.
    pub treatment: Option<f64>,
    /// Whether something spoiled the clock of the round, so that its elapsed times do not count.
    pub spoiled: bool,
}

impl Pair {
    /// Treatment over control, where both are above 0.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let above = |value: Option<f64>| value.filter(|value| *value > 0.0);
        Some(above(self.treatment)? / above(self.control)?)
    }
}

impl Measured {
    /// What was measured of a case.
    #[must_use]
    pub fn new(case: Arc<Case>) -> Self {
        Self(case)
    }

    /// A row of a treatment in every round, in the order of the rounds. Of an unpaired comparison, the runs of either
    /// arm in their order; those of one line have nothing to do with each other.
    #[must_use]
    pub fn pairs(&self, treatment: &str, row: &str, metric: Metric) -> Vec<Pair> {
        let case = &self.0;
        // The only treatment of a case may go by another name here than there.
        let named = case.arms.iter().find(|(name, _)| name == treatment);
        let Some((_, arm)) = named.or(case.arms.first().filter(|_| case.arms.len() == 1)) else { return Vec::new() };
        let pair = |control: Option<&Trial>, treatment: Option<&Trial>| Pair {
            control: control.and_then(|trial| seconds(trial, row, metric)),
            treatment: treatment.and_then(|trial| seconds(trial, row, metric)),
            spoiled: [control, treatment].into_iter().flatten().any(|t| t.events.count(Event::ChurnElapsed) > 0),
        };
        if !case.config.paired {
            let lines = case.control.len().max(arm.trials.len());
            return (0..lines).map(|i| pair(case.control.get(i), arm.trials.get(i))).collect();
        }
        let rounds = arm.rounds.iter().map(|round| {
            let control = match &round.control {
                Control::Own(trial) => Some(trial),
                Control::Shared(index) => case.control.get(*index),
            };
            pair(control, Some(&round.treatment))
        });
        rounds.collect()
    }

    /// The same-code log ratios of a row.
    #[must_use]
    pub fn same_code(&self, row: &str, metric: Metric) -> &[f64] {
        self.0.calibration.ratios[metric].get(row).map_or(&[], Vec::as_slice)
    }

    /// What earlier comparisons add to the noise of a row, where they do.
    #[must_use]
    pub fn learnt(&self, row: &str, metric: Metric) -> Option<Residual> {
        self.0.calibration.residual[metric].get(row).copied().filter(|known| known.df > 0.0)
    }
}

/// A row in a trial; TOTAL is the sum of all rows, where each of them is known.
fn seconds(trial: &Trial, row: &str, metric: Metric) -> Option<f64> {
    if row == TOTAL {
        let all: Option<Vec<f64>> = trial.stages.iter().map(|(_, stage)| stage.metric(metric).value()).collect();
        return all.filter(|all| !all.is_empty()).map(|all| all.iter().sum());
    }
    trial.stages.iter().find(|(name, _)| name == row)?.1.metric(metric).value()
}
