//! How the error budgets are divided over looks and over extensions of a ledger.

use crate::case::Grade;
use crate::config::{Config, Metric};

/// What each look spends of `alpha`: `alpha·(t_j^rho - t_(j-1)^rho)` with `t_j = n_j/n_last`. The union bound makes it
/// valid for any dependence between the looks.
#[must_use]
pub fn alpha_spend(looks: &[u64], alpha: f64, rho: i32) -> Vec<f64> {
    let last = looks.last().copied().unwrap_or(1) as f64;
    let mut before = 0.0;
    looks
        .iter()
        .map(|n| {
            let now = (*n as f64 / last).powi(rho);
            let spent = alpha * (now - before);
            before = now;
            spent
        })
        .collect()
}

/// What an episode spends: the first all of `alpha`, episode j >= 2 `share`·alpha/(j(j-1)); the sum over all episodes
/// is (1+share)·alpha.
#[must_use]
pub fn episode_alpha(alpha: f64, episode: u64, share: f64) -> f64 {
    if episode <= 1 {
        return alpha;
    }
    let j = episode as f64;
    share * alpha / (j * (j - 1.0))
}

/// The alphas of the look that a configuration names: (for confirming a change of `metric`, per side for equivalence).
#[must_use]
pub fn alphas(config: &Config, metric: Metric) -> (f64, f64) {
    let [regression, equivalence] =
        [config.alpha_reg[metric], config.alpha_eq].map(|a| episode_alpha(a, config.episode, config.episode_share));
    let (Some(looks), Some(index)) = (&config.looks, config.look_index) else { return (regression, equivalence) };
    let at = |spent: Vec<f64>| usize::try_from(index).ok().and_then(|i| spent.get(i).copied()).unwrap_or(0.0);
    (at(alpha_spend(looks, regression, 3)), at(alpha_spend(looks, equivalence, 1)))
}

/// The looks of a comparison that declares none; `rows` are the stage rows that will be judged, TOTAL not counted.
#[must_use]
pub fn default_looks(grade: Grade, rows: usize) -> &'static [u64] {
    match grade {
        Grade::A | Grade::A5 => &[1, 2, 3, 5],
        Grade::B => &[3, 5],
        Grade::C if rows < 3 => &[5, 8],
        Grade::C => &[4, 6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_and_episodes_spend_what_they_may() {
        let spent: f64 = alpha_spend(&[2, 4, 6, 8], 0.01, 3).iter().sum();
        assert!((spent - 0.01).abs() < 1e-15);
        let ever: f64 = (1..100_000).map(|j| episode_alpha(0.01, j, 0.2)).sum();
        assert!(ever < 0.012 && ever > 0.01199);
    }
}
