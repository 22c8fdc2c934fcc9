//! The time.

use crate::time::Ms;

/// Tells the time and waits for it.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Ms;
    /// Returns after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> impl Future<Output = ()> + Send;
}
