//! How a run and its trials move, as pure code: a state and an event give the next state and effects.
//!
//! [`trial`] is one job from its submission to what became of it, with its answers in `collecting`; [`run`] is the whole
//! comparison, its states in [`state`], its rounds in `measuring`, its judgements in `judging`, its ends in `ending`.
//! [`effect`] is what the machines ask the world for, [`standing`] says what a reason means for the rounds to come,
//! [`churn`] when discards are one-sided, and [`timing`] how long is waited for what. An event that nothing names
//! changes nothing.

pub mod churn;
mod collecting;
pub mod effect;
mod ending;
mod judging;
mod measuring;
pub mod run;
pub mod standing;
pub mod state;
pub mod timing;
pub mod trial;

#[cfg(test)]
mod tests;

pub use effect::{Effect, Keep, What};
pub use run::{Event, Run, STATE_SCHEMA, StateError, step};
pub use standing::{Standing, standing};
pub use state::{Frame, State, Stop, Then};
pub use trial::{Overdue, Probe, Step, Trial, TrialEvent, TrialState, Unavailable};
