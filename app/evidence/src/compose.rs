//! evidence.json and comment.md.

use domain::ids::Digest;
use domain::ports::{How, Judged};
use domain::view::View;
use serde::Serialize;
use stats::Outcome;
use stats::input::write::Written;

use crate::bundle::{Bundle, COMMENT, ENDING, EVIDENCE};
use crate::error::EvidenceError;
use crate::judge::{self, Judgment};
use crate::sums::Sums;
use crate::templates::Templates;
use crate::view;

/// The form of evidence.json.
pub const SCHEMA: &str = "zephyr-ab.evidence.v1";
/// The version that writes it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Hexadecimal digits of the evidence digest that stand in the footer of a comment.
pub const SHOWN: usize = 12;

/// evidence.json. Numbers have twelve significant digits. Neither the comment nor its own digest is in it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    /// Digest of the templates of the comment.
    templates: &'a Digest,
    /// Digest of the plan, which is what a person agrees to.
    plan: Digest,
    /// The digest of every file that this one was made of, so that its own digest stands for all of them.
    inputs: &'a Sums,
    /// What was judged, in the input contract; null where the run ended without a verdict.
    case: Option<Written<'a>>,
    /// What came of it.
    outcome: Option<&'a Outcome>,
    /// What readers are told.
    view: &'a View,
}

/// What sealing makes of a folder.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The content of evidence.json.
    pub evidence: Vec<u8>,
    /// Its digest.
    pub digest: Digest,
    /// The content of comment.md.
    pub comment: String,
    /// What the comment was made of.
    pub view: View,
    /// Verdict and reason per treatment, where the run ended with one.
    pub judged: Option<Judged>,
}

/// Makes evidence.json and comment.md. `inputs` are the digests of all other files but sha256sums.txt.
///
/// # Errors
/// A folder without an ending, whose last judgement is another one than the ending says, or that cannot be judged.
pub fn compose(bundle: &Bundle, inputs: &Sums, templates: &Templates) -> Result<Composed, EvidenceError> {
    let ending = bundle.ending.as_ref().ok_or_else(|| EvidenceError::file(ENDING, "is missing"))?;
    if ending.run != bundle.plan.run {
        return Err(EvidenceError::file(ENDING, format!("is of {}", ending.run)));
    }
    let judgment = judgment(bundle, &ending.how)?;
    let mut view = view::view(bundle, ending, judgment.as_ref());
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        templates: templates.digest(),
        plan: bundle.plan.digest(),
        inputs,
        case: judgment.as_ref().map(|judgment| Written(&judgment.case)),
        outcome: judgment.as_ref().map(|judgment| &judgment.outcome),
        view: &view,
    };
    let mut evidence = serde_json::to_vec_pretty(&document).map_err(|e| EvidenceError::file(EVIDENCE, e))?;
    evidence.push(b'\n');
    let digest = Digest::of(&evidence);
    view.provenance.evidence = Some(shown(&digest).to_owned());
    let comment = templates.renderer.comment(&view).map_err(|e| EvidenceError::file(COMMENT, e))?.body;
    Ok(Composed { evidence, digest, comment, view, judged: judgment.map(|judgment| judgment.judged) })
}

fn judgment(bundle: &Bundle, how: &How) -> Result<Option<Judgment>, EvidenceError> {
    let How::Judged { look, judged } = how else { return Ok(None) };
    let judgment = judge::of(bundle, look)?;
    if judgment.judged != *judged {
        let said = |judged: &Judged| {
            let each = judged.treatments.iter().map(|of| format!("{} {}", of.treatment, of.reason.code()));
            each.collect::<Vec<_>>().join(", ")
        };
        let problem = format!("says {}, and the folder comes to {}", said(judged), said(&judgment.judged));
        return Err(EvidenceError::file(ENDING, problem));
    }
    Ok(Some(judgment))
}

/// The digits of a digest that a comment shows.
#[must_use]
pub fn shown(digest: &Digest) -> &str {
    digest.as_str().get(..SHOWN).unwrap_or_default()
}
