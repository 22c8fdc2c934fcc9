//! How long is waited for what, in milliseconds.

use serde::{Deserialize, Serialize};

use crate::time::{DAY, HOUR, MINUTE, SECOND};

/// Between two looks for a job whose submission got no answer.
pub const FIND_EVERY: u64 = 5 * SECOND;
/// How long such a job is looked for before it is submitted again: as long as a submission may still arrive.
pub const FIND_FOR: u64 = 180 * SECOND;
/// How often it is looked for at least: a clock that was set forward must not cut the search short.
pub const FIND_TIMES: u32 = 40;
/// How often a trial is submitted that the backend never has, or how often nothing is heard of it, before that is a
/// reason to give up when its time is over too.
pub const SUBMIT_TIMES: u32 = 5;
/// How long a backend may not know a job before the job counts as lost.
pub const LOST_AFTER: u64 = 10 * MINUTE;
/// How long stopping may take.
pub const STOP_FOR: u64 = 30 * MINUTE;
/// What a running trial may take beyond its limit: the backend enforces the limit and should be first.
pub const LIMIT_GRACE: u64 = 2 * MINUTE;
/// How long a plan waits for confirmation.
pub const CONFIRM_FOR: u64 = 7 * DAY;
/// How long a source of measurements may be silent.
pub const SOURCE_FOR: u64 = DAY;
/// Between two probes that should be equal, unless records are waited for in shorter steps anyway.
pub const REPEAT_AFTER: u64 = 5 * SECOND;
/// How often the measurements of a failed program are asked for: they are evidence, and nothing waits for them.
pub const FAILED_TRIES: u32 = 3;

/// Until the next look at a job that was submitted `age` ago: an eighth of it, so that a short job is not waited for
/// long and a long one is not asked for often.
#[must_use]
pub fn poll_after(age: u64) -> u64 {
    (age / 8).clamp(SECOND / 5, 15 * SECOND)
}

/// How measurements are waited for that are not all there while the source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Until the second probe, milliseconds, from 1.
    pub every_ms: u64,
    /// Probes after the first.
    pub times: u32,
    /// How much longer each wait is than the one before, percent, from 100.
    pub factor_percent: u64,
}

impl Default for Late {
    /// 20 s, then half as much again each time, six times.
    fn default() -> Self {
        Self { every_ms: 20 * SECOND, times: 6, factor_percent: 150 }
    }
}

impl Late {
    /// How often incomplete measurements are asked for.
    #[must_use]
    pub fn probes(self) -> u32 {
        self.times.saturating_add(1)
    }

    /// Until the next probe after so many, at most an hour.
    #[must_use]
    pub fn probe_after(self, probes: u32) -> u64 {
        let longer = |delay: u64| delay.saturating_mul(self.factor_percent.clamp(100, 1000)) / 100;
        (1..probes.min(64)).fold(self.every_ms.max(1), |delay, _| longer(delay).min(HOUR)).min(HOUR)
    }

    /// Between two probes that should be equal.
    #[must_use]
    pub fn repeat_after(self) -> u64 {
        REPEAT_AFTER.min(self.every_ms.max(1))
    }
}

/// Until something that could not be asked is asked again: 5 s, doubled each time, at most 10 minutes.
#[must_use]
pub fn again_after(tries: u32) -> u64 {
    (5 * SECOND).saturating_mul(1 << tries.min(10)).min(10 * MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_end() {
        assert_eq!([0, 8000, 10 * DAY].map(poll_after), [200, 1000, 15_000]);
        let late = Late::default();
        assert_eq!([1, 2, 3].map(|probes| late.probe_after(probes)), [20_000, 30_000, 45_000]);
        assert_eq!((late.probes(), late.repeat_after()), (7, 5000));
        let quick = Late { every_ms: 1000, times: 8, factor_percent: 100 };
        assert_eq!((quick.probe_after(9), quick.repeat_after()), (1000, 1000));
        assert_eq!([0, 1, 6, 7, u32::MAX].map(again_after), [5000, 10_000, 320_000, 600_000, 600_000]);
        assert!(late.probe_after(u32::MAX) <= HOUR);
    }
}
