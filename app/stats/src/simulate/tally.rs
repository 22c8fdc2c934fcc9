//! Counting, and shares with their intervals.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::digits::twelve;
use crate::output::Ordered;
use crate::reason::Verdict;

/// Counts of simulated comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    trials: u64,
    verdicts: [u64; 4],
    confirmed: u64,
    power: u64,
    rounds: u64,
}

impl Tally {
    /// Counts one comparison: the verdicts that were reached, whether an increase was confirmed in any row and in an
    /// affected row, and the rounds it took.
    pub(super) fn count(&mut self, verdicts: [bool; 4], confirmed: bool, power: bool, rounds: usize) {
        self.trials += 1;
        for (count, reached) in self.verdicts.iter_mut().zip(verdicts) {
            *count += u64::from(reached);
        }
        self.confirmed += u64::from(confirmed);
        self.power += u64::from(power);
        self.rounds += rounds as u64;
    }

    /// Adds the counts of another thread.
    pub(super) fn add(&mut self, other: &Self) {
        self.trials += other.trials;
        for (count, more) in self.verdicts.iter_mut().zip(other.verdicts) {
            *count += more;
        }
        self.confirmed += other.confirmed;
        self.power += other.power;
        self.rounds += other.rounds;
    }
}

/// What simulated comparisons came to. Counts of comparisons; with several treatments, of those in which any treatment
/// came to it, and with extensions, of those that ever came to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Comparisons.
    pub trials: u64,
    /// Regressions although nothing was changed; `None` where something was.
    pub false_regression: Option<u64>,
    /// Regressions.
    pub regression: u64,
    /// A judged row has a confirmed increase, tolerated ones included.
    pub confirmed: u64,
    /// An affected row has one.
    pub power: u64,
    /// Passes.
    pub pass: u64,
    /// Tradeoffs.
    pub tradeoff: u64,
    /// Nothing was decided.
    pub inconclusive: u64,
    /// Rounds, all comparisons together.
    pub rounds: u64,
}

impl Summary {
    pub(super) fn of(tally: &Tally, without_effect: bool) -> Self {
        let verdict = |verdict: Verdict| tally.verdicts[verdict as usize];
        let regression = verdict(Verdict::Regression);
        Self {
            trials: tally.trials,
            false_regression: without_effect.then_some(regression),
            regression,
            confirmed: tally.confirmed,
            power: tally.power,
            pass: verdict(Verdict::Pass),
            tradeoff: verdict(Verdict::Tradeoff),
            inconclusive: verdict(Verdict::Inconclusive),
            rounds: tally.rounds,
        }
    }

    /// The names of the counts, in the order of the output.
    pub const NAMES: [&'static str; 8] =
        ["false_regression", "regression", "confirmed", "power", "pass", "tradeoff", "inconclusive", "decided"];

    /// A count by name; `None` for an unknown name, or where it does not apply.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match name {
            "false_regression" => self.false_regression,
            "regression" => Some(self.regression),
            "confirmed" => Some(self.confirmed),
            "power" => Some(self.power),
            "pass" => Some(self.pass),
            "tradeoff" => Some(self.tradeoff),
            "inconclusive" => Some(self.inconclusive),
            "decided" => Some(self.trials - self.inconclusive),
            _ => None,
        }
    }

    /// A count as a share of the comparisons.
    #[must_use]
    pub fn share(&self, name: &str) -> Option<f64> {
        self.count(name).map(|count| count as f64 / self.trials as f64)
    }

    /// Mean number of rounds of a comparison.
    #[must_use]
    pub fn mean_rounds(&self) -> f64 {
        self.rounds as f64 / self.trials as f64
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for name in Self::NAMES {
            map.serialize_entry(name, &self.share(name).map(twelve))?;
        }
        map.serialize_entry("mean_rounds", &twelve(self.mean_rounds()))?;
        map.serialize_entry("trials", &self.trials)?;
        let named = || Self::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), self.count(name)?)));
        map.serialize_entry("counts", &Ordered(named().collect()))?;
        let intervals = named().map(|(name, count)| (name, wilson(count, self.trials).map(twelve)));
        map.serialize_entry("ci95", &Ordered(intervals.collect()))?;
        map.end()
    }
}

/// Summaries by number of rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The key is a number of rounds, or `sequential`.
    pub rounds: Ordered<Summary>,
}

/// The 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a share (Wilson 1927).
#[must_use]
pub fn wilson(count: u64, trials: u64) -> [f64; 2] {
    let (n, p) = (trials as f64, count as f64 / trials as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let lo = if count == 0 { 0.0 } else { (middle - half) / scale };
    let hi = if count == trials { 1.0 } else { (middle + half) / scale };
    [lo, hi]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_interval() {
        // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (count, trials, lo, hi) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let [a, b] = wilson(count, trials);
            assert!((a - lo).abs() < 6e-5 && (b - hi).abs() < 6e-5, "{a} {b}");
        }
        assert_eq!(wilson(20, 20)[1], 1.0);
    }

    #[test]
    fn shares_and_keys() {
        let mut tally = Tally::default();
        let mut verdicts = [false; 4];
        verdicts[Verdict::Pass as usize] = true;
        tally.count(verdicts, false, false, 3);
        verdicts = [false; 4];
        verdicts[Verdict::Regression as usize] = true;
        tally.count(verdicts, true, true, 1);
        let json = serde_json::to_value(Summary::of(&tally, false)).unwrap();
        assert_eq!(json["false_regression"], serde_json::Value::Null);
        assert_eq!(json["pass"], 0.5);
        assert_eq!(json["decided"], 1.0);
        assert_eq!(json["mean_rounds"], 2.0);
        assert_eq!(json["trials"], 2);
        assert_eq!(json["counts"]["regression"], 1);
        assert!(json["ci95"]["regression"][0].as_f64().unwrap() > 0.0);
        assert!(json["ci95"].get("false_regression").is_none());
        assert_eq!(serde_json::to_value(Summary::of(&tally, true)).unwrap()["false_regression"], 0.5);
    }
}
