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

/// What makes a run begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A command in a comment.
    #[default]
    Command,
    /// A button of a check.
    Button,
    /// A push after a run that was asked for.
    Push,
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
    /// Who asked; after a push, who had asked before it.
    pub by: Account,
    /// The comment that asked, or on which what asked rests.
    pub comment: u64,
    /// When the run was accepted.
    pub at: Ms,
    /// The run that it adds rounds to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// The run without a verdict whose measurements it takes over, so that only what is missing is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RunId>,
    /// What makes it begin.
    #[serde(default)]
    pub cause: Cause,
    /// Whether the pairs name jobs that ran already: nothing is launched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub jobs: bool,
}

impl Asked {
    /// The request.
    #[must_use]
    pub fn request(&self) -> Request {
        Request { suite: self.suite.clone(), pairs: self.pairs.clone() }
    }

    /// What makes it another request than every other one: the same never makes two runs.
    #[must_use]
    pub fn key(&self) -> String {
        match self.cause {
            Cause::Command => format!("comment:{}:{}", self.pull.repo.id, self.comment),
            // The time in the id is that of the press as it was handled; the rest follows from the delivery.
            Cause::Button => {
                let id = self.run.as_str();
                let of = id.rsplit('-').next().unwrap_or(id);
                format!("button:{}:{}:{of}", self.pull.repo.id, self.pull.number)
            }
            Cause::Push => format!("run:{}", self.run),
        }
    }

    /// The line that asks for the same again.
    #[must_use]
    pub fn line(&self) -> String {
        let pairs: String = self.pairs.iter().map(|(key, value)| [" ", key, "=", value].concat()).collect();
        let verb = if self.jobs { " compare" } else { "" };
        format!("/ab-test {}{verb}{pairs}", self.suite)
    }

    /// Whether more rounds of an earlier comparison are asked for.
    #[must_use]
    pub fn more_rounds(&self) -> bool {
        self.pairs.iter().any(|(key, value)| key == "rounds" && value.starts_with('+'))
    }
}
