//! What other methods make of the same runs: a gate that is red when any row is called slower.

use super::draw::{Draw, Truth};
use super::noise::split_mix;
use super::sequence::{Finding, Look};
use super::settings::{Method, Settings};
use crate::classic::{above_threshold, bootstrap_ratio_ci, mann_whitney, welch_t};
use crate::reason::Reason;

/// Two-sided level of the tests.
const ALPHA: f64 = 0.05;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 1000;
/// Threshold of the ratio of the means, a share.
const THRESHOLD: f64 = 0.05;

/// Judges the CPU rows of a simulated comparison by another method.
pub(super) struct Textbook<'a> {
    settings: &'a Settings,
    truth: &'a Truth,
}

impl<'a> Textbook<'a> {
    pub(super) fn new(settings: &'a Settings, truth: &'a Truth) -> Self {
        Self { settings, truth }
    }

    pub(super) fn judge(&self, draw: &Draw, look: &Look, index: u64) -> Vec<Option<Finding>> {
        let rows = self.truth.rows;
        let seconds = |logs: &[f64], row: usize, runs: usize| -> Vec<f64> {
            logs.iter().skip(row).step_by(rows).take(runs).map(|log| log.exp()).collect()
        };
        let mut finding = Finding::nothing(Reason::NoChange);
        for row in 0..rows {
            let control = seconds(&draw.control.logs.cpu, row, self.settings.unpaired.unwrap_or(look.rounds));
            let treatment = seconds(&draw.treatments[0].logs.cpu, row, look.rounds);
            let seed = split_mix(self.settings.seed ^ split_mix(index)).wrapping_add(row as u64);
            if slower(self.settings.method, &control, &treatment, seed) {
                finding.reason = Reason::CpuHigher;
                finding.confirmed = true;
                finding.power |= self.truth.affected[row];
            }
        }
        vec![Some(finding)]
    }
}

fn slower(method: Method, control: &[f64], treatment: &[f64], seed: u64) -> bool {
    match method {
        Method::Welch => welch_t(control, treatment, 1.0 - ALPHA).is_some_and(|w| w.t > 0.0 && w.p_two_sided < ALPHA),
        Method::MannWhitney => {
            let half = (control.len() * treatment.len()) as f64 / 2.0;
            mann_whitney(control, treatment).is_some_and(|m| m.u_treatment > half && m.p_two_sided < ALPHA)
        }
        Method::Bootstrap => {
            bootstrap_ratio_ci(control, treatment, 1.0 - ALPHA, RESAMPLES, seed).is_some_and(|(lo, _)| lo > 1.0)
        }
        Method::Threshold | Method::Abv1 => above_threshold(control, treatment, THRESHOLD),
    }
}
