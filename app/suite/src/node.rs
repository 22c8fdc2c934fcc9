//! A TOML value together with the place where it stands.

use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Problem, SuiteError, nearest, quoted};
use crate::unit::{Duration, Percent};

/// The text of a suite and what it is called.
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl Source<'_> {
    /// The error at a byte of the text.
    pub(crate) fn error(&self, at: usize, key: &str, problem: Problem) -> SuiteError {
        // A span may end inside a character or behind the text; lines are counted up to the last whole one.
        let before = (0..=at.min(self.text.len())).rev().find_map(|at| self.text.get(..at)).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        SuiteError { file: self.file.to_owned(), line, key: key.to_owned(), problem: Box::new(problem) }
    }
}

/// A value.
#[derive(Clone)]
pub(crate) struct Node<'s> {
    source: &'s Source<'s>,
    key: String,
    /// Where an error about it is shown: the key where there is one, else the value itself.
    at: usize,
    value: &'s Spanned<DeValue<'s>>,
}

/// A table whose keys are known.
pub(crate) struct Table<'s> {
    source: &'s Source<'s>,
    key: String,
    at: usize,
    entries: Vec<(String, Node<'s>)>,
}

type Read<T> = Result<T, SuiteError>;

impl<'s> Table<'s> {
    /// The whole document; its keys must be among `allowed`.
    pub(crate) fn root(source: &'s Source<'s>, table: &'s DeTable<'s>, allowed: &[&str]) -> Read<Self> {
        Self::new(source, String::new(), 0, table, Some(allowed))
    }

    /// The whole document, with whatever keys it has.
    pub(crate) fn whole(source: &'s Source<'s>, table: &'s DeTable<'s>) -> Read<Self> {
        Self::new(source, String::new(), 0, table, None)
    }

    fn new(
        source: &'s Source<'s>,
        key: String,
        at: usize,
        table: &'s DeTable<'s>,
        allowed: Option<&[&str]>,
    ) -> Read<Self> {
        let mut entries = Vec::with_capacity(table.len());
        for (name, value) in table {
            let text: &str = name.get_ref();
            // A key of the file may hold anything; errors stay one line.
            let shown = if plain(text) { text.to_owned() } else { quoted(text) };
            let path = if key.is_empty() { shown } else { format!("{key}.{shown}") };
            let at = name.span().start;
            if let Some(allowed) = allowed
                && !allowed.contains(&text)
            {
                let problem = Problem::UnknownKey {
                    allowed: allowed.iter().map(|word| (*word).to_owned()).collect(),
                    nearest: nearest(text, allowed.iter().copied()),
                };
                return Err(source.error(at, &path, problem));
            }
            entries.push((text.to_owned(), Node { source, key: path, at, value }));
        }
        // The parser sorts by name; people and argv groups want the order of the file.
        entries.sort_by_key(|(_, node)| node.at);
        Ok(Self { source, key, at, entries })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node<'s>> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key that must be there; `what` says what stands there.
    pub(crate) fn need(&self, key: &'static str, what: &str) -> Read<&Node<'s>> {
        self.get(key).ok_or_else(|| self.error(Problem::Missing { key, what: what.to_owned() }))
    }

    /// The value of a key, read, where it is there.
    pub(crate) fn read<T>(&self, key: &str, read: impl FnOnce(&Node<'s>) -> Read<T>) -> Read<Option<T>> {
        self.get(key).map(read).transpose()
    }

    pub(crate) fn entries(&self) -> &[(String, Node<'s>)] {
        &self.entries
    }

    /// The error about the table as a whole.
    pub(crate) fn error(&self, problem: Problem) -> SuiteError {
        self.source.error(self.at, &self.key, problem)
    }

    pub(crate) fn unfit(&self, message: impl Into<String>) -> SuiteError {
        self.error(Problem::Unfit(message.into()))
    }
}

fn plain(key: &str) -> bool {
    !key.is_empty() && key.len() <= 60 && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

impl<'s> Node<'s> {
    pub(crate) fn error(&self, problem: Problem) -> SuiteError {
        self.source.error(self.at, &self.key, problem)
    }

    pub(crate) fn unfit(&self, message: impl Into<String>) -> SuiteError {
        self.error(Problem::Unfit(message.into()))
    }

    /// The value has the right type and may not stand here.
    pub(crate) fn refused(&self, expected: impl Into<String>) -> SuiteError {
        self.refused_near(expected.into(), None)
    }

    /// Likewise, with the nearest word that may.
    pub(crate) fn refused_near(&self, expected: String, nearest: Option<String>) -> SuiteError {
        self.error(Problem::Value { found: self.shown(), expected, nearest })
    }

    fn wrong_type(&self, expected: &str) -> SuiteError {
        self.error(Problem::Type { expected: expected.to_owned(), found: article(self.value.get_ref().type_str()) })
    }

    fn shown(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => quoted(text),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(items) => format!("a list of {}", items.len()),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    /// A table whose keys are among `allowed`.
    pub(crate) fn table(&self, allowed: &[&str]) -> Read<Table<'s>> {
        self.open(Some(allowed))
    }

    /// A table whose keys the file chooses.
    pub(crate) fn map(&self) -> Read<Table<'s>> {
        self.open(None)
    }

    fn open(&self, allowed: Option<&[&str]>) -> Read<Table<'s>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Table::new(self.source, self.key.clone(), self.at, table, allowed),
            _ => Err(self.wrong_type("a table")),
        }
    }

    pub(crate) fn list(&self, what: &str) -> Read<Vec<Self>> {
        let DeValue::Array(items) = self.value.get_ref() else { return Err(self.wrong_type(what)) };
        let item = |(index, value): (usize, &'s Spanned<DeValue<'s>>)| Self {
            source: self.source,
            key: format!("{}[{}]", self.key, index + 1),
            at: value.span().start,
            value,
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(crate) fn text(&self) -> Read<&'s str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type("a text in quotes")),
        }
    }

    /// A text that is printed to people: one line, not empty, not too long.
    pub(crate) fn line(&self) -> Read<String> {
        let text = self.text()?;
        if text.trim().is_empty() || text.chars().any(char::is_control) || text.chars().count() > 300 {
            return Err(self.refused("one line of 1 to 300 printable characters"));
        }
        Ok(text.to_owned())
    }

    /// A text that must parse as something that says itself what it allows.
    pub(crate) fn parse<T: FromStr>(&self) -> Read<T>
    where
        T::Err: std::fmt::Display,
    {
        self.text()?.parse().map_err(|error: T::Err| self.unfit(error.to_string()))
    }

    pub(crate) fn flag(&self) -> Read<bool> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    pub(crate) fn integer(&self) -> Read<i64> {
        let DeValue::Integer(number) = self.value.get_ref() else { return Err(self.wrong_type("a whole number")) };
        i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|n| n.unsigned_abs() <= MOST)
            .ok_or_else(|| self.refused("a whole number of at most 2^53"))
    }

    pub(crate) fn count(&self, low: u32, high: u32) -> Read<u32> {
        let number = self.integer()?;
        u32::try_from(number)
            .ok()
            .filter(|n| (low..=high).contains(n))
            .ok_or_else(|| self.refused(format!("{low} to {high}")))
    }

    pub(crate) fn number(&self) -> Read<f64> {
        match self.value.get_ref() {
            DeValue::Integer(_) => {
                #[allow(clippy::cast_precision_loss)] // at most 2^53
                self.integer().map(|n| n as f64)
            }
            DeValue::Float(number) => number
                .as_str()
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && n.abs() <= 1e15)
                .ok_or_else(|| self.refused("a finite number of at most 1e15")),
            _ => Err(self.wrong_type("a number")),
        }
    }

    pub(crate) fn number_of(&self, low: f64, high: f64) -> Read<f64> {
        let number = self.number()?;
        if (low..=high).contains(&number) { Ok(number) } else { Err(self.refused(format!("{low} to {high}"))) }
    }

    /// A share between `low` and `high` percent, written as `"5%"`.
    pub(crate) fn percent(&self, low: f64, high: f64) -> Read<f64> {
        let expected = || format!("a percentage of {low}% to {high}%, such as \"5%\"");
        match self.value.get_ref() {
            DeValue::String(_) => {}
            _ => return Err(self.wrong_type(&expected())),
        }
        let Percent(share) = self.text()?.parse().map_err(|()| self.refused(expected()))?;
        if (low / 100.0..=high / 100.0).contains(&share) { Ok(share) } else { Err(self.refused(expected())) }
    }

    /// A duration in milliseconds, at least `low`.
    pub(crate) fn duration(&self, low: u64) -> Read<Duration> {
        const EXPECTED: &str = "a duration such as \"10s\", \"0.3s\", \"20min\" or \"2h 54min\"";
        match self.value.get_ref() {
            DeValue::String(_) => {}
            _ => return Err(self.wrong_type(EXPECTED)),
        }
        let found: Duration = self.text()?.parse().map_err(|()| self.refused(EXPECTED))?;
        if found.0 < low {
            return Err(self.refused(format!("{EXPECTED}, at least {low} ms")));
        }
        Ok(found)
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Read<T> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.no_word(text, &names)
        })
    }

    /// The error for a word that is none of `allowed`.
    pub(crate) fn no_word(&self, found: &str, allowed: &[&str]) -> SuiteError {
        self.error(Problem::Value {
            found: quoted(found),
            expected: if allowed.is_empty() { "nothing".to_owned() } else { format!("one of {}", allowed.join(", ")) },
            nearest: nearest(found, allowed.iter().copied()),
        })
    }

    /// A list of texts that `read` accepts, none twice.
    pub(crate) fn texts<T: PartialEq>(&self, what: &str, read: impl Fn(&Self) -> Read<T>) -> Read<Vec<T>> {
        let mut found = Vec::new();
        for item in self.list(what)? {
            let value = read(&item)?;
            if found.contains(&value) {
                return Err(item.error(Problem::Twice(item.shown())));
            }
            found.push(value);
        }
        Ok(found)
    }
}

/// Largest whole number that a double holds exactly together with all smaller ones.
const MOST: u64 = 1 << 53;

fn article(kind: &'static str) -> &'static str {
    match kind {
        "string" => "a text",
        "integer" => "a whole number",
        "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" => "a list",
        _ => "a table",
    }
}
