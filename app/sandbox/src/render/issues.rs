//! Issues, pull requests, comments and reactions.

use serde_json::{Value, json};

use super::time;
use crate::model::{Comment, Issue, Pull, Reaction, Repository, Subject};
use crate::stamp::written;
use crate::state::State;

const CONTENTS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

impl State {
    /// How GitHub says what somebody is to a repository. It does not say what they may do.
    pub(crate) fn association(repo: &Repository, login: &str) -> &'static str {
        match repo.roles.get(login).map(String::as_str) {
            _ if repo.owner == login => "OWNER",
            None | Some("none") => "NONE",
            Some(_) => "COLLABORATOR",
        }
    }

    fn rollup(&self, subject: Subject, url: &str) -> Value {
        let mut json = json!({ "url": format!("{url}/reactions"), "total_count": 0 });
        for content in CONTENTS {
            let count = |reaction: &&Reaction| reaction.subject == subject && reaction.content == content;
            let count = self.reactions.values().filter(count).count();
            json[content] = count.into();
            json["total_count"] = (json["total_count"].as_u64().unwrap_or(0) + count as u64).into();
        }
        json
    }

    /// A reaction.
    pub(crate) fn reaction_json(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id,
            "node_id": format!("REA_{}", reaction.id),
            "user": self.user_json(&reaction.user),
            "content": reaction.content,
            "created_at": written(reaction.created_ms),
        })
    }

    /// A comment.
    pub(crate) fn comment_json(&self, comment: &Comment) -> Value {
        let repo = self.repo_url(comment.repo);
        let url = format!("{repo}/issues/comments/{}", comment.id);
        let author = comment.author.as_deref();
        let association = match (self.repos.get(&comment.repo), author) {
            (Some(repo), Some(author)) => Self::association(repo, author),
            _ => "NONE",
        };
        json!({
            "id": comment.id,
            "node_id": format!("IC_{}", comment.id),
            "url": url,
            "html_url": format!("{}#issuecomment-{}", self.issue_page(comment.repo, comment.number), comment.id),
            "issue_url": format!("{repo}/issues/{}", comment.number),
            "user": author.map(|author| self.user_json(author)),
            "body": comment.body,
            "author_association": association,
            "created_at": written(comment.created_ms),
            "updated_at": written(comment.updated_ms),
            "performed_via_github_app": comment.via_app.then(|| self.app_json()),
            "reactions": self.rollup(Subject::Comment(comment.id), &url),
            "minimized": comment.minimized.as_ref().map(|reason| json!({ "reason": reason })),
            "pin": null,
        })
    }

    /// The page of an issue or a pull request.
    pub(crate) fn issue_page(&self, repo: u64, number: u64) -> String {
        let pull = self.issue(repo, number).is_ok_and(|issue| issue.pull.is_some());
        format!("{}/{}/{number}", self.repo_page(repo), if pull { "pull" } else { "issues" })
    }

    /// A label of a repository.
    pub(crate) fn label_json(&self, repo: &Repository, name: &str) -> Value {
        let id = repo.labels.iter().find(|label| label.name == name).map_or(0, |label| label.id);
        json!({
            "id": id,
            "node_id": format!("LA_{id}"),
            "url": format!("{}/labels/{}", self.repo_url(repo.id), crate::page::escaped_path(name)),
            "name": name,
            "description": null,
            "color": "ededed",
            "default": false,
        })
    }

    /// The labels of an issue.
    pub(crate) fn labels_json(&self, repo: &Repository, issue: &Issue) -> Vec<Value> {
        issue.labels.iter().map(|name| self.label_json(repo, name)).collect()
    }

    /// An issue, or a pull request as an issue.
    pub(crate) fn issue_json(&self, repo: &Repository, issue: &Issue) -> Value {
        let base = self.repo_url(repo.id);
        let url = format!("{base}/issues/{}", issue.number);
        let comments = self.comments.values().filter(|c| c.repo == repo.id && c.number == issue.number).count();
        let page = self.issue_page(repo.id, issue.number);
        let mut json = json!({
            "url": url,
            "repository_url": base,
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "html_url": page,
            "id": issue.id,
            "node_id": format!("I_{}", issue.id),
            "number": issue.number,
            "title": issue.title,
            "user": self.user_json(&issue.author),
            "labels": self.labels_json(repo, issue),
            "state": if issue.open { "open" } else { "closed" },
            "state_reason": null,
            "locked": issue.locked,
            "assignee": null,
            "assignees": [],
            "milestone": null,
            "comments": comments,
            "created_at": written(issue.created_ms),
            "updated_at": written(issue.updated_ms),
            "closed_at": time(issue.closed_ms),
            "author_association": Self::association(repo, &issue.author),
            "active_lock_reason": null,
            "body": issue.body,
            "reactions": self.rollup(Subject::Issue(repo.id, issue.number), &url),
            "timeline_url": format!("{url}/timeline"),
            "performed_via_github_app": null,
        });
        if let Some(pull) = &issue.pull {
            json["draft"] = pull.draft.into();
            json["pull_request"] = json!({
                "url": format!("{base}/pulls/{}", issue.number),
                "html_url": page,
                "diff_url": format!("{page}.diff"),
                "patch_url": format!("{page}.patch"),
                "merged_at": if pull.merged.is_some() { time(issue.closed_ms) } else { Value::Null },
            });
        }
        json
    }

    /// A pull request as lists show it.
    pub(crate) fn short_pull_json(&self, repo: &Repository, issue: &Issue, pull: &Pull) -> Value {
        let base = self.repo_url(repo.id);
        let url = format!("{base}/pulls/{}", issue.number);
        let issue_url = format!("{base}/issues/{}", issue.number);
        let page = self.issue_page(repo.id, issue.number);
        let statuses = format!("{base}/statuses/{}", pull.head_sha);
        let head_repo = pull.head_repo.and_then(|id| self.repos.get(&id));
        let side = |owner: &str, name: &str, sha: &str, repo: Value| {
            json!({
                "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "user": self.user_json(owner), "repo": repo,
            })
        };
        let link = |href: String| json!({ "href": href });
        json!({
            "url": url,
            "id": pull.id,
            "node_id": format!("PR_{}", pull.id),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": issue_url,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{base}/pulls/comments{{/number}}"),
            "comments_url": format!("{issue_url}/comments"),
            "statuses_url": statuses,
            "number": issue.number,
            "state": if issue.open { "open" } else { "closed" },
            "locked": issue.locked,
            "title": issue.title,
            "user": self.user_json(&issue.author),
            "body": issue.body,
            "labels": self.labels_json(repo, issue),
            "milestone": null,
            "active_lock_reason": null,
            "created_at": written(issue.created_ms),
            "updated_at": written(issue.updated_ms),
            "closed_at": time(issue.closed_ms),
            "merged_at": if pull.merged.is_some() { time(issue.closed_ms) } else { Value::Null },
            "merge_commit_sha": pull.merged.as_ref().map(|(_, sha)| sha),
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": side(&pull.head_owner, &pull.head_ref, &pull.head_sha, head_repo.map_or(Value::Null, |r| self.repo_json(r))),
            "base": side(&repo.owner, &pull.base_ref, &pull.base_sha, self.repo_json(repo)),
            "_links": {
                "self": link(url.clone()),
                "html": link(page),
                "issue": link(issue_url.clone()),
                "comments": link(format!("{issue_url}/comments")),
                "review_comments": link(format!("{url}/comments")),
                "review_comment": link(format!("{base}/pulls/comments{{/number}}")),
                "commits": link(format!("{url}/commits")),
                "statuses": link(statuses),
            },
            "author_association": Self::association(repo, &issue.author),
            "auto_merge": null,
            "draft": pull.draft,
        })
    }

    /// A pull request as its own description.
    pub(crate) fn pull_json(&self, repo: &Repository, issue: &Issue, pull: &Pull) -> Value {
        let mut json = self.short_pull_json(repo, issue, pull);
        let between = self.between(&repo.folder, &pull.base_sha, &pull.head_sha);
        let comments = self.comments.values().filter(|c| c.repo == repo.id && c.number == issue.number).count();
        let more = json!({
            "merged": pull.merged.is_some(),
            "mergeable": if issue.open { Value::Bool(between.related) } else { Value::Null },
            "rebaseable": null,
            "mergeable_state": if pull.draft { "draft" } else if issue.open { "clean" } else { "unknown" },
            "merged_by": pull.merged.as_ref().map(|(by, _)| self.user_json(by)),
            "comments": comments,
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": between.commits,
            "additions": between.additions,
            "deletions": between.deletions,
            "changed_files": between.files,
        });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        json
    }
}
