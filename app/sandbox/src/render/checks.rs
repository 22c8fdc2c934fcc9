//! Check runs.

use serde_json::{Value, json};

use super::time;
use crate::model::{Check, Repository};
use crate::state::State;

impl State {
    /// A check run.
    pub(crate) fn check_json(&self, check: &Check) -> Value {
        let base = self.repo_url(check.repo);
        let url = format!("{base}/check-runs/{}", check.id);
        let page = format!("{}/runs/{}", self.repo_page(check.repo), check.id);
        let output = |part: &str| check.output.get(part);
        let pulls = self.repos.get(&check.repo).map(|repo| self.pulls_at(repo, &check.head_sha)).unwrap_or_default();
        json!({
            "id": check.id,
            "name": check.name,
            "node_id": format!("CR_{}", check.id),
            "head_sha": check.head_sha,
            "external_id": check.external_id,
            "url": url,
            "html_url": page,
            "details_url": check.details_url.clone().unwrap_or_else(|| page.clone()),
            "status": check.status,
            "conclusion": check.conclusion,
            "started_at": time(check.started_ms),
            "completed_at": time(check.completed_ms),
            "output": {
                "title": output("title"),
                "summary": output("summary"),
                "text": output("text"),
                "annotations_count": 0,
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": check.suite },
            "app": self.short_app_json(check.app.0, &check.app.1),
            "pull_requests": pulls,
        })
    }

    /// The open pull requests whose head is a commit. Those of forks are not named.
    fn pulls_at(&self, repo: &Repository, sha: &str) -> Vec<Value> {
        let end = |repo: u64, name: &str, sha: &str| {
            let short = self.repos.get(&repo).map_or("", |repo| repo.name.as_str());
            json!({ "ref": name, "sha": sha, "repo": { "id": repo, "url": self.repo_url(repo), "name": short } })
        };
        let pulls =
            repo.issues.values().filter(|issue| issue.open).filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
        pulls
            .filter(|(_, pull)| pull.head_sha == sha && pull.head_repo == Some(repo.id))
            .map(|(issue, pull)| {
                json!({
                    "id": pull.id,
                    "number": issue.number,
                    "url": format!("{}/pulls/{}", self.repo_url(repo.id), issue.number),
                    "head": end(repo.id, &pull.head_ref, &pull.head_sha),
                    "base": end(repo.id, &pull.base_ref, &pull.base_sha),
                })
            })
            .collect()
    }

    /// A check run as deliveries show it, with its whole suite.
    pub(crate) fn check_event_json(&self, check: &Check) -> Value {
        let mut json = self.check_json(check);
        let repo = self.repo_url(check.repo);
        let made = time(check.started_ms.or(Some(self.app.created_ms)));
        let branch = json["pull_requests"][0]["head"]["ref"].clone();
        json["check_suite"] = json!({
            "id": check.suite,
            "node_id": format!("CS_{}", check.suite),
            "head_branch": branch,
            "head_sha": check.head_sha,
            "status": check.status,
            "conclusion": check.conclusion,
            "url": format!("{repo}/check-suites/{}", check.suite),
            "before": null,
            "after": check.head_sha,
            "pull_requests": json["pull_requests"],
            "app": json["app"],
            "created_at": made,
            "updated_at": made,
        });
        json
    }
}
