//! What may be spent, and who goes first.
//!
//! [`check`] says whether a run fits into the budgets of its pull request, its person and its repository, [`cost`] what a run
//! is expected to cost, and [`line`](mod@line) in which order those that wait are started. CPU time is counted in whole
//! milliseconds, so that sums are exact.

pub mod cost;
pub mod line;

use crate::ids::{Digest, RunId};
use crate::time::{DAY, Ms, utc};

pub use cost::{Estimate, Learnt, Used, in_hours};
pub use line::{Place, ahead};

/// One hour of CPU time in milliseconds.
const HOUR: f64 = 3_600_000.0;
/// The most that is counted for one run: so many add up without overflow. 277 million CPU hours.
pub const MOST: u64 = 1_000_000_000_000_000;

/// What may be spent in any 24 hours; `None` is without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    /// CPU hours.
    pub cpu_hours: Option<f64>,
    /// Runs.
    pub runs: Option<u32>,
}

/// What may be spent, by whom it is spent for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// For one pull request.
    pub pull_request: Limit,
    /// By one person, wherever.
    pub person: Limit,
    /// In one repository.
    pub repository: Limit,
}

/// Whose budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of a pull request.
    PullRequest,
    /// Of a person.
    Person,
    /// Of a repository.
    Repository,
}

impl Whose {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::PullRequest => "this pull request",
            Self::Person => "the person who asks",
            Self::Repository => "this repository",
        }
    }
}

/// One run that was promised something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    /// When.
    pub at: Ms,
    /// What it used; what it is expected to use while that is not known; 0 where neither is. CPU milliseconds.
    pub cpu_ms: u64,
}

/// What was promised before, whatever of it is older than 24 hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// For the pull request.
    pub pull_request: Vec<Promised>,
    /// To the person.
    pub person: Vec<Promised>,
    /// In the repository.
    pub repository: Vec<Promised>,
}

/// What is spent of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// CPU milliseconds.
    pub cpu_ms: u64,
    /// Runs.
    pub runs: u64,
}

impl Spent {
    /// What was promised in the 24 hours before `now`. A time in the future, as after a clock that was set back, counts.
    #[must_use]
    pub fn of(past: &[Promised], now: Ms) -> Self {
        let counts = past.iter().filter(|promised| now.since(promised.at) < DAY);
        counts.fold(Self::default(), |sum, promised| Self {
            cpu_ms: sum.cpu_ms.saturating_add(promised.cpu_ms),
            runs: sum.runs + 1,
        })
    }
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Short {
    /// CPU hours.
    CpuHours {
        /// Spent or promised.
        spent: f64,
        /// What this would cost.
        cost: f64,
        /// The limit.
        limit: f64,
    },
    /// Runs.
    Runs {
        /// Made.
        made: u64,
        /// The limit.
        limit: u32,
    },
}

/// A run does not fit into a budget.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.words())]
pub struct OverBudget {
    /// Whose budget.
    pub whose: Whose,
    /// What there is too little of.
    pub short: Short,
    /// When there is enough again; `None` is never, because this alone is more than the limit.
    pub free: Option<Ms>,
}

impl OverBudget {
    fn words(&self) -> String {
        let whose = self.whose.words();
        let over = match self.short {
            Short::CpuHours { spent, cost, limit } => format!(
                "over the budget: {whose} may spend {} CPU hours in 24 hours; {} are spent or promised, and this would \
                 cost about {}",
                hours(limit),
                hours(spent),
                hours(cost),
            ),
            Short::Runs { made, limit } => {
                let runs = if limit == 1 { "run" } else { "runs" };
                format!("over the budget: {whose} may have {limit} {runs} in 24 hours, and had {made}")
            }
        };
        match self.free {
            Some(at) => format!("{over}; enough is free again at {}", utc(at)),
            None => format!("{over}; it never fits: ask for less, or raise the limit of the suite"),
        }
    }
}

/// Hours as people read them: three digits at most, no more than needed.
#[must_use]
pub fn hours(hours: f64) -> String {
    let digits = match hours.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        x if x >= 0.995 => 2,
        x if x >= 0.001 => 4,
        _ => 6,
    };
    let text = format!("{hours:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// What a run asks the budgets for, before it is planned to the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The run.
    pub run: RunId,
    /// The repository.
    pub repo: u64,
    /// The number of the pull request.
    pub number: u64,
    /// The account that asks.
    pub person: u64,
    /// The suite.
    pub suite: String,
    /// The preset, where one was taken.
    pub preset: Option<String>,
    /// The fingerprint of the control's workload.
    pub fingerprint: Digest,
    /// What it is expected to cost, CPU milliseconds, where that is known.
    pub cpu_ms: Option<u64>,
    /// What may be spent.
    pub limits: Limits,
    /// When.
    pub now: Ms,
}

/// Whether a run fits into the budgets. `cpu_ms` is what it is expected to cost; where nobody knows, only runs are
/// counted, and what it has used counts once it is known. Of several budgets that it does not fit into, the one is named
/// that takes longest to have enough.
///
/// # Errors
/// See [`OverBudget`].
pub fn check(limits: &Limits, past: &Past, cpu_ms: Option<u64>, now: Ms) -> Result<(), OverBudget> {
    let all = [
        (Whose::PullRequest, &limits.pull_request, &past.pull_request),
        (Whose::Person, &limits.person, &past.person),
        (Whose::Repository, &limits.repository, &past.repository),
    ];
    let over = all.into_iter().flat_map(|(whose, limit, past)| of_one(whose, limit, past, cpu_ms.unwrap_or(0), now));
    // The first of those that are equal.
    let worst = over.reduce(|worst, other| if later(other.free, worst.free) { other } else { worst });
    worst.map_or(Ok(()), Err)
}

fn later(one: Option<Ms>, other: Option<Ms>) -> bool {
    match (one, other) {
        (None, other) => other.is_some(),
        (Some(_), None) => false,
        (Some(one), Some(other)) => one > other,
    }
}

/// What does not fit into one budget.
fn of_one(whose: Whose, limit: &Limit, past: &[Promised], cost: u64, now: Ms) -> Vec<OverBudget> {
    let spent = Spent::of(past, now);
    let mut over = Vec::new();
    if let Some(limit) = limit.cpu_hours {
        let most = to_ms(limit);
        if spent.cpu_ms.saturating_add(cost) > most {
            let short = Short::CpuHours { spent: in_hours(spent.cpu_ms), cost: in_hours(cost), limit };
            let fits = |left: Spent| left.cpu_ms.saturating_add(cost) <= most;
            over.push(OverBudget { whose, short, free: free(past, now, fits) });
        }
    }
    if let Some(limit) = limit.runs
        && spent.runs >= u64::from(limit)
    {
        let short = Short::Runs { made: spent.runs, limit };
        over.push(OverBudget { whose, short, free: free(past, now, |left| left.runs < u64::from(limit)) });
    }
    over
}

/// CPU hours in milliseconds, rounded down: a limit is never exceeded.
#[must_use]
pub fn to_ms(hours: f64) -> u64 {
    // Finite numbers past the end become the end.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let ms = (hours * HOUR).max(0.0) as u64;
    ms
}

/// When enough of what was promised is a day old.
fn free(past: &[Promised], now: Ms, fits: impl Fn(Spent) -> bool) -> Option<Ms> {
    let mut ends: Vec<Ms> = past.iter().map(|promised| promised.at.plus(DAY)).filter(|end| *end > now).collect();
    ends.sort_unstable();
    ends.into_iter().find(|end| fits(Spent::of(past, *end)))
}

#[cfg(test)]
mod tests;
