//! The answers of a cluster as the rows of trials.
//!
//! Pure, and in two steps: every trial is read by itself, then all of them become rows together, because a row is
//! resolved as finely as every execution of every trial allows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use domain::assemble::AssembleError as Joint;
use domain::ids::ExecutionId;
use domain::ports::Answer;
use domain::record::StageRecord;
use domain::stats::{Event, Reading, Reason, Trial};
use domain::steps::{Coarser, RowLevel, Steps};
use domain::tally::RowContext;
use regex::Regex;
use serde_json::Value;

use super::executions::{Broken, Executions, executions, logged};
use crate::iris::answers::{Answers, Grid, JOB, JobAnswer, STAGES, Told};
use crate::iris::launch::band_word;
use crate::iris::rules::{Hosts, Rules};
use crate::iris::tree::is_workers;

/// Why answers are no trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The reason that it makes.
    pub reason: Reason,
    /// What is wrong, in words.
    pub problem: String,
}

fn unusable(reason: Reason, problem: impl Into<String>) -> Unusable {
    Unusable { reason, problem: problem.into() }
}

/// What is known of a trial beside its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The priority in force, which may be another one than was asked for.
    pub priority: Option<String>,
    /// How many workers ran on each kind of machine; empty where that is not known of every worker.
    pub hosts: BTreeMap<String, u64>,
    /// The zones of those machines.
    pub zones: BTreeSet<String>,
    /// Largest memory of a task, MiB.
    pub peak_task_mib: Option<u64>,
    /// Shards that were tried again.
    pub retried_shards: u64,
    /// Attempts at workers that failed and were made again.
    pub retried_workers: u64,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// One trial, read.
#[derive(Clone, Debug)]
pub struct ClusterTrial {
    /// Its stage records, copies from other clusters taken out.
    pub records: Vec<StageRecord<'static>>,
    /// Its executions.
    pub executions: Executions,
    /// What happened to it.
    pub events: Vec<(Event, u64)>,
    /// What else is known.
    pub facts: Facts,
}

/// Reads the answers of one trial.
///
/// # Errors
/// What makes them useless, with its reason. Nothing that is absent is made up.
pub fn read(files: &[Answer], rules: &Rules) -> Result<ClusterTrial, Unusable> {
    let answers =
        Answers::read(files).map_err(|(name, why)| unusable(Reason::SchemaDrift, format!("{name}: {why}")))?;
    if answers.job.is_none() && answers.named.is_none() {
        return Err(unusable(Reason::RowsMissing, format!("{JOB} is missing")));
    }
    let pattern = rules.line_pattern().map_err(|why| unusable(Reason::SchemaDrift, why))?;
    let root = answers.job.as_ref().map_or("", |job| job.root.job.job_id.as_str());
    let executions = executions(&answers, root, pattern.as_ref());
    match &executions.broken {
        None => {}
        Some(Broken::Plan(id)) => {
            return Err(unusable(Reason::SchemaDrift, format!("the planned stages of {id} cannot be read")));
        }
        Some(Broken::Twice(id)) => {
            return Err(unusable(Reason::DuplicateRows, format!("{id} is there with two different plans")));
        }
    }
    let grid = match &answers.stages {
        Some(Told::Grid(grid)) => grid,
        Some(Told::Absent { absent }) if absent.contains("Schema error") => {
            return Err(unusable(Reason::SchemaDrift, absent.clone()));
        }
        Some(Told::Absent { absent }) => return Err(unusable(Reason::RowsMissing, absent.clone())),
        None => return Err(unusable(Reason::RowsMissing, format!("{STAGES} is missing"))),
    };
    let records = records(grid, rules)?;
    let missing = lacking(&executions, &records);
    if !missing.is_empty() {
        let listed: Vec<&str> = missing.iter().take(3).map(String::as_str).collect();
        let problem = format!("{} expected and not there: {}", missing.len(), listed.join("; "));
        return Err(unusable(Reason::RowsMissing, problem));
    }
    let losses = answers.job.as_ref().map(JobAnswer::losses).unwrap_or_default();
    let mut facts = facts(&answers, rules);
    facts.priority = answers.job.as_ref().and_then(|job| band_word(&job.root.request.priority_band));
    facts.retried_workers = losses.again;
    facts.remarks.extend(executions.remarks.iter().cloned());
    let partly = answers.job.as_ref().is_some_and(|job| !job.complete);
    if partly {
        facts
            .remarks
            .push("the job has more descendants than were looked at: what happened to them is not known".to_owned());
    }
    let unplanned = unplanned(&executions, &records);
    if unplanned > 0 {
        facts.remarks.push(format!("{unplanned} stage records belong to no planned stage"));
    }
    // How often one job ran out of memory says nothing about how often the program does.
    let events = vec![
        (Event::ChurnElapsed, losses.workers),
        (Event::Oom, losses.oom.min(1)),
        (Event::UnknownFailure, u64::from(partly)),
    ];
    Ok(ClusterTrial { records, executions, events, facts })
}

/// What the answers of an ended job still lack, each in words. Nothing is missing where every planned stage of every
/// execution has its record, or where an execution whose plan is not known has one at all.
///
/// # Errors
/// Answers that cannot be read.
pub fn missing(answers: &Answers, rules: &Rules) -> Result<Vec<String>, String> {
    let root = answers.job.as_ref().map(|job| job.root.job.job_id.as_str()).unwrap_or_default();
    let pattern = rules.line_pattern()?;
    let executions = executions(answers, root, pattern.as_ref());
    if executions.broken.is_some() {
        // More of it would not help.
        return Ok(Vec::new());
    }
    if executions.planned.is_empty() {
        return Ok(vec!["no execution of this job is known".to_owned()]);
    }
    match &answers.stages {
        Some(Told::Grid(grid)) => match records(grid, rules) {
            Ok(records) => Ok(lacking(&executions, &records)),
            // There, and of no use: more of it would not help.
            Err(_) => Ok(Vec::new()),
        },
        Some(Told::Absent { absent }) if absent.contains("Schema error") => Ok(Vec::new()),
        Some(Told::Absent { absent }) => Ok(vec![absent.clone()]),
        None => Ok(vec!["no stage records".to_owned()]),
    }
}

fn lacking(executions: &Executions, records: &[StageRecord<'_>]) -> Vec<String> {
    let observed: BTreeSet<(&str, &str)> =
        records.iter().map(|record| (&*record.execution_id, &*record.stage_name)).collect();
    let mut missing = Vec::new();
    for (id, stages) in &executions.planned {
        match stages {
            Some(stages) if !stages.is_empty() => {
                let absent = stages.iter().filter(|stage| !observed.contains(&(id.as_str(), stage.as_str())));
                missing.extend(absent.map(|stage| format!("{id} {stage}")));
            }
            // Without a plan, or with one of nothing, one record shows that it ran at all.
            _ if !observed.iter().any(|(execution, _)| *execution == id.as_str()) => {
                missing.push(format!("{id}: every record"));
            }
            _ => {}
        }
    }
    if executions.planned.is_empty() {
        missing.push("every execution".to_owned());
    }
    missing
}

fn unplanned(executions: &Executions, records: &[StageRecord<'_>]) -> usize {
    let planned = |record: &&StageRecord<'_>| {
        let id: Option<ExecutionId> = record.execution_id.parse().ok();
        match id.and_then(|id| executions.planned.get(&id)) {
            Some(Some(stages)) => stages.iter().any(|stage| *stage == record.stage_name),
            Some(None) => true,
            None => false,
        }
    };
    records.iter().filter(|record| !planned(record)).count()
}

/// By execution and stage: the rows and what they say.
type Copies<'g> = BTreeMap<(String, String), Vec<(&'g Vec<Value>, StageRecord<'static>)>>;

/// The stage records of a table. The same record from several clusters counts once; a repeated one is an error.
fn records(grid: &Grid, rules: &Rules) -> Result<Vec<StageRecord<'static>>, Unusable> {
    let absent: Vec<&str> =
        rules.required.iter().map(String::as_str).filter(|column| grid.column(column).is_none()).collect();
    let nothing = grid.columns.is_empty() && grid.rows.is_empty();
    if !absent.is_empty() && !nothing {
        let problem = format!("the stage records have no column {}", absent.join(", "));
        return Err(unusable(Reason::SchemaDrift, problem));
    }
    let cluster = grid.column("cluster");
    let mut copies: Copies<'_> = BTreeMap::new();
    let mut order = Vec::new();
    for row in &grid.rows {
        let (Some(id), Some(stage)) = (grid.text(row, "execution_id"), grid.text(row, "stage_name")) else {
            return Err(unusable(Reason::SchemaDrift, "a stage record has no execution or no stage"));
        };
        let record = record(grid, row, id, stage);
        let key = (id.to_owned(), stage.to_owned());
        let known = copies.entry(key.clone()).or_default();
        if known.is_empty() {
            order.push(key);
        }
        let of = |row: &Vec<Value>| cluster.and_then(|at| row.get(at)).cloned().unwrap_or_default();
        // A record that is passed on to another cluster is there once for each cluster.
        let copy = known.iter().any(|(other, kept)| of(other) != of(row) && *kept == record);
        let twice = known.iter().any(|(other, _)| of(other) == of(row));
        if !known.is_empty() && (twice || !copy) {
            let stage: String = stage.chars().take(60).collect();
            return Err(unusable(Reason::DuplicateRows, format!("{id} has more than one record of {stage:?}")));
        }
        known.push((row, record));
    }
    let first = |key: (String, String)| copies.get_mut(&key).and_then(|all| (!all.is_empty()).then(|| all.remove(0).1));
    Ok(order.into_iter().filter_map(first).collect())
}

fn record(grid: &Grid, row: &[Value], id: &str, stage: &str) -> StageRecord<'static> {
    let reading = |column: &str| match grid.column(column).and_then(|at| row.get(at)) {
        None | Some(Value::Null) => Reading::Missing,
        Some(Value::Number(number)) => number.as_f64().map_or(Reading::Bad, Reading::of),
        Some(_) => Reading::Bad,
    };
    StageRecord {
        execution_id: Cow::Owned(id.to_owned()),
        stage_name: Cow::Owned(stage.to_owned()),
        status: grid.text(row, "status").map(|status| Cow::Owned(status.to_owned())),
        elapsed: reading("elapsed"),
        cpu_time_total: reading("cpu_time_total"),
        items: reading("items"),
        bytes_processed: reading("bytes_processed"),
        total_shards: reading("total_shards"),
        mem_peak_bytes_max: reading("mem_peak_bytes_max"),
        mem_bytes_avg: reading("mem_bytes_avg"),
        cpu_pct_avg: reading("cpu_pct_avg"),
    }
}

/// What the tables beside the records say.
fn facts(answers: &Answers, rules: &Rules) -> Facts {
    let mut facts = Facts::default();
    match &answers.tasks {
        Some(Told::Grid(grid)) => {
            let mut workers: BTreeMap<&str, Option<String>> = BTreeMap::new();
            for row in &grid.rows {
                let peak = grid.integer(row, "peak_mib").and_then(|mib| u64::try_from(mib).ok());
                facts.peak_task_mib = facts.peak_task_mib.max(peak);
                // Where the launcher and the coordinator run does not change what the workers measure.
                let Some(task) = grid.text(row, "task_id") else { continue };
                if !task.rsplit_once('/').is_some_and(|(job, _)| is_workers(job)) {
                    continue;
                }
                // The last attempt at a task is the one that measured.
                workers.insert(task, host(grid, row));
                facts.zones.extend(grid.text(row, "zone").filter(|zone| !zone.is_empty()).map(str::to_owned));
            }
            let known: Option<Vec<String>> = workers.values().cloned().collect();
            match known {
                Some(known) if known.len() as u64 >= expected_workers(answers) => {
                    for host in known {
                        *facts.hosts.entry(host).or_default() += 1;
                    }
                }
                _ => facts.remarks.push("the machines of some workers are not known".to_owned()),
            }
        }
        Some(Told::Absent { .. }) | None if rules.hosts == Hosts::Ignore => {}
        Some(Told::Absent { .. }) | None => facts.remarks.push("the machines are not known".to_owned()),
    }
    let lines = answers.lines.iter().flatten().filter(|line| line.source == "stderr");
    facts.retried_shards = lines.map(|line| retried(&line.text)).fold(0, u64::saturating_add);
    facts
}

/// How many workers the job had, by what the controller says of its groups of workers.
fn expected_workers(answers: &Answers) -> u64 {
    let jobs = answers.job.iter().flat_map(|job| &job.descendants).filter(|job| is_workers(&job.job_id));
    jobs.map(|job| u64::try_from(job.task_count).unwrap_or(0)).sum()
}

/// Whether the machines of a trial are known, or need not be.
#[must_use]
pub fn knows_hosts(answers: &Answers, rules: &Rules) -> bool {
    rules.hosts == Hosts::Ignore || !facts(answers, rules).hosts.is_empty()
}

/// The kind of a machine: what makes a second of its CPU time another unit.
fn host(grid: &Grid, row: &[Value]) -> Option<String> {
    let kind = grid.text(row, "device_type").filter(|kind| !kind.is_empty())?;
    let cores = grid.integer(row, "cpu_count").filter(|cores| *cores > 0)?;
    let variant = grid.text(row, "device_variant").filter(|variant| !variant.is_empty());
    let memory = grid.integer(row, "memory_bytes").map_or(String::new(), |bytes| format!(", {} GiB", bytes >> 30));
    let name = variant.map_or_else(|| kind.to_owned(), |variant| format!("{kind} {variant}"));
    Some(format!("{name}, {cores} CPUs{memory}"))
}

/// The shards that a line of the log says were tried again: `Shards retried (attempts: shard count): {1: 2, 2: 1}`.
fn retried(text: &str) -> u64 {
    let said = logged(text).and_then(|said| said.split_once("Shards retried (attempts: shard count): {"));
    let Some((_, counts)) = said else { return 0 };
    let counts = counts.split('}').next().unwrap_or_default();
    let counts = counts.split(',').filter_map(|pair| pair.split_once(':')?.1.trim().parse::<u64>().ok());
    counts.fold(0, u64::saturating_add)
}

/// A trial with its rows.
#[derive(Clone, Debug)]
pub struct Rows {
    /// What is judged.
    pub trial: Trial,
    /// Names of rows whose items and bytes count output paths.
    pub paths_only: Vec<String>,
    /// Averages of each row, as context.
    pub context: Vec<(String, RowContext)>,
}

/// The rows of all trials of a comparison, in the order of the argument, and why they are coarser than the suite's rule,
/// where they are.
#[must_use]
pub fn rows(trials: &[&ClusterTrial], rules: &Rules) -> (Vec<Result<Rows, Unusable>>, Option<Coarser>) {
    let records: Vec<&[StageRecord<'_>]> = trials.iter().map(|trial| &trial.records[..]).collect();
    let steps = match SuiteSteps::of(trials, rules) {
        Ok(steps) => steps,
        Err(why) => {
            let all = trials.iter().map(|_| Err(unusable(Reason::SchemaDrift, why.clone()))).collect();
            return (all, None);
        }
    };
    match domain::assemble::assemble(&records, &steps) {
        Ok(assembly) => {
            let all = assembly.trials.into_iter().zip(trials).map(|(assembled, trial)| {
                let mut rows = Rows { trial: assembled.trial, paths_only: Vec::new(), context: Vec::new() };
                let names = rows.trial.stages.iter().zip(&assembled.rows);
                let paths = names.filter(|(_, (key, _))| rules.is_paths_only(&key.stage));
                rows.paths_only = paths.map(|((name, _), _)| name.clone()).collect();
                let names = rows.trial.stages.iter().zip(&assembled.rows);
                rows.context = names.map(|((name, _), (_, context))| (name.clone(), *context)).collect();
                rows.trial.executions = Some(trial.executions.planned.len() as u64);
                for (event, count) in &trial.events {
                    rows.trial.events.set(*event, *count);
                }
                Ok(rows)
            });
            (all.collect(), assembly.resolution.coarser)
        }
        Err(error) => {
            let reason = match &error {
                Joint::Duplicates { .. } | Joint::SharedExecution { .. } => Reason::DuplicateRows,
                Joint::ExecutionId { .. } | Joint::AmbiguousRow { .. } | Joint::ReservedRow => Reason::SchemaDrift,
            };
            (trials.iter().map(|_| Err(unusable(reason, error.to_string()))).collect(), None)
        }
    }
}

/// How a suite names the step of an execution.
struct SuiteSteps {
    pattern: Option<Regex>,
    plans: BTreeMap<ExecutionId, String>,
    finest: RowLevel,
}

impl SuiteSteps {
    fn of(trials: &[&ClusterTrial], rules: &Rules) -> Result<Self, String> {
        let pattern = rules.step_pattern()?;
        let mut plans = BTreeMap::new();
        if rules.by_plan {
            for (id, stages) in trials.iter().flat_map(|trial| &trial.executions.planned) {
                if let Some(stages) = stages {
                    plans.insert(id.clone(), plan_name(stages));
                }
            }
        }
        let finest = match (&pattern, rules.by_plan) {
            (Some(_), _) => RowLevel::Name,
            (None, true) => RowLevel::Plan,
            (None, false) => RowLevel::Stage,
        };
        Ok(Self { pattern, plans, finest })
    }
}

/// What executions with the same planned stages are called together: their stages without the numbers.
fn plan_name(stages: &[String]) -> String {
    let label = |stage: &str| match stage.split_once('-') {
        Some((number, label)) if number.starts_with("stage") => label.to_owned(),
        _ => stage.to_owned(),
    };
    stages.iter().map(|stage| label(stage)).collect::<Vec<_>>().join(" + ")
}

impl Steps for SuiteSteps {
    fn by_name<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
        Some(self.pattern.as_ref()?.captures(execution.as_str())?.name("step")?.as_str())
    }

    fn by_plan<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str> {
        self.plans.get(execution).map(String::as_str)
    }

    fn finest(&self) -> RowLevel {
        self.finest
    }
}
