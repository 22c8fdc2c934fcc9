//! How a pull request moves, as pure code: what was asked for, what runs, what its comments show.
//!
//! [`state`] is what is remembered of a pull request, [`step()`] its machine, [`policy`] who may ask for what and which
//! commit is meant. A pull request is always looked at before anything is done for it: an event that tells of a change is
//! a hint, and [`state::PullState::seen`] is what was found. Whether a verdict still speaks of what would be merged is
//! a function of the state ([`state::PullState::stale`]), never stored.

pub mod asked;
pub mod policy;
pub mod state;
pub mod step;

#[cfg(test)]
mod tests;

pub use asked::{Asked, FromPull};
pub use policy::{Denied, head_meant, may};
pub use state::{Over, PULL_SCHEMA, PullState, Push, Shown, Stage};
pub use step::{Event, Said, Stepped, What, step};
