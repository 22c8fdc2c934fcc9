//! The variance of a pair: pooled over calibration and residuals, moderated by a prior learnt across rows.

use crate::case::Residual;
use crate::sample::mean;
use crate::special::{digamma, trigamma, trigamma_inverse};

/// The 80 % quantile of the absolute value of a standard normal variable.
const NORMAL_Q80: f64 = 1.281_551_565_544_600_4;

/// Variances after moderation.
#[derive(Clone, Debug, PartialEq)]
pub struct Squeezed {
    /// Degrees of freedom of the prior; 0 where there is none.
    pub d0: f64,
    /// Variance of the prior; NaN where there is none.
    pub s02: f64,
    /// Moderated variance per row.
    pub post: Vec<f64>,
    /// Degrees of freedom per row.
    pub df: Vec<f64>,
}

/// Empirical-Bayes moderation of `s2` (limma's `fitFDist` and `squeezeVar`, Smyth 2004): the prior is learnt from the
/// rows in `fit` (stage rows, not TOTAL); fewer than three give none. `floor` is the smallest standard deviation that
/// is believed, `cap` the largest degrees of freedom of the prior.
#[must_use]
pub fn squeeze(s2: &[f64], df: &[f64], floor: f64, cap: f64, fit: &[bool]) -> Squeezed {
    let floor2 = floor * floor;
    let lowest = floor2.max(1e-30);
    let s2: Vec<f64> = s2.iter().map(|v| v.max(lowest)).collect();
    let fitted = || s2.iter().zip(df).zip(fit).filter(|(_, fit)| **fit).map(|((s2, df), _)| (*s2, *df));
    let rows = fitted().count();
    if rows < 3 {
        return Squeezed { d0: 0.0, s02: f64::NAN, post: s2.iter().map(|v| v.max(floor2)).collect(), df: df.to_vec() };
    }
    let mut of_df = OfDf::default();
    let (mut e, mut expected) = (Vec::with_capacity(rows), 0.0);
    for (s2, df) in fitted() {
        let (bias, variance) = of_df.get(df);
        e.push(s2.ln() - bias);
        expected += variance;
    }
    let ebar = mean(&e);
    let spread = e.iter().map(|v| (v - ebar) * (v - ebar)).sum::<f64>() / (rows as f64 - 1.0);
    let excess = spread - expected / rows as f64;
    let (d0, s02) = if excess > 0.0 {
        let d0 = (2.0 * trigamma_inverse(excess)).min(cap);
        (d0, (ebar + digamma(d0 / 2.0) - (d0 / 2.0).ln()).exp())
    } else {
        (cap, ebar.exp())
    };
    let most: f64 = fitted().map(|(_, df)| df).sum();
    Squeezed {
        d0,
        s02,
        post: s2.iter().zip(df).map(|(s2, df)| ((d0 * s02 + df * s2) / (d0 + df)).max(floor2)).collect(),
        df: df.iter().map(|df| (d0 + df).min(most)).collect(),
    }
}

/// Mean (about ln sigma^2) and variance of the logarithm of a chi-squared variance with `df` degrees of freedom,
/// remembered for the next row, which mostly has the same.
#[derive(Default)]
struct OfDf {
    df: f64,
    value: (f64, f64),
}

impl OfDf {
    fn get(&mut self, df: f64) -> (f64, f64) {
        if self.df != df {
            *self = Self { df, value: (digamma(df / 2.0) - (df / 2.0).ln(), trigamma(df / 2.0)) };
        }
        self.value
    }
}

/// Sum of squares and degrees of freedom of what is known before the comparison: the mean of same-code ratios is 0.
#[must_use]
pub fn pooled(ratios: &[f64], residual: Residual) -> Residual {
    Residual { ss: ratios.iter().map(|v| v * v).sum::<f64>() + residual.ss, df: ratios.len() as f64 + residual.df }
}

/// A robust standard deviation: the type-7 80 % quantile of the absolute values over that of a normal variable.
/// Reorders `x`, which must not be empty.
#[must_use]
pub fn q80_scale(x: &mut [f64]) -> f64 {
    let at = 0.8 * (x.len() as f64 - 1.0);
    let (low, part) = (at.floor(), at - at.floor());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index into x
    let low = low as usize;
    for v in x.iter_mut() {
        *v = v.abs();
    }
    let (_, a, above) = x.select_nth_unstable_by(low, f64::total_cmp);
    let a = *a;
    let b = above.iter().copied().reduce(f64::min).unwrap_or(a);
    (if part < 0.5 { a + (b - a) * part } else { b - (b - a) * (1.0 - part) }) / NORMAL_Q80
}
