//! In which order runs that wait are started.

use crate::ids::RunId;
use crate::time::{DAY, Ms};

/// How long a run waits at most before it goes before all that wait shorter, milliseconds.
pub const PATIENCE: u64 = DAY;
/// How far back it is counted what somebody has spent, milliseconds.
pub const WEEK: u64 = 7 * DAY;

/// A run that goes on or waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The run.
    pub run: RunId,
    /// Whether it was told that it may start.
    pub started: bool,
    /// Whether it is ready to start. Those that are not (being planned, waiting for a person) keep nobody from it.
    pub ready: bool,
    /// What the person who asked for it has spent in [`WEEK`], with what their running runs are expected to: CPU
    /// milliseconds.
    pub week_cpu_ms: u64,
    /// Since when it is there.
    pub since: Ms,
}

impl Place {
    /// Those go first that are less: who has waited longer than [`PATIENCE`], the longest first, so that nobody waits for
    /// ever; then whose person has spent least; of those the oldest.
    fn key(&self, now: Ms) -> (bool, u64, Ms, &RunId) {
        let patient = now.since(self.since) <= PATIENCE;
        (patient, if patient { self.week_cpu_ms } else { 0 }, self.since, &self.run)
    }
}

/// How many go before a run: everybody who has started, and everybody who is ready and goes first. 0 for one that has
/// started; `None` for one that is not there.
#[must_use]
pub fn ahead(places: &[Place], run: &RunId, now: Ms) -> Option<u64> {
    let own = places.iter().find(|place| place.run == *run)?;
    if own.started {
        return Some(0);
    }
    let before = |other: &&Place| other.started || (other.ready && other.key(now) < own.key(now));
    Some(places.iter().filter(before).count() as u64)
}
