//! Log lines of tasks. Logs are lossy: that a line is not there proves nothing.

use serde::{Deserialize, Serialize};

use super::Finelog;
use crate::error::Error;
use crate::ids::{JobId, TaskId};
use crate::wire::{self, Extra, Timestamp, open_enum};

open_enum!(
    /// How severe a line is. Lines of stderr without a logger's prefix count as errors.
    LogLevel, Unknown {
        /// Not said.
        Unknown = "LOG_LEVEL_UNKNOWN" 0,
        /// Debug.
        Debug = "LOG_LEVEL_DEBUG" 1,
        /// Info; all of stdout.
        Info = "LOG_LEVEL_INFO" 2,
        /// Warning.
        Warning = "LOG_LEVEL_WARNING" 3,
        /// Error.
        Error = "LOG_LEVEL_ERROR" 4,
        /// Critical.
        Critical = "LOG_LEVEL_CRITICAL" 5,
    }
);

/// A line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogEntry {
    /// When it was written.
    pub timestamp: Timestamp,
    /// `stdout`, `stderr`, `error`.
    pub source: String,
    /// The line; hostile text.
    pub data: String,
    /// Which attempt of its task.
    pub attempt_id: i64,
    /// How severe.
    pub level: LogLevel,
    /// `/user/job/task:attempt`.
    pub key: String,
    /// Its number; lines come in this order, which across tasks is not quite that of time.
    #[serde(with = "wire::int64")]
    pub seq: i64,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// Whose lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSource {
    /// A job and all its descendants.
    Tree(JobId),
    /// One attempt of one task.
    Attempt(TaskId, u32),
}

/// Which lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogQuery {
    /// Whose.
    pub source: LogSource,
    /// Only lines with a number above this one: the cursor of the page before, or 0.
    pub after: i64,
    /// Only lines since this moment, milliseconds since 1970; 0 for all.
    pub since_ms: i64,
    /// Only lines with this text; empty for all.
    pub substring: String,
    /// Only lines that match, in the syntax of the crate `regex`; empty for all.
    pub regex: String,
    /// The last lines instead of the first.
    pub tail: bool,
    /// At most so many lines, from 1.
    pub max_lines: u32,
    /// Only lines this severe or more.
    pub min_level: LogLevel,
}

impl LogQuery {
    /// All lines of a source from the first on, 10,000 a page.
    #[must_use]
    pub fn new(source: LogSource) -> Self {
        Self {
            source,
            after: 0,
            since_ms: 0,
            substring: String::new(),
            regex: String::new(),
            tail: false,
            max_lines: 10_000,
            min_level: LogLevel::Unknown,
        }
    }
}

/// Some lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogPage {
    /// The lines.
    pub entries: Vec<LogEntry>,
    /// Where to go on.
    pub cursor: i64,
    /// Whether the page was full, so that there may be more after it.
    pub full: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    source: String,
    match_scope: &'static str,
    max_lines: u32,
    #[serde(skip_serializing_if = "wire::is_default", with = "wire::int64")]
    cursor: i64,
    #[serde(skip_serializing_if = "wire::is_default", with = "wire::int64")]
    since_ms: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    substring: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    regex: &'a str,
    #[serde(skip_serializing_if = "wire::is_default")]
    tail: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    min_level: &'a str,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    entries: Vec<LogEntry>,
    #[serde(with = "wire::int64")]
    cursor: i64,
}

/// Memory a compiled expression may take, bytes.
const REGEX_SIZE: usize = 1 << 20;

impl Finelog {
    /// One page of lines. An unknown source has none.
    ///
    /// An older server does not know `regex`, takes no notice of it (unlike a controller it refuses no unknown
    /// field) and sends all lines: they are matched here again, with the crate the server uses.
    ///
    /// # Errors
    /// See [`Error`]; an expression that is none is refused before anything is sent.
    pub async fn logs(&self, query: &LogQuery) -> Result<LogPage, Error> {
        let regex = if query.regex.is_empty() {
            None
        } else {
            let built = regex::RegexBuilder::new(&query.regex).size_limit(REGEX_SIZE).build();
            Some(built.map_err(|why| Error::BadRegex(why.to_string()))?)
        };
        let (source, match_scope) = match &query.source {
            LogSource::Tree(job) => (job.below(), "MATCH_SCOPE_PREFIX"),
            LogSource::Attempt(task, attempt) => (format!("{task}:{attempt}"), "MATCH_SCOPE_EXACT"),
        };
        let request = Request {
            source,
            match_scope,
            max_lines: query.max_lines.max(1),
            cursor: query.after,
            since_ms: query.since_ms,
            substring: &query.substring,
            regex: &query.regex,
            tail: query.tail,
            min_level: match &query.min_level {
                LogLevel::Unknown => "",
                level => level.as_str().trim_start_matches("LOG_LEVEL_"),
            },
        };
        let answer: Answer = self.transport.call("finelog.logging.LogService/FetchLogs", &request).await?;
        let full = answer.entries.len() >= request.max_lines as usize;
        let last = answer.entries.iter().map(|entry| entry.seq).max().unwrap_or(0);
        let mut entries = answer.entries;
        entries.retain(|entry| regex.as_ref().is_none_or(|regex| regex.is_match(&entry.data)));
        // A page without lines comes with cursor 0, which would begin anew.
        Ok(LogPage { entries, cursor: query.after.max(answer.cursor).max(last), full })
    }

    /// All lines of a query, page after page, at most `limit`; true when there were more.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn all_logs(&self, query: &LogQuery, limit: usize) -> Result<(Vec<LogEntry>, bool), Error> {
        let mut query = LogQuery { tail: false, ..query.clone() };
        let mut entries = Vec::new();
        loop {
            let page = self.logs(&query).await?;
            entries.extend(page.entries);
            let stuck = page.cursor == query.after;
            if entries.len() > limit || (page.full && stuck) {
                entries.truncate(limit);
                return Ok((entries, true));
            }
            if !page.full {
                return Ok((entries, false));
            }
            query.after = page.cursor;
        }
    }
}
