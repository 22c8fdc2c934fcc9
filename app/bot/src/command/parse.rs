//! `zephyr-ab parse`: what a comment on a pull request would be understood as.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use domain::command::{Code, Command, CommandError, Known, Pairs, ParameterKeys, SuiteKeys, read};
use domain::request::Key;
use serde_json::{Map, Value, json};
use suite::parameter::Kind;
use suite::{ResolveError, Resolved, Suite, SuiteRef};

use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Most bytes that are read: more than any comment has, so that a longer one is seen to be too long.
const MOST: u64 = 4 << 20;

/// Says what a comment would be understood as.
///
/// The text of the comment is read from standard input. What is not a command is said so, and of what is not understood
/// what is allowed; nothing is started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo '/ab-test zephyr preset=light' | zephyr-ab parse
  zephyr-ab parse --format json < comment.md")]
pub struct Args {
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
}

/// What `parse` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for a person.
    Text,
    /// One object with the command and the error, each null where there is none.
    Json,
}

/// Runs the command. A comment that is not understood is an answer like any other.
///
/// # Errors
/// [`Failure::Usage`] where a suite cannot be read.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    world.stdin.take(MOST).read_to_end(&mut bytes).map_err(anyhow::Error::from)?;
    let suites = all(args.suites.as_deref()).map_err(|error| Failure::Usage(error.to_string()))?;
    // What is no UTF-8 becomes characters that nothing may have.
    let found = understand(&String::from_utf8_lossy(&bytes), &suites);
    match args.format {
        Format::Json => {
            let (command, error) = match &found {
                Ok(command) => (command.as_ref().map(as_json), None),
                Err(error) => (None, Some(json!({ "code": error.code.as_str(), "message": error.to_string() }))),
            };
            let text = serde_json::to_string_pretty(&json!({ "command": command, "error": error }));
            writeln!(world.stdout, "{}", text.map_err(anyhow::Error::from)?)?;
        }
        Format::Text => write!(world.stdout, "{}", as_text(&found))?,
    }
    Ok(Exit::Done)
}

/// All suites by name.
fn all(folder: Option<&Path>) -> Result<Vec<Suite>, suite::LoadError> {
    suite::names(folder)?.into_iter().map(|name| suite::load(&SuiteRef::Name(name), folder)).collect()
}

/// What commands may name of these suites.
#[must_use]
pub fn known(suites: &[Suite]) -> Known {
    let parameter = |parameter: &suite::parameter::Parameter| ParameterKeys {
        name: parameter.name.clone(),
        others: suite::values::keys(std::slice::from_ref(parameter)).split_off(1),
        allowed: match &parameter.kind {
            Kind::Choice(words) => Some(words.clone()),
            _ => None,
        },
    };
    let suite = |suite: &Suite| SuiteKeys {
        name: suite.name.clone(),
        presets: suite.presets.iter().map(|preset| preset.name.clone()).collect(),
        parameters: suite.parameters.iter().map(parameter).collect(),
    };
    Known { suites: suites.iter().map(suite).collect() }
}

/// Reads the command of a comment, down to what its values mean to the suite.
///
/// # Errors
/// See [`domain::command::read`] and [`resolved`].
pub fn understand(body: &str, suites: &[Suite]) -> Result<Option<Command>, CommandError> {
    let Some(command) = read(body, &known(suites))? else { return Ok(None) };
    if command.verb.pairs == Pairs::Request
        && let Some(suite) = suites.iter().find(|suite| Some(&suite.name) == command.suite.as_ref())
    {
        resolved(&command, suite)?;
    }
    Ok(Some(command))
}

/// What the pairs of a command mean to its suite.
///
/// # Errors
/// The suite's own refusal, as an error of commands.
pub fn resolved(command: &Command, suite: &Suite) -> Result<Resolved, CommandError> {
    suite::resolve(suite, &command.request.options()?).map_err(|error| {
        let refused = CommandError::new(code(&error, suite), shortened(&error).to_string());
        match &error {
            ResolveError::NoPreset(presets) => match presets.first() {
                Some(first) => refused.instead(format!("/ab-test {} preset={first}", suite.name)),
                None => refused,
            },
            _ => refused,
        }
    })
}

/// The kind of a suite's refusal.
fn code(error: &ResolveError, suite: &Suite) -> Code {
    match error {
        ResolveError::Preset { .. } => Code::UnknownValue,
        ResolveError::Value { key, found, .. } if lacks_word(suite, key, found) => Code::UnknownValue,
        ResolveError::UnknownKey { .. } | ResolveError::Environment { .. } | ResolveError::Meaningless { .. } => {
            Code::UnknownKey
        }
        ResolveError::NoPreset(_) | ResolveError::Lacking(_) => Code::MissingArgument,
        ResolveError::Twice { .. } => Code::DuplicateKey,
        ResolveError::Value { .. }
        | ResolveError::Exclude(..)
        | ResolveError::OtherPlace(_)
        | ResolveError::Locality { .. }
        | ResolveError::Shards { .. }
        | ResolveError::Workload(_) => Code::BadValue,
    }
}

/// Whether the key takes words, and what was found has one that it does not know.
fn lacks_word(suite: &Suite, key: &str, found: &str) -> bool {
    let own = |parameter: &suite::parameter::Parameter| {
        suite::values::keys(std::slice::from_ref(parameter)).iter().any(|own| own == key)
    };
    match suite.parameters.iter().find(|parameter| own(parameter)).map(|parameter| &parameter.kind) {
        Some(Kind::Choice(words)) => !words.iter().any(|word| word == found),
        Some(Kind::Span(steps)) => found.split("..").any(|step| !steps.of.iter().any(|word| word == step)),
        _ => false,
    }
}

/// The same with no more of a foreign text than a comment should repeat.
fn shortened(error: &ResolveError) -> ResolveError {
    let mut error = error.clone();
    if let ResolveError::Value { found: foreign, .. } | ResolveError::Locality { sample: foreign, .. } = &mut error {
        *foreign = foreign.chars().take(40).collect();
    }
    error
}

/// Everything that follows the verb, by its name, in the order in which it is said.
fn arguments(command: &Command) -> Vec<(&str, &str)> {
    let state = command.state.map(|on| if on { "on" } else { "off" });
    let positional = [
        ("digest", command.digest.as_deref()),
        ("reason", command.reason.as_deref()),
        ("row", command.row.as_deref()),
        ("state", state),
    ];
    let positional = positional.into_iter().filter_map(|(name, value)| Some((name, value?)));
    command.request.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).chain(positional).collect()
}

fn as_json(command: &Command) -> Value {
    let mut args = Map::new();
    for (name, value) in arguments(command) {
        if Key::of(name).is_some_and(|key| key.repeatable) {
            let list = args.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(value.into());
            }
        } else {
            args.insert(name.to_owned(), value.into());
        }
    }
    json!({ "suite": command.suite, "verb": command.verb.name, "args": args })
}

fn as_text(found: &Result<Option<Command>, CommandError>) -> String {
    let mut lines = Vec::new();
    match found {
        Ok(None) => lines.push("no command".to_owned()),
        Ok(Some(command)) => {
            let suite = command.suite.as_ref().map(|suite| ("suite", suite.as_str()));
            let said = suite.into_iter().chain([("verb", command.verb.name)]).chain(arguments(command));
            let said: Vec<(&str, &str)> = said.collect();
            let width = said.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            lines.extend(said.iter().map(|(name, value)| format!("{name:width$}  {value}")));
            if !command.verb.built {
                lines.push(format!("{} is not built yet", command.verb.name));
            }
        }
        Err(error) => lines.push(format!("{}: {error}", error.code.as_str())),
    }
    lines.join("\n") + "\n"
}
