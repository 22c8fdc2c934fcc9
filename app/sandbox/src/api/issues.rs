//! Issues.

use super::Asks;
use super::reply::{Answer, Reply};
use crate::state::State;

pub(super) fn get(state: &State, asks: &Asks<'_>, number: u64) -> Answer {
    asks.may_read(&["issues", "pull_requests"])?;
    let issue = state.issue(asks.repo, number)?;
    Ok(Reply::new(200, state.issue_json(state.repo(asks.repo)?, issue)))
}
