//! Textbook two-sample tests, for comparison with the procedure: `simulate --method` shows what they do to the same
//! comparisons. None of them decides a verdict.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use statrs::function::erf::erfc;

use crate::special::{t_quantile, t_sf};

/// Welch's t test of treatment minus control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The statistic; positive where the treatment is larger.
    pub t: f64,
    /// Welch-Satterthwaite degrees of freedom.
    pub df: f64,
    /// Two-sided p.
    pub p_two_sided: f64,
    /// Lower limit of the difference of the means.
    pub diff_lo: f64,
    /// Upper limit of the difference of the means.
    pub diff_hi: f64,
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// The squared standard error of a mean.
fn error2(x: &[f64]) -> f64 {
    let (n, m) = (x.len() as f64, mean(x));
    x.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (n - 1.0) / n
}

/// Welch's t test (Welch 1947) with a two-sided interval of confidence `conf`, 0 < conf < 1. `None` where an arm has
/// fewer than two values or neither arm varies.
#[must_use]
pub fn welch_t(control: &[f64], treatment: &[f64], conf: f64) -> Option<Welch> {
    if control.len() < 2 || treatment.len() < 2 {
        return None;
    }
    let (vc, vt) = (error2(control), error2(treatment));
    let v = vc + vt;
    if v.is_nan() || v <= 0.0 {
        return None;
    }
    let df = v * v / (vc * vc / (control.len() as f64 - 1.0) + vt * vt / (treatment.len() as f64 - 1.0));
    let (diff, se) = (mean(treatment) - mean(control), v.sqrt());
    let half = t_quantile(f64::midpoint(1.0, conf), df) * se;
    let t = diff / se;
    Some(Welch { t, df, p_two_sided: 2.0 * t_sf(t.abs(), df), diff_lo: diff - half, diff_hi: diff + half })
}

/// The Mann-Whitney test of treatment against control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the treatment is larger; a tie counts half.
    pub u_treatment: f64,
    /// Two-sided p.
    pub p_two_sided: f64,
    /// One-sided p of a larger treatment.
    pub p_greater: f64,
    /// Whether the p values are exact.
    pub exact: bool,
}

/// Products of the sample sizes up to which p values are exact. Beyond, the normal approximation agrees to four digits.
const EXACT_UP_TO: usize = 2500;

/// The Mann-Whitney test: exact without ties (products of the sample sizes up to 2,500), else by the normal
/// approximation with tie and continuity correction (Hollander and Wolfe). `None` where an arm is empty.
#[must_use]
pub fn mann_whitney(control: &[f64], treatment: &[f64]) -> Option<MannWhitney> {
    let (m, n) = (control.len(), treatment.len());
    if m == 0 || n == 0 {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        control.iter().map(|v| (*v, false)).chain(treatment.iter().map(|v| (*v, true))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0);
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let size = group.len() as f64;
        let rank = before as f64 + f64::midpoint(size, 1.0);
        rank_sum += rank * group.iter().filter(|(_, treated)| *treated).count() as f64;
        ties += size.powi(3) - size;
        before += group.len();
    }
    let u = rank_sum - (n * (n + 1)) as f64 / 2.0;
    if ties == 0.0 && m * n <= EXACT_UP_TO {
        let (at_most, at_least) = exact_tails(m, n, u);
        return Some(MannWhitney {
            u_treatment: u,
            p_two_sided: (2.0 * at_most.min(at_least)).min(1.0),
            p_greater: at_least,
            exact: true,
        });
    }
    let (product, total) = ((m * n) as f64, (m + n) as f64);
    let variance = product / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    let above = u - product / 2.0;
    let tail = |distance: f64| if variance > 0.0 { normal_sf((distance - 0.5) / variance.sqrt()) } else { 1.0 };
    Some(MannWhitney {
        u_treatment: u,
        p_two_sided: (2.0 * tail(above.abs())).min(1.0),
        p_greater: tail(above),
        exact: false,
    })
}

/// P(Z > z) of the standard normal distribution.
fn normal_sf(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// P(U <= u) and P(U >= u) where every order of m + n distinct values is equally likely.
fn exact_tails(m: usize, n: usize, u: f64) -> (f64, f64) {
    let most = m * n;
    // ways[j][s]: choices of j treatment values that lie above s control values in all.
    let mut ways = vec![vec![0.0f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for below in 0..=m {
        // A treatment value with `below` control values under it may be chosen any number of times.
        for j in 1..=n {
            for s in below..=most {
                ways[j][s] += ways[j - 1][s - below];
            }
        }
    }
    let total: f64 = ways[n].iter().sum();
    let sum = |keep: &dyn Fn(f64) -> bool| {
        ways[n].iter().enumerate().filter(|(s, _)| keep(*s as f64)).map(|(_, w)| w).sum::<f64>() / total
    };
    (sum(&|s| s <= u), sum(&|s| s >= u))
}

/// The smallest two-sided p that an exact Mann-Whitney test of `n` against `n` values can reach: 2/C(2n, n).
#[must_use]
pub fn mwu_min_two_sided_p(n: u32) -> f64 {
    let orders: f64 = (1..=n).map(|i| f64::from(n + i) / f64::from(i)).product();
    (2.0 / orders).min(1.0)
}

/// The ratio of the means, treatment over control. `None` where an arm is empty or the control's mean is not above 0.
#[must_use]
pub fn ratio_of_means(control: &[f64], treatment: &[f64]) -> Option<f64> {
    (!control.is_empty() && !treatment.is_empty() && mean(control) > 0.0).then(|| mean(treatment) / mean(control))
}

/// The naive gate: the ratio of the means exceeds 1 + `threshold` (a share: 0.05 is 5 %).
#[must_use]
pub fn above_threshold(control: &[f64], treatment: &[f64], threshold: f64) -> bool {
    ratio_of_means(control, treatment).is_some_and(|ratio| ratio > 1.0 + threshold)
}

/// A percentile bootstrap interval of the ratio of the means (Efron 1979): `resamples` draws with replacement of each
/// arm, limits by the type-7 quantile. The same seed gives the same interval. `None` where an arm has fewer than two
/// values (an interval of width 0 is not information), a value is not above 0, or `resamples` is 0.
///
/// Never a basis for a claim below six values per arm: at three its coverage is about 0.75 to 0.8, not 0.95.
#[must_use]
pub fn bootstrap_ratio_ci(
    control: &[f64],
    treatment: &[f64],
    conf: f64,
    resamples: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    let usable = |x: &[f64]| x.len() >= 2 && x.iter().all(|v| *v > 0.0 && v.is_finite());
    if !usable(control) || !usable(treatment) || resamples == 0 {
        return None;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = |x: &[f64]| (0..x.len()).map(|_| x[rng.random_range(0..x.len())]).sum::<f64>() / x.len() as f64;
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            let below = draw(control);
            draw(treatment) / below
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let tail = f64::midpoint(1.0, -conf);
    Some((quantile(&ratios, tail), quantile(&ratios, 1.0 - tail)))
}

/// The type-7 quantile of sorted values.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p.clamp(0.0, 1.0) * (sorted.len() as f64 - 1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index into sorted
    let low = at.floor() as usize;
    let (a, b) = (sorted[low], sorted[(low + 1).min(sorted.len() - 1)]);
    a + (b - a) * (at - at.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} against {b}");
    }

    #[test]
    fn welch_of_four_and_six() {
        let control = [98.669, 100.4643, 100.2334, 100.4374];
        let treatment = [108.3571, 105.118, 107.3946, 104.3379, 105.4456, 107.1564];
        let w = welch_t(&control, &treatment, 0.95).unwrap();
        close(w.t, 8.268_091_523_434_67);
        close(w.df, 7.875_203_977_121_635);
        close(w.p_two_sided, 3.773_071_666_259_452e-5);
        close(w.diff_lo, 4.574_476_497_317_42);
        close(w.diff_hi, 8.126_673_502_682_593);
        let mirrored = welch_t(&treatment, &control, 0.95).unwrap();
        close(mirrored.t, -w.t);
        close(mirrored.diff_hi, -w.diff_lo);
    }

    #[test]
    fn welch_needs_two_values_and_some_spread() {
        assert_eq!(welch_t(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch_t(&[1.0, 1.0], &[2.0, 2.0], 0.95), None);
        assert!(welch_t(&[1.0, 1.0], &[2.0, 2.1], 0.95).is_some());
    }

    #[test]
    fn mann_whitney_exact() {
        for (control, treatment, u, two, greater) in [
            (vec![1.1, 2.3, 3.7], vec![2.9, 4.1, 5.3], 8.0, 0.2, 0.1),
            (
                vec![1.0, 2.0, 3.0, 4.0],
                vec![5.0, 6.0, 7.0, 8.0],
                16.0,
                0.028_571_428_571_428_57,
                0.014_285_714_285_714_285,
            ),
            (
                vec![10.8794, 10.7778, 10.066, 11.1272, 10.4675, 9.1407, 10.3688],
                vec![9.5411, 11.3785, 10.4501, 10.3151, 9.8191],
                14.0,
                0.638_888_888_888_889,
                0.734_848_484_848_484_9,
            ),
        ] {
            let r = mann_whitney(&control, &treatment).unwrap();
            assert!(r.exact);
            close(r.u_treatment, u);
            close(r.p_two_sided, two);
            close(r.p_greater, greater);
        }
    }

    #[test]
    fn mann_whitney_with_ties() {
        for (control, treatment, u, two, greater) in [
            (
                vec![1.0, 2.0, 2.0, 3.0, 4.0],
                vec![2.0, 3.0, 3.0, 4.0, 5.0],
                18.5,
                0.237_368_605_077_561_52,
                0.118_684_302_538_780_76,
            ),
            (vec![5.0; 4], vec![5.0, 5.0, 5.0, 6.0], 10.0, 0.453_254_704_753_736_4, 0.226_627_352_376_868_2),
        ] {
            let r = mann_whitney(&control, &treatment).unwrap();
            assert!(!r.exact);
            close(r.u_treatment, u);
            close(r.p_two_sided, two);
            close(r.p_greater, greater);
        }
        let same = mann_whitney(&[5.0; 3], &[5.0; 3]).unwrap();
        assert_eq!((same.p_two_sided, same.p_greater), (1.0, 1.0));
    }

    #[test]
    fn smallest_reachable_p() {
        for (n, p) in [(1, 1.0), (2, 1.0 / 3.0), (3, 0.1), (4, 2.0 / 70.0), (9, 4.113_533_525_298_231e-5)] {
            close(mwu_min_two_sided_p(n), p);
        }
        let apart = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        close(apart.p_two_sided, mwu_min_two_sided_p(3));
    }

    #[test]
    fn bootstrap_keeps_its_properties() {
        let (c, t) = ([10.0, 11.0, 12.0], [10.5, 11.5, 12.5]);
        let (lo, hi) = bootstrap_ratio_ci(&c, &t, 0.95, 2000, 7).unwrap();
        assert_eq!(bootstrap_ratio_ci(&c, &t, 0.95, 2000, 7), Some((lo, hi)));
        assert!(lo >= 10.5 / 12.0 && hi <= 12.5 / 10.0 && lo < hi);
        assert_eq!(bootstrap_ratio_ci(&[3.0; 4], &[3.0; 4], 0.95, 500, 1), Some((1.0, 1.0)));
        assert_eq!(bootstrap_ratio_ci(&[3.0], &[3.0, 4.0], 0.95, 500, 1), None);
        let scaled = bootstrap_ratio_ci(&c.map(|v| v * 7.0), &t.map(|v| v * 7.0), 0.95, 2000, 7).unwrap();
        close(scaled.0, lo);
        close(scaled.1, hi);
    }

    #[test]
    fn threshold_is_on_the_ratio_of_means() {
        assert!(above_threshold(&[1.0, 1.0], &[1.0, 1.2], 0.05));
        assert!(!above_threshold(&[1.0, 1.0], &[1.0, 1.08], 0.05));
        assert!(!above_threshold(&[], &[1.0], 0.05));
        assert!(!above_threshold(&[0.0], &[1.0], 0.05));
    }
}
