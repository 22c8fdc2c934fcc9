//! How a pull request moves, as pure code: what was asked for, what runs, what its comments show.
//!
//! [`state`] is what is remembered of a pull request, [`step()`] its machine, `ask` what commands do to it, [`push`] what pushes
//! do, `over` how a run is left, [`policy`] who may ask for what and which commit is meant. A pull request is always looked at before anything is done for it: an event that tells of a change is
//! a hint, and [`state::PullState::seen`] is what was found. Whether a verdict still speaks of what would be merged is
//! a function of the state ([`state::PullState::stale`]), never stored.

mod ask;
pub mod asked;
mod over;
pub mod policy;
pub mod push;
pub mod state;
pub mod step;

#[cfg(test)]
mod tests;

pub use asked::{Asked, Cause, FromPull};
pub use policy::{Denied, at_least, head_meant, may};
pub use push::{Auto, Compared, Newer, NewerFate, Next, NotAgain, OnPush, Weighed};
pub use state::{Approval, Over, PULL_SCHEMA, PullState, Push, Shown, Stage, Waits};
pub use step::{Event, Said, Stepped, What, step};
