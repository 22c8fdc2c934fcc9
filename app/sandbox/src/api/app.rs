//! The app, its installations and its tokens.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::call::Call;
use super::page::{Page, page};
use super::reply::{Answer, Reply, not_found, refuse};
use super::{as_app, token as token_of};
use crate::model::{Installation, Permissions, Token};
use crate::stamp::written;
use crate::state::State;

/// How long a token holds, milliseconds.
const HOUR_MS: u64 = 3_600_000;
/// Requests of an hour.
const LIMIT: u64 = 5000;

pub(super) fn get(state: &State, call: &Call) -> Answer {
    as_app(call)?;
    Ok(Reply::new(200, state.app_json()))
}

/// The app that a manifest was made into, with its secrets: told once.
pub(super) fn converted(state: &mut State, code: &str) -> Answer {
    let manifest = state.manifests.remove(code).ok_or_else(not_found)?;
    state.be(&manifest);
    let mut app = state.app_json();
    if let Some(name) = manifest["name"].as_str() {
        app["name"] = name.into();
    }
    app["client_secret"] = state.dice.hex(40).into();
    app["webhook_secret"] = state.app.secret.as_str().into();
    app["pem"] = crate::PRIVATE_KEY.into();
    Ok(Reply::new(201, app))
}

pub(super) fn installations(state: &State, call: &Call) -> Answer {
    as_app(call)?;
    let all = state.installations.values().map(|installation| state.installation_json(installation)).collect();
    let page = page(call, &format!("{}/app/installations", state.api()), all)?;
    Ok(Page::<Value>::reply(page.link, page.items.into()))
}

pub(super) fn installation(state: &State, call: &Call, id: u64) -> Answer {
    as_app(call)?;
    let installation = state.installations.get(&id).ok_or_else(not_found)?;
    Ok(Reply::new(200, state.installation_json(installation)))
}

pub(super) fn of_repository(state: &State, repo: u64) -> Answer {
    let installation = state.installed(repo).ok_or_else(not_found)?;
    Ok(Reply::new(200, state.installation_json(installation)))
}

pub(super) fn token(state: &mut State, call: &Call, id: u64) -> Answer {
    as_app(call)?;
    let installation = state.installations.get(&id).cloned().ok_or_else(not_found)?;
    if installation.suspended_ms.is_some() {
        return Err(refuse(403, "This installation has been suspended"));
    }
    let narrowed = narrowed(state, call, &installation)?;
    let permissions = permitted(call, &installation)?;
    let repositories = narrowed.clone().unwrap_or_else(|| installation.repositories.clone());
    let expires_ms = state.now() + HOUR_MS;
    let token = format!("ghs_{}_{}", state.app.id, state.dice.hex(96));
    let mut body = json!({
        "token": token,
        "expires_at": written(expires_ms),
        "permissions": permissions,
        "repository_selection": "selected",
    });
    if narrowed.is_some() {
        let named = repositories.iter().filter_map(|id| state.repos.get(id));
        body["repositories"] = named.map(|repo| state.repo_json(repo)).collect();
    }
    let narrowed = narrowed.is_some();
    let number = state.id();
    state.tokens.insert(token, Token { id: number, installation: id, repositories, narrowed, permissions, expires_ms });
    Ok(Reply::new(201, body))
}

/// The repositories that a token is asked for, by number or by name.
fn narrowed(state: &State, call: &Call, installation: &Installation) -> Result<Option<BTreeSet<u64>>, Reply> {
    let unprocessable = || {
        refuse(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let part = |name: &str| call.body.as_ref().and_then(|body| body.get(name)?.as_array().cloned());
    let mut asked = BTreeSet::new();
    let (ids, names) = (part("repository_ids"), part("repositories"));
    if ids.is_none() && names.is_none() {
        return Ok(None);
    }
    for id in ids.unwrap_or_default() {
        asked.insert(id.as_u64().ok_or_else(unprocessable)?);
    }
    for name in names.unwrap_or_default() {
        let full_name = format!("{}/{}", installation.account, name.as_str().unwrap_or_default());
        asked.insert(state.named(&full_name).map_err(|_| unprocessable())?);
    }
    if asked.is_subset(&installation.repositories) { Ok(Some(asked)) } else { Err(unprocessable()) }
}

/// The permissions that a token is asked for: at most those of the installation.
fn permitted(call: &Call, installation: &Installation) -> Result<Permissions, Reply> {
    let Some(asked) = call.body.as_ref().and_then(|body| body.get("permissions")?.as_object()) else {
        return Ok(installation.permissions.clone());
    };
    let mut permissions = Permissions::new();
    for (what, level) in asked {
        let level = level.as_str().unwrap_or_default();
        let granted = installation.permissions.get(what).map(String::as_str);
        if granted != Some(level) && !(granted == Some("write") && level == "read") {
            return Err(refuse(422, "The permissions requested are not granted to this installation."));
        }
        permissions.insert(what.clone(), level.to_owned());
    }
    permissions.entry("metadata".to_owned()).or_insert_with(|| "read".to_owned());
    Ok(permissions)
}

pub(super) fn repositories(state: &State, call: &Call) -> Answer {
    let token = token_of(call)?;
    let all: Vec<Value> =
        token.repositories.iter().filter_map(|id| state.repos.get(id)).map(|repo| state.repo_json(repo)).collect();
    let total = all.len();
    let page = page(call, &format!("{}/installation/repositories", state.api()), all)?;
    let body = json!({ "total_count": total, "repository_selection": "selected", "repositories": page.items });
    Ok(Page::<Value>::reply(page.link, body))
}

pub(super) fn revoke(state: &mut State, call: &Call) -> Answer {
    let id = token_of(call)?.id;
    state.tokens.retain(|_, token| token.id != id);
    Ok(Reply::empty(204))
}

pub(super) fn user(state: &State, login: &str) -> Answer {
    if state.users.contains_key(login) { Ok(Reply::new(200, state.profile_json(login))) } else { Err(not_found()) }
}

pub(super) fn rate_limit(state: &State) -> Reply {
    let (reset, used) = state.hour;
    let core = json!({ "limit": LIMIT, "remaining": LIMIT.saturating_sub(used), "reset": reset + HOUR_MS / 1000, "used": used });
    Reply::new(200, json!({ "resources": { "core": core, "search": core, "graphql": core }, "rate": core }))
}

impl State {
    /// Counts a request, and returns the headers that say how many are left.
    pub(crate) fn count(&mut self) -> [(&'static str, String); 5] {
        let now = self.now() / 1000;
        if now >= self.hour.0 + HOUR_MS / 1000 || self.hour.0 == 0 {
            self.hour = (now, 0);
        }
        self.hour.1 += 1;
        let (began, used) = self.hour;
        [
            ("x-ratelimit-limit", LIMIT.to_string()),
            ("x-ratelimit-remaining", LIMIT.saturating_sub(used).to_string()),
            ("x-ratelimit-used", used.to_string()),
            ("x-ratelimit-reset", (began + HOUR_MS / 1000).to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ]
    }
}
