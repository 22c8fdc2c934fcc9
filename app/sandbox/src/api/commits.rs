//! Commits: one, two compared, and the state of one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::Asks;
use super::page::{Page, page};
use super::reply::{Answer, Reply, not_found, refuse};
use crate::model::Status;
use crate::stamp::written;
use crate::state::State;

/// The commit of a name: of a branch, a tag, a ref such as `heads/main`, or a commit.
pub(crate) fn resolve(state: &State, folder: &Path, name: &str) -> Option<String> {
    let refs = [format!("refs/heads/{name}"), format!("refs/tags/{name}"), format!("refs/{name}")];
    let is_hex = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = || refs.iter().find_map(|name| state.git.resolve(folder, name));
    if is_hex { state.git.resolve(folder, name).or_else(named) } else { named() }
}

pub(super) fn get(state: &State, asks: &Asks<'_>, name: &str) -> Answer {
    asks.may_read(&["contents"])?;
    let folder = &state.repo(asks.repo)?.folder;
    let sha = resolve(state, folder, name).ok_or_else(|| refuse(422, &format!("No commit found for SHA: {name}")))?;
    Ok(Reply::new(200, state.commit_json(asks.repo, &state.git.look(folder, &sha)?)))
}

/// One side of a comparison: `branch`, `owner:branch` or a commit.
fn side(state: &State, repo: u64, text: &str) -> Option<String> {
    let here = state.repos.get(&repo)?;
    let Some((owner, name)) = text.split_once(':') else { return resolve(state, &here.folder, text) };
    let related = |other: &&crate::model::Repository| {
        let root = here.parent.unwrap_or(here.id);
        other.owner == owner && (other.id == root || other.parent == Some(root) || other.id == here.id)
    };
    let other = state.repos.values().find(related)?;
    // Forks share their objects with what they were forked from.
    resolve(state, &other.folder, name)
}

pub(super) fn compare(state: &State, asks: &Asks<'_>, basehead: &str) -> Answer {
    asks.may_read(&["contents"])?;
    let (base, head) = basehead.split_once("...").ok_or_else(not_found)?;
    let folder = &state.repo(asks.repo)?.folder;
    let a = side(state, asks.repo, base).ok_or_else(not_found)?;
    let b = side(state, asks.repo, head).ok_or_else(not_found)?;
    let common = state.git.merge_base(folder, &a, &b).ok_or_else(not_found)?;
    let (behind, ahead) = state.git.apart(folder, &a, &b)?;
    let commits = state.git.between(folder, &a, &b)?;
    let files = state.git.changed(folder, &common, &b)?;
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let escaped = crate::page::escaped_path(basehead);
    let page = format!("{}/compare/{escaped}", state.repo_page(asks.repo));
    let shown: Vec<Value> = commits.iter().take(250).map(|commit| state.commit_json(asks.repo, commit)).collect();
    let files: Vec<Value> = files.iter().take(300).map(|file| state.file_json(asks.repo, &b, file)).collect();
    let json = json!({
        "url": format!("{}/compare/{escaped}", state.repo_url(asks.repo)),
        "html_url": page,
        "permalink_url": format!("{}/compare/{a}...{b}", state.repo_page(asks.repo)),
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "base_commit": state.commit_json(asks.repo, &state.git.look(folder, &a)?),
        "merge_base_commit": state.commit_json(asks.repo, &state.git.look(folder, &common)?),
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": shown,
        "files": files,
    });
    Ok(Reply::new(200, json))
}

pub(super) fn status(state: &State, asks: &Asks<'_>, name: &str) -> Answer {
    asks.may_read(&["statuses"])?;
    let repo = state.repo(asks.repo)?;
    let sha = resolve(state, &repo.folder, name).ok_or_else(not_found)?;
    let mut latest: BTreeMap<&str, &Status> = BTreeMap::new();
    for status in state.statuses.iter().filter(|status| status.repo == asks.repo && status.sha == sha) {
        latest.insert(&status.context, status);
    }
    let any = |states: &[&str]| latest.values().any(|status| states.contains(&status.state.as_str()));
    let overall = match () {
        () if any(&["error", "failure"]) => "failure",
        () if latest.is_empty() || any(&["pending"]) => "pending",
        () => "success",
    };
    let url = format!("{}/statuses/{sha}", state.repo_url(asks.repo));
    let each = |status: &&Status| {
        json!({
            "id": status.id, "node_id": format!("SC_{}", status.id), "state": status.state, "context": status.context,
            "description": null, "target_url": null, "avatar_url": null, "url": url, "required": false,
            "created_at": written(status.created_ms), "updated_at": written(status.created_ms),
        })
    };
    let statuses: Vec<Value> = latest.values().map(each).collect();
    let total = statuses.len();
    let page = page(asks.call, &format!("{}/commits/{sha}/status", state.repo_url(asks.repo)), statuses)?;
    let json = json!({
        "state": overall,
        "sha": sha,
        "total_count": total,
        "statuses": page.items,
        "repository": state.repo_json(repo),
        "commit_url": format!("{}/commits/{sha}", state.repo_url(asks.repo)),
        "url": format!("{}/commits/{sha}/status", state.repo_url(asks.repo)),
    });
    Ok(Page::<Value>::reply(page.link, json))
}
