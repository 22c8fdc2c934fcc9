//! The REST API: which handler answers a request, and what all of them have in common.

pub(crate) mod call;
pub(crate) mod page;
pub(crate) mod reply;

mod app;
mod checks;
mod comments;
mod commits;
mod contents;
mod graphql;
mod hook;
mod issues;
mod labels;
mod limits;
mod pulls;
mod reactions;
mod repo;

use self::call::Call;
use self::reply::{Answer, Reply, forbidden, not_found, refuse};
use crate::auth::Caller;
use crate::model::Token;
use crate::state::State;

pub(crate) use self::limits::breaches;

/// Answers a request.
pub(crate) fn answer(state: &mut State, call: &Call) -> Reply {
    route(state, call).unwrap_or_else(|reply| reply)
}

fn route(state: &mut State, call: &Call) -> Answer {
    let decoded: Vec<String> =
        call.path.trim_matches('/').split('/').map(|segment| call::decoded(segment, false)).collect();
    let path: Vec<&str> = decoded.iter().map(String::as_str).collect();
    if let ("POST", ["app-manifests", code, "conversions"]) = (call.method.as_str(), path.as_slice()) {
        // The code is the login.
        return app::converted(state, code);
    }
    if matches!(call.caller, Caller::Nobody) {
        return Err(refuse(401, "Requires authentication"));
    }
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["app"]) => app::get(state, call),
        ("GET", ["app", "installations"]) => app::installations(state, call),
        ("GET", ["app", "installations", id]) => app::installation(state, call, number(id)?),
        ("POST", ["app", "installations", id, "access_tokens"]) => app::token(state, call, number(id)?),
        ("GET", ["app", "hook", "config"]) => hook::config(state, call),
        ("PATCH", ["app", "hook", "config"]) => hook::configure(state, call),
        ("GET", ["app", "hook", "deliveries"]) => hook::list(state, call),
        ("GET", ["app", "hook", "deliveries", id]) => hook::get(state, call, number(id)?),
        ("POST", ["app", "hook", "deliveries", id, "attempts"]) => hook::again(state, call, number(id)?),
        ("GET", ["installation", "repositories"]) => app::repositories(state, call),
        ("DELETE", ["installation", "token"]) => app::revoke(state, call),
        ("GET", ["rate_limit"]) => Ok(app::rate_limit(state)),
        ("GET", ["users", login]) => app::user(state, login),
        ("POST", ["graphql"]) => graphql::answer(state, call),
        (_, ["repos", owner, name, rest @ ..]) => {
            let full_name = format!("{owner}/{name}");
            match state.named(&full_name) {
                Ok(id) => in_repo(state, call, id, rest),
                Err(_) => Err(moved(state, call, &full_name, rest)),
            }
        }
        (_, ["repositories", id, rest @ ..]) => in_repo(state, call, number(id)?, rest),
        _ => Err(not_found()),
    }
}

/// What is answered for a name that no repository has: where it is now, if it was renamed.
fn moved(state: &State, call: &Call, full_name: &str, rest: &[&str]) -> Reply {
    let Some(id) = state.old_names.get(&full_name.to_lowercase()) else { return not_found() };
    if state.repos.get(id).is_none_or(|repo| repo.transferred) {
        return not_found();
    }
    // The rest of the path as it was written, still encoded.
    let tail: Vec<&str> = call.path.trim_matches('/').split('/').skip(3).take(rest.len()).collect();
    let mut url = format!("{}/repositories/{id}", state.api());
    for segment in tail {
        url = format!("{url}/{segment}");
    }
    if !call.raw_query.is_empty() {
        url = format!("{url}?{}", call.raw_query);
    }
    // Methods other than GET keep their body with 307.
    let status = if call.method == "GET" { 301 } else { 307 };
    let mut reply = refuse(status, "Moved Permanently").with("location", url.clone());
    if let Some(body) = &mut reply.body {
        body["url"] = url.into();
    }
    reply
}

fn in_repo(state: &mut State, call: &Call, repo: u64, rest: &[&str]) -> Answer {
    if matches!(call.caller, Caller::App) {
        return match (call.method.as_str(), rest) {
            ("GET", ["installation"]) => app::of_repository(state, repo),
            _ => Err(refuse(401, "A JSON web token could not be decoded")),
        };
    }
    let found = state.repo(repo)?;
    let reaches = token(call)?.repositories.contains(&repo);
    if !reaches && (found.private || found.transferred) {
        return Err(not_found());
    }
    let asks = Asks { call, repo, public: !found.private };
    match (call.method.as_str(), rest) {
        ("GET", []) => repo::get(state, &asks),
        ("GET", ["collaborators", login, "permission"]) => repo::permission(state, &asks, login),
        ("GET", ["collaborators", login]) => repo::collaborator(state, &asks, login),
        ("GET", ["pulls"]) => pulls::list(state, &asks),
        ("GET", ["pulls", n]) => pulls::get(state, &asks, number(n)?),
        ("GET", ["pulls", n, "files"]) => pulls::files(state, &asks, number(n)?),
        ("GET", ["issues", n]) => issues::get(state, &asks, number(n)?),
        ("GET", ["issues", n, "labels"]) => labels::list(state, &asks, number(n)?),
        ("POST", ["issues", n, "labels"]) => labels::add(state, &asks, number(n)?),
        ("DELETE", ["issues", n, "labels", name]) => labels::remove(state, &asks, number(n)?, name),
        ("GET", ["issues", n, "comments"]) => comments::list(state, &asks, number(n)?),
        ("POST", ["issues", n, "comments"]) => comments::create(state, &asks, number(n)?),
        ("GET", ["issues", "comments", id]) => comments::get(state, &asks, number(id)?),
        // POST stands for PATCH where nothing is created.
        ("PATCH" | "POST", ["issues", "comments", id]) => comments::edit(state, &asks, number(id)?),
        ("DELETE", ["issues", "comments", id]) => comments::delete(state, &asks, number(id)?),
        (_, ["issues", "comments", id, "reactions", rest @ ..]) => {
            reactions::to_comment(state, &asks, number(id)?, rest)
        }
        (_, ["issues", n, "reactions", rest @ ..]) => reactions::to_issue(state, &asks, number(n)?, rest),
        ("POST", ["check-runs"]) => checks::create(state, &asks),
        ("PATCH" | "POST", ["check-runs", id]) => checks::update(state, &asks, number(id)?),
        ("GET", ["check-runs", id]) => checks::get(state, &asks, number(id)?),
        ("GET", ["compare", basehead @ ..]) => commits::compare(state, &asks, &basehead.join("/")),
        ("GET", ["commits", name @ .., "check-runs"]) => checks::list(state, &asks, &name.join("/")),
        ("GET", ["commits", name @ .., "status"]) => commits::status(state, &asks, &name.join("/")),
        ("GET", ["commits", name @ ..]) => commits::get(state, &asks, &name.join("/")),
        ("GET", ["contents", path @ ..]) => contents::get(state, &asks, &path.join("/")),
        _ => Err(not_found()),
    }
}

/// A request of an installation about a repository.
pub(crate) struct Asks<'a> {
    pub(crate) call: &'a Call,
    pub(crate) repo: u64,
    public: bool,
}

impl Asks<'_> {
    /// Refuses who may not read any of these; everybody may in a public repository.
    fn may_read(&self, any: &[&str]) -> Result<(), Reply> {
        let token = token(self.call)?;
        let permitted = any.iter().any(|what| token.permissions.contains_key(*what));
        let reaches = token.repositories.contains(&self.repo);
        if self.public || (permitted && reaches) { Ok(()) } else { Err(forbidden()) }
    }

    /// Refuses who may not write any of these.
    fn may_write(&self, any: &[&str]) -> Result<(), Reply> {
        let token = token(self.call)?;
        let permitted = any.iter().any(|what| token.permissions.get(*what).is_some_and(|level| level != "read"));
        let reaches = token.repositories.contains(&self.repo);
        if permitted && reaches { Ok(()) } else { Err(forbidden()) }
    }
}

/// The token of an installation.
pub(crate) fn token(call: &Call) -> Result<&Token, Reply> {
    match &call.caller {
        Caller::Installation(token) => Ok(token),
        _ => Err(refuse(403, "Resource not accessible by integration")),
    }
}

/// Refuses who is not the app itself.
fn as_app(call: &Call) -> Result<(), Reply> {
    if matches!(call.caller, Caller::App) { Ok(()) } else { Err(refuse(401, "A JSON web token could not be decoded")) }
}

/// A number in a path.
fn number(text: &str) -> Result<u64, Reply> {
    text.parse().map_err(|_| not_found())
}
