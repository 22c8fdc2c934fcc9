//! Whether a simulated rate meets a limit: a limit is missed only when the count is beyond what chance allows at it.

use std::str::FromStr;

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use thiserror::Error;

use super::settings::UnknownWord;
use super::tally::{Report, Summary};

/// The quantile that a count may reach before its limit counts as missed.
pub const QUANTILE: f64 = 0.999;

/// The smallest k with P(X <= k) >= `quantile` for X of `trials` tries with probability `p`: "at most p" fails when the
/// count exceeds it. 0 <= p <= 1.
#[must_use]
pub fn binomial_limit(trials: u64, p: f64, quantile: f64) -> u64 {
    if p <= 0.0 {
        return 0;
    }
    if p >= 1.0 {
        return trials;
    }
    Binomial::new(p, trials).map_or(0, |binomial| binomial.inverse_cdf(quantile))
}

/// The smallest k with P(X <= k) >= 1-`quantile`: "at least p" fails when the count is below it.
#[must_use]
pub fn binomial_floor(trials: u64, p: f64, quantile: f64) -> u64 {
    binomial_limit(trials, p, 1.0 - quantile)
}

/// Which side of the limit is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The limit or less.
    AtMost,
    /// The limit or more.
    AtLeast,
}

/// A limit of one count, or of the mean number of rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// The name of the count, or `mean_rounds`.
    pub name: String,
    /// Which side is wanted.
    pub bound: Bound,
    /// The limit: a share, or a number of rounds.
    pub limit: f64,
}

/// Why a text is no goal.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadGoal {
    /// It has no equals sign.
    #[error("expected NAME=LIMIT such as confirmed=0.015, got `{0}`")]
    Form(String),
    /// It names no count.
    #[error(transparent)]
    Name(#[from] UnknownWord),
    /// Its limit is out of range.
    #[error("{name}: expected a limit of {expected}, got `{text}`")]
    Limit {
        /// The name.
        name: String,
        /// What is allowed.
        expected: &'static str,
        /// What stands there.
        text: String,
    },
}

/// The name that is not a count.
const MEAN_ROUNDS: &str = "mean_rounds";

impl Goal {
    /// Reads `NAME=LIMIT`; the limit is a share, or in percent (`1.5%`).
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, bound: Bound) -> Result<Self, BadGoal> {
        let (name, value) = text.split_once('=').ok_or_else(|| BadGoal::Form(text.chars().take(60).collect()))?;
        let rounds = name == MEAN_ROUNDS;
        if !rounds && !Summary::NAMES.contains(&name) {
            let known: Vec<&str> = Summary::NAMES.into_iter().chain([MEAN_ROUNDS]).collect();
            return Err(UnknownWord::new(name, "count", &known).into());
        }
        let number = match value.strip_suffix('%') {
            Some(percent) => f64::from_str(percent).map(|v| v / 100.0),
            None => f64::from_str(value),
        };
        let (most, expected) = if rounds { (1e9, "0 or more rounds") } else { (1.0, "0 to 1, or 0 % to 100 %") };
        let limit = number.ok().filter(|v| (0.0..=most).contains(v)).ok_or_else(|| BadGoal::Limit {
            name: name.to_owned(),
            expected,
            text: value.chars().take(40).collect(),
        })?;
        Ok(Self { name: name.to_owned(), bound, limit })
    }

    /// Judges one summary. `None` where the count does not apply.
    #[must_use]
    pub fn judge(&self, key: &str, summary: &Summary) -> Option<Judged> {
        let trials = summary.trials;
        let (measured, met, threshold) = if self.name == MEAN_ROUNDS {
            let mean = summary.mean_rounds();
            let met = if self.bound == Bound::AtMost { mean <= self.limit } else { mean >= self.limit };
            (mean, met, None)
        } else {
            let count = summary.count(&self.name)?;
            let (met, threshold) = match self.bound {
                Bound::AtMost => {
                    let limit = binomial_limit(trials, self.limit, QUANTILE);
                    (count <= limit, limit)
                }
                Bound::AtLeast => {
                    let floor = binomial_floor(trials, self.limit, QUANTILE);
                    (count >= floor, floor)
                }
            };
            (summary.share(&self.name)?, met, Some((count, threshold)))
        };
        Some(Judged {
            key: key.to_owned(),
            goal: self.clone(),
            measured,
            count: threshold.map(|(count, _)| count),
            allowed: threshold.map(|(_, allowed)| allowed),
            met,
        })
    }
}

/// A goal held against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The number of rounds, or `sequential`.
    #[serde(rename = "rounds")]
    pub key: String,
    /// The goal.
    #[serde(flatten)]
    pub goal: Goal,
    /// The share, or the mean number of rounds.
    #[serde(with = "crate::digits")]
    pub measured: f64,
    /// The count.
    pub count: Option<u64>,
    /// The count that is just met.
    pub allowed: Option<u64>,
    /// Whether it is met.
    pub met: bool,
}

/// Every goal for every number of rounds.
#[must_use]
pub fn judge_all(goals: &[Goal], report: &Report) -> Vec<Judged> {
    let of =
        |goal: &Goal| report.rounds.iter().filter_map(|(key, summary)| goal.judge(key, summary)).collect::<Vec<_>>();
    goals.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        for (trials, p, limit) in [
            (2000, 0.015, 48),
            (4000, 0.015, 85),
            (20000, 0.015, 354),
            (4000, 0.02, 109),
            (6000, 0.045, 321),
            (6000, 0.03, 222),
            (6000, 0.022, 168),
            (20000, 0.07, 1513),
            (20000, 0.01, 245),
            (100, 0.0, 0),
            (100, 1.0, 100),
        ] {
            assert_eq!(binomial_limit(trials, p, QUANTILE), limit, "{trials} {p}");
        }
        for (p, floor) in [(0.80, 3121), (0.83, 3246), (0.85, 3329), (0.90, 3540), (0.93, 3669), (0.95, 3756)] {
            assert_eq!(binomial_floor(4000, p, QUANTILE), floor, "{p}");
        }
    }

    #[test]
    fn goals_are_read() {
        let goal = Goal::parse("confirmed=1.5%", Bound::AtMost).unwrap();
        assert!((goal.limit - 0.015).abs() < 1e-12);
        assert_eq!(Goal::parse("mean_rounds=2.5", Bound::AtMost).unwrap().limit, 2.5);
        assert!(matches!(Goal::parse("confirmed", Bound::AtMost), Err(BadGoal::Form(_))));
        assert!(matches!(Goal::parse("pass=1.5", Bound::AtMost), Err(BadGoal::Limit { .. })));
        let error = Goal::parse("confirmd=0.1", Bound::AtMost).unwrap_err().to_string();
        assert!(error.contains("did you mean `confirmed`"), "{error}");
    }

    #[test]
    fn a_count_at_the_quantile_meets_the_goal_and_one_beyond_misses_it() {
        let summary = Summary {
            trials: 4000,
            false_regression: None,
            regression: 86,
            confirmed: 85,
            power: 3329,
            pass: 3328,
            tradeoff: 0,
            inconclusive: 0,
            rounds: 8000,
        };
        let met = |text: &str, bound| Goal::parse(text, bound).unwrap().judge("3", &summary).map(|j| j.met);
        assert_eq!(met("confirmed=0.015", Bound::AtMost), Some(true));
        assert_eq!(met("regression=0.015", Bound::AtMost), Some(false));
        assert_eq!(met("power=0.85", Bound::AtLeast), Some(true));
        assert_eq!(met("pass=0.85", Bound::AtLeast), Some(false));
        assert_eq!(met("mean_rounds=2", Bound::AtMost), Some(true));
        assert_eq!(met("mean_rounds=1.9", Bound::AtMost), Some(false));
        assert_eq!(met("false_regression=0.01", Bound::AtMost), None);
    }
}
