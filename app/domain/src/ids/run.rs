//! Ids that the bot makes: of runs and of the tags that keep the outputs of trials apart.

use super::calendar::{is_date, is_hex, is_time, of_unix};
use super::error::{IdError, characters};
use super::text_id;

const RUN: &str = "a run id";
const RUN_ALLOWED: &str = "yyyymmddThhmmssZ-xxxxxxxx, a time in UTC and 8 characters 0-9 and a-f";

text_id! {
    /// A run: `yyyymmddThhmmssZ-<8 hex>`, the time in UTC. Sorts by time.
    RunId, run
}

text_id! {
    /// The tag that a benchmark puts into the paths of its outputs: 4 to 32 characters `a-z` and `0-9`. Made by the bot,
    /// fresh for each trial, and of equal length in all arms: paths are counted as bytes.
    RunTag, tag
}

impl RunId {
    /// The id of a run that was made at `unix_seconds` (until the year 9999) with the random number `random`.
    ///
    /// # Errors
    /// A time after the year 9999.
    pub fn new(unix_seconds: u64, random: u32) -> Result<Self, IdError> {
        let (date, time) = of_unix(unix_seconds);
        format!("{date}T{time}Z-{random:08x}").parse()
    }
}

fn run(text: &str) -> Result<String, IdError> {
    characters(RUN, text, 25..=25, RUN_ALLOWED, |_, c| matches!(c, '0'..='9' | 'a'..='f' | 'T' | 'Z' | '-'))?;
    let form = IdError::Form { what: RUN, allowed: RUN_ALLOWED };
    let Some(((date, time), random)) =
        text.split_once("Z-").and_then(|(at, random)| Some((at.split_once('T')?, random)))
    else {
        return Err(form);
    };
    if date.len() != 8 || time.len() != 6 || !is_hex(random, 8) {
        return Err(form);
    }
    let field = |field, found: &str, allowed| IdError::Field { what: RUN, field, found: found.to_owned(), allowed };
    if !is_date(date) {
        return Err(field("date", date, "yyyymmdd, a day from 1970 on"));
    }
    if !is_time(time) {
        return Err(field("time", time, "hhmmss, 000000 to 235959"));
    }
    Ok(text.to_owned())
}

fn tag(text: &str) -> Result<String, IdError> {
    characters("a run tag", text, 4..=32, "4 to 32 characters a-z and 0-9", |_, c| {
        c.is_ascii_lowercase() || c.is_ascii_digit()
    })?;
    Ok(text.to_owned())
}

/// Two run tags that differ in length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run tags must have equal length in all arms: {first} has {} characters, {other} has {}", first.as_str().len(), other.as_str().len())]
pub struct TagLengths {
    /// The first tag.
    pub first: RunTag,
    /// One of another length.
    pub other: RunTag,
}

/// Whether the tags of all arms have the same length, so that paths which contain them have equal numbers of bytes.
///
/// # Errors
/// The first tag and the first one that differs from it in length.
pub fn equal_length(tags: &[RunTag]) -> Result<(), TagLengths> {
    let Some(first) = tags.first() else { return Ok(()) };
    match tags.iter().find(|tag| tag.as_str().len() != first.as_str().len()) {
        Some(other) => Err(TagLengths { first: first.clone(), other: other.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs() {
        let id = RunId::new(1_795_984_130, 0x8d10_c1b5).unwrap();
        assert_eq!(id.as_str(), "20261129T202850Z-8d10c1b5");
        assert_eq!(RunId::new(0, 1).unwrap().as_str(), "19700101T000000Z-00000001");
        assert!(RunId::new(u64::MAX / 2, 1).is_err());
        for bad in [
            "",
            "20261129T202850Z-8d10c1b",
            "20261129-202850Z-8d10c1b5",
            "20261329T202850Z-8d10c1b5",
            "20261129T252850Z-8d10c1b5",
            "20261129T202850Z-8d10T1b5",
            "Z-20261129T2028508d10c1b5",
        ] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tags_of_unequal_length_are_named() {
        let tags: Vec<RunTag> = ["abcd1234", "efgh5678", "control"].iter().map(|t| t.parse().unwrap()).collect();
        assert_eq!(equal_length(&tags[..2]), Ok(()));
        assert_eq!(
            equal_length(&tags).unwrap_err().to_string(),
            "run tags must have equal length in all arms: abcd1234 has 8 characters, control has 7"
        );
        for bad in ["abc", "ABCD", "ab-cd", &"a".repeat(33)] {
            assert!(bad.parse::<RunTag>().is_err(), "{bad}");
        }
    }
}
