//! The input contract: JSON text to a [`Case`], or one line that names the place and what was expected there.

mod arms;
mod config;
mod node;
pub mod write;

use serde_json::value::RawValue;

use crate::case::{Calibration, Case, Grade, Residual};
use crate::config::{Metric, PerMetric};
use node::{Place, count, list, number_within, object, one_of, text};

/// The input is not a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: expected {expected}")]
pub struct UsageError {
    /// Where, as a path of fields and indices, or a line and column.
    pub place: String,
    /// What was expected there.
    pub expected: String,
}

/// Longest place that is printed, in characters: it may hold a name of any length.
const LONGEST_PLACE: usize = 400;
/// Longest expectation, in characters: every setting of a configuration by name, and the nearest at the end.
const LONGEST_EXPECTED: usize = 1000;

impl UsageError {
    /// Both texts become one printable line each: the place may hold names from anywhere.
    pub fn new(place: &str, expected: impl Into<String>) -> Self {
        Self { place: printable(place, LONGEST_PLACE), expected: printable(&expected.into(), LONGEST_EXPECTED) }
    }
}

fn printable(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == longest {
            out.push('…');
            break;
        }
        let invisible = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if invisible { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Fields of a case that are accepted and not read: those of a test vector, and texts for the comment.
const IGNORED: [&str; 6] = ["id", "kind", "why", "strength", "expected", "context"];

/// Reads a case.
///
/// # Errors
/// [`UsageError`] for broken JSON, a field that the contract does not know, a wrong type elsewhere than in a metric,
/// or a combination that makes no sense.
pub fn parse(json: &str) -> Result<Case, UsageError> {
    let raw: &RawValue = serde_json::from_str(json).map_err(|e| broken(&e))?;
    let place = Place::ROOT;
    let mut allowed = vec!["config", "calibration", "control", "treatments"];
    allowed.extend(arms::FIELDS);
    allowed.extend(IGNORED);
    let top = object(raw, &place, Some(&allowed))?;
    let config = config::parse(top.get("config"), &place.field("config"))?;
    let calibration = calibration(top.get("calibration"), &place.field("calibration"))?;
    let at = place.field("control");
    let control = match top.get("control") {
        None => Vec::new(),
        Some(raw) => list(raw, &at, "a list of trials")?
            .into_iter()
            .enumerate()
            .map(|(i, trial)| arms::trial(trial, &at.index(i)))
            .collect::<Result<_, _>>()?,
    };
    let several = top.get("treatments").is_some();
    let arms = arms::parse(raw, &top, config.paired, control.len())?;
    Ok(Case { config, calibration, control, arms, several })
}

fn broken(error: &serde_json::Error) -> UsageError {
    let mut message = error.to_string();
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    UsageError::new(&format!("line {} column {}", error.line(), error.column()), format!("valid JSON ({message})"))
}

fn calibration(raw: Option<&RawValue>, place: &Place<'_>) -> Result<Calibration, UsageError> {
    let Some(raw) = raw else { return Ok(Calibration::default()) };
    let fields = object(raw, place, Some(&["grade", "cpu", "elapsed", "residual"]))?;
    let grade = match fields.get("grade") {
        None => Grade::default(),
        Some(raw) => {
            let grades = [Grade::A, Grade::A5, Grade::B, Grade::C];
            let at = place.field("grade");
            let word = text(raw, &at, "one of A, A5, B, C")?;
            let words = grades.map(Grade::word);
            grades.into_iter().find(|g| g.word() == word).ok_or_else(|| at.expected(one_of(&words, Some(&word))))?
        }
    };
    let mut ratios: PerMetric<std::collections::BTreeMap<String, Vec<f64>>> = PerMetric::default();
    for metric in Metric::ALL {
        let Some(raw) = fields.get(metric.key()) else { continue };
        let at = place.field(metric.key());
        for (row, raw) in object(raw, &at, None)?.iter() {
            let at = at.field(row);
            let what = "a list of log ratios of -10 to 10";
            let values = list(raw, &at, what)?
                .into_iter()
                .enumerate()
                .map(|(i, raw)| number_within(raw, &at.index(i), -10.0..=10.0, "a log ratio of -10 to 10"))
                .collect::<Result<Vec<f64>, _>>()?;
            ratios[metric].insert(row.to_owned(), values);
        }
    }
    let mut residual: PerMetric<std::collections::BTreeMap<String, Residual>> = PerMetric::default();
    if let Some(raw) = fields.get("residual") {
        let place = place.field("residual");
        for (metric, raw) in object(raw, &place, Some(&["cpu", "elapsed"]))?.iter() {
            let at = place.field(metric);
            let metric = if metric == "cpu" { Metric::Cpu } else { Metric::Elapsed };
            for (row, raw) in object(raw, &at, None)?.iter() {
                let at = at.field(row);
                let fields = object(raw, &at, Some(&["ss", "df"]))?;
                let part = |name: &str| {
                    let what = "a number of 0 to 1e6";
                    let raw = fields.get(name).ok_or_else(|| at.expected("both ss and df"))?;
                    number_within(raw, &at.field(name), 0.0..=1e6, what)
                };
                residual[metric].insert(row.to_owned(), Residual { ss: part("ss")?, df: part("df")? });
            }
        }
    }
    Ok(Calibration { grade, ratios, residual })
}

/// A whole number that may be null.
fn optional_count(raw: Option<&RawValue>, place: &Place<'_>) -> Result<Option<u64>, UsageError> {
    match raw {
        Some(raw) if !node::is_null(raw) => count(raw, place, "a whole number of 0 to 1e9, or null").map(Some),
        _ => Ok(None),
    }
}

/// "one of ..., nearest: ..." for a name that is not among `allowed`.
#[must_use]
pub fn choices(allowed: &[&str], given: &str) -> String {
    one_of(allowed, Some(given))
}
