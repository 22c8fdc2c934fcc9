//! Whether the process lives, whether it can work, and its numbers.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::ports::Clock;
use serde_json::{Map, Value};

use super::{Receiver, Shared};
use crate::metrics::CONTENT_TYPE;

/// The store is given this long.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is said of a part that works.
const WORKS: &str = "ok";

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200 where every part can work, else 503; which parts, as JSON.
pub(super) async fn readyz<R, C>(State(shared): State<Shared<R, C>>) -> Response
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    let mut parts = shared.state.ready.parts();
    let store = match tokio::time::timeout(PATIENCE, shared.state.receiver.alive()).await {
        Ok(Ok(())) => None,
        Ok(Err(why)) => {
            // Why is for the log: it may name places.
            tracing::warn!(%why, "the store does not work");
            Some("does not work")
        }
        Err(_) => Some("does not answer"),
    };
    parts.insert("store", store);
    parts.insert("server", shared.shutdown.is_cancelled().then_some("is stopping"));
    let ready = parts.values().all(Option::is_none);
    let part = |(name, why): (&'static str, Option<&'static str>)| (name.to_owned(), Value::from(why.unwrap_or(WORKS)));
    let parts: Map<String, Value> = parts.into_iter().map(part).collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(serde_json::json!({ "ready": ready, "parts": parts }))).into_response()
}

/// `GET /metrics`: the numbers as `OpenMetrics`.
pub(super) async fn metrics<R, C>(State(shared): State<Shared<R, C>>) -> Response
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    match shared.state.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the numbers cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
