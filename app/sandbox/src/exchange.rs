//! A request and its answer, as somebody else may judge them.

use std::sync::Arc;

use serde_json::Value;

/// A request to the API and, once there is one, its answer.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// The path below the prefix, without the query.
    pub path: &'a str,
    /// The query, decoded.
    pub query: &'a [(String, String)],
    /// The body of the request; `None` where there was none.
    pub request: Option<&'a Value>,
    /// Status and body of the answer; `None` when the request is to be judged.
    pub answer: Option<(u16, Option<&'a Value>)>,
}

/// Says what is wrong with an exchange. Asked twice: with the request alone, when nothing was done yet and a complaint
/// makes it be refused, and with the answer, of which only the answer is to be judged.
pub type Judge = Arc<dyn Fn(&Exchange<'_>) -> Vec<String> + Send + Sync>;

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Logged {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path below the prefix, without the query.
    pub path: String,
    /// The query as it was written; empty where there was none.
    pub query: String,
    /// The body as text; empty where there was none.
    pub body: String,
    /// The status of the answer; 0 where none was sent.
    pub status: u16,
    /// Whether it did what it asked for, whatever was answered.
    pub done: bool,
}
