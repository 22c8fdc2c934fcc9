//! The service: the real program against the sandbox, whose requests and answers are held against GitHub's description.

mod commands;
mod confirm;
mod crashes;
mod crashing;
mod deliveries;
mod fair;
mod faults;
pub(crate) mod harness;
mod inside;
mod kills;
mod many;
mod path;
mod payloads;
mod pushes;
mod replaying;
mod repository;
mod runs;
mod setup;
mod unreadable;
mod watch;
