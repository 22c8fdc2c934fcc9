//! The port.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ids::CommitSha;
use domain::ports::Forge;
use domain::ports::forge::{
    Account, CheckFound, CheckWanted, CommentFound, CommentWanted, ForgeError, GitAccess, LoggedDelivery, Permission,
    Pull, PullId, Reaction, Repo, SentDelivery,
};
use domain::time::Ms;
use secrecy::ExposeSecret as _;

use crate::app::{AppFacts, HookFacts};
use crate::asking::Hub;
use crate::clock::Clock;
use crate::identity::Installation;
use crate::settings::{Settings, SetupError};
use crate::tokens::{Key, Need};

/// GitHub, for one app. Clones are the same one: they share tokens, pace and what is known.
#[derive(Clone)]
pub struct GitHub(Arc<Hub>);

impl GitHub {
    /// Asks nothing yet. To be called inside a Tokio runtime, which must outlive it.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        Ok(Self(Arc::new(Hub::new(settings, clock)?)))
    }

    /// The app as GitHub knows it: whether our keys are its keys, and our clock is right.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn app(&self) -> Result<AppFacts, ForgeError> {
        self.0.app().await
    }

    /// Where the app's deliveries go.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn hook(&self) -> Result<HookFacts, ForgeError> {
        self.0.hook().await
    }

    /// Where the app is installed.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn installations(&self) -> Result<Vec<Installation>, ForgeError> {
        self.0.installations().await
    }
}

impl GitHub {
    pub(crate) fn hub(&self) -> &Hub {
        &self.0
    }
}

impl std::fmt::Debug for GitHub {
    /// Never a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitHub({} at {})", self.0.app_id, self.0.wire.places().api)
    }
}

impl Forge for GitHub {
    async fn pull(&self, id: &PullId) -> Result<Pull, ForgeError> {
        self.0.pull(id).await
    }

    async fn permission(&self, repo: &Repo, who: &Account) -> Result<Permission, ForgeError> {
        self.0.permission(repo, who).await
    }

    async fn comment(
        &self,
        wanted: &CommentWanted,
        known: Option<u64>,
        recreate: bool,
    ) -> Result<CommentFound, ForgeError> {
        self.0.comment(wanted, known, recreate).await
    }

    async fn react(&self, repo: &Repo, comment: u64, with: Reaction) -> Result<(), ForgeError> {
        self.0.react(repo, comment, with).await
    }

    async fn check(&self, wanted: &CheckWanted, known: Option<u64>) -> Result<u64, ForgeError> {
        self.0.check(wanted, known).await
    }

    async fn checks(&self, repo: &Repo, head: &CommitSha, names: &[String]) -> Result<Vec<CheckFound>, ForgeError> {
        self.0.checks(repo, head, names).await
    }

    async fn minimise(&self, repo: &Repo, comment: u64) -> Result<(), ForgeError> {
        self.0.minimise(repo, comment).await
    }

    async fn delete(&self, repo: &Repo, comment: u64) -> Result<(), ForgeError> {
        self.0.delete(repo, comment).await
    }

    async fn labels(&self, pull: &PullId, add: &[String], remove: &[String]) -> Result<(), ForgeError> {
        self.0.labels(pull, add, remove).await
    }

    async fn file(&self, repo: &Repo, path: &str, at: Option<&CommitSha>) -> Result<Option<Vec<u8>>, ForgeError> {
        self.0.file(repo, path, at).await
    }

    async fn git(&self, repo: &Repo) -> Result<GitAccess, ForgeError> {
        let token = || self.0.token(Key { installation: self.0.homes.of(repo), repo: repo.id, need: Need::Git });
        let token = match token().await {
            Err(ForgeError::Gone(_)) if self.0.moved(repo).await => token().await?,
            other => other?,
        };
        let name = match self.0.names.of(repo) {
            Some(name) => name,
            None => self.0.whereabouts(repo).await?,
        };
        let login = STANDARD.encode(format!("x-access-token:{}", token.expose_secret()));
        Ok(GitAccess {
            url: format!("{}/{name}.git", self.0.wire.places().web),
            authorization: Some(format!("Basic {login}")),
        })
    }

    async fn deliveries(&self, since: Ms) -> Result<Vec<LoggedDelivery>, ForgeError> {
        self.0.deliveries(since).await
    }

    async fn delivery(&self, id: u64) -> Result<SentDelivery, ForgeError> {
        self.0.delivery(id).await
    }
}
