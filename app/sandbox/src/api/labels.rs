//! Labels of an issue.

use serde_json::Value;

use super::Asks;
use super::page::{Page, page};
use super::reply::{Answer, Reply, refuse};
use crate::acts::labels::same;
use crate::state::State;

const MAY: [&str; 2] = ["issues", "pull_requests"];

/// All of them.
fn all(state: &State, asks: &Asks<'_>, number: u64) -> Result<Vec<Value>, Reply> {
    Ok(state.labels_json(state.repo(asks.repo)?, state.issue(asks.repo, number)?))
}

pub(super) fn list(state: &State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_read(&MAY)?;
    let url = format!("{}/issues/{number}/labels", state.repo_url(asks.repo));
    let page = page(asks.call, &url, all(state, asks, number)?)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}

pub(super) fn add(state: &mut State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_write(&MAY)?;
    state.issue(asks.repo, number)?;
    // A list, or an object with one; of names, or of objects with one.
    let body = asks.call.body.as_ref().unwrap_or(&Value::Null);
    let named = body.as_array().or_else(|| body["labels"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let name = |label: &Value| label.as_str().or_else(|| label["name"].as_str()).map(str::to_owned);
    let names: Vec<String> = named.iter().filter_map(name).collect();
    if names.is_empty() {
        return Err(refuse(422, "Validation Failed"));
    }
    let bot = state.bot();
    for name in names {
        state.put_label(asks.repo, number, &name, &bot)?;
    }
    Ok(Reply::new(200, all(state, asks, number)?.into()))
}

pub(super) fn remove(state: &mut State, asks: &Asks<'_>, number: u64, name: &str) -> Answer {
    asks.may_write(&MAY)?;
    if !state.issue(asks.repo, number)?.labels.iter().any(|label| same(label, name)) {
        return Err(refuse(404, "Label does not exist"));
    }
    let bot = state.bot();
    state.take_label(asks.repo, number, name, &bot)?;
    Ok(Reply::new(200, all(state, asks, number)?.into()))
}
