//! The values of a workload's fields.

use std::fmt;
use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytesize::ByteSize;

/// A finite number. 2 and 2.0 are the same; -0 is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(f64);

/// A number that is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a finite number")]
pub struct NotFinite;

impl Number {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Number {
    type Error = NotFinite;
    fn try_from(number: f64) -> Result<Self, Self::Error> {
        // Adding 0 turns -0 into 0.
        if number.is_finite() { Ok(Self(number + 0.0)) } else { Err(NotFinite) }
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(f64::from(number))
    }
}

impl fmt::Display for Number {
    /// The shortest decimal that reads back as this number, never with an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_number(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

/// A whole number that a double holds exactly is written without a point.
pub(crate) fn serialize_number<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[allow(clippy::cast_possible_truncation)] // whole and within 2^53
        return serializer.serialize_i64(number as i64);
    }
    serializer.serialize_f64(number)
}

/// The value of a field. Two values are equal when their canonical forms are, so that a size in bytes is equal to the
/// plain number of its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(Number),
    /// A size.
    Bytes {
        /// In bytes.
        bytes: ByteSize,
    },
    /// Texts, whose order counts.
    List(Vec<String>),
    /// A text, every character of which counts.
    Text(String),
}

impl Setting {
    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A whole number.
    #[must_use]
    pub fn whole(number: u32) -> Self {
        Self::Number(number.into())
    }

    /// A size in bytes.
    #[must_use]
    pub fn size(bytes: ByteSize) -> Self {
        Self::Bytes { bytes }
    }

    /// Tag and payload of the canonical form: `s` text as it is; `n` number as its shortest decimal without an
    /// exponent, a size as its number of bytes; `b` `true` or `false`; `l` list, each item as its length in bytes, a
    /// colon and its text.
    pub(crate) fn canonical(&self) -> (char, String) {
        match self {
            Self::Text(text) => ('s', text.clone()),
            Self::Number(number) => ('n', number.to_string()),
            Self::Bytes { bytes } => ('n', bytes.0.to_string()),
            Self::Flag(flag) => ('b', flag.to_string()),
            Self::List(items) => {
                let mut payload = String::new();
                for item in items {
                    // Writing to a String cannot fail.
                    let _ = write!(payload, "{}:{item}", item.len());
                }
                ('l', payload)
            }
        }
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Setting {}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Number(number) => number.fmt(f),
            Self::Bytes { bytes } => bytes.fmt(f),
            Self::List(items) => f.write_str(&items.join(",")),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_by_canonical_form() {
        let number = |n: f64| Setting::Number(n.try_into().unwrap());
        assert_eq!(Setting::size("16GiB".parse().unwrap()), number(17_179_869_184.0));
        assert_eq!(number(2.0), Setting::whole(2));
        assert_eq!(number(-0.0), Setting::whole(0));
        assert_ne!(Setting::whole(2), Setting::text("2"));
        assert_ne!(Setting::List(vec!["a,b".into()]), Setting::List(vec!["a".into(), "b".into()]));
        assert_ne!(Setting::List(vec!["a".into(), "1:b".into()]), Setting::List(vec!["a1".into(), "b".into()]));
        assert_eq!(number(0.1).canonical(), ('n', "0.1".to_owned()));
        assert_eq!(number(1e21).canonical(), ('n', "1000000000000000000000".to_owned()));
        assert!(Number::try_from(f64::NAN).is_err() && Number::try_from(f64::INFINITY).is_err());
    }

    #[test]
    fn json() {
        for (setting, text) in [
            (Setting::Flag(true), "true"),
            (Setting::whole(48), "48"),
            (Setting::Number(0.1.try_into().unwrap()), "0.1"),
            (Setting::size(ByteSize(1 << 60)), r#"{"bytes":1152921504606846976}"#),
            (Setting::List(vec!["all".into()]), r#"["all"]"#),
            (Setting::text("a"), r#""a""#),
        ] {
            assert_eq!(serde_json::to_string(&setting).unwrap(), text);
            assert_eq!(serde_json::from_str::<Setting>(text).unwrap(), setting);
        }
        assert!(serde_json::from_str::<Setting>("null").is_err());
    }
}
