//! When a call is repeated.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A future that may be sent between threads.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Time, waiting and chance, as the caller has them.
pub trait Clock: Send + Sync + Debug {
    /// Time since 1970-01-01T00:00:00Z.
    fn unix(&self) -> Duration;

    /// Time since some fixed moment; never goes back.
    fn elapsed(&self) -> Duration;

    /// A number in `[0, 1)` that spreads the repeats of many clients.
    fn jitter(&self) -> f64;

    /// Waits.
    fn sleep(&self, time: Duration) -> Later<'_, ()>;
}

/// Waits between tries: `first`, doubled each time up to `longest`, each spread downwards by up to a half; given up
/// when the next wait would end past `total` since the first try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Before the second try.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// Since the first try.
    pub total: Duration,
}

impl RetryPolicy {
    /// What Iris's own client does: 0.5 s to 10 s, for 30 minutes.
    pub const OFFICIAL: Self =
        Self { first: Duration::from_millis(500), longest: Duration::from_secs(10), total: Duration::from_mins(30) };
    /// One try.
    pub const NEVER: Self = Self { first: Duration::ZERO, longest: Duration::ZERO, total: Duration::ZERO };

    /// The wait after `failed` failed tries (from 1) with a jitter in `[0, 1)`; none when `spent` and the wait
    /// together pass the total.
    #[must_use]
    pub fn wait(&self, failed: u32, spent: Duration, jitter: f64) -> Option<Duration> {
        if self.total.is_zero() {
            return None;
        }
        let doubled = self.first.saturating_mul(1u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX));
        let wait = doubled.min(self.longest).mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0);
        (spent.saturating_add(wait) <= self.total).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let policy = RetryPolicy::OFFICIAL;
        let plain: Vec<u128> =
            (1..=7).map(|n| policy.wait(n, Duration::ZERO, 0.0).expect("waits").as_millis()).collect();
        assert_eq!(plain, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert_eq!(policy.wait(400, Duration::ZERO, 0.0), Some(Duration::from_secs(10)));
        assert_eq!(policy.wait(6, Duration::ZERO, 1.0), Some(Duration::from_secs(5)));
        assert_eq!(policy.wait(6, Duration::from_secs(1795), 0.0), None);
        assert_eq!(RetryPolicy::NEVER.wait(1, Duration::ZERO, 0.0), None);
    }
}
