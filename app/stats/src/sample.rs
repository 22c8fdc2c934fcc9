//! Log ratios of one row, and what is needed of them: estimate, spread, and what is left without the extreme.

use std::f64::consts::SQRT_2;

/// The measurements of one row and metric on the log scale.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// ln(treatment/control) per round. Never empty.
    Paired(Vec<f64>),
    /// ln of each control trial and of each treatment trial, from other minutes. Neither is empty.
    Unpaired {
        /// ln of the control trials.
        control: Vec<f64>,
        /// ln of the treatment trials.
        treatment: Vec<f64>,
    },
}

/// A value for "higher" and its mirror for "lower".
pub type BySign = [f64; 2];

/// Moments of a [`Sample`], all on the scale of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Rounds, or the smaller number of trials.
    pub n: usize,
    /// The estimate: mean of the log ratios.
    pub est: f64,
    /// The median; the estimate where unpaired.
    pub med: f64,
    /// Sum of squares about the mean, pair scale.
    pub ss: f64,
    /// Degrees of freedom of `ss`.
    pub nu: usize,
    /// The variance of the estimate is the variance of a pair times this.
    pub inv: f64,
    /// The estimate without the round (or the one trial) that favours the claim most; -inf where nothing is left.
    pub rest: BySign,
    /// The (n/5+1)-th smallest signed log ratio; `None` where unpaired.
    pub low: Option<BySign>,
}

pub(crate) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn median_of_sorted(x: &[f64]) -> f64 {
    let mid = x.len() / 2;
    if x.len() % 2 == 1 { x[mid] } else { f64::midpoint(x[mid - 1], x[mid]) }
}

/// What `use_it` makes of `x` in ascending order. A comparison has few rounds and many rows: no allocation for those.
fn with_sorted<T>(x: &[f64], use_it: impl FnOnce(&[f64]) -> T) -> T {
    const FEW: usize = 16;
    let (mut few, mut many) = ([0.0; FEW], Vec::new());
    let order = if let Some(few) = few.get_mut(..x.len()) {
        few
    } else {
        many.resize(x.len(), 0.0);
        many.as_mut_slice()
    };
    order.copy_from_slice(x);
    order.sort_unstable_by(f64::total_cmp);
    use_it(order)
}

fn sum_of_squares(x: &[f64], about: f64) -> f64 {
    x.iter().map(|v| (v - about) * (v - about)).sum()
}

/// The moments of a sample.
#[must_use]
pub fn moments(sample: &Sample) -> Moments {
    match sample {
        Sample::Paired(d) => paired(d),
        Sample::Unpaired { control, treatment } => unpaired(control, treatment),
    }
}

/// (Sum of squares about the mean, its degrees of freedom), pair scale: [`Moments::ss`] and [`Moments::nu`] alone.
#[must_use]
pub fn residual(sample: &Sample) -> (f64, usize) {
    match sample {
        Sample::Paired(d) => (sum_of_squares(d, mean(d)), d.len() - 1),
        Sample::Unpaired { control, treatment } => (
            2.0 * (sum_of_squares(control, mean(control)) + sum_of_squares(treatment, mean(treatment))),
            control.len() + treatment.len() - 2,
        ),
    }
}

/// Adds the absolute deviations from the median, pair scale, of each arm that has three values or more: what the
/// robust scale is learnt from.
pub fn deviations(sample: &Sample, into: &mut Vec<f64>) {
    let mut of = |x: &[f64], scale: f64| {
        if x.len() >= 3 {
            let med = with_sorted(x, median_of_sorted);
            into.extend(x.iter().map(|v| scale * (v - med).abs()));
        }
    };
    match sample {
        Sample::Paired(d) => of(d, 1.0),
        Sample::Unpaired { control, treatment } => {
            of(control, SQRT_2);
            of(treatment, SQRT_2);
        }
    }
}

fn paired(d: &[f64]) -> Moments {
    with_sorted(d, |order| paired_in_order(d, order))
}

fn paired_in_order(d: &[f64], order: &[f64]) -> Moments {
    let n = d.len();
    let est = mean(d);
    let med = median_of_sorted(order);
    let rest = if n > 1 {
        let others = (n - 1) as f64;
        let (largest, smallest) = (order[n - 1], order[0]);
        let sum: f64 = d.iter().sum();
        [(sum - largest) / others, (-sum + smallest) / others]
    } else {
        [f64::NEG_INFINITY; 2]
    };
    Moments {
        n,
        est,
        med,
        ss: sum_of_squares(d, est),
        nu: n - 1,
        inv: 1.0 / n as f64,
        rest,
        low: Some([order[n / 5], -order[n - 1 - n / 5]]),
    }
}

fn unpaired(control: &[f64], treatment: &[f64]) -> Moments {
    let (nc, nt) = (control.len(), treatment.len());
    let (mc, mt) = (mean(control), mean(treatment));
    let est = mt - mc;
    let ends = |x: &[f64]| {
        (x.iter().copied().fold(f64::INFINITY, f64::min), x.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((least_c, most_c), (least_t, most_t)) = (ends(control), ends(treatment));
    let without = |x: &[f64], gone: f64| (x.iter().sum::<f64>() - gone) / (x.len() as f64 - 1.0);
    let rest = if nc.min(nt) > 1 {
        [
            (without(treatment, most_t) - mc).min(mt - without(control, least_c)),
            (mc - without(treatment, least_t)).min(without(control, most_c) - mt),
        ]
    } else {
        [f64::NEG_INFINITY; 2]
    };
    Moments {
        n: nc.min(nt),
        est,
        med: est,
        ss: 2.0 * (sum_of_squares(control, mc) + sum_of_squares(treatment, mt)),
        nu: nc + nt - 2,
        inv: f64::midpoint(1.0 / nc as f64, 1.0 / nt as f64),
        rest,
        low: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_is_the_mean_without_the_extreme() {
        let m = moments(&Sample::Paired(vec![0.1, 0.3, -0.2]));
        assert!((m.rest[0] - (-0.05)).abs() < 1e-15, "{:?}", m.rest);
        assert!((m.rest[1] - (-0.2)).abs() < 1e-15, "{:?}", m.rest);
        assert_eq!(moments(&Sample::Paired(vec![0.1])).rest, [f64::NEG_INFINITY; 2]);
    }

    #[test]
    fn unpaired_of_equal_numbers_has_the_variance_of_pairs() {
        let m = moments(&Sample::Unpaired { control: vec![0.0, 0.1], treatment: vec![0.2, 0.3] });
        assert!((m.inv - 0.5).abs() < 1e-15);
        assert_eq!((m.n, m.nu), (2, 2));
    }
}
