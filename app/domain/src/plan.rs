//! Everything about a run that is decided before anything starts.

mod ran;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arms::{Arms, Role};
use crate::comparability::Context;
use crate::ids::{ArmName, CommitSha, Digest, RunId, SuiteName};
use crate::machine::timing::Late;
use crate::pull::FromPull;
use crate::retry::Retry;
use crate::rounds::RoundMode;
use crate::scope::ScopeOf;
use crate::view::Calibrated;
use crate::workload::Workload;

pub use ran::Doubt;

/// The schema of [`Plan`] that this version writes; a newer one is refused.
pub const PLAN_SCHEMA: u32 = 1;

/// Where the commits come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The repository as people know it, such as `owner/name` or the name of a folder. No secrets.
    pub repository: String,
    /// The base branch or revision, as it was given.
    pub base: String,
    /// The head branch or revision, as it was given.
    pub head: String,
    /// The merge bases of base and head. Several where history crosses; the first is the control.
    pub merge_bases: Vec<CommitSha>,
    /// How many commits the control is behind the base; `None` where nobody counted.
    pub behind: Option<u64>,
    /// Digest of the source tree that counts, per role as text.
    pub trees: BTreeMap<String, String>,
    /// How many paths differ between control and head.
    pub changed_paths: u64,
    /// Roles, as text, whose commit nobody knows: in its place stands the beginning of a digest of the job's files, or
    /// of its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_commits: Vec<String>,
    /// Where the trials are, per role as text in the order of the rounds, when they had run before the comparison
    /// began: a job each, or one trial's executions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ran: BTreeMap<String, Vec<String>>,
    /// The pull request that asked for it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<FromPull>,
}

/// The plan of a run. Frozen when the run starts and written to `plan.json`; nothing of it is found out again later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: u32,
    /// The run.
    pub run: RunId,
    /// The suite.
    pub suite: SuiteName,
    /// Title of the suite.
    pub title: String,
    /// SHA-256 of the suite's text; see [`suite_digest`].
    pub suite_digest: Digest,
    /// The preset, where one was taken.
    pub preset: Option<String>,
    /// What is compared.
    pub arms: Arms,
    /// Where the commits come from.
    pub origin: Origin,
    /// What must be equal, per role as text.
    pub workloads: BTreeMap<String, Workload>,
    /// What follows from the commits, per role as text.
    pub contexts: BTreeMap<String, Context>,
    /// What the backend needs to start a trial of the arm, per role as text; opaque to everything but the backend.
    pub launches: BTreeMap<String, Value>,
    /// How the trials of a round lie in time.
    pub mode: RoundMode,
    /// The declared looks of this episode, in rounds, ascending; the last is the number of rounds. Rounds of an
    /// earlier run that this one continues are counted.
    pub looks: Vec<u64>,
    /// How many rounds may be replaced because the infrastructure spoiled them.
    pub replacements: u32,
    /// Wall-clock limit of a trial, milliseconds.
    pub limit_ms: u64,
    /// The object `config` of the input contract of `stats::input`.
    pub judging: Value,
    /// The object `calibration` of that contract; `{}` where there is none.
    pub calibration: Value,
    /// What the comment says of the calibration.
    pub calibrated: Option<Calibrated>,
    /// The ledger: what all looks at the same trees under the same workload are counted under.
    pub ledger: Digest,
    /// Which extension of the ledger this is; 1 is the declared looks, 2, 3, ... continue over all rounds so far.
    pub episode: u64,
    /// The run that this one continues.
    pub continues: Option<RunId>,
    /// Rounds that were counted in the runs that this one continues; its own rounds are counted from there.
    #[serde(default)]
    pub earlier_rounds: u32,
    /// What is taken over from the run that this one continues, where that one came to no verdict or to none about the
    /// change: then this run goes on with its looks in its episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What a person must agree to before anything starts, such as the expected cost; `None` starts at once.
    #[serde(default)]
    pub confirm: Option<String>,
    /// Why measuring is proposed to be skipped: what alone differs between control and treatments, such as
    /// `2 documentation files`. Then a person must agree before anything starts. Foreign paths are among it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<Vec<String>>,
    /// What kind of change it is by the suite's rules; `None` where no rule fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeOf>,
    /// How measurements are waited for that are not all there when a job has ended; `None` is the usual way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Late>,
    /// How long a trial is expected to take, milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_ms: Option<u64>,
    /// What the comment says about the plan, such as several merge bases or a trivial difference.
    pub notes: Vec<String>,
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A plan of a newer version.
    #[error("the plan has schema {found}; this version reads up to {PLAN_SCHEMA}: use a newer zephyr-ab")]
    Newer {
        /// The schema that was found.
        found: u32,
    },
    /// Looks that are none.
    #[error("the looks are {0:?}; needed: at least one, ascending, each above the {1} rounds counted before")]
    Looks(Vec<u64>, u32),
    /// Something taken over that fits nothing.
    #[error("what is taken over from an earlier run does not fit: {0}")]
    Retry(&'static str),
    /// An arm without something that every arm needs.
    #[error("the plan has no {what} for {role}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The arm, as text.
        role: String,
    },
    /// A limit that nothing can keep.
    #[error("the limit of a trial is 0 ms; needed: at least 1")]
    Limit,
}

/// What a plan calls a suite: the SHA-256 of its text. Where the repository says something of it, of the two digests, each on
/// a line of its own.
#[must_use]
pub fn suite_digest(suite: &Digest, repository: Option<&Digest>) -> Digest {
    match repository {
        None => suite.clone(),
        Some(repository) => Digest::of(format!("{}\n{}\n", suite.as_str(), repository.as_str()).as_bytes()),
    }
}

impl Plan {
    /// Checks what the type does not say.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn check(&self) -> Result<(), PlanError> {
        if self.schema > PLAN_SCHEMA {
            return Err(PlanError::Newer { found: self.schema });
        }
        let earlier = u64::from(self.earlier_rounds);
        let (taken, least) = match &self.retry {
            None => (0, earlier + 1),
            // Its rounds may all be there, and only be judged.
            Some(retry) => (retry.looked as usize, earlier),
        };
        let left = self.looks.get(taken..).unwrap_or_default();
        let fits = |look: &u64| (least..=u64::from(u32::MAX / 2)).contains(look);
        if left.is_empty() || !self.looks.is_sorted_by(|a, b| a < b) || !left.iter().all(fits) {
            return Err(PlanError::Looks(self.looks.clone(), self.earlier_rounds));
        }
        self.check_retry()?;
        if self.limit_ms == 0 {
            return Err(PlanError::Limit);
        }
        for role in self.roles() {
            let role = role.to_string();
            let missing = |what| PlanError::Missing { what, role: role.clone() };
            if !self.workloads.contains_key(&role) {
                return Err(missing("workload"));
            }
            if !self.launches.contains_key(&role) {
                return Err(missing("launch"));
            }
        }
        Ok(())
    }

    fn check_retry(&self) -> Result<(), PlanError> {
        let Some(retry) = &self.retry else { return Ok(()) };
        if self.continues.is_none() {
            return Err(PlanError::Retry("there is no earlier run"));
        }
        let decided = |name: &ArmName| retry.decided.iter().any(|decided| decided.treatment == *name);
        let names = self.treatments();
        if names.iter().all(decided) {
            return Err(PlanError::Retry("every treatment is decided"));
        }
        if retry.decided.iter().map(|of| &of.treatment).chain(retry.failures.keys()).any(|name| !names.contains(name)) {
            return Err(PlanError::Retry("it names a treatment that there is not"));
        }
        if retry.adopts.keys().any(|trial| trial.run != self.run) {
            return Err(PlanError::Retry("it names a trial of another run"));
        }
        Ok(())
    }

    /// The names of the treatments in the order of their declaration.
    #[must_use]
    pub fn treatments(&self) -> Vec<ArmName> {
        self.arms.treatments().iter().map(|treatment| treatment.name.clone()).collect()
    }

    /// Every role, control first.
    #[must_use]
    pub fn roles(&self) -> Vec<Role> {
        self.arms.roles()
    }

    /// The number of rounds that are planned, rounds of earlier runs included.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.looks.last().copied().unwrap_or(0)
    }

    /// SHA-256 of the plan as JSON, which is what a person agrees to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        // Maps have text keys and no value is a float that JSON lacks, so that writing to memory cannot fail.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}
