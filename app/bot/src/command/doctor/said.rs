//! What the doctor found: printed line by line as it is found, or as JSON at the end.

use std::fmt::Write as _;
use std::io;

use evidence::Scanner;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::World;

/// Most characters of a text that came from elsewhere.
const LONGEST: usize = 500;
/// Width of the names of checks.
const WIDTH: usize = 18;

/// What the checks of a real job are about.
pub(super) const PROBE: &str = "probe";

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// A comparison works, and something of it will not be known.
    Warn,
    /// A comparison does not work.
    Fail,
    /// Not made, because an earlier one failed.
    Skipped,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
            Self::Skipped => "skipped",
        }
    }
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    /// What it is about: this machine, a cluster, the probe.
    about: String,
    /// Its name.
    what: &'static str,
    /// How it ended.
    level: Level,
    /// What was found.
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
    /// How long it took, where that is of interest.
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
    /// Lines of a log that explain it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<String>,
}

impl Check {
    fn new(what: &'static str, level: Level, found: impl Into<String>, todo: Option<String>) -> Self {
        Self { about: String::new(), what, level, found: found.into(), todo, ms: None, lines: Vec::new() }
    }

    pub(super) fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self::new(what, Level::Ok, found, None)
    }

    pub(super) fn warn(what: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(what, Level::Warn, found, Some(todo.into()))
    }

    pub(super) fn fail(what: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(what, Level::Fail, found, Some(todo.into()))
    }

    /// Not made because `earlier` failed.
    pub(super) fn skipped(what: &'static str, earlier: &str) -> Self {
        Self::new(what, Level::Skipped, format!("because of {earlier}"), None)
    }

    pub(super) fn took(self, ms: u64) -> Self {
        Self { ms: Some(ms), ..self }
    }

    pub(super) fn with_lines(self, lines: Vec<String>) -> Self {
        Self { lines, ..self }
    }

    /// The lines of a terminal; `timed` where the others have a time.
    fn text(&self, timed: bool) -> String {
        let time = self.ms.map_or_else(String::new, |ms| format!("{:>8}", seconds(ms)));
        let time = if timed { format!("{time:8}  ") } else { String::new() };
        let todo = self.todo.as_ref().map(|todo| format!("  -> {todo}")).unwrap_or_default();
        let mut text = format!("  {:7}  {:WIDTH$}  {time}{}{todo}\n", self.level.word(), self.what, self.found);
        for line in &self.lines {
            let _ = writeln!(text, "           | {line}");
        }
        text
    }
}

/// Tenths of a second up to two minutes, then minutes and seconds.
pub(crate) fn seconds(ms: u64) -> String {
    if ms < 120_000 {
        return format!("{}.{} s", ms / 1000, ms % 1000 / 100);
    }
    format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1000)
}

/// A foreign text on one line of a terminal: what could move the cursor or turn the direction of writing is escaped.
pub(crate) fn plain(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let mut plain = String::new();
    for (at, c) in text.trim_end().chars().enumerate() {
        if at == LONGEST {
            plain.push_str("...");
            break;
        }
        if c == '\t' {
            plain.push(' ');
        } else if c.is_control() || turns(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// All checks so far, and where they are printed.
pub(super) struct Report<'r, 'w> {
    /// The outside world.
    pub(super) world: &'r mut World<'w>,
    scanner: Scanner,
    as_json: bool,
    about: String,
    checks: Vec<Check>,
    facts: Map<String, Value>,
    lost: Option<io::Error>,
}

impl<'r, 'w> Report<'r, 'w> {
    /// Nothing yet. `secrets` never appear, whoever says them.
    pub(super) fn new(world: &'r mut World<'w>, secrets: &[&str], as_json: bool) -> Self {
        Self {
            world,
            scanner: Scanner::new(secrets),
            as_json,
            about: String::new(),
            checks: Vec::new(),
            facts: Map::new(),
            lost: None,
        }
    }

    /// What follows is about this; `more` stands beside it for people.
    pub(super) fn about(&mut self, about: &str, more: &str) {
        about.clone_into(&mut self.about);
        let heading = if more.is_empty() { about.to_owned() } else { format!("{about}: {more}") };
        let line = self.safe(&heading);
        self.print(&format!("{line}\n"));
    }

    /// A check was made.
    pub(super) fn add(&mut self, mut check: Check) {
        check = Check {
            about: self.about.clone(),
            found: self.safe(&check.found),
            todo: check.todo.as_deref().map(plain),
            lines: check.lines.iter().map(|line| self.safe(line)).collect(),
            ..check
        };
        self.print(&check.text(self.about == PROBE));
        self.checks.push(check);
    }

    /// Something for whoever waits. Nobody watching is no reason to stop.
    pub(super) fn note(&mut self, text: &str) {
        let line = self.safe(text);
        let _ = writeln!(self.world.stderr, "           {line}");
    }

    /// Something that programs want to know.
    pub(super) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Whether the reader of the output has gone away.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    fn count(&self, level: Level) -> usize {
        self.checks.iter().filter(|check| check.level == level).count()
    }

    fn safe(&self, text: &str) -> String {
        let redacted = self.scanner.redact(text.as_bytes());
        plain(&redacted.map_or_else(|| text.to_owned(), |(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn print(&mut self, text: &str) {
        if self.as_json || self.lost.is_some() {
            return;
        }
        let written = self.world.stdout.write_all(text.as_bytes()).and_then(|()| self.world.stdout.flush());
        self.lost = written.err();
    }

    /// The last line, or everything as JSON.
    ///
    /// # Errors
    /// The output could not be written, now or before.
    pub(super) fn finish(mut self) -> Result<bool, io::Error> {
        let (failed, warned) = (self.count(Level::Fail), self.count(Level::Warn));
        let fine = failed == 0;
        if self.as_json {
            let mut value = json!({ "fine": fine, "checks": self.checks });
            if !self.facts.is_empty() {
                value["probe"] = Value::Object(std::mem::take(&mut self.facts));
            }
            serde_json::to_writer_pretty(&mut *self.world.stdout, &value)?;
            writeln!(self.world.stdout)?;
        } else {
            let warnings = match warned {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                more => format!(", {more} warnings"),
            };
            let failures = match failed {
                0 => "nothing failed".to_owned(),
                more => format!("{more} failed"),
            };
            self.print(&format!("{failures}{warnings}\n"));
        }
        match self.lost {
            Some(error) => Err(error),
            None => Ok(fine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_on_its_line() {
        let hostile = "a\x1b[2Jb\nc\u{202e}d\te\u{9b}";
        assert_eq!(plain(hostile), "a\\u{1b}[2Jb\\nc\\u{202e}d e\\u{9b}");
        assert_eq!(plain(&"x".repeat(1000)).len(), LONGEST + 3);
    }

    #[test]
    fn times() {
        for (ms, said) in [(0, "0.0 s"), (1250, "1.2 s"), (119_999, "119.9 s"), (125_000, "2 min 05 s")] {
            assert_eq!(seconds(ms), said);
        }
    }
}
