//! One metric of one or several treatments: moderated paired t on log ratios, Holm over rows and treatments,
//! equivalence, persistence, the robust arm, and each confirmed increase against the tolerance of its row.

use serde::Serialize;

use crate::case::Residual;
use crate::config::{Config, Metric};
use crate::digits;
use crate::sample::{Moments, Sample, deviations, moments};
use crate::special::{Quantiles, t_tails};
use crate::variance::{pooled, q80_scale, squeeze};

/// Which way a claim goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// More time.
    Higher,
    /// Less time.
    Lower,
}

impl Side {
    const BOTH: [Self; 2] = [Self::Higher, Self::Lower];

    fn sign(self) -> f64 {
        match self {
            Self::Higher => 1.0,
            Self::Lower => -1.0,
        }
    }
}

/// What is proven of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The interval lies within the margin.
    Flat,
    /// A confirmed increase.
    Higher,
    /// A confirmed decrease.
    Lower,
    /// Nothing.
    Unknown,
}

/// A confirmed increase against the tolerance of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increase {
    /// The interval lies wholly below the tolerance.
    Within,
    /// It lies across.
    Open,
    /// It lies wholly beyond.
    Beyond,
}

/// What the procedure says of one row and metric. Estimates, limits, bands and margins are natural logarithms of
/// ratios treatment/control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowStats {
    /// What is proven.
    pub direction: Direction,
    /// `higher`: a confirmed increase that is proven tolerated; `lower`: a confirmed decrease inside the margin.
    pub small: Option<Side>,
    /// A confirmed increase that lies wholly beyond the tolerance.
    pub beyond: bool,
    /// The upper limit lies below the tolerance: the row may pass.
    pub ni: bool,
    /// Nominal evidence where nothing is proven.
    pub suspect: Option<Side>,
    /// Mean log ratio.
    #[serde(with = "digits")]
    pub est: f64,
    /// Standard error of the estimate.
    #[serde(with = "digits")]
    pub se: f64,
    /// Degrees of freedom.
    #[serde(with = "digits")]
    pub df: f64,
    /// Lower limit.
    #[serde(with = "digits")]
    pub lo: f64,
    /// Upper limit.
    #[serde(with = "digits")]
    pub hi: f64,
    /// Confidence of the interval.
    #[serde(with = "digits")]
    pub conf: f64,
    /// One-sided p of an increase.
    #[serde(with = "digits")]
    pub p_higher: f64,
    /// ... adjusted by Holm.
    #[serde(with = "digits")]
    pub holm_higher: f64,
    /// One-sided p of a decrease.
    #[serde(with = "digits")]
    pub p_lower: f64,
    /// ... adjusted by Holm.
    #[serde(with = "digits")]
    pub holm_lower: f64,
    /// Half-width of the interval.
    #[serde(with = "digits")]
    pub band: f64,
    /// Margin of the row.
    #[serde(with = "digits")]
    pub margin: f64,
    /// Tolerance of the row: its margin, stretched where its share of the total is small.
    #[serde(with = "digits")]
    pub margin_pass: f64,
    /// The band is as wide as the tolerance.
    pub margin_in_noise: bool,
    /// The increase that this comparison confirms with probability 0.9.
    #[serde(with = "digits")]
    pub mde90: f64,
    /// Degrees of freedom of the prior over rows.
    #[serde(with = "digits")]
    pub d0: f64,
    /// Variance of the prior over rows.
    #[serde(with = "digits")]
    pub s02: f64,
    /// Rounds.
    pub n: usize,
}

impl RowStats {
    /// The confirmed increase of this row, if there is one.
    #[must_use]
    pub fn increase(&self) -> Option<Increase> {
        if self.beyond {
            Some(Increase::Beyond)
        } else if self.small == Some(Side::Higher) {
            Some(Increase::Within)
        } else if self.direction == Direction::Higher {
            Some(Increase::Open)
        } else {
            None
        }
    }

    /// Nothing here keeps the row from passing: flat, lower, or below its tolerance.
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self.direction, Direction::Flat | Direction::Lower) || self.ni
    }

    /// Takes back every claim of this row.
    pub fn retract(&mut self) {
        self.direction = Direction::Unknown;
        self.suspect = None;
        self.small = None;
        self.beyond = false;
        self.ni = false;
    }
}

/// One row as it enters the statistics.
#[derive(Clone, Debug)]
pub struct RowInput<'a> {
    /// Log ratios of this comparison.
    pub sample: Sample,
    /// Same-code log ratios.
    pub ratios: &'a [f64],
    /// Free growth.
    pub residual: Residual,
    /// Share of TOTAL in the control.
    pub share: f64,
    /// Share of fixed cost.
    pub overhead: f64,
    /// This is TOTAL: the sum of all rows.
    pub total: bool,
}

/// Everything per row that does not depend on other treatments.
#[derive(Clone, Debug)]
pub struct Prepared {
    rows: Vec<PreparedRow>,
    paired: bool,
    d0: f64,
    s02: f64,
    /// The largest same-code wobble in robust standard deviations; infinite without calibration.
    zmax: f64,
}

#[derive(Clone, Debug)]
struct PreparedRow {
    moments: Moments,
    df: f64,
    se: f64,
    robust_df: f64,
    robust_se: f64,
    robust_sd: f64,
    ratios: usize,
    margin: f64,
    tolerance: f64,
}

impl Prepared {
    /// Number of rows, TOTAL among them.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// The efficiency of a median against a mean of normal values: sqrt(pi/2).
const MEDIAN_SE: f64 = 1.2533;

/// Pools and moderates the variances of `rows`. `None` when a row has no variance at all.
#[must_use]
pub fn prepare(rows: &[RowInput<'_>], config: &Config, metric: Metric) -> Option<Prepared> {
    let floor = config.sd_floor[metric];
    let all: Vec<Moments> = rows.iter().map(|row| moments(&row.sample)).collect();
    let (mut s2, mut df) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for (row, m) in rows.iter().zip(&all) {
        let known = pooled(row.ratios, row.residual);
        let freedom = known.df + m.nu as f64;
        s2.push((known.ss + m.ss) / freedom);
        df.push(freedom);
    }
    if df.iter().any(|df| *df < 1.0) {
        return None;
    }
    let fit: Vec<bool> = rows.iter().map(|row| !row.total).collect();
    let squeezed = squeeze(&s2, &df, floor, config.d0_cap, &fit);
    // The robust scale leaves the free growth out: only single ratios and deviations have quantiles.
    let (mut robust2, mut robust_df) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let mut values = Vec::new();
    for (row, s2) in rows.iter().zip(&s2) {
        values.clear();
        values.extend_from_slice(row.ratios);
        deviations(&row.sample, &mut values);
        robust2.push(if values.is_empty() { *s2 } else { q80_scale(&mut values).powi(2) });
        robust_df.push((0.5 * values.len() as f64).max(1.0));
    }
    let robust = squeeze(&robust2, &robust_df, floor, config.d0_cap, &fit);
    let zmax = rows
        .iter()
        .zip(&robust.post)
        .flat_map(|(row, post)| row.ratios.iter().map(move |c| c.abs() / post.sqrt()))
        .fold(None, |most: Option<f64>, z| Some(most.map_or(z, |m| m.max(z))))
        .unwrap_or(f64::INFINITY);
    let paired = all.first().is_none_or(|m| m.low.is_some());
    let prepared = all
        .into_iter()
        .enumerate()
        .map(|(i, m)| {
            let row = &rows[i];
            let margin = config.margin_log(metric, row.total, row.overhead);
            PreparedRow {
                df: squeezed.df[i].min(config.max_df),
                se: (squeezed.post[i] * m.inv).sqrt(),
                robust_df: robust.df[i],
                robust_se: MEDIAN_SE * (robust.post[i] * m.inv).sqrt(),
                robust_sd: robust.post[i].sqrt(),
                ratios: row.ratios.len(),
                margin,
                tolerance: tolerance(margin, row.share, row.total, config),
                moments: m,
            }
        })
        .collect();
    Some(Prepared { rows: prepared, paired, d0: squeezed.d0, s02: squeezed.s02, zmax })
}

/// The tolerance of a row: its margin, stretched by `impact_ref`/share up to `impact_cap`, never below itself. TOTAL
/// keeps its own margin.
fn tolerance(margin: f64, share: f64, total: bool, config: &Config) -> f64 {
    if total || share <= 0.0 {
        return margin;
    }
    margin.max(config.impact_cap.ln_1p().min(margin * config.impact_ref / share))
}

/// Holm's step-down adjustment. `family` is the number of hypotheses declared; those that are not in `p` count as the
/// largest p values. A p that is NaN is not in it either, and stays NaN.
#[must_use]
pub fn holm(p: &[f64], family: usize) -> Vec<f64> {
    let count = p.len().max(family);
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.retain(|i| !p[*i].is_nan());
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![f64::NAN; p.len()];
    let mut running = 0f64;
    for (i, j) in order.into_iter().enumerate() {
        running = running.max((count - i) as f64 * p[j]);
        adjusted[j] = running.min(1.0);
    }
    adjusted
}

/// The tests of every row of every treatment in one direction.
struct Tests {
    p: Vec<f64>,
    adjusted: Vec<f64>,
    adjusted_median: Vec<f64>,
}

/// Decides the rows of `treatments`, which are judged now; `extra` are the rows of declared treatments that are not,
/// so that the family never shrinks. One list per treatment, rows in the order of their preparation.
#[must_use]
pub fn decide(treatments: &[&Prepared], config: &Config, metric: Metric, extra: usize) -> Vec<Vec<RowStats>> {
    let (alpha, alpha_eq) = config.alphas(metric);
    let family = treatments.iter().map(|t| t.rows.len()).sum::<usize>() + extra;
    // The robust arm is only asked from five paired rounds on.
    let robust = treatments.iter().any(|t| asks_median(t));
    let tests = test_both_ways(treatments, family, robust);
    let mut quantiles = Quantiles::default();
    let mut at = 0;
    treatments
        .iter()
        .map(|treatment| {
            let alpha = if asks_median(treatment) { alpha / 2.0 } else { alpha };
            let rows = treatment
                .rows
                .iter()
                .enumerate()
                .map(|(i, row)| {
                    let j = at + i;
                    let confirmed = Side::BOTH.map(|side| {
                        let t = &tests[side as usize];
                        let median = if robust { t.adjusted_median[j] } else { 1.0 };
                        confirmed(treatment, row, side, t.adjusted[j], median, alpha, config, metric)
                    });
                    let band = quantiles.t(1.0 - alpha_eq, row.df) * row.se;
                    let mde90 = (quantiles.t(1.0 - alpha / family as f64, row.df) + quantiles.t(0.9, row.df)) * row.se;
                    let mut stats = against_margins(row, confirmed, band, config);
                    stats.suspect =
                        suspicion(&stats, row, [&tests[0], &tests[1]].map(|t| t.adjusted[j]), config, metric);
                    stats.conf = 1.0 - 2.0 * alpha_eq;
                    (stats.p_higher, stats.holm_higher) = (tests[0].p[j], tests[0].adjusted[j]);
                    (stats.p_lower, stats.holm_lower) = (tests[1].p[j], tests[1].adjusted[j]);
                    (stats.mde90, stats.d0, stats.s02) = (mde90, treatment.d0, treatment.s02);
                    stats
                })
                .collect::<Vec<_>>();
            at += rows.len();
            rows
        })
        .collect()
}

fn asks_median(treatment: &Prepared) -> bool {
    treatment.paired && treatment.rows.first().is_some_and(|r| r.moments.n >= 5)
}

fn test_both_ways(treatments: &[&Prepared], family: usize, robust: bool) -> [Tests; 2] {
    let rows = || treatments.iter().flat_map(|t| &t.rows);
    let (higher, lower): (Vec<f64>, Vec<f64>) = rows().map(|r| t_tails(r.moments.est / r.se, r.df)).unzip();
    let (median_higher, median_lower): (Vec<f64>, Vec<f64>) = if robust {
        rows().map(|r| t_tails(r.moments.med / r.robust_se, r.robust_df)).unzip()
    } else {
        Default::default()
    };
    [(higher, median_higher), (lower, median_lower)].map(|(p, median)| Tests {
        adjusted: holm(&p, family),
        adjusted_median: holm(&median, family),
        p,
    })
}

#[allow(clippy::too_many_arguments)] // one place that needs all of a row's tests
fn confirmed(
    treatment: &Prepared,
    row: &PreparedRow,
    side: Side,
    adjusted: f64,
    adjusted_median: f64,
    alpha: f64,
    config: &Config,
    metric: Metric,
) -> bool {
    let m = &row.moments;
    let (est, rest) = (side.sign() * m.est, m.rest[side as usize]);
    let wobble = treatment.zmax * row.robust_sd;
    if m.n == 1 {
        let gross = config.gross1[metric];
        return adjusted <= alpha
            && row.ratios as f64 >= config.n1_min_calib
            && gross.is_finite()
            && est >= gross.ln_1p().max(config.gross_mult * wobble);
    }
    let eps = config.eps[metric].ln_1p();
    let persistent =
        rest >= config.loo * est && !(m.n <= 4 && treatment.zmax.is_finite() && rest < config.persist_mult * wobble);
    if adjusted <= alpha && est >= eps && persistent {
        return true;
    }
    match m.low {
        Some(low) if m.n >= 5 => adjusted_median <= alpha && side.sign() * m.med >= eps && low[side as usize] > 0.0,
        _ => false,
    }
}

/// Holds the interval against margin and tolerance. `conf`, p values, suspicion, `mde90` and the prior are filled in
/// by the caller.
fn against_margins(row: &PreparedRow, confirmed: [bool; 2], band: f64, config: &Config) -> RowStats {
    let (lo, hi) = (row.moments.est - band, row.moments.est + band);
    let enough = row.df >= config.min_df;
    let ni = enough && hi < row.tolerance;
    let flat = enough && hi < row.margin && lo > -row.margin;
    let (higher, lower) = (enough && confirmed[0], enough && confirmed[1]);
    RowStats {
        direction: if flat {
            Direction::Flat
        } else if higher {
            Direction::Higher
        } else if lower {
            Direction::Lower
        } else {
            Direction::Unknown
        },
        small: if higher && ni {
            Some(Side::Higher)
        } else if flat && lower {
            Some(Side::Lower)
        } else {
            None
        },
        beyond: higher && lo >= row.tolerance,
        ni,
        suspect: None,
        est: row.moments.est,
        se: row.se,
        df: row.df,
        lo,
        hi,
        conf: f64::NAN,
        p_higher: f64::NAN,
        holm_higher: f64::NAN,
        p_lower: f64::NAN,
        holm_lower: f64::NAN,
        band,
        margin: row.margin,
        margin_pass: row.tolerance,
        margin_in_noise: band >= row.tolerance,
        mde90: f64::NAN,
        d0: f64::NAN,
        s02: f64::NAN,
        n: row.moments.n,
    }
}

/// Holm-adjusted too: at an unadjusted 5 % every other comparison of 20 rows would be suspect.
fn suspicion(stats: &RowStats, row: &PreparedRow, adjusted: [f64; 2], config: &Config, metric: Metric) -> Option<Side> {
    if stats.direction != Direction::Unknown {
        return None;
    }
    let eps = config.eps[metric].ln_1p();
    Side::BOTH
        .into_iter()
        .find(|side| adjusted[*side as usize] <= config.alpha_suspect && side.sign() * row.moments.est >= eps)
}
