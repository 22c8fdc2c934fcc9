//! Issues and pull requests.

use serde_json::{Value, json};

use crate::Error;
use crate::hooks::About;
use crate::model::{Event, Issue, Pull, What};
use crate::state::State;

/// What the conversation tells of a change of a pull request; `None` for what it does not.
fn happened(action: &str, pull: &Pull, payload: &Value) -> Option<What> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(match (action, &pull.merged) {
        ("opened", _) => What::Opened(pull.head_sha.clone()),
        ("synchronize", _) => What::Pushed(text(&payload["before"]), text(&payload["after"])),
        ("closed", Some((_, sha))) => What::Merged(sha.clone()),
        ("closed", None) => What::Closed,
        ("reopened", _) => What::Reopened,
        ("edited", _) => What::Retargeted(text(&payload["changes"]["base"]["ref"]["from"]), pull.base_ref.clone()),
        ("converted_to_draft", _) => What::Drafted,
        ("ready_for_review", _) => What::Ready,
        _ => return None,
    })
}

impl State {
    fn next_number(&self, repo: u64) -> Result<u64, Error> {
        Ok(self.repo(repo)?.issues.last_key_value().map_or(1, |(number, _)| number + 1))
    }

    /// Opens an issue.
    pub(crate) fn open_issue(&mut self, repo: u64, title: &str, by: &str, pull: Option<Pull>) -> Result<u64, Error> {
        if !self.users.contains_key(by) {
            return Err(Error::Unknown(format!("user {by}")));
        }
        let (number, id, now) = (self.next_number(repo)?, self.id(), self.now());
        let issue = Issue {
            id,
            number,
            title: title.to_owned(),
            body: String::new(),
            author: by.to_owned(),
            labels: Vec::new(),
            open: true,
            locked: false,
            pull,
            created_ms: now,
            updated_ms: now,
            closed_ms: None,
        };
        let found = self.repos.get_mut(&repo).ok_or_else(|| Error::Unknown(format!("repository {repo}")))?;
        found.issues.insert(number, issue);
        Ok(number)
    }

    /// Opens a pull request for a branch of this repository or of a fork.
    pub(crate) fn open_pull(
        &mut self,
        repo: u64,
        from: u64,
        head: &str,
        base: &str,
        title: &str,
        by: &str,
    ) -> Result<u64, Error> {
        let here = self.repo(repo)?;
        let there = self.repo(from)?;
        if from != repo && there.parent != Some(repo) {
            return Err(Error::Refused(format!("{} is no fork of {}", there.full_name(), here.full_name())));
        }
        let branch = |name: &str| Error::Unknown(format!("branch {name}"));
        let head_sha = self.git.tip(&there.folder, head).ok_or_else(|| branch(head))?;
        let base_sha = self.git.tip(&here.folder, base).ok_or_else(|| branch(base))?;
        let pull = Pull {
            id: 0,
            head_ref: head.to_owned(),
            head_repo: Some(from),
            head_owner: there.owner.clone(),
            head_sha,
            base_ref: base.to_owned(),
            base_sha,
            draft: false,
            merged: None,
        };
        let pull = Pull { id: self.id(), ..pull };
        let number = self.open_issue(repo, title, by, Some(pull))?;
        self.point_pull(repo, number)?;
        self.tell_of_pull(repo, number, "opened", by, json!({}))?;
        Ok(number)
    }

    /// Lets `refs/pull/<n>/head` follow.
    fn point_pull(&self, repo: u64, number: u64) -> Result<(), Error> {
        let (_, pull) = self.pull(repo, number)?;
        let here = self.repo(repo)?;
        // Forks share their objects with what they were forked from.
        self.git.point(&here.folder, &format!("refs/pull/{number}/head"), &pull.head_sha)
    }

    pub(crate) fn tell_of_pull(
        &mut self,
        repo: u64,
        number: u64,
        action: &str,
        by: &str,
        mut payload: Value,
    ) -> Result<(), Error> {
        let (issue, pull) = self.pull(repo, number)?;
        let what = happened(action, pull, &payload);
        payload["number"] = number.into();
        payload["pull_request"] = self.pull_json(self.repo(repo)?, issue, pull);
        if let Some(what) = what {
            let at_ms = self.now();
            self.events.push(Event { repo, number, at_ms, by: by.to_owned(), what });
        }
        self.raise("pull_request", Some(action), &About::Repository(repo), by, payload);
        Ok(())
    }

    /// Looks at the branches of a repository, and lets the open pull requests from them follow.
    pub(crate) fn pushed(&mut self, from: u64, by: &str) -> Result<(), Error> {
        let branches = self.git.branches(&self.repo(from)?.folder)?;
        let mut moved = Vec::new();
        for repo in self.repos.values() {
            for issue in repo.issues.values().filter(|issue| issue.open) {
                let Some(pull) = issue.pull.as_ref().filter(|pull| pull.head_repo == Some(from)) else { continue };
                let tip = branches.iter().find(|(name, _)| *name == pull.head_ref).map(|(_, sha)| sha.clone());
                if let Some(sha) = tip.filter(|sha| *sha != pull.head_sha) {
                    moved.push((repo.id, issue.number, sha));
                }
            }
        }
        for (repo, number, sha) in moved {
            let base_ref = self.pull(repo, number)?.1.base_ref.clone();
            let base = self.git.tip(&self.repo(repo)?.folder, &base_ref);
            let pull = self.pull_mut(repo, number)?;
            let before = std::mem::replace(&mut pull.head_sha, sha.clone());
            if let Some(base) = base {
                pull.base_sha = base;
            }
            self.point_pull(repo, number)?;
            self.tell_of_pull(repo, number, "synchronize", by, json!({ "before": before, "after": sha }))?;
        }
        Ok(())
    }

    /// Adds a commit to the branch of a pull request; forced, it stands where the branch began instead of at its tip.
    pub(crate) fn push_to(
        &mut self,
        repo: u64,
        number: u64,
        files: &[(&str, Option<&str>)],
        message: &str,
        by: &str,
        forced: bool,
    ) -> Result<String, Error> {
        let (_, pull) = self.pull(repo, number)?;
        let gone = || Error::Unknown(format!("branch {}", pull.head_ref));
        let (from, branch) = (pull.head_repo.ok_or_else(gone)?, pull.head_ref.clone());
        let folder = &self.repo(from)?.folder;
        let tip = self.git.tip(folder, &branch).ok_or_else(gone)?;
        if forced {
            // Forks share their objects with what they were forked from.
            let began = self.git.merge_base(folder, &pull.base_sha, &tip).unwrap_or_else(|| pull.base_sha.clone());
            self.git.point(folder, &format!("refs/heads/{branch}"), &began)?;
        }
        let sha = self.add_commit(from, &branch, files, message, by)?;
        self.pushed(from, by)?;
        Ok(sha)
    }

    /// Closes or opens a pull request again.
    pub(crate) fn set_open(&mut self, repo: u64, number: u64, open: bool, by: &str) -> Result<(), Error> {
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        if issue.open == open || (open && issue.pull.as_ref().is_some_and(|pull| pull.merged.is_some())) {
            return Err(Error::Refused(format!("#{number} is {} already", if issue.open { "open" } else { "closed" })));
        }
        issue.open = open;
        issue.updated_ms = now;
        issue.closed_ms = (!open).then_some(now);
        if issue.pull.is_none() {
            return Ok(());
        }
        self.tell_of_pull(repo, number, if open { "reopened" } else { "closed" }, by, json!({}))
    }

    /// Locks a conversation, or opens it again.
    pub(crate) fn set_locked(&mut self, repo: u64, number: u64, locked: bool) -> Result<(), Error> {
        self.issue_mut(repo, number)?.locked = locked;
        Ok(())
    }

    /// Merges a pull request.
    pub(crate) fn merge(&mut self, repo: u64, number: u64, by: &str) -> Result<String, Error> {
        let (issue, pull) = self.pull(repo, number)?;
        if !issue.open {
            return Err(Error::Refused(format!("#{number} is closed already")));
        }
        let message = format!("Merge pull request #{number} from {}/{}", pull.head_owner, pull.head_ref);
        let folder = &self.repo(repo)?.folder;
        let sha = self.git.merge(folder, &pull.base_ref, &pull.head_sha, &message, by, self.now())?;
        self.pull_mut(repo, number)?.merged = Some((by.to_owned(), sha.clone()));
        self.set_open(repo, number, false, by)?;
        self.pushed(repo, by)?;
        Ok(sha)
    }

    /// Directs a pull request at another branch.
    pub(crate) fn retarget(&mut self, repo: u64, number: u64, base: &str, by: &str) -> Result<(), Error> {
        let sha =
            self.git.tip(&self.repo(repo)?.folder, base).ok_or_else(|| Error::Unknown(format!("branch {base}")))?;
        let pull = self.pull_mut(repo, number)?;
        let from = json!({ "ref": { "from": pull.base_ref }, "sha": { "from": pull.base_sha } });
        base.clone_into(&mut pull.base_ref);
        pull.base_sha = sha;
        self.tell_of_pull(repo, number, "edited", by, json!({ "changes": { "base": from } }))
    }

    /// Makes a pull request a draft, or ready.
    pub(crate) fn set_draft(&mut self, repo: u64, number: u64, draft: bool, by: &str) -> Result<(), Error> {
        let pull = self.pull_mut(repo, number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        self.tell_of_pull(repo, number, action, by, json!({}))
    }
}
