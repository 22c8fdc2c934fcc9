//! The service: the real program against the sandbox, whose requests and answers are held against GitHub's description.

mod announced;
mod buttons;
mod commands;
mod confirm;
mod crashes;
mod crashing;
mod deliveries;
mod fair;
mod faults;
mod forks;
pub(crate) mod harness;
mod inside;
mod kills;
mod many;
mod path;
mod payloads;
mod pushes;
mod reach;
mod replaying;
mod requests;
mod required;
mod runs;
mod setup;
mod trivial;
mod unreadable;
mod verbs;
mod watch;
