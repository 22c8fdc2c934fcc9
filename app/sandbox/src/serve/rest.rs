//! A request to the API from the wire to the handler and back, with what goes wrong on purpose.

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Asked, response};
use crate::api::call::{Call, pairs};
use crate::api::reply::{Reply, refuse};
use crate::api::{answer as handle, breaches};
use crate::auth::Caller;
use crate::exchange::{Exchange, Logged};
use crate::faults::{Fault, met};
use crate::sandbox::Shared;
use crate::stamp;
use crate::state::State;

/// What is sent, and how.
pub(super) struct Ended {
    pub(super) response: Response<Body>,
    /// How long it is held back.
    pub(super) slow: Option<Duration>,
    /// Whether the connection is closed instead.
    pub(super) close: bool,
}

impl From<Response<Body>> for Ended {
    fn from(response: Response<Body>) -> Self {
        Self { response, slow: None, close: false }
    }
}

/// Answers a request to the API.
pub(super) fn answer(shared: &Shared, asked: &Asked, prefix: &str) -> Ended {
    let state = &mut *shared.lock();
    let path = if asked.path.ends_with("/graphql") {
        "/graphql"
    } else {
        match asked.path.strip_prefix(prefix) {
            Some(path) => path,
            None => return finish(state, asked, &refuse(404, "Not Found")).into(),
        }
    };
    let fault = {
        let faults = state.faults;
        met(&mut state.rules, &faults, &mut state.dice, &asked.method, path)
    };
    let mut logged = Logged {
        method: asked.method.clone(),
        path: path.to_owned(),
        query: asked.query.clone(),
        body: String::from_utf8_lossy(&asked.body).into_owned(),
        status: 0,
        done: false,
    };
    let early = fault.and_then(|fault| instead(state, fault));
    let (reply, done) = match early {
        Some(reply) => (reply, false),
        None if fault == Some(Fault::Cut) => (Reply::empty(500), false),
        None => {
            let reply = judged(state, asked, path);
            let done = reply.status < 400;
            (reply, done)
        }
    };
    let reply = match fault {
        Some(Fault::Forgotten(status)) => refuse(status, "Server Error"),
        _ => reply,
    };
    let close = matches!(fault, Some(Fault::Cut | Fault::CutAfter));
    logged.done = done;
    logged.status = if close { 0 } else { reply.status };
    let response = finish(state, asked, &reply);
    state.log(logged);
    let slow = match fault {
        Some(Fault::Slow(ms)) => Some(Duration::from_millis(ms)),
        _ => None,
    };
    Ended { response, slow, close }
}

/// What is answered instead of doing anything.
fn instead(state: &State, fault: Fault) -> Option<Reply> {
    let burst = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    Some(match fault {
        Fault::Refused(status) => refuse(status, "Server Error"),
        Fault::Primary(seconds) => refuse(403, "API rate limit exceeded for installation.")
            .with("x-ratelimit-limit", "5000")
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-used", "5000")
            .with("x-ratelimit-reset", (state.now() / 1000 + seconds).to_string())
            .with("x-ratelimit-resource", "core"),
        Fault::Secondary(seconds) => refuse(429, burst).with("retry-after", seconds.to_string()),
        Fault::SecondaryForbidden(seconds) => refuse(403, burst).with("retry-after", seconds.to_string()),
        Fault::Gone => refuse(404, "Not Found"),
        Fault::Forbidden => refuse(403, "Resource not accessible by integration"),
        Fault::Forgotten(_) | Fault::Cut | Fault::CutAfter | Fault::Slow(_) => return None,
    })
}

/// Does what is asked, where nothing speaks against it, and has the answer judged.
fn judged(state: &mut State, asked: &Asked, path: &str) -> Reply {
    if asked.header("user-agent").is_none_or(str::is_empty) {
        state.violations.push(format!("{} {path}: no User-Agent", asked.method));
        return refuse(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
        );
    }
    let caller = match Caller::of(state, asked.header("authorization")) {
        Ok(caller) => caller,
        Err(reply) => return reply,
    };
    let body: Option<Value> = match asked.body.as_ref() {
        [] => None,
        bytes => {
            let Ok(body) = serde_json::from_slice(bytes) else {
                state.violations.push(format!("{} {path}: the body is no JSON", asked.method));
                return refuse(400, "Problems parsing JSON");
            };
            Some(body)
        }
    };
    let call = Call {
        method: asked.method.clone(),
        path: path.to_owned(),
        query: pairs(&asked.query),
        raw_query: asked.query.clone(),
        body,
        caller,
    };
    let mut wrong = breaches(&call.method, path, call.body.as_ref());
    wrong.extend(judge(state, &call, None));
    if !wrong.is_empty() {
        state.violations.extend(wrong.iter().map(|what| format!("{} {path}: {what}", asked.method)));
        let mut reply = refuse(422, "Validation Failed");
        if let Some(body) = &mut reply.body {
            body["errors"] = wrong.into();
        }
        return reply;
    }
    let reply = handle(state, &call);
    let wrong = judge(state, &call, Some((reply.status, reply.body.as_ref())));
    state.violations.extend(wrong.iter().map(|what| format!("answer to {} {path}: {what}", asked.method)));
    reply
}

fn judge(state: &State, call: &Call, answer: Option<(u16, Option<&Value>)>) -> Vec<String> {
    // The description knows nothing of GraphQL.
    let Some(judge) = state.judge.as_ref().filter(|_| call.path != "/graphql") else { return Vec::new() };
    judge(&Exchange { method: &call.method, path: &call.path, query: &call.query, request: call.body.as_ref(), answer })
}

/// The answer as it is sent, with what stands at each.
fn finish(state: &mut State, asked: &Asked, reply: &Reply) -> Response<Body> {
    let text = reply.body.as_ref().map(Value::to_string).unwrap_or_default();
    let tag = format!("W/\"{}\"", hex::encode(Sha256::digest(text.as_bytes())));
    let cacheable = asked.method == "GET" && reply.status == 200;
    let unchanged = cacheable && asked.header("if-none-match") == Some(&tag);
    let (status, body) = if unchanged { (304, String::new()) } else { (reply.status, text) };
    let mut response = response(status, "application/json; charset=utf-8", body);
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    };
    if cacheable {
        set("etag", &tag);
    }
    if !unchanged {
        for (name, value) in state.count() {
            set(name, &value);
        }
    }
    let id = state.dice.hex(16);
    set("x-github-request-id", &id);
    set("date", &stamp::http(state.now()));
    for (name, value) in &reply.headers {
        set(name, value);
    }
    response
}
