//! The port against a small GitHub of our own on loopback: what is asked, how often, and what comes of lost answers.

// A test says what went wrong by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod checks;
mod comments;
mod described;
mod fake;
mod files;
mod labels;
mod limits;
mod log;
mod login;
mod names;
mod reading;
mod secrets;
mod stage;
mod standing;
