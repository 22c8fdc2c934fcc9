//! Command lines with places for parameters. A group is a list of arguments; nothing is ever split at spaces.

use std::collections::BTreeMap;

use domain::bytesize::ByteSize;

use crate::error::{SuiteError, nearest, quoted};
use crate::node::Node;
use crate::parameter::{Kind, Parameter, Value};
use crate::values::Values;

/// How a value is written into an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As it is.
    Plain,
    /// The items of a list with commas between them.
    Comma,
    /// A size as a whole number and `k`, `m`, `g` or `t`, powers of 1024.
    Short,
    /// The word that the generation's map has for it.
    Map,
    /// The first step of a span.
    First,
    /// The last step of a span.
    Last,
}

const FORMATS: [(&str, Format); 5] = [
    ("comma", Format::Comma),
    ("short", Format::Short),
    ("map", Format::Map),
    ("first", Format::First),
    ("last", Format::Last),
];

/// The name that stands for the tag of a trial.
pub(crate) const RUN_TAG: &str = "run_tag";

/// A part of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Parameter(String, Format),
    RunTag,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pieces: Vec<Piece>,
    /// As it stands in the file.
    pub text: String,
}

/// Arguments that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The arguments.
    pub words: Vec<Word>,
    /// Whether the group is left out where one of its parameters has no value.
    pub optional: bool,
}

/// For parameters, by the canonical text of a value: the word of one generation.
pub type Maps = BTreeMap<String, BTreeMap<String, String>>;

/// Why a command line cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgvError {
    /// A parameter that this command line does not know has a value.
    #[error("cannot express {parameter}={value}")]
    Cannot {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
    },
    /// A value that has no word.
    #[error("cannot express {parameter}={value}; it has words for {}", known.join(", "))]
    NoWord {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
        /// Values that have a word.
        known: Vec<String>,
    },
    /// A parameter that must have a value has none.
    #[error("needs a value for {parameter}")]
    Unset {
        /// The parameter.
        parameter: String,
    },
    /// A size that has no whole number of the units.
    #[error("cannot express {parameter}={value}: only whole KiB can be written short")]
    Uneven {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
    },
}

/// What placeholders may name.
pub(crate) struct Scope<'a> {
    pub(crate) parameters: &'a [Parameter],
    pub(crate) run_tag: bool,
    pub(crate) maps: &'a Maps,
}

impl Scope<'_> {
    fn names(&self) -> Vec<&str> {
        self.parameters.iter().map(|p| p.name.as_str()).chain(self.run_tag.then_some(RUN_TAG)).collect()
    }

    fn piece(&self, inside: &str, node: &Node<'_>) -> Result<Piece, SuiteError> {
        let (name, format) = inside.split_once(':').map_or((inside, None), |(name, format)| (name, Some(format)));
        if self.run_tag && name == RUN_TAG && format.is_none() {
            return Ok(Piece::RunTag);
        }
        let Some(parameter) = self.parameters.iter().find(|p| p.name == name) else {
            let names = self.names();
            let near = nearest(name, names.iter().copied()).map_or(String::new(), |n| format!("; nearest: {n}"));
            let known = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
            return Err(node.unfit(format!("{} is not a parameter; allowed: {known}{near}", quoted(name))));
        };
        let format = match format {
            None => Format::Plain,
            Some(word) => FORMATS.iter().find(|(known, _)| *known == word).map(|(_, f)| *f).ok_or_else(|| {
                let words: Vec<&str> = FORMATS.iter().map(|(word, _)| *word).collect();
                let near = nearest(word, words.iter().copied()).map_or(String::new(), |n| format!("; nearest: {n}"));
                node.unfit(format!(
                    "{} is not a way to write a value; allowed: {}{near}",
                    quoted(word),
                    words.join(", ")
                ))
            })?,
        };
        let fits = match (format, &parameter.kind) {
            (Format::Plain, kind) => !matches!(kind, Kind::List { .. }),
            (Format::Comma, Kind::List { .. })
            | (Format::Short, Kind::Bytes { .. })
            | (Format::First | Format::Last, Kind::Span(_)) => true,
            (Format::Map, _) => {
                if !self.maps.contains_key(name) {
                    return Err(node.unfit(format!("{{{name}:map}} needs map.{name} in the same generation")));
                }
                true
            }
            _ => false,
        };
        if fits {
            return Ok(Piece::Parameter(name.to_owned(), format));
        }
        Err(node.unfit(format!(
            "{{{inside}}} does not fit the kind of {name}; a list is written with :comma, :short is for bytes, :first \
             and :last are for spans"
        )))
    }

    /// One argument; `{{` and `}}` are braces.
    pub(crate) fn word(&self, node: &Node<'_>) -> Result<Word, SuiteError> {
        let text = node.text()?;
        if text.chars().any(char::is_control) || text.len() > 4000 {
            return Err(node.refused("at most 4000 printable characters, no line breaks"));
        }
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                literal.push(if from.starts_with('{') { '{' } else { '}' });
                rest = after;
                continue;
            }
            let inside = from.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let Some((inside, after)) = inside else {
                return Err(node.refused("a { with its }, or {{ and }} for braces"));
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(self.piece(inside, node)?);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Word { pieces, text: text.to_owned() })
    }

    /// `argv = [[...], ...]`.
    pub(crate) fn groups(&self, node: &Node<'_>) -> Result<Vec<Group>, SuiteError> {
        const WHAT: &str = "a list of groups, each a list of arguments, as in [[\"python3\", \"bench.py\"]]";
        let mut groups = Vec::new();
        for node in node.list(WHAT)? {
            let mut items = node.list("a group, that is a list of arguments")?;
            let optional = items.len() > 1 && matches!(items.last().map(Node::text), Some(Ok("?")));
            if optional {
                items.pop();
            }
            let words = items.iter().map(|item| self.word(item)).collect::<Result<Vec<Word>, _>>()?;
            if words.is_empty() {
                return Err(node.refused("at least one argument"));
            }
            let group = Group { words, optional };
            if optional && group.parameters().next().is_none() {
                return Err(node.unfit("a group that ends in \"?\" needs a parameter that may have no value"));
            }
            groups.push(group);
        }
        match groups.first() {
            None => Err(node.refused("at least one group, the first of which begins with the program")),
            Some(first) if first.optional || first.words.first().is_none_or(|word| word.text.is_empty()) => {
                Err(node.unfit("the first group begins with the program and is always there"))
            }
            Some(first) if first.words.first().is_some_and(is_a_whole_line) => Err(node.unfit(
                "a program whose name has blanks: nothing is split, so each argument is written by itself, as in \
                 [[\"python3\", \"bench.py\"]]",
            )),
            Some(_) => Ok(groups),
        }
    }
}

/// Whether a program's name looks like a command line that somebody expects to be split. In a path a blank may be meant.
fn is_a_whole_line(program: &Word) -> bool {
    program.text.split_once(char::is_whitespace).is_some_and(|(name, _)| !name.contains('/'))
}

impl Word {
    /// Its parts.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The whole of it, where it has no place for a value.
    pub(crate) fn literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The parameters that it names.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Parameter(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether it holds the mapped word of a parameter.
    pub(crate) fn maps(&self, name: &str) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Parameter(n, Format::Map) if n == name))
    }

    /// Whether it holds the tag of the trial.
    pub(crate) fn has_run_tag(&self) -> bool {
        self.pieces.contains(&Piece::RunTag)
    }

    /// The argument for these values.
    pub(crate) fn expand(&self, values: &Values, maps: &Maps, run_tag: &str) -> Result<String, ArgvError> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::RunTag => out.push_str(run_tag),
                Piece::Parameter(name, format) => {
                    let value = values.get(name).ok_or_else(|| ArgvError::Unset { parameter: name.clone() })?;
                    out.push_str(&written(name, value, *format, maps)?);
                }
            }
        }
        Ok(out)
    }
}

fn written(name: &str, value: &Value, format: Format, maps: &Maps) -> Result<String, ArgvError> {
    Ok(match (format, value) {
        (Format::First, Value::Span { first, .. }) => first.clone(),
        (Format::Last, Value::Span { last, .. }) => last.clone(),
        (Format::Short, Value::Bytes(size)) => {
            short(*size).ok_or_else(|| ArgvError::Uneven { parameter: name.to_owned(), value: value.to_string() })?
        }
        (Format::Map, value) => {
            let words = maps.get(name);
            let value = value.to_string();
            words.and_then(|words| words.get(&value)).cloned().ok_or_else(|| ArgvError::NoWord {
                parameter: name.to_owned(),
                value,
                known: words.map(|words| words.keys().cloned().collect()).unwrap_or_default(),
            })?
        }
        _ => value.to_string(),
    })
}

/// `16g`: how the benchmark's own tools write sizes.
fn short(size: ByteSize) -> Option<String> {
    let units = [('t', 1 << 40), ('g', 1 << 30), ('m', 1 << 20), ('k', 1_u64 << 10)];
    units
        .iter()
        .find(|(_, factor)| size.0 > 0 && size.0.is_multiple_of(*factor))
        .map(|(unit, factor)| format!("{}{unit}", size.0 / factor))
}

impl Group {
    /// The parameters that it names.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(Word::parameters)
    }
}

/// The arguments for these values.
///
/// # Errors
/// A value that cannot be written, or that is missing.
pub(crate) fn expand(groups: &[Group], values: &Values, maps: &Maps, run_tag: &str) -> Result<Vec<String>, ArgvError> {
    let mut argv = Vec::new();
    for group in groups {
        if group.optional && group.parameters().any(|name| values.get(name).is_none()) {
            continue;
        }
        for word in &group.words {
            argv.push(word.expand(values, maps, run_tag)?);
        }
    }
    Ok(argv)
}
