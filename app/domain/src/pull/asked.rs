//! A comparison that somebody asked for on a pull request.

use serde::{Deserialize, Serialize};

use crate::ids::{CommitSha, RunId};
use crate::ports::forge::{Account, PullId};
use crate::request::Request;
use crate::time::Ms;

/// The pull request that a plan comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromPull {
    /// The number of the repository.
    pub repo: u64,
    /// The number of the pull request.
    pub number: u64,
}

/// What somebody asked for, bound to the commits of that moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The run that it becomes. Made when the command is accepted, so that planning twice makes one run.
    pub run: RunId,
    /// The pull request.
    pub pull: PullId,
    /// Name of the suite.
    pub suite: String,
    /// Keys and values as they were typed.
    pub pairs: Vec<(String, String)>,
    /// The head that is measured.
    pub head: CommitSha,
    /// The branch that the pull request is to be merged into.
    pub base_ref: String,
    /// The newest commit of that branch.
    pub base: CommitSha,
    /// Whether the head comes from another repository.
    pub fork: bool,
    /// Who asked.
    pub by: Account,
    /// The comment that asked.
    pub comment: u64,
    /// When the run was accepted.
    pub at: Ms,
    /// The run that it adds rounds to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
}

impl Asked {
    /// The request.
    #[must_use]
    pub fn request(&self) -> Request {
        Request { suite: self.suite.clone(), pairs: self.pairs.clone() }
    }

    /// The line that asks for the same again.
    #[must_use]
    pub fn line(&self) -> String {
        let pairs: String = self.pairs.iter().map(|(key, value)| [" ", key, "=", value].concat()).collect();
        format!("/ab-test {}{pairs}", self.suite)
    }

    /// Whether more rounds of an earlier comparison are asked for.
    #[must_use]
    pub fn more_rounds(&self) -> bool {
        self.pairs.iter().any(|(key, value)| key == "rounds" && value.starts_with('+'))
    }
}
