//! From what somebody asked for to what every arm runs.

use std::collections::BTreeMap;

use domain::arms::Declared;
use domain::ids::ArmName;
use domain::request::{HarnessPolicy, Options, Rounds, TreatmentAsked};
use domain::rounds::RoundMode;
use domain::setting::Setting;
use domain::view::Grade;
use domain::workload::{Field, Known, Workload, WorkloadError};

use crate::cluster::{Cluster, Place, place_of};
use crate::error::nearest;
use crate::policy::REPLACED_ROUNDS;
use crate::preset::{Expect, Looks, Preset};
use crate::step::Command;
use crate::suite::{Backend, Suite};
use crate::template::ArgvError;
use crate::unit::Duration;
use crate::values::{Values, of_pairs};

/// How long the trials of a round may take where the preset does not say.
pub const LIMIT: Duration = Duration(12 * 3_600_000);
/// The name of the treatment where none was asked for.
pub const HEAD: &str = "head";

fn near(nearest: Option<&String>) -> String {
    nearest.map_or(String::new(), |word| format!("; nearest: {word}"))
}

fn presets(allowed: &[String]) -> String {
    if allowed.is_empty() {
        "the suite has no presets".to_owned()
    } else {
        format!("expected one of {}", allowed.join(", "))
    }
}

/// Why a request makes no sense for a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No preset has this name.
    #[error("preset={found}: {}{}", presets(allowed), near(nearest.as_ref()))]
    Preset {
        /// What was asked for.
        found: String,
        /// The presets.
        allowed: Vec<String>,
        /// The nearest.
        nearest: Option<String>,
    },
    /// None of several presets is the default, and none was asked for.
    #[error("this suite has no default preset; say one of preset={}", .0.join(", preset="))]
    NoPreset(Vec<String>),
    /// A key that neither the suite nor the table of keys knows.
    #[error("{key} is not a key; allowed: {}{}", allowed.join(", "), near(nearest.as_ref()))]
    UnknownKey {
        /// The key.
        key: String,
        /// What is allowed: the suite's parameters, then the keys of every suite.
        allowed: Vec<String>,
        /// The nearest.
        nearest: Option<String>,
    },
    /// A value that the parameter does not take.
    #[error("{key}={found}: expected {expected}{}", near(nearest.as_ref()))]
    Value {
        /// The key.
        key: String,
        /// What was found.
        found: String,
        /// What is allowed.
        expected: String,
        /// The nearest word.
        nearest: Option<String>,
    },
    /// A parameter that is given under two keys.
    #[error("{parameter} is given twice, under two keys")]
    Twice {
        /// The parameter.
        parameter: String,
    },
    /// Two parameters of which only one may have a value.
    #[error("{0} and {1} exclude each other")]
    Exclude(String, String),
    /// A parameter without a value.
    #[error("{0} needs a value")]
    Lacking(String),
    /// An environment variable that treatments may not set.
    #[error(
        "treatment={treatment}: env.{variable} may not be set; allowed: {}{}",
        if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") },
        near(nearest.as_ref())
    )]
    Environment {
        /// The treatment.
        treatment: ArmName,
        /// The variable.
        variable: String,
        /// The suite's list.
        allowed: Vec<String>,
        /// The nearest.
        nearest: Option<String>,
    },
    /// A treatment would be computed elsewhere than the control.
    #[error("treatment={0}: another sample may not move the computation to another region")]
    OtherPlace(ArmName),
    /// A sample whose place nobody knows.
    #[error("no locality is known for the sample {sample}; allowed beginnings: {}", allowed.join(", "))]
    Locality {
        /// The sample.
        sample: String,
        /// The prefixes.
        allowed: Vec<String>,
    },
    /// A key that means nothing for the suite's backend.
    #[error("{key} means nothing for a suite that runs on this machine")]
    Meaningless {
        /// The key.
        key: &'static str,
    },
    /// More workers than work.
    #[error("{shards} and {workers}: {few}; say {instead}")]
    Shards {
        /// Shards, and where their number comes from.
        shards: String,
        /// Workers, by the parameter that says so.
        workers: String,
        /// How many shards a worker has, and how many the suite demands.
        few: String,
        /// What could be asked for instead.
        instead: String,
    },
    /// The workload could not be put together.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// What one arm runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The values of the parameters, declared differences included.
    pub values: Values,
    /// Environment variables that it declares.
    pub env: BTreeMap<String, String>,
    /// What must be equal between arms, but for the declared differences.
    pub workload: Workload,
    /// Whether it declares another shape of pool, parallelism or concurrency.
    pub topology: bool,
}

/// A treatment.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedTreatment {
    /// What was asked for.
    pub asked: TreatmentAsked,
    /// What it runs.
    pub arm: Arm,
}

/// A request that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The preset.
    pub preset: Option<String>,
    /// The control arm.
    pub control: Arm,
    /// The treatments; the head as it is where none was asked for.
    pub treatments: Vec<ResolvedTreatment>,
    /// Rounds that were asked for.
    pub rounds: Option<Rounds>,
    looks: Looks,
    /// How the trials of a round lie in time.
    pub mode: RoundMode,
    /// After this time the arms are stopped.
    pub limit: Duration,
    /// Rounds that may be measured anew.
    pub replaced_rounds: u32,
    /// The `config` object of the input contract, without looks, rows and episode.
    pub judging: serde_json::Value,
    /// Where compute goes; `None` on this machine.
    pub place: Option<Place>,
    /// The priority that jobs ask for; `None` on this machine.
    pub priority: Option<String>,
    /// What to do where the change alters the benchmark itself; `None` where the suite names no files.
    pub harness: Option<HarnessPolicy>,
    /// What a clean run of the preset looks like. It holds for the preset's own values.
    pub expect: Expect,
    /// Whether another sample was asked for than that of the preset: the comparison then waits for `confirm` and is
    /// calibrated at best by grade B.
    pub other_sample: bool,
}

impl Resolved {
    /// After which rounds the comparison is looked at. `rows` are those that will be judged. Where so many more rounds
    /// were asked for, the one look stands after those; the rounds done so far are for the caller to add.
    #[must_use]
    pub fn looks(&self, grade: Grade, rows: usize) -> Vec<u64> {
        match self.rounds {
            Some(Rounds::Exactly(rounds) | Rounds::More(rounds)) => vec![u64::from(rounds)],
            None => self.looks.of(grade, rows),
        }
    }
}

/// What every arm of a request runs.
///
/// # Errors
/// The first part of the request that makes no sense for the suite.
pub fn resolve(suite: &Suite, options: &Options) -> Result<Resolved, ResolveError> {
    let preset = preset(suite, options)?;
    let base = preset.map_or_else(|| Values::defaults(&suite.parameters), |p| p.values.clone());
    let mut values = base.clone();
    let pairs = options.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    set(suite, &mut values, pairs)?;
    shards(suite, preset, &values)?;
    let cluster = match &suite.backend {
        Backend::Iris(cluster) => Some(&**cluster),
        Backend::Local(_) if options.priority.is_some() => return Err(ResolveError::Meaningless { key: "priority" }),
        Backend::Local(_) => None,
    };
    let place = cluster.map(|cluster| place(cluster, &values)).transpose()?;
    let control = arm(suite, cluster, place.as_ref(), values.clone(), &Declared::default())?;
    let asked = if options.treatments.is_empty() { vec![head()] } else { options.treatments.clone() };
    let mut treatments = Vec::with_capacity(asked.len());
    for asked in asked {
        if let Some((variable, _)) =
            asked.declared.environment().iter().find(|(name, _)| !suite.rerun.env_allowed.contains(name))
        {
            return Err(ResolveError::Environment {
                treatment: asked.name,
                variable: variable.clone(),
                nearest: nearest(variable, suite.rerun.env_allowed.iter().map(String::as_str)),
                allowed: suite.rerun.env_allowed.clone(),
            });
        }
        let mut own = values.clone();
        let declared = asked.declared.parameters().iter().map(|(key, value)| (key.as_str(), value.as_str()));
        set(suite, &mut own, declared)?;
        shards(suite, preset, &own)?;
        if let Some(cluster) = cluster
            && place.as_ref() != Some(&self::place(cluster, &own)?)
        {
            return Err(ResolveError::OtherPlace(asked.name));
        }
        let arm = arm(suite, cluster, place.as_ref(), own, &asked.declared)?;
        treatments.push(ResolvedTreatment { asked, arm });
    }
    let arms: Vec<&Values> =
        std::iter::once(&control).chain(treatments.iter().map(|t| &t.arm)).map(|a| &a.values).collect();
    let judging = suite.judging.config(&arms, options.normalize);
    Ok(Resolved {
        preset: preset.map(|p| p.name.clone()),
        other_sample: values.get("sample") != base.get("sample"),
        rounds: options.rounds,
        looks: preset.map(|p| p.looks.clone()).unwrap_or_default(),
        mode: suite.judging.rounds_mode,
        limit: preset.and_then(|p| p.limit).unwrap_or(LIMIT),
        replaced_rounds: suite.limits.replaced_rounds.unwrap_or(REPLACED_ROUNDS),
        judging,
        place,
        priority: cluster.map(|c| options.priority.clone().unwrap_or_else(|| c.launcher.priority.clone())),
        harness: suite.harness.as_ref().map(|h| options.harness.unwrap_or(h.policy)),
        expect: preset.map(|p| p.expect).unwrap_or_default(),
        control,
        treatments,
    })
}

/// The treatment where none was asked for.
fn head() -> TreatmentAsked {
    // The word is a name; the parser's own tests cover names of its kind.
    #[allow(clippy::expect_used)]
    let name = HEAD.parse().expect("head is a name of an arm");
    TreatmentAsked { name, commit: None, declared: Declared::default() }
}

fn preset<'s>(suite: &'s Suite, options: &Options) -> Result<Option<&'s Preset>, ResolveError> {
    let names = || suite.presets.iter().map(|p| p.name.clone()).collect::<Vec<String>>();
    match &options.preset {
        Some(name) => suite.preset(name).map(Some).ok_or_else(|| ResolveError::Preset {
            found: name.chars().take(60).collect(),
            nearest: nearest(name, suite.presets.iter().map(|p| p.name.as_str())),
            allowed: names(),
        }),
        None if suite.presets.is_empty() => Ok(None),
        None => suite.presets.iter().find(|p| p.default).map(Some).ok_or_else(|| ResolveError::NoPreset(names())),
    }
}

fn set<'p>(
    suite: &Suite,
    values: &mut Values,
    pairs: impl Iterator<Item = (&'p str, &'p str)>,
) -> Result<(), ResolveError> {
    let level = of_pairs(&suite.parameters, values, pairs)?;
    values.set(&suite.parameters, &level).map_err(|(one, other)| ResolveError::Exclude(one, other))?;
    if let Some(parameter) = values.lacking(&suite.parameters) {
        return Err(ResolveError::Lacking(parameter.name.clone()));
    }
    Ok(())
}

/// A worker without work only costs: the suite says how many shards each has at least. Shards are those that a parameter
/// asks for, and those of the input, as far as the preset knows them: where only the shape of the pool is another one.
fn shards(suite: &Suite, preset: Option<&Preset>, values: &Values) -> Result<(), ResolveError> {
    let Some(limit) = &suite.limits.shards_per_worker else { return Ok(()) };
    let number = |name: &str| values.get(name).and_then(crate::parameter::Value::number);
    let Some(workers) = number(&limit.workers) else { return Ok(()) };
    let needed = (limit.least * workers).ceil();
    let name = &limit.shards;
    let asked = number(name).map(|shards| (shards, format!("{name}={shards}"), format!("{name}={needed} at least")));
    let known = preset.filter(|preset| same_input(suite, preset, values)).and_then(|preset| {
        let shards = f64::from(preset.expect.shards?);
        Some((shards, format!("the {shards} shards of preset={}", preset.name), "another preset".to_owned()))
    });
    let few = asked.into_iter().chain(known).filter(|(shards, ..)| *shards < needed).min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((shards, from, other)) = few else { return Ok(()) };
    let most = (shards / limit.least).floor();
    let fewer = (most >= 1.0).then(|| format!("{}={most} at most", limit.workers));
    let each = format!("{:.2}", shards / workers);
    let each = each.trim_end_matches('0').trim_end_matches('.');
    Err(ResolveError::Shards {
        shards: from,
        workers: format!("{}={workers}", limit.workers),
        few: format!("{each} shards per worker, fewer than {}", limit.least),
        instead: fewer.into_iter().chain([other]).collect::<Vec<String>>().join(" or "),
    })
}

/// Whether these values differ from those of the preset in the shape of the pool at most.
fn same_input(suite: &Suite, preset: &Preset, values: &Values) -> bool {
    let shape = |name: &str| Field::of(name).is_some_and(Field::is_topology);
    suite
        .parameters
        .iter()
        .filter(|parameter| !shape(&parameter.name))
        .all(|parameter| values.get(&parameter.name) == preset.values.get(&parameter.name))
}

fn place(cluster: &Cluster, values: &Values) -> Result<Place, ResolveError> {
    let sample = values.get("sample").map(ToString::to_string).unwrap_or_default();
    place_of(&cluster.localities, &sample).cloned().ok_or_else(|| ResolveError::Locality {
        allowed: cluster.localities.iter().map(|l| l.prefix.clone()).collect(),
        sample,
    })
}

fn arm(
    suite: &Suite,
    cluster: Option<&Cluster>,
    place: Option<&Place>,
    values: Values,
    declared: &Declared,
) -> Result<Arm, ResolveError> {
    let mut workload = Workload::new(&suite.name);
    for field in Field::ALL.iter().filter(|field| **field != Field::Suite) {
        workload.set(*field, Known::Unset);
    }
    for (name, value) in values.iter() {
        workload.set_named(name, Known::Set(value.setting()))?;
    }
    match (&suite.backend, cluster) {
        (Backend::Local(steps), _) => {
            let steps = steps.iter().map(crate::step::Step::canonical).collect();
            workload.set_named("steps", Known::Set(Setting::List(steps)))?;
        }
        (Backend::Iris(_), None) => {}
        (Backend::Iris(_), Some(cluster)) => launcher(&mut workload, cluster, place)?,
    }
    let mut env = BTreeMap::new();
    for (name, value) in declared.environment() {
        workload.set_named(&format!("env.{name}"), Known::Set(Setting::text(value)))?;
        env.insert(name.clone(), value.clone());
    }
    let topology = declared.parameters().iter().any(|(key, _)| Field::of(key).is_some_and(Field::is_topology));
    Ok(Arm { values, env, workload, topology })
}

/// The fields of the launcher. Controller and effective priority are known when the cluster has answered.
fn launcher(workload: &mut Workload, cluster: &Cluster, place: Option<&Place>) -> Result<(), WorkloadError> {
    let launcher = &cluster.launcher;
    let cpu = crate::parameter::Value::Float(launcher.cpu).setting();
    workload.set(Field::LauncherCpu, Known::Set(cpu));
    workload.set(Field::LauncherRam, Known::Set(Setting::size(launcher.ram)));
    workload.set(Field::LauncherDisk, Known::Set(Setting::size(launcher.disk)));
    workload.set(Field::Preemptible, Known::Set(Setting::Flag(launcher.preemptible)));
    workload.set(Field::Controller, Known::Unknown);
    workload.set(Field::Priority, Known::Unknown);
    workload.set(Field::Locality, place.map_or(Known::Unset, |place| Known::Set(Setting::text(place.name()))));
    workload.set_named("launcher_retries_preemption", Known::Set(Setting::whole(launcher.retries.preemption)))?;
    workload.set_named("launcher_retries_failure", Known::Set(Setting::whole(launcher.retries.failure)))?;
    if !launcher.setup.is_empty() {
        workload.set_named("launcher_setup", Known::Set(launcher.setup.setting()))?;
    }
    for (name, value) in &launcher.env {
        workload.set_named(&format!("env.{name}"), Known::Set(Setting::text(value)))?;
    }
    Ok(())
}

impl Suite {
    /// The commands of the steps of one arm; none for a suite that does not run on this machine.
    ///
    /// # Errors
    /// A parameter that a step needs and that has no value.
    pub fn commands(&self, arm: &Arm) -> Result<Vec<Command>, ArgvError> {
        match &self.backend {
            Backend::Local(steps) => steps.iter().map(|step| step.command(&arm.values, &arm.env)).collect(),
            Backend::Iris(_) => Ok(Vec::new()),
        }
    }
}
