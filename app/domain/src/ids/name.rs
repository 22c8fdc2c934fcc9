//! Names that people choose.

use super::error::{IdError, characters};
use super::text_id;

text_id! {
    /// The name of a treatment: 1 to 40 characters `a-z`, `0-9`, `.`, `_` and `-`, the first a letter or digit. Never
    /// `control`, which is the other arm.
    ArmName, arm
}

text_id! {
    /// The name of a suite: 1 to 40 characters `a-z`, `0-9` and `-`, the first a letter or digit. Never `help` or
    /// `status`, which may stand in a command where the suite stands.
    SuiteName, suite
}

/// The word for the arm that treatments are compared with.
pub(crate) const CONTROL: &str = "control";

fn arm(text: &str) -> Result<String, IdError> {
    let what = "a treatment's name";
    let allowed = "1 to 40 characters a-z, 0-9, . _ -, the first a letter or digit";
    characters(what, text, 1..=40, allowed, |index, c| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || (index > 0 && matches!(c, '.' | '_' | '-'))
    })?;
    if text == CONTROL {
        return Err(IdError::Reserved {
            what,
            found: text.to_owned(),
            why: "it is the arm that treatments are compared with",
        });
    }
    Ok(text.to_owned())
}

fn suite(text: &str) -> Result<String, IdError> {
    let what = "a suite's name";
    let allowed = "1 to 40 characters a-z, 0-9, -, the first a letter or digit";
    characters(what, text, 1..=40, allowed, |index, c| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || (index > 0 && c == '-')
    })?;
    if matches!(text, "help" | "status") {
        return Err(IdError::Reserved { what, found: text.to_owned(), why: "it is a command of its own" });
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms() {
        for good in ["head", "a", "0", "wide.pool_2-x", "controls"] {
            assert_eq!(good.parse::<ArmName>().unwrap().as_str(), good);
        }
        assert!("x".repeat(40).parse::<ArmName>().is_ok());
        assert!(matches!("control".parse::<ArmName>(), Err(IdError::Reserved { .. })));
        for length in [41, 300] {
            let error = "x".repeat(length).parse::<ArmName>().unwrap_err();
            assert!(matches!(error, IdError::Length { found, .. } if found == length), "{error}");
        }
        for bad in ["", "Head", "-x", ".x", "a b", "a@b", "a\u{202e}", "ä"] {
            assert!(bad.parse::<ArmName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn suites() {
        assert!("zephyr".parse::<SuiteName>().is_ok());
        for bad in ["help", "status", "", "-a", "a.b", "a_b", "Zephyr"] {
            assert!(bad.parse::<SuiteName>().is_err(), "{bad}");
        }
    }
}
