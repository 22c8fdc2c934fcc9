//! The folder of a run, read.

use std::collections::BTreeMap;

use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{Answer, Ending, Fate, Judged, Look, TrialFate};
use serde::{Deserialize, Serialize};

use crate::error::EvidenceError;
use crate::jsonl;
use crate::name::trial_folder;
use crate::storage::{Dir, Storage, UNFINISHED};

/// What was decided before the run started.
pub const PLAN: &str = "plan.json";
/// The suite, as it was read.
pub const SUITE: &str = "suite.toml";
/// What the repository says of the suite, where it does.
pub const REPOSITORY: &str = "repository.toml";
/// The calibration file that was used, as it was read.
pub const CALIBRATION: &str = "calibration.json";
/// What became of each trial, one per line.
pub const TRIALS: &str = "trials.jsonl";
/// The looks, one per line.
pub const LOOKS: &str = "looks.jsonl";
/// What was replaced in answers because it looked like a secret, one file per line.
pub const REDACTED: &str = "redacted.jsonl";
/// How the run ended.
pub const ENDING: &str = "ending.json";
/// Inputs, numbers and view.
pub const EVIDENCE: &str = "evidence.json";
/// The comment.
pub const COMMENT: &str = "comment.md";
/// The digests of all other files.
pub const SUMS: &str = "sha256sums.txt";

/// The files that sealing makes of the others.
pub const MADE: [&str; 3] = [EVIDENCE, COMMENT, SUMS];

/// What a look may spend: for confirming a change, and per side for equivalence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// For confirming a change.
    pub confirm: f64,
    /// Per side for equivalence.
    pub equivalence: f64,
}

/// One line of `looks.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookLine {
    /// What the judgement depended on besides the answers.
    pub look: Look,
    /// By metric; nothing where the look spends nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<String, Spent>,
    /// What it came to.
    pub judged: Judged,
}

/// Everything in the folder that a judgement depends on.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The plan.
    pub plan: Plan,
    /// What became of each trial, in the order in which it was known.
    pub fates: Vec<TrialFate>,
    /// The looks, in their order.
    pub looks: Vec<LookLine>,
    /// How the run ended, where it has.
    pub ending: Option<Ending>,
    /// The runs that this one continues, the first first.
    pub earlier: Vec<Bundle>,
    /// Whether the repository says something of the suite.
    pub repository: bool,
    /// The answers by the folder of their trial; logs are left out.
    answers: BTreeMap<String, Vec<Answer>>,
    /// The ends of the logs of trials that do not count, by the folder of their trial.
    logs: BTreeMap<String, Vec<Answer>>,
}

/// Bytes of the end of a log that are kept in memory.
const LOG_END: usize = 2000;

impl Bundle {
    /// Reads the folder `folder` of a storage.
    ///
    /// # Errors
    /// A file that is missing, unreadable, of a newer schema, or not what it should be.
    pub fn read<S: Storage + ?Sized>(storage: &S, folder: &str) -> Result<Self, EvidenceError> {
        Self::of(&Dir::new(storage, folder))
    }

    pub(crate) fn of<S: Storage + ?Sized>(dir: &Dir<'_, S>) -> Result<Self, EvidenceError> {
        let files = dir.list()?;
        let mut bundle = Self::one(dir, &files, "")?;
        let mut earlier: BTreeMap<RunId, Vec<String>> = BTreeMap::new();
        for file in &files {
            let Some((run, rest)) = file.strip_prefix("earlier/").and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let run = run.parse().map_err(|e| EvidenceError::file(file, e))?;
            earlier.entry(run).or_default().push(rest.to_owned());
        }
        for (run, files) in earlier {
            let at = format!("earlier/{run}/");
            let one = Self::one(&dir.sub(&format!("earlier/{run}")), &files, &at)?;
            if one.plan.run != run {
                return Err(EvidenceError::file(format!("{at}{PLAN}"), format!("is the plan of {}", one.plan.run)));
            }
            bundle.earlier.push(one);
        }
        Ok(bundle)
    }

    /// One run, without those that it continues. `at` stands before the names of files in errors.
    fn one<S: Storage + ?Sized>(dir: &Dir<'_, S>, files: &[String], at: &str) -> Result<Self, EvidenceError> {
        let here = |name: &str| format!("{at}{name}");
        let plan = plan(&dir.need(PLAN)?).map_err(|problem| EvidenceError::file(here(PLAN), problem))?;
        let fates: Vec<TrialFate> = lines(dir, TRIALS, at)?;
        if let Some(other) = fates.iter().find(|fate| fate.name.run != plan.run) {
            return Err(EvidenceError::file(here(TRIALS), format!("has a trial of {}", other.name.run)));
        }
        for (index, fate) in fates.iter().enumerate() {
            if fates[..index].iter().any(|other| other.name == fate.name) {
                return Err(EvidenceError::file(here(TRIALS), format!("has {} twice", fate.name)));
            }
        }
        let ending = dir.read(ENDING)?.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        let ending = ending.map_err(|e| EvidenceError::file(here(ENDING), jsonl::brief(&e)))?;
        let (mut answers, mut logs): (BTreeMap<String, Vec<Answer>>, BTreeMap<String, Vec<Answer>>) =
            Default::default();
        let ended_well = |fate: &&TrialFate| fate.fate == Fate::Counted;
        let counted: Vec<String> =
            fates.iter().filter(ended_well).map(|fate| trial_folder(&fate.name, &fate.role)).collect();
        for file in files.iter().filter(|file| file.starts_with("arms/") && !file.ends_with(UNFINISHED)) {
            let mut parts = file.splitn(3, '/').skip(1);
            let (Some(trial), Some(name)) = (parts.next(), parts.next()) else { continue };
            let folder = format!("arms/{trial}");
            let trial = answers.entry(folder.clone()).or_default();
            if !name.ends_with(".stdout") && !name.ends_with(".stderr") {
                trial.push(Answer { name: name.to_owned(), bytes: dir.need(file)? });
            } else if !counted.iter().any(|folder| file.starts_with(&format!("{folder}/"))) {
                let bytes = dir.need(file)?;
                let bytes = bytes[bytes.len().saturating_sub(LOG_END)..].to_vec();
                logs.entry(folder).or_default().push(Answer { name: name.to_owned(), bytes });
            }
        }
        let repository = files.iter().any(|file| file == REPOSITORY);
        Ok(Self { plan, fates, looks: lines(dir, LOOKS, at)?, ending, earlier: Vec::new(), repository, answers, logs })
    }

    /// The answers of a trial without its logs.
    #[must_use]
    pub fn answers(&self, fate: &TrialFate) -> &[Answer] {
        self.answers.get(&trial_folder(&fate.name, &fate.role)).map_or(&[], Vec::as_slice)
    }

    /// The ends of the logs of a trial that does not count.
    #[must_use]
    pub fn logs(&self, fate: &TrialFate) -> &[Answer] {
        self.logs.get(&trial_folder(&fate.name, &fate.role)).map_or(&[], Vec::as_slice)
    }

    /// Whether another run of this folder retries `run`, which then need not have come to a verdict.
    #[must_use]
    pub fn is_retried(&self, run: &RunId) -> bool {
        self.runs().any(|other| other.plan.retry.is_some() && other.plan.continues.as_ref() == Some(run))
    }

    /// The runs that this one continues, and this one.
    pub fn runs(&self) -> impl Iterator<Item = &Self> {
        self.earlier.iter().chain([self])
    }
}

/// A plan, its schema first: a newer one has fields that this version does not know.
///
/// # Errors
/// What is wrong with it.
pub fn plan(bytes: &[u8]) -> Result<Plan, String> {
    #[derive(Deserialize)]
    struct Schema {
        schema: u32,
    }
    let Schema { schema } = serde_json::from_slice(bytes).map_err(|e| jsonl::brief(&e))?;
    if schema > domain::plan::PLAN_SCHEMA {
        return Err(domain::plan::PlanError::Newer { found: schema }.to_string());
    }
    let plan: Plan = serde_json::from_slice(bytes).map_err(|e| jsonl::brief(&e))?;
    plan.check().map_err(|e| e.to_string())?;
    Ok(plan)
}

fn lines<S: Storage + ?Sized, T: serde::de::DeserializeOwned>(
    dir: &Dir<'_, S>,
    name: &str,
    at: &str,
) -> Result<Vec<T>, EvidenceError> {
    let bytes = dir.read(name)?.unwrap_or_default();
    jsonl::read(&bytes).map_err(|(line, why)| EvidenceError::file(format!("{at}{name}"), format!("line {line}: {why}")))
}
