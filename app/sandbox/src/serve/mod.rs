//! The server: what a request is for, and what becomes of its connection.

mod act;
mod control;
mod listen;
mod rest;
mod smart;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::listen::{Cut, Listening};
use crate::page;
use crate::registering;
use crate::sandbox::Shared;

/// The largest body of a request, bytes.
const LARGEST: usize = 32 * 1024 * 1024;

/// How paths of the API begin; all others are pages.
const ROOTS: [&str; 9] =
    ["app", "app-manifests", "graphql", "installation", "rate_limit", "repos", "repositories", "user", "users"];

/// A request whose body was read.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// As it was written.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Serves until it is stopped.
pub(crate) async fn run(shared: Arc<Shared>, listener: TcpListener, stop: CancellationToken) {
    let handler = move |ConnectInfo(cut): ConnectInfo<Cut>, request: Request| {
        let shared = Arc::clone(&shared);
        async move { answer(shared, cut, request).await }
    };
    let app = Router::new().fallback(handler).into_make_service_with_connect_info::<Cut>();
    tokio::select! {
        () = stop.cancelled() => {}
        // It only ends with the process.
        _ = axum::serve(Listening::new(listener, stop.clone()), app) => {}
    }
}

async fn answer(shared: Arc<Shared>, cut: Cut, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST).await else { return plain(413, "too large") };
    let asked = Asked {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    // git is run with the lock held, which may take a while.
    let worked = tokio::task::spawn_blocking(move || {
        let ended = dispatch(&shared, &asked);
        shared.changed();
        ended
    })
    .await;
    match worked {
        Ok(rest::Ended { response, slow, close }) => {
            if let Some(slow) = slow {
                tokio::time::sleep(slow).await;
            }
            if close {
                cut.cut();
            }
            response
        }
        Err(_) => plain(500, "the handler ended early"),
    }
}

fn dispatch(shared: &Shared, asked: &Asked) -> rest::Ended {
    let prefix = shared.lock().prefix.clone();
    let path = asked.path.as_str();
    if path == "/_sandbox" || path.starts_with("/_sandbox/") {
        return control::answer(shared, asked).into();
    }
    if let Some(call) = smart::Service::of(asked) {
        return call.answer(shared, asked).into();
    }
    let made = registering::answer(&mut shared.lock(), asked, path.strip_prefix(&prefix).unwrap_or(path));
    if let Some(made) = made {
        return made.into();
    }
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let in_api = if prefix.is_empty() { ROOTS.contains(&first) } else { path.starts_with(&prefix) };
    if asked.method == "GET" && !in_api {
        let page = page::answer(&shared.lock(), path);
        if let Some(page) = page {
            return html(page).into();
        }
        if asked.header("accept").is_some_and(|accept| accept.contains("text/html")) {
            return plain(404, "there is no such page").into();
        }
    }
    if asked.method == "POST" && !in_api {
        match page::posted(&mut shared.lock(), asked) {
            Some(Ok(to)) => return see(&to).into(),
            Some(Err((status, why))) => return plain(status, &why).into(),
            None => {}
        }
    }
    rest::answer(shared, asked, &prefix)
}

/// Leads on to a page after a form.
fn see(to: &str) -> Response<Body> {
    let mut answer = plain(303, "");
    if let Ok(to) = to.parse() {
        answer.headers_mut().insert("location", to);
    }
    answer
}

/// A text.
pub(crate) fn plain(status: u16, text: &str) -> Response<Body> {
    response(status, "text/plain; charset=utf-8", text.to_owned())
}

fn html(text: String) -> Response<Body> {
    let mut page = response(200, "text/html; charset=utf-8", text);
    let kept = "no-store".to_owned();
    for (name, value) in [("content-security-policy", page::policy()), ("cache-control", kept)] {
        if let Ok(value) = value.parse() {
            page.headers_mut().insert(name, value);
        }
    }
    page
}

/// An answer of a kind.
pub(crate) fn response(status: u16, kind: &str, body: impl Into<Body>) -> Response<Body> {
    let built = Response::builder().status(status).header("content-type", kind).body(body.into());
    built.unwrap_or_else(|_| Response::new(Body::empty()))
}
