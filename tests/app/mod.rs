//! The service: the real program against the sandbox, whose requests and answers are held against GitHub's description.

mod commands;
mod confirm;
mod deliveries;
mod faults;
pub(crate) mod harness;
mod path;
mod runs;
mod watch;
