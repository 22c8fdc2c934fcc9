//! Repositories and what is pushed to them.

use std::path::PathBuf;

use super::Sandbox;
use crate::Error;
use crate::state::State;

impl Sandbox {
    /// Makes an empty public repository, and its owner where there is none. Returns its number.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that makes no sense or is taken.
    pub fn repository(&self, full_name: &str) -> Result<u64, Error> {
        self.with(|state| state.make_repo(full_name, false, None))
    }

    /// Makes a repository private or public.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn set_private(&self, repo: &str, private: bool) -> Result<(), Error> {
        self.in_repo(repo, |state, id| {
            if let Some(repo) = state.repos.get_mut(&id) {
                repo.private = private;
            }
            Ok(())
        })
    }

    /// Forks a repository. The fork is called `owner/name` with the same name.
    ///
    /// # Errors
    /// [`Error::Refused`] where there is one already.
    pub fn fork(&self, repo: &str, owner: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.fork(id, owner))
    }

    /// Deletes a fork. Its pull requests stay, without a repository of their head.
    ///
    /// # Errors
    /// [`Error::Refused`] for a repository that is no fork.
    pub fn delete_fork(&self, fork: &str) -> Result<(), Error> {
        self.in_repo(fork, State::delete_fork)
    }

    /// The bare repository on this machine; call [`Sandbox::pushed`] after pushing there.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn folder(&self, repo: &str) -> Result<PathBuf, Error> {
        self.in_repo(repo, |state, id| Ok(state.repo(id)?.folder.clone()))
    }

    /// Adds a commit to a branch without telling anybody. `None` removes a file. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where git refuses.
    pub fn commit(
        &self,
        repo: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> Result<String, Error> {
        self.in_repo(repo, |state, id| state.add_commit(id, branch, files, message, "sandbox"))
    }

    /// Adds a commit to a branch, and lets the pull requests from it follow. Returns the commit.
    ///
    /// # Errors
    /// [`Error::Git`] where git refuses.
    pub fn push(
        &self,
        repo: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
    ) -> Result<String, Error> {
        let sha = self.commit(repo, branch, files, message)?;
        self.pushed(repo, by)?;
        Ok(sha)
    }

    /// Points a branch at a commit, as a forced push does, and lets the pull requests from it follow.
    ///
    /// # Errors
    /// [`Error::Git`] where there is no such commit.
    pub fn force(&self, repo: &str, branch: &str, sha: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.force(id, branch, sha, by))
    }

    /// Looks at the branches of a repository that somebody has pushed to, and lets the pull requests from them follow.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn pushed(&self, repo: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.pushed(id, by))
    }

    /// Gives a repository another name, `octo/demo` -> `octo/<name>`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that makes no sense or is taken.
    pub fn rename(&self, repo: &str, name: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.rename(id, name, by))
    }

    /// Gives a repository to another owner. The app reaches it no longer, unless it is installed there.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn transfer(&self, repo: &str, owner: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.transfer(id, owner, by))
    }
}
