//! What is printed at the end, and the exit code.

use std::path::Path;

use clap::ValueEnum;
use domain::ids::RunId;
use evidence::compose::Composed;
use evidence::{DiskStorage, Folder, Templates};
use serde_json::{Map, Value, json};
use stats::Verdict;

use super::follow::{Ended, Measured};
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// What `run` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// The comment.
    Markdown,
    /// The JSON of `judge`, and the facts of the run under `context`.
    Json,
}

/// A verdict that makes the exit code 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Proven to cost more than is tolerated.
    Regression,
    /// One of CPU and elapsed time got better, the other worse.
    Tradeoff,
    /// Nothing is proven.
    Inconclusive,
}

impl FailOn {
    fn is(self, verdict: Verdict) -> bool {
        matches!(
            (self, verdict),
            (Self::Regression, Verdict::Regression)
                | (Self::Tradeoff, Verdict::Tradeoff)
                | (Self::Inconclusive, Verdict::Inconclusive)
        )
    }
}

/// A run that is over, with what its folder says.
#[derive(Debug)]
pub struct Told {
    /// What sealing made.
    pub composed: Composed,
    /// The verdict of the headline, where there is one.
    pub verdict: Option<Verdict>,
}

/// Reads the sealed folder.
///
/// # Errors
/// It no longer says what was sealed.
pub(crate) fn told(run: &RunId, folder: &Folder<DiskStorage>) -> Result<Told, Failure> {
    let composed = folder.composed(run).map_err(anyhow::Error::from)?;
    let verdict = composed.judged.as_ref().and_then(|judged| judged.headline()).map(|headline| headline.verdict);
    Ok(Told { composed, verdict })
}

/// Prints the answer; as plain text with all rows where that is asked for, else with those that matter most.
///
/// # Errors
/// The folder cannot be read, or the output cannot be written.
pub(crate) fn print(
    measured: &Measured,
    told: &Told,
    out: &Path,
    (format, all_rows): (Format, bool),
    world: &mut World<'_>,
) -> Result<(), Failure> {
    let folder = out.join(measured.run.as_str());
    match format {
        Format::Markdown => write!(world.stdout, "{}", told.composed.comment)?,
        Format::Text => {
            let templates = Templates::built_in().map_err(anyhow::Error::from)?;
            let (renderer, view) = (templates.renderer(), &told.composed.view);
            let text = if all_rows { renderer.text_of_all_rows(view) } else { renderer.text(view) };
            let text = text.map_err(anyhow::Error::from)?;
            writeln!(world.stdout, "{}", text.trim_end())?;
        }
        Format::Json => {
            let value = as_json(measured, told, &folder)?;
            serde_json::to_writer_pretty(&mut *world.stdout, &value).map_err(std::io::Error::from)?;
            writeln!(world.stdout)?;
        }
    }
    if let Ended::Without(_, Some(why)) = &measured.ended {
        writeln!(world.stderr, "no verdict: {why}")?;
    }
    writeln!(world.stderr, "evidence: {} (zephyr-ab evidence verify {})", folder.display(), folder.display())?;
    Ok(())
}

/// The JSON of `judge` and the facts of the run.
fn as_json(measured: &Measured, told: &Told, folder: &Path) -> Result<Value, Failure> {
    let evidence: Value = serde_json::from_slice(&told.composed.evidence).map_err(anyhow::Error::from)?;
    let mut answer = match evidence.get("outcome") {
        Some(Value::Object(outcome)) => outcome.clone(),
        _ => Map::from_iter([("verdict".to_owned(), Value::Null)]),
    };
    let ended = match &measured.ended {
        Ended::Judged => json!({"how": "judged"}),
        Ended::Without(how, why) => json!({"how": how.key(), "why": why}),
    };
    answer.insert(
        "context".to_owned(),
        json!({
            "run": measured.run,
            "ended": ended,
            "evidence": {"folder": folder.display().to_string(), "digest": told.composed.digest},
            "view": evidence.get("view"),
        }),
    );
    Ok(Value::Object(answer))
}

/// The exit code: 1 without a verdict, 3 for a verdict that was named.
pub(in crate::command) fn exit(measured: &Measured, told: &Told, fail_on: &[FailOn]) -> Exit {
    match (&measured.ended, told.verdict) {
        (Ended::Judged, Some(verdict)) if fail_on.iter().any(|on| on.is(verdict)) => Exit::Matched,
        (Ended::Judged, Some(_)) => Exit::Done,
        _ => Exit::Failed,
    }
}
