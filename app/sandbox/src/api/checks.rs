//! Check runs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Asks;
use super::page::{Page, page};
use super::reply::{Answer, Reply, forbidden, invalid, not_found};
use crate::model::{Action, Check};
use crate::stamp;
use crate::state::State;

const MAY: [&str; 1] = ["checks"];

pub(super) fn create(state: &mut State, asks: &Asks<'_>) -> Answer {
    asks.may_write(&MAY)?;
    let name = asks.call.needed("name")?.to_owned();
    let head_sha = asks.call.needed("head_sha")?.to_owned();
    let folder = state.repo(asks.repo)?.folder.clone();
    if head_sha.len() != 40 || state.git.resolve(&folder, &head_sha).as_deref() != Some(&head_sha) {
        return Err(invalid("CheckRun", "head_sha", &format!("No commit found for SHA: {head_sha}")));
    }
    let app = (state.app.id, state.app.slug.clone());
    let mut check = Check {
        id: state.id(),
        repo: asks.repo,
        suite: state.suite(asks.repo, &head_sha, app.0),
        name,
        head_sha,
        app,
        external_id: String::new(),
        details_url: None,
        status: "queued".to_owned(),
        conclusion: None,
        output: BTreeMap::new(),
        actions: Vec::new(),
        started_ms: Some(state.now()),
        completed_ms: None,
    };
    change(&mut check, asks.call.body.as_ref().unwrap_or(&Value::Null), state.now());
    let json = state.check_json(&check);
    state.checks.insert(check.id, check);
    Ok(Reply::new(201, json))
}

/// Takes over what a body says of a check run.
fn change(check: &mut Check, body: &Value, now: u64) {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    if let Some(name) = text("name") {
        check.name = name;
    }
    if let Some(id) = text("external_id") {
        check.external_id = id;
    }
    if let Some(url) = text("details_url") {
        check.details_url = Some(url);
    }
    if let Some(status) = text("status") {
        if status != "completed" {
            check.conclusion = None;
            check.completed_ms = None;
        }
        check.status = status;
    }
    if let Some(conclusion) = text("conclusion") {
        check.conclusion = Some(conclusion);
        "completed".clone_into(&mut check.status);
        check.completed_ms = Some(now);
    }
    for (name, at) in [("started_at", &mut check.started_ms), ("completed_at", &mut check.completed_ms)] {
        if let Some(ms) = text(name).and_then(|text| stamp::read(&text)) {
            *at = Some(ms);
        }
    }
    for part in ["title", "summary", "text"] {
        if let Some(text) = body["output"][part].as_str() {
            check.output.insert(part.to_owned(), text.to_owned());
        }
    }
    if let Some(actions) = body["actions"].as_array() {
        let read = |action: &Value| serde_json::from_value::<Action>(action.clone()).ok();
        check.actions = actions.iter().filter_map(read).collect();
    }
}

/// A check run of this repository.
fn known<'a>(state: &'a State, asks: &Asks<'_>, id: u64) -> Result<&'a Check, Reply> {
    state.checks.get(&id).filter(|check| check.repo == asks.repo).ok_or_else(not_found)
}

pub(super) fn update(state: &mut State, asks: &Asks<'_>, id: u64) -> Answer {
    asks.may_write(&MAY)?;
    if known(state, asks, id)?.app.0 != state.app.id {
        return Err(forbidden());
    }
    let now = state.now();
    if let Some(check) = state.checks.get_mut(&id) {
        change(check, asks.call.body.as_ref().unwrap_or(&Value::Null), now);
    }
    Ok(Reply::new(200, state.check_json(known(state, asks, id)?)))
}

pub(super) fn get(state: &State, asks: &Asks<'_>, id: u64) -> Answer {
    asks.may_read(&MAY)?;
    Ok(Reply::new(200, state.check_json(known(state, asks, id)?)))
}

pub(super) fn list(state: &State, asks: &Asks<'_>, name: &str) -> Answer {
    asks.may_read(&MAY)?;
    let folder = &state.repo(asks.repo)?.folder;
    let sha = super::commits::resolve(state, folder, name)
        .ok_or_else(|| invalid("Commit", "sha", &format!("No commit found for SHA: {name}")))?;
    let call = asks.call;
    let mut found: Vec<&Check> = state
        .checks
        .values()
        .filter(|check| check.repo == asks.repo && check.head_sha == sha)
        .filter(|check| call.asked("check_name").is_none_or(|name| name == check.name))
        .filter(|check| call.asked("status").is_none_or(|status| status == check.status))
        .filter(|check| call.asked("app_id").is_none_or(|app| app == check.app.0.to_string()))
        .collect();
    if call.asked("filter") != Some("all") {
        // Only the latest of those with one name.
        let mut latest: BTreeMap<(u64, &str), u64> = BTreeMap::new();
        for check in &found {
            latest.insert((check.app.0, &check.name), check.id);
        }
        found.retain(|check| latest.values().any(|id| *id == check.id));
    }
    found.reverse();
    let total = found.len();
    let all: Vec<Value> = found.into_iter().map(|check| state.check_json(check)).collect();
    let name = crate::page::escaped_path(name);
    let page = page(call, &format!("{}/commits/{name}/check-runs", state.repo_url(asks.repo)), all)?;
    Ok(Page::<Value>::reply(page.link, json!({ "total_count": total, "check_runs": page.items })))
}

impl State {
    /// The suite of an app at a commit.
    pub(crate) fn suite(&mut self, repo: u64, sha: &str, app: u64) -> u64 {
        if let Some(suite) = self.suites.get(&(repo, sha.to_owned(), app)) {
            return *suite;
        }
        let id = self.id();
        self.suites.insert((repo, sha.to_owned(), app), id);
        id
    }
}
