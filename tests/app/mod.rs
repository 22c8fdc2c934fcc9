//! The service: the real program against the sandbox, whose requests and answers are held against GitHub's description.

pub(crate) mod harness;
mod path;
