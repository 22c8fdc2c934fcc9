//! Numbers as the tables have them.

use domain::ids::Digest;
use domain::time::Ms;

use crate::fault::Fault;

/// The end of time in the tables: one less than the largest number, so that one more can be computed.
const END: i64 = i64::MAX - 1;

/// A time for a column. What is later than the end of time is the end of time.
pub(crate) fn to_ms(at: Ms) -> i64 {
    i64::try_from(at.0).unwrap_or(END).min(END)
}

/// A time from a column.
pub(crate) fn from_ms(ms: i64) -> Ms {
    if ms >= END { Ms(u64::MAX) } else { Ms(u64::try_from(ms).unwrap_or(0)) }
}

/// A number for a column.
pub(crate) fn to_number(number: u64) -> Result<i64, Fault> {
    i64::try_from(number).map_err(|_| Fault::Data("a number is past 2^63"))
}

/// A number from a column.
pub(crate) fn from_number(number: i64) -> Result<u64, Fault> {
    u64::try_from(number).map_err(|_| Fault::Data("a negative number was found"))
}

/// A small number from a column.
pub(crate) fn from_small(number: i64) -> Result<u32, Fault> {
    u32::try_from(number).map_err(|_| Fault::Data("a number of another size was found"))
}

/// How many rows at most.
pub(crate) fn to_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A digest from a column.
pub(crate) fn from_digest(text: &str) -> Result<Digest, Fault> {
    text.parse().map_err(|_| Fault::Data("a digest was found that is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_and_the_end_of_time_stays_the_end() {
        for ms in [0, 1, 1_795_984_130_000, u64::MAX] {
            assert_eq!(from_ms(to_ms(Ms(ms))), Ms(ms));
        }
        assert!(to_ms(Ms(u64::MAX)).checked_add(1).is_some());
        assert!(to_number(u64::MAX).is_err());
        assert!(from_number(-1).is_err());
    }
}
