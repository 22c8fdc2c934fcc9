//! People, and the app at their accounts.

use super::Sandbox;
use crate::Error;
use crate::model::Kind;
use crate::state::State;

impl Sandbox {
    /// Makes an account, where there is none of this name. Returns its number.
    #[must_use]
    pub fn user(&self, login: &str, kind: Kind) -> u64 {
        self.with(|state| state.user(login, kind))
    }

    /// Deletes an account: its comments have no author from now on.
    pub fn delete_user(&self, login: &str) {
        self.with(|state| {
            state.users.remove(login);
            for comment in state.comments.values_mut().filter(|comment| comment.author.as_deref() == Some(login)) {
                comment.author = None;
            }
        });
    }

    /// Gives somebody a role: `read`, `triage`, `write`, `maintain`, `admin`, another one that reads, or `none`.
    /// Makes the account where there is none.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a repository that is not there.
    pub fn grant(&self, repo: &str, login: &str, role: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.grant(id, login, role))
    }

    /// Installs the app at an account for these repositories, or adds them to its installation. Returns its number.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an account or a repository that is not there.
    pub fn install(&self, account: &str, repos: &[&str]) -> Result<u64, Error> {
        self.with(|state| {
            let ids = repos.iter().map(|repo| state.named(repo)).collect::<Result<Vec<_>, _>>()?;
            state.install(account, &ids)
        })
    }

    /// Removes the app from an account.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn uninstall(&self, installation: u64, by: &str) -> Result<(), Error> {
        self.with(|state| state.uninstall(installation, by))
    }

    /// Suspends the app at an account, or lets it go on.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn suspend(&self, installation: u64, suspended: bool, by: &str) -> Result<(), Error> {
        self.with(|state| state.suspend(installation, suspended, by))
    }

    /// Takes a repository away from the app.
    ///
    /// # Errors
    /// [`Error::Unknown`] where the app does not reach it.
    pub fn withdraw(&self, repo: &str, by: &str) -> Result<(), Error> {
        self.in_repo(repo, |state, id| state.withdraw(id, by))
    }

    /// Changes what an installation may; `None` takes the permission away.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an installation that is not there.
    pub fn permit(&self, installation: u64, what: &str, level: Option<&str>) -> Result<(), Error> {
        self.with(|state| state.permit(installation, what, level))
    }

    /// Sends a `ping`.
    pub fn ping(&self) {
        self.with(State::ping);
    }

    /// Ends all tokens of installations now.
    pub fn expire_tokens(&self) {
        self.with(|state| state.tokens.clear());
    }

    /// Somebody sends the form that makes an app of a manifest. Returns the code that the app's settings are asked for with,
    /// once; the app of the sandbox is then what the manifest says.
    ///
    /// # Errors
    /// [`Error::Refused`] for a manifest without an address.
    pub fn manifest(&self, manifest: &serde_json::Value) -> Result<String, Error> {
        self.with(|state| state.take_manifest(manifest))
    }
}
