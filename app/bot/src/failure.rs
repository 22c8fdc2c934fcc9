//! How a command ends, and the one line that a person sees when it cannot do its work.

use std::io;
use std::process::ExitCode;

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: something went wrong, or what was asked for does not hold.
    Failed,
    /// 2: the input or the arguments make no sense.
    Usage,
    /// 3: done, and the verdict is one of those that were named to fail on.
    Matched,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Usage => Self::from(2),
            Exit::Matched => Self::from(3),
        }
    }
}

/// Why a command could not do its work. Displays as one line.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input or the arguments make no sense: names the place and what was expected.
    #[error("{0}")]
    Usage(String),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Something else went wrong.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl Failure {
    /// The exit code of this failure.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            // Whoever closed the pipe has seen enough.
            Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) | Self::Other(_) => Exit::Failed,
        }
    }

    /// The reader of the output has gone away: nothing to say.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}
