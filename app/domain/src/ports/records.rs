//! The evidence folder as the engine sees it.

use serde::{Deserialize, Serialize};
use stats::{Outcome, Reason, Verdict};

use crate::arms::Role;
use crate::ids::{ArmName, Digest, JobId, RunId};
use crate::plan::Plan;
use crate::ports::Answer;
use crate::rounds::TrialName;
use crate::time::Ms;

/// What became of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It ended well and everything that it measured is there.
    Counted,
    /// Nothing can be said about the change from it.
    Discarded(Discard),
    /// The program itself failed.
    Failed(Failure),
}

/// Why a trial says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// The backend refused to run it.
    Refused(String),
    /// The backend no longer knows its job.
    Lost,
    /// Something other than the program failed.
    Infrastructure(String),
    /// The source answers, and what is named stays missing.
    Incomplete(Vec<String>),
    /// The source could not be asked for a day.
    SourceUnavailable(String),
    /// It was stopped, because its round or its run was.
    Stopped,
    /// It reached the wall-clock limit.
    TimeLimit,
    /// Nobody knows whether it still runs: it could not be stopped in time.
    Abandoned,
}

/// How a program failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// By running out of memory.
    pub oom: bool,
    /// What it said, as it was logged.
    pub text: String,
}

/// One line of `trials.jsonl`. A trial has exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialFate {
    /// The trial.
    pub name: TrialName,
    /// Its arm.
    pub role: Role,
    /// What became of it.
    pub fate: Fate,
    /// Its job, where one was ever known.
    pub job: Option<JobId>,
    /// When submitting began.
    pub submitted: Option<Ms>,
    /// When it was first seen running.
    pub running: Option<Ms>,
    /// When it was seen to be over.
    pub ended: Option<Ms>,
    /// When this was decided.
    pub at: Ms,
}

/// One round that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The round, from 1 (after the rounds of earlier runs).
    pub round: u32,
    /// How often it was replaced before it counted.
    pub replacement: u32,
}

/// Why the folder is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookKind {
    /// A declared look, which spends its share of the error budget.
    Declared {
        /// Which of the plan's looks, from 0.
        index: u32,
    },
    /// Only what needs no statistics: failures, memory, unequal conditions. Spends nothing; a statistical reason found
    /// this way decides nothing.
    Guardrail,
    /// The run could not be completed; the reason is passed to the procedure as `blocked`. Spends nothing.
    Blocked(Reason),
}

/// A treatment that was decided at an earlier look: its verdict is carried over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The treatment.
    pub treatment: ArmName,
    /// Its verdict.
    pub verdict: Verdict,
    /// The reason of its verdict.
    pub reason: Reason,
}

/// Everything that a judgement depends on besides the answers in the folder. Appended to `looks.jsonl` with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// The run.
    pub run: RunId,
    /// The ledger.
    pub ledger: Digest,
    /// The episode.
    pub episode: u64,
    /// Why.
    pub kind: LookKind,
    /// The rounds that count, ascending; those of earlier runs are not listed and all count.
    pub rounds: Vec<Counted>,
    /// Trials outside the rounds whose events and peak memory count: a failed one whose round was replaced and its
    /// repeats. A clean repeat may belong to a round that counts as well: what happened in it must count once only.
    pub confirmations: Vec<TrialName>,
    /// Treatments that are decided.
    pub decided: Vec<Decided>,
    /// When.
    pub at: Ms,
}

/// What a judgement came to: every treatment of the plan in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// Verdict and reason per treatment.
    pub treatments: Vec<Decided>,
}

impl Judged {
    /// What an outcome says of the treatments of a plan. `Err` names a treatment of which it says nothing.
    ///
    /// # Errors
    /// The first treatment without a judgement.
    pub fn of(outcome: &Outcome, plan: &Plan) -> Result<Self, ArmName> {
        let judged = outcome.treatments();
        let names = plan.treatments();
        let sole = matches!(outcome, Outcome::Sole(_)) && names.len() == 1;
        let treatments = names.into_iter().map(|treatment| {
            let found = judged.iter().find(|(name, _)| sole || *name == treatment.as_str());
            let Some((_, judgement)) = found else { return Err(treatment) };
            Ok(Decided { treatment, verdict: judgement.verdict, reason: judgement.reason })
        });
        Ok(Self { treatments: treatments.collect::<Result<_, _>>()? })
    }

    /// The headline: the worst verdict, the first declared among equals.
    #[must_use]
    pub fn headline(&self) -> Option<&Decided> {
        self.treatments.iter().min_by_key(|decided| decided.verdict)
    }
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// With a verdict, by the last judgement of the folder.
    Judged {
        /// What the last judgement depended on.
        look: Look,
        /// What it came to.
        judged: Judged,
    },
    /// Without one.
    Ended {
        /// How.
        how: crate::view::Ending,
        /// Why, in words.
        why: Option<String>,
    },
}

/// A job that could not be stopped in time and may still live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alive {
    /// Its trial, whose text is the name of the job.
    pub trial: TrialName,
    /// The job, where the backend ever said that it has it.
    pub job: Option<JobId>,
}

/// The end of a run, which seals its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub how: How,
    /// When the run started.
    pub started: Ms,
    /// When it ended. Stored before sealing, so that sealing again gives the same bytes.
    pub ended: Ms,
    /// Rounds that were replaced.
    pub replaced: u32,
    /// Jobs that may still live.
    pub alive: Vec<Alive>,
}

/// A sealed folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// The evidence digest: SHA-256 of `evidence.json`.
    pub digest: Digest,
}

/// The folder could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// Other content is there under the same name, or the folder is sealed: asking again cannot help.
    #[error("{0}")]
    Conflict(String),
    /// The folder holds something that cannot be judged or must not be written, and asking again cannot help.
    #[error("{0}")]
    Unusable(String),
    /// The system said no, as when a disk is full: asking again may help.
    #[error("{0}")]
    Failed(String),
}

/// The evidence folder of one run or of several, on a disk or in memory. Everything may be asked again: equal content
/// under the same name is fine.
pub trait Records: Send + Sync {
    /// Opens the folder of a run and writes its plan.
    ///
    /// # Errors
    /// See [`RecordsError`]; another plan of the same run is a conflict.
    fn open(&self, plan: &Plan) -> Result<(), RecordsError>;

    /// Adds the answers of a trial. Only adds.
    ///
    /// # Errors
    /// See [`RecordsError`]; other content under the same name is a conflict.
    fn answer(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), RecordsError>;

    /// Adds the fate of a trial. Equal ones are kept once.
    ///
    /// # Errors
    /// See [`RecordsError`]; another fate of the same trial is a conflict.
    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError>;

    /// Assembles and judges from the folder alone.
    ///
    /// # Errors
    /// See [`RecordsError`].
    fn judge(&self, look: &Look) -> Result<Judged, RecordsError>;

    /// Seals the folder. A folder that is sealed already with the same content is fine.
    ///
    /// # Errors
    /// See [`RecordsError`].
    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError>;
}

impl<R: Records + ?Sized> Records for std::sync::Arc<R> {
    fn open(&self, plan: &Plan) -> Result<(), RecordsError> {
        (**self).open(plan)
    }

    fn answer(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), RecordsError> {
        (**self).answer(trial, role, answers)
    }

    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        (**self).note(fate)
    }

    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        (**self).judge(look)
    }

    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError> {
        (**self).seal(ending)
    }
}

impl<R: Records + ?Sized> Records for &R {
    fn open(&self, plan: &Plan) -> Result<(), RecordsError> {
        (**self).open(plan)
    }

    fn answer(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), RecordsError> {
        (**self).answer(trial, role, answers)
    }

    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        (**self).note(fate)
    }

    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        (**self).judge(look)
    }

    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError> {
        (**self).seal(ending)
    }
}
