//! What the app reaches.

use domain::ports::forge::ForgeError;

use crate::asking::Hub;
use crate::forge::GitHub;
use crate::identity::{Installation, granted};
use crate::objects::Installed;
use crate::pages::escape;
use crate::verdict;

impl GitHub {
    /// The installation that reaches `owner/name`; `None` where the app is not installed there, or there is no such
    /// repository.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn installed_at(&self, repository: &str) -> Result<Option<Installation>, ForgeError> {
        self.hub().installed_at(repository).await
    }
}

impl Hub {
    pub(crate) async fn installed_at(&self, repository: &str) -> Result<Option<Installation>, ForgeError> {
        let (owner, name) = repository.split_once('/').unwrap_or((repository, ""));
        let path = format!("/repos/{}/{}/installation", escape(owner), escape(name));
        let reply = match self.ask_app(&path).await {
            Ok(reply) => reply,
            Err(ForgeError::Gone(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found: Installed = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        Ok(Some(Installation {
            id: found.id.ok_or_else(|| verdict::unreadable(&reply))?,
            account: found.account.and_then(|account| account.login),
            suspended: found.suspended_at.is_some(),
            permissions: granted(found.permissions),
        }))
    }
}
