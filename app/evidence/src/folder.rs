//! The folder of a run while it goes on, and its sealing.
//!
//! A run's files are in `<run id>.open` until it is sealed. Sealing writes ending.json, evidence.json, comment.md and
//! sha256sums.txt, in this order, and then renames the folder to `<run id>`; whenever a crash interrupts it, it is done
//! again from the start and comes to the same bytes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::arms::Role;
use domain::ids::{Digest, RunId};
use domain::plan::Plan;
use domain::ports::{Answer, Ending, How, Judged, Look, LookKind, Records, RecordsError, Sealed, TrialFate};
use domain::rounds::TrialName;
use serde::Serialize;
use stats::Metric;

use crate::bundle::{
    Bundle, CALIBRATION, COMMENT, ENDING, EVIDENCE, LOOKS, LookLine, MADE, PLAN, REDACTED, SUITE, SUMS, Spent, TRIALS,
};
use crate::compose::{Composed, compose};
use crate::error::EvidenceError;
use crate::jsonl;
use crate::judge::{self, Judgment};
use crate::name::{check, trial_folder};
use crate::scan::{Found, Scanner};
use crate::spent::TrialCpu;
use crate::storage::{Dir, Storage, UNFINISHED};
use crate::sums::{self, Sums};
use crate::templates::Templates;

/// Largest answer, bytes.
pub const LARGEST_ANSWER: usize = 16 << 20;
/// Largest file of our own, bytes.
pub const LARGEST_OWN: usize = 64 << 20;
/// Most answers of a trial.
pub const MOST_ANSWERS: usize = 2000;

/// The folders of runs, side by side in one storage.
pub struct Folder<S> {
    storage: S,
    templates: Templates,
    scanner: Scanner,
    /// Files are read before they are added to: one at a time.
    writing: Mutex<()>,
}

#[derive(Serialize)]
struct RedactedLine<'a> {
    file: &'a str,
    found: &'a Found,
}

/// Where a run's files are.
enum Place {
    Nowhere,
    Open,
    Sealed,
}

impl<S: Storage> Folder<S> {
    /// Folders in `storage`.
    pub fn new(storage: S, templates: Templates, scanner: Scanner) -> Self {
        Self { storage, templates, scanner, writing: Mutex::new(()) }
    }

    /// The storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The storage, and nothing else.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The name of the folder of a run that goes on.
    #[must_use]
    pub fn open_name(run: &RunId) -> String {
        format!("{run}.open")
    }

    /// The comment of a sealed run.
    ///
    /// # Errors
    /// It is not there.
    pub fn comment(&self, run: &RunId) -> Result<String, EvidenceError> {
        let bytes = Dir::new(&self.storage, run.as_str()).need(COMMENT)?;
        String::from_utf8(bytes).map_err(|_| EvidenceError::file(COMMENT, "is not text in UTF-8"))
    }

    /// What sealing made, made again: the view for other texts, the verdict.
    ///
    /// # Errors
    /// It is not sealed, or no longer comes to the same.
    pub fn composed(&self, run: &RunId) -> Result<Composed, EvidenceError> {
        let dir = Dir::new(&self.storage, run.as_str());
        compose(&Bundle::of(&dir)?, &digests(&dir)?, &self.templates)
    }

    /// What can be said of a run that goes on.
    ///
    /// # Errors
    /// Its folder is not there, or cannot be read.
    pub fn live(&self, run: &RunId, state: domain::view::State) -> Result<domain::view::View, EvidenceError> {
        let _one = self.lock();
        Ok(crate::view::live(&Bundle::of(&Dir::new(&self.storage, Self::open_name(run)))?, state))
    }

    /// What the trials of a run have used, as far as they said so.
    ///
    /// # Errors
    /// Its folder is not there, or cannot be read.
    pub fn cpu(&self, run: &RunId) -> Result<Vec<TrialCpu>, EvidenceError> {
        let _one = self.lock();
        let (dir, _) = self.dir(run)?;
        Ok(crate::spent::cpu(&Bundle::of(&dir)?))
    }

    /// Adds the text of the suite, before the run is sealed.
    ///
    /// # Errors
    /// Another text is there, or it holds a secret.
    pub fn suite(&self, run: &RunId, text: &[u8]) -> Result<(), EvidenceError> {
        self.attach(run, SUITE, text)
    }

    /// Adds a file that stands beside the suite and belongs to it, before the run is sealed.
    ///
    /// # Errors
    /// Another text is there, it holds a secret, or its name is none that a file of the folder may have.
    pub fn beside(&self, run: &RunId, name: &str, text: &[u8]) -> Result<(), EvidenceError> {
        crate::name::check(name).map_err(|why| EvidenceError::file(name, why))?;
        self.attach(run, name, text)
    }

    /// Adds the calibration file that the plan was made with, before the run is sealed.
    ///
    /// # Errors
    /// Another one is there, or it holds a secret.
    pub fn calibration(&self, run: &RunId, bytes: &[u8]) -> Result<(), EvidenceError> {
        self.attach(run, CALIBRATION, bytes)
    }

    fn attach(&self, run: &RunId, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        let _one = self.lock();
        let bytes = self.ours(name, bytes)?;
        let (dir, sealed) = self.dir(run)?;
        once(&dir, name, bytes, sealed)
    }

    /// Copies what a run needs of the sealed run that it continues, and of those that that one continued: plans,
    /// fates, looks, endings, and the answers of the trials that were judged. Returns the number of their rounds.
    ///
    /// # Errors
    /// `from` is not a sealed folder with a verdict, or other content is there.
    pub fn continues<F: Storage + ?Sized>(&self, run: &RunId, from: &F) -> Result<u32, EvidenceError> {
        self.takes(run, from, false)
    }

    /// Copies what a run needs of the sealed run that it retries, which need have no verdict: the whole of its answers, so
    /// that its looks can be taken again. Of the runs before that, what is there. Returns the number of their rounds.
    ///
    /// # Errors
    /// `from` is not a sealed folder, or other content is there.
    pub fn retries<F: Storage + ?Sized>(&self, run: &RunId, from: &F) -> Result<u32, EvidenceError> {
        self.takes(run, from, true)
    }

    fn takes<F: Storage + ?Sized>(&self, run: &RunId, from: &F, retried: bool) -> Result<u32, EvidenceError> {
        let _one = self.lock();
        let source = Dir::new(from, "");
        if source.read(SUMS)?.is_none() {
            return Err(EvidenceError::NotEvidence("only a finished run can be continued".to_owned()));
        }
        let bundle = Bundle::of(&source)?;
        let (dir, sealed) = self.dir(run)?;
        let mut rounds = 0;
        for earlier in bundle.runs() {
            let own = earlier.plan.run == bundle.plan.run;
            let id = &earlier.plan.run;
            let whole = if own { retried } else { bundle.is_retried(id) };
            let look = match earlier.ending.as_ref().map(|ending| &ending.how) {
                _ if whole => crate::retry::look(earlier),
                Some(How::Judged { look, .. }) => look.clone(),
                _ => {
                    return Err(EvidenceError::NotEvidence(format!(
                        "{id} ended without a verdict and cannot be continued"
                    )));
                }
            };
            rounds += look.rounds.len();
            let source = if own { source.sub("") } else { source.sub(&format!("earlier/{id}")) };
            let judged = |fate: &&TrialFate| {
                let round = (fate.name.round, fate.name.replacement);
                look.rounds.iter().any(|c| (c.round, c.replacement) == round) || look.confirmations.contains(&fate.name)
            };
            let folders: Vec<String> =
                earlier.fates.iter().filter(judged).map(|fate| trial_folder(&fate.name, &fate.role) + "/").collect();
            for file in source.list()? {
                let needed = [PLAN, TRIALS, LOOKS, ENDING].contains(&file.as_str())
                    || (whole && file.starts_with("arms/"))
                    || folders.iter().any(|folder| file.starts_with(folder));
                if needed {
                    once(&dir, &format!("earlier/{id}/{file}"), &source.need(&file)?, sealed)?;
                }
            }
        }
        u32::try_from(rounds).map_err(|_| EvidenceError::file(LOOKS, "has too many rounds"))
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // It guards no data.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, run: &RunId) -> Result<Place, EvidenceError> {
        let there = |name: &str| self.storage.is_folder(name).map_err(|e| EvidenceError::io(name, e));
        Ok(if there(run.as_str())? {
            Place::Sealed
        } else if there(&Self::open_name(run))? {
            Place::Open
        } else {
            Place::Nowhere
        })
    }

    /// The folder of a run, and whether it is sealed: then nothing is added, and what is there already is fine.
    fn dir(&self, run: &RunId) -> Result<(Dir<'_, S>, bool), EvidenceError> {
        let sealed = matches!(self.place(run)?, Place::Sealed);
        let name = if sealed { run.to_string() } else { Self::open_name(run) };
        Ok((Dir::new(&self.storage, name), sealed))
    }

    /// Content of our own: never with a secret.
    fn ours<'b>(&self, name: &str, bytes: &'b [u8]) -> Result<&'b [u8], EvidenceError> {
        if bytes.len() > LARGEST_OWN {
            return Err(EvidenceError::file(name, format!("has {} bytes; allowed: {LARGEST_OWN}", bytes.len())));
        }
        match self.scanner.find(bytes) {
            Some(kind) => {
                Err(EvidenceError::file(name, format!("holds what looks like a secret ({kind}); not written")))
            }
            None => Ok(bytes),
        }
    }

    /// A line that repeats what others said: without their secrets.
    fn line(&self, name: &str, value: &impl Serialize) -> Result<Vec<u8>, EvidenceError> {
        let line = serde_json::to_vec(value).map_err(|e| EvidenceError::file(name, e))?;
        Ok(self.scanner.redact(&line).map_or(line, |(clean, _)| clean))
    }

    fn open_run(&self, plan: &Plan) -> Result<(), EvidenceError> {
        let _one = self.lock();
        plan.check().map_err(|e| EvidenceError::file(PLAN, e))?;
        let mut bytes = serde_json::to_vec_pretty(plan).map_err(|e| EvidenceError::file(PLAN, e))?;
        bytes.push(b'\n');
        let (dir, sealed) = self.dir(&plan.run)?;
        once(&dir, PLAN, self.ours(PLAN, &bytes)?, sealed)
    }

    fn add_answers(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), EvidenceError> {
        let _one = self.lock();
        let (dir, sealed) = self.dir(&trial.run)?;
        dir.need(PLAN)?;
        let folder = trial_folder(trial, role);
        if answers.len() > MOST_ANSWERS {
            return Err(EvidenceError::file(folder, format!("has {} answers; allowed: {MOST_ANSWERS}", answers.len())));
        }
        for answer in answers {
            check(&answer.name).map_err(|e| EvidenceError::file(&folder, e))?;
            if answer.bytes.len() > LARGEST_ANSWER {
                let problem = format!("has {} bytes; allowed: {LARGEST_ANSWER}", answer.bytes.len());
                return Err(EvidenceError::file(format!("{folder}/{}", answer.name), problem));
            }
        }
        for answer in answers {
            let file = format!("{folder}/{}", answer.name);
            match self.scanner.redact(&answer.bytes) {
                None => once(&dir, &file, &answer.bytes, sealed)?,
                Some((clean, found)) => {
                    // Written down first: a file is never changed in silence.
                    let line = self.line(REDACTED, &RedactedLine { file: &file, found: &found })?;
                    add_line(&dir, REDACTED, &line, sealed)?;
                    once(&dir, &file, &clean, sealed)?;
                }
            }
        }
        Ok(())
    }

    fn add_fate(&self, fate: &TrialFate) -> Result<(), EvidenceError> {
        let _one = self.lock();
        let (dir, sealed) = self.dir(&fate.name.run)?;
        dir.need(PLAN)?;
        let line = self.line(TRIALS, fate)?;
        let known: Vec<TrialFate> = lines(&dir, TRIALS)?;
        match known.iter().find(|known| known.name == fate.name) {
            None => add_line(&dir, TRIALS, &line, sealed),
            Some(known) if self.line(TRIALS, known)? == line => Ok(()),
            Some(_) => Err(EvidenceError::conflict(TRIALS, format!("{} has another fate", fate.name))),
        }
    }

    fn judge_look(&self, look: &Look) -> Result<Judged, EvidenceError> {
        let _one = self.lock();
        let (dir, sealed) = self.dir(&look.run)?;
        let bundle = Bundle::of(&dir)?;
        let judgment = judge::of(&bundle, look)?;
        let line = line_of(look, &judgment);
        match bundle.looks.iter().find(|known| is_again(&known.look, look)) {
            Some(known) if known.judged == line.judged && (Look { at: look.at, ..known.look.clone() }) == *look => {}
            Some(_) => return Err(EvidenceError::conflict(LOOKS, "this look was taken before, of other rounds")),
            None => {
                let bytes = serde_json::to_vec(&line).map_err(|e| EvidenceError::file(LOOKS, e))?;
                add_line(&dir, LOOKS, self.ours(LOOKS, &bytes)?, sealed)?;
            }
        }
        Ok(judgment.judged)
    }

    fn seal_run(&self, ending: &Ending) -> Result<Digest, EvidenceError> {
        let _one = self.lock();
        let run = &ending.run;
        let mut bytes = self.line(ENDING, ending)?;
        bytes.push(b'\n');
        if let Place::Sealed = self.place(run)? {
            return self.sealed_before(run, &bytes);
        }
        let dir = Dir::new(&self.storage, Self::open_name(run));
        dir.need(PLAN)?;
        for file in dir.list()? {
            if file.ends_with(UNFINISHED) {
                dir.remove(&file)?;
            }
        }
        for name in [TRIALS, LOOKS, REDACTED] {
            let Some(bytes) = dir.read(name)? else { continue };
            let (_, keep) = jsonl::complete(&bytes);
            if keep < bytes.len() {
                dir.append(name, keep, b"")?;
            }
        }
        once(&dir, ENDING, &bytes, false)?;
        let mut sums = digests(&dir)?;
        let made = compose(&Bundle::of(&dir)?, &sums, &self.templates)?;
        for (name, bytes) in [(EVIDENCE, made.evidence.as_slice()), (COMMENT, made.comment.as_bytes())] {
            dir.write(name, self.ours(name, bytes)?)?;
            sums.insert(name.to_owned(), Digest::of(bytes));
        }
        dir.write(SUMS, sums::write(&sums).as_bytes())?;
        self.storage.rename(&Self::open_name(run), run.as_str()).map_err(|e| EvidenceError::io(run.as_str(), e))?;
        Ok(made.digest)
    }

    /// A run that is sealed already: the same ending of the same answers is the same digest.
    fn sealed_before(&self, run: &RunId, ending: &[u8]) -> Result<Digest, EvidenceError> {
        let dir = Dir::new(&self.storage, run.as_str());
        if dir.need(ENDING)? != ending {
            return Err(EvidenceError::conflict(run.as_str(), "is sealed with another ending"));
        }
        let sums = sums::read(&dir.need(SUMS)?)
            .map_err(|(line, why)| EvidenceError::file(SUMS, format!("line {line} {why}")))?;
        let digest = Digest::of(&dir.need(EVIDENCE)?);
        if sums.get(EVIDENCE) != Some(&digest) {
            return Err(EvidenceError::conflict(run.as_str(), "is sealed, and its evidence.json has changed since"));
        }
        Ok(digest)
    }
}

/// The line of a look that was taken.
pub(crate) fn line_of(look: &Look, judgment: &Judgment) -> LookLine {
    LookLine { look: look.clone(), spent: spent(look, judgment), judged: judgment.judged.clone() }
}

/// What a look spends, by metric.
fn spent(look: &Look, judgment: &Judgment) -> std::collections::BTreeMap<String, Spent> {
    if !matches!(look.kind, LookKind::Declared { .. }) {
        return std::collections::BTreeMap::new();
    }
    let of = |metric: Metric| {
        let (confirm, equivalence) = judgment.case.config.alphas(metric);
        let twelve = stats::digits::twelve;
        (metric.key().to_owned(), Spent { confirm: twelve(confirm), equivalence: twelve(equivalence) })
    };
    Metric::ALL.map(of).into()
}

/// Whether two looks are one that was asked for twice: a declared look is taken once, whenever that is.
fn is_again(known: &Look, look: &Look) -> bool {
    match (known.kind, look.kind) {
        (LookKind::Declared { index }, LookKind::Declared { index: other }) => index == other,
        _ => known == look,
    }
}

/// Writes a file, or finds the same content there.
fn once<S: Storage + ?Sized>(dir: &Dir<'_, S>, name: &str, bytes: &[u8], sealed: bool) -> Result<(), EvidenceError> {
    match dir.read(name)? {
        Some(known) if known == bytes => Ok(()),
        Some(_) => Err(EvidenceError::conflict(name, "is there with other content; answers are only added")),
        None if sealed => Err(EvidenceError::conflict(name, "is new, and the folder is sealed")),
        None => dir.write(name, bytes),
    }
}

/// Adds a line, unless it is there. A line that a crash left incomplete is cut off first.
fn add_line<S: Storage + ?Sized>(dir: &Dir<'_, S>, name: &str, line: &[u8], sealed: bool) -> Result<(), EvidenceError> {
    let bytes = dir.read(name)?.unwrap_or_default();
    let (known, keep) = jsonl::complete(&bytes);
    if known.contains(&line) {
        return Ok(());
    }
    if sealed {
        return Err(EvidenceError::conflict(name, "would get a new line, and the folder is sealed"));
    }
    dir.append(name, keep, &[line, b"\n"].concat())
}

fn lines<S: Storage + ?Sized, T: serde::de::DeserializeOwned>(
    dir: &Dir<'_, S>,
    name: &str,
) -> Result<Vec<T>, EvidenceError> {
    let bytes = dir.read(name)?.unwrap_or_default();
    jsonl::read(&bytes).map_err(|(line, why)| EvidenceError::file(name, format!("line {line}: {why}")))
}

/// The digests of all files but those that sealing makes.
pub(crate) fn digests<S: Storage + ?Sized>(dir: &Dir<'_, S>) -> Result<Sums, EvidenceError> {
    let inputs = dir.list()?.into_iter().filter(|name| !MADE.contains(&name.as_str()));
    inputs.map(|name| Ok((name.clone(), Digest::of(&dir.need(&name)?)))).collect()
}

impl<S: Storage> Records for Folder<S> {
    fn open(&self, plan: &Plan) -> Result<(), RecordsError> {
        Ok(self.open_run(plan)?)
    }

    fn answer(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), RecordsError> {
        Ok(self.add_answers(trial, role, answers)?)
    }

    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        Ok(self.add_fate(fate)?)
    }

    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        Ok(self.judge_look(look)?)
    }

    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError> {
        Ok(Sealed { digest: self.seal_run(ending)? })
    }
}
