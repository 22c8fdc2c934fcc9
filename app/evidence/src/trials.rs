//! The trials of a folder, their answers read as rows.

use domain::ports::{Fate, TrialFate};
use lab::assemble::{AssembleError, LocalTrial};
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
