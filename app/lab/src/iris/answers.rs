//! The files that the answers of a cluster are written to, before anything is made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use domain::ports::Answer;
use marin::finelog::{Cell, LogEntry, Table};
use marin::iris::{JobRecord, JobStatus, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the controller says of the job and its descendants.
pub const JOB: &str = "job.json";
/// The lines of the log that name executions or repeated shards.
pub const LOG_LINES: &str = "log-lines.json";
/// The records of the table of executions.
pub const EXECUTIONS: &str = "executions.json";
/// The stage records.
pub const STAGES: &str = "stages.json";
/// Peak memory of each attempt and the machine that it ran on.
pub const TASKS: &str = "tasks.json";
/// The executions that a person named, where there is no job to ask.
pub const NAMED: &str = "named.json";
/// The end of the log of a job that failed.
pub const LOG_TAIL: &str = "log-tail.stderr";

/// A job with its descendants, and the tasks of those that were tried more than once or did not end well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobAnswer {
    /// The job and how it was asked for.
    pub root: JobRecord,
    /// Its descendants by name.
    pub descendants: Vec<JobStatus>,
    /// Whether these are all.
    pub complete: bool,
    /// Tasks by the id of their job.
    pub tasks: BTreeMap<String, Vec<TaskStatus>>,
}

/// A table as it was answered, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Told {
    /// The table.
    Grid(Grid),
    /// There is none.
    Absent {
        /// Why, in the server's words: hostile text.
        absent: String,
    },
}

/// A table: null is null, an integer is one, a number that JSON lacks is its name as text, a moment is its microseconds
/// since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

impl Grid {
    /// The same table with values of JSON.
    #[must_use]
    pub fn of(table: &Table) -> Self {
        Self {
            columns: table.columns.iter().map(|column| column.name.clone()).collect(),
            rows: table.rows.iter().map(|row| row.iter().map(value).collect()).collect(),
        }
    }

    /// The place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The text in a column of a row.
    #[must_use]
    pub fn text<'g>(&self, row: &'g [Value], column: &str) -> Option<&'g str> {
        row.get(self.column(column)?)?.as_str()
    }

    /// The integer in a column of a row.
    #[must_use]
    pub fn integer(&self, row: &[Value], column: &str) -> Option<i64> {
        row.get(self.column(column)?)?.as_i64()
    }

    /// As JSON with a row in each line, so that two of them can be compared by eye.
    fn written(&self) -> Vec<u8> {
        let mut text = format!("{{\"columns\":{},\n\"rows\":[", json!(self.columns));
        for (index, row) in self.rows.iter().enumerate() {
            let _ = write!(text, "{}\n{}", if index == 0 { "" } else { "," }, json!(row));
        }
        text.push_str("]}\n");
        text.into_bytes()
    }
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) | Cell::Time(number) => json!(number),
        Cell::Float(number) if number.is_finite() => json!(number),
        Cell::Float(number) => json!(number.to_string()),
        Cell::Text(text) => json!(text),
        Cell::Bool(flag) => json!(flag),
        Cell::Bytes(bytes) => {
            let hex = bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
            json!(hex)
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// `/user/job/task:attempt`.
    pub key: String,
    /// `stdout`, `stderr`.
    pub source: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The line; hostile text.
    pub text: String,
}

impl Line {
    /// A line as it was answered.
    #[must_use]
    pub fn of(entry: &LogEntry) -> Self {
        Self {
            key: entry.key.clone(),
            source: entry.source.clone(),
            at_ms: entry.timestamp.epoch_ms,
            text: entry.data.clone(),
        }
    }

    /// The same with at most so many characters.
    #[must_use]
    pub fn shortened(mut self, most: usize) -> Self {
        if let Some((at, _)) = self.text.char_indices().nth(most) {
            self.text.truncate(at);
        }
        self
    }
}

/// The answers of one trial, as far as they are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// See [`JOB`].
    pub job: Option<JobAnswer>,
    /// See [`LOG_LINES`].
    pub lines: Option<Vec<Line>>,
    /// See [`EXECUTIONS`].
    pub executions: Option<Told>,
    /// See [`STAGES`].
    pub stages: Option<Told>,
    /// See [`TASKS`].
    pub tasks: Option<Told>,
    /// See [`NAMED`].
    pub named: Option<Vec<String>>,
}

impl Answers {
    /// As files.
    #[must_use]
    pub fn written(&self) -> Vec<Answer> {
        let pretty = |value: Value| {
            // Values of JSON can always be written.
            let mut bytes = serde_json::to_vec_pretty(&value).unwrap_or_default();
            bytes.push(b'\n');
            bytes
        };
        let told = |told: &Told| match told {
            Told::Grid(grid) => grid.written(),
            Told::Absent { absent } => pretty(json!({ "absent": absent })),
        };
        let job = self.job.as_ref().map(|job| pretty(serde_json::to_value(job).unwrap_or_default()));
        let lines = self.lines.as_ref().map(|lines| pretty(serde_json::to_value(lines).unwrap_or_default()));
        let tables = [(EXECUTIONS, &self.executions), (STAGES, &self.stages), (TASKS, &self.tasks)];
        let tables = tables.into_iter().map(|(name, table)| (name, table.as_ref().map(told)));
        let named = self.named.as_ref().map(|named| pretty(json!(named)));
        let all = [(JOB, job), (LOG_LINES, lines)].into_iter().chain(tables).chain([(NAMED, named)]);
        all.filter_map(|(name, bytes)| Some(Answer { name: name.to_owned(), bytes: bytes? })).collect()
    }

    /// Reads files; those of other names are left alone.
    ///
    /// # Errors
    /// The first file that does not have its form: its name and what is wrong.
    pub fn read(files: &[Answer]) -> Result<Self, (&'static str, String)> {
        fn one<T: serde::de::DeserializeOwned>(
            files: &[Answer],
            name: &'static str,
        ) -> Result<Option<T>, (&'static str, String)> {
            let Some(file) = files.iter().find(|file| file.name == name) else { return Ok(None) };
            let brief = |why: serde_json::Error| {
                let why: String =
                    why.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
                (name, why)
            };
            serde_json::from_slice(&file.bytes).map(Some).map_err(brief)
        }
        let answers = Self {
            job: one(files, JOB)?,
            lines: one(files, LOG_LINES)?,
            executions: one(files, EXECUTIONS)?,
            stages: one(files, STAGES)?,
            tasks: one(files, TASKS)?,
            named: one(files, NAMED)?,
        };
        for (name, told) in [(EXECUTIONS, &answers.executions), (STAGES, &answers.stages), (TASKS, &answers.tasks)] {
            if let Some(Told::Grid(grid)) = told
                && grid.rows.iter().any(|row| row.len() != grid.columns.len())
            {
                return Err((name, "a row has another length than the columns".to_owned()));
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let grid = Grid {
            columns: vec!["a".into(), "b".into()],
            rows: vec![vec![json!(1), json!("NaN")], vec![Value::Null, json!(0.1)]],
        };
        let answers = Answers {
            job: Some(JobAnswer { complete: true, ..JobAnswer::default() }),
            lines: Some(vec![Line { key: "/b/x/0:0".into(), source: "stderr".into(), at_ms: 7, text: "→".into() }]),
            executions: Some(Told::Absent { absent: "no \"such\" table".into() }),
            stages: Some(Told::Grid(grid)),
            tasks: None,
            named: Some(vec!["x".into()]),
        };
        let files = answers.written();
        assert_eq!(Answers::read(&files), Ok(answers));
        let text = String::from_utf8(files[3].bytes.clone()).unwrap();
        assert_eq!(text, "{\"columns\":[\"a\",\"b\"],\n\"rows\":[\n[1,\"NaN\"],\n[null,0.1]]}\n");
        let mut broken = files;
        broken[3].bytes = br#"{"columns":["a"],"rows":[[1,2]]}"#.to_vec();
        assert_eq!(Answers::read(&broken).unwrap_err().0, STAGES);
    }

    #[test]
    fn numbers_that_json_lacks_keep_their_names() {
        assert_eq!(value(&Cell::Float(f64::NAN)), json!("NaN"));
        assert_eq!(value(&Cell::Float(f64::NEG_INFINITY)), json!("-inf"));
        assert_eq!(value(&Cell::Int(i64::MAX)), json!(i64::MAX));
    }
}
