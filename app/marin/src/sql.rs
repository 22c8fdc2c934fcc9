//! Queries: texts of the program with checked ids in their places, and nothing but a SELECT.
//!
//! Finelog's query call is not read-only (`COPY ... TO` writes a file on the server), so what is sent is never put
//! together from text that came from outside: a [`Template`] is part of the program, a [`Value`] is checked.

use std::fmt::Write as _;

use crate::ids::{ExecutionId, JobId, TaskId};

/// A template or filling that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("query: {0}")]
pub struct BadTemplate(String);

/// What a place `{name}` of a template is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Quoted and separated by commas, for `IN ({name})`.
    Jobs(Vec<JobId>),
    /// Quoted and separated by commas, for `IN ({name})`.
    Tasks(Vec<TaskId>),
    /// Quoted and separated by commas, for `IN ({name})`.
    Executions(Vec<ExecutionId>),
    /// The text that the names of all descendants begin with, quoted, for `starts_with(column, {name})`.
    Below(JobId),
    /// A number.
    Number(i64),
}

impl Value {
    fn render(&self) -> String {
        fn list<'a>(ids: impl Iterator<Item = &'a str>) -> String {
            // An id has no quote (see `ids`).
            let mut text = String::new();
            for id in ids {
                let _ = write!(text, "{}'{id}'", if text.is_empty() { "" } else { ", " });
            }
            // `IN (NULL)` holds for no row, and `IN ()` is no SQL.
            if text.is_empty() { "NULL".into() } else { text }
        }
        match self {
            Self::Jobs(ids) => list(ids.iter().map(JobId::as_str)),
            Self::Tasks(ids) => list(ids.iter().map(TaskId::as_str)),
            Self::Executions(ids) => list(ids.iter().map(ExecutionId::as_str)),
            Self::Below(job) => format!("'{}'", job.below()),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A query text of the program with places `{name}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template(&'static str);

/// Words that no query of ours has. Any of them outside quotes is refused, even where it would be harmless.
const FORBIDDEN: [&str; 25] = [
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "CALL",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DELETE",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "EXTERNAL",
    "GRANT",
    "INSERT",
    "INSTALL",
    "INTO",
    "LOAD",
    "LOCATION",
    "MERGE",
    "PREPARE",
    "RESET",
    "SET",
    "SHOW",
    "TRUNCATE",
    "UPDATE",
];

impl Template {
    /// Checks a text.
    ///
    /// # Errors
    /// It does not begin with SELECT or WITH, has a semicolon, a comment, an open quote, a place inside quotes, or a
    /// word that changes or reads anything but tables.
    pub fn new(text: &'static str) -> Result<Self, BadTemplate> {
        check(text)?;
        Ok(Self(text))
    }

    /// Fills the places.
    ///
    /// # Errors
    /// A place has no value, or a value no place.
    pub fn fill(self, values: &[(&str, Value)]) -> Result<Select, BadTemplate> {
        let mut sql = String::with_capacity(self.0.len());
        let mut used = vec![false; values.len()];
        let mut rest = self.0;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or_else(|| BadTemplate("a `{` is never closed".into()))?;
            let at = values
                .iter()
                .position(|(given, _)| *given == name)
                .ok_or_else(|| BadTemplate(format!("nothing is given for `{{{name}}}`")))?;
            used[at] = true;
            sql.push_str(before);
            sql.push_str(&values[at].1.render());
            rest = after;
        }
        sql.push_str(rest);
        match used.iter().position(|used| !used) {
            Some(at) => Err(BadTemplate(format!("no place is called `{{{}}}`", values[at].0))),
            None => Ok(Select(sql)),
        }
    }
}

/// A query that may be sent: made by [`Template::fill`] only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select(String);

impl Select {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check(text: &str) -> Result<(), BadTemplate> {
    let refuse = |why: &str| Err(BadTemplate(why.into()));
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut last = ' ';
    for char in text.chars() {
        if let Some(open) = quote {
            if char == open {
                quote = None;
            } else if char == '{' || char == '}' {
                return refuse("a place inside quotes (values bring their own)");
            }
            last = ' ';
            continue;
        }
        match (last, char) {
            (_, ';') => return refuse("a semicolon: one statement only"),
            ('-', '-') | ('/', '*') => return refuse("a comment"),
            (_, '\'' | '"') => quote = Some(char),
            (_, '`' | '$' | '\\' | '\0') => return refuse("one of the characters ` $ \\ NUL outside quotes"),
            _ => {}
        }
        if char.is_alphanumeric() || char == '_' {
            word.extend(char.to_uppercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        last = char;
    }
    if quote.is_some() {
        return refuse("a quote is never closed");
    }
    words.extend((!word.is_empty()).then_some(word));
    if !matches!(words.first().map(String::as_str), Some("SELECT" | "WITH"))
        || !text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return refuse("does not begin with SELECT or WITH");
    }
    match words.iter().find(|word| FORBIDDEN.contains(&word.as_str())) {
        Some(word) => Err(BadTemplate(format!("the word {word}, which no reading query needs"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selects_pass() {
        for fine in [
            "SELECT 1",
            " with a AS (SELECT 1) SELECT * FROM a",
            "SELECT x AS \"set\" FROM \"zephyr.stage\" WHERE status = 'DELETE -- ;' AND updated > offset_x",
        ] {
            assert!(Template::new(fine).is_ok(), "{fine}");
        }
        for bad in [
            "",
            "COPY (SELECT 1) TO '/tmp/x'",
            "DELETE FROM x",
            "SELECT 1; SELECT 2",
            "SELECT 1 -- x",
            "SELECT /* */ 1",
            "EXPLAIN SELECT 1",
            "SELECT 1 INTO x",
            "(SELECT 1)",
            "SELECT '",
            "SELECT \"a",
            "SELECT '{x}'",
            "WITH a AS (DELETE FROM b) SELECT 1",
            "select 1 union all (copy x to 'y')",
            "SELECT $$a$$",
            "SET x = 1",
            "CREATE EXTERNAL TABLE t LOCATION '/etc/passwd'",
            "sElEcT 1 WHERE drop",
        ] {
            assert!(Template::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn places_are_filled_once_each_or_refused() {
        let template =
            Template::new("SELECT * FROM t WHERE a IN ({a}) AND starts_with(b, {b}) LIMIT {n}").expect("fine");
        let job = JobId::new("/bot/x").expect("fine");
        let execution = ExecutionId::new("20261129-201344-72a36463").expect("fine");
        let a = ("a", Value::Executions(vec![execution.clone(), execution]));
        let (b, n) = (("b", Value::Below(job)), ("n", Value::Number(-3)));
        assert_eq!(
            template.fill(&[a.clone(), b.clone(), n.clone()]).expect("fills").as_str(),
            "SELECT * FROM t WHERE a IN ('20261129-201344-72a36463', '20261129-201344-72a36463') \
             AND starts_with(b, '/bot/x/') LIMIT -3"
        );
        assert!(template.fill(&[a.clone(), b.clone()]).is_err());
        assert!(template.fill(&[a, b.clone(), n.clone(), ("z", Value::Number(1))]).is_err());
        let none = template.fill(&[("a", Value::Jobs(vec![])), b, n]).expect("fills");
        assert!(none.as_str().contains("IN (NULL)"));
    }
}
