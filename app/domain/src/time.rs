//! Points in time.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z. Made by whoever has a clock; everything else takes it as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ms(pub u64);

/// One second.
pub const SECOND: u64 = 1000;
/// One minute.
pub const MINUTE: u64 = 60 * SECOND;
/// One hour.
pub const HOUR: u64 = 60 * MINUTE;
/// One day.
pub const DAY: u64 = 24 * HOUR;

impl Ms {
    /// `ms` milliseconds later; the end of time where that is out of range.
    #[must_use]
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this; 0 where it is not earlier, as after a clock that was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / SECOND
    }
}

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `2026-11-29 20:28:50 UTC`.
#[must_use]
pub fn utc(at: Ms) -> String {
    // The id of a run begins with its time in UTC.
    let Ok(id) = crate::ids::RunId::new(at.seconds(), 0) else { return format!("{} s after 1970", at.seconds()) };
    let part = |range: std::ops::Range<usize>| id.as_str().get(range).unwrap_or_default();
    let [year, month, day, hour, minute, second] =
        [part(0..4), part(4..6), part(6..8), part(9..11), part(11..13), part(13..15)];
    format!("{year}-{month}-{day} {hour}:{minute}:{second} UTC")
}

/// `2026-11-29T20:28:50Z`: RFC 3339.
#[must_use]
pub fn rfc3339(at: Ms) -> String {
    // Later than the year 9999 there is no such form.
    let last = Ms(253_402_300_799 * SECOND);
    utc(at.min(last)).replacen(' ', "T", 1).replacen(" UTC", "Z", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time() {
        assert_eq!(utc(Ms(0)), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(Ms(1_795_984_130_999)), "2026-11-29 20:28:50 UTC");
        assert_eq!(rfc3339(Ms(1_795_984_130_999)), "2026-11-29T20:28:50Z");
        assert_eq!(rfc3339(Ms(u64::MAX)), "9999-12-31T23:59:59Z");
        assert_eq!(utc(Ms(u64::MAX)), "18446744073709551 s after 1970");
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_negative_times() {
        assert_eq!(Ms(5).since(Ms(9)), 0);
        assert_eq!(Ms(9).since(Ms(5)), 4);
        assert_eq!(Ms(u64::MAX).plus(1), Ms(u64::MAX));
        assert_eq!(Ms(1999).seconds(), 1);
        assert_eq!(serde_json::to_string(&Ms(7)).unwrap(), "7");
    }
}
