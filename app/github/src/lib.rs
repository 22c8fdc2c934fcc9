//! The forge port, spoken to GitHub as an app of it. The only crate that names octocrab.
//!
//! - [`settings`]: where GitHub is and who we are there; [`clock`]: the time, as the caller has it.
//! - `wire`: one request and its answer; redirects on the same host. `verdict`: what an answer means.
//! - `keys`: the JWT of the app, over several keys and a wrong clock. `tokens`: tokens of installations, one flight each.
//! - `lane`: the pace of each installation and the time until which it is to be left alone.
//! - `asking`: wire, tokens, lanes and names together: what is repeated, how a renamed repository is found.
//! - `pulls`, `permissions`, `comments`, `labels`, `files`, `deliveries`, `identity`: the questions themselves.
//! - `checks`: our own check of a commit; `standing`: how far everybody's are. `app`: what the app is, for a doctor; `reach`:
//!   where it is installed.
//! - [`needs`]: what the app has to be allowed and told of.
//! - `objects`: what of GitHub's answers is read, every field of it optional. `redact`: texts without secrets.

mod app;
mod asking;
mod checks;
pub mod clock;
mod comments;
mod deliveries;
mod files;
mod forge;
mod identity;
mod keys;
mod labels;
mod lane;
mod names;
pub mod needs;
mod objects;
mod pages;
mod permissions;
mod pulls;
mod reach;
mod redact;
pub mod settings;
mod standing;
mod times;
mod tokens;
mod verdict;
mod wire;

pub use app::{AppFacts, HookFacts};
pub use clock::Clock;
pub use forge::GitHub;
pub use identity::Installation;
pub use redact::redact;
pub use settings::{Settings, SetupError};
