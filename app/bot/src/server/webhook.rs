//! `POST /webhook`: a delivery is checked, stored and answered. Nothing else: what it means is found out later.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::ports::Clock;
use tokio::time::Instant;

use super::body::{self, Unread};
use super::delivery::{Malformed, Named, SIGNATURE, is_json, is_of_another_app, once};
use super::signature::parsed;
use super::{Receiver, Shared};
use crate::metrics::Outcome;

/// The sender waits for 10 s; a store that takes longer than this has not stored it, as far as anybody was told.
const LONGEST_STORE: Duration = Duration::from_secs(8);
/// Seconds after which it makes sense to send again.
const AGAIN: &str = "30";

/// How a delivery is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ack {
    Stored,
    Known,
    NotOurs,
    TooLarge,
    NotJson,
    Unsigned,
    Malformed(Malformed),
    NoRoom,
    Broken,
    NotStored,
}

impl Ack {
    fn outcome(self) -> Outcome {
        match self {
            Self::Stored => Outcome::Stored,
            Self::Known => Outcome::Known,
            Self::NotOurs => Outcome::NotOurs,
            Self::TooLarge => Outcome::TooLarge,
            Self::NotJson => Outcome::NotJson,
            Self::Unsigned => Outcome::Unsigned,
            Self::Malformed(_) | Self::Broken => Outcome::Malformed,
            Self::NoRoom | Self::NotStored => Outcome::NotStored,
        }
    }
}

impl IntoResponse for Ack {
    fn into_response(self) -> Response {
        let again = [(header::RETRY_AFTER, AGAIN)];
        match self {
            Self::Stored => (StatusCode::ACCEPTED, "stored\n").into_response(),
            Self::Known => (StatusCode::ACCEPTED, "known\n").into_response(),
            Self::NotOurs => (StatusCode::ACCEPTED, "not ours\n").into_response(),
            Self::TooLarge => {
                let text = format!("a delivery has at most {} MiB\n", body::LARGEST >> 20);
                (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
            }
            Self::NotJson => {
                let text = "set the content type of the webhook to application/json in the settings of the app\n";
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
            }
            Self::Unsigned => (StatusCode::UNAUTHORIZED, format!("{}\n", super::WrongSignature)).into_response(),
            Self::Malformed(why) => (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response(),
            Self::Broken => (StatusCode::BAD_REQUEST, "the body ends too early\n").into_response(),
            Self::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, again, "too many deliveries at once\n").into_response(),
            Self::NotStored => (StatusCode::SERVICE_UNAVAILABLE, again, "it could not be stored\n").into_response(),
        }
    }
}

/// Answers a delivery. Whoever sends it may go away meanwhile: what was begun is ended.
pub(super) async fn post<R, C>(State(shared): State<Shared<R, C>>, request: Request) -> Response
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    let began = Instant::now();
    let handled = Shared::clone(&shared);
    let task = async move {
        let answer = tokio::time::timeout(super::LONGEST_REQUEST, received(Shared::clone(&handled), request)).await;
        let (event, ack) = answer.unwrap_or((None, Ack::Broken));
        handled.state.metrics.delivery(event.as_deref(), ack.outcome(), began.elapsed());
        ack
    };
    let ack = match shared.tasks.spawn(task).await {
        Ok(ack) => ack,
        Err(error) => {
            tracing::error!(panicked = error.is_panic(), "a delivery was not handled to the end");
            shared.state.metrics.delivery(None, Ack::NotStored.outcome(), began.elapsed());
            Ack::NotStored
        }
    };
    ack.into_response()
}

/// What becomes of a delivery, and its event once somebody who may say so has said it.
async fn received<R, C>(shared: Shared<R, C>, request: Request) -> (Option<String>, Ack)
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    let (head, body) = request.into_parts();
    let headers = &head.headers;
    let signature = once(headers, SIGNATURE).map(axum::http::HeaderValue::as_bytes);
    // What no body can make good is not read into memory, only to its end, so that the answer is heard. A form is
    // refused as such even where it is unsigned: it tells nothing that is not known.
    let hopeless =
        if is_json(headers) { parsed(signature).is_none().then_some(Ack::Unsigned) } else { Some(Ack::NotJson) };
    if let Some(ack) = hopeless {
        body::drain(body).await;
        return (None, ack);
    }
    let (payload, held) = match body::read(body, &shared.room).await {
        Ok(read) => read,
        Err(Unread::TooLarge) => return (None, Ack::TooLarge),
        Err(Unread::NoRoom) => return (None, Ack::NoRoom),
        Err(Unread::Broken) => return (None, Ack::Broken),
    };
    if shared.state.secrets.verify(signature, &payload).is_err() {
        return (None, Ack::Unsigned);
    }
    let named = match Named::of(headers) {
        Ok(named) => named,
        Err(why) => return (None, Ack::Malformed(why)),
    };
    let event = named.event.clone();
    if is_of_another_app(headers, shared.state.app_id) {
        tracing::warn!(guid = named.guid, event, "a delivery of another app has our secret");
        return (Some(event), Ack::NotOurs);
    }
    let delivery = match named.with(payload, shared.state.clock.now()) {
        Ok(delivery) => delivery,
        Err(why) => return (Some(event), Ack::Malformed(why)),
    };
    let guid = delivery.guid.clone();
    // A store that is slow goes on after the sender was told otherwise: it is then known when it is sent again.
    let storing = Shared::clone(&shared);
    let storing = shared.tasks.spawn(async move {
        let stored = storing.state.receiver.receive(delivery).await;
        if stored == Ok(true) {
            storing.state.wake.notify_one();
        }
        stored
    });
    let ack = match tokio::time::timeout(LONGEST_STORE, storing).await {
        Ok(Ok(Ok(true))) => Ack::Stored,
        Ok(Ok(Ok(false))) => Ack::Known,
        Ok(Ok(Err(why))) => {
            tracing::error!(guid, event, %why, "a delivery could not be stored");
            Ack::NotStored
        }
        Ok(Err(error)) => {
            tracing::error!(guid, event, panicked = error.is_panic(), "a delivery could not be stored");
            Ack::NotStored
        }
        Err(_) => {
            tracing::error!(guid, event, "the store took too long for a delivery");
            Ack::NotStored
        }
    };
    drop(held);
    tracing::debug!(guid, event, ?ack, "a delivery");
    (Some(event), ack)
}
