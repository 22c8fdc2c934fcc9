//! What a comparison can detect, and how many rounds it takes: before any measurement, from the noise of a run alone.
//!
//! Everything is on the log scale. With s = sqrt(2)·cv/sqrt(n), the standard error of the mean of n log ratios:
//! an increase e is confirmed with probability 0.9 when (t(1-a/m) + t(0.9))·s <= ln(1+e), with m the rows of the family
//! and a the budget, halved from five rounds on, where the robust arm takes the other half; it is called a regression
//! when moreover (t(0.95) + t(0.9))·s <= ln((1+e)/(1+tolerance)); and a change below b is proven for all rows with
//! probability 0.9, when nothing changed, when (t(0.95) + t(0.9^(1/m)))·s <= ln(1+b).

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::config::Config;
use crate::special::t_quantile;

/// The probability with which a comparison of the stated size succeeds.
pub const POWER: f64 = 0.9;
/// Degrees of freedom of a calibrated comparison of many rows.
pub const DEFAULT_DF: f64 = 60.0;
/// Rounds beyond which nothing is offered.
pub const MOST_ROUNDS: u64 = 10_000;

/// What is known before a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Standard deviation of one run as a share of its time (0.01 is 1 %).
    pub cv: f64,
    /// Rows of the family.
    pub rows: usize,
    /// Degrees of freedom of the variance.
    pub df: f64,
    /// Tolerance of the row, as a share.
    pub margin: f64,
    /// Budget for wrongly confirming a change.
    pub alpha: f64,
    /// Budget per side for wrongly proving equivalence.
    pub alpha_eq: f64,
    /// Smallest change that one round may call, as a share.
    pub gross: f64,
    /// How many times the largest same-code wobble a one-round change must be.
    pub gross_mult: f64,
    /// Same-code ratios per row that the wobble is the largest of.
    pub calibration: usize,
}

/// What n rounds can tell. Changes are shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detectable {
    /// Rounds.
    pub rounds: u64,
    /// Half-width of the interval.
    #[serde(with = "crate::digits")]
    pub band: f64,
    /// The increase that is confirmed with probability 0.9 by the t test.
    #[serde(with = "crate::digits")]
    pub mde90: f64,
    /// The increase that is called a regression with probability 0.9.
    #[serde(with = "crate::digits")]
    pub regression90: f64,
}

/// Rounds that a claim takes with probability 0.9. `None`: more than [`MOST_ROUNDS`], or never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Under all rules.
    pub rounds: Option<u64>,
    /// By the test alone; smaller where a single round would do but for the rule that one round calls gross changes only.
    pub by_test: Option<u64>,
}

impl Power {
    /// The defaults of abv1 for `rows` rows with runs that vary by `cv`.
    #[must_use]
    pub fn new(cv: f64, rows: usize) -> Self {
        let config = Config::default();
        Self {
            cv,
            rows,
            df: DEFAULT_DF,
            margin: config.margin.cpu,
            alpha: config.alpha_reg.cpu,
            alpha_eq: config.alpha_eq,
            gross: config.gross1.cpu,
            gross_mult: config.gross_mult,
            calibration: 10,
        }
    }

    /// Standard deviation of a pair.
    fn pair(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.cv
    }

    fn se(&self, n: u64) -> f64 {
        self.pair() / (n as f64).sqrt()
    }

    fn t(&self, p: f64) -> f64 {
        t_quantile(p, self.df)
    }

    /// How many standard errors an increase must have to be confirmed.
    fn errors_to_confirm(&self, n: u64) -> f64 {
        let alpha = if n >= 5 { self.alpha / 2.0 } else { self.alpha };
        self.t(1.0 - alpha / self.rows as f64) + self.t(POWER)
    }

    /// How many standard errors an increase must lie beyond the tolerance to be called.
    fn errors_to_call(&self) -> f64 {
        self.t(1.0 - self.alpha_eq) + self.t(POWER)
    }

    fn errors_to_prove(&self) -> f64 {
        self.t(1.0 - self.alpha_eq) + self.t(POWER.powf(1.0 / self.rows as f64))
    }

    /// What `n` >= 1 rounds can tell.
    #[must_use]
    pub fn detectable(&self, n: u64) -> Detectable {
        let se = self.se(n);
        let confirm = self.errors_to_confirm(n) * se;
        let call = self.margin.ln_1p() + self.errors_to_call() * se;
        Detectable {
            rounds: n,
            band: (self.t(1.0 - self.alpha_eq) * se).exp_m1(),
            mde90: confirm.exp_m1(),
            regression90: confirm.max(call).exp_m1(),
        }
    }

    /// Rounds to confirm an increase of `effect`, a share above 0.
    #[must_use]
    pub fn rounds_to_confirm(&self, effect: f64) -> Needed {
        self.with_gross(effect, self.confirm_by_test(effect))
    }

    /// Rounds to call an increase of `effect` a regression; never where it does not exceed the tolerance.
    #[must_use]
    pub fn rounds_to_call(&self, effect: f64) -> Needed {
        let beyond = effect.ln_1p() - self.margin.ln_1p();
        let call = if beyond > 0.0 { fewest(self.errors_to_call() * self.pair(), beyond, 1) } else { None };
        let by_test = self.confirm_by_test(effect).zip(call).map(|(a, b)| a.max(b));
        self.with_gross(effect, by_test)
    }

    /// Rounds to prove for every row that it did not grow by `bound`, when nothing changed.
    #[must_use]
    pub fn rounds_to_prove(&self, bound: f64) -> Option<u64> {
        fewest(self.errors_to_prove() * self.pair(), bound.ln_1p(), 1)
    }

    fn confirm_by_test(&self, effect: f64) -> Option<u64> {
        let size = effect.ln_1p();
        (1..5)
            .find(|n| self.errors_to_confirm(*n) * self.se(*n) <= size)
            .or_else(|| fewest(self.errors_to_confirm(5) * self.pair(), size, 5))
    }

    /// One round calls only what is gross: at least `gross`, and `gross_mult` times the largest same-code wobble of
    /// all rows, for which the median of the largest of that many normal values stands.
    fn with_gross(&self, effect: f64, by_test: Option<u64>) -> Needed {
        let wobbles = (self.rows * self.calibration).max(1) as f64;
        let largest = Normal::standard().inverse_cdf(f64::midpoint(1.0, 0.5f64.powf(1.0 / wobbles))) * self.pair();
        let bar = self.gross.ln_1p().max(self.gross_mult * largest) + self.t(POWER) * self.pair();
        let rounds = if by_test == Some(1) && effect.ln_1p() < bar { Some(2) } else { by_test };
        Needed { rounds, by_test }
    }
}

/// The smallest n >= `least` with spread/sqrt(n) <= size.
fn fewest(spread: f64, size: f64, least: u64) -> Option<u64> {
    if spread.is_nan() || size.is_nan() || size <= 0.0 {
        return None;
    }
    let n = (spread / size).powi(2).ceil().max(least as f64);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 1 and MOST_ROUNDS
    (n <= MOST_ROUNDS as f64).then_some(n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of the table: rounds, and whether the test alone would do with one.
    fn cell(needed: Needed) -> String {
        match needed {
            Needed { by_test: Some(1), rounds: Some(2) } => "1*".to_owned(),
            Needed { rounds: Some(n), .. } if n <= 200 => n.to_string(),
            Needed { .. } => "-".to_owned(),
        }
    }

    fn prove(rounds: Option<u64>) -> String {
        rounds.filter(|n| *n <= 200).map_or("-".to_owned(), |n| n.to_string())
    }

    #[test]
    fn table_of_rounds_needed() {
        let expected = [
            (0.005, "2 1* 1* 1 | 2 1* 1 | 2 1 1"),
            (0.01, "6 2 1* 1 | 5 1* 1 | 5 2 1"),
            (0.02, "24 9 3 1* | 20 4 1* | 18 7 2"),
            (0.03, "53 20 6 2 | 45 8 2 | 39 15 4"),
            (0.05, "147 54 15 4 | 124 21 4 | 107 40 11"),
            (0.10, "- - 57 16 | - 82 16 | - 157 41"),
        ];
        for (cv, row) in expected {
            let p = Power::new(cv, 20);
            let confirm = [0.03, 0.05, 0.10, 0.20].map(|e| cell(p.rounds_to_confirm(e))).join(" ");
            let call = [0.07, 0.10, 0.20].map(|e| cell(p.rounds_to_call(e))).join(" ");
            let proven = [0.03, 0.05, 0.10].map(|m| prove(p.rounds_to_prove(m))).join(" ");
            assert_eq!(format!("{confirm} | {call} | {proven}"), row, "cv {cv}");
        }
    }

    #[test]
    fn table_of_detectable_changes() {
        let expected = [
            (0.005, [3.5, 2.5, 2.0, 1.6, 1.1], 0.05),
            (0.01, [7.1, 5.0, 4.0, 3.3, 2.3], 0.05),
            (0.02, [14.7, 10.2, 8.2, 6.6, 4.6], 0.05),
            (0.03, [23.0, 16.0, 13.0, 10.0, 7.0], 0.5),
            (0.05, [41.0, 27.0, 22.0, 17.0, 12.0], 0.5),
        ];
        for (cv, row, rounding) in expected {
            for (n, percent) in [1, 2, 3, 5, 10].into_iter().zip(row) {
                let mde = 100.0 * Power::new(cv, 20).detectable(n).mde90;
                assert!((mde - percent).abs() <= rounding + 1e-9, "cv {cv}, n {n}: {mde} against {percent}");
            }
        }
    }

    #[test]
    fn an_effect_inside_the_tolerance_is_never_called() {
        let p = Power::new(0.001, 20);
        assert_eq!(p.rounds_to_call(0.05), Needed::default());
        assert_eq!(p.rounds_to_call(0.03), Needed::default());
        assert!(p.rounds_to_call(0.06).rounds.is_some());
    }

    #[test]
    fn what_is_called_lies_beyond_tolerance_and_detection() {
        for n in [1, 2, 3, 5, 10, 100] {
            let d = Power::new(0.01, 20).detectable(n);
            assert!(d.regression90 > 0.05 && d.regression90 >= d.mde90 && d.band < d.mde90);
        }
    }
}
