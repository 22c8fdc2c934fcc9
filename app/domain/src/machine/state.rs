//! The states of a run, and what it needs of its plan.

use serde::{Deserialize, Serialize};

use super::timing::Late;
use crate::ids::{ArmName, Digest};
use crate::plan::Plan;
use crate::ports::{Alive, Ending, Judged, Look};
use crate::retry::Retry;
use crate::rounds::RoundMode;
use crate::time::Ms;
use crate::view::Ending as Over;

/// What a run needs of its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Digest of the plan.
    pub plan: Digest,
    /// The treatments in the order of their declaration.
    pub treatments: Vec<ArmName>,
    /// How the trials of a round lie in time.
    pub mode: RoundMode,
    /// The declared looks, in rounds, ascending.
    pub looks: Vec<u64>,
    /// How many rounds may be replaced because the infrastructure spoiled them.
    pub replacements: u32,
    /// Wall-clock limit of a trial, milliseconds.
    pub limit_ms: u64,
    /// The ledger.
    pub ledger: Digest,
    /// The episode.
    pub episode: u64,
    /// Rounds of earlier runs that count.
    pub earlier_rounds: u32,
    /// What is taken over from an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What a person must agree to first.
    pub confirm: Option<String>,
    /// Whether only what cannot alter a measurement differs, so that skipping is proposed.
    #[serde(default)]
    pub skip: bool,
    /// How measurements are waited for.
    #[serde(default)]
    pub late: Late,
    /// How long a trial is expected to take, milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_ms: Option<u64>,
}

impl Frame {
    /// What a run needs of this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            plan: plan.digest(),
            treatments: plan.treatments(),
            mode: plan.mode,
            looks: plan.looks.clone(),
            replacements: plan.replacements,
            limit_ms: plan.limit_ms,
            ledger: plan.ledger.clone(),
            episode: plan.episode,
            earlier_rounds: plan.earlier_rounds,
            retry: plan.retry.clone(),
            confirm: plan.confirm.clone(),
            skip: plan.skip.is_some(),
            late: plan.late.unwrap_or_default(),
            each_ms: plan.each_ms,
        }
    }

    /// The largest number of rounds, those of earlier runs included.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.looks.last().copied().unwrap_or(0)
    }
}

/// Why a run is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Stop {
    /// It cannot be completed; it is judged with this reason.
    Blocked {
        /// The reason.
        reason: stats::Reason,
    },
    /// Somebody cancelled it, or something else made it needless.
    Cancelled {
        /// Who, or what.
        by: String,
        /// How that ends it.
        #[serde(default = "cancelled")]
        how: Over,
    },
    /// It cannot be run.
    Failed {
        /// Why.
        text: String,
    },
}

fn cancelled() -> Over {
    Over::Cancelled
}

/// What happens when the trials of the round are over, although the round is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The whole round anew.
    Replace,
    /// Judging of what needs no statistics.
    Judge,
    /// The same, but the control of this round has to end first: it has never ended well, and what fails in both arms is
    /// not the change's doing.
    JudgeAfterControl,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum State {
    /// It waits for a slot.
    Queued,
    /// It is being planned.
    Planning,
    /// A person must agree first.
    AwaitingConfirmation {
        /// Digest of the plan.
        plan: Digest,
        /// When the plan expires.
        until: Ms,
    },
    /// Trials are running, or their answers are being collected.
    Measuring {
        /// What happens when the trials of the round are over.
        then: Option<Then>,
        /// Repeats of a treatment that failed, beyond the planned rounds.
        extra: bool,
    },
    /// The folder is being judged.
    Judging {
        /// What the judgement depends on.
        look: Box<Look>,
        /// Whether the round was completed.
        complete: bool,
        /// As in `Measuring`.
        extra: bool,
    },
    /// Trials are being stopped.
    Stopping {
        /// Why.
        stop: Stop,
        /// When stopping is given up: by then each trial is settled, or abandoned with its job named.
        until: Ms,
    },
    /// The folder is being sealed.
    Sealing {
        /// The end that is sealed.
        ending: Box<Ending>,
    },
    /// Over, with a verdict.
    Done {
        /// The verdict.
        judged: Judged,
        /// The evidence digest.
        evidence: Digest,
        /// Jobs that may still live.
        alive: Vec<Alive>,
    },
    /// Over, without one.
    Ended {
        /// How.
        how: Over,
        /// Why, or by whom.
        why: Option<String>,
        /// Jobs that may still live.
        alive: Vec<Alive>,
        /// Whether the folder is still to be sealed.
        sealing: bool,
        /// The evidence digest, once the folder is sealed.
        evidence: Option<Digest>,
    },
}

impl State {
    /// Whether nothing but sealing can happen any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Ended { .. })
    }
}
