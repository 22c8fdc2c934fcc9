//! The judgement of a folder, from the folder alone.

use domain::ports::{Judged, Look};
use stats::{Case, Outcome};

use crate::bundle::{Bundle, LOOKS};
use crate::error::EvidenceError;
use crate::gather::{Gathered, gather};
use crate::storage::Storage;

/// What judging came to.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// The case as it is written down and read again, with twelve significant digits: this is what was judged.
    pub case: Case,
    /// The outcome of that case.
    pub outcome: Outcome,
    /// Verdict and reason per treatment.
    pub judged: Judged,
    /// How the case came about.
    pub gathered: Gathered,
}

/// Judges the folder `folder` of a storage as it was at `look`. The run that goes on and whoever verifies it later call
/// this.
///
/// # Errors
/// What cannot be read, or does not fit together. Answers that are missing or broken are no error: they block the
/// verdict with their reason.
pub fn judge<S: Storage + ?Sized>(storage: &S, folder: &str, look: &Look) -> Result<Judgment, EvidenceError> {
    of(&Bundle::read(storage, folder)?, look)
}

/// The same for a folder that was read.
///
/// # Errors
/// See [`judge`].
pub fn of(bundle: &Bundle, look: &Look) -> Result<Judgment, EvidenceError> {
    let gathered = gather(bundle, look)?;
    let unusable = |e: &dyn std::fmt::Display| EvidenceError::file("arms", format!("make no case: {e}"));
    let text = stats::input::write::to_json(&gathered.case).map_err(|e| unusable(&e))?;
    let case = stats::input::parse(&text).map_err(|e| unusable(&e))?;
    let outcome = stats::judge(&case);
    let judged = Judged::of(&outcome, &bundle.plan)
        .map_err(|treatment| EvidenceError::file(LOOKS, format!("nothing was judged of {treatment}")))?;
    Ok(Judgment { case, outcome, judged, gathered })
}
