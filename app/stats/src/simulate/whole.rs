//! A whole case, as the program would judge it: both metrics, TOTAL, screening and the alarm.

use std::collections::BTreeMap;

use super::draw::{Draw, Runs, Truth};
use super::sequence::{Ended, Finding, Look};
use super::settings::Settings;
use crate::case::{Arm, Calibration, Case, Control, Grade, Reading, Round, SOLE_TREATMENT, Stage, Trial};
use crate::config::{Metric, PerMetric};
use crate::judge::judge;
use crate::output::{Judgement, Ordered, TOTAL};

/// What every run of a row counts, so that the work is equal.
const ITEMS: f64 = 1e6;
/// Bytes, likewise.
const BYTES: f64 = 1e9;
/// Peak memory in bytes.
const MEMORY: f64 = 1e9;
/// Shards.
const SHARDS: f64 = 64.0;

/// Judges simulated comparisons as whole cases.
pub(super) struct Whole<'a> {
    settings: &'a Settings,
    truth: &'a Truth,
    names: Vec<String>,
    case: Case,
    ratios: Vec<Vec<f64>>,
    /// Rounds that the case holds.
    rounds: usize,
}

impl<'a> Whole<'a> {
    pub(super) fn new(settings: &'a Settings, truth: &'a Truth) -> Self {
        let arms = match settings.treatments {
            1 => vec![(SOLE_TREATMENT.to_owned(), Arm::default())],
            many => (1..=many).map(|i| (format!("treatment {i}"), Arm::default())).collect(),
        };
        let case = Case { arms, several: settings.treatments > 1, ..Case::default() };
        let names = (1..=truth.rows).map(|i| format!("stage {i:03}")).collect();
        Self { settings, truth, names, case, ratios: Vec::new(), rounds: 0 }
    }

    /// Takes calibration and control of a new comparison.
    pub(super) fn begin(&mut self, draw: &Draw) {
        self.rounds = 0;
        for (_, arm) in &mut self.case.arms {
            arm.rounds.clear();
            arm.trials.clear();
            arm.decided = None;
        }
        let ratios = PerMetric::from_fn(|metric| self.calibration(draw, metric));
        self.case.calibration = Calibration { grade: Grade::A, ratios, residual: PerMetric::default() };
        let runs = draw.control.logs.cpu.len() / self.truth.rows;
        self.case.control = (0..runs).map(|i| trial(self.truth, &self.names, &draw.control, i)).collect();
    }

    fn calibration(&mut self, draw: &Draw, metric: Metric) -> BTreeMap<String, Vec<f64>> {
        draw.ratios(metric, self.truth.rows, &mut self.ratios);
        let mut out: BTreeMap<String, Vec<f64>> = self.names.iter().cloned().zip(self.ratios.iter().cloned()).collect();
        if self.truth.rows > 1 {
            let base = &self.truth.base[metric];
            let total = |run: &[f64]| run.iter().zip(base).map(|(log, base)| (base + log).exp()).sum::<f64>();
            let pairs = draw.pairs.logs[metric].chunks_exact(2 * self.truth.rows);
            let totals = pairs.map(|pair| {
                let (first, second) = pair.split_at(self.truth.rows);
                (total(second) / total(first)).ln()
            });
            out.insert(TOTAL.to_owned(), totals.collect());
        }
        out
    }

    pub(super) fn judge(&mut self, draw: &Draw, look: &Look, ended: &[Ended]) -> Vec<Option<Finding>> {
        self.case.config.clone_from(&look.config);
        for (i, (_, arm)) in self.case.arms.iter_mut().enumerate() {
            arm.decided = ended[i].map(|reason| (reason.verdict(), reason));
            for r in self.rounds..look.rounds {
                let treatment = trial(self.truth, &self.names, &draw.treatments[i], r);
                match self.settings.unpaired {
                    None => arm.rounds.push(Round { control: Control::Shared(r), treatment }),
                    Some(_) => arm.trials.push(treatment),
                }
            }
        }
        self.rounds = look.rounds;
        let outcome = judge(&self.case);
        let judged = outcome.treatments();
        judged.iter().zip(ended).map(|((_, j), ended)| ended.is_none().then(|| self.find(j))).collect()
    }

    fn find(&self, judgement: &Judgement) -> Finding {
        let mut finding = Finding::nothing(judgement.reason);
        for metric in Metric::ALL {
            for (name, row) in judgement.stages[metric].iter().flat_map(Ordered::iter) {
                if row.increase().is_some() {
                    finding.confirmed = true;
                    let at = self.names.binary_search_by(|n| n.as_str().cmp(name));
                    finding.power |= at.is_ok_and(|i| self.truth.affected[i]);
                }
            }
        }
        finding
    }
}

fn trial(truth: &Truth, names: &[String], runs: &Runs, index: usize) -> Trial {
    let [cpu, elapsed] = Metric::ALL.map(|metric| runs.run(metric, index, truth.rows));
    let seconds = |base: &[f64], log: &[f64], row: usize| Reading::of((base[row] + log[row]).exp());
    let stages = names.iter().enumerate().map(|(row, name)| {
        let stage = Stage {
            cpu_time_total: seconds(&truth.base.cpu, cpu, row),
            elapsed: seconds(&truth.base.elapsed, elapsed, row),
            items: Reading::Value(ITEMS),
            bytes_processed: Reading::Value(BYTES),
            mem_peak_bytes_max: Reading::Value(MEMORY),
            total_shards: Reading::Value(SHARDS),
            row_executions: Reading::Missing,
            not_ended: None,
        };
        (name.clone(), stage)
    });
    Trial { stages: stages.collect(), executions: Some(1), ..Trial::default() }
}
