//! The parameters of a suite and their values.

use std::fmt;

use domain::bytesize::ByteSize;
use domain::request::check_value;
use domain::setting::{Number, Setting};

use crate::error::{SuiteError, nearest};
use crate::node::{Node, Table};
use crate::unit::decimal;

/// What values a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A whole number of `low` to `high`.
    Int {
        /// Smallest.
        low: i64,
        /// Largest.
        high: i64,
    },
    /// A number of `low` to `high`.
    Float {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
    },
    /// A size of `low` to `high`.
    Bytes {
        /// Smallest.
        low: ByteSize,
        /// Largest.
        high: ByteSize,
    },
    /// A text without characters that mean something to a shell.
    Text,
    /// One of these words.
    Choice(Vec<String>),
    /// Texts, separated by commas in a command.
    List {
        /// Most items.
        max_items: u32,
    },
    /// A span of steps, `first..last`.
    Span(Steps),
}

/// The steps that a span is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The steps in their order.
    pub of: Vec<String>,
    /// Keys in a command for the first and the last step.
    pub keys: Option<(String, String)>,
    /// Another key for the whole span: a step alone, or `all`.
    pub alias: Option<String>,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number, at most 2^53.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A size.
    Bytes(ByteSize),
    /// A text or a word.
    Text(String),
    /// Texts.
    List(Vec<String>),
    /// A span of steps.
    Span {
        /// Its first step.
        first: String,
        /// Its last step.
        last: String,
    },
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bytes(size) => size.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => f.write_str(&items.join(",")),
            Self::Span { first, last } => write!(f, "{first}..{last}"),
        }
    }
}

impl Value {
    /// The value as it stands in a workload.
    #[must_use]
    pub fn setting(&self) -> Setting {
        // A value is finite by construction; a text is better than nothing where it is not.
        let number = |n: f64| Number::try_from(n).map_or_else(|_| Setting::Text(n.to_string()), Setting::Number);
        match self {
            #[allow(clippy::cast_precision_loss)] // at most 2^53
            Self::Int(n) => number(*n as f64),
            Self::Float(n) => number(*n),
            Self::Bytes(size) => Setting::size(*size),
            Self::Text(_) | Self::Span { .. } => Setting::Text(self.to_string()),
            Self::List(items) => Setting::List(items.clone()),
        }
    }

    /// The value as a number, where it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            #[allow(clippy::cast_precision_loss)] // at most 2^53
            Self::Int(n) => Some(*n as f64),
            Self::Float(n) => Some(*n),
            _ => None,
        }
    }
}

/// A text that is not a value of the parameter: what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// What is allowed.
    pub expected: String,
    /// The allowed word that is nearest, where one is near.
    pub nearest: Option<String>,
}

impl BadValue {
    fn new(expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), nearest: None }
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, which is its key in commands.
    pub name: String,
    /// What values it takes.
    pub kind: Kind,
    /// Its value where neither preset nor request gives one.
    pub default: Option<Value>,
    /// Whether it may have no value: then the benchmark's own default applies.
    pub optional: bool,
    /// Parameters that have no value where this one has.
    pub excludes: Vec<String>,
    /// What it is, for people.
    pub help: Option<String>,
}

const KINDS: [(&str, u8); 7] =
    [("int", 0), ("float", 1), ("bytes", 2), ("text", 3), ("choice", 4), ("list", 5), ("span", 6)];
const COMMON: [&str; 5] = ["kind", "default", "optional", "excludes", "help"];
const OWN: [&[&str]; 7] = [&["range"], &["range"], &["range"], &[], &["of"], &["max_items"], &["of", "keys", "alias"]];

/// Whether a text can be the name of a parameter.
pub(crate) fn is_name(text: &str) -> bool {
    let ok = |(i, b): (usize, u8)| b.is_ascii_lowercase() || (i > 0 && (b.is_ascii_digit() || b == b'_'));
    (1..=40).contains(&text.len()) && text.bytes().enumerate().all(ok)
}

impl Parameter {
    pub(crate) fn read(name: &str, node: &Node<'_>) -> Result<Self, SuiteError> {
        if !is_name(name) {
            return Err(node.unfit("the name of a parameter has 1 to 40 characters a-z, 0-9, _, the first a letter"));
        }
        let kind = node.map()?.need("kind", "int, float, bytes, text, choice, list or span")?.choice(&KINDS)?;
        let own = OWN.get(usize::from(kind)).copied().unwrap_or_default();
        let allowed: Vec<&str> = COMMON.iter().chain(own).copied().collect();
        let table = node.table(&allowed)?;
        let kind = match kind {
            0 => {
                let [low, high] = range(&table, Node::integer)?.unwrap_or([0, 1 << 53]);
                Kind::Int { low, high }
            }
            1 => {
                let [low, high] = range(&table, Node::number)?.unwrap_or([0.0, 1e15]);
                Kind::Float { low, high }
            }
            2 => {
                let [low, high] = range(&table, Node::parse)?.unwrap_or([ByteSize(0), ByteSize(1 << 60)]);
                Kind::Bytes { low, high }
            }
            3 => Kind::Text,
            4 => Kind::Choice(words(table.need("of", "a list of the words")?)?),
            5 => Kind::List { max_items: table.read("max_items", |n| n.count(1, 10_000))?.unwrap_or(100) },
            _ => Kind::Span(Steps::read(&table)?),
        };
        let mut parameter = Self {
            name: name.to_owned(),
            kind,
            default: None,
            optional: table.read("optional", Node::flag)?.unwrap_or(false),
            excludes: table
                .read("excludes", |n| n.texts("a list of parameters", |n| n.text().map(str::to_owned)))?
                .unwrap_or_default(),
            help: table.read("help", Node::line)?,
        };
        parameter.default = table.read("default", |n| parameter.of_node(n))?;
        Ok(parameter)
    }

    /// The value that a file gives.
    pub(crate) fn of_node(&self, node: &Node<'_>) -> Result<Value, SuiteError> {
        let refused = |bad: BadValue| node.refused_near(bad.expected, bad.nearest);
        match &self.kind {
            Kind::Int { .. } => self.in_range(Value::Int(node.integer()?)).map_err(refused),
            Kind::Float { .. } => self.in_range(Value::Float(node.number()?)).map_err(refused),
            Kind::List { .. } => {
                let items = node
                    .list("a list of texts")?
                    .iter()
                    .map(|item| item.text().map(str::to_owned))
                    .collect::<Result<Vec<String>, _>>()?;
                self.items(items).map_err(refused)
            }
            _ => self.of_text(node.text()?).map_err(refused),
        }
    }

    /// The value that a command gives.
    ///
    /// # Errors
    /// What is allowed.
    pub fn of_text(&self, text: &str) -> Result<Value, BadValue> {
        check_value(text).map_err(|problem| {
            BadValue::new(format!("characters A-Z, a-z, 0-9 and . _ - : / , + @ = *, but the value {problem}"))
        })?;
        match &self.kind {
            Kind::Int { low, high } => {
                let digits = text.len() <= 16 && text.bytes().all(|b| b.is_ascii_digit());
                let expected = || BadValue::new(format!("a whole number of {low} to {high}"));
                let number = text.parse().ok().filter(|_| digits).ok_or_else(expected)?;
                self.in_range(Value::Int(number))
            }
            Kind::Float { low, high } => {
                let expected = || BadValue::new(format!("a number of {low} to {high}"));
                self.in_range(Value::Float(decimal(text).ok_or_else(expected)?))
            }
            Kind::Bytes { .. } => {
                let size = text.parse().map_err(|_: domain::bytesize::ByteSizeError| {
                    BadValue::new("a number with B, kB, MB, GB, TB or KiB, MiB, GiB, TiB, such as 16GiB")
                })?;
                self.in_range(Value::Bytes(size))
            }
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Choice(of) => one_of(of, text).map(Value::Text),
            Kind::List { .. } => self.items(text.split(',').map(str::to_owned).collect()),
            Kind::Span(steps) => {
                let (first, last) = text.split_once("..").unwrap_or((text, text));
                steps.span(first, last)
            }
        }
    }

    fn in_range(&self, value: Value) -> Result<Value, BadValue> {
        let (fits, expected) = match (&self.kind, &value) {
            (Kind::Int { low, high }, Value::Int(n)) => {
                ((low..=high).contains(&n), format!("a whole number of {low} to {high}"))
            }
            (Kind::Float { low, high }, Value::Float(n)) => {
                ((low..=high).contains(&n), format!("a number of {low} to {high}"))
            }
            (Kind::Bytes { low, high }, Value::Bytes(n)) => {
                ((low..=high).contains(&n), format!("a size of {low} to {high}"))
            }
            _ => (false, "another kind of value".to_owned()),
        };
        if fits { Ok(value) } else { Err(BadValue::new(expected)) }
    }

    fn items(&self, items: Vec<String>) -> Result<Value, BadValue> {
        let Kind::List { max_items } = self.kind else { return Err(BadValue::new("another kind of value")) };
        let fine = |item: &String| check_value(item).is_ok() && !item.contains(',');
        let twice = items.iter().enumerate().any(|(i, item)| items[..i].contains(item));
        if items.is_empty() || items.len() > max_items as usize || twice || !items.iter().all(fine) {
            return Err(BadValue::new(format!(
                "1 to {max_items} different items of characters A-Z, a-z, 0-9 and . _ - : / + @ = *, not starting with -"
            )));
        }
        Ok(Value::List(items))
    }
}

fn one_of(of: &[String], text: &str) -> Result<String, BadValue> {
    if of.iter().any(|word| word == text) {
        return Ok(text.to_owned());
    }
    Err(BadValue {
        expected: format!("one of {}", of.join(", ")),
        nearest: nearest(text, of.iter().map(String::as_str)),
    })
}

/// `range = [low, high]`.
fn range<'s, T: PartialOrd + Copy>(
    table: &Table<'s>,
    read: impl Fn(&Node<'s>) -> Result<T, SuiteError>,
) -> Result<Option<[T; 2]>, SuiteError> {
    let Some(node) = table.get("range") else { return Ok(None) };
    let both = node.list("a list of the smallest and the largest value")?;
    let [low, high] = &both[..] else {
        return Err(node.refused("a list of two: the smallest and the largest value"));
    };
    let (low, high) = (read(low)?, read(high)?);
    if low <= high { Ok(Some([low, high])) } else { Err(node.unfit("the smallest value is larger than the largest")) }
}

/// Words that a value, a file name and a row may be.
fn words(node: &Node<'_>) -> Result<Vec<String>, SuiteError> {
    let words = node.texts("a list of words", |n| {
        let text = n.text()?;
        let ok = |(i, b): (usize, u8)| b.is_ascii_alphanumeric() || (i > 0 && matches!(b, b'.' | b'_' | b'-'));
        let fine = (1..=40).contains(&text.len()) && text.bytes().enumerate().all(ok) && !text.contains("..");
        if fine { Ok(text.to_owned()) } else { Err(n.refused("1 to 40 characters A-Z, a-z, 0-9, . _ -, without ..")) }
    })?;
    if words.is_empty() { Err(node.refused("at least one word")) } else { Ok(words) }
}

impl Steps {
    fn read(table: &Table<'_>) -> Result<Self, SuiteError> {
        let of = words(table.need("of", "a list of the steps in their order")?)?;
        let key = |n: &Node<'_>| {
            let text = n.text()?;
            let dashed = text.replace('-', "_");
            if is_name(&dashed) { Ok(text.to_owned()) } else { Err(n.refused("a key of a-z, 0-9, _ and -")) }
        };
        let keys = table.read("keys", |n| {
            let keys = n.texts("a list of two keys", key)?;
            <[String; 2]>::try_from(keys).map_err(|_| n.refused("two keys: for the first and for the last step"))
        })?;
        Ok(Self { of, keys: keys.map(|[first, last]| (first, last)), alias: table.read("alias", key)? })
    }

    fn place(&self, step: &str) -> Result<usize, BadValue> {
        self.of.iter().position(|known| known == step).ok_or_else(|| BadValue {
            expected: format!("a step or a span first..last of {}", self.of.join(", ")),
            nearest: nearest(step, self.of.iter().map(String::as_str)),
        })
    }

    /// The span between two steps.
    ///
    /// # Errors
    /// A step that there is not, or a last one before the first one.
    pub fn span(&self, first: &str, last: &str) -> Result<Value, BadValue> {
        if self.place(first)? > self.place(last)? {
            return Err(BadValue::new(format!("steps in the order {}", self.of.join(", "))));
        }
        Ok(Value::Span { first: first.to_owned(), last: last.to_owned() })
    }

    /// The span that the alias names: a step alone, or `all`.
    ///
    /// # Errors
    /// Neither.
    pub fn target(&self, word: &str) -> Result<Value, BadValue> {
        match (word, self.of.first(), self.of.last()) {
            ("all", Some(first), Some(last)) => self.span(first, last),
            _ => self.span(word, word).map_err(|bad| BadValue { expected: format!("all, or {}", bad.expected), ..bad }),
        }
    }
}
