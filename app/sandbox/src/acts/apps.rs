//! Where the app is installed.

use serde_json::{Value, json};

use crate::Error;
use crate::hooks::About;
use crate::model::Installation;
use crate::state::State;

impl State {
    /// Installs the app at an account for these repositories.
    pub(crate) fn install(&mut self, account: &str, repos: &[u64]) -> Result<u64, Error> {
        if !self.users.contains_key(account) {
            return Err(Error::Unknown(format!("user {account}")));
        }
        if let Some(known) = self.installations.values_mut().find(|installation| installation.account == account) {
            known.repositories.extend(repos);
            return Ok(known.id);
        }
        let id = self.id();
        let installation = Installation {
            id,
            account: account.to_owned(),
            repositories: repos.iter().copied().collect(),
            permissions: self.app.permissions.clone(),
            suspended_ms: None,
            created_ms: self.now(),
        };
        self.installations.insert(id, installation);
        self.tell_of_installation(id, "created", account)?;
        Ok(id)
    }

    /// Removes the app from an account.
    pub(crate) fn uninstall(&mut self, id: u64, by: &str) -> Result<(), Error> {
        self.tell_of_installation(id, "deleted", by)?;
        self.installations.remove(&id);
        Ok(())
    }

    /// Suspends the app at an account, or lets it go on.
    pub(crate) fn suspend(&mut self, id: u64, suspended: bool, by: &str) -> Result<(), Error> {
        let now = self.now();
        let found = self.installations.get_mut(&id).ok_or_else(|| Error::Unknown(format!("installation {id}")))?;
        found.suspended_ms = suspended.then_some(now);
        self.tell_of_installation(id, if suspended { "suspend" } else { "unsuspend" }, by)
    }

    fn tell_of_installation(&mut self, id: u64, action: &str, by: &str) -> Result<(), Error> {
        let found = self.installations.get(&id).ok_or_else(|| Error::Unknown(format!("installation {id}")))?;
        let repositories: Vec<Value> = found
            .repositories
            .iter()
            .filter_map(|id| self.repos.get(id))
            .map(|repo| {
                json!({
                    "id": repo.id, "node_id": format!("R_{}", repo.id), "name": repo.name, "full_name": repo.full_name(),
                    "private": repo.private,
                })
            })
            .collect();
        let mut payload = json!({ "installation": self.installation_json(found), "repositories": repositories });
        if action == "created" {
            payload["requester"] = Value::Null;
        }
        self.raise("installation", Some(action), &About::Installation(id), by, payload);
        Ok(())
    }
}
