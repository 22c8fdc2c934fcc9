//! Pull requests.

use serde_json::Value;

use super::Asks;
use super::page::{Page, page};
use super::reply::{Answer, Reply, refuse};
use crate::state::State;

const MAY: [&str; 1] = ["pull_requests"];

pub(super) fn get(state: &State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_read(&MAY)?;
    let (issue, pull) = state.pull(asks.repo, number)?;
    Ok(Reply::new(200, state.pull_json(state.repo(asks.repo)?, issue, pull)))
}

pub(super) fn list(state: &State, asks: &Asks<'_>) -> Answer {
    asks.may_read(&MAY)?;
    let repo = state.repo(asks.repo)?;
    let wanted = asks.call.asked("state").unwrap_or("open");
    let (head, base) = (asks.call.asked("head"), asks.call.asked("base"));
    let mut all: Vec<Value> = repo
        .issues
        .values()
        .filter_map(|issue| Some((issue, issue.pull.as_ref()?)))
        .filter(|(issue, _)| wanted == "all" || issue.open == (wanted == "open"))
        .filter(|(_, pull)| head.is_none_or(|head| head == format!("{}:{}", pull.head_owner, pull.head_ref)))
        .filter(|(_, pull)| base.is_none_or(|base| base == pull.base_ref))
        .map(|(issue, pull)| state.short_pull_json(repo, issue, pull))
        .collect();
    if asks.call.asked("direction") != Some("asc") {
        all.reverse();
    }
    let page = page(asks.call, &format!("{}/pulls", state.repo_url(asks.repo)), all)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}

pub(super) fn files(state: &State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_read(&MAY)?;
    let repo = state.repo(asks.repo)?;
    let (_, pull) = state.pull(asks.repo, number)?;
    let base = state.git.merge_base(&repo.folder, &pull.base_sha, &pull.head_sha);
    let base = base.ok_or_else(|| refuse(422, "The histories have nothing in common."))?;
    let files = state.git.changed(&repo.folder, &base, &pull.head_sha)?;
    let all: Vec<Value> = files.iter().map(|file| state.file_json(asks.repo, &pull.head_sha, file)).collect();
    let page = page(asks.call, &format!("{}/pulls/{number}/files", state.repo_url(asks.repo)), all)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}
