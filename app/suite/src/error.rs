//! What can be wrong with a suite's text: always with the file, the line and the key.

use std::fmt;

/// What is wrong at a place of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text is not TOML.
    Syntax(String),
    /// Nobody knows this key.
    UnknownKey {
        /// The keys that may stand there.
        allowed: Vec<String>,
        /// The one that is nearest to what was found, where one is near.
        nearest: Option<String>,
    },
    /// A key that must be there is not.
    Missing {
        /// The key.
        key: &'static str,
        /// What it is for, or what stands there.
        what: String,
    },
    /// A value of another type.
    Type {
        /// What is expected, with an article.
        expected: String,
        /// The type that was found.
        found: &'static str,
    },
    /// A value of the right type that may not stand there.
    Value {
        /// The value, shortened.
        found: String,
        /// What is allowed.
        expected: String,
        /// The allowed word that is nearest, where one is near.
        nearest: Option<String>,
    },
    /// Something that stands twice.
    Twice(String),
    /// Something that does not fit what stands elsewhere.
    Unfit(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>| match nearest {
            Some(word) => write!(f, "; nearest: {word}"),
            None => Ok(()),
        };
        match self {
            Self::Syntax(message) => write!(f, "not TOML: {message}"),
            Self::UnknownKey { allowed, nearest } => {
                let none = allowed.is_empty();
                write!(f, "unknown key; allowed: {}", if none { "none".to_owned() } else { allowed.join(", ") })?;
                near(f, nearest)
            }
            Self::Missing { key, what } => write!(f, "the key {key} is missing: {what}"),
            Self::Type { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Value { found, expected, nearest } => {
                write!(f, "{found} is not allowed; expected {expected}")?;
                near(f, nearest)
            }
            Self::Twice(what) => write!(f, "{what} stands twice"),
            Self::Unfit(message) => f.write_str(message),
        }
    }
}

/// What is wrong with a suite, as `file:line: key: problem`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct SuiteError {
    /// The file, as it was given.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The key with those above it, such as `presets.light.limit.wall`; empty at the top.
    pub key: String,
    /// What is wrong there.
    pub problem: Box<Problem>,
}

/// The nearest of `allowed`, where one is near.
pub(crate) fn nearest<'a>(found: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if found.len() > 80 {
        return None;
    }
    allowed
        .into_iter()
        .map(|word| (strsim::osa_distance(word, found), word))
        .min()
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
        .map(|(_, word)| word.to_owned())
}

/// A foreign text in quotes, on one line and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{rest}")
}
