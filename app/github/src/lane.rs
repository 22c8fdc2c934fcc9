//! The pace of one installation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::ports::forge::ForgeError;
use tokio::sync::{Mutex as Turn, MutexGuard as TurnGuard, Semaphore, SemaphorePermit};

use crate::clock::Clock;
use crate::verdict::{Limit, limited};

/// Reads at a time.
const READS: usize = 4;
/// GitHub's least wait where it does not say how long.
const UNSAID_MS: u64 = 60_000;
/// The longest such wait.
const LONGEST_MS: u64 = 60 * 60_000;

/// What goes on with one installation.
pub(crate) struct Lane {
    reads: Semaphore,
    /// When the last write was done.
    writes: Turn<Option<u64>>,
    rest: Mutex<Rest>,
}

#[derive(Default)]
struct Rest {
    until: u64,
    why: String,
    /// Limits in a row that did not say how long.
    unsaid: u32,
}

/// A turn; over when it is dropped.
pub(crate) enum Permit<'a> {
    Read(#[allow(dead_code, reason = "held")] SemaphorePermit<'a>),
    Write(TurnGuard<'a, Option<u64>>),
}

impl Default for Lane {
    fn default() -> Self {
        Self { reads: Semaphore::new(READS), writes: Turn::new(None), rest: Mutex::default() }
    }
}

impl Lane {
    /// A turn to read: one of four.
    pub(crate) async fn read(&self, clock: &dyn Clock) -> Result<Permit<'_>, ForgeError> {
        self.open(clock.now_ms())?;
        // It is never closed.
        let permit = self.reads.acquire().await.map_err(|_| ForgeError::Unavailable("stopped".into()))?;
        self.open(clock.now_ms())?;
        Ok(Permit::Read(permit))
    }

    /// The turn to write, not earlier than `pause` milliseconds after the last one.
    pub(crate) async fn write(&self, clock: &dyn Clock, pause: u64) -> Result<Permit<'_>, ForgeError> {
        self.open(clock.now_ms())?;
        let turn = self.writes.lock().await;
        if let Some(last) = *turn {
            // A clock that was set back does not make it wait for more than the pause.
            let wait = last.saturating_add(pause).saturating_sub(clock.now_ms()).min(pause);
            if wait > 0 {
                clock.sleep(wait).await;
            }
        }
        self.open(clock.now_ms())?;
        Ok(Permit::Write(turn))
    }

    /// Whether GitHub may be asked now.
    pub(crate) fn open(&self, now: u64) -> Result<(), ForgeError> {
        let rest = self.rest();
        if now < rest.until { Err(limited(rest.until, rest.why.clone())) } else { Ok(()) }
    }

    /// GitHub answered something else than a limit.
    pub(crate) fn answered(&self) {
        self.rest().unsaid = 0;
    }

    /// GitHub told of a limit. `ours` turns times of its clock into ours. Returns the error that says so.
    pub(crate) fn limit(&self, limit: Limit, why: String, now: u64, ours: impl Fn(u64) -> u64) -> ForgeError {
        let mut rest = self.rest();
        let until = match limit {
            Limit::After(seconds) => now.saturating_add(seconds.max(1).saturating_mul(1000)),
            Limit::Reset(second) => ours(second.saturating_mul(1000)).max(now.saturating_add(1000)),
            Limit::Unsaid => {
                let wait = UNSAID_MS.saturating_mul(1 << rest.unsaid.min(6)).min(LONGEST_MS);
                rest.unsaid = rest.unsaid.saturating_add(1);
                now.saturating_add(wait)
            }
        };
        // Two answers may cross: the longer wait counts.
        if until > rest.until {
            rest.until = until;
            rest.why = why;
        }
        limited(rest.until, rest.why.clone())
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The request was sent; the pause begins.
    pub(crate) fn done(self, now: u64) {
        if let Self::Write(mut last) = self {
            *last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(error: &ForgeError) -> u64 {
        match error {
            ForgeError::Limited { until, .. } => until.0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn how_long_it_is_left_alone() {
        let lane = Lane::default();
        let ours = |theirs: u64| theirs.saturating_sub(5000);
        let mut unsaid = Vec::new();
        let mut now = 0;
        for _ in 0..8 {
            let end = until(&lane.limit(Limit::Unsaid, String::new(), now, ours));
            unsaid.push((end - now) / 60_000);
            assert_eq!(until(&lane.open(end - 1).unwrap_err()), end);
            assert_eq!(lane.open(end), Ok(()));
            now = end;
        }
        assert_eq!(unsaid, [1, 2, 4, 8, 16, 32, 60, 60]);
        lane.answered();
        assert_eq!(until(&lane.limit(Limit::Unsaid, String::new(), now, ours)), now + 60_000);
        now += 60_000;
        assert_eq!(until(&lane.limit(Limit::After(90), String::new(), now, ours)), now + 90_000);
        // A shorter wait that crosses it does not shorten it.
        assert_eq!(until(&lane.limit(Limit::After(1), String::new(), now, ours)), now + 90_000);
        let reset = now / 1000 + 1000;
        assert_eq!(until(&lane.limit(Limit::Reset(reset), String::new(), now, ours)), reset * 1000 - 5000);
        // A reset that has passed already: not at once.
        let lane = Lane::default();
        assert_eq!(until(&lane.limit(Limit::Reset(1), String::new(), now, ours)), now + 1000);
    }
}
