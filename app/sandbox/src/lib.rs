//! A small GitHub on loopback that remembers what happened: for tests of the whole program, and to play with.
//!
//! - [`Sandbox`]: starts it; what people do in it (comments, pushes, clicks) and what a test asks of it, in rooms of `sandbox`
//! - `acts`: what comes of what people do, and what the webhook is told of it
//! - [`Options`], [`Settings`]: what it is started with, and what a program needs to connect to it
//! - `model`, `state`, `git`: what it remembers; repositories are real ones
//! - `api`, `render`: the REST API, and how objects look in it
//! - `registering`: how an app is made of a manifest
//! - `hooks`: deliveries to the webhook, signed, and the log of them
//! - [`faults`]: what goes wrong on purpose
//! - [`exchange`], `contract`: who judges requests and answers, and GitHub's own description as such a judge
//! - `serve`, `page`: the server, git over HTTP, the control with curl, and pages for a browser
//! - [`demo`]: a repository with pull requests to start from

mod acts;
mod api;
mod auth;
pub mod clock;
#[cfg(feature = "contract")]
pub mod contract;
pub mod demo;
mod dice;
mod error;
pub mod exchange;
pub mod faults;
mod git;
mod hooks;
pub mod model;
mod options;
mod page;
mod registering;
mod render;
mod sandbox;
mod serve;
mod settings;
pub mod signature;
mod stamp;
mod state;

pub use self::error::Error;
pub use self::options::Options;
pub use self::sandbox::Sandbox;
pub use self::settings::Settings;

/// The private key of the app in PEM. Known to everybody: it opens nothing but a sandbox.
pub const PRIVATE_KEY: &str = include_str!("key/private.pem");
/// The public key that belongs to [`PRIVATE_KEY`].
pub const PUBLIC_KEY: &str = include_str!("key/public.pem");
