//! A suite as a whole, and how its text is read.

use std::collections::BTreeSet;

use domain::ids::{Digest, SuiteName};
use domain::request::Key;
use domain::rounds::RoundMode;
use domain::workload::Field;
use toml::de::DeTable;

use crate::cluster::{self, Cluster, Launcher, Metrics, Rows};
use crate::error::{Problem, SuiteError};
use crate::generation;
use crate::judging::Judging;
use crate::node::{Node, Source, Table};
use crate::parameter::{Kind, Parameter};
use crate::policy::{Harness, Limits, Rerun};
use crate::preset::{self, Preset};
use crate::repository::Said;
use crate::scope::Scope;
use crate::setup::Beside;
use crate::step::{self, Step};
use crate::template::RUN_TAG;
use crate::values::{self, Values};

/// A benchmark: everything about it that may change without a new release of the program.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name in commands.
    pub name: SuiteName,
    /// Its title in comments.
    pub title: String,
    /// What it measures, for people.
    pub summary: Option<String>,
    /// Where it runs.
    pub backend: Backend,
    /// Its parameters in the order of the file.
    pub parameters: Vec<Parameter>,
    /// Its presets in the order of the file.
    pub presets: Vec<Preset>,
    /// How it is judged.
    pub judging: Judging,
    /// What may be spent.
    pub limits: Limits,
    /// Re-running.
    pub rerun: Rerun,
    /// How much of it a change needs.
    pub scope: Scope,
    /// The files that are the ruler itself.
    pub harness: Option<Harness>,
    /// The file as it was read.
    pub text: String,
    /// SHA-256 of that text; with what a repository says of the workload or of how it is judged, of both. See
    /// [`domain::plan::suite_digest`].
    pub digest: Digest,
    /// What the repository says of the workload or of how it is judged, where it does.
    pub repository: Option<Said>,
}

/// Where a suite runs.
#[derive(Clone, Debug)]
pub enum Backend {
    /// On this machine: its steps in their order, each a row.
    Local(Vec<Step>),
    /// On an Iris cluster.
    Iris(Box<Cluster>),
}

impl Backend {
    /// The word in suites.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::Iris(_) => "iris",
        }
    }
}

pub(crate) const BOTH: [&str; 12] = [
    "schema",
    "name",
    "title",
    "summary",
    "backend",
    "parameters",
    "presets",
    "harness",
    "scope",
    "judging",
    "limits",
    "rerun",
];
pub(crate) const LOCAL: [&str; 1] = ["steps"];
pub(crate) const IRIS: [&str; 5] = ["localities", "launcher", "generations", "metrics", "rows"];

/// Names that a workload has beside the parameters of a suite.
const TAKEN: [&str; 3] = [RUN_TAG, "steps", "launcher_setup"];

/// Largest text of a suite, in bytes.
pub const LARGEST: usize = 1 << 20;

impl Suite {
    /// Reads a suite that needs no files beside its own. `file` is what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, SuiteError> {
        Self::parse_beside(file, text, Beside::NOTHING)
    }

    /// Reads a suite together with the files beside its own.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn parse_beside(file: &str, text: &str, beside: Beside<'_>) -> Result<Self, SuiteError> {
        let source = Source { file, text };
        if text.len() > LARGEST {
            return Err(source.error(0, "", Problem::Unfit(format!("a suite has at most {LARGEST} bytes"))));
        }
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, "", Problem::Syntax(error.message().replace('\n', " ")))
        })?;
        let every: Vec<&str> = BOTH.iter().chain(&LOCAL).chain(&IRIS).copied().collect();
        let root = Table::root(&source, document.get_ref(), &every)?;
        let schema = root.need("schema", "1, the version of this form")?;
        if schema.integer()? != 1 {
            return Err(schema.refused("1, the only version of this form"));
        }
        let local = root.need("backend", "where the benchmark runs: local or iris")?;
        let local = local.choice(&[("local", true), ("iris", false)])?;
        let (others, word) = if local { (&IRIS[..], "iris") } else { (&LOCAL[..], "local") };
        for (key, node) in root.entries() {
            if others.contains(&key.as_str()) {
                return Err(node.unfit(format!("{key} belongs to backend = \"{word}\"")));
            }
        }
        let parameters = root.read("parameters", parameters)?.unwrap_or_default();
        let presets = root.read("presets", |n| preset::read_all(n, &parameters))?.unwrap_or_default();
        if presets.is_empty()
            && let Some(parameter) = Values::defaults(&parameters).lacking(&parameters)
        {
            let what =
                format!("the parameter {} has no default, so that a preset must give it a value", parameter.name);
            return Err(root.error(Problem::Missing { key: "presets", what }));
        }
        let backend = if local {
            let node = root.need("steps", "what the benchmark runs, [[steps]] with name and argv")?;
            Backend::Local(step::read_all(node, &parameters)?)
        } else {
            Backend::Iris(Box::new(cluster_of(&root, &parameters, beside)?))
        };
        let mode = if local { RoundMode::InTurn } else { RoundMode::Together };
        let judging = root.read("judging", |n| Judging::read(n, &parameters, mode))?.unwrap_or(Judging::new(mode));
        if let Backend::Local(steps) = &backend {
            let used: BTreeSet<&str> = steps.iter().flat_map(Step::parameters).chain(judging.parameters()).collect();
            if let Some(parameter) = parameters.iter().find(|p| !used.contains(p.name.as_str()))
                && let Some(node) = root.get("parameters")
            {
                let place = node.map()?;
                let place = place.get(&parameter.name).unwrap_or(node);
                return Err(place.unfit("no step and nothing in judging uses this parameter"));
            }
        }
        Ok(Self {
            name: root.need("name", "the name in commands")?.parse()?,
            title: root.need("title", "the title in comments")?.line()?,
            summary: root.read("summary", Node::line)?,
            limits: root.read("limits", |n| Limits::read(n, &parameters))?.unwrap_or_default(),
            rerun: root.read("rerun", Rerun::read)?.unwrap_or_default(),
            scope: root.read("scope", |n| Scope::read(n, &parameters, &presets))?.unwrap_or_default(),
            harness: root.read("harness", Harness::read)?,
            backend,
            parameters,
            presets,
            judging,
            text: text.to_owned(),
            digest: Digest::of(text.as_bytes()),
            repository: None,
        })
    }

    /// The preset of a name.
    #[must_use]
    pub fn preset(&self, name: &str) -> Option<&Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }
}

fn parameters(node: &Node<'_>) -> Result<Vec<Parameter>, SuiteError> {
    let table = node.map()?;
    let mut all = Vec::new();
    for (name, node) in table.entries() {
        let computed = Field::of(name).is_some_and(|field| {
            use Field as F;
            matches!(
                field,
                F::Suite
                    | F::LauncherCpu
                    | F::LauncherRam
                    | F::LauncherDisk
                    | F::Controller
                    | F::Locality
                    | F::Priority
                    | F::Preemptible
            )
        });
        if computed || Key::of(name).is_some() || TAKEN.contains(&name.as_str()) {
            return Err(node.unfit("this name has a meaning of its own; choose another one"));
        }
        all.push(Parameter::read(name, node)?);
    }
    let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
    for parameter in &all {
        let Some(node) = table.get(&parameter.name) else { continue };
        for other in &parameter.excludes {
            let excludes = node.map()?;
            let excludes = excludes.get("excludes").unwrap_or(node);
            if !names.contains(&other.as_str()) {
                return Err(excludes.no_word(other, &names));
            }
            if *other == parameter.name {
                return Err(excludes.unfit("a parameter cannot exclude itself"));
            }
        }
        let clash = all.iter().find(|other| {
            let both = parameter.default.is_some() && other.default.is_some();
            other.name != parameter.name && both && values::excludes(&all, &parameter.name, &other.name)
        });
        if let Some(other) = clash {
            return Err(node.unfit(format!("it and {} exclude each other, and both have a default", other.name)));
        }
    }
    let keys = values::keys(&all);
    for (index, key) in keys.iter().enumerate() {
        if keys[..index].contains(key) || (Key::of(key).is_some()) {
            return Err(node.error(Problem::Twice(format!("the key {key} of commands"))));
        }
    }
    if all.iter().filter(|p| matches!(p.kind, Kind::Span(_))).count() > 1 {
        return Err(node.unfit("a suite has at most one parameter of the kind span"));
    }
    Ok(all)
}

fn cluster_of(root: &Table<'_>, parameters: &[Parameter], beside: Beside<'_>) -> Result<Cluster, SuiteError> {
    let localities = root.need("localities", "where compute goes, [[localities]] by the prefix of the sample")?;
    if !parameters.iter().any(|p| p.name == "sample" && p.kind == Kind::Text && !p.optional) {
        return Err(localities.unfit("localities need a parameter `sample` of the kind text that always has a value"));
    }
    let rows = match root.get("rows") {
        Some(node) => Rows::read(&node.table(&["step", "fallback", "paths_only"])?)?,
        None => {
            return Err(root.error(Problem::Missing { key: "rows", what: "how measurements become rows".to_owned() }));
        }
    };
    Ok(Cluster {
        localities: cluster::localities(localities)?,
        launcher: Launcher::read(root.need("launcher", "the job around the benchmark")?, beside)?,
        generations: generation::read_all(
            root.need("generations", "the command lines of the benchmark, [[generations]]")?,
            parameters,
            true,
        )?,
        metrics: Metrics::read(root.need("metrics", "where measurements come from")?)?,
        rows,
    })
}
