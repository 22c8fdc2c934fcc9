//! How a call fails, told apart as far as a caller branches.

use std::fmt;
use std::time::Duration;

use crate::auth::LoginError;
use crate::ids::BadId;
use crate::sql::BadTemplate;

/// The code of a Connect error (<https://connectrpc.com/docs/protocol#error-codes>).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// The caller gave up.
    Canceled,
    /// No more specific code; Iris says this of a request it could not parse.
    Unknown,
    /// The request makes no sense in any state.
    InvalidArgument,
    /// The server's own deadline passed.
    DeadlineExceeded,
    /// What was asked for does not exist.
    NotFound,
    /// What was to be made exists.
    AlreadyExists,
    /// The caller is known and may not.
    PermissionDenied,
    /// A limit was reached, or the server sheds load.
    ResourceExhausted,
    /// The request cannot be served in the present state.
    FailedPrecondition,
    /// A conflict with another change.
    Aborted,
    /// Past the valid range.
    OutOfRange,
    /// The method does not exist here.
    Unimplemented,
    /// A fault inside the server.
    Internal,
    /// Not reachable at the moment.
    Unavailable,
    /// Data was lost.
    DataLoss,
    /// No valid login.
    Unauthenticated,
    /// A code this version does not know.
    Other(String),
}

const CODES: [(Code, &str); 16] = [
    (Code::Canceled, "canceled"),
    (Code::Unknown, "unknown"),
    (Code::InvalidArgument, "invalid_argument"),
    (Code::DeadlineExceeded, "deadline_exceeded"),
    (Code::NotFound, "not_found"),
    (Code::AlreadyExists, "already_exists"),
    (Code::PermissionDenied, "permission_denied"),
    (Code::ResourceExhausted, "resource_exhausted"),
    (Code::FailedPrecondition, "failed_precondition"),
    (Code::Aborted, "aborted"),
    (Code::OutOfRange, "out_of_range"),
    (Code::Unimplemented, "unimplemented"),
    (Code::Internal, "internal"),
    (Code::Unavailable, "unavailable"),
    (Code::DataLoss, "data_loss"),
    (Code::Unauthenticated, "unauthenticated"),
];

impl Code {
    /// The code of its name in an error body.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        CODES
            .iter()
            .find(|(_, text)| *text == name)
            .map_or_else(|| Self::Other(name.chars().take(64).collect()), |(code, _)| code.clone())
    }

    /// The code of an answer without a Connect body, which comes from something in between (a proxy, a router).
    /// The table is the protocol's.
    #[must_use]
    pub fn of_http(status: u16) -> Self {
        match status {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(name) => f.write_str(name),
            known => f.write_str(CODES.iter().find(|(code, _)| code == known).map_or("unknown", |(_, name)| name)),
        }
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with an error.
    #[error("{method}: {code} (HTTP {http}): {message}")]
    Rpc {
        /// Service and method.
        method: String,
        /// What kind of error.
        code: Code,
        /// HTTP status.
        http: u16,
        /// The server's words, at most 4 KiB; hostile text.
        message: String,
    },
    /// The request has a field the server does not know: it is older than the field.
    #[error("{method}: the server is older than the field `{field}`; it knows {}", known.join(", "))]
    UnsupportedField {
        /// Service and method.
        method: String,
        /// The field, with its path.
        field: String,
        /// What the server knows in that place.
        known: Vec<String>,
    },
    /// The request has an enum value the server does not know.
    #[error("{method}: the server does not know a value that was sent: {message}")]
    UnsupportedValue {
        /// Service and method.
        method: String,
        /// The server's words.
        message: String,
    },
    /// No connection, or it broke.
    #[error("{method}: not reachable: {why}")]
    Unreachable {
        /// Service and method.
        method: String,
        /// What the connection said, without the address.
        why: String,
    },
    /// No whole answer in time.
    #[error("{method}: no answer within {} s", after.as_secs_f64())]
    TimedOut {
        /// Service and method.
        method: String,
        /// The time that was given to one try.
        after: Duration,
    },
    /// The answer is larger than the limit of this client.
    #[error("{method}: the answer is larger than {limit} bytes")]
    AnswerTooLarge {
        /// Service and method.
        method: String,
        /// The limit, bytes.
        limit: usize,
    },
    /// The answer is not what the protocol says.
    #[error("{method}: malformed answer: {why}")]
    Malformed {
        /// Service and method.
        method: String,
        /// What was wrong.
        why: String,
    },
    /// The bundle is larger than the controller takes; it was not sent.
    #[error("the bundle has {bytes} bytes; the controller takes at most {limit}")]
    BundleTooLarge {
        /// Bytes of the zip.
        bytes: usize,
        /// The limit, bytes.
        limit: usize,
    },
    /// The regular expression of a log query is not one.
    #[error("regular expression of a log query: {0}")]
    BadRegex(String),
    /// The base address of a server cannot be used.
    #[error("server address: {0}")]
    BadAddress(String),
    /// No token could be had.
    #[error("login: {0}")]
    Login(#[from] LoginError),
    /// A name that was to be sent is none.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A query that was to be sent is not one of the allowed kind.
    #[error(transparent)]
    BadTemplate(#[from] BadTemplate),
}

impl Error {
    /// The Connect code, where the server gave one.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        match self {
            Self::Rpc { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether what was asked for does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(&Code::NotFound)
    }

    /// Whether the method does not exist on this server.
    #[must_use]
    pub fn is_unimplemented(&self) -> bool {
        self.code() == Some(&Code::Unimplemented)
    }

    /// Whether the same request may succeed later although nothing changed: the codes the official client repeats
    /// (unavailable, internal, deadline exceeded, resource exhausted), a lost connection, a missed deadline.
    /// Finelog's own refusals of a query come under some of these codes and are the same every time.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Login(error) => error.is_transient(),
            Self::Rpc { code, message, .. } => {
                matches!(code, Code::Unavailable | Code::Internal | Code::DeadlineExceeded | Code::ResourceExhausted)
                    && !["query failed:", "query exceeded deadline", "query result"]
                        .iter()
                        .any(|own| message.starts_with(own))
            }
            _ => false,
        }
    }

    /// Whether the request may have been carried out although it failed.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::AnswerTooLarge { .. } | Self::Malformed { .. } => {
                true
            }
            Self::Rpc { code, .. } => {
                matches!(code, Code::Unavailable | Code::Internal | Code::DeadlineExceeded | Code::Canceled)
            }
            _ => false,
        }
    }
}

/// Reads an error body. `method` is for the message only.
pub(crate) fn of_answer(method: &str, http: u16, body: &[u8]) -> Error {
    #[derive(serde::Deserialize)]
    struct Body {
        code: String,
        #[serde(default)]
        message: String,
    }
    let method = method.to_owned();
    let Ok(Body { code, message }) = serde_json::from_slice::<Body>(body) else {
        let message = shortened(&String::from_utf8_lossy(body), 400);
        return Error::Rpc { method, code: Code::of_http(http), http, message };
    };
    let message = shortened(&message, 4096);
    let code = Code::of_name(&code);
    if code == Code::Unknown {
        if let Some((field, known)) = unknown_field(&message) {
            return Error::UnsupportedField { method, field, known };
        }
        if message.contains("Invalid enum value") {
            return Error::UnsupportedValue { method, message };
        }
    }
    Error::Rpc { method, code, http, message }
}

/// Field and known fields of `... has no field named "x" at "Request.y". Available Fields(except extensions):
/// "['a', 'b']"`, the words of Python's protocol buffers.
fn unknown_field(message: &str) -> Option<(String, Vec<String>)> {
    let (_, rest) = message.split_once("has no field named \"")?;
    let (name, rest) = rest.split_once('"')?;
    let place = rest.split_once("at \"").and_then(|(_, at)| at.split_once('"')).map_or("", |(place, _)| place);
    let parent = place.split_once('.').map_or("", |(_, below)| below);
    let field = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let known = rest
        .split_once('[')
        .and_then(|(_, list)| list.split_once(']'))
        .map(|(list, _)| list.split(',').map(|item| item.trim().trim_matches('\'').to_owned()).collect())
        .unwrap_or_default();
    Some((field, known))
}

pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_gives_its_code_and_an_empty_one_that_of_the_status() {
        for (code, name) in CODES {
            assert_eq!(Code::of_name(name), code);
            assert_eq!(code.to_string(), name);
        }
        assert_eq!(Code::of_name("brand_new").to_string(), "brand_new");
        let error = of_answer("S/M", 404, br#"{"code":"not_found","message":"Job /bot/x not found"}"#);
        assert!(error.is_not_found() && !error.is_transient());
        for (http, code) in [(404, Code::Unimplemented), (502, Code::Unavailable), (401, Code::Unauthenticated)] {
            assert_eq!(of_answer("S/M", http, b"<html>").code(), Some(&code));
        }
    }

    #[test]
    fn an_unknown_field_is_named_with_its_place_and_neighbours() {
        let body = br#"{"code": "unknown", "message": "Failed to parse environment field: Message type \"iris.job.EnvironmentConfig\" has no field named \"x\" at \"LaunchJobRequest.environment\".\n Available Fields(except extensions): \"['envVars', 'secrets']\"."}"#;
        match of_answer("S/M", 500, body) {
            Error::UnsupportedField { field, known, .. } => {
                assert_eq!(
                    (field.as_str(), known),
                    ("environment.x", vec!["envVars".to_owned(), "secrets".to_owned()])
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_query_that_fails_every_time_is_not_repeated() {
        let of = |code: &str, message: &str| {
            let body = serde_json::json!({ "code": code, "message": message });
            of_answer("Q", 500, body.to_string().as_bytes()).is_transient()
        };
        assert!(!of("deadline_exceeded", "query exceeded deadline of 10000 ms"));
        assert!(!of("resource_exhausted", "query result 70000000 bytes exceeds 67108864 message limit"));
        assert!(!of("internal", "query failed: Invalid"));
        assert!(of("resource_exhausted", "too many calls") && of("internal", "") && of("unavailable", ""));
        assert!(!of("unknown", "") && !of("already_exists", ""));
    }
}
