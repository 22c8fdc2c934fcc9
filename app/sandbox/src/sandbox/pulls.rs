//! Issues and pull requests.

use super::Sandbox;
use crate::Error;
use crate::model::Issue;

impl Sandbox {
    /// Opens an issue. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository or an author that is not there.
    pub fn issue(&self, repo: &str, title: &str, by: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.open_issue(id, title, by, None))
    }

    /// Opens a pull request for a branch of the repository itself (`branch`) or of a fork (`owner/name:branch`). Returns
    /// its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a branch or an author that is not there.
    pub fn pull(&self, repo: &str, head: &str, base: &str, title: &str, by: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| {
            let (from, branch) = match head.split_once(':') {
                Some((fork, branch)) => (state.named(fork)?, branch),
                None => (id, head),
            };
            state.open_pull(id, from, branch, base, title, by)
        })
    }

    /// An issue or a pull request as it is now.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn look(&self, repo: &str, number: u64) -> Result<Issue, Error> {
        self.in_repo(repo, |state, id| state.issue(id, number).cloned())
    }

    /// Closes a pull request or an issue.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is closed already.
    pub fn close(&self, repo: &str, number: u64, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_open(id, number, false, by))
    }

    /// Opens it again.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is open or merged.
    pub fn reopen(&self, repo: &str, number: u64, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_open(id, number, true, by))
    }

    /// Merges a pull request. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where there are conflicts.
    pub fn merge(&self, repo: &str, number: u64, by: &str) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.merge(id, number, by))
    }

    /// Directs a pull request at another branch.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a branch that is not there.
    pub fn retarget(&self, repo: &str, number: u64, base: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.retarget(id, number, base, by))
    }

    /// Makes a pull request a draft, or ready.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn set_draft(&self, repo: &str, number: u64, draft: bool, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_draft(id, number, draft, by))
    }

    /// Locks a conversation, or opens it again: the app cannot comment on it while it is locked.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn set_locked(&self, repo: &str, number: u64, locked: bool) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_locked(id, number, locked))
    }

    /// Adds a commit to the branch of a pull request, wherever that is. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such branch any more.
    pub fn push_to(
        &self,
        repo: &str,
        number: u64,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
    ) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.push_to(id, number, files, message, by, false))
    }

    /// Replaces all commits of the branch of a pull request by one, as a forced push does. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such branch any more.
    pub fn force_to(
        &self,
        repo: &str,
        number: u64,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
    ) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.push_to(id, number, files, message, by, true))
    }

    /// Puts a label on an issue or a pull request, and makes it where nobody has yet.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such issue, [`Error::Refused`] for a name that makes no sense.
    pub fn label(&self, repo: &str, number: u64, name: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.put_label(id, number, name, by))
    }

    /// Takes a label off.
    ///
    /// # Errors
    /// [`Error::Unknown`] where it is not there.
    pub fn unlabel(&self, repo: &str, number: u64, name: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.take_label(id, number, name, by))
    }
}
