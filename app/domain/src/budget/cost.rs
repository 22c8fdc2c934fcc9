//! What a run is expected to cost, and what finished runs say about it.

use super::{HOUR, MOST, hours};
use crate::plan::Plan;

/// CPU milliseconds in hours.
#[must_use]
pub fn in_hours(cpu_ms: u64) -> f64 {
    cpu_ms as f64 / HOUR
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU milliseconds of all its trials; `None` where that is not known: what it was expected to use stays.
    pub cpu_ms: Option<u64>,
    /// Trials that ended well and were measured to the end.
    pub trials: u32,
    /// CPU milliseconds of those.
    pub trials_cpu_ms: u64,
    /// How long those took, milliseconds, one after the other.
    pub trials_wall_ms: u64,
}

/// What one finished run says of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// Trials that ended well and were measured to the end: at least one.
    pub trials: u32,
    /// CPU milliseconds of those.
    pub cpu_ms: u64,
    /// How long those took, milliseconds, one after the other.
    pub wall_ms: u64,
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From so many finished runs.
    Learnt(u32),
    /// From the suite file.
    Suite,
}

impl Source {
    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Learnt(1) => "learnt from 1 run".to_owned(),
            Self::Learnt(runs) => format!("learnt from {runs} runs"),
            Self::Suite => "by the suite file".to_owned(),
        }
    }
}

/// What a trial is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// CPU milliseconds.
    pub cpu_ms: u64,
    /// How long it takes, milliseconds, where that is known.
    pub wall_ms: Option<u64>,
    /// Where that comes from.
    pub source: Source,
}

impl Estimate {
    /// The mean over all trials of some runs; `None` where there is none.
    #[must_use]
    pub fn learnt(runs: &[Learnt]) -> Option<Self> {
        let trials: u64 = runs.iter().map(|run| u64::from(run.trials)).sum();
        let sum = |of: fn(&Learnt) -> u64| runs.iter().map(of).fold(0, u64::saturating_add);
        let mean = |of| sum(of).checked_div(trials);
        let counted = u32::try_from(runs.iter().filter(|run| run.trials > 0).count()).unwrap_or(u32::MAX);
        let source = Source::Learnt(counted);
        Some(Self { cpu_ms: mean(|run| run.cpu_ms)?, wall_ms: mean(|run| run.wall_ms), source })
    }

    /// What the whole of a plan costs at most, CPU milliseconds: all its arms in all rounds up to its last look. Rounds of
    /// an earlier run that it continues were paid for, and rounds that are measured anew are not counted.
    #[must_use]
    pub fn of(&self, plan: &Plan) -> u64 {
        let rounds = plan.rounds().saturating_sub(u64::from(plan.earlier_rounds));
        let trials = rounds.saturating_mul(plan.roles().len() as u64);
        self.cpu_ms.saturating_mul(trials).min(MOST)
    }

    /// What the whole of a plan costs, in words.
    #[must_use]
    pub fn words(&self, plan: &Plan) -> String {
        format!("costs about {} CPU hours ({})", hours(in_hours(self.of(plan))), self.source.words())
    }

    /// Why a person must agree to a plan of this cost, where it is above the limit that needs no agreement (CPU hours).
    #[must_use]
    pub fn above(&self, plan: &Plan, limit: Option<f64>) -> Option<String> {
        let limit = limit?;
        (in_hours(self.of(plan)) > limit)
            .then(|| format!("{}; above {} a person must agree", self.words(plan), hours(limit)))
    }
}
