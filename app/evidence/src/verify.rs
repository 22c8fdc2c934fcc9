//! Whether a sealed folder still says what it said, and whether that follows from its answers.
//!
//! The digest of every input stands twice: in sha256sums.txt and in evidence.json, whose own digest stands in
//! sha256sums.txt and in the footer of the comment. So when something does not fit, two of three agree, and the third is
//! the file that has changed. Then the verdict is computed again from the answers, by the functions that computed it
//! first: evidence.json and comment.md must be the same byte for byte, and from another version or with other templates
//! the case, the numbers and the verdict must be.

use std::collections::BTreeSet;

use domain::ids::Digest;
use domain::plan::suite_digest;
use serde_json::Value;
use stats::digits::twelve;

use crate::bundle::{Bundle, COMMENT, EVIDENCE, LOOKS, MADE, PLAN, REPOSITORY, SUITE, SUMS};
use crate::compose::{Composed, SCHEMA, VERSION, compose, shown};
use crate::error::EvidenceError;
use crate::folder::line_of;
use crate::storage::{Dir, Storage};
use crate::sums::{self, Sums};
use crate::templates::Templates;
use crate::{jsonl, judge};

/// Something that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file that it is about.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// How much of a folder could be compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It was written by this version with these templates: everything.
    Bytes,
    /// By another version or with other templates: case, numbers and verdict.
    Numbers {
        /// The version that wrote it.
        version: String,
        /// Whether its templates were others.
        templates: bool,
    },
    /// Nothing was computed again, because the files are not what they were.
    Nothing,
}

/// What verifying came to.
#[derive(Debug)]
pub struct Verified {
    /// The files of the folder, by name.
    pub files: Vec<String>,
    /// What was compared.
    pub compared: Compared,
    /// What does not fit; the folder is fine where this is empty.
    pub problems: Vec<Problem>,
    /// What the folder comes to, where it could be computed.
    pub composed: Option<Composed>,
}

impl Verified {
    /// Nothing is wrong.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What evidence.json says of the files it was made of.
struct Said {
    version: String,
    templates: String,
    inputs: Sums,
    document: Value,
}

/// Verifies the folder that is the root of `storage`.
///
/// # Errors
/// [`EvidenceError::NotEvidence`] for what is no finished evidence folder; what the system says.
pub fn verify<S: Storage + ?Sized>(storage: &S, templates: &Templates) -> Result<Verified, EvidenceError> {
    let dir = Dir::new(storage, "");
    // A file, or nothing at all, is no folder with nothing in it, but is refused alike.
    let folder = storage.is_folder("").map_err(|e| EvidenceError::io(".", e))?;
    let listed = if folder { dir.list() } else { Ok(Vec::new()) };
    let files = match listed {
        Err(EvidenceError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let there = |name: &str| files.iter().any(|file| file == name);
    let sealed = MADE.iter().filter(|name| there(name)).count();
    if sealed == 0 {
        let open = there(PLAN);
        let why = if open { "the run goes on, or was broken off: it is not sealed" } else { "not an evidence folder" };
        return Err(EvidenceError::NotEvidence(format!("{why} (no {EVIDENCE}, {COMMENT} or {SUMS})")));
    }
    let mut actual = Sums::new();
    for file in &files {
        actual.insert(file.clone(), Digest::of(&dir.need(file)?));
    }
    let mut verified = Verified { files, compared: Compared::Nothing, problems: Vec::new(), composed: None };
    let said = said(&dir, &mut verified.problems);
    hashes(&dir, &actual, said.as_ref(), templates, &mut verified.problems);
    if verified.is_fine()
        && let Some(said) = said
    {
        again(&dir, &actual, &said, templates, &mut verified);
    }
    verified.problems.sort();
    verified.problems.dedup();
    Ok(verified)
}

fn problem(problems: &mut Vec<Problem>, file: &str, what: impl Into<String>) {
    problems.push(Problem { file: file.to_owned(), what: what.into() });
}

/// evidence.json, where it is one.
fn said<S: Storage + ?Sized>(dir: &Dir<'_, S>, problems: &mut Vec<Problem>) -> Option<Said> {
    let read = || -> Result<Said, String> {
        let bytes = dir.need(EVIDENCE).map_err(|_| "is missing".to_owned())?;
        let document: Value = serde_json::from_slice(&bytes).map_err(|e| jsonl::brief(&e))?;
        let text = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        match text("schema").as_deref() {
            Some(SCHEMA) => {}
            Some(other) => return Err(format!("has the schema {other:.40?}; this version reads {SCHEMA}")),
            None => return Err("has no schema".to_owned()),
        }
        let inputs = document.get("inputs").cloned().unwrap_or_default();
        let inputs = serde_json::from_value(inputs).map_err(|e| format!("inputs: {}", jsonl::brief(&e)))?;
        let (Some(version), Some(templates)) = (text("version"), text("templates")) else {
            return Err("has no version or no templates".to_owned());
        };
        Ok(Said { version, templates, inputs, document })
    };
    read().map_err(|what| problem(problems, EVIDENCE, what)).ok()
}

/// Every file against the two places that know its digest.
fn hashes<S: Storage + ?Sized>(
    dir: &Dir<'_, S>,
    actual: &Sums,
    said: Option<&Said>,
    templates: &Templates,
    problems: &mut Vec<Problem>,
) {
    let listed = match dir.need(SUMS).map(|bytes| sums::read(&bytes)) {
        Ok(Ok(listed)) => Some(listed),
        Ok(Err((line, why))) => {
            problem(problems, SUMS, format!("line {line} {why}"));
            None
        }
        Err(_) => {
            problem(problems, SUMS, "is missing");
            None
        }
    };
    let inputs = said.map(|said| &said.inputs);
    let names: BTreeSet<&String> =
        [inputs, listed.as_ref(), Some(actual)].into_iter().flatten().flat_map(Sums::keys).collect();
    for name in names.into_iter().filter(|name| !MADE.contains(&name.as_str())) {
        let places = [(EVIDENCE, Entry::of(inputs, name)), (SUMS, Entry::of(listed.as_ref(), name))];
        vote(name, Entry::of(Some(actual), name), places, problems);
    }
    if listed.as_ref().is_some_and(|listed| listed.contains_key(SUMS)) {
        problem(problems, SUMS, "lists itself");
    }
    let footer = dir.read(COMMENT).ok().flatten().map(|bytes| footer(&bytes));
    evidence(actual, listed.as_ref(), footer, problems);
    if let Some(listed) = &listed {
        match (actual.get(COMMENT), listed.get(COMMENT)) {
            (None, _) => problem(problems, COMMENT, "is missing"),
            (Some(_), None) => problem(problems, SUMS, format!("does not list {COMMENT}")),
            (Some(one), Some(other)) if one != other => comment_changed(dir, said, templates, problems),
            _ => {}
        }
    } else if !actual.contains_key(COMMENT) {
        problem(problems, COMMENT, "is missing");
    }
}

/// What a place says of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry<'a> {
    /// The place cannot be read.
    Unreadable,
    /// It does not name the file.
    Absent,
    /// Its digest.
    Digest(&'a Digest),
}

impl<'a> Entry<'a> {
    fn of(sums: Option<&'a Sums>, name: &str) -> Self {
        sums.map_or(Self::Unreadable, |sums| sums.get(name).map_or(Self::Absent, Self::Digest))
    }
}

/// Two of three agree: the file itself, what evidence.json says of it, and what sha256sums.txt says.
fn vote(name: &str, file: Entry<'_>, places: [(&str, Entry<'_>); 2], problems: &mut Vec<Problem>) {
    let readable = places.iter().filter(|(_, entry)| *entry != Entry::Unreadable);
    let wrong: Vec<_> = readable.clone().filter(|(_, entry)| *entry != file).collect();
    let right = readable.count() - wrong.len();
    for (place, entry) in &wrong {
        // Where the two places agree against the file, it is the file that has changed.
        let agree = wrong.iter().all(|(_, other)| other == entry);
        let (about, what) = match (right == 0 && agree, entry, file) {
            (true, Entry::Absent, _) => (name, "does not belong here".to_owned()),
            (true, _, Entry::Absent) => (name, "is missing".to_owned()),
            (true, ..) => (name, "has changed".to_owned()),
            (false, Entry::Absent, _) => (*place, format!("does not name {name}")),
            (false, _, Entry::Absent) => (*place, format!("names {name}, which is not there")),
            (false, ..) => (*place, format!("has another digest of {name} than the file")),
        };
        problem(problems, about, what);
    }
}

/// evidence.json against its digest in sha256sums.txt and the digits in the comment.
fn evidence(actual: &Sums, listed: Option<&Sums>, footer: Option<Vec<String>>, problems: &mut Vec<Problem>) {
    let Some(digest) = actual.get(EVIDENCE) else { return };
    let in_sums = listed.map(|listed| listed.get(EVIDENCE) == Some(digest));
    let in_footer = footer.map(|digits| digits.iter().any(|d| d == shown(digest)));
    match (in_sums, in_footer) {
        (Some(false), Some(true)) => problem(problems, SUMS, format!("has another digest of {EVIDENCE} than the file")),
        (Some(true), Some(false)) => problem(problems, COMMENT, "has another evidence digest in its footer"),
        (Some(false), _) | (None, Some(false)) => problem(problems, EVIDENCE, "has changed"),
        _ => {}
    }
}

/// Whatever could be the shown digits of a digest.
fn footer(comment: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(comment);
    let last = text.rsplit("---").next().unwrap_or_default();
    last.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() == crate::compose::SHOWN)
        .map(str::to_owned)
        .collect()
}

/// The comment is not what sha256sums.txt says. Where it can be made again, that tells which of the two has changed.
fn comment_changed<S: Storage + ?Sized>(
    dir: &Dir<'_, S>,
    said: Option<&Said>,
    templates: &Templates,
    problems: &mut Vec<Problem>,
) {
    let made_again = || -> Option<bool> {
        let said = said?;
        if said.version != VERSION || said.templates != templates.digest().as_str() {
            return None;
        }
        let composed = compose(&Bundle::of(dir).ok()?, &said.inputs, templates).ok()?;
        Some(composed.comment.as_bytes() == dir.read(COMMENT).ok()??.as_slice())
    };
    match made_again() {
        Some(true) => problem(problems, SUMS, format!("has another digest of {COMMENT} than the file")),
        Some(false) => problem(problems, COMMENT, "has changed"),
        None => problem(problems, COMMENT, format!("is not what {SUMS} says; one of the two has changed")),
    }
}

/// The verdict again from the answers.
fn again<S: Storage + ?Sized>(
    dir: &Dir<'_, S>,
    actual: &Sums,
    said: &Said,
    templates: &Templates,
    verified: &mut Verified,
) {
    let inputs: Sums =
        actual.iter().filter(|(name, _)| !MADE.contains(&name.as_str())).map(|(n, d)| (n.clone(), d.clone())).collect();
    let bundle = match Bundle::of(dir) {
        Ok(bundle) => bundle,
        Err(error) => return unusable(&mut verified.problems, error),
    };
    let repository = actual.get(REPOSITORY);
    let suite = actual.get(SUITE).map(|suite| suite_digest(suite, repository));
    if suite.is_some_and(|digest| digest != bundle.plan.suite_digest) {
        let with = if repository.is_some() { format!(", with {REPOSITORY}") } else { String::new() };
        problem(&mut verified.problems, SUITE, format!("is not the suite that {PLAN} names{with}"));
    }
    looks(&bundle, &mut verified.problems);
    retried(&bundle, &mut verified.problems);
    let composed = match compose(&bundle, &inputs, templates) {
        Ok(composed) => composed,
        Err(error) => return unusable(&mut verified.problems, error),
    };
    let (same_version, same_templates) = (said.version == VERSION, said.templates == templates.digest().as_str());
    verified.compared = if same_version && same_templates {
        Compared::Bytes
    } else {
        Compared::Numbers { version: said.version.clone(), templates: !same_templates }
    };
    let problems = &mut verified.problems;
    let ours: Value = serde_json::from_slice(&composed.evidence).unwrap_or_default();
    let bytes = verified.compared == Compared::Bytes;
    for part in ["case", "outcome"] {
        let (now, then) = (ours.get(part).unwrap_or(&Value::Null), said.document.get(part).unwrap_or(&Value::Null));
        if let Some(difference) = differs(part, then, now, bytes) {
            problem(problems, EVIDENCE, difference);
        }
    }
    if bytes && problems.is_empty() {
        let then = dir.read(EVIDENCE).ok().flatten().unwrap_or_default();
        if then != composed.evidence {
            let difference = differs("", &said.document, &ours, true);
            problem(problems, EVIDENCE, difference.unwrap_or_else(|| "is not written as it would be now".to_owned()));
        }
        let comment = dir.read(COMMENT).ok().flatten().unwrap_or_default();
        if comment != composed.comment.as_bytes() {
            problem(problems, COMMENT, first_line(&comment, composed.comment.as_bytes()));
        }
    }
    verified.composed = Some(composed);
}

/// Every look again: each must have come to what is written.
fn looks(bundle: &Bundle, problems: &mut Vec<Problem>) {
    looks_of(bundle, LOOKS, problems);
}

fn looks_of(bundle: &Bundle, file: &str, problems: &mut Vec<Problem>) {
    for (index, known) in bundle.looks.iter().enumerate() {
        match judge::of(bundle, &known.look) {
            Ok(judgment) if line_of(&known.look, &judgment) == *known => {}
            Ok(_) => problem(problems, file, format!("line {} is not what its rounds come to", index + 1)),
            Err(error) => unusable(problems, error),
        }
    }
}

/// What a run took over from the one that it retried, again from what that one left, and that one's looks: its whole
/// folder is there.
fn retried(bundle: &Bundle, problems: &mut Vec<Problem>) {
    for run in bundle.runs() {
        let Some(retry) = &run.plan.retry else { continue };
        let own = run.plan.run == bundle.plan.run;
        let file = if own { PLAN.to_owned() } else { format!("earlier/{}/{PLAN}", run.plan.run) };
        let found = bundle.earlier.iter().position(|earlier| run.plan.continues.as_ref() == Some(&earlier.plan.run));
        let Some(at) = found else {
            problem(problems, &file, "retries a run that is not here");
            continue;
        };
        let mut before = bundle.earlier[at].clone();
        before.earlier = bundle.earlier[..at].to_vec();
        looks_of(&before, &format!("earlier/{}/{LOOKS}", before.plan.run), problems);
        let taken = crate::retry::of(&before, &run.plan.run, !retry.adopts.is_empty());
        if taken.retry != *retry || taken.rounds != run.plan.earlier_rounds {
            problem(problems, &file, format!("takes over something else than {} left", before.plan.run));
        }
        let (then, now) = (&before.plan, &run.plan);
        // An episode whose looks were begun is gone on with.
        let episode = then.episode == now.episode || (retry.looked == 0 && then.episode < now.episode);
        if (&then.looks, &then.ledger) != (&now.looks, &now.ledger) || !episode {
            problem(problems, &file, format!("does not go on with the looks of {}", then.run));
        }
    }
}

fn unusable(problems: &mut Vec<Problem>, error: EvidenceError) {
    match error {
        EvidenceError::File { file, problem: what }
        | EvidenceError::NotYet { file, problem: what }
        | EvidenceError::Conflict { file, problem: what } => {
            problem(problems, &file, what);
        }
        other => problem(problems, EVIDENCE, other.to_string()),
    }
}

/// The first place where two values differ once numbers have twelve digits. What only the second one has is a
/// difference where `exact`: another version may say more.
#[must_use]
pub fn differs(place: &str, then: &Value, now: &Value, exact: bool) -> Option<String> {
    let at = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match (then, now) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => differs(&at(key), a, b, exact),
                (Some(a), None) => Some(format!("{} is {} and should not be there", at(key), brief(a))),
                (None, Some(b)) if exact => Some(format!("{} is not there and should be {}", at(key), brief(b))),
                (None, _) => None,
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| differs(&format!("{place}[{i}]"), a, b, exact))
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64().map(twelve) == b.as_f64().map(twelve) => None,
        (a, b) if a == b => None,
        (a, b) => Some(format!("{place} is {} and should be {}", brief(a), brief(b))),
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 { text.chars().take(60).chain(['…']).collect() } else { text }
}

fn first_line(then: &[u8], now: &[u8]) -> String {
    let (then, now) = (String::from_utf8_lossy(then), String::from_utf8_lossy(now));
    let line = then.lines().zip(now.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or_else(|| then.lines().count().min(now.lines().count()));
    format!("line {} is not what the answers come to", line + 1)
}
