//! Reactions.

use serde_json::Value;

use super::page::{Page, page};
use super::reply::{Answer, Reply, not_found, refuse};
use super::{Asks, number};
use crate::model::{Reaction, Subject};
use crate::state::State;

const MAY: [&str; 2] = ["issues", "pull_requests"];
const KNOWN: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

pub(super) fn to_comment(state: &mut State, asks: &Asks<'_>, id: u64, rest: &[&str]) -> Answer {
    if state.comments.get(&id).is_none_or(|comment| comment.repo != asks.repo) {
        return Err(not_found());
    }
    all(state, asks, Subject::Comment(id), &format!("issues/comments/{id}"), rest)
}

pub(super) fn to_issue(state: &mut State, asks: &Asks<'_>, issue: u64, rest: &[&str]) -> Answer {
    state.issue(asks.repo, issue)?;
    all(state, asks, Subject::Issue(asks.repo, issue), &format!("issues/{issue}"), rest)
}

fn all(state: &mut State, asks: &Asks<'_>, subject: Subject, under: &str, rest: &[&str]) -> Answer {
    match (asks.call.method.as_str(), rest) {
        ("GET", []) => list(state, asks, subject, under),
        ("POST", []) => create(state, asks, subject),
        ("DELETE", [id]) => {
            asks.may_write(&MAY)?;
            let id = number(id)?;
            let bot = state.bot();
            let found = state.reactions.get(&id).filter(|reaction| reaction.subject == subject && reaction.user == bot);
            found.ok_or_else(not_found)?;
            state.reactions.remove(&id);
            Ok(Reply::empty(204))
        }
        _ => Err(not_found()),
    }
}

fn list(state: &State, asks: &Asks<'_>, subject: Subject, under: &str) -> Answer {
    asks.may_read(&MAY)?;
    let content = asks.call.asked("content");
    let found = state.reactions.values().filter(|r| r.subject == subject && content.is_none_or(|c| c == r.content));
    let all: Vec<Value> = found.map(|reaction| state.reaction_json(reaction)).collect();
    let page = page(asks.call, &format!("{}/{under}/reactions", state.repo_url(asks.repo)), all)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}

fn create(state: &mut State, asks: &Asks<'_>, subject: Subject) -> Answer {
    asks.may_write(&MAY)?;
    let content = asks.call.needed("content")?.to_owned();
    if !KNOWN.contains(&content.as_str()) {
        return Err(refuse(422, "Validation Failed"));
    }
    let user = state.bot();
    let found = state.reactions.values().find(|r| r.subject == subject && r.user == user && r.content == content);
    if let Some(reaction) = found {
        return Ok(Reply::new(200, state.reaction_json(reaction)));
    }
    let reaction = Reaction { id: state.id(), subject, user, content, created_ms: state.now() };
    let json = state.reaction_json(&reaction);
    state.reactions.insert(reaction.id, reaction);
    Ok(Reply::new(201, json))
}
