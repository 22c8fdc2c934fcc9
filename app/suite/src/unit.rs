//! Percentages and durations as suites write them.

use std::fmt;
use std::str::FromStr;

/// A share, written as `5%` or `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.strip_suffix('%').ok_or(())?;
        decimal(number.strip_suffix(' ').unwrap_or(number)).map(|percent| Self(percent / 100.0)).ok_or(())
    }
}

/// A duration in milliseconds, written as `500ms`, `10s`, `0.3s`, `20min`, `3h`, `7d` or `2h 54min`, at most a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub u64);

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
const LONGEST: u64 = 366 * 86_400_000;

impl Duration {
    /// In seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        // At most a year, so that the conversion is exact.
        #[allow(clippy::cast_precision_loss)]
        let ms = self.0 as f64;
        ms / 1000.0
    }
}

impl FromStr for Duration {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (mut total, mut last) = (0_u64, None);
        for part in text.split(' ') {
            let end = part.find(|c: char| c.is_ascii_alphabetic()).ok_or(())?;
            let (number, unit) = part.split_at(end);
            let place = UNITS.iter().position(|(name, _)| *name == unit).ok_or(())?;
            if last.is_some_and(|last| place <= last) {
                return Err(());
            }
            last = Some(place);
            let ms = decimal(number).ok_or(())? * UNITS[place].1 as f64;
            if ms > LONGEST as f64 || (ms - ms.round()).abs() > 1e-6 {
                return Err(());
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not negative, at most a year
            let ms = ms.round() as u64;
            total += ms;
        }
        if total <= LONGEST { Ok(Self(total)) } else { Err(()) }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut first = true;
        for (unit, ms) in UNITS {
            if rest >= ms {
                write!(f, "{}{}{unit}", if first { "" } else { " " }, rest / ms)?;
                rest %= ms;
                first = false;
            }
        }
        if first { f.write_str("0s") } else { Ok(()) }
    }
}

/// A number of digits with at most one point among them; no sign, no exponent.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if digits(whole) && digits(part) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        for (text, share) in [("5%", 0.05), ("0.5%", 0.005), ("100 %", 1.0), ("0%", 0.0)] {
            assert!((text.parse::<Percent>().unwrap().0 - share).abs() < 1e-12, "{text}");
        }
        for bad in ["5", "%", "-5%", "5%%", "5  %", "1e1%", ".5%", "5.%", " 5%", "nan%", "５%"] {
            assert!(bad.parse::<Percent>().is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms, shown) in [
            ("10s", 10_000, "10s"),
            ("0.3s", 300, "300ms"),
            ("2h 54min", 10_440_000, "2h 54min"),
            ("90min", 5_400_000, "1h 30min"),
            ("7d", 604_800_000, "7d"),
            ("0s", 0, "0s"),
        ] {
            let found: Duration = text.parse().unwrap();
            assert_eq!((found.0, found.to_string().as_str()), (ms, shown), "{text}");
        }
        for bad in ["", "10", "s", "10 s", "54min 2h", "1h 1h", "-1s", "1h  2min", "0.0001ms", "900000d", "1S", "1y"] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }
}
