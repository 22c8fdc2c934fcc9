//! Who makes plans.

use serde::{Deserialize, Serialize};

use crate::ids::CommitSha;
use crate::plan::Plan;
use crate::pull::{Asked, Compared, OnPush};
use crate::view::{Answer, Ending};

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// There will be none, however often it is asked for.
    #[error("{why}")]
    Never {
        /// How that ends the run.
        how: Ending,
        /// Why, for the comment.
        why: String,
    },
    /// Something could not be asked; again later.
    #[error("{0}")]
    NotNow(String),
}

/// How somebody is told of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// By one short comment.
    #[default]
    Reply,
    /// By posting the verdict anew.
    Repost,
    /// Not at all.
    None,
}

/// What a suite, and the repository where it may, want done on a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manners {
    /// What a push does.
    pub on_push: OnPush,
    /// How long a head must stand before it is measured by itself, milliseconds.
    pub debounce_ms: u64,
    /// How somebody is told of a verdict.
    pub notify: Notify,
    /// Checks that must be green on the head before anything is launched.
    pub require_checks: Vec<String>,
}

impl Default for Manners {
    /// `auto` after 10 min, told by a reply, no checks.
    fn default() -> Self {
        Self { on_push: OnPush::Auto, debounce_ms: 600_000, notify: Notify::Reply, require_checks: Vec::new() }
    }
}

/// Makes plans: fetches commits, reads the suite, finds out what every arm runs. Making one twice is fine.
pub trait Planner: Send + Sync {
    /// The plan of what was asked for. What the evidence folder needs beside the plan is in it when this returns.
    ///
    /// # Errors
    /// See [`NoPlan`].
    fn plan(&self, asked: &Asked) -> impl Future<Output = Result<Plan, NoPlan>> + Send;

    /// What the plan would be, for a person; nothing is kept of it.
    ///
    /// # Errors
    /// See [`NoPlan`].
    fn preview(&self, asked: &Asked) -> impl Future<Output = Result<Answer, NoPlan>> + Send;

    /// Whether `before`, the plan that was made for `asked`, is also the plan of the head `head`.
    ///
    /// # Errors
    /// See [`NoPlan`].
    fn weigh(
        &self,
        asked: &Asked,
        before: &Plan,
        head: &CommitSha,
    ) -> impl Future<Output = Result<Compared, NoPlan>> + Send;

    /// What is wanted done on pull requests of the repository for a suite.
    ///
    /// # Errors
    /// See [`NoPlan`].
    fn manners(
        &self,
        repo: &crate::ports::forge::Repo,
        suite: &str,
    ) -> impl Future<Output = Result<Manners, NoPlan>> + Send;

    /// The title of a suite, for a comment before there is a plan.
    fn title(&self, suite: &str) -> String;
}
