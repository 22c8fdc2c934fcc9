//! Names that were checked. A checked name has no quote, no wildcard, no space and no control character, so it can
//! stand in a path, a log key or a query as it is.

use std::fmt;

/// A name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {what}: {why}")]
pub struct BadId {
    /// What was given, at most 200 characters, escaped.
    pub given: String,
    /// What it should have been.
    pub what: &'static str,
    /// What is allowed.
    pub why: &'static str,
}

fn refuse(given: &str, what: &'static str, why: &'static str) -> BadId {
    BadId { given: given.chars().take(200).flat_map(char::escape_default).collect(), what, why }
}

macro_rules! checked {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked!(
    /// A job: `/user/job`, a child `/user/job/child`, and so on.
    JobId
);
checked!(
    /// A task of a job: `/user/job/0`.
    TaskId
);
checked!(
    /// A Zephyr execution: `[name-]YYYYMMDD-HHMMSS-xxxxxxxx`, the name of at most 64 characters.
    ExecutionId
);

const LONGEST: usize = 1024;

fn segment(text: &str) -> bool {
    !text.is_empty()
        && text != "."
        && text != ".."
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@+=~".contains(&byte))
}

impl JobId {
    /// Checks a name.
    ///
    /// # Errors
    /// It is not `/user/job[/child...]` of letters, digits and `-_.@+=~`, or is longer than 1024.
    pub fn new(text: &str) -> Result<Self, BadId> {
        let fine = text.len() <= LONGEST
            && text.strip_prefix('/').is_some_and(|rest| rest.contains('/') && rest.split('/').all(segment));
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(refuse(text, "a job id", "expected /user/job[/child...] of letters, digits and -_.@+=~"))
        }
    }

    /// What the names of all descendants begin with: the id and a slash.
    #[must_use]
    pub fn below(&self) -> String {
        format!("{}/", self.0)
    }
}

impl TaskId {
    /// Task `index` of `job`.
    #[must_use]
    pub fn of(job: &JobId, index: u32) -> Self {
        Self(format!("{job}/{index}"))
    }

    /// Checks a name.
    ///
    /// # Errors
    /// It is not a job id followed by `/` and an index.
    pub fn new(text: &str) -> Result<Self, BadId> {
        let fine = text.rsplit_once('/').is_some_and(|(job, index)| {
            JobId::new(job).is_ok() && index.parse::<u32>().is_ok_and(|n| n.to_string() == index)
        });
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(refuse(text, "a task id", "expected a job id, a slash and an index"))
        }
    }
}

/// Characters of `YYYYMMDD-HHMMSS-xxxxxxxx`.
const STAMP: usize = 24;

impl ExecutionId {
    /// Checks a name.
    ///
    /// # Errors
    /// It is neither `YYYYMMDD-HHMMSS-xxxxxxxx` nor that after a name of `[a-z0-9-]` and a dash.
    pub fn new(text: &str) -> Result<Self, BadId> {
        if execution(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(refuse(text, "an execution id", "expected [name-]YYYYMMDD-HHMMSS-xxxxxxxx, name of [a-z0-9-]"))
        }
    }

    /// Whether the id carries a name before its time.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.0.len() > STAMP
    }
}

fn execution(text: &str) -> bool {
    if !text.is_ascii() || text.len() < STAMP {
        return false;
    }
    let (name, stamp) = text.split_at(text.len() - STAMP);
    let stamp_fine = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 | 15 => byte == b'-',
        16.. => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        _ => byte.is_ascii_digit(),
    });
    let letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let name_fine = name.is_empty()
        || name.strip_suffix('-').is_some_and(|name| {
            let bytes = name.as_bytes();
            (1..=64).contains(&bytes.len())
                && letter(bytes[0])
                && letter(bytes[bytes.len() - 1])
                && bytes.iter().all(|byte| letter(*byte) || *byte == b'-')
        });
    stamp_fine && name_fine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions() {
        for fine in ["20261129-201344-72a36463", "exact-web-20261129-202850-8d10c1b5", "a-20261129-202850-8d10c1b5"] {
            assert!(ExecutionId::new(fine).is_ok(), "{fine}");
        }
        assert!(!ExecutionId::new("20261129-201344-72a36463").expect("fine").is_named());
        assert!(ExecutionId::new("exact-web-20261129-202850-8d10c1b5").expect("fine").is_named());
        let long = format!("{}-20261129-201344-72a36463", "a".repeat(65));
        for bad in [
            "",
            "-20261129-201344-72a36463",
            "--20261129-201344-72a36463",
            "A-20261129-201344-72a36463",
            "20261129-201344-72A36463",
            "20261129-201344-72a3646",
            "x'-20261129-201344-72a36463",
            "é0261129-201344-72a36463",
            "x20261129-201344-72a36463",
            &long,
        ] {
            assert!(ExecutionId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn jobs_and_tasks() {
        for fine in ["/bot/x", "/bot/x/y-1.z_2", "/a@b.c/d"] {
            assert!(JobId::new(fine).is_ok(), "{fine}");
        }
        for bad in
            ["", "/", "/bot", "bot/x", "/bot/", "/bot//x", "/bot/x'", "/bot/x%", "/bot/../x", "/bot/x y", "/bot/\n"]
        {
            assert!(JobId::new(bad).is_err(), "{bad}");
        }
        assert!(TaskId::new("/bot/x/0").is_ok());
        for bad in ["/bot/0", "/bot/x/00", "/bot/x/-1", "/bot/x/0:1", "/bot/x/"] {
            assert!(TaskId::new(bad).is_err(), "{bad}");
        }
    }
}
