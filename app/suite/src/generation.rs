//! Generations of a benchmark's command line: which one a commit has, and its arguments.

use domain::arms::Role;
use domain::ids::{CommitSha, RunTag};

use crate::error::{Problem, SuiteError, quoted};
use crate::node::Node;
use crate::parameter::{Kind, Parameter};
use crate::template::{ArgvError, Group, Maps, Scope, expand};
use crate::values::Values;

/// One generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its name in messages.
    pub id: String,
    /// The file that tells it, inside the repository.
    pub file: String,
    /// Texts that the file has.
    pub contains: Vec<String>,
    /// Texts that the file has not.
    pub lacks: Vec<String>,
    /// The command line.
    pub argv: Vec<Group>,
    /// Words of this generation for canonical values.
    pub map: Maps,
    /// Parameters that it does not know.
    pub cannot: Vec<String>,
}

/// A command line that one arm cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the command line {generation:?} of {role} at {commit} {error}{}", others_text(others))]
pub struct CannotRun {
    /// The arm.
    pub role: Role,
    /// Its commit.
    pub commit: CommitSha,
    /// The generation that its commit has.
    pub generation: String,
    /// Why.
    pub error: ArgvError,
    /// The other arms, with their commits and generations.
    pub others: Vec<(Role, CommitSha, String)>,
}

fn others_text(others: &[(Role, CommitSha, String)]) -> String {
    others.iter().fold(String::new(), |text, (role, commit, id)| format!("{text}; {role} at {commit} has {id:?}"))
}

/// An arm whose generation is known.
#[derive(Clone, Debug)]
pub struct ArmAt<'a> {
    /// The arm.
    pub role: Role,
    /// Its commit.
    pub commit: CommitSha,
    /// The generation that its commit has.
    pub generation: &'a Generation,
    /// Its values.
    pub values: &'a Values,
    /// The tag of its trial.
    pub run_tag: RunTag,
}

/// A path inside a repository, or inside the folder of the suite's file.
pub(crate) fn inner_path(node: &Node<'_>) -> Result<String, SuiteError> {
    let text = node.text()?;
    let fine = !text.is_empty()
        && text.len() <= 400
        && !text.starts_with(['/', '-'])
        && !text.chars().any(|c| c.is_control() || c == '\\' || c == ':')
        && text.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if fine { Ok(text.to_owned()) } else { Err(node.refused("a relative path without .., such as lib/a.py")) }
}

impl Generation {
    pub(crate) fn read(node: &Node<'_>, parameters: &[Parameter], run_tag: bool) -> Result<Self, SuiteError> {
        let table = node.table(&["id", "when", "argv", "map", "cannot"])?;
        let id = table.need("id", "the name of the generation in messages")?.line()?;
        let when = table.need("when", "what the file has at commits of this generation")?;
        let when = when.table(&["file", "contains", "lacks"])?;
        let texts = |key: &str| {
            when.read(key, |n| {
                n.texts("a list of texts", |n| match n.text()? {
                    "" => Err(n.refused("a text that is not empty")),
                    text => Ok(text.to_owned()),
                })
            })
        };
        let (contains, lacks) = (texts("contains")?.unwrap_or_default(), texts("lacks")?.unwrap_or_default());
        let file = inner_path(when.need("file", "a path inside the repository")?)?;
        let map = table.read("map", |n| maps(n, parameters))?.unwrap_or_default();
        let scope = Scope { parameters, run_tag, maps: &map };
        let argv_node = table.need("argv", "the command line, a list of groups of arguments")?;
        let argv = scope.groups(argv_node)?;
        let known: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        let cannot = table
            .read("cannot", |n| {
                n.texts("a list of parameters", |n| match n.text()? {
                    name if known.contains(&name) => Ok(name.to_owned()),
                    other => Err(n.no_word(other, &known)),
                })
            })?
            .unwrap_or_default();
        let written = |name: &str| argv.iter().any(|group| group.parameters().any(|n| n == name));
        for name in &known {
            match (written(name), cannot.iter().any(|c| c == name)) {
                (false, false) => {
                    return Err(argv_node.unfit(format!(
                        "the parameter {name} is neither in argv nor in cannot; what a command line does not say must be \
                         refused, not dropped"
                    )));
                }
                (true, true) => {
                    return Err(argv_node.unfit(format!("the parameter {name} is in argv and in cannot")));
                }
                _ => {}
            }
        }
        if run_tag && !argv.iter().flat_map(|group| &group.words).any(crate::template::Word::has_run_tag) {
            return Err(argv_node.unfit("{run_tag} is missing: the outputs of trials must be told apart"));
        }
        let mapped = |name: &str| argv.iter().flat_map(|group| &group.words).any(|word| word.maps(name));
        if let Some((name, _)) = map.iter().find(|(name, _)| !mapped(name)) {
            return Err(table.unfit(format!("map.{name} is not used: argv has no {{{name}:map}}")));
        }
        Ok(Self { id, file, contains, lacks, argv, map, cannot })
    }

    /// Whether a commit whose file has this text has this generation.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        self.contains.iter().all(|part| text.contains(part)) && !self.lacks.iter().any(|part| text.contains(part))
    }

    /// The command line for these values.
    ///
    /// # Errors
    /// A value that this generation cannot express.
    pub fn argv(&self, values: &Values, run_tag: &str) -> Result<Vec<String>, ArgvError> {
        for name in &self.cannot {
            if let Some(value) = values.get(name) {
                return Err(ArgvError::Cannot { parameter: name.clone(), value: value.to_string() });
            }
        }
        expand(&self.argv, values, &self.map, run_tag)
    }
}

fn maps(node: &Node<'_>, parameters: &[Parameter]) -> Result<Maps, SuiteError> {
    let mut maps = Maps::new();
    for (name, node) in node.map()?.entries() {
        let mappable = |p: &&Parameter| matches!(p.kind, Kind::Span(_) | Kind::Choice(_));
        let Some(parameter) = parameters.iter().filter(mappable).find(|p| p.name == *name) else {
            let known: Vec<&str> = parameters.iter().filter(mappable).map(|p| p.name.as_str()).collect();
            return Err(node.no_word(name, &known));
        };
        let mut words = std::collections::BTreeMap::new();
        for (value, word) in node.map()?.entries() {
            let canonical = parameter.of_text(value).map(|v| v.to_string());
            if canonical.as_ref() != Ok(value) {
                let allowed = match &parameter.kind {
                    Kind::Span(steps) => format!("first..last of {}", steps.of.join(", ")),
                    _ => "a value of the parameter".to_owned(),
                };
                return Err(
                    word.unfit(format!("{} is not a canonical value of {name}; allowed: {allowed}", quoted(value)))
                );
            }
            let text = word.line()?;
            if text.starts_with('-') {
                return Err(word.refused("a word that does not start with -"));
            }
            words.insert(value.clone(), text);
        }
        maps.insert(name.clone(), words);
    }
    Ok(maps)
}

/// Every generation, newest first, no id twice.
pub(crate) fn read_all(
    node: &Node<'_>,
    parameters: &[Parameter],
    run_tag: bool,
) -> Result<Vec<Generation>, SuiteError> {
    let mut all: Vec<Generation> = Vec::new();
    for node in node.list("a list of tables, [[generations]]")? {
        let generation = Generation::read(&node, parameters, run_tag)?;
        if all.iter().any(|other| other.id == generation.id) {
            return Err(node.error(Problem::Twice(format!("the id {}", quoted(&generation.id)))));
        }
        all.push(generation);
    }
    if all.is_empty() { Err(node.refused("at least one generation")) } else { Ok(all) }
}

/// The generation that a commit has: the first that fits. `text_of` gives a file of the repository at that commit, and
/// `None` where there is no such file or it is no text.
///
/// # Errors
/// The first error of `text_of`.
pub fn detect<E>(
    generations: &[Generation],
    mut text_of: impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Option<&Generation>, E> {
    let mut read: Vec<(&str, Option<String>)> = Vec::new();
    for generation in generations {
        let at = if let Some(at) = read.iter().position(|(file, _)| *file == generation.file) {
            at
        } else {
            read.push((&generation.file, text_of(&generation.file)?));
            read.len() - 1
        };
        if read[at].1.as_ref().is_some_and(|text| generation.fits(text)) {
            return Ok(Some(generation));
        }
    }
    Ok(None)
}

/// The command lines of all arms.
///
/// # Errors
/// The first arm whose generation cannot express its values, with the commits of all arms.
pub fn command_lines(arms: &[ArmAt<'_>]) -> Result<Vec<Vec<String>>, Box<CannotRun>> {
    let line = |arm: &ArmAt<'_>| {
        arm.generation.argv(arm.values, arm.run_tag.as_str()).map_err(|error| {
            let others = arms.iter().filter(|other| other.role != arm.role);
            Box::new(CannotRun {
                role: arm.role.clone(),
                commit: arm.commit.clone(),
                generation: arm.generation.id.clone(),
                error,
                others: others.map(|o| (o.role.clone(), o.commit.clone(), o.generation.id.clone())).collect(),
            })
        })
    };
    arms.iter().map(line).collect()
}
