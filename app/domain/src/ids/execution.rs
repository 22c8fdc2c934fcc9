//! Ids of pipeline executions.

use super::calendar::{is_date, is_hex, is_time};
use super::error::{IdError, characters};
use super::text_id;

const WHAT: &str = "an execution id";
const ALLOWED: &str = "[name-]YYYYMMDD-HHMMSS-xxxxxxxx, in a-z, 0-9 and -, at most 89 characters";
const SUFFIX: usize = 24;
const NAME: usize = 64;

text_id! {
    /// One pipeline execution: `[name-]YYYYMMDD-HHMMSS-<8 hex>`. The name has at most 64 characters `a-z`, `0-9` and
    /// `-` and neither starts nor ends with `-`; date and time are real ones; hexadecimal digits are lowercase. The
    /// whole token is the key of the measurements: the same id without its name is another id.
    ExecutionId, parse
}

impl ExecutionId {
    /// The name in front of the date, where there is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        // parse() has checked that a longer id is a name, a hyphen and the suffix, all ASCII.
        self.0.len().checked_sub(SUFFIX + 1).and_then(|end| self.0.get(..end))
    }

    /// Date, time and random part, without the name.
    #[must_use]
    pub fn suffix(&self) -> &str {
        self.0.get(self.0.len() - SUFFIX..).unwrap_or(&self.0)
    }
}

fn parse(text: &str) -> Result<String, IdError> {
    characters(WHAT, text, SUFFIX..=SUFFIX + 1 + NAME, ALLOWED, |_, c| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
    })?;
    let form = IdError::Form { what: WHAT, allowed: ALLOWED };
    let field = |field, found: &str, allowed| IdError::Field { what: WHAT, field, found: found.to_owned(), allowed };
    // All characters are ASCII from here on, so every offset is a character boundary.
    let (front, suffix) = text.split_at(text.len() - SUFFIX);
    if !front.is_empty() {
        let name = front.strip_suffix('-').filter(|name| !name.is_empty()).ok_or_else(|| form.clone())?;
        if name.starts_with('-') || name.ends_with('-') {
            return Err(field("name", name, "no - at its start or end"));
        }
    }
    let mut parts = suffix.split('-');
    let (Some(date), Some(time), Some(random), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(form);
    };
    if date.len() != 8 || time.len() != 6 || random.len() != 8 {
        return Err(form);
    }
    if !is_date(date) {
        return Err(field("date", date, "YYYYMMDD, a day from 1970 on"));
    }
    if !is_time(time) {
        return Err(field("time", time, "HHMMSS, 000000 to 235959"));
    }
    if !is_hex(random, 8) {
        return Err(field("random part", random, "8 characters 0-9 and a-f"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_a_name() {
        for (text, name) in [
            ("20261129-202850-8d10c1b5", None),
            ("exact-web-20261129-202850-8d10c1b5", Some("exact-web")),
            ("a-20261129-202850-8d10c1b5", Some("a")),
            ("a--b-20261129-202850-8d10c1b5", Some("a--b")),
            ("20261129-202850-8d10c1b5-20261129-202850-8d10c1b5", Some("20261129-202850-8d10c1b5")),
        ] {
            let id: ExecutionId = text.parse().unwrap();
            assert_eq!((id.name(), id.suffix()), (name, "20261129-202850-8d10c1b5"), "{text}");
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn names_have_at_most_64_characters() {
        let id = |n: usize| format!("{}-20261129-202850-8d10c1b5", "a".repeat(n)).parse::<ExecutionId>();
        assert_eq!(id(64).unwrap().name().map(str::len), Some(64));
        assert!(matches!(id(65), Err(IdError::Length { found: 90, .. })));
    }

    #[test]
    fn refused() {
        for (text, message) in [
            ("", "an execution id is empty; "),
            ("20261129-202850", "an execution id has 15 characters; "),
            ("20261129-202850-8D10C1B5", "an execution id has 'D' as character 18; "),
            ("20261129-202850-8d10c1bg", "an execution id: the random part is \"8d10c1bg\"; "),
            ("20261329-202850-8d10c1b5", "an execution id: the date is \"20261329\"; "),
            ("20260229-202850-8d10c1b5", "an execution id: the date is \"20260229\"; "),
            ("20261129-242850-8d10c1b5", "an execution id: the time is \"242850\"; "),
            ("-20261129-202850-8d10c1b5", "an execution id does not have the form "),
            ("x20261129-202850-8d10c1b5", "an execution id does not have the form "),
            ("-x-20261129-202850-8d10c1b5", "an execution id: the name is \"-x\"; "),
            ("x--20261129-202850-8d10c1b5", "an execution id: the name is \"x-\"; "),
            ("x-2026112-9202850-8d10c1b5", "an execution id does not have the form "),
            ("20261129-202850-8d10c1b5\n", "an execution id has '\\n' as character 25; "),
            ("exact\u{202e}-20261129-202850-8d10c1b5", "an execution id has '\\u{202e}' as character 6; "),
            ("x' or 1=1 --20261129-202850-8d10c1b5", "an execution id has '\\'' as character 2; "),
        ] {
            let error = text.parse::<ExecutionId>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
