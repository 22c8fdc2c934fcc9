//! Limits, re-running, and what to do where a change alters the benchmark itself.

pub use domain::ports::Notify;
pub use domain::pull::OnPush;
use domain::request::HarnessPolicy;

use crate::cluster::is_variable;
use crate::error::SuiteError;
use crate::generation::inner_path;
use crate::node::Node;
use crate::parameter::{Kind, Parameter};
use crate::unit::Duration;

/// What may be spent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU hours above which a run waits for `confirm`.
    pub confirm_above: Option<f64>,
    /// For one pull request.
    pub per_pull_request: Budget,
    /// For one person, wherever they ask.
    pub per_person: Budget,
    /// For one repository, whoever asks.
    pub per_repository: Budget,
    /// Rounds of a run that may be measured anew.
    pub replaced_rounds: Option<u32>,
    /// How many shards a worker has at least.
    pub shards_per_worker: Option<ShardsPerWorker>,
}

/// More workers than work only cost.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardsPerWorker {
    /// Fewest shards per worker that make sense.
    pub least: f64,
    /// The parameter that says how many shards there are where a step makes its own.
    pub shards: String,
    /// The parameter that says how many workers there are.
    pub workers: String,
}

impl ShardsPerWorker {
    fn read(node: &Node<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        let table = node.table(&["min", "shards", "workers"])?;
        let numbers: Vec<&str> = parameters
            .iter()
            .filter(|parameter| matches!(parameter.kind, Kind::Int { .. } | Kind::Float { .. }))
            .map(|parameter| parameter.name.as_str())
            .collect();
        let name = |key: &str, usual: &str| {
            let named = table.read(key, |n| match n.text()? {
                name if numbers.contains(&name) => Ok(name.to_owned()),
                other => Err(n.no_word(other, &numbers)),
            })?;
            Ok(named.unwrap_or_else(|| usual.to_owned()))
        };
        Ok(Self {
            least: table.need("min", "fewest shards per worker")?.number_of(0.0, 1e6)?,
            shards: name("shards", "parallelism")?,
            workers: name("workers", "pool_workers")?,
        })
    }
}

/// What may be spent in any 24 hours. Runs of all suites count, each as what it used, or as what it is expected to use
/// while that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// CPU hours.
    pub cpu_hours_per_day: Option<f64>,
    /// Runs.
    pub runs_per_day: Option<u32>,
}

/// Rounds that may be measured anew where the suite does not say.
pub const REPLACED_ROUNDS: u32 = 3;

impl Limits {
    pub(crate) fn read(node: &Node<'_>, parameters: &[Parameter]) -> Result<Self, SuiteError> {
        let table = node.table(&[
            "confirm_above",
            "per_pull_request",
            "per_person",
            "per_repository",
            "replaced_rounds",
            "shards_per_worker",
        ])?;
        let hours = |n: &Node<'_>| n.number_of(0.0, 1e9);
        let budget = |n: &Node<'_>| {
            let table = n.table(&["cpu_hours_per_day", "runs_per_day"])?;
            Ok(Budget {
                cpu_hours_per_day: table.read("cpu_hours_per_day", hours)?,
                runs_per_day: table.read("runs_per_day", |n| n.count(0, 100_000))?,
            })
        };
        let confirm_above = table.read("confirm_above", |n| {
            n.table(&["cpu_hours"])?.need("cpu_hours", "CPU hours of a run that need no confirmation").and_then(hours)
        })?;
        Ok(Self {
            confirm_above,
            per_pull_request: table.read("per_pull_request", budget)?.unwrap_or_default(),
            per_person: table.read("per_person", budget)?.unwrap_or_default(),
            per_repository: table.read("per_repository", budget)?.unwrap_or_default(),
            replaced_rounds: table.read("replaced_rounds", |n| n.count(0, 20))?,
            shards_per_worker: table.read("shards_per_worker", |n| ShardsPerWorker::read(n, parameters))?,
        })
    }
}

impl From<Budget> for domain::budget::Limit {
    fn from(budget: Budget) -> Self {
        Self { cpu_hours: budget.cpu_hours_per_day, runs: budget.runs_per_day }
    }
}

impl From<&Limits> for domain::budget::Limits {
    fn from(limits: &Limits) -> Self {
        Self {
            pull_request: limits.per_pull_request.into(),
            person: limits.per_person.into(),
            repository: limits.per_repository.into(),
        }
    }
}

/// Re-running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerun {
    /// What a push does.
    pub on_push: OnPush,
    /// How long a head must stand before it is measured.
    pub debounce: Duration,
    /// How somebody is told.
    pub notify: Notify,
    /// Checks that must be green on the head before anything is launched.
    pub require_checks: Vec<String>,
    /// Environment variables that a treatment may set.
    pub env_allowed: Vec<String>,
}

impl Default for Rerun {
    fn default() -> Self {
        Self {
            on_push: OnPush::Auto,
            debounce: Duration(600_000),
            notify: Notify::Reply,
            require_checks: Vec::new(),
            env_allowed: Vec::new(),
        }
    }
}

pub(crate) const ON_PUSH: [(&str, OnPush); 4] =
    [("auto", OnPush::Auto), ("supersede", OnPush::Supersede), ("finish", OnPush::Finish), ("off", OnPush::Off)];
pub(crate) const NOTIFY: [(&str, Notify); 3] =
    [("reply", Notify::Reply), ("repost", Notify::Repost), ("none", Notify::None)];

/// Reads whether pushes to forks are measured by themselves. They are not; whoever looks for it may say so.
pub(crate) fn never(node: &Node<'_>) -> Result<(), SuiteError> {
    if node.flag()? {
        Err(node.unfit("a push to a fork is never measured by itself: nobody has read it"))
    } else {
        Ok(())
    }
}

impl Rerun {
    pub(crate) fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = node.table(&["on_push", "debounce", "forks", "notify", "require_checks", "env_allowed"])?;
        let other = Self::default();
        let variable = |n: &Node<'_>| match n.text()? {
            name if is_variable(name) => Ok(name.to_owned()),
            _ => Err(n.refused("the name of an environment variable: 1 to 40 characters A-Z, a-z, 0-9, _")),
        };
        table.read("forks", never)?;
        Ok(Self {
            on_push: table.read("on_push", |n| n.choice(&ON_PUSH))?.unwrap_or(other.on_push),
            debounce: table.read("debounce", |n| n.duration(0))?.unwrap_or(other.debounce),
            notify: table.read("notify", |n| n.choice(&NOTIFY))?.unwrap_or(other.notify),
            require_checks: table
                .read("require_checks", |n| n.texts("a list of names of checks", Node::line))?
                .unwrap_or_default(),
            env_allowed: table
                .read("env_allowed", |n| n.texts("a list of environment variables", variable))?
                .unwrap_or_default(),
        })
    }
}

/// The files that are the ruler itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    /// Paths inside the repository.
    pub paths: Vec<String>,
    /// What to do where a change alters one of them.
    pub policy: HarnessPolicy,
}

impl Harness {
    pub(crate) fn read(node: &Node<'_>) -> Result<Self, SuiteError> {
        let table = node.table(&["paths", "policy"])?;
        let policies = [HarnessPolicy::Control, HarnessPolicy::Refuse].map(|policy| (policy.word(), policy));
        Ok(Self {
            paths: table
                .need("paths", "the files of the benchmark")?
                .texts("a list of paths inside the repository", inner_path)?,
            policy: table.read("policy", |n| n.choice(&policies))?.unwrap_or(HarnessPolicy::Control),
        })
    }
}
