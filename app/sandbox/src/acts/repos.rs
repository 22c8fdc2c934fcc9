//! Repositories.

use std::collections::BTreeMap;

use serde_json::json;

use crate::Error;
use crate::git::New;
use crate::hooks::About;
use crate::model::{Kind, Repository};
use crate::state::State;

/// Whether this can be the name of an account or a repository.
pub(super) fn is_name(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.len() <= 100 && !text.starts_with(['.', '-']) && text.chars().all(known)
}

/// Whether this can be the name of a branch.
fn is_branch(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']);
    let known = |c: char| c.is_alphanumeric() || "-_./+#@".contains(c);
    text.split('/').all(part) && !text.contains("..") && !text.ends_with('.') && text.chars().all(known)
}

/// `owner/name` in two.
fn parts(full_name: &str) -> Result<(&str, &str), Error> {
    let parts = full_name.split_once('/').filter(|(owner, name)| is_name(owner) && is_name(name));
    parts.ok_or_else(|| Error::Refused(format!("{full_name:?} is not owner/name")))
}

impl State {
    /// Makes an empty repository, and its owner where there is none.
    pub(crate) fn make_repo(&mut self, full_name: &str, private: bool, parent: Option<u64>) -> Result<u64, Error> {
        let (owner, name) = parts(full_name)?;
        if self.named(full_name).is_ok() {
            return Err(Error::Refused(format!("there is {full_name} already")));
        }
        self.user(owner, if parent.is_some() { Kind::User } else { Kind::Organization });
        let id = self.id();
        let folder = self.folder(id);
        match parent {
            Some(parent) => self.git.init_fork(&folder, &self.repo(parent)?.folder)?,
            None => self.git.init(&folder)?,
        }
        let repo = Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private,
            parent,
            folder,
            default_branch: "main".to_owned(),
            roles: BTreeMap::new(),
            labels: Vec::new(),
            issues: BTreeMap::new(),
            transferred: false,
            created_ms: self.now(),
        };
        self.old_names.remove(&full_name.to_lowercase());
        self.repos.insert(id, repo);
        Ok(id)
    }

    /// Gives somebody a role.
    pub(crate) fn grant(&mut self, repo: u64, login: &str, role: &str) -> Result<(), Error> {
        if !is_name(login) {
            return Err(Error::Refused(format!("{login:?} is not a login")));
        }
        self.user(login, Kind::User);
        let found = self.repos.get_mut(&repo).ok_or_else(|| Error::Unknown(format!("repository {repo}")))?;
        found.roles.insert(login.to_owned(), role.to_owned());
        Ok(())
    }

    /// Adds a commit to a branch; a new one starts at the usual branch.
    pub(crate) fn add_commit(
        &self,
        repo: u64,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
    ) -> Result<String, Error> {
        if !is_branch(branch) {
            return Err(Error::Refused(format!("{branch:?} is not the name of a branch")));
        }
        let repo = self.repo(repo)?;
        let tip = |branch: &str| self.git.tip(&repo.folder, branch);
        let after = tip(branch).or_else(|| tip(&repo.default_branch));
        self.git.commit(&repo.folder, branch, after.as_deref(), &New { files, message, by, now_ms: self.now() })
    }

    /// Points a branch at a commit, and lets the pull requests from it follow.
    pub(crate) fn force(&mut self, repo: u64, branch: &str, sha: &str, by: &str) -> Result<(), Error> {
        if !is_branch(branch) {
            return Err(Error::Refused(format!("{branch:?} is not the name of a branch")));
        }
        let folder = &self.repo(repo)?.folder;
        let sha = self.git.resolve(folder, sha).ok_or_else(|| Error::Unknown(format!("commit {sha}")))?;
        self.git.point(folder, &format!("refs/heads/{branch}"), &sha)?;
        self.pushed(repo, by)
    }

    /// Makes a fork of a repository.
    pub(crate) fn fork(&mut self, repo: u64, owner: &str) -> Result<u64, Error> {
        let parent = self.repo(repo)?;
        let (name, private) = (format!("{owner}/{}", parent.name), parent.private);
        self.make_repo(&name, private, Some(repo))
    }

    /// Deletes a fork; its pull requests stay.
    pub(crate) fn delete_fork(&mut self, repo: u64) -> Result<(), Error> {
        if self.repo(repo)?.parent.is_none() {
            return Err(Error::Refused("only forks can be deleted here".to_owned()));
        }
        self.repos.remove(&repo);
        for issue in self.repos.values_mut().flat_map(|repo| repo.issues.values_mut()) {
            if let Some(pull) = issue.pull.as_mut().filter(|pull| pull.head_repo == Some(repo)) {
                pull.head_repo = None;
            }
        }
        let folder = self.folder(repo);
        Ok(std::fs::remove_dir_all(folder)?)
    }

    /// Gives a repository another name.
    pub(crate) fn rename(&mut self, repo: u64, name: &str, by: &str) -> Result<(), Error> {
        let found = self.repo(repo)?;
        let (old, new) = (found.full_name(), format!("{}/{name}", found.owner));
        parts(&new)?;
        if self.named(&new).is_ok() {
            return Err(Error::Refused(format!("there is {new} already")));
        }
        self.old_names.insert(old.to_lowercase(), repo);
        self.old_names.remove(&new.to_lowercase());
        let before = match self.repos.get_mut(&repo) {
            Some(found) => std::mem::replace(&mut found.name, name.to_owned()),
            None => String::new(),
        };
        let payload = json!({ "changes": { "repository": { "name": { "from": before } } } });
        self.raise("repository", Some("renamed"), &About::Repository(repo), by, payload);
        Ok(())
    }

    /// Gives a repository to another owner. The app reaches it no longer, unless it is installed there.
    pub(crate) fn transfer(&mut self, repo: u64, owner: &str, by: &str) -> Result<(), Error> {
        let found = self.repo(repo)?;
        let (old, new) = (found.full_name(), format!("{owner}/{}", found.name));
        parts(&new)?;
        let from = self.user_json(&found.owner);
        self.user(owner, Kind::Organization);
        self.old_names.insert(old.to_lowercase(), repo);
        let installed = self.installed(repo).map(|installation| installation.id);
        if let Some(found) = self.repos.get_mut(&repo) {
            owner.clone_into(&mut found.owner);
            found.transferred = true;
        }
        self.raise(
            "repository",
            Some("transferred"),
            &About::Repository(repo),
            by,
            json!({ "changes": { "owner": { "from": { "user": from } } } }),
        );
        if let Some(installation) = installed.and_then(|id| self.installations.get_mut(&id)) {
            installation.repositories.remove(&repo);
        }
        let there = self.installations.values_mut().find(|installation| installation.account == owner);
        if let Some(installation) = there {
            installation.repositories.insert(repo);
        }
        Ok(())
    }
}
