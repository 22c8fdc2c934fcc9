//! How objects look in the API and in deliveries.

mod app;
mod checks;
mod commits;
mod issues;
mod repos;
mod users;

use serde_json::Value;

use crate::stamp::written;
use crate::state::State;

impl State {
    /// The address of the API.
    pub(crate) fn api(&self) -> String {
        format!("{}{}", self.web, self.prefix)
    }

    /// The address of a repository in the API.
    pub(crate) fn repo_url(&self, repo: u64) -> String {
        match self.repos.get(&repo) {
            Some(repo) => format!("{}/repos/{}", self.api(), repo.full_name()),
            None => format!("{}/repositories/{repo}", self.api()),
        }
    }

    /// The page of a repository.
    pub(crate) fn repo_page(&self, repo: u64) -> String {
        match self.repos.get(&repo) {
            Some(repo) => format!("{}/{}", self.web, repo.full_name()),
            None => self.web.clone(),
        }
    }
}

/// A time or null.
fn time(ms: Option<u64>) -> Value {
    ms.map_or(Value::Null, |ms| written(ms).into())
}
