//! The door of a service: an HTTP server on one address.
//!
//! [`webhook`] takes deliveries: it checks who sent them ([`signature`]) and what they are ([`delivery`]), has them
//! stored by a [`Receiver`] and answers; what they mean is found out later, by whoever waits on [`ServerState::wake`].
//! [`body`] reads what is sent without holding more than there is room for. [`health`] answers whether the process lives
//! and whether it can work, and gives the numbers of [`crate::metrics`].

mod body;
mod delivery;
mod health;
mod ready;
mod receiver;
mod signature;
mod webhook;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use domain::ports::Clock;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

pub use body::LARGEST as LARGEST_DELIVERY;
pub use delivery::{is_event, is_guid};
pub use ready::Ready;
pub use receiver::Receiver;
pub use signature::{Signer, WebhookSecrets, WrongSignature};

use crate::metrics::Metrics;

/// How long requests may go on after the service was told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// A request is given up after this time, whatever it is: a sender that dawdles takes up a place.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);
/// Largest body of a request that is no delivery, bytes.
const LARGEST_OTHER: usize = 16 << 10;

/// What the server needs from the rest of the service.
#[derive(Clone, Debug)]
pub struct ServerState<R, C> {
    /// Stores deliveries.
    pub receiver: R,
    /// The time, for when a delivery was received.
    pub clock: C,
    /// Secrets that a delivery may be signed with: the one in force, and those before it while they are replaced.
    pub secrets: WebhookSecrets,
    /// The number of the app whose deliveries these are.
    pub app_id: u64,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Is notified after each delivery that was stored and not known. One waits on it: the inbox.
    pub wake: Arc<Notify>,
    /// Parts of the service, for `/readyz`.
    pub ready: Ready,
}

/// What a handler works with.
pub(crate) struct Inner<R, C> {
    state: ServerState<R, C>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    room: Arc<Semaphore>,
}

type Shared<R, C> = Arc<Inner<R, C>>;

/// Answers requests until `shutdown` is cancelled; then takes no more connections, and returns when what is going on has
/// ended, at most 10 s later. What was being stored has then been stored, unless the time was not enough.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve<R, C>(listener: TcpListener, state: ServerState<R, C>, shutdown: CancellationToken) -> io::Result<()>
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    let address = listener.local_addr()?;
    let tasks = TaskTracker::new();
    let router = router(Arc::new(Inner {
        state,
        shutdown: shutdown.clone(),
        tasks: tasks.clone(),
        room: Arc::new(Semaphore::new(body::ROOM)),
    }));
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
    });
    tracing::info!(%address, "listening");
    let over = {
        let shutdown = shutdown.clone();
        async move {
            shutdown.cancelled().await;
            tokio::time::sleep(GRACE).await;
        }
    };
    let served = async {
        axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await?;
        tasks.close();
        tasks.wait().await;
        Ok(())
    };
    tokio::select! {
        done = served => done,
        () = over => {
            tracing::warn!(open = tasks.len(), "requests were still open when the time to stop was over");
            Ok(())
        }
    }
}

fn router<R, C>(shared: Shared<R, C>) -> Router
where
    R: Receiver,
    C: Clock + Clone + 'static,
{
    // The limits of the webhook are its own: it has to read a body that is too large to be heard.
    let webhook = Router::new().route("/webhook", post(webhook::post::<R, C>)).layer(DefaultBodyLimit::disable());
    let others = Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz::<R, C>))
        .route("/metrics", get(health::metrics::<R, C>))
        .fallback(|| async { (StatusCode::NOT_FOUND, "not here\n") })
        .layer(RequestBodyLimitLayer::new(LARGEST_OTHER));
    let log = TraceLayer::new_for_http()
        // Neither headers nor the query: secrets may stand in both.
        .make_span_with(|request: &Request| {
            let path: String = request.uri().path().chars().take(128).collect();
            tracing::debug_span!("request", method = %request.method(), path)
        })
        .on_request(())
        .on_response(|response: &axum::response::Response, latency: Duration, _: &tracing::Span| {
            tracing::debug!(status = response.status().as_u16(), ms = latency.as_secs_f64() * 1e3, "answered");
        })
        .on_body_chunk(())
        .on_eos(());
    webhook
        .merge(others)
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, LONGEST_REQUEST))
        .layer(CatchPanicLayer::new())
        .layer(log)
        .with_state(shared)
}
