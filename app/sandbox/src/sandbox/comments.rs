//! Comments and reactions.

use super::Sandbox;
use crate::Error;
use crate::model::{Comment, Reaction};

impl Sandbox {
    /// Writes a comment. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an issue or an author that is not there.
    pub fn comment(&self, repo: &str, number: u64, by: &str, body: &str) -> Result<u64, Error> {
        self.in_repo(repo, |state, id| state.write_comment(id, number, by, body, false))
    }

    /// Edits a comment.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn edit_comment(&self, id: u64, by: &str, body: &str) -> Result<(), Error> {
        self.with(|state| state.rewrite_comment(id, by, body))
    }

    /// Deletes a comment.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn delete_comment(&self, id: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.remove_comment(id, by))
    }

    /// Folds a comment for a reason such as `outdated` or `off-topic`, or unfolds it. Nobody is told.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn minimise(&self, id: u64, reason: Option<&str>) -> Result<(), Error> {
        self.with(|state| state.fold_comment(id, reason))
    }

    /// The comments on an issue, oldest first. Empty where there is no such repository.
    #[must_use]
    pub fn comments(&self, repo: &str, number: u64) -> Vec<Comment> {
        self.with(|state| {
            let Ok(id) = state.named(repo) else { return Vec::new() };
            state.comments.values().filter(|comment| comment.repo == id && comment.number == number).cloned().collect()
        })
    }

    /// All reactions, oldest first.
    #[must_use]
    pub fn reactions(&self) -> Vec<Reaction> {
        self.with(|state| state.reactions.values().cloned().collect())
    }
}
