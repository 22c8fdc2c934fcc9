//! How far a run has come, and what people decided about it. Points in time are texts such as `2026-11-29 14:05 UTC`.

use serde::{Deserialize, Serialize};

use super::Job;

/// Where the reader asks for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// In comments of a pull request.
    #[default]
    Comment,
    /// On the command line, in the folder where the run was started.
    CommandLine,
    /// On the command line, where jobs were compared that had run before.
    Jobs,
    /// In comments of a pull request, where jobs were compared that had run before.
    CommentJobs,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for others.
    Queued {
        /// Runs before it.
        ahead: Option<u64>,
    },
    /// Merge base, scope, fingerprint and cost are being found.
    Planning,
    /// A person must agree first.
    AwaitingConfirmation {
        /// Why, such as `costs 61 CPU hours; above 40 a person must agree`.
        why: Option<String>,
        /// Digest of the plan that is to be confirmed.
        plan: Option<String>,
        /// Expected cost in CPU hours.
        cpu_hours: Option<f64>,
        /// When the plan expires.
        until: Option<String>,
        /// Why no benchmark seems to be needed, such as `documentation`; empty where nobody proposes to skip it. Parts
        /// of a sentence: all that changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skip: Vec<String>,
    },
    /// Checks of the head must be green first.
    AwaitingChecks {
        /// Names of those that are not green yet.
        pending: Vec<String>,
        /// Until when it waits at most.
        until: Option<String>,
    },
    /// Jobs are running.
    Measuring {
        /// The round that is running, from 1.
        round: u64,
        /// The largest number of rounds.
        of: u64,
        /// When the next look is due.
        next_look: Option<String>,
    },
    /// Jobs have ended; their rows are being fetched.
    Collecting {
        /// What the source of the measurements answers, where it is not available.
        unavailable: Option<String>,
        /// When fetching is tried again.
        again: Option<String>,
    },
    /// Jobs are being stopped.
    Stopping {
        /// Why, such as `cancelled by octocat`.
        why: Option<String>,
        /// Jobs that may still live.
        alive: Vec<Job>,
    },
    /// Judged.
    Done,
    /// Judged, and the verdict no longer speaks of what would be merged.
    Stale {
        /// Why, such as `the base branch is now release-2`.
        why: String,
    },
    /// Over without a verdict.
    Ended {
        /// How.
        how: Ending,
        /// Why, or by whom.
        why: Option<String>,
        /// Jobs that may still live.
        alive: Vec<Job>,
    },
}

impl State {
    /// Whether the judgements of the treatments are final.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        matches!(self, Self::Done | Self::Stale { .. })
    }
}

/// How a run ended without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Somebody cancelled it, or the pull request was closed.
    Cancelled,
    /// It could not be run.
    Failed,
    /// A newer commit took its place.
    Superseded,
    /// Nobody confirmed the plan in time.
    Expired,
    /// The head moved before the plan was confirmed.
    HeadMoved,
    /// Required checks were not green.
    ChecksFailed,
    /// The request cannot be run.
    Refused,
    /// The change needs no benchmark.
    Skipped,
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 8] = [
        Self::Cancelled,
        Self::Failed,
        Self::Superseded,
        Self::Expired,
        Self::HeadMoved,
        Self::ChecksFailed,
        Self::Refused,
        Self::Skipped,
    ];

    /// The key of its words.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::HeadMoved => "head_moved",
            Self::ChecksFailed => "checks_failed",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
        }
    }
}

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// The regression is accepted, or the alarm is false.
    Accepted,
    /// No benchmark is needed.
    Skipped,
}

/// A decision with its author and reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was decided.
    pub what: Decided,
    /// Login of who decided.
    pub by: String,
    /// The reason that was given.
    pub why: String,
    /// When.
    pub at: Option<String>,
}
