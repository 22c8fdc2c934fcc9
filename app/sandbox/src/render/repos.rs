//! Repositories.

use serde_json::{Value, json};

use crate::model::Repository;
use crate::stamp::written;
use crate::state::State;

/// Addresses below that of a repository in the API.
const BELOW: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

impl State {
    /// A repository as it is named by other objects.
    pub(crate) fn repo_json(&self, repo: &Repository) -> Value {
        let mut json = json!({
            "id": repo.id,
            "node_id": format!("R_{}", repo.id),
            "name": repo.name,
            "full_name": repo.full_name(),
            "owner": self.user_json(&repo.owner),
            "private": repo.private,
            "html_url": self.repo_page(repo.id),
            "description": null,
            "fork": repo.parent.is_some(),
        });
        let url = self.repo_url(repo.id);
        for (key, tail) in BELOW {
            json[key] = format!("{url}{tail}").into();
        }
        let page = self.repo_page(repo.id);
        let open = repo.issues.values().filter(|issue| issue.open).count();
        let forks = self.repos.values().filter(|other| other.parent == Some(repo.id)).count();
        let made = written(repo.created_ms);
        let more = json!({
            "clone_url": format!("{page}.git"),
            "git_url": format!("{page}.git"),
            "ssh_url": format!("{page}.git"),
            "svn_url": page,
            "default_branch": repo.default_branch,
            "visibility": if repo.private { "private" } else { "public" },
            "forks": forks,
            "forks_count": forks,
            "has_discussions": false,
            "has_downloads": false,
            "has_issues": true,
            "has_projects": false,
            "has_wiki": false,
            "has_pages": false,
            "homepage": null,
            "language": null,
            "archived": false,
            "disabled": false,
            "mirror_url": null,
            "open_issues": open,
            "open_issues_count": open,
            "license": null,
            "allow_forking": true,
            "is_template": false,
            "web_commit_signoff_required": false,
            "topics": [],
            "pushed_at": made,
            "size": 0,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "created_at": made,
            "updated_at": made,
        });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        json
    }

    /// A repository as its own description.
    pub(crate) fn full_repo_json(&self, repo: &Repository) -> Value {
        let mut json = self.repo_json(repo);
        json["network_count"] = json["forks"].clone();
        json["subscribers_count"] = 0.into();
        if let Some(parent) = repo.parent.and_then(|id| self.repos.get(&id)) {
            json["parent"] = self.repo_json(parent);
            json["source"] = self.repo_json(parent);
        }
        json
    }
}
