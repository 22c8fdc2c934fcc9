//! The configuration of the procedure, with the defaults of abv1. Margins and effects are shares (0.05 is 5 %),
//! alphas are probabilities, times are seconds, memory is bytes.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is measured of a row and decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// `cpu_time_total`: user and system CPU seconds, summed over shards and executions.
    Cpu,
    /// `elapsed`: seconds between the stage's barriers, summed over executions.
    Elapsed,
}

impl Metric {
    /// Both metrics, CPU first.
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Elapsed];

    /// The key of the metric in configuration, calibration and output.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Elapsed => "elapsed",
        }
    }
}

/// One value for CPU time and one for elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerMetric<T> {
    /// For CPU time.
    pub cpu: T,
    /// For elapsed time.
    pub elapsed: T,
}

impl<T> PerMetric<T> {
    /// One value per metric, made by `f`.
    pub fn from_fn(mut f: impl FnMut(Metric) -> T) -> Self {
        Self { cpu: f(Metric::Cpu), elapsed: f(Metric::Elapsed) }
    }
}

impl<T> std::ops::Index<Metric> for PerMetric<T> {
    type Output = T;
    fn index(&self, metric: Metric) -> &T {
        match metric {
            Metric::Cpu => &self.cpu,
            Metric::Elapsed => &self.elapsed,
        }
    }
}

impl<T> std::ops::IndexMut<Metric> for PerMetric<T> {
    fn index_mut(&mut self, metric: Metric) -> &mut T {
        match metric {
            Metric::Cpu => &mut self.cpu,
            Metric::Elapsed => &mut self.elapsed,
        }
    }
}

/// How rows that do not count their work are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// More than `work_uncounted_max` of the CPU time uncounted is inconclusive.
    Strict,
    /// It is a note only.
    UncountedOk,
}

/// What a treatment's time is divided by before it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalize {
    /// By items, or bytes where items are not counted, within `work_tol`.
    Auto,
    /// By nothing.
    None,
    /// By items up to `work_max`; a claim then needs the raw and the normalised ratio.
    Item,
    /// By bytes, likewise.
    Byte,
}

/// Every setting of the procedure. `Config::default()` is abv1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Family-wise budget for wrongly confirming a change, per metric.
    pub alpha_reg: PerMetric<f64>,
    /// Budget per side for wrongly proving equivalence.
    pub alpha_eq: f64,
    /// Holm-adjusted level below which a change is suspected.
    pub alpha_suspect: f64,
    /// Which extension of the ledger this is; 1 is the declared looks.
    pub episode: u64,
    /// What all later episodes spend together, as a share of the first.
    pub episode_share: f64,
    /// The declared looks, in rounds.
    pub looks: Option<Vec<u64>>,
    /// Which of the looks this is, from 0.
    pub look_index: Option<u64>,
    /// Tolerance of a row.
    pub margin: PerMetric<f64>,
    /// Tolerance of TOTAL.
    pub margin_total: PerMetric<f64>,
    /// Share of TOTAL from which a row has no more than its margin.
    pub impact_ref: f64,
    /// Largest tolerance of a small row.
    pub impact_cap: f64,
    /// Smallest change that is ever called.
    pub eps: PerMetric<f64>,
    /// Smallest change that one round may call; infinite where one round never may.
    pub gross1: PerMetric<f64>,
    /// ... and how many times the largest same-code wobble it must be.
    pub gross_mult: f64,
    /// Share of the estimate that must be left without its most extreme round.
    pub loo: f64,
    /// ... and, up to four rounds, how many times the largest same-code wobble.
    pub persist_mult: f64,
    /// Smallest standard deviation of a pair that is believed.
    pub sd_floor: PerMetric<f64>,
    /// Largest degrees of freedom of the prior over rows.
    pub d0_cap: f64,
    /// Degrees of freedom below which nothing is decided.
    pub min_df: f64,
    /// Largest degrees of freedom that are used.
    pub max_df: f64,
    /// Calibration ratios that a one-round claim needs.
    pub n1_min_calib: f64,
    /// Rounds that an elapsed claim needs.
    pub wall_min_rounds: f64,
    /// Rounds that calibration grade B needs.
    pub min_rounds_b: f64,
    /// Rounds that calibration grade C needs.
    pub min_rounds_c: f64,
    /// Whether control and treatment trials come in rounds.
    pub paired: bool,
    /// How uncounted work is treated.
    pub work: Work,
    /// Largest absolute log ratio of work that counts as equal.
    pub work_tol: f64,
    /// Largest difference of work that `normalize = item | byte` accepts.
    pub work_max: f64,
    /// Largest share of CPU time in uncounted rows.
    pub work_uncounted_max: f64,
    /// What a treatment's time is divided by.
    pub normalize: Normalize,
    /// Rows whose items and bytes count output paths.
    pub paths_only: Vec<String>,
    /// Cores of the pool, for the plausibility check.
    pub pool_cores: Option<f64>,
    /// Slack of the plausibility check.
    pub plausible_tol: f64,
    /// Share of TOTAL below which a row is immaterial.
    pub min_share: f64,
    /// Seconds below which a row is too short to measure.
    pub min_value: PerMetric<f64>,
    /// Share of fixed cost from which a row carries no ratio.
    pub overhead_max: f64,
    /// Share of fixed cost per row.
    pub overhead_frac: PerMetric<BTreeMap<String, f64>>,
    /// What a worker may use, in bytes.
    pub mem_limit: Option<f64>,
    /// Share of the limit from which a peak is a risk.
    pub mem_atrisk: f64,
    /// Occurrences that make a failure a regression.
    pub confirm_count: f64,
    /// Clean trials that acquit a failure.
    pub confirm_clean: f64,
    /// Assumed standard deviation of a pair where nothing is known; for display only.
    pub display_sd: PerMetric<f64>,
    /// Degrees of freedom of that display.
    pub display_df: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            alpha_reg: PerMetric { cpu: 0.0075, elapsed: 0.0025 },
            alpha_eq: 0.05,
            alpha_suspect: 0.05,
            episode: 1,
            episode_share: 0.2,
            looks: None,
            look_index: None,
            margin: PerMetric { cpu: 0.05, elapsed: 0.10 },
            margin_total: PerMetric { cpu: 0.03, elapsed: 0.07 },
            impact_ref: 0.10,
            impact_cap: 0.20,
            eps: PerMetric { cpu: 0.01, elapsed: 0.02 },
            gross1: PerMetric { cpu: 0.10, elapsed: f64::INFINITY },
            gross_mult: 2.0,
            loo: 0.5,
            persist_mult: 0.5,
            sd_floor: PerMetric { cpu: 0.002, elapsed: 0.005 },
            d0_cap: 50.0,
            min_df: 4.0,
            max_df: 1000.0,
            n1_min_calib: 10.0,
            wall_min_rounds: 2.0,
            min_rounds_b: 3.0,
            min_rounds_c: 4.0,
            paired: true,
            work: Work::Strict,
            work_tol: 0.005,
            work_max: 0.25,
            work_uncounted_max: 0.1,
            normalize: Normalize::Auto,
            paths_only: Vec::new(),
            pool_cores: None,
            plausible_tol: 0.01,
            min_share: 0.005,
            min_value: PerMetric { cpu: 10.0, elapsed: 5.0 },
            overhead_max: 0.5,
            overhead_frac: PerMetric { cpu: BTreeMap::new(), elapsed: BTreeMap::new() },
            mem_limit: None,
            mem_atrisk: 0.95,
            confirm_count: 2.0,
            confirm_clean: 2.0,
            display_sd: PerMetric { cpu: 0.05, elapsed: 0.15 },
            display_df: 4.0,
        }
    }
}

impl Config {
    /// The alphas of this look in this episode: (for confirming, per side for equivalence).
    #[must_use]
    pub fn alphas(&self, metric: Metric) -> (f64, f64) {
        crate::spending::alphas(self, metric)
    }

    /// Margin of a row on the log scale before it is stretched by its share: ln(1+m)·(1-f), with f the share of
    /// fixed cost, so that the claim holds for the payload.
    #[must_use]
    pub fn margin_log(&self, metric: Metric, total: bool, overhead: f64) -> f64 {
        let margin = if total { self.margin_total[metric] } else { self.margin[metric] };
        margin.ln_1p() * (1.0 - overhead)
    }
}
