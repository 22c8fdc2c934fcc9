//! The trials of a folder, their answers read as rows.

use domain::ports::{Discard, Fate, TrialFate};
use lab::assemble::{AssembleError, LocalTrial, in_words};
use lab::supervisor::Exit;
use stats::{Event, Reason, Trial};

use crate::bundle::Bundle;

/// Answers that are no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The reason that it makes.
    pub reason: Reason,
    /// What is wrong, in words.
    pub problem: String,
}

/// A trial, whatever became of it.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// What became of it.
    pub fate: &'a TrialFate,
    /// Its answers; `None` where it said nothing that counts.
    pub answers: Option<Result<LocalTrial, Broken>>,
}

impl Seen<'_> {
    /// The trial as it is judged. A failed one is what it measured and its failure, once: how often a step failed says
    /// nothing about how often the program fails.
    #[must_use]
    pub fn trial(&self) -> Option<Result<Trial, &Broken>> {
        match (&self.fate.fate, self.answers.as_ref()?) {
            (Fate::Failed(failure), answers) => {
                let mut trial = answers.as_ref().map(|found| found.trial.clone()).unwrap_or_default();
                trial.events.set(Event::Oom, u64::from(failure.oom));
                trial.events.set(Event::AppFailure, u64::from(!failure.oom));
                Some(Ok(trial))
            }
            (_, Ok(found)) => Some(Ok(found.trial.clone())),
            (_, Err(broken)) => Some(Err(broken)),
        }
    }
}

/// Every trial of a run, in the order in which its fate was known.
#[must_use]
pub fn seen(bundle: &Bundle) -> Vec<Seen<'_>> {
    let read = |fate: &TrialFate| lab::assemble::local(bundle.answers(fate)).map_err(|e| broken(&e));
    let said = |fate: &TrialFate| matches!(fate.fate, Fate::Counted | Fate::Failed(_));
    bundle.fates.iter().map(|fate| Seen { fate, answers: said(fate).then(|| read(fate)) }).collect()
}

/// Lines of a log that are shown.
const SAID: usize = 8;

/// How a trial that did not end well ended, and the last lines that it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Such as `step sort exited with 1`.
    pub what: String,
    /// The last lines.
    pub said: Vec<String>,
}

/// How a trial ended that did not end well: the step that was the reason, or else what is known of the trial. `None`
/// where nothing went wrong with it, or where it was only told to stop.
#[must_use]
pub fn bad(bundle: &Bundle, fate: &TrialFate) -> Option<Bad> {
    let (otherwise, text) = match &fate.fate {
        Fate::Counted => (None, ""),
        Fate::Failed(failure) => (Some("failed"), failure.text.as_str()),
        Fate::Discarded(Discard::Infrastructure(text) | Discard::Refused(text)) => (Some("failed"), text.as_str()),
        Fate::Discarded(Discard::TimeLimit) => (Some("the time limit was reached"), ""),
        Fate::Discarded(_) => return None,
    };
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = lines.next().map(|line| line.trim_end_matches(':').to_owned());
    let mut said: Vec<String> = lines.map(str::to_owned).collect();
    let answers = lab::assemble::local(bundle.answers(fate)).ok();
    let ended = |exit: &Exit| matches!(exit, Exit::Code(0) | Exit::Stopped(_));
    let step = answers.and_then(|found| found.steps.into_iter().enumerate().find(|(_, step)| !ended(&step.exit)));
    let what = match &step {
        Some((_, step)) => format!("step {} {}", step.step, in_words(&step.exit)),
        None => first.or(otherwise.map(str::to_owned))?,
    };
    if let (Some((index, _)), true) = (&step, said.is_empty()) {
        let end = |end: &str| {
            let place = format!("{:02}-", index + 1);
            let log = bundle.logs(fate).iter().find(|log| log.name.starts_with(&place) && log.name.ends_with(end))?;
            let text = String::from_utf8_lossy(&log.bytes).trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let text = end(".stderr").or_else(|| end(".stdout")).unwrap_or_default();
        said = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    }
    said.drain(..said.len().saturating_sub(SAID));
    Some(Bad { what, said })
}

/// What answers that cannot be read come to. Never a guess: a file that is not there, or that measured nothing, is rows
/// that are missing; one of another form is a form that has changed.
fn broken(error: &AssembleError) -> Broken {
    let reason = match error {
        AssembleError::Missing(_) | AssembleError::NoStep => Reason::RowsMissing,
        AssembleError::Twice(_) => Reason::DuplicateRows,
        _ => Reason::SchemaDrift,
    };
    Broken { reason, problem: error.to_string() }
}
