//! What can go wrong with a repository.

use super::TreePath;

/// Why git, or a repository, did not give what was asked for. Foreign text is shortened and freed of control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The program is not there.
    #[error("git cannot be started: {0}; needed: git 2.38 or newer in PATH")]
    NoGit(String),
    /// The system said no.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        why: String,
    },
    /// A call took too long and was killed.
    #[error("git {what} took longer than {seconds} s and was stopped")]
    TimeLimit {
        /// The git command.
        what: String,
        /// The limit.
        seconds: u64,
    },
    /// A call, a file or a tree is larger than is accepted.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit with its unit.
        limit: String,
    },
    /// Git said no.
    #[error("git {what} failed{}: {said}", code.map(|code| format!(" (exit {code})")).unwrap_or_default())]
    Failed {
        /// The git command.
        what: String,
        /// Its exit code; `None` where a signal ended it.
        code: Option<i32>,
        /// What it said.
        said: String,
    },
    /// Git answered with something that it never answers.
    #[error("git {what} answered with something else than was expected")]
    Unexpected {
        /// The git command.
        what: String,
    },
    /// A place that nothing is fetched from.
    #[error(
        "{found:?} is not a repository to compare in: {why}; allowed: a folder inside a git repository, https://..., file:///..."
    )]
    Source {
        /// The place, shortened.
        found: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A name that no revision has.
    #[error("{found:?} cannot be the name of a revision: it {why}")]
    Name {
        /// The name, shortened.
        found: String,
        /// What is wrong.
        why: &'static str,
    },
    /// No commit is called so.
    #[error("there is no commit {found:?} among what branches and tags lead to{}", nearest.as_ref().map(|name| format!("; did you mean {name:?}?")).unwrap_or_default())]
    UnknownRevision {
        /// The name.
        found: String,
        /// The name of a branch or a tag that is nearly the same.
        nearest: Option<String>,
    },
    /// Two commits without a common ancestor.
    #[error("{one} and {other} have no common ancestor{}", if *shallow { ": the repository is a shallow clone, and `git fetch --unshallow` gets the rest of its history" } else { ": name the control commit explicitly" })]
    Unrelated {
        /// A commit.
        one: String,
        /// Another commit.
        other: String,
        /// The history is cut off, so that there may be one.
        shallow: bool,
    },
    /// A path that is never written.
    #[error("the tree has a path that is not safe to write: {path} {why}")]
    UnsafePath {
        /// The path.
        path: TreePath,
        /// What is wrong.
        why: &'static str,
    },
    /// It was told to stop.
    #[error("stopped")]
    Stopped,
}

impl GitError {
    pub(crate) fn system(what: impl Into<String>, why: &std::io::Error) -> Self {
        Self::System { what: what.into(), why: why.to_string() }
    }

    pub(crate) fn unexpected(what: &str) -> Self {
        Self::Unexpected { what: what.to_owned() }
    }
}

/// Foreign text for a message: at most `most` characters, spaces for control characters.
pub(crate) fn plain(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let shown: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    shown.trim().to_owned()
}
