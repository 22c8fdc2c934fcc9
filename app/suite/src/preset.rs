//! Named points of the parameters, with what a clean run of them looks like.

use domain::bytesize::ByteSize;
use domain::request::default_looks;
use domain::view::Grade;

use crate::error::{Problem, SuiteError, quoted};
use crate::node::{Node, Table};
use crate::parameter::{Parameter, Value};
use crate::unit::Duration;
use crate::values::Values;

/// A preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Whether it is the one that counts where none is asked for.
    pub default: bool,
    /// What a clean run of it looks like.
    pub expect: Expect,
    /// After which rounds a comparison is looked at.
    pub looks: Looks,
    /// After this time the arms are stopped.
    pub limit: Option<Duration>,
    /// Whether the repository says it, and not the suite file: nobody vouches for what it costs.
    pub of_repository: bool,
    /// The values of all parameters.
    pub(crate) values: Values,
}

/// What a clean run looks like; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expect {
    /// Sources.
    pub sources: Option<u32>,
    /// Shards.
    pub shards: Option<u32>,
    /// Bytes that go in.
    pub input: Option<ByteSize>,
    /// CPU hours.
    pub cpu_hours: Option<f64>,
    /// How long it takes.
    pub wall: Option<Duration>,
}

/// After which rounds a comparison is looked at, by the grade of its calibration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    a: Option<Vec<u64>>,
    a5: Option<Vec<u64>>,
    b: Option<Vec<u64>>,
    c: Option<Vec<u64>>,
}

/// Most rounds of a comparison.
const MOST: u32 = 100;

impl Looks {
    fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = node.table(&["A", "A5", "B", "C"])?;
        let looks = |key: &str, least: u64| {
            table.read(key, |node| {
                let list = node.list("a list of numbers of rounds")?;
                let looks: Vec<u64> = list.iter().map(|n| n.count(1, MOST).map(u64::from)).collect::<Result<_, _>>()?;
                if looks.is_empty() || looks.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(node.refused("numbers of rounds that increase, such as [1, 2, 3, 5]"));
                }
                if looks.last().is_some_and(|last| *last < least) {
                    return Err(node.unfit(format!("grade {key} decides nothing before round {least}")));
                }
                Ok(looks)
            })
        };
        // The fewest rounds that each grade can decide after.
        Ok(Self { a: looks("A", 1)?, a5: looks("A5", 1)?, b: looks("B", 3)?, c: looks("C", 4)? })
    }

    /// The looks of a grade; the procedure's own where the suite names none. `rows` are those that will be judged.
    #[must_use]
    pub fn of(&self, grade: Grade, rows: usize) -> Vec<u64> {
        let own = match grade {
            Grade::A => self.a.as_ref(),
            Grade::A5 => self.a5.as_ref().or(self.a.as_ref()),
            Grade::B => self.b.as_ref(),
            Grade::C => self.c.as_ref(),
        };
        own.cloned().unwrap_or_else(|| default_looks(grade, rows).to_vec())
    }
}

impl Preset {
    fn read(name: &str, node: &Node<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        named(name, node)?;
        let table = node.table(&["default", "set", "expect", "looks", "limit"])?;
        let mut values = Values::defaults(parameters);
        if let Some(node) = table.get("set") {
            set(&mut values, node, parameters)?;
        }
        if let Some(parameter) = values.lacking(parameters) {
            let message =
                format!("the parameter {} has no value: it has no default and is not optional", parameter.name);
            return Err(table.get("set").map_or_else(|| node.unfit(&message), |set| set.unfit(&message)));
        }
        let expect = table.read("expect", |node| {
            let table = node.table(&["sources", "shards", "input", "cpu_hours", "wall"])?;
            let count = |key: &str| table.read(key, |n| n.count(0, 1_000_000_000));
            Ok(Expect {
                sources: count("sources")?,
                shards: count("shards")?,
                input: table.read("input", Node::parse)?,
                cpu_hours: table.read("cpu_hours", |n| n.number_of(0.0, 1e9))?,
                wall: table.read("wall", |n| n.duration(0))?,
            })
        })?;
        let limit = table.read("limit", |node| {
            node.table(&["wall"])?.need("wall", "after which time the arms are stopped")?.duration(1000)
        })?;
        Ok(Self {
            name: name.to_owned(),
            default: table.read("default", Node::flag)?.unwrap_or(false),
            expect: expect.unwrap_or_default(),
            looks: table.read("looks", Looks::read)?.unwrap_or_default(),
            limit,
            of_repository: false,
            values,
        })
    }

    /// A point that a repository names: like this preset, but for the values that it sets. What such a run costs nobody
    /// knows before there was one.
    pub(crate) fn point(&self, name: &str, table: &Table<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        let mut values = self.values.clone();
        if let Some(node) = table.get("set") {
            set(&mut values, node, parameters)?;
        }
        if let Some(parameter) = values.lacking(parameters) {
            return Err(table.unfit(format!("the parameter {} has no value", parameter.name)));
        }
        let expect = table.read("expect", |node| {
            let table = crate::repository::listed(node.map()?, &["sources", "shards", "input"])?;
            let count = |key: &str| table.read(key, |n| n.count(0, 1_000_000_000));
            let (sources, shards) = (count("sources")?, count("shards")?);
            Ok(Expect { sources, shards, input: table.read("input", Node::parse)?, ..Expect::default() })
        })?;
        Ok(Self {
            name: name.to_owned(),
            default: false,
            expect: expect.unwrap_or_default(),
            looks: self.looks.clone(),
            limit: self.limit,
            of_repository: true,
            values,
        })
    }

    /// The values of all parameters of this preset.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// How many sources a run of it has, where that is known: those of `parameter` that it names one by one, or what is
    /// expected.
    #[must_use]
    pub fn sources(&self, parameter: Option<&Parameter>) -> Option<u32> {
        match parameter.and_then(|parameter| self.values.get(&parameter.name)) {
            Some(Value::List(items)) if !names_all(items) => u32::try_from(items.len()).ok(),
            _ => self.expect.sources,
        }
    }
}

/// The name of a preset is part of a command.
pub(crate) fn named(name: &str, node: &Node<'_>) -> Result<(), SuiteError> {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !(1..=40).contains(&name.len()) || !name.bytes().all(ok) || name.starts_with('-') {
        return Err(node.unfit("the name of a preset has 1 to 40 characters a-z, 0-9, -, the first a letter or digit"));
    }
    Ok(())
}

/// Sets what a table names.
fn set(values: &mut Values, node: &Node<'_>, parameters: &[Parameter]) -> Result<(), SuiteError> {
    let known: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    let mut level: Vec<(String, Value)> = Vec::new();
    for (name, node) in node.table(&known)?.entries() {
        if let Some(parameter) = parameters.iter().find(|p| p.name == *name) {
            level.push((name.clone(), parameter.of_node(node)?));
        }
    }
    values.set(parameters, &level).map_err(|(one, other)| node.unfit(format!("{one} and {other} exclude each other")))
}

/// Whether a list says that everything is meant.
pub(crate) fn names_all(items: &[String]) -> bool {
    items.iter().any(|item| item == "all")
}

/// The presets, the smallest first: in the order of the file, but that those whose CPU hours are known stand in the order
/// of these among each other.
pub(crate) fn ranked(presets: &[Preset]) -> Vec<&Preset> {
    let hours = |preset: &&Preset| preset.expect.cpu_hours;
    let mut known: Vec<&Preset> = presets.iter().filter(|preset| hours(preset).is_some()).collect();
    known.sort_by(|one, other| hours(one).unwrap_or(0.0).total_cmp(&hours(other).unwrap_or(0.0)));
    let mut known = known.into_iter();
    presets
        .iter()
        .map(|preset| if hours(&preset).is_some() { known.next().unwrap_or(preset) } else { preset })
        .collect()
}

pub(crate) fn read_all(node: &Node<'_>, parameters: &[Parameter]) -> Result<Vec<Preset>, SuiteError> {
    let mut all: Vec<Preset> = Vec::new();
    for (name, node) in node.map()?.entries() {
        let preset = Preset::read(name, node, parameters)?;
        if preset.default
            && let Some(other) = all.iter().find(|other| other.default)
        {
            return Err(node.error(Problem::Twice(format!("default = true, in {} too; it", quoted(&other.name)))));
        }
        all.push(preset);
    }
    if let [only] = &mut all[..] {
        only.default = true;
    }
    Ok(all)
}
