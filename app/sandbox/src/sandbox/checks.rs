//! Checks of commits: clicks on ours, and what others say.

use super::Sandbox;
use crate::Error;
use crate::model::Check;

impl Sandbox {
    /// All check runs, oldest first.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        self.with(|state| state.checks.values().cloned().collect())
    }

    /// Presses a button of a check run.
    ///
    /// # Errors
    /// [`Error::Unknown`] where it has no such button, or nobody is called so.
    pub fn press(&self, check: u64, identifier: &str, by: &str) -> Result<(), Error> {
        self.with(|state| state.press(check, identifier, by))
    }

    /// Asks for a check run again.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is not completed.
    pub fn rerequest(&self, check: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.rerequest(check, by))
    }

    /// A check run of another app, such as a build; without a conclusion it goes on. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a commit that is not there.
    pub fn other_check(&self, repo: &str, sha: &str, name: &str, conclusion: Option<&str>) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.other_check(id, sha, name, conclusion))
    }

    /// Says something of a commit: `error`, `failure`, `pending` or `success`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a commit that is not there.
    pub fn set_status(&self, repo: &str, sha: &str, context: &str, state_word: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.set_status(id, sha, context, state_word))
    }
}
