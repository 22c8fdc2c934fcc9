//! Who makes plans.

use crate::plan::Plan;
use crate::pull::Asked;
use crate::view::Ending;

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

/// Makes plans: fetches commits, reads the suite, finds out what every arm runs. Making one twice is fine.
pub trait Planner: Send + Sync {
    /// The plan of what was asked for. What the evidence folder needs beside the plan is in it when this returns.
    ///
    /// # Errors
    /// See [`NoPlan`].
    fn plan(&self, asked: &Asked) -> impl Future<Output = Result<Plan, NoPlan>> + Send;

    /// The title of a suite, for a comment before there is a plan.
    fn title(&self, suite: &str) -> String;
}
