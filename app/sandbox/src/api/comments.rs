//! Comments on issues and pull requests.

use serde_json::Value;

use super::Asks;
use super::page::{Page, page};
use super::reply::{Answer, Reply, forbidden, not_found, refuse};
use crate::stamp;
use crate::state::State;

const MAY: [&str; 2] = ["issues", "pull_requests"];

pub(super) fn list(state: &State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_read(&MAY)?;
    state.issue(asks.repo, number)?;
    let since = match asks.call.asked("since") {
        None => 0,
        Some(text) => stamp::read(text).ok_or_else(|| refuse(422, "since is not a time"))?,
    };
    let comments =
        state.comments.values().filter(|c| c.repo == asks.repo && c.number == number && c.updated_ms >= since);
    let all: Vec<Value> = comments.map(|comment| state.comment_json(comment)).collect();
    let page = page(asks.call, &format!("{}/issues/{number}/comments", state.repo_url(asks.repo)), all)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}

pub(super) fn create(state: &mut State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_write(&MAY)?;
    if state.issue(asks.repo, number)?.locked {
        return Err(refuse(403, "Unable to create comment because issue is locked."));
    }
    let body = asks.call.needed("body")?.to_owned();
    let bot = state.bot();
    let id = state.write_comment(asks.repo, number, &bot, &body, true)?;
    let json = state.comments.get(&id).map_or(Value::Null, |comment| state.comment_json(comment));
    let url = json["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::new(201, json).with("location", url))
}

/// Refuses a comment of another repository.
fn known(state: &State, asks: &Asks<'_>, id: u64) -> Result<(), Reply> {
    if state.comments.get(&id).is_some_and(|comment| comment.repo == asks.repo) { Ok(()) } else { Err(not_found()) }
}

/// Refuses who did not write a comment.
fn own(state: &State, id: u64) -> Result<(), Reply> {
    let author = state.comments.get(&id).and_then(|comment| comment.author.as_deref());
    if author == Some(&state.bot()) { Ok(()) } else { Err(forbidden()) }
}

pub(super) fn get(state: &State, asks: &Asks<'_>, id: u64) -> Answer {
    asks.may_read(&MAY)?;
    known(state, asks, id)?;
    let comment = state.comments.get(&id).ok_or_else(not_found)?;
    Ok(Reply::new(200, state.comment_json(comment)))
}

pub(super) fn edit(state: &mut State, asks: &Asks<'_>, id: u64) -> Answer {
    asks.may_write(&MAY)?;
    known(state, asks, id)?;
    own(state, id)?;
    let body = asks.call.needed("body")?.to_owned();
    let bot = state.bot();
    state.rewrite_comment(id, &bot, &body)?;
    get(state, asks, id)
}

pub(super) fn delete(state: &mut State, asks: &Asks<'_>, id: u64) -> Answer {
    asks.may_write(&MAY)?;
    known(state, asks, id)?;
    own(state, id)?;
    let bot = state.bot();
    state.remove_comment(id, &bot)?;
    Ok(Reply::empty(204))
}
