//! Has the noise grown since calibration?

use crate::config::{Config, Metric};
use crate::family::RowInput;
use crate::sample::residual;
use crate::special::{chi2_median, f_sf};
use crate::variance::{pooled, squeeze};

/// Whether the rounds of a comparison differ far more than calibration says: the pooled ratio of residual to
/// calibration variance (an F test whose degrees of freedom are halved for the correlation between stages) and the
/// median of that ratio must both be too large.
#[must_use]
pub fn noise_changed(rows: &[RowInput<'_>], config: &Config, metric: Metric) -> bool {
    let known: Vec<_> = rows
        .iter()
        .filter(|row| !row.total)
        .map(|row| (row, pooled(row.ratios, row.residual)))
        .filter(|(_, p)| p.df >= 2.0)
        .collect();
    let observed: Vec<(f64, usize)> = known.iter().map(|(row, _)| residual(&row.sample)).collect();
    let Some(nu) = observed.first().map(|(_, nu)| *nu).filter(|nu| *nu >= 1) else { return false };
    let nu = nu as f64;
    let s2: Vec<f64> = known.iter().map(|(_, p)| p.ss / p.df).collect();
    let df: Vec<f64> = known.iter().map(|(_, p)| p.df).collect();
    let post = squeeze(&s2, &df, config.sd_floor[metric], config.d0_cap, &vec![true; s2.len()]).post;
    let mut q: Vec<f64> = observed.iter().zip(&post).map(|((ss, _), post)| ss / post).collect();
    let count = q.len() as f64;
    let ratio = q.iter().sum::<f64>() / (count * nu);
    q.sort_by(f64::total_cmp);
    let mid = q.len() / 2;
    let median = if q.len() % 2 == 1 { q[mid] } else { f64::midpoint(q[mid - 1], q[mid]) };
    f_sf(ratio, (count * nu / 2.0).max(1.0), (df.iter().sum::<f64>() / 2.0).max(1.0)) < 0.01
        && median / chi2_median(nu) > 1.5
}
