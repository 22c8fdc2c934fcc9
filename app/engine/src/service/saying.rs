//! What is wanted of the forge, as it is stored.

use domain::ids::{CommitSha, RunId};
use domain::ports::desk::Want;
use domain::ports::forge::{CheckWanted, CommentWanted, PullId};
use domain::time::Ms;
use serde::{Deserialize, Serialize};

use crate::engine::EngineError;

/// The first line of the one further comment.
pub const REPLY: &str = "<!-- zephyr-ab-reply -->";

/// Something that the forge should say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "say")]
pub enum Saying {
    /// The verdict comment of a suite.
    Verdict {
        /// The comment.
        comment: CommentWanted,
        /// Whose it is.
        run: RunId,
        /// Whether that is over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        over: bool,
    },
    /// The one further comment.
    Reply {
        /// The comment.
        comment: CommentWanted,
    },
    /// A short comment that tells of a verdict.
    Notification {
        /// The comment.
        comment: CommentWanted,
        /// The suite.
        suite: String,
        /// The run.
        run: RunId,
    },
    /// The verdict comment is posted anew once the run is over.
    Repost {
        /// The pull request.
        pull: PullId,
        /// The suite.
        suite: String,
        /// The run.
        run: RunId,
        /// The comment that makes way.
        old: Option<u64>,
    },
    /// Labels.
    Labels {
        /// The pull request.
        pull: PullId,
        /// Those that it should have.
        add: Vec<String>,
        /// Those that it should not have.
        remove: Vec<String>,
    },
    /// Nothing any more: it need not be said.
    Withdrawn,
    /// A check.
    Check {
        /// The check.
        check: CheckWanted,
    },
}

impl Saying {
    /// As it is stored.
    ///
    /// # Errors
    /// Never in practice: every part of it can be written.
    pub fn want(&self, target: String, due: Ms) -> Result<Want, EngineError> {
        let wanted = serde_json::to_string(self).map_err(|error| EngineError::Stored {
            what: "what is to be said",
            key: target.clone(),
            why: error.to_string(),
        })?;
        Ok(Want { target, wanted, due })
    }
}

/// The target of the verdict comment of a suite.
#[must_use]
pub fn verdict_target(pull: &PullId, suite: &str) -> String {
    format!("comment:{}:{}:{suite}", pull.repo.id, pull.number)
}

/// The target of the one further comment.
#[must_use]
pub fn reply_target(pull: &PullId) -> String {
    format!("reply:{}:{}", pull.repo.id, pull.number)
}

/// The target of the check of a run.
#[must_use]
pub fn check_target(run: &RunId) -> String {
    format!("check:{run}")
}

/// The target of the check of a newer head that a run speaks for as well.
#[must_use]
pub fn carried_target(run: &RunId, head: &CommitSha) -> String {
    format!("check:{run}:{}", head.short())
}

/// The target of the check of a head that nobody asked anything about, or that waits for an approval.
#[must_use]
pub fn standing_target(pull: &PullId, suite: &str, head: &CommitSha) -> String {
    format!("check:{}:{}:{suite}:{}", pull.repo.id, pull.number, head.short())
}

/// The target of the labels of a pull request.
#[must_use]
pub fn labels_target(pull: &PullId) -> String {
    format!("labels:{}:{}", pull.repo.id, pull.number)
}

/// The target of the check of a head that changes what the repository says of itself.
#[must_use]
pub fn configuration_target(pull: &PullId, head: &CommitSha) -> String {
    format!("check:config:{}:{}:{}", pull.repo.id, pull.number, head.short())
}

/// The target of the notification of a run.
#[must_use]
pub fn notify_target(run: &RunId) -> String {
    format!("notify:{run}")
}
