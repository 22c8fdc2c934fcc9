//! One run: the deviation of every row's log time from the truth.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};

use super::settings::Noise;

/// Probability of a bad run, and how much slower it is at least and at most.
const BAD_RUN: (f64, f64, f64) = (0.03, 0.15, 0.40);
/// Probability of the slower kind of node, and how much slower it is.
const SLOW_NODE: (f64, f64) = (0.3, 0.06);
/// Standard deviation of a step of the random walk from one run to the next.
const DRIFT: f64 = 0.015;
/// Standard deviation of what all rows of a run share.
const COMMON: f64 = 0.02;
/// The smallest and the largest cv of mixed rows.
const MIXED: (f64, f64) = (0.005, 0.04);

/// The generator of trial `index`: streams of different trials and of different seeds have nothing in common.
pub(super) fn generator(seed: u64, index: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(split_mix(seed ^ split_mix(index.wrapping_add(1))))
}

/// A step of `SplitMix64` (Steele, Lea, Flood 2014).
pub(super) fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The cv of row `index` of `rows` where rows are mixed.
pub(super) fn mixed_cv(index: usize, rows: usize) -> f64 {
    let (least, most) = MIXED;
    if rows < 2 { least } else { least * (most / least).powf(index as f64 / (rows - 1) as f64) }
}

/// What the noise of one trial is drawn from, run after run.
pub(super) struct Source {
    rng: Xoshiro256PlusPlus,
    noise: Noise,
    t3: StudentT<f64>,
    walk: f64,
    shared: f64,
}

impl Source {
    pub(super) fn new(noise: Noise) -> Self {
        // Three is a valid number of degrees of freedom.
        #[allow(clippy::unwrap_used)]
        let t3 = StudentT::new(3.0).unwrap();
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(0), noise, t3, walk: 0.0, shared: 0.0 }
    }

    /// Starts trial `index`.
    pub(super) fn restart(&mut self, seed: u64, index: u64) {
        self.rng = generator(seed, index);
        (self.walk, self.shared) = (0.0, 0.0);
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    /// Starts the next run.
    pub(super) fn next_run(&mut self) {
        self.shared = match self.noise {
            Noise::Drift => {
                self.walk += DRIFT * self.normal();
                self.walk
            }
            Noise::Common => COMMON * self.normal(),
            _ => 0.0,
        };
    }

    /// The deviation of one row in this run.
    pub(super) fn row(&mut self, cv: f64) -> f64 {
        let own = match self.noise {
            Noise::Lognormal | Noise::Drift | Noise::Common | Noise::Mixed => cv * self.normal(),
            Noise::T3 => self.t3.sample(&mut self.rng) * cv / 3f64.sqrt(),
            Noise::Outliers => {
                let (chance, least, most) = BAD_RUN;
                let usual = cv * self.normal();
                let bad = self.rng.random::<f64>() < chance;
                usual + if bad { self.rng.random_range(least..most).ln_1p() } else { 0.0 }
            }
            Noise::Bimodal => {
                let (chance, slower) = SLOW_NODE;
                let usual = cv / 2.0 * self.normal();
                usual + if self.rng.random::<f64>() < chance { slower.ln_1p() } else { 0.0 }
            }
        };
        self.shared + own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(noise: Noise, cv: f64) -> f64 {
        let mut source = Source::new(noise);
        source.restart(5, 1);
        let x: Vec<f64> = (0..40_000)
            .map(|_| {
                source.next_run();
                source.row(cv)
            })
            .collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
    }

    #[test]
    fn every_kind_has_its_spread() {
        assert!((spread(Noise::Lognormal, 0.02) - 0.02).abs() < 5e-4);
        assert!((spread(Noise::Common, 0.01) - (0.0004f64 + 0.0001).sqrt()).abs() < 5e-4);
        let node = 1.06f64.ln() * (0.3f64 * 0.7).sqrt();
        assert!((spread(Noise::Bimodal, 0.02) - (node * node + 0.0001).sqrt()).abs() < 5e-4);
        // The fourth moment of t3 is infinite: its sample spread is near cv only roughly.
        assert!((0.6..1.6).contains(&(spread(Noise::T3, 0.02) / 0.02)));
        assert!(spread(Noise::Outliers, 0.01) > 0.03);
        assert!(spread(Noise::Drift, 0.01) > 0.2);
    }

    #[test]
    fn mixed_rows_go_from_half_a_percent_to_four() {
        assert!((mixed_cv(0, 20) - 0.005).abs() < 1e-15);
        assert!((mixed_cv(19, 20) - 0.04).abs() < 1e-15);
        assert!((mixed_cv(0, 1) - 0.005).abs() < 1e-15);
    }

    #[test]
    fn streams_differ_by_seed_and_index() {
        let first = |seed, index| generator(seed, index).random::<u64>();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(2, 1));
        assert_ne!(first(1, 2), first(1, 3));
    }
}
