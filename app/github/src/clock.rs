//! The time, as the caller has it.

use std::pin::Pin;

/// A wait that may be sent between threads.
pub type Wait<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Tells the time and waits for it.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
    /// Returns after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> Wait<'_>;
}
