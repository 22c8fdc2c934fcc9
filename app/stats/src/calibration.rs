//! From same-code runs to the log ratios that calibrate the noise of a workload.

use std::collections::BTreeMap;

use crate::case::Grade;
use crate::output::TOTAL;

/// m same-code runs (seconds, in time order, all above 0) to m-1 independent log ratios of mean 0 and the variance of a
/// pair, by Helmert contrasts `c_j = sqrt(2j/(j+1))·(ln y_(j+1) - mean ln y_(1..j))`. Their squares sum to twice the
/// sum of squares about the mean.
#[must_use]
pub fn helmert(seconds: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = seconds.iter().map(|y| y.ln()).collect();
    (1..logs.len())
        .map(|j| {
            let mean = logs[..j].iter().sum::<f64>() / j as f64;
            (2.0 * j as f64 / (j as f64 + 1.0)).sqrt() * (logs[j] - mean)
        })
        .collect()
}

/// Calibration ratios of one metric for the rows of a comparison, from trials that may have run a wider range of
/// stages; TOTAL is recomputed from the rows asked for. A row that a trial lacks is left out.
#[must_use]
pub fn calibrate(trials: &[BTreeMap<String, f64>], rows: &[&str]) -> BTreeMap<String, Vec<f64>> {
    let series = |row: &str| trials.iter().map(|t| t.get(row).copied()).collect::<Option<Vec<f64>>>();
    let mut out = BTreeMap::new();
    let mut totals = vec![0.0; trials.len()];
    let mut whole = true;
    for row in rows {
        match series(row) {
            Some(seconds) => {
                totals.iter_mut().zip(&seconds).for_each(|(sum, s)| *sum += s);
                out.insert((*row).to_owned(), helmert(&seconds));
            }
            None => whole = false,
        }
    }
    if rows.len() > 1 && whole {
        out.insert(TOTAL.to_owned(), helmert(&totals));
    }
    out
}

/// How a calibration relates to the comparison that uses it.
#[allow(clippy::struct_excessive_bools)] // independent facts, each either so or not
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The same sample.
    pub same_sample: bool,
    /// The same image.
    pub same_image: bool,
    /// Age in days.
    pub age_days: f64,
    /// The same pool shape.
    pub same_pool: bool,
    /// The same host class.
    pub same_host: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self { same_sample: true, same_image: true, age_days: 0.0, same_pool: true, same_host: true }
    }
}

/// What `ratios` calibration ratios made in `setting` are worth.
#[must_use]
pub fn grade(ratios: usize, setting: Setting) -> Grade {
    if !(setting.same_pool && setting.same_host) || ratios < 5 {
        Grade::C
    } else if !(setting.same_sample && setting.same_image) || setting.age_days > 30.0 {
        Grade::B
    } else if ratios >= 10 {
        Grade::A
    } else {
        Grade::A5
    }
}
