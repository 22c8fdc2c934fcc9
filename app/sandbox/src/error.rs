//! What a sandbox cannot do.

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port is taken, or the folder for the repositories cannot be made.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// git said no.
    #[error("git {command}: {said}")]
    Git {
        /// What was asked of it.
        command: String,
        /// What it wrote to standard error.
        said: String,
    },
    /// There is no such repository, pull request, user or object.
    #[error("there is no {0}")]
    Unknown(String),
    /// The state of things does not permit it.
    #[error("{0}")]
    Refused(String),
}
