//! How a suite wants its measurements judged, and that as the configuration of the procedure.

use domain::bytesize::ByteSize;
use domain::request::Normalize;
use domain::rounds::RoundMode;
use serde_json::{Map, Value as Json, json};

use crate::error::{SuiteError, nearest};
use crate::node::{Node, Table};
use crate::parameter::{Kind, Parameter, Value};
use crate::values::Values;

/// What differs from the procedure's own settings; `None` is the procedure's.
#[derive(Clone, Debug, PartialEq)]
pub struct Judging {
    /// Tolerance of a row's CPU time, a share.
    pub cpu: Option<f64>,
    /// Tolerance of a row's elapsed time.
    pub elapsed: Option<f64>,
    /// Tolerance of the sum of all CPU time.
    pub total_cpu: Option<f64>,
    /// Tolerance of the sum of all elapsed time.
    pub total_elapsed: Option<f64>,
    /// Seconds of CPU below which a row is too short to judge.
    pub floor_cpu: Option<f64>,
    /// Seconds of elapsed time, likewise.
    pub floor_elapsed: Option<f64>,
    /// Share of the sum below which a row is immaterial.
    pub floor_share: Option<f64>,
    /// What a worker may use.
    pub memory_limit: Option<MemoryLimit>,
    /// What kinds of machines must be equal.
    pub host_class: HostClass,
    /// How the trials of a round lie in time.
    pub rounds_mode: RoundMode,
    /// Share of an arm's worker attempts above which the CPU time of a round is void too.
    pub max_lost_attempts: Option<f64>,
    /// Whether steps may leave their work uncounted.
    pub uncounted_ok: bool,
    /// Cores of the pool: the product of these.
    pub pool_cores: Vec<Factor>,
}

/// What a worker may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The value of this parameter.
    Parameter(String),
    /// A size.
    Size(ByteSize),
}

/// A factor of a product.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// The value of this parameter.
    Parameter(String),
    /// A number.
    Number(f64),
}

/// What kinds of machines must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostClass {
    /// Both arms need the same mix.
    Equal,
    /// Rows are compared within a kind.
    Stratify,
    /// Any.
    Ignore,
}

const HOST_CLASSES: [(&str, HostClass); 3] =
    [("equal", HostClass::Equal), ("stratify", HostClass::Stratify), ("ignore", HostClass::Ignore)];
const ROUNDS: [(&str, RoundMode); 2] = [("together", RoundMode::Together), ("in-turn", RoundMode::InTurn)];

impl Judging {
    /// The procedure's own, with rounds as the backend has them by default.
    pub(crate) fn new(rounds_mode: RoundMode) -> Self {
        Self {
            cpu: None,
            elapsed: None,
            total_cpu: None,
            total_elapsed: None,
            floor_cpu: None,
            floor_elapsed: None,
            floor_share: None,
            memory_limit: None,
            host_class: HostClass::Equal,
            rounds_mode,
            max_lost_attempts: None,
            uncounted_ok: false,
            pool_cores: Vec::new(),
        }
    }

    pub(crate) fn read(node: &Node<'_>, parameters: &[Parameter], mode: RoundMode) -> Result<Self, SuiteError> {
        let table = node.table(&[
            "procedure",
            "margin",
            "floor",
            "memory_limit",
            "host_class",
            "rounds_mode",
            "max_lost_attempts",
            "work",
            "pool_cores",
        ])?;
        let mut judging = Self::new(mode);
        table.read("procedure", |n| n.choice(&[("abv1", ())]))?;
        if let Some(node) = table.get("margin") {
            let margin = node.table(&["cpu", "elapsed", "total_cpu", "total_elapsed"])?;
            let percent = |key: &str| margin.read(key, |n| n.percent(0.1, 100.0));
            judging.cpu = percent("cpu")?;
            judging.elapsed = percent("elapsed")?;
            judging.total_cpu = percent("total_cpu")?;
            judging.total_elapsed = percent("total_elapsed")?;
        }
        if let Some(node) = table.get("floor") {
            let floor = node.table(&["cpu", "elapsed", "share"])?;
            let seconds = |key: &str| floor.read(key, |n| n.duration(0).map(crate::unit::Duration::seconds));
            judging.floor_cpu = seconds("cpu")?;
            judging.floor_elapsed = seconds("elapsed")?;
            judging.floor_share = floor.read("share", |n| n.percent(0.0, 50.0))?;
        }
        judging.memory_limit = table.read("memory_limit", |n| memory_limit(n, parameters))?;
        judging.host_class = table.read("host_class", |n| n.choice(&HOST_CLASSES))?.unwrap_or(HostClass::Equal);
        judging.rounds_mode = table.read("rounds_mode", |n| n.choice(&ROUNDS))?.unwrap_or(mode);
        judging.max_lost_attempts = table.read("max_lost_attempts", |n| n.percent(0.0, 100.0))?;
        judging.uncounted_ok =
            table.read("work", |n| n.choice(&[("counted", false), ("uncounted-ok", true)]))?.unwrap_or(false);
        judging.pool_cores = table.read("pool_cores", |n| product(n, parameters))?.unwrap_or_default();
        judging.check(&table)?;
        Ok(judging)
    }

    pub(crate) fn check(&self, table: &Table<'_>) -> Result<(), SuiteError> {
        for (row, total, name) in [(self.cpu, self.total_cpu, "cpu"), (self.elapsed, self.total_elapsed, "elapsed")] {
            if let (Some(row), Some(total)) = (row, total)
                && total > row
            {
                let message =
                    format!("margin.total_{name} is wider than margin.{name}; a sum varies less than its rows");
                return Err(table.unfit(message));
            }
        }
        Ok(())
    }

    /// The parameters that it names.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        let limit = match &self.memory_limit {
            Some(MemoryLimit::Parameter(name)) => Some(name.as_str()),
            _ => None,
        };
        limit.into_iter().chain(self.pool_cores.iter().filter_map(|factor| match factor {
            Factor::Parameter(name) => Some(name.as_str()),
            Factor::Number(_) => None,
        }))
    }

    /// The `config` object of the input contract. Where arms declare different pools, the largest counts: a limit that
    /// only one arm has would make the other look as if it broke it.
    pub(crate) fn config(&self, arms: &[&Values], normalize: Option<Normalize>) -> Json {
        let mut config = Map::new();
        let mut pair = |key: &str, cpu: Option<f64>, elapsed: Option<f64>| {
            let both: Map<String, Json> = [("cpu", cpu), ("elapsed", elapsed)]
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), json!(value?))))
                .collect();
            if !both.is_empty() {
                config.insert(key.to_owned(), Json::Object(both));
            }
        };
        pair("margin", self.cpu, self.elapsed);
        pair("margin_total", self.total_cpu, self.total_elapsed);
        pair("min_value", self.floor_cpu, self.floor_elapsed);
        if let Some(share) = self.floor_share {
            config.insert("min_share".to_owned(), json!(share));
        }
        let limits = arms.iter().map(|values| match &self.memory_limit {
            Some(MemoryLimit::Size(size)) => Some(size.0),
            Some(MemoryLimit::Parameter(name)) => match values.get(name) {
                Some(Value::Bytes(size)) => Some(size.0),
                _ => None,
            },
            None => None,
        });
        if let Some(limit) = limits.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max()) {
            config.insert("mem_limit".to_owned(), json!(limit));
        }
        let cores = |values: &&Values| {
            self.pool_cores.iter().try_fold(1.0, |product, factor| match factor {
                Factor::Number(number) => Some(product * number),
                Factor::Parameter(name) => values.get(name).and_then(Value::number).map(|n| product * n),
            })
        };
        if !self.pool_cores.is_empty()
            && let Some(cores) = arms.iter().map(cores).collect::<Option<Vec<f64>>>()
        {
            let most = cores.into_iter().fold(0.0, f64::max);
            if most > 0.0 {
                config.insert("pool_cores".to_owned(), json!(most));
            }
        }
        config.insert("work".to_owned(), json!(if self.uncounted_ok { "uncounted-ok" } else { "strict" }));
        if let Some(normalize) = normalize {
            let word = match normalize {
                Normalize::Auto => "auto",
                Normalize::None => "none",
                Normalize::Item => "item",
                Normalize::Byte => "byte",
            };
            config.insert("normalize".to_owned(), json!(word));
        }
        Json::Object(config)
    }
}

fn memory_limit(node: &Node<'_>, parameters: &[Parameter]) -> Result<MemoryLimit, SuiteError> {
    let text = node.text()?;
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let size: ByteSize = node.parse()?;
        return if size.0 > 0 { Ok(MemoryLimit::Size(size)) } else { Err(node.refused("more than 0")) };
    }
    let sizes: Vec<&str> =
        parameters.iter().filter(|p| matches!(p.kind, Kind::Bytes { .. })).map(|p| p.name.as_str()).collect();
    if sizes.contains(&text) {
        return Ok(MemoryLimit::Parameter(text.to_owned()));
    }
    let known =
        if sizes.is_empty() { String::new() } else { format!(", or one of the parameters {}", sizes.join(", ")) };
    let near = nearest(text, sizes.iter().copied()).map_or(String::new(), |n| format!("; nearest: {n}"));
    Err(node.refused(format!("a size such as \"16GiB\"{known}{near}")))
}

/// `a*b`: numbers, and parameters that are numbers.
fn product(node: &Node<'_>, parameters: &[Parameter]) -> Result<Vec<Factor>, SuiteError> {
    let numbers: Vec<&str> = parameters
        .iter()
        .filter(|p| matches!(p.kind, Kind::Int { .. } | Kind::Float { .. }))
        .map(|p| p.name.as_str())
        .collect();
    let text = node.text()?;
    let factor = |word: &str| {
        let word = word.trim();
        if numbers.contains(&word) {
            return Ok(Factor::Parameter(word.to_owned()));
        }
        crate::unit::decimal(word).filter(|n| *n > 0.0 && *n <= 1e6).map(Factor::Number).ok_or_else(|| {
            let known = if numbers.is_empty() { String::new() } else { format!(" {}", numbers.join(", ")) };
            let near = nearest(word, numbers.iter().copied()).map_or(String::new(), |n| format!("; nearest: {n}"));
            node.refused(format!("a product of numbers and of the parameters{known}, such as \"a*b\"{near}"))
        })
    };
    let factors = text.split('*').map(factor).collect::<Result<Vec<Factor>, _>>()?;
    if factors.len() <= 8 { Ok(factors) } else { Err(node.refused("at most 8 factors")) }
}
