//! What is remembered of a pull request.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::push::{Auto, Newer, NewerFate, Next};
use crate::ids::{CommitSha, Digest, RunId};
use crate::machine::StateError;
use crate::ports::forge::{Account, Pull, PullId};
use crate::time::Ms;
use crate::view::{Decision, Earlier, Ending, Verdict};

/// The schema of [`PullState`] that this version writes; a newer one is refused.
pub const PULL_SCHEMA: u32 = 2;

/// A push that was told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// The head before it.
    pub before: CommitSha,
    /// The head after it.
    pub after: CommitSha,
    /// When, by the forge's clock.
    pub at: Ms,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// The verdict, where there is one.
    pub verdict: Option<Verdict>,
    /// How it ended without one, and why.
    pub ended: Option<(Ending, Option<String>)>,
    /// What it came to in a few words, such as `pass · CPU −1.2 %`.
    pub said: String,
    /// The evidence digest, where the folder is sealed.
    pub evidence: Option<Digest>,
    /// Jobs that may still live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alive: Vec<String>,
    /// When.
    pub at: Ms,
}

/// How far what was asked for has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum Stage {
    /// The plan is being made.
    Planning,
    /// The run has a subject of its own.
    Running,
    /// It is over.
    Over(Over),
}

/// What the comment of a suite shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// What was asked for.
    pub asked: Asked,
    /// How far it has come.
    pub stage: Stage,
    /// Verdicts of earlier runs, the newest first.
    pub history: Vec<Earlier>,
    /// The last verdict before it, or the run that it takes over from: it stands again where this one is not planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<(Asked, Over)>>,
    /// What a person decided about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_decision: Option<Decision>,
    /// What a plan that is being made waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// What becomes of a head that is newer than the one that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Newer>,
    /// What a person decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// What a plan waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum Waits {
    /// Something could not be asked.
    Again {
        /// Why.
        why: String,
    },
    /// Checks of the head that are not green yet.
    Checks {
        /// Their names. Foreign text.
        names: Vec<String>,
        /// How long it waits.
        until: Ms,
    },
}

impl Shown {
    /// The newer head that what was measured speaks for as well, and why.
    #[must_use]
    pub fn carried(&self) -> Option<(&CommitSha, &str)> {
        match self.newer.as_ref()? {
            Newer { head, fate: NewerFate::Carried { why } } => Some((head, why)),
            _ => None,
        }
    }

    /// Whether it is about this head, or carried over to it.
    #[must_use]
    pub fn speaks_for(&self, head: &CommitSha) -> bool {
        self.asked.head == *head || self.carried().is_some_and(|(carried, _)| carried == head)
    }

    /// The last verdict: its own, or the one before it.
    #[must_use]
    pub fn decided(&self) -> Option<(&Asked, &Over)> {
        match &self.stage {
            Stage::Over(over) if over.verdict.is_some() => Some((&self.asked, over)),
            _ => self.before.as_ref().map(|before| (&before.0, &before.1)).filter(|(_, over)| over.verdict.is_some()),
        }
    }
}

/// A head of a fork that waits for somebody to approve it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The head.
    pub head: CommitSha,
    /// Keys and values as they were typed.
    pub pairs: Vec<(String, String)>,
    /// Who wants it.
    pub by: Account,
    /// The comment that asked.
    pub comment: u64,
    /// When.
    pub at: Ms,
    /// What came of it: who approved it, or that the head moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullState {
    /// [`PULL_SCHEMA`].
    pub schema: u32,
    /// Which one.
    pub id: PullId,
    /// What was found when it was last looked at.
    pub seen: Option<Pull>,
    /// When that was.
    pub seen_at: Ms,
    /// The last pushes that were told of, the oldest first.
    pub pushes: Vec<Push>,
    /// What the comment of each suite shows.
    pub shown: BTreeMap<String, Shown>,
    /// The suite whose run goes on.
    pub active: Option<String>,
    /// What is measured next by itself, by suite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub next: BTreeMap<String, Next>,
    /// What somebody said about pushes, by suite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub auto: BTreeMap<String, Auto>,
    /// Heads of forks that somebody who may wants measured and nobody has approved, by suite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub approvals: BTreeMap<String, Approval>,
    /// The last comments whose commands were handled.
    pub comments: Vec<u64>,
    /// Foreign comments that begin with a marker of ours and that were spoken of.
    pub foreign: BTreeSet<u64>,
}

#[derive(Deserialize)]
struct Head {
    schema: u64,
}

impl PullState {
    /// A pull request of which nothing is known yet.
    #[must_use]
    pub fn new(id: PullId) -> Self {
        Self {
            schema: PULL_SCHEMA,
            id,
            seen: None,
            seen_at: Ms(0),
            pushes: Vec::new(),
            shown: BTreeMap::new(),
            active: None,
            next: BTreeMap::new(),
            auto: BTreeMap::new(),
            approvals: BTreeMap::new(),
            comments: Vec::new(),
            foreign: BTreeSet::new(),
        }
    }

    /// As it is stored.
    ///
    /// # Errors
    /// Never in practice: every part of it can be written.
    pub fn to_json(&self) -> Result<String, StateError> {
        serde_json::to_string(self).map_err(|error| StateError::Broken(error.to_string()))
    }

    /// From what is stored.
    ///
    /// # Errors
    /// The state of a newer version, or not a state.
    pub fn from_json(text: &str) -> Result<Self, StateError> {
        let broken = |error: serde_json::Error| StateError::Broken(error.to_string());
        let head: Head = serde_json::from_str(text).map_err(broken)?;
        if head.schema > u64::from(PULL_SCHEMA) {
            return Err(StateError::Newer { found: head.schema });
        }
        serde_json::from_str(text).map_err(broken)
    }

    /// Whether anything was ever asked for here, so that what happens to it matters.
    #[must_use]
    pub fn matters(&self) -> bool {
        let waits = self.approvals.values().any(|approval| approval.over.is_none());
        waits || !self.shown.is_empty() || self.auto.values().any(|auto| auto.on)
    }

    /// Whether it is closed and was not merged, as far as that is known.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| !seen.open && !seen.merged)
    }

    /// Every head that is known: of now, and those of the pushes that are remembered. Each once.
    #[must_use]
    pub fn heads(&self) -> Vec<CommitSha> {
        let pushed = self.pushes.iter().flat_map(|push| [&push.before, &push.after]);
        let mut all: Vec<CommitSha> = pushed.chain(self.seen.as_ref().map(|seen| &seen.head)).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// What goes on.
    #[must_use]
    pub fn running(&self) -> Option<&Shown> {
        self.shown.get(self.active.as_ref()?)
    }

    /// What is shown of a run, where it is the one that is shown.
    #[must_use]
    pub fn of_run(&self, run: &RunId) -> Option<&Shown> {
        self.shown.values().find(|shown| shown.asked.run == *run)
    }

    /// Why what was measured for `shown` no longer speaks of what would be merged.
    #[must_use]
    pub fn stale(&self, shown: &Shown) -> Option<String> {
        let (seen, asked) = (self.seen.as_ref()?, &shown.asked);
        if seen.base_ref != asked.base_ref {
            return Some(format!("the base branch is now {}", seen.base_ref));
        }
        if shown.carried().is_some_and(|(head, _)| *head == seen.head) {
            return None;
        }
        let ours = self.pushes.last().is_some_and(|push| push.after == seen.head && push.before == asked.head);
        (seen.head != asked.head).then(|| {
            let since = if ours { ", one push later" } else { "" };
            format!("the head is now {}{since}; {} was measured", seen.head.short(), asked.head.short())
        })
    }
}
