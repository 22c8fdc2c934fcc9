//! The service: the real program against the sandbox, whose requests and answers are held against GitHub's description.

mod harness;
mod path;
