//! How an app is made of a manifest: a page takes it, sends the browser back with a code, and the code is exchanged once.
//!
//! There is one app in a sandbox. What is made of a manifest is that one: it takes its permissions, its events and its
//! webhook over, and hands out the key and the secret that it has. Nobody is asked whether they agree.

use crate::api::call::pairs;
use crate::model::Permissions;
use crate::sandbox::Sandbox;
use crate::serve::{Asked, plain, response};
use crate::state::State;
use crate::{PRIVATE_KEY, PUBLIC_KEY};
use axum::body::Body;
use axum::http::Response;
use serde::Deserialize;

/// What is read of a manifest.
#[derive(Deserialize)]
struct Manifest {
    url: String,
    redirect_url: String,
    hook_attributes: Option<Hook>,
    #[serde(default)]
    default_permissions: Permissions,
    #[serde(default)]
    default_events: Vec<String>,
}

#[derive(Deserialize)]
struct Hook {
    url: String,
}

/// Answers what has to do with making an app; `None` for everything else. `path` is within the API where it is one of it.
pub(crate) fn answer(state: &mut State, asked: &Asked, path: &str) -> Option<Response<Body>> {
    if asked.method != "POST" {
        return None;
    }
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["settings", "apps", "new"] | ["organizations", _, "settings", "apps", "new"] => Some(submitted(state, asked)),
        ["app-manifests", code, "conversions"] if state.codes.contains(*code) => Some(converted(state, code)),
        _ => None,
    }
}

/// A browser brings a manifest.
fn submitted(state: &mut State, asked: &Asked) -> Response<Body> {
    let form = String::from_utf8_lossy(&asked.body);
    let of = |pairs: Vec<(String, String)>, name: &str| pairs.into_iter().find(|(key, _)| key == name);
    let Some((_, text)) = of(pairs(&form), "manifest") else { return plain(400, "there is no manifest") };
    let manifest: Manifest = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(why) => return plain(422, &format!("this is no manifest: {why}")),
    };
    if manifest.url.is_empty() {
        return plain(422, "a manifest has the url of a homepage");
    }
    let code = state.dice.hex(40);
    state.app.permissions = manifest.default_permissions;
    state.app.events = manifest.default_events;
    if let Some(hook) = manifest.hook_attributes {
        state.app.webhook = Some(hook.url);
    }
    state.codes.insert(code.clone());
    let mut back = format!("{}?code={code}", manifest.redirect_url);
    if let Some((_, given)) = of(pairs(&asked.query), "state") {
        back = format!("{back}&state={}", crate::page::escaped_path(&given));
    }
    let mut sent = plain(302, "");
    if let Ok(back) = back.parse() {
        sent.headers_mut().insert("location", back);
    }
    sent
}

/// A code is exchanged for what belongs to the app. It holds once.
fn converted(state: &mut State, code: &str) -> Response<Body> {
    state.codes.remove(code);
    if !state.app.public_keys.iter().any(|key| key == PUBLIC_KEY) {
        state.app.public_keys.push(PUBLIC_KEY.to_owned());
    }
    let mut app = state.app_json();
    app["client_secret"] = "a client secret of the sandbox".into();
    app["webhook_secret"] = state.app.secret.clone().into();
    app["pem"] = PRIVATE_KEY.into();
    response(201, "application/json; charset=utf-8", app.to_string())
}

impl Sandbox {
    /// The app is told of these events from now on.
    pub fn subscribe(&self, events: &[&str]) {
        self.with(|state| state.app.events = events.iter().map(|event| (*event).to_owned()).collect());
    }

    /// The app asks for another level of a permission; installations keep what they have granted.
    pub fn ask_for(&self, what: &str, level: Option<&str>) {
        self.with(|state| match level {
            Some(level) => state.app.permissions.insert(what.to_owned(), level.to_owned()),
            None => state.app.permissions.remove(what),
        });
    }
}
