//! Seeded chance.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};

pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// 0 .. n; n is above 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(crate) fn word<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// An index with a probability in proportion to its weight.
    pub(crate) fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut at = self.unit() * weights.iter().sum::<f64>();
        for (i, weight) in weights.iter().enumerate() {
            at -= weight;
            if at < 0.0 {
                return i;
            }
        }
        weights.len() - 1
    }

    pub(crate) fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    /// Even on the log scale.
    pub(crate) fn magnitude(&mut self, lo: f64, hi: f64) -> f64 {
        self.between(lo.ln(), hi.ln()).exp()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Student's t with three degrees of freedom, scaled to variance 1.
    pub(crate) fn heavy(&mut self) -> f64 {
        StudentT::new(3.0).map_or(0.0, |t| t.sample(&mut self.0)) / 3f64.sqrt()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.random::<u8>()
    }
}
