//! Error rates on real noise: windows drawn from same-code log ratios that were measured.

use rand::RngExt;
use rand::seq::index::sample;
use serde::Serialize;
use thiserror::Error;

use super::family::reason_of;
use super::noise::generator;
use super::settings::{OutOfRange, ascending, within};
use super::tally::{Report, Summary, Tally};
use super::workers::Workers;
use crate::case::Residual;
use crate::config::{Config, Metric};
use crate::family::{RowInput, decide, prepare};
use crate::output::Ordered;
use crate::reason::{Reason, Verdict};
use crate::sample::Sample;

/// Same-code log ratios: a line is one pair of runs, a column is one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    lines: Vec<Vec<f64>>,
}

/// Why a text holds no log ratios. Lines and columns count from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadRatios {
    /// A value is none.
    #[error("line {line}, column {column}: expected a log ratio of -10 to 10, got `{text}`")]
    Value {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What stands there.
        text: String,
    },
    /// A line is longer or shorter than the first.
    #[error("line {line}: expected {expected} columns as in the first line, got {got}")]
    Width {
        /// The line.
        line: usize,
        /// Columns of the first line.
        expected: usize,
        /// Columns of this line.
        got: usize,
    },
    /// There is nothing.
    #[error("expected lines of comma-separated log ratios, got none")]
    Empty,
}

impl Ratios {
    /// Reads lines of comma-separated numbers; blank lines are skipped.
    ///
    /// # Errors
    /// The first thing that is not as expected.
    pub fn parse(text: &str) -> Result<Self, BadRatios> {
        let mut lines: Vec<Vec<f64>> = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let values = line.split(',').enumerate().map(|(column, text)| {
                let number = text.trim().parse::<f64>().ok().filter(|v| (-10.0..=10.0).contains(v));
                let shown = || text.trim().chars().take(40).collect();
                number.ok_or_else(|| BadRatios::Value { line: at + 1, column: column + 1, text: shown() })
            });
            let values = values.collect::<Result<Vec<f64>, _>>()?;
            let expected = lines.first().map_or(values.len(), Vec::len);
            if values.len() != expected {
                return Err(BadRatios::Width { line: at + 1, expected, got: values.len() });
            }
            lines.push(values);
        }
        if lines.is_empty() { Err(BadRatios::Empty) } else { Ok(Self { lines }) }
    }

    /// Pairs of runs.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Benchmarks.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.lines.first().map_or(0, Vec::len)
    }
}

/// How windows are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resampling {
    /// Random columns that a window has.
    pub columns: usize,
    /// Windows.
    pub windows: u64,
    /// Numbers of rounds; every number is an experiment of its own.
    pub rounds: Vec<u64>,
    /// Consecutive lines that calibrate; the rounds are the lines after them.
    pub calibration: usize,
    /// The seed.
    pub seed: u64,
}

impl Resampling {
    /// Whether every setting is in its range for these ratios.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ratios: &Ratios) -> Result<(), OutOfRange> {
        within("columns", self.columns, 1, ratios.columns())?;
        within("windows", self.windows, 1, 1_000_000_000)?;
        ascending("rounds", &self.rounds)?;
        let most = ratios.lines() as u64;
        let rounds = self.rounds.last().copied().unwrap_or(1);
        within("calibration", self.calibration as u64, 0, most.saturating_sub(rounds))?;
        within("rounds", rounds, 1, most)
    }
}

/// Judges windows by the CPU family with flat margins: `columns` random columns, `calibration` consecutive lines from a
/// random one on, the next lines as rounds, each with a random sign (as if the arms had changed places).
///
/// # Errors
/// A setting out of its range.
pub fn resample(ratios: &Ratios, settings: &Resampling, workers: &Workers<'_>) -> Result<Report, OutOfRange> {
    settings.check(ratios)?;
    let config = Config { impact_cap: 0.0, ..Config::default() };
    let summaries = settings.rounds.iter().map(|n| {
        // At most the lines of the file.
        let rounds = usize::try_from(*n).unwrap_or(usize::MAX);
        let tally = workers.tally(settings.windows, || {
            |index, tally: &mut Tally| window(ratios, settings, &config, rounds, index, tally)
        });
        (n.to_string(), Summary::of(&tally, true))
    });
    Ok(Report { rounds: Ordered(summaries.collect()) })
}

fn window(ratios: &Ratios, settings: &Resampling, config: &Config, rounds: usize, index: u64, tally: &mut Tally) {
    let mut rng = generator(settings.seed, index);
    let known = settings.calibration;
    let columns = sample(&mut rng, ratios.columns(), settings.columns);
    let start = rng.random_range(0..=ratios.lines() - known - rounds);
    let signs: Vec<f64> = (0..rounds).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
    let (calibrating, rest) = ratios.lines[start..].split_at(known);
    let calibration: Vec<Vec<f64>> =
        columns.iter().map(|column| calibrating.iter().map(|line| line[column]).collect()).collect();
    let inputs: Vec<RowInput<'_>> = columns
        .iter()
        .zip(&calibration)
        .map(|(column, ratios)| RowInput {
            sample: Sample::Paired(rest.iter().zip(&signs).map(|(line, sign)| sign * line[column]).collect()),
            ratios,
            residual: Residual::default(),
            share: 1.0,
            overhead: 0.0,
            total: false,
        })
        .collect();
    let (mut confirmed, mut reason) = (false, Reason::NoCalibration);
    if let Some(prepared) = prepare(&inputs, config, Metric::Cpu) {
        let rows = decide(&[&prepared], config, Metric::Cpu, 0).pop().unwrap_or_default();
        confirmed = rows.iter().any(|row| row.increase().is_some());
        reason = reason_of(&rows, config, known, rounds);
    }
    let verdict = reason.verdict();
    let reached = [Verdict::Regression, Verdict::Inconclusive, Verdict::Tradeoff, Verdict::Pass].map(|v| v == verdict);
    tally.count(reached, confirmed, false, rounds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_or_refused_by_place() {
        let ratios = Ratios::parse("0.1,-0.2\r\n\n0.3, 1e-3\n").unwrap();
        assert_eq!((ratios.lines(), ratios.columns()), (2, 2));
        assert_eq!(Ratios::parse("  \n"), Err(BadRatios::Empty));
        assert_eq!(Ratios::parse("1,2\n3\n"), Err(BadRatios::Width { line: 2, expected: 2, got: 1 }));
        for bad in ["NaN", "x", "", "11"] {
            let error = Ratios::parse(&format!("1,{bad}\n")).unwrap_err();
            assert!(matches!(error, BadRatios::Value { line: 1, column: 2, .. }), "{error}");
        }
    }

    #[test]
    fn settings_must_fit_the_file() {
        let ratios = Ratios::parse(&"0.1,0.2,0.3\n".repeat(12)).unwrap();
        let fits = Resampling { columns: 3, windows: 5, rounds: vec![1, 2], calibration: 10, seed: 1 };
        assert_eq!(fits.check(&ratios), Ok(()));
        let refused = |settings: Resampling| settings.check(&ratios).unwrap_err().setting;
        assert_eq!(refused(Resampling { columns: 4, ..fits.clone() }), "columns");
        assert_eq!(refused(Resampling { rounds: vec![1, 3], ..fits.clone() }), "calibration");
        assert_eq!(refused(Resampling { windows: 0, ..fits.clone() }), "windows");
        let report = resample(&ratios, &fits, &Workers::silent(2)).unwrap();
        assert_eq!(report.rounds.get("2").unwrap().trials, 5);
    }
}
