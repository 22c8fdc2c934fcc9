//! The runs of one simulated comparison: same-code pairs for the calibration, then the rounds.

use super::noise::{Source, mixed_cv};
use super::settings::{Affected, Metrics, Noise, Order, Settings, Sizes};
use crate::config::{Metric, PerMetric};

/// What is true of every row.
pub(super) struct Truth {
    pub(super) rows: usize,
    /// Share of the total CPU time.
    pub(super) share: Vec<f64>,
    /// Logarithm of the true seconds.
    pub(super) base: PerMetric<Vec<f64>>,
    cv: PerMetric<Vec<f64>>,
    /// Logarithm of the treatment's factor.
    effect: PerMetric<Vec<f64>>,
    pub(super) affected: Vec<bool>,
    /// The metrics that are simulated.
    pub(super) metrics: &'static [Metric],
}

/// True seconds of all rows together.
const SECONDS: PerMetric<f64> = PerMetric { cpu: 100_000.0, elapsed: 8_000.0 };

fn shares(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

impl Truth {
    pub(super) fn of(settings: &Settings) -> Self {
        let rows = settings.stages;
        let share = shares(
            &(1..=rows)
                .map(|i| match settings.sizes {
                    Sizes::Equal => 1.0,
                    Sizes::Zipf => (i as f64).powf(-1.1),
                })
                .collect::<Vec<_>>(),
        );
        let cpu_cv = (0..rows)
            .map(|i| match settings.noise {
                Noise::Mixed => mixed_cv(i, rows),
                _ => settings.cv * (share[0] / share[i]).powf(0.25),
            })
            .collect();
        let (metrics, elapsed_cv) = match settings.metrics {
            Metrics::Cpu => (&Metric::ALL[..1], 0.0),
            Metrics::Both { elapsed_cv } => (&Metric::ALL[..], elapsed_cv),
        };
        let waits = shares(&share.iter().map(|s| s.powf(0.7)).collect::<Vec<_>>());
        let seconds = |total: f64, share: &[f64]| share.iter().map(|s| (total * s).ln()).collect();
        let affected: Vec<bool> = match settings.affected {
            _ if settings.without_effect() => vec![false; rows],
            Affected::First(count) => (0..rows).map(|i| i < count).collect(),
            Affected::All => vec![true; rows],
            Affected::Largest => only(rows, (0..rows).max_by(|a, b| share[*a].total_cmp(&share[*b]).then(b.cmp(a)))),
            Affected::Share(wanted) => {
                let off = |i: &usize| (share[*i] - wanted).abs();
                only(rows, (0..rows).min_by(|a, b| off(a).total_cmp(&off(b))))
            }
        };
        let effect = |size: f64| affected.iter().map(|a| if *a { size.ln_1p() } else { 0.0 }).collect();
        Self {
            rows,
            base: PerMetric { cpu: seconds(SECONDS.cpu, &share), elapsed: seconds(SECONDS.elapsed, &waits) },
            cv: PerMetric { cpu: cpu_cv, elapsed: vec![elapsed_cv; rows] },
            effect: PerMetric { cpu: effect(settings.effect), elapsed: effect(settings.elapsed_effect) },
            share,
            affected,
            metrics,
        }
    }
}

fn only(rows: usize, chosen: Option<usize>) -> Vec<bool> {
    (0..rows).map(|i| Some(i) == chosen).collect()
}

/// Runs one after the other: log deviations from the true seconds of the control, `rows` of them a run.
#[derive(Clone, Default)]
pub(super) struct Runs {
    pub(super) logs: PerMetric<Vec<f64>>,
}

impl Runs {
    fn clear(&mut self) {
        self.logs.cpu.clear();
        self.logs.elapsed.clear();
    }

    /// The rows of one run.
    pub(super) fn run(&self, metric: Metric, index: usize, rows: usize) -> &[f64] {
        &self.logs[metric][index * rows..(index + 1) * rows]
    }
}

/// The runs of one simulated comparison.
pub(super) struct Draw {
    source: Source,
    /// Same-code runs, first and second of a pair in turn.
    pub(super) pairs: Runs,
    pub(super) control: Runs,
    pub(super) treatments: Vec<Runs>,
}

impl Draw {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            source: Source::new(settings.noise),
            pairs: Runs::default(),
            control: Runs::default(),
            treatments: vec![Runs::default(); settings.treatments],
        }
    }

    /// Draws trial `index` with `rounds` rounds.
    pub(super) fn refill(&mut self, settings: &Settings, truth: &Truth, index: u64, rounds: usize) {
        let Self { source, pairs, control, treatments } = self;
        source.restart(settings.seed, index);
        [&mut *pairs, &mut *control].into_iter().chain(treatments.iter_mut()).for_each(Runs::clear);
        for _ in 0..2 * settings.calibration {
            one_run(source, truth, pairs, false);
        }
        if let Some(controls) = settings.unpaired {
            (0..controls).for_each(|_| one_run(source, truth, control, false));
        }
        let paired = settings.unpaired.is_none();
        // Arm 0 is the control; the effect is on the first treatment alone.
        let mut run = |arm: usize| match arm {
            0 if paired => one_run(source, truth, control, false),
            0 => {}
            _ => one_run(source, truth, &mut treatments[arm - 1], arm == 1),
        };
        let arms = settings.treatments + 1;
        match settings.order {
            Order::Sequential => (0..arms).for_each(|arm| (0..rounds).for_each(|_| run(arm))),
            Order::Abba => {
                for round in 0..rounds {
                    if round % 2 == 0 { (0..arms).for_each(&mut run) } else { (0..arms).rev().for_each(&mut run) }
                }
            }
        }
    }

    /// The same-code log ratios of a metric, row by row, second over first.
    pub(super) fn ratios(&self, metric: Metric, rows: usize, out: &mut Vec<Vec<f64>>) {
        out.resize(rows, Vec::new());
        out.iter_mut().for_each(Vec::clear);
        for pair in self.pairs.logs[metric].chunks_exact(2 * rows) {
            let (first, second) = pair.split_at(rows);
            for ((ratios, a), b) in out.iter_mut().zip(first).zip(second) {
                ratios.push(b - a);
            }
        }
    }
}

fn one_run(source: &mut Source, truth: &Truth, into: &mut Runs, changed: bool) {
    source.next_run();
    for metric in truth.metrics {
        let logs = &mut into.logs[*metric];
        for (cv, effect) in truth.cv[*metric].iter().zip(&truth.effect[*metric]) {
            logs.push(source.row(*cv) + if changed { *effect } else { 0.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_rows_have_the_shares_and_cvs_that_are_stated() {
        let settings = Settings {
            stages: 12,
            sizes: Sizes::Zipf,
            effect: 0.1,
            affected: Affected::Share(0.03),
            ..Settings::default()
        };
        let truth = Truth::of(&settings);
        assert!((truth.share.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((truth.share[1] / truth.share[0] - 2f64.powf(-1.1)).abs() < 1e-12);
        assert!((truth.cv.cpu[0] - 0.01).abs() < 1e-15 && (0.019..0.021).contains(&truth.cv.cpu[11]));
        assert_eq!(truth.affected.iter().position(|a| *a), Some(8));
        let seconds: f64 = truth.base.elapsed.iter().map(|b| b.exp()).sum();
        assert!((seconds - 8000.0).abs() < 1e-6);
    }

    #[test]
    fn an_effect_is_on_the_first_treatment_alone_and_longer_comparisons_share_their_rounds() {
        let settings = Settings { effect: 1.0, treatments: 2, cv: 1e-6, stages: 2, ..Settings::default() };
        let (truth, mut draw) = (Truth::of(&settings), Draw::new(&settings));
        draw.refill(&settings, &truth, 3, 2);
        let near = |x: f64, y: f64| (x - y).abs() < 1e-4;
        assert!(near(draw.treatments[0].run(Metric::Cpu, 1, 2)[0], 2f64.ln()));
        assert!(near(draw.treatments[0].run(Metric::Cpu, 1, 2)[1], 0.0));
        assert!(near(draw.treatments[1].run(Metric::Cpu, 1, 2)[0], 0.0));
        let before = draw.control.run(Metric::Cpu, 1, 2).to_vec();
        draw.refill(&settings, &truth, 3, 5);
        assert_eq!(draw.control.run(Metric::Cpu, 1, 2), before);
        assert_eq!(draw.control.logs.cpu.len(), 10);
    }
}
