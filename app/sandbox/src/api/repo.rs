//! A repository and who may do what in it.

use serde_json::json;

use super::Asks;
use super::reply::{Answer, Reply, not_found};
use crate::state::State;

pub(super) fn get(state: &State, asks: &Asks<'_>) -> Answer {
    asks.may_read(&["metadata"])?;
    Ok(Reply::new(200, state.full_repo_json(state.repo(asks.repo)?)))
}

pub(super) fn permission(state: &State, asks: &Asks<'_>, login: &str) -> Answer {
    asks.may_read(&["metadata"])?;
    let repo = state.repo(asks.repo)?;
    let known = state.users.keys().find(|known| known.eq_ignore_ascii_case(login)).ok_or_else(not_found)?;
    let role = State::role(repo, known);
    let permission = State::permission(&role);
    let mut user = state.user_json(known);
    user["role_name"] = role.as_str().into();
    user["permissions"] = json!({
        "pull": permission != "none",
        "triage": matches!(role.as_str(), "triage" | "write" | "maintain" | "admin"),
        "push": matches!(permission, "write" | "admin"),
        "maintain": matches!(role.as_str(), "maintain" | "admin"),
        "admin": permission == "admin",
    });
    Ok(Reply::new(200, json!({ "permission": permission, "role_name": role, "user": user })))
}

pub(super) fn collaborator(state: &State, asks: &Asks<'_>, login: &str) -> Answer {
    asks.may_read(&["metadata"])?;
    let repo = state.repo(asks.repo)?;
    let is_one = repo.owner == login || repo.roles.get(login).is_some_and(|role| role != "none");
    if is_one { Ok(Reply::empty(204)) } else { Err(not_found()) }
}
