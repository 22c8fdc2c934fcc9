//! When a probe is over before its end: Ctrl-C, a request to terminate, a closed terminal, its time limit.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use marin::Clock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Tells when a probe must stop.
#[derive(Debug)]
pub(super) struct Stop {
    by: watch::Receiver<Option<&'static str>>,
    clock: Arc<dyn Clock>,
    deadline: Duration,
    limit: String,
    listener: JoinHandle<()>,
}

impl Stop {
    /// Listens from now on, inside a runtime: none of these ends the program any more.
    ///
    /// # Errors
    /// The system does not let it listen.
    pub(super) fn listen(clock: Arc<dyn Clock>, limit: suite::unit::Duration) -> io::Result<Self> {
        let (tell, by) = watch::channel(None);
        let (mut interrupt, mut terminate, mut hangup) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        let listener = tokio::spawn(async move {
            loop {
                let by = tokio::select! {
                    _ = interrupt.recv() => "Ctrl-C",
                    _ = terminate.recv() => "a request to terminate",
                    _ = hangup.recv() => "a closed terminal",
                };
                // The first one counts; nobody listens any more when the probe is over.
                tell.send_if_modified(|told| told.is_none() && told.replace(by).is_none());
            }
        });
        let deadline = clock.elapsed() + Duration::from_millis(limit.0);
        Ok(Self { by, clock, deadline, limit: limit.to_string(), listener })
    }

    /// Why it must stop, if it must.
    pub(super) fn why(&self) -> Option<String> {
        if let Some(by) = *self.by.borrow() {
            return Some(format!("stopped by {by}"));
        }
        (self.clock.elapsed() >= self.deadline).then(|| format!("not within the limit of {}", self.limit))
    }

    /// What the future comes to, unless it must stop before.
    ///
    /// # Errors
    /// Why it must stop.
    pub(super) async fn or<T>(&mut self, future: impl Future<Output = T>) -> Result<T, String> {
        if let Some(why) = self.why() {
            return Err(why);
        }
        let left = self.deadline.saturating_sub(self.clock.elapsed());
        let stopped = async {
            let told = self.by.wait_for(Option::is_some);
            tokio::select! {
                // Without a listener nobody can stop it but the limit.
                Ok(_) = told => {}
                () = self.clock.sleep(left) => {}
            }
        };
        let value = tokio::select! {
            value = future => Some(value),
            () = stopped => None,
        };
        value.ok_or_else(|| self.why().unwrap_or_else(|| format!("not within the limit of {}", self.limit)))
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
