//! Trials spread over threads. Counts are sums, so that they do not depend on who counted what.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::tally::Tally;

/// Trials that a thread takes at a time.
const CHUNK: u64 = 64;

/// How a simulation is run. Its results do not depend on it.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// Threads; 0 counts as 1.
    pub threads: usize,
    /// Told how many comparisons were finished since it was last told.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Workers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Workers<'static> {
    /// So many threads that tell nobody.
    #[must_use]
    pub fn silent(threads: usize) -> Self {
        Self { threads, progress: &|_| {} }
    }
}

impl Workers<'_> {
    /// Counts `trials` trials; `make` makes one thread's worker.
    pub(super) fn tally<W: FnMut(u64, &mut Tally)>(&self, trials: u64, make: impl Fn() -> W + Sync) -> Tally {
        let next = AtomicU64::new(0);
        let work = || {
            let (mut worker, mut tally) = (make(), Tally::default());
            loop {
                let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                if start >= trials {
                    return tally;
                }
                let end = (start + CHUNK).min(trials);
                (start..end).for_each(|index| worker(index, &mut tally));
                (self.progress)(end - start);
            }
        };
        let mut all = Tally::default();
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(work)).collect();
            all.add(&work());
            for other in others {
                match other.join() {
                    Ok(tally) => all.add(&tally),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        all
    }
}
