//! Commands in comments: `/ab-test <suite> [verb] [key=value ...]`.
//!
//! [`extract`] finds the line of a comment that is one, `read` in `line` understands it, with the pairs left to
//! [`request`](crate::request). [`VERBS`] is the one table of verbs: errors, [`help`] and the README derive from it.
//! [`Known`] is what may be named; what a value means to its suite is for the suite to say. [`refusal`] answers a line that is
//! not understood.

mod answer;
mod error;
mod extract;
mod html;
mod known;
mod line;
mod verb;

#[cfg(test)]
mod tests;

pub use answer::{help, refusal};
pub use error::{Code, CommandError};
pub use extract::{Found, LONGEST_BODY, LONGEST_LINE, extract};
pub use known::{Known, ParameterKeys, SuiteKeys};
pub use verb::{PREFIX, Pairs, Positional, VERBS, Verb, VerbKind, Who};

use crate::ids::SuiteName;
use crate::request::Request;

/// Longest reason, in characters.
pub const LONGEST_REASON: usize = 500;
/// Longest name of a row, in characters.
pub const LONGEST_ROW: usize = 200;

/// A command that is understood. Values are as they were typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The suite; `None` where help or status of everything is wanted.
    pub suite: Option<SuiteName>,
    /// The verb. Whether it is built is for the caller to look at.
    pub verb: &'static Verb,
    /// The pairs, of a form that [`Request::options`] accepts where the verb takes those of a request.
    pub request: Request,
    /// The digest of a plan: 6 to 64 hexadecimal digits.
    pub digest: Option<String>,
    /// The reason: at most [`LONGEST_REASON`] characters, none of them invisible.
    pub reason: Option<String>,
    /// The row: at most [`LONGEST_ROW`] characters, none of them invisible.
    pub row: Option<String>,
    /// Whether it was switched on.
    pub state: Option<bool>,
}

/// Reads the command of a comment; `None` where there is none.
///
/// # Errors
/// More than one command line, one that is too long, or one that is not understood.
pub fn read(body: &str, known: &Known) -> Result<Option<Command>, CommandError> {
    match extract(body) {
        Found::None => Ok(None),
        Found::One(line) => line::read(&line, known).map(Some),
        Found::Two => Err(CommandError::new(
            Code::TwoCommands,
            format!("there are two lines that begin with {PREFIX}; a comment has one command: write two comments"),
        )),
        Found::TooLong { what, found, most } => {
            Err(CommandError::new(Code::TooLong, format!("{what} has {found} characters; at most {most} are read")))
        }
    }
}

/// The first characters of a foreign text.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
