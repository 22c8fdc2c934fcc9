//! Where the app is installed.

use serde_json::{Value, json};

use crate::Error;
use crate::acts::repos::is_name;
use crate::hooks::About;
use crate::model::{Installation, Kind, Repository};
use crate::state::State;

impl State {
    /// Installs the app at an account for these repositories.
    pub(crate) fn install(&mut self, account: &str, repos: &[u64]) -> Result<u64, Error> {
        if !self.users.contains_key(account) {
            return Err(Error::Unknown(format!("user {account}")));
        }
        if let Some(known) = self.installations.values_mut().find(|installation| installation.account == account) {
            let id = known.id;
            let added: Vec<u64> = repos.iter().copied().filter(|repo| known.repositories.insert(*repo)).collect();
            self.tell_of_repositories(id, &added, &[], account)?;
            return Ok(id);
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

    /// Takes a repository away from the app.
    pub(crate) fn withdraw(&mut self, repo: u64, by: &str) -> Result<(), Error> {
        let found =
            self.installations.values_mut().find_map(|found| found.repositories.remove(&repo).then_some(found.id));
        let id = found.ok_or_else(|| Error::Unknown(format!("installation with repository {repo}")))?;
        self.tell_of_repositories(id, &[], &[repo], by)
    }

    /// Changes what an installation may.
    pub(crate) fn permit(&mut self, id: u64, what: &str, level: Option<&str>) -> Result<(), Error> {
        let found = self.installations.get_mut(&id).ok_or_else(|| Error::Unknown(format!("installation {id}")))?;
        let account = found.account.clone();
        match level {
            Some(level) => found.permissions.insert(what.to_owned(), level.to_owned()),
            None => found.permissions.remove(what),
        };
        self.tell_of_installation(id, "new_permissions_accepted", &account)
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

    /// Keeps a manifest until it is asked for with the code that is returned.
    pub(crate) fn take_manifest(&mut self, manifest: &Value) -> Result<String, Error> {
        if !manifest["url"].is_string() {
            return Err(Error::Refused("the manifest has no url".to_owned()));
        }
        let code = self.dice.hex(40);
        self.manifests.insert(code.clone(), manifest.clone());
        Ok(code)
    }

    /// Makes the app of the sandbox be what a manifest says.
    pub(crate) fn be(&mut self, manifest: &Value) {
        let text = |at: &str| manifest.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let slug = text("/name").map(|name| name.to_lowercase().replace(' ', "-")).filter(|slug| is_name(slug));
        if let Some(slug) = slug {
            self.app.slug = slug;
            let bot = self.bot();
            self.user(&bot, Kind::Bot);
        }
        if let Some(url) = text("/hook_attributes/url") {
            self.app.webhook = Some(url);
        }
        if let Some(all) = manifest["default_permissions"].as_object() {
            let level = |(what, level): (&String, &Value)| Some((what.clone(), level.as_str()?.to_owned()));
            self.app.permissions = all.iter().filter_map(level).collect();
        }
    }

    fn tell_of_installation(&mut self, id: u64, action: &str, by: &str) -> Result<(), Error> {
        let found = self.installations.get(&id).ok_or_else(|| Error::Unknown(format!("installation {id}")))?;
        let repositories = self.named_shortly(found.repositories.iter());
        let mut payload = json!({ "installation": self.installation_json(found), "repositories": repositories });
        if action == "created" {
            payload["requester"] = Value::Null;
        }
        self.raise("installation", Some(action), &About::Installation(id), by, payload);
        Ok(())
    }

    /// Repositories as deliveries about installations name them.
    fn named_shortly<'a>(&self, repos: impl Iterator<Item = &'a u64>) -> Vec<Value> {
        let short = |repo: &Repository| {
            json!({
                "id": repo.id, "node_id": format!("R_{}", repo.id), "name": repo.name, "full_name": repo.full_name(),
                "private": repo.private,
            })
        };
        repos.filter_map(|id| self.repos.get(id)).map(short).collect()
    }

    fn tell_of_repositories(&mut self, id: u64, added: &[u64], removed: &[u64], by: &str) -> Result<(), Error> {
        if added.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let found = self.installations.get(&id).ok_or_else(|| Error::Unknown(format!("installation {id}")))?;
        let payload = json!({
            "installation": self.installation_json(found),
            "repository_selection": "selected",
            "repositories_added": self.named_shortly(added.iter()),
            "repositories_removed": self.named_shortly(removed.iter()),
            "requester": null,
        });
        let action = if added.is_empty() { "removed" } else { "added" };
        self.raise("installation_repositories", Some(action), &About::Installation(id), by, payload);
        Ok(())
    }
}
