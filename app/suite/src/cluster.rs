//! The parts of a suite that runs on a cluster: where compute goes, the job around the benchmark, what is measured.

use std::collections::BTreeMap;

use domain::bytesize::ByteSize;
use regex::{Regex, RegexBuilder};

use crate::error::{Problem, SuiteError, quoted};
use crate::generation::Generation;
use crate::node::{Node, Table};
use crate::setup::{Beside, Setup};
use crate::unit::Duration;

/// Everything about a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Where compute goes.
    pub localities: Vec<Locality>,
    /// The job around the benchmark.
    pub launcher: Launcher,
    /// Command lines, newest first.
    pub generations: Vec<Generation>,
    /// Where measurements come from.
    pub metrics: Metrics,
    /// How measurements become rows.
    pub rows: Rows,
}

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a region of the launcher's cluster.
    Region(String),
    /// On another cluster.
    Cluster(String),
}

impl Place {
    /// The name of the region or of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Region(name) | Self::Cluster(name) => name,
        }
    }
}

/// Samples that begin with `prefix` are computed at `place`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locality {
    /// Ends in `/`.
    pub prefix: String,
    /// Where.
    pub place: Place,
}

/// A word that names something outside.
fn outside_name(node: &Node<'_>) -> Result<String, SuiteError> {
    let text = node.text()?;
    let ok = |(i, b): (usize, u8)| b.is_ascii_alphanumeric() || (i > 0 && matches!(b, b'.' | b'_' | b'-'));
    let fine = (1..=80).contains(&text.len()) && text.bytes().enumerate().all(ok);
    if fine { Ok(text.to_owned()) } else { Err(node.refused("1 to 80 characters A-Z, a-z, 0-9, . _ -")) }
}

pub(crate) fn localities(node: &Node<'_>) -> Result<Vec<Locality>, SuiteError> {
    let mut all: Vec<Locality> = Vec::new();
    for node in node.list("a list of tables, [[localities]]")? {
        let table = node.table(&["prefix", "region", "target_cluster"])?;
        let prefix_node = table.need("prefix", "the beginning of the samples")?;
        let prefix = prefix_node.line()?;
        if !prefix.ends_with('/') {
            return Err(prefix_node.refused("a prefix that ends in /, so that it ends at the end of a name"));
        }
        if all.iter().any(|other| other.prefix == prefix) {
            return Err(prefix_node.error(Problem::Twice(quoted(&prefix))));
        }
        let place = match (table.get("region"), table.get("target_cluster")) {
            (Some(region), None) => Place::Region(outside_name(region)?),
            (None, Some(cluster)) => Place::Cluster(outside_name(cluster)?),
            _ => return Err(table.unfit("exactly one of region and target_cluster says where compute goes")),
        };
        all.push(Locality { prefix, place });
    }
    if all.is_empty() { Err(node.refused("at least one locality")) } else { Ok(all) }
}

/// The place of a sample: that of the longest prefix.
#[must_use]
pub fn place_of<'l>(localities: &'l [Locality], sample: &str) -> Option<&'l Place> {
    let fitting = localities.iter().filter(|l| sample.starts_with(&l.prefix));
    fitting.max_by_key(|l| l.prefix.len()).map(|l| &l.place)
}

/// The job around the benchmark, equal for all arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Launcher {
    /// Name of a cluster in the service's own configuration.
    pub cluster: String,
    /// Cores.
    pub cpu: f64,
    /// Memory.
    pub ram: ByteSize,
    /// Disk.
    pub disk: ByteSize,
    /// Priority that is asked for.
    pub priority: String,
    /// Whether it may be preempted.
    pub preemptible: bool,
    /// How often it is tried again.
    pub retries: Retries,
    /// The tag of a trial.
    pub run_tag: TagForm,
    /// Environment.
    pub env: BTreeMap<String, String>,
    /// The scripts that prepare the job, and those that it starts.
    pub setup: Setup,
}

/// How often a job is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// After a preemption.
    pub preemption: u32,
    /// After a failure.
    pub failure: u32,
}

/// What the tags of trials look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagForm {
    /// The characters they are made of.
    pub chars: String,
    /// Their length, 4 to 32.
    pub length: u32,
}

pub(crate) const PRIORITIES: [(&str, &str); 3] =
    [("production", "production"), ("interactive", "interactive"), ("batch", "batch")];

/// A table of environment variables.
pub(crate) fn environment<T>(
    node: &Node<'_>,
    read: impl Fn(&Node<'_>) -> Result<T, SuiteError>,
) -> Result<BTreeMap<String, T>, SuiteError> {
    let mut env = BTreeMap::new();
    for (name, node) in node.map()?.entries() {
        if !is_variable(name) {
            return Err(node.unfit(
                "the name of an environment variable has 1 to 40 characters A-Z, a-z, 0-9, _, the first no digit",
            ));
        }
        env.insert(name.clone(), read(node)?);
    }
    Ok(env)
}

pub(crate) fn is_variable(name: &str) -> bool {
    let ok = |(i, b): (usize, u8)| b.is_ascii_alphabetic() || b == b'_' || (i > 0 && b.is_ascii_digit());
    (1..=40).contains(&name.len()) && name.bytes().enumerate().all(ok)
}

impl Launcher {
    pub(crate) fn read(node: &Node<'_>, beside: Beside<'_>) -> Result<Self, SuiteError> {
        let table = node.table(&[
            "cluster",
            "cpu",
            "ram",
            "disk",
            "priority",
            "preemptible",
            "retries",
            "run_tag",
            "env",
            "setup",
        ])?;
        let retries = table.read("retries", |n| {
            let table = n.table(&["preemption", "failure"])?;
            let count = |key: &str| table.read(key, |n| n.count(0, 1_000_000));
            Ok(Retries { preemption: count("preemption")?.unwrap_or(0), failure: count("failure")?.unwrap_or(0) })
        })?;
        let run_tag = table.need("run_tag", "characters and length of the tag of a trial")?;
        let form = run_tag.table(&["chars", "length"])?;
        Ok(Self {
            cluster: outside_name(table.need("cluster", "the name of a cluster")?)?,
            cpu: table.need("cpu", "cores of the launcher")?.number_of(0.01, 1024.0)?,
            ram: table.need("ram", "memory of the launcher")?.parse()?,
            disk: table.need("disk", "disk of the launcher")?.parse()?,
            priority: table.need("priority", "production, interactive or batch")?.choice(&PRIORITIES)?.to_owned(),
            preemptible: table.need("preemptible", "true or false")?.flag()?,
            retries: retries.unwrap_or(Retries { preemption: 0, failure: 0 }),
            run_tag: TagForm {
                chars: characters(form.need("chars", "such as \"a-z0-9\"")?)?,
                length: form.need("length", "4 to 32")?.count(4, 32)?,
            },
            env: table
                .read("env", |n| {
                    environment(n, |n| match n.text()? {
                        text if text.chars().any(char::is_control) => Err(n.refused("printable characters")),
                        text => Ok(text.to_owned()),
                    })
                })?
                .unwrap_or_default(),
            setup: table.read("setup", |n| Setup::read(n, beside))?.unwrap_or_default(),
        })
    }
}

/// `a-z0-9`: single characters and ranges of lowercase letters and digits.
fn characters(node: &Node<'_>) -> Result<String, SuiteError> {
    let text = node.text()?;
    let mut rest: Vec<char> = text.chars().rev().collect();
    let mut found = String::new();
    while let Some(first) = rest.pop() {
        let last = if rest.last() == Some(&'-') && rest.len() >= 2 {
            rest.pop();
            rest.pop().unwrap_or(first)
        } else {
            first
        };
        let class = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let ok = class(first) && class(last) && first <= last && first.is_ascii_digit() == last.is_ascii_digit();
        if !ok || found.contains(first) {
            return Err(node.refused("lowercase letters and digits, such as \"a-z0-9\""));
        }
        found.extend(first..=last);
    }
    if found.len() < 8 { Err(node.refused("at least 8 different characters")) } else { Ok(found) }
}

/// Where measurements come from.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// The namespace that has a record per stage.
    pub namespace: String,
    /// Columns that it must have.
    pub required: Vec<String>,
    /// Where the executions of a job are found; the first that answers wins.
    pub executions: Vec<String>,
    /// The line of the log that names an execution; each named group is an id.
    pub log_line: Option<Regex>,
    /// How late rows are waited for.
    pub late_rows: LateRows,
}

/// How late rows are waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateRows {
    /// The first wait.
    pub every: Duration,
    /// Most waits.
    pub times: u32,
    /// Each wait is so many times as long as the one before.
    pub factor: f64,
}

/// A pattern of the file; it takes time linear in the text, whatever it is.
fn pattern(node: &Node<'_>) -> Result<Regex, SuiteError> {
    let text = node.text()?;
    RegexBuilder::new(text).size_limit(1 << 20).build().map_err(|error| {
        // The message repeats the pattern over several lines; its last line says what is wrong.
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        node.unfit(format!("{} is not a pattern: {last}", quoted(text)))
    })
}

impl Metrics {
    pub(crate) fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = node.table(&["source", "stage", "executions", "log_line", "late_rows"])?;
        table.need("source", "finelog")?.choice(&[("finelog", ())])?;
        let stage = table.need("stage", "namespace and required columns")?.table(&["namespace", "required"])?;
        let executions = table.need("executions", "where executions are found")?;
        let executions = executions.texts("a list of namespaces and \"logs\"", outside_name)?;
        let log_line = table.read("log_line", |n| match pattern(n)? {
            found if found.capture_names().flatten().next().is_none() => {
                Err(n.unfit("the pattern needs a named group, such as (?P<id>\\S+)"))
            }
            found => Ok(found),
        })?;
        if executions.iter().any(|source| source == "logs") && log_line.is_none() {
            return Err(table
                .error(Problem::Missing { key: "log_line", what: "executions are found in logs by it".to_owned() }));
        }
        let late_rows = table.read("late_rows", |n| {
            let table = n.table(&["every", "times", "factor"])?;
            Ok(LateRows {
                every: table.need("every", "the first wait")?.duration(100)?,
                times: table.need("times", "most waits")?.count(0, 1000)?,
                factor: table.read("factor", |n| n.number_of(1.0, 10.0))?.unwrap_or(1.0),
            })
        })?;
        Ok(Self {
            namespace: outside_name(stage.need("namespace", "the namespace with a record per stage")?)?,
            required: stage.need("required", "columns that must be there")?.texts("a list of columns", outside_name)?,
            executions,
            log_line,
            late_rows: late_rows.unwrap_or(LateRows { every: Duration(20_000), times: 6, factor: 1.5 }),
        })
    }
}

/// How measurements become rows: a row is (step, stage).
#[derive(Clone, Debug)]
pub struct Rows {
    /// The step in an execution's id.
    pub step: Option<Regex>,
    /// Whether the planned stages tell the step where the id does not.
    pub by_plan: bool,
    /// Stages whose items and bytes count output paths.
    paths_only: Vec<Regex>,
    /// The same as they stand in the file.
    paths_only_texts: Vec<String>,
}

impl Rows {
    pub(crate) fn read(table: &Table<'_>) -> Result<Self, SuiteError> {
        let step = table.read("step", |n| match pattern(n)? {
            found if !found.capture_names().flatten().any(|name| name == "step") => {
                Err(n.unfit("the pattern needs the group (?P<step>...)"))
            }
            found => Ok(found),
        })?;
        let paths_only = table.read("paths_only", |n| {
            n.list("a list of stage names, * for any text")?
                .iter()
                .map(|n| {
                    let text = n.line()?;
                    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
                    let pattern = Regex::new(&format!("(?s)^{}$", parts.join(".*")));
                    Ok((pattern.map_err(|_| n.refused("a shorter name"))?, text))
                })
                .collect::<Result<Vec<(Regex, String)>, _>>()
        })?;
        let (paths_only, paths_only_texts) = paths_only.unwrap_or_default().into_iter().unzip();
        let by_plan = table.read("fallback", |n| n.choice(&[("plan", true), ("none", false)]))?;
        Ok(Self { step, by_plan: by_plan.unwrap_or(false), paths_only, paths_only_texts })
    }

    /// Stages whose items and bytes count output paths, as they stand in the file: `*` is any text.
    #[must_use]
    pub fn paths_only_texts(&self) -> &[String] {
        &self.paths_only_texts
    }

    /// The step that an execution's id tells.
    #[must_use]
    pub fn step_of<'e>(&self, execution: &'e str) -> Option<&'e str> {
        Some(self.step.as_ref()?.captures(execution)?.name("step")?.as_str())
    }

    /// Whether items and bytes of a stage count output paths.
    #[must_use]
    pub fn is_paths_only(&self, stage: &str) -> bool {
        self.paths_only.iter().any(|pattern| pattern.is_match(stage))
    }
}
