//! The control with curl: playing people, and letting things go wrong.

use axum::body::Body;
use axum::http::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Asked, response};
use crate::faults::{Faults, Rule};
use crate::sandbox::Shared;
use crate::state::State;
use crate::{Error, Settings};

/// What can be asked for, as an answer to everything else.
const HELP: &str = "GET /_sandbox/state, or POST one of these with JSON to /_sandbox/:
comment {repo, number, by, body}
edit {comment, by, body}
delete {comment, by}
push {repo, branch, by, message, files: {name: text or null}}
pull {repo, head, base, title, by}
close, reopen, merge {repo, number, by}
press {check, identifier, by}
rerequest {check, by}
rename {repo, name, by}
grant {repo, login, role}
redeliver {delivery}
ping {}
faults {lost, doubled, reordered, late, late_ms, refused, forgotten, cut, cut_after, primary, secondary, slow, slow_ms}
rule {method, path, skip, times, fault}";

#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "lowercase", deny_unknown_fields)]
enum Act {
    Comment {
        repo: String,
        number: u64,
        by: String,
        body: String,
    },
    Edit {
        comment: u64,
        by: String,
        body: String,
    },
    Delete {
        comment: u64,
        by: String,
    },
    Push {
        repo: String,
        branch: String,
        by: String,
        message: String,
        files: std::collections::BTreeMap<String, Option<String>>,
    },
    Pull {
        repo: String,
        head: String,
        base: String,
        title: String,
        by: String,
    },
    Close {
        repo: String,
        number: u64,
        by: String,
    },
    Reopen {
        repo: String,
        number: u64,
        by: String,
    },
    Merge {
        repo: String,
        number: u64,
        by: String,
    },
    Press {
        check: u64,
        identifier: String,
        by: String,
    },
    Rerequest {
        check: u64,
        by: String,
    },
    Rename {
        repo: String,
        name: String,
        by: String,
    },
    Grant {
        repo: String,
        login: String,
        role: String,
    },
    Redeliver {
        delivery: u64,
    },
    Ping {},
}

pub(super) fn answer(shared: &Shared, asked: &Asked) -> Response<Body> {
    let act = asked.path.trim_start_matches("/_sandbox").trim_matches('/');
    let mut state = shared.lock();
    if asked.method == "GET" && act == "state" {
        return reply(200, &everything(&state));
    }
    if asked.method != "POST" {
        return super::plain(404, HELP);
    }
    // A page of somebody else cannot send this kind without being asked for permission first.
    if !asked.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return reply(415, &json!({ "error": "content-type has to be application/json" }));
    }
    let body: Value = match serde_json::from_slice(if asked.body.is_empty() { b"{}" } else { &asked.body }) {
        Ok(body) => body,
        Err(error) => return reply(400, &json!({ "error": error.to_string() })),
    };
    match done(&mut state, act, body) {
        Ok(answer) => reply(200, &answer),
        Err(why) => reply(422, &json!({ "error": why })),
    }
}

fn reply(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json; charset=utf-8", format!("{body:#}\n"))
}

fn done(state: &mut State, act: &str, mut body: Value) -> Result<Value, String> {
    let unreadable = |error: serde_json::Error| error.to_string();
    match act {
        "faults" => state.faults = serde_json::from_value::<Faults>(body).map_err(unreadable)?,
        "rule" => state.rules.push(serde_json::from_value::<Rule>(body).map_err(unreadable)?),
        act => {
            let Value::Object(fields) = &mut body else { return Err("an object is expected".to_owned()) };
            fields.insert("act".to_owned(), act.into());
            let act: Act = serde_json::from_value(body).map_err(unreadable)?;
            return play(state, act).map_err(|error| error.to_string());
        }
    }
    Ok(json!({ "faults": state.faults, "rules": state.rules }))
}

fn play(state: &mut State, act: Act) -> Result<Value, Error> {
    let nothing = |()| json!({});
    match act {
        Act::Comment { repo, number, by, body } => {
            let repo = state.named(&repo)?;
            state.write_comment(repo, number, &by, &body, false).map(|id| json!({ "comment": id }))
        }
        Act::Edit { comment, by, body } => state.rewrite_comment(comment, &by, &body).map(nothing),
        Act::Delete { comment, by } => state.remove_comment(comment, &by).map(nothing),
        Act::Push { repo, branch, by, message, files } => {
            let repo = state.named(&repo)?;
            let files: Vec<(&str, Option<&str>)> =
                files.iter().map(|(name, text)| (name.as_str(), text.as_deref())).collect();
            let sha = state.add_commit(repo, &branch, &files, &message, &by)?;
            state.pushed(repo, &by)?;
            Ok(json!({ "commit": sha }))
        }
        Act::Pull { repo, head, base, title, by } => {
            let repo = state.named(&repo)?;
            let (from, branch) = match head.split_once(':') {
                Some((fork, branch)) => (state.named(fork)?, branch),
                None => (repo, head.as_str()),
            };
            state.open_pull(repo, from, branch, &base, &title, &by).map(|number| json!({ "number": number }))
        }
        Act::Close { repo, number, by } => {
            state.named(&repo).and_then(|id| state.set_open(id, number, false, &by)).map(nothing)
        }
        Act::Reopen { repo, number, by } => {
            state.named(&repo).and_then(|id| state.set_open(id, number, true, &by)).map(nothing)
        }
        Act::Merge { repo, number, by } => {
            let repo = state.named(&repo)?;
            state.merge(repo, number, &by).map(|sha| json!({ "commit": sha }))
        }
        Act::Press { check, identifier, by } => state.press(check, &identifier, &by).map(nothing),
        Act::Rerequest { check, by } => state.rerequest(check, &by).map(nothing),
        Act::Rename { repo, name, by } => state.named(&repo).and_then(|id| state.rename(id, &name, &by)).map(nothing),
        Act::Grant { repo, login, role } => {
            let repo = state.named(&repo)?;
            state.grant(repo, &login, &role).map(nothing)
        }
        Act::Redeliver { delivery } => Ok(json!({ "found": state.redeliver(delivery) })),
        Act::Ping {} => {
            state.ping();
            Ok(json!({}))
        }
    }
}

fn everything(state: &State) -> Value {
    let deliveries: Vec<Value> = state.deliveries.values().map(State::delivery_line_json).collect();
    json!({
        "settings": Settings::of(state),
        "users": state.users.values().collect::<Vec<_>>(),
        "installations": state.installations.values().collect::<Vec<_>>(),
        "repositories": state.repos.values().collect::<Vec<_>>(),
        "comments": state.comments.values().collect::<Vec<_>>(),
        "reactions": state.reactions.values().collect::<Vec<_>>(),
        "checks": state.checks.values().collect::<Vec<_>>(),
        "deliveries": deliveries,
        "faults": state.faults,
        "rules": state.rules,
        "requests": state.requests.len(),
        "violations": state.violations,
    })
}
