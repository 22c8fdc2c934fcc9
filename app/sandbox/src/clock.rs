//! The time of a sandbox.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct Hand(AtomicU64);

impl Hand {
    /// A clock that shows this time, milliseconds since 1970.
    #[must_use]
    pub fn at(ms: u64) -> Self {
        Self(AtomicU64::new(ms))
    }

    /// Moves it forward, milliseconds.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl<F: Fn() -> u64 + Send + Sync> Clock for F {
    fn now_ms(&self) -> u64 {
        self()
    }
}
