//! Files and folders of a commit.

use base64::Engine as _;
use serde_json::{Value, json};

use super::Asks;
use super::reply::{Answer, Reply, not_found, refuse};
use crate::git::Entry;
use crate::state::State;

/// The largest file whose content is told, bytes.
const LARGEST: usize = 1024 * 1024;

pub(super) fn get(state: &State, asks: &Asks<'_>, path: &str) -> Answer {
    asks.may_read(&["contents"])?;
    let repo = state.repo(asks.repo)?;
    let name = asks.call.asked("ref").unwrap_or(&repo.default_branch);
    let name = name.strip_prefix("refs/").unwrap_or(name);
    let sha = super::commits::resolve(state, &repo.folder, name).ok_or_else(|| match asks.call.asked("ref") {
        Some(name) => refuse(404, &format!("No commit found for the ref {name}")),
        None => refuse(404, "This repository is empty."),
    })?;
    let path = path.trim_matches('/');
    let found = state.git.list(&repo.folder, &sha, path, false)?;
    let is_file = !path.is_empty() && found.first().is_some_and(|entry| entry.kind == "blob" && entry.path == path);
    if is_file {
        let bytes = state.git.blob(&repo.folder, &found[0].sha)?;
        let mut json = describe(state, asks.repo, name, &found[0], "file");
        if bytes.len() > LARGEST {
            json["content"] = "".into();
            json["encoding"] = "none".into();
            return Ok(Reply::new(200, json));
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(60).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        json["content"] = format!("{}\n", lines.join("\n")).into();
        json["encoding"] = "base64".into();
        return Ok(Reply::new(200, json));
    }
    let inside = state.git.list(&repo.folder, &sha, path, true)?;
    if inside.is_empty() {
        return Err(not_found());
    }
    let kind = |entry: &Entry| match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => "dir",
        ("commit", _) => "submodule",
        (_, "120000") => "symlink",
        _ => "file",
    };
    let all: Vec<Value> = inside.iter().map(|entry| describe(state, asks.repo, name, entry, kind(entry))).collect();
    Ok(Reply::new(200, all.into()))
}

fn describe(state: &State, repo: u64, name: &str, entry: &Entry, kind: &str) -> Value {
    let path = crate::page::escaped_path(&entry.path);
    let name = crate::page::escaped_path(name);
    let url = format!("{}/contents/{path}?ref={name}", state.repo_url(repo));
    let git = format!("{}/git/blobs/{}", state.repo_url(repo), entry.sha);
    let page = format!("{}/blob/{name}/{path}", state.repo_page(repo));
    let raw = (kind == "file").then(|| format!("{}/raw/{name}/{path}", state.repo_page(repo)));
    json!({
        "name": entry.path.rsplit('/').next(),
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size,
        "url": url,
        "html_url": page,
        "git_url": git,
        "download_url": raw,
        "type": kind,
        "_links": { "self": url, "git": git, "html": page },
    })
}
