//! Why a command line is not understood.

use crate::request::RequestError;

/// The kind of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// More than one command line.
    TwoCommands,
    /// No suite has this name.
    UnknownSuite,
    /// No verb is called so.
    UnknownVerb,
    /// Neither the suite nor the table of keys has this key.
    UnknownKey,
    /// The word is not among those that the key takes.
    UnknownValue,
    /// Nothing may have this value, or the key takes another kind of value.
    BadValue,
    /// A key that stands twice.
    DuplicateKey,
    /// Something is not there that must be.
    MissingArgument,
    /// Something is there that nothing takes.
    TrailingText,
    /// More than anybody needs.
    TooLong,
}

impl Code {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TwoCommands => "two_commands",
            Self::UnknownSuite => "unknown_suite",
            Self::UnknownVerb => "unknown_verb",
            Self::UnknownKey => "unknown_key",
            Self::UnknownValue => "unknown_value",
            Self::BadValue => "bad_value",
            Self::DuplicateKey => "duplicate_key",
            Self::MissingArgument => "missing_argument",
            Self::TrailingText => "trailing_text",
            Self::TooLong => "too_long",
        }
    }
}

/// Why a command line is not understood. The message is one line for a person: what is wrong, what is allowed, the
/// nearest match. Of foreign text it has at most 40 characters in a row, as text. Displays as the message with the line to type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", complete_line.as_ref().map_or(String::new(), |line| format!("; type {line}")))]
pub struct CommandError {
    /// The kind of it.
    pub code: Code,
    /// What a person is told.
    pub message: String,
    /// A whole line to type instead, where one is known.
    pub complete_line: Option<String>,
}

impl CommandError {
    /// An error without a line to type instead.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), complete_line: None }
    }

    /// The same with a line to type instead.
    #[must_use]
    pub fn instead(self, line: impl Into<String>) -> Self {
        Self { complete_line: Some(line.into()), ..self }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        let code = match &error {
            RequestError::NoPair(_) => Code::TrailingText,
            RequestError::TooMany(_) => Code::TooLong,
            RequestError::Key(_) => Code::UnknownKey,
            RequestError::Twice(_) => Code::DuplicateKey,
            RequestError::Choice { key: "priority" | "normalize" | "harness", .. } => Code::UnknownValue,
            RequestError::Choice { .. }
            | RequestError::Value { .. }
            | RequestError::Name { .. }
            | RequestError::HeadName
            | RequestError::SameName(_)
            | RequestError::Treatment { .. }
            | RequestError::Declared { .. } => Code::BadValue,
        };
        Self::new(code, error.to_string())
    }
}
