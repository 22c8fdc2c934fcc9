//! The steps of a suite that runs on this machine. A row is a step.

use std::collections::BTreeMap;

use crate::cluster::environment;
use crate::error::{Problem, SuiteError, quoted};
use crate::node::Node;
use crate::parameter::Parameter;
use crate::template::{ArgvError, Group, Maps, Scope, Word, expand};
use crate::unit::Duration;
use crate::values::Values;

/// A command that runs in the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name, which is that of its row.
    pub name: String,
    /// Its command line.
    pub argv: Vec<Group>,
    /// Environment variables.
    pub env: BTreeMap<String, Word>,
    /// After this time it is stopped.
    pub limit: Option<Duration>,
    /// Whether it starts together with the step before it.
    pub parallel: bool,
}

/// A step with the values of one arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name of the step.
    pub name: String,
    /// Program and arguments; never empty.
    pub argv: Vec<String>,
    /// Environment variables besides those of the backend.
    pub env: BTreeMap<String, String>,
    /// After this time it is stopped.
    pub limit: Option<Duration>,
    /// Whether it starts together with the step before it.
    pub parallel: bool,
}

/// Names of steps are names of files and rows.
fn name(node: &Node<'_>) -> Result<String, SuiteError> {
    let text = node.text()?;
    let ok = |(i, b): (usize, u8)| {
        b.is_ascii_lowercase() || b.is_ascii_digit() || (i > 0 && matches!(b, b'.' | b'_' | b'-'))
    };
    let fine = (1..=40).contains(&text.len()) && text.bytes().enumerate().all(ok) && !text.contains("..");
    if fine {
        Ok(text.to_owned())
    } else {
        Err(node.refused("1 to 40 characters a-z, 0-9, . _ -, the first a letter or digit"))
    }
}

impl Step {
    fn read(node: &Node<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        let table = node.table(&["name", "argv", "env", "limit", "parallel"])?;
        let maps = Maps::new();
        let scope = Scope { parameters, run_tag: false, maps: &maps };
        Ok(Self {
            name: name(table.need("name", "the name of the step and of its row")?)?,
            argv: scope.groups(table.need("argv", "the command line, a list of groups of arguments")?)?,
            env: table.read("env", |n| environment(n, |n| scope.word(n)))?.unwrap_or_default(),
            limit: table.read("limit", |n| n.duration(1))?,
            parallel: table.read("parallel", Node::flag)?.unwrap_or(false),
        })
    }

    /// The parameters that it names.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.argv.iter().flat_map(Group::parameters).chain(self.env.values().flat_map(Word::parameters))
    }

    /// The command for the values and the declared environment of one arm.
    ///
    /// # Errors
    /// A parameter that the step needs and that has no value.
    pub fn command(&self, values: &Values, declared: &BTreeMap<String, String>) -> Result<Command, ArgvError> {
        let maps = Maps::new();
        let mut env = BTreeMap::new();
        for (name, word) in &self.env {
            env.insert(name.clone(), word.expand(values, &maps, "")?);
        }
        env.extend(declared.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(Command {
            name: self.name.clone(),
            argv: expand(&self.argv, values, &maps, "")?,
            env,
            limit: self.limit,
            parallel: self.parallel,
        })
    }

    /// The step as one text, with its places for parameters: what must be equal between arms.
    pub(crate) fn canonical(&self) -> String {
        let groups: Vec<Vec<&str>> = self
            .argv
            .iter()
            .map(|g| g.words.iter().map(|w| w.text.as_str()).chain(g.optional.then_some("?")).collect())
            .collect();
        let env: BTreeMap<&str, &str> =
            self.env.iter().map(|(name, word)| (name.as_str(), word.text.as_str())).collect();
        let limit = self.limit.map(|limit| limit.0);
        serde_json::json!([self.name, groups, env, limit, self.parallel]).to_string()
    }
}

pub(crate) fn read_all(node: &Node<'_>, parameters: &[Parameter]) -> Result<Vec<Step>, SuiteError> {
    let mut all: Vec<Step> = Vec::new();
    for node in node.list("a list of tables, [[steps]]")? {
        let step = Step::read(&node, parameters)?;
        if all.iter().any(|other| other.name == step.name) {
            return Err(node.error(Problem::Twice(format!("the step {}", quoted(&step.name)))));
        }
        if all.is_empty() && step.parallel {
            return Err(node.unfit("the first step has none before it to start together with"));
        }
        all.push(step);
    }
    match all.len() {
        0 => Err(node.refused("at least one step")),
        1..=200 => Ok(all),
        _ => Err(node.refused("at most 200 steps")),
    }
}
