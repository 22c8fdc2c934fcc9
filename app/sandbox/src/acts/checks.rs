//! Clicks on check runs, and what others say of commits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Error;
use crate::hooks::About;
use crate::model::{Check, Status};
use crate::state::State;

/// How a check run can end.
const CONCLUSIONS: [&str; 8] =
    ["action_required", "cancelled", "failure", "neutral", "skipped", "stale", "success", "timed_out"];

impl State {
    fn check(&self, id: u64) -> Result<&Check, Error> {
        self.checks.get(&id).ok_or_else(|| Error::Unknown(format!("check run {id}")))
    }

    /// A person presses a button of a check run.
    pub(crate) fn press(&mut self, check: u64, identifier: &str, by: &str) -> Result<(), Error> {
        if !self.check(check)?.actions.iter().any(|action| action.identifier == identifier) {
            return Err(Error::Unknown(format!("button {identifier} of check run {check}")));
        }
        self.tell_of_check(check, "requested_action", by, json!({ "requested_action": { "identifier": identifier } }))
    }

    /// A person asks for a check run again.
    pub(crate) fn rerequest(&mut self, check: u64, by: &str) -> Result<(), Error> {
        if self.check(check)?.status != "completed" {
            return Err(Error::Refused(format!("check run {check} is not completed")));
        }
        self.tell_of_check(check, "rerequested", by, json!({}))
    }

    fn tell_of_check(&mut self, id: u64, action: &str, by: &str, mut payload: Value) -> Result<(), Error> {
        if !self.users.contains_key(by) {
            return Err(Error::Unknown(format!("user {by}")));
        }
        let check = self.check(id)?;
        // Only the app that made it is told.
        if check.app.0 != self.app.id {
            return Ok(());
        }
        let repo = check.repo;
        payload["check_run"] = self.check_event_json(check);
        self.raise("check_run", Some(action), &About::Repository(repo), by, payload);
        Ok(())
    }

    /// A check run of another app, such as a build. Without a conclusion it goes on.
    pub(crate) fn other_check(
        &mut self,
        repo: u64,
        sha: &str,
        name: &str,
        conclusion: Option<&str>,
    ) -> Result<u64, Error> {
        if let Some(word) = conclusion.filter(|word| !CONCLUSIONS.contains(word)) {
            return Err(Error::Refused(format!("{word:?} is no conclusion of a check run")));
        }
        let sha =
            self.git.resolve(&self.repo(repo)?.folder, sha).ok_or_else(|| Error::Unknown(format!("commit {sha}")))?;
        let now = self.now();
        let app = (1, "builds".to_owned());
        let same =
            |check: &&mut Check| check.repo == repo && check.head_sha == sha && check.name == name && check.app == app;
        let status = if conclusion.is_some() { "completed" } else { "in_progress" };
        if let Some(check) = self.checks.values_mut().find(same) {
            status.clone_into(&mut check.status);
            check.conclusion = conclusion.map(str::to_owned);
            check.completed_ms = conclusion.map(|_| now);
            return Ok(check.id);
        }
        let id = self.id();
        let suite = self.suite(repo, &sha, app.0);
        let check = Check {
            id,
            repo,
            suite,
            name: name.to_owned(),
            head_sha: sha,
            app,
            external_id: String::new(),
            details_url: None,
            status: status.to_owned(),
            conclusion: conclusion.map(str::to_owned),
            output: BTreeMap::new(),
            actions: Vec::new(),
            started_ms: Some(now),
            completed_ms: conclusion.map(|_| now),
        };
        self.checks.insert(id, check);
        Ok(id)
    }

    /// Says something of a commit.
    pub(crate) fn set_status(&mut self, repo: u64, sha: &str, context: &str, word: &str) -> Result<(), Error> {
        if !["error", "failure", "pending", "success"].contains(&word) {
            return Err(Error::Refused(format!("{word:?} is no state of a commit")));
        }
        let sha =
            self.git.resolve(&self.repo(repo)?.folder, sha).ok_or_else(|| Error::Unknown(format!("commit {sha}")))?;
        let (id, created_ms) = (self.id(), self.now());
        let (context, state) = (context.to_owned(), word.to_owned());
        self.statuses.push(Status { id, repo, sha, context, state, created_ms });
        Ok(())
    }
}
