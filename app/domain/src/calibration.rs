//! What is known of the noise of a workload: the raw row sums of same-code trials, as they are kept in a file.
//!
//! Sums are kept and not ratios, so that a run over a wider span of steps calibrates every narrower one: the rows of a
//! comparison are picked, TOTAL is computed from them, and only then are ratios formed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stats::calibration::{Setting, calibrate, grade};
use stats::{Grade, Metric};

use crate::ids::{CommitSha, Digest, SuiteName};
use crate::rounds::TrialName;
use crate::time::{DAY, Ms};
use crate::view::Calibrated;

/// The schema of [`CalibrationFile`] that this version writes; a newer one is refused.
pub const CALIBRATION_SCHEMA: u32 = 1;

/// Same-code trials of one workload on one kind of machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationFile {
    /// [`CALIBRATION_SCHEMA`].
    pub schema: u32,
    /// The suite.
    pub suite: SuiteName,
    /// The preset, where one was taken.
    pub preset: Option<String>,
    /// Fingerprint of the workload.
    pub fingerprint: Digest,
    /// The kind of machine.
    pub host_class: Option<String>,
    /// The trials in the order of time.
    pub trials: Vec<CalibrationTrial>,
}

/// One same-code trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationTrial {
    /// When it ended.
    pub at: Ms,
    /// What it ran.
    pub commit: CommitSha,
    /// Its name.
    pub trial: TrialName,
    /// Seconds per row, summed over executions.
    pub rows: BTreeMap<String, RowSeconds>,
}

/// The seconds of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSeconds {
    /// User and system CPU time.
    pub cpu: f64,
    /// Elapsed time.
    pub elapsed: f64,
}

/// Why a file is no calibration, or not one of this workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// It cannot be read.
    #[error("it is not a calibration: {0}")]
    Form(String),
    /// A file of a newer version.
    #[error("it has schema {found}; this version reads up to {CALIBRATION_SCHEMA}: use a newer zephyr-ab")]
    Newer {
        /// The schema that was found.
        found: u32,
    },
    /// A value that no trial can have.
    #[error("trial {trial} has {what} for row {row:?}; needed: seconds above 0 and up to 1e18")]
    Seconds {
        /// The trial.
        trial: TrialName,
        /// Which value.
        what: &'static str,
        /// The row, shortened.
        row: String,
    },
    /// Trials that are not in the order of time.
    #[error("its trials are not in the order of time")]
    Order,
    /// A calibration of something else.
    #[error("it is of {found}, and this comparison is of {wanted}")]
    Other {
        /// What it is of.
        found: String,
        /// What is compared.
        wanted: String,
    },
}

impl CalibrationFile {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`CalibrationError`].
    pub fn parse(text: &[u8]) -> Result<Self, CalibrationError> {
        let file: Self = serde_json::from_slice(text).map_err(|e| CalibrationError::Form(e.to_string()))?;
        if file.schema > CALIBRATION_SCHEMA {
            return Err(CalibrationError::Newer { found: file.schema });
        }
        for trial in &file.trials {
            for (row, seconds) in &trial.rows {
                for (what, value) in [("a CPU time", seconds.cpu), ("an elapsed time", seconds.elapsed)] {
                    if !(1e-9..=1e18).contains(&value) {
                        let row = row.chars().take(60).collect();
                        return Err(CalibrationError::Seconds { trial: trial.trial.clone(), what, row });
                    }
                }
            }
        }
        if file.trials.is_sorted_by_key(|trial| trial.at) { Ok(file) } else { Err(CalibrationError::Order) }
    }

    /// Whether this is a calibration of that workload.
    ///
    /// # Errors
    /// [`CalibrationError::Other`], which says what differs.
    pub fn check(&self, suite: &SuiteName, fingerprint: &Digest) -> Result<(), CalibrationError> {
        if self.suite != *suite {
            let (found, wanted) = (format!("suite {}", self.suite), format!("suite {suite}"));
            return Err(CalibrationError::Other { found, wanted });
        }
        if self.fingerprint != *fingerprint {
            let named = |digest: &Digest| format!("workload {}", digest.as_str().get(..12).unwrap_or_default());
            return Err(CalibrationError::Other { found: named(&self.fingerprint), wanted: named(fingerprint) });
        }
        Ok(())
    }

    /// The object `calibration` of the input contract for these rows, and what a reader is told of it. On another kind
    /// of machine the ratios say nothing and are not passed on.
    #[must_use]
    pub fn apply(&self, rows: &[&str], host_class: Option<&str>, now: Ms) -> (Value, Calibrated) {
        let same_host = self.host_class.as_deref() == host_class;
        let series = |metric: Metric| {
            let seconds = |row: &RowSeconds| match metric {
                Metric::Cpu => row.cpu,
                Metric::Elapsed => row.elapsed,
            };
            let trials: Vec<BTreeMap<String, f64>> = self
                .trials
                .iter()
                .map(|trial| trial.rows.iter().map(|(name, row)| (name.clone(), seconds(row))).collect())
                .collect();
            if same_host { calibrate(&trials, rows) } else { BTreeMap::new() }
        };
        let (cpu, elapsed) = (series(Metric::Cpu), series(Metric::Elapsed));
        let ratios = rows.iter().map(|row| cpu.get(*row).map_or(0, Vec::len)).min().unwrap_or(0);
        let age = self.trials.last().map_or(0, |last| now.since(last.at));
        let grade = grade(ratios, Setting { age_days: age as f64 / DAY as f64, same_host, ..Setting::default() });
        let shown = Calibrated {
            grade,
            ratios: Some(ratios as u64),
            age_days: Some(age / DAY),
            frozen: self.trials.last().map(|last| date(last.at)),
        };
        (json!({ "grade": grade, "cpu": cpu, "elapsed": elapsed }), shown)
    }
}

/// What a comparison knows of its noise without a calibration.
#[must_use]
pub fn none() -> (Value, Calibrated) {
    (json!({}), Calibrated { grade: Grade::C, ratios: Some(0), age_days: None, frozen: None })
}

/// The day of a point in time, in UTC (Hinnant, "chrono-compatible low-level date algorithms").
fn date(at: Ms) -> String {
    let days = at.0 / DAY + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(trials: u32) -> CalibrationFile {
        let trial = |n: u32| CalibrationTrial {
            at: Ms(1_796_000_000_000 + u64::from(n) * 1000),
            commit: "a".repeat(40).parse().unwrap(),
            trial: format!("zab-20261129T202850Z-8d10c1b5-r{}.0-1", n + 1).parse().unwrap(),
            rows: ["parse", "index"]
                .map(|row| (row.to_owned(), RowSeconds { cpu: 1.0 + f64::from(n % 3) / 100.0, elapsed: 2.0 }))
                .into(),
        };
        CalibrationFile {
            schema: 1,
            suite: "demo".parse().unwrap(),
            preset: None,
            fingerprint: Digest::of(b"x"),
            host_class: Some("this".to_owned()),
            trials: (0..trials).map(trial).collect(),
        }
    }

    #[test]
    fn eleven_trials_are_grade_a_for_any_narrower_span() {
        let (contract, shown) = file(11).apply(&["parse"], Some("this"), Ms(1_796_000_100_000));
        assert_eq!((shown.grade, shown.ratios, shown.age_days), (Grade::A, Some(10), Some(0)));
        assert_eq!(shown.frozen.as_deref(), Some("2026-11-30"));
        assert_eq!(contract["cpu"]["parse"].as_array().map(Vec::len), Some(10));
        assert!(contract["cpu"].get("TOTAL").is_none());
        let (contract, _) = file(11).apply(&["parse", "index"], Some("this"), Ms(1_796_000_100_000));
        assert_eq!(contract["elapsed"]["TOTAL"].as_array().map(Vec::len), Some(10));
    }

    #[test]
    fn what_does_not_fit_is_worth_nothing() {
        let at = Ms(1_796_000_100_000);
        let (contract, shown) = file(11).apply(&["parse"], Some("other"), at);
        assert_eq!((shown.grade, &contract["cpu"]), (Grade::C, &json!({})));
        assert_eq!(file(11).apply(&["parse"], Some("this"), at.plus(31 * DAY)).1.grade, Grade::B);
        assert_eq!(file(6).apply(&["parse"], Some("this"), at).1.grade, Grade::A5);
        assert_eq!(file(11).apply(&["unknown"], Some("this"), at).1.grade, Grade::C);
    }

    #[test]
    fn written_and_read_and_refused() {
        let good = file(3);
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(CalibrationFile::parse(text.as_bytes()), Ok(good.clone()));
        for (from, to) in
            [("\"schema\":1", "\"schema\":2"), ("\"cpu\":1.0,", "\"cpu\":0.0,"), ("demo", "DEMO"), ("{", "[")]
        {
            assert!(CalibrationFile::parse(text.replacen(from, to, 1).as_bytes()).is_err(), "{from}");
        }
        let mut turned = good.clone();
        turned.trials.reverse();
        let text = serde_json::to_vec(&turned).unwrap();
        assert_eq!(CalibrationFile::parse(&text), Err(CalibrationError::Order));
        assert!(good.check(&"demo".parse().unwrap(), &Digest::of(b"x")).is_ok());
        assert!(good.check(&"demo".parse().unwrap(), &Digest::of(b"y")).is_err());
        assert!(good.check(&"zephyr".parse().unwrap(), &Digest::of(b"x")).is_err());
    }
}
