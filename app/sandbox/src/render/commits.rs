//! Commits and changed files.

use serde_json::{Value, json};

use crate::git::{Changed, Commit, date};
use crate::state::State;

impl State {
    /// A commit.
    pub(crate) fn commit_json(&self, repo: u64, commit: &Commit) -> Value {
        let base = self.repo_url(repo);
        let page = self.repo_page(repo);
        let signed = json!({ "name": commit.author, "email": commit.email, "date": date(commit) });
        let parents: Vec<Value> = commit
            .parents
            .iter()
            .map(|sha| json!({ "sha": sha, "url": format!("{base}/commits/{sha}"), "html_url": format!("{page}/commit/{sha}") }))
            .collect();
        let account = self.user_json(&commit.author);
        json!({
            "sha": commit.sha,
            "node_id": format!("C_{}", commit.sha),
            "url": format!("{base}/commits/{}", commit.sha),
            "html_url": format!("{page}/commit/{}", commit.sha),
            "comments_url": format!("{base}/commits/{}/comments", commit.sha),
            "commit": {
                "url": format!("{base}/git/commits/{}", commit.sha),
                "author": signed,
                "committer": signed,
                "message": commit.message,
                "comment_count": 0,
                "tree": { "sha": commit.tree, "url": format!("{base}/git/trees/{}", commit.tree) },
                "verification": { "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null },
            },
            "author": account,
            "committer": account,
            "parents": parents,
        })
    }

    /// A changed file, as it is in this commit.
    pub(crate) fn file_json(&self, repo: u64, sha: &str, file: &Changed) -> Value {
        let page = self.repo_page(repo);
        let name = crate::page::escaped_path(&file.name);
        let mut json = json!({
            "sha": file.blob,
            "filename": file.name,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{page}/blob/{sha}/{name}"),
            "raw_url": format!("{page}/raw/{sha}/{name}"),
            "contents_url": format!("{}/contents/{name}?ref={sha}", self.repo_url(repo)),
        });
        if let Some(old) = &file.old_name {
            json["previous_filename"] = old.as_str().into();
        }
        json
    }
}
