//! One metric alone: the CPU family with its own budget, concluded without elapsed time.

use super::draw::{Draw, Truth};
use super::sequence::{Ended, Finding, Look};
use super::settings::{Margins, Settings};
use crate::case::{Grade, Residual};
use crate::conclude::{Rows, Standing, conclude};
use crate::config::{Config, Metric};
use crate::family::{Prepared, RowInput, RowStats, decide, prepare};
use crate::reason::Reason;
use crate::sample::Sample;

/// Judges the CPU rows of a simulated comparison.
pub(super) struct Family<'a> {
    settings: &'a Settings,
    truth: &'a Truth,
    ratios: Vec<Vec<f64>>,
}

impl<'a> Family<'a> {
    pub(super) fn new(settings: &'a Settings, truth: &'a Truth) -> Self {
        Self { settings, truth, ratios: Vec::new() }
    }

    /// Takes the calibration of a new comparison.
    pub(super) fn begin(&mut self, draw: &Draw) {
        draw.ratios(Metric::Cpu, self.truth.rows, &mut self.ratios);
    }

    pub(super) fn judge(&self, draw: &Draw, look: &Look, ended: &[Ended]) -> Vec<Option<Finding>> {
        let prepared: Vec<Option<Prepared>> = (0..draw.treatments.len())
            .map(|arm| ended[arm].is_none().then(|| self.prepare(draw, look, arm)).flatten())
            .collect();
        let judged: Vec<&Prepared> = prepared.iter().flatten().collect();
        // Treatments that ended stay in the family.
        let extra = (prepared.len() - judged.len()) * self.truth.rows;
        let mut decided = decide(&judged, &look.config, Metric::Cpu, extra).into_iter();
        prepared
            .iter()
            .zip(ended)
            .map(|(prepared, ended)| {
                if ended.is_some() {
                    return None;
                }
                let rows = if prepared.is_some() { decided.next() } else { None };
                Some(rows.map_or(Finding::nothing(Reason::NoCalibration), |rows| self.find(&rows, look)))
            })
            .collect()
    }

    fn prepare(&self, draw: &Draw, look: &Look, arm: usize) -> Option<Prepared> {
        let rows = self.truth.rows;
        let column = |logs: &[f64], row: usize, runs: usize| -> Vec<f64> {
            logs.iter().skip(row).step_by(rows).take(runs).copied().collect()
        };
        let (control, treatment) = (&draw.control.logs.cpu, &draw.treatments[arm].logs.cpu);
        let inputs: Vec<RowInput<'_>> = (0..rows)
            .map(|row| {
                let sample = match self.settings.unpaired {
                    None => Sample::Paired(
                        (0..look.rounds).map(|r| treatment[r * rows + row] - control[r * rows + row]).collect(),
                    ),
                    Some(controls) => Sample::Unpaired {
                        control: column(control, row, controls),
                        treatment: column(treatment, row, look.rounds),
                    },
                };
                let share = match self.settings.margins {
                    Margins::Flat => 1.0,
                    Margins::Impact => self.truth.share[row],
                };
                RowInput {
                    sample,
                    ratios: &self.ratios[row],
                    residual: Residual::default(),
                    share,
                    overhead: 0.0,
                    total: false,
                }
            })
            .collect();
        prepare(&inputs, &look.config, Metric::Cpu)
    }

    fn find(&self, rows: &[RowStats], look: &Look) -> Finding {
        let rounds = self.settings.unpaired.map_or(look.rounds, |controls| controls.min(look.rounds));
        let up = |row: &RowStats| row.increase().is_some();
        Finding {
            reason: reason_of(rows, &look.config, self.settings.calibration, rounds),
            confirmed: rows.iter().any(up),
            power: rows.iter().zip(&self.truth.affected).any(|(row, affected)| *affected && up(row)),
        }
    }
}

/// The verdict on CPU rows alone, calibrated in the same setting by `ratios` ratios a row.
pub(super) fn reason_of(rows: &[RowStats], config: &Config, ratios: usize, rounds: usize) -> Reason {
    let standing = Standing {
        named: Grade::A,
        ratios,
        paired: config.paired,
        rounds,
        df: rows.iter().map(|row| row.df).fold(f64::NEG_INFINITY, f64::max),
        ignored: false,
    };
    if let Some(reason) = standing.refusal(config) {
        return reason;
    }
    let rows = Rows {
        cpu: rows,
        elapsed: &[],
        total: false,
        elapsed_rounds: 0,
        overhead_dominated: false,
        peaks: [None; 2],
        elapsed_alone: &[],
    };
    conclude(&rows, config).0
}
