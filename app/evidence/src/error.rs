//! What can be wrong with a folder.

use std::io;

use domain::ports::RecordsError;

/// Why a folder cannot be written, read or judged.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// This is no evidence folder, or not a finished one.
    #[error("{0}")]
    NotEvidence(String),
    /// Other content is there under the same name, or nothing can be added any more.
    #[error("{file}: {problem}")]
    Conflict {
        /// The file.
        file: String,
        /// What stands against it.
        problem: String,
    },
    /// A file that is not what it should be, or that must not be written.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A look names a trial of which nothing is written yet.
    #[error("{file}: {problem}")]
    NotYet {
        /// The file that will have it.
        file: String,
        /// What is not there.
        problem: String,
    },
    /// The system said no.
    #[error("{file}: {source}")]
    Io {
        /// The file or folder.
        file: String,
        /// What it said.
        source: io::Error,
    },
}

impl EvidenceError {
    #[allow(clippy::needless_pass_by_value)] // errors and texts as they come
    pub(crate) fn file(file: impl Into<String>, problem: impl ToString) -> Self {
        Self::File { file: file.into(), problem: problem.to_string() }
    }

    #[allow(clippy::needless_pass_by_value)] // likewise
    pub(crate) fn conflict(file: impl Into<String>, problem: impl ToString) -> Self {
        Self::Conflict { file: file.into(), problem: problem.to_string() }
    }

    /// An answer of the system. What it cannot hold or hand out in any future is a matter of the file.
    pub(crate) fn io(file: impl Into<String>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory => {
                Self::file(file, source)
            }
            _ => Self::Io { file: file.into(), source },
        }
    }
}

impl From<EvidenceError> for RecordsError {
    fn from(error: EvidenceError) -> Self {
        let text = error.to_string();
        match error {
            EvidenceError::Conflict { .. } => Self::Conflict(text),
            EvidenceError::NotEvidence(_) | EvidenceError::File { .. } => Self::Unusable(text),
            EvidenceError::NotYet { .. } | EvidenceError::Io { .. } => Self::Failed(text),
        }
    }
}
