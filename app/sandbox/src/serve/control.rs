//! The control with curl: playing people, and letting things go wrong.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::act::{Act, play};
use super::{Asked, response};
use crate::Settings;
use crate::faults::{Faults, Rule};
use crate::sandbox::Shared;
use crate::state::State;

/// What can be asked for, as an answer to everything else.
const HELP: &str = "GET /_sandbox/state, or POST one of these with JSON to /_sandbox/:
comment {repo, number, by, body}
edit {comment, by, body}
delete {comment, by}
minimise {comment, reason: text or null}
push {repo, branch, by, message, files: {name: text or null}}
advance {repo, number, by, message, files, force: true or false}
force {repo, branch, commit, by}
issue {repo, title, by}
pull {repo, head, base, title, by}
close, reopen, merge {repo, number, by}
retarget {repo, number, base, by}
draft {repo, number, draft: true or false, by}
lock {repo, number, locked: true or false}
label, unlabel {repo, number, name, by}
press {check, identifier, by}
rerequest {check, by}
check {repo, commit, name, conclusion: text or null}
status {repo, commit, context, state}
rename {repo, name, by}
transfer {repo, owner, by}
grant {repo, login, role}
install {account, repos: [name]}
uninstall {installation, by}
suspend {installation, suspended: true or false, by}
withdraw {repo, by}
permit {installation, permission, level: text or null}
manifest {manifest}
redeliver {delivery}
ping {}
faults {lost, doubled, reordered, late, late_ms, refused, forgotten, cut, cut_after, primary, secondary, slow, slow_ms}
rule {method, path, skip, times, fault}";

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
