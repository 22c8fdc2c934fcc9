//! What a repository says of the suites that are run on its pull requests: `.github/zephyr-ab.toml` of its default branch.
//!
//! The file says little: which presets, which margins, what a change needs, when a push is measured, which checks come first, and
//! who may. What may be spent, what is run and where is the operator's. Whoever may push to the default branch writes it, so it
//! is hostile: whatever stands in it is a `RepositoryFile` or an error with file, line and key. `section` reads what is of one
//! suite and needs nothing else, `change` makes another suite of a suite.

mod change;
mod section;

use std::collections::BTreeMap;

use domain::command::VerbKind;
use domain::ids::SuiteName;
use domain::ports::forge::Permission;
use toml::de::DeTable;

use crate::error::{Problem, SuiteError, nearest};
use crate::node::{Node, Source, Table};
use crate::suite::{BOTH, IRIS, LOCAL, Suite};

pub use change::apply;
pub use section::{Margin, Section};

/// Where the file is in a repository.
pub const PLACE: &str = ".github/zephyr-ab.toml";
/// What it is called in a folder of evidence.
pub const BESIDE: &str = "repository.toml";
/// Largest text of it, in bytes.
pub const LARGEST: usize = 64 << 10;

/// What a repository says.
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoryFile {
    file: String,
    text: String,
    sections: BTreeMap<String, Section>,
}

/// What a repository says of the workload of a suite or of how it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The text of its file.
    pub text: String,
    /// What that changes, for people: part of what a plan notes.
    pub notes: Vec<String>,
}

/// Keys of a suite file below its first level, and of the configuration of a service: nothing of them is the repository's.
const OPERATORS: [&str; 42] = [
    "allow_env",
    "argv",
    "budget",
    "budgets",
    "calibrations",
    "cluster",
    "clusters",
    "concurrency",
    "confirm_above",
    "cpu_hours",
    "cpu_hours_per_day",
    "data_dir",
    "env",
    "env_allowed",
    "floor",
    "github",
    "host_class",
    "limit",
    "local_backend",
    "log",
    "looks",
    "max_lost_attempts",
    "memory_limit",
    "otherwise",
    "per_person",
    "per_pull_request",
    "per_repository",
    "pool_cores",
    "procedure",
    "replaced_rounds",
    "rounds_mode",
    "runs_at_once",
    "runs_per_day",
    "server",
    "service",
    "setup",
    "shards_per_worker",
    "sources",
    "store",
    "user",
    "wall",
    "work",
];

/// A table with these keys. One that is the operator's is refused as such.
pub(crate) fn listed<'s>(table: Table<'s>, allowed: &[&str]) -> Result<Table<'s>, SuiteError> {
    for (key, node) in table.entries() {
        let key = key.as_str();
        if allowed.contains(&key) {
            continue;
        }
        let of_suites = BOTH.iter().chain(&LOCAL).chain(&IRIS).any(|of| *of == key);
        if of_suites || OPERATORS.contains(&key) {
            return Err(node.unfit(format!(
                "not for the repository: the operator's suite file says it; allowed here: {}",
                allowed.join(", ")
            )));
        }
        return Err(node.error(Problem::UnknownKey {
            allowed: allowed.iter().map(|word| (*word).to_owned()).collect(),
            nearest: nearest(key, allowed.iter().copied()),
        }));
    }
    Ok(table)
}

impl RepositoryFile {
    /// Reads what a repository says, as far as that does not depend on the suites. `file` is what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, SuiteError> {
        let mut read = Self { file: file.to_owned(), text: text.to_owned(), sections: BTreeMap::new() };
        if text.len() > LARGEST {
            let problem = Problem::Unfit(format!("what a repository says has at most {LARGEST} bytes"));
            return Err(Source { file, text }.error(0, "", problem));
        }
        read.sections = read.open(|suites| {
            let read = |(name, node): &(String, Node<'_>)| match name.parse::<SuiteName>() {
                Ok(_) => Ok((name.clone(), Section::read(node)?)),
                Err(error) => Err(node.unfit(error.to_string())),
            };
            suites.iter().map(read).collect()
        })?;
        Ok(read)
    }

    /// The same from bytes.
    ///
    /// # Errors
    /// See [`RepositoryFile::parse`]; bytes that are not UTF-8.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, SuiteError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text),
            Err(error) => {
                let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let text = String::from_utf8_lossy(before);
                let problem = Problem::Syntax("it is not UTF-8".to_owned());
                Err(Source { file, text: &text }.error(text.len(), "", problem))
            }
        }
    }

    /// Hands over what stands below `suites`, by name in the order of the file.
    fn open<T>(&self, with: impl FnOnce(&[(String, Node<'_>)]) -> Result<T, SuiteError>) -> Result<T, SuiteError> {
        let source = Source { file: &self.file, text: &self.text };
        let document = DeTable::parse(&self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, "", Problem::Syntax(error.message().replace(char::is_control, " ")))
        })?;
        let root = listed(Table::whole(&source, document.get_ref())?, &["schema", "suites"])?;
        let schema = root.need("schema", "1, the version of this form")?;
        if schema.integer()? != 1 {
            return Err(schema.refused("1, the only version of this form"));
        }
        match root.get("suites") {
            Some(node) => with(node.map()?.entries()),
            None => with(&[]),
        }
    }

    /// Hands over the table of a suite; `None` where nothing is said of it.
    fn open_suite<T>(
        &self,
        name: &str,
        with: impl FnOnce(&Table<'_>) -> Result<T, SuiteError>,
    ) -> Result<Option<T>, SuiteError> {
        self.open(|suites| {
            let found = suites.iter().find(|(suite, _)| suite == name);
            found.map(|(_, node)| with(&node.map()?)).transpose()
        })
    }

    /// What is said of a suite.
    #[must_use]
    pub fn section(&self, suite: &str) -> Option<&Section> {
        self.sections.get(suite)
    }

    /// Whether nothing is said of any suite.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// These suites with what is said of them.
    ///
    /// # Errors
    /// Something is said of another suite, or does not fit one of these.
    pub fn applied<'s>(
        &self,
        suites: impl IntoIterator<Item = &'s Suite>,
    ) -> Result<BTreeMap<String, Suite>, SuiteError> {
        let suites: Vec<&Suite> = suites.into_iter().collect();
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        self.open(|found| match found.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, node)) => {
                let nearest = nearest(name, names.iter().copied());
                let allowed = names.iter().map(|name| (*name).to_owned()).collect();
                Err(node.error(Problem::UnknownKey { allowed, nearest }))
            }
        })?;
        suites.into_iter().map(|suite| Ok((suite.name.to_string(), apply(suite, self)?))).collect()
    }

    /// What is needed at least for a verb, where the repository says more than the table of verbs.
    #[must_use]
    pub fn least(&self, suite: &str, verb: VerbKind) -> Option<Permission> {
        self.section(suite)?.least(verb)
    }

    /// What is said, for people: a suite, and a line for each thing. Names in it are the file's.
    #[must_use]
    pub fn says(&self) -> Vec<(&str, Vec<String>)> {
        self.sections.iter().map(|(name, section)| (name.as_str(), section.says())).collect()
    }
}
