//! A part of a service, which does something again and again.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::server::Ready;

/// How long a part waits that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long what is being done may go on when the service stops. What is cut off then is found again by the next one.
const GRACE: Duration = Duration::from_secs(10);

/// A part of a service.
#[derive(Clone)]
pub(super) struct Part {
    /// Told when the service stops.
    pub(super) shutdown: CancellationToken,
    /// What can work.
    pub(super) ready: Ready,
}

impl Part {
    /// Calls `step` until the service stops: at once where something was done, after `idle` or when woken where
    /// nothing was. What fails or panics is said, and tried again.
    pub(super) async fn repeat<S, E>(
        self,
        name: &'static str,
        idle: Duration,
        wake: Option<Arc<Notify>>,
        mut step: impl FnMut() -> S + Send,
    ) where
        S: Future<Output = Result<usize, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        while !self.shutdown.is_cancelled() {
            // A task of its own: a panic in it is an error like any other.
            let mut task = tokio::spawn(step());
            let done = tokio::select! {
                done = &mut task => done,
                () = self.stopped() => {
                    tracing::warn!(part = name, "cut off");
                    task.abort();
                    return;
                }
            };
            let wait = match done {
                Ok(Ok(0)) => Some(idle),
                Ok(Ok(_)) => Some(Duration::ZERO),
                Ok(Err(error)) => self.failed(name, &error),
                Err(error) => self.failed(name, &error),
            };
            let wait = match wait {
                Some(wait) => {
                    self.ready.works(name);
                    wait
                }
                None => AFTER_FAILURE,
            };
            if wait.is_zero() {
                continue;
            }
            let woken = async {
                match &wake {
                    Some(wake) => wake.notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = woken => {}
                () = self.shutdown.cancelled() => {}
            }
        }
    }

    fn failed(&self, name: &'static str, error: &dyn std::fmt::Display) -> Option<Duration> {
        tracing::error!(part = name, %error, "tried again");
        self.ready.fails(name, "it failed and is tried again; see the log");
        None
    }

    /// The service stops, and the time for what was being done is over.
    async fn stopped(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(GRACE).await;
    }
}
