//! Sizes in bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const ALLOWED: &str = "a number and B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024), \
                       a whole number of bytes below 2^63, as in 16GiB";

/// Binary units, largest first: what a size is printed in.
const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const DECIMAL: [(&str, u64); 6] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("KB", 1_000), ("B", 1)];

/// A number of bytes. Read from `16GiB`, `1.5 GB` or `17179869184`; printed in the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

/// A text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not a size in bytes; allowed: {ALLOWED}")]
pub struct ByteSizeError {
    /// The first 40 characters of the text.
    pub found: String,
}

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        size(text).map(Self).ok_or_else(|| ByteSizeError { found: text.chars().take(40).collect() })
    }
}

/// Exact decimal arithmetic: a size that is not a whole number of bytes is refused, not rounded.
fn size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let unit = rest.strip_prefix(' ').unwrap_or(rest);
    let factor = if rest.is_empty() {
        1
    } else {
        BINARY.iter().chain(&DECIMAL).find(|(name, _)| *name == unit).map(|(_, factor)| *factor)?
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || part.is_empty() || part.contains('.') || whole.len() > 19 || part.len() > 12 {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let thousandths = whole.parse::<u128>().ok()? * scale + part.parse::<u128>().ok()?;
    let product = thousandths * u128::from(factor);
    let bytes = u64::try_from(product / scale).ok()?;
    (product.is_multiple_of(scale) && bytes < 1 << 63).then_some(bytes)
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match BINARY.iter().find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes, shown) in [
            ("16GiB", 16 << 30, "16GiB"),
            ("17179869184", 16 << 30, "16GiB"),
            ("16384 MiB", 16 << 30, "16GiB"),
            ("1.5GiB", 3 << 29, "1536MiB"),
            ("26.8GB", 26_800_000_000, "26171875KiB"),
            ("0", 0, "0B"),
            ("1001B", 1001, "1001B"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "GiB",
            "-1",
            "1e3",
            "16gib",
            "16 G",
            "1..5GB",
            ".5GB",
            "1.GB",
            "0.0001kB",
            "16  GiB",
            "9223372036854775808",
            "99999999999999999999999",
            "9999999999TiB",
            "１６GiB",
            "16GiB ",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
