//! What the trials of a run have used.

use domain::ports::{Fate, TrialFate};
use domain::rounds::TrialName;
use lab::assemble::cluster;
use lab::iris::rules::Rules;
use stats::{Reading, Trial};

use crate::bundle::Bundle;
use crate::trials::rules;

/// The CPU time of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialCpu {
    /// The trial.
    pub name: TrialName,
    /// Whether it ended well and was measured to the end: else it may have used more.
    pub whole: bool,
    /// Seconds; `None` where it did not say.
    pub seconds: Option<f64>,
}

/// The CPU time of every trial of a run, of those that do not count as well; not of runs that it continues. Each trial is
/// read by itself: what one lacks says nothing of the others.
#[must_use]
pub fn cpu(bundle: &Bundle) -> Vec<TrialCpu> {
    let rules = rules(&bundle.plan);
    let read = |fate: &TrialFate| {
        let trial = match &rules {
            None => lab::assemble::local(bundle.answers(fate)).ok().map(|local| local.trial),
            Some(Ok(rules)) => on_cluster(bundle, fate, rules),
            Some(Err(_)) => None,
        };
        let seconds: Vec<Option<f64>> =
            trial.iter().flat_map(|trial| &trial.stages).map(|(_, stage)| seconds(stage.cpu_time_total)).collect();
        let known: Vec<f64> = seconds.iter().copied().flatten().collect();
        let whole = fate.fate == Fate::Counted && !known.is_empty() && known.len() == seconds.len();
        TrialCpu { name: fate.name.clone(), whole, seconds: (!known.is_empty()).then(|| known.iter().sum()) }
    };
    bundle.fates.iter().map(read).collect()
}

fn seconds(reading: Reading) -> Option<f64> {
    match reading {
        Reading::Value(seconds) => Some(seconds),
        Reading::Missing | Reading::Bad => None,
    }
}

fn on_cluster(bundle: &Bundle, fate: &TrialFate, rules: &Rules) -> Option<Trial> {
    let read = cluster::read(bundle.answers(fate), rules).ok()?;
    let (rows, _) = cluster::rows(&[&read], rules);
    rows.into_iter().next()?.ok().map(|rows| rows.trial)
}
