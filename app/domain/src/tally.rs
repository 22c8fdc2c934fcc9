//! Sums over the records of one trial.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use stats::{Reading, Stage};

use crate::ids::{ExecutionId, IdError};
use crate::record::{ENDED, StageRecord};
use crate::steps::{RowLevel, Steps};

/// Averages of one row in one trial, weighted by shards. Context for readers: never compared, never in a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowContext {
    /// Mean CPU use, percent of a core; `None` where a record lacks it or its shards.
    pub cpu_pct_avg: Option<f64>,
    /// Mean resident memory, bytes; likewise.
    pub mem_bytes_avg: Option<f64>,
}

/// A sum or a maximum that knows whether every record had a usable value.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    value: f64,
    missing: u64,
    bad: bool,
}

impl Total {
    fn add(&mut self, reading: Reading, join: fn(f64, f64) -> f64) {
        match reading {
            // Anybody can write Value(NaN), and a maximum would swallow it.
            Reading::Value(v) if Reading::of(v) != Reading::Bad => self.value = join(self.value, v),
            Reading::Missing => self.missing += 1,
            Reading::Value(_) | Reading::Bad => self.bad = true,
        }
    }

    fn merge(&mut self, other: Self, join: fn(f64, f64) -> f64) {
        self.value = join(self.value, other.value);
        self.missing += other.missing;
        self.bad |= other.bad;
    }

    /// Missing only where every one of `records` was; a part of the values is never passed off as the whole.
    fn reading(self, records: u64) -> Reading {
        match self.missing {
            0 if !self.bad => Reading::of(self.value),
            missing if missing == records => Reading::Missing,
            _ => Reading::Bad,
        }
    }
}

fn plus(a: f64, b: f64) -> f64 {
    a + b
}

/// An average weighted by shards; `lacking` once a record had no value or no shards.
#[derive(Clone, Copy, Debug, Default)]
struct Weighted {
    sum: f64,
    lacking: bool,
}

impl Weighted {
    fn add(&mut self, average: Reading, shards: Reading) {
        match (average, shards) {
            (Reading::Value(average), Reading::Value(shards)) => self.sum += average * shards,
            _ => self.lacking = true,
        }
    }

    fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.lacking |= other.lacking;
    }

    fn over(self, shards: Reading) -> Option<f64> {
        let average = self.sum / shards.positive()?;
        (!self.lacking && average.is_finite()).then_some(average)
    }
}

/// One row of one trial while it is summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell<'a> {
    records: u64,
    cpu: Total,
    elapsed: Total,
    items: Total,
    bytes: Total,
    shards: Total,
    peak: Total,
    cpu_pct: Weighted,
    mem: Weighted,
    not_ended: Option<&'a str>,
}

impl<'a> Cell<'a> {
    fn add(&mut self, record: &'a StageRecord<'_>) {
        self.records += 1;
        self.cpu.add(record.cpu_time_total, plus);
        self.elapsed.add(record.elapsed, plus);
        self.items.add(record.items, plus);
        self.bytes.add(record.bytes_processed, plus);
        self.shards.add(record.total_shards, plus);
        self.peak.add(record.mem_peak_bytes_max, f64::max);
        self.cpu_pct.add(record.cpu_pct_avg, record.total_shards);
        self.mem.add(record.mem_bytes_avg, record.total_shards);
        // A null status is not END: unknown never counts as finished.
        let status = record.status.as_deref().unwrap_or("null");
        if self.not_ended.is_none() && status != ENDED {
            self.not_ended = Some(status);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.cpu.merge(other.cpu, plus);
        self.elapsed.merge(other.elapsed, plus);
        self.items.merge(other.items, plus);
        self.bytes.merge(other.bytes, plus);
        self.shards.merge(other.shards, plus);
        self.peak.merge(other.peak, f64::max);
        self.cpu_pct.merge(other.cpu_pct);
        self.mem.merge(other.mem);
        self.not_ended = self.not_ended.or(other.not_ended);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    pub(crate) fn stage(&self) -> Stage {
        Stage {
            cpu_time_total: self.cpu.reading(self.records),
            elapsed: self.elapsed.reading(self.records),
            items: self.items.reading(self.records),
            bytes_processed: self.bytes.reading(self.records),
            mem_peak_bytes_max: self.peak.reading(self.records),
            total_shards: self.shards.reading(self.records),
            row_executions: Reading::of(self.records as f64),
            not_ended: self.not_ended.map(str::to_owned),
        }
    }

    pub(crate) fn context(&self) -> RowContext {
        RowContext {
            cpu_pct_avg: self.cpu_pct.over(self.shards.reading(self.records)),
            mem_bytes_avg: self.mem.over(self.shards.reading(self.records)),
        }
    }
}

/// An index in a list of this tally. A trial with more than 2^32 executions or stages does not fit into memory.
type Index = u32;

/// A step of an execution at both levels.
type Kind = (Option<Index>, Option<Index>);

struct Execution {
    kind: Index,
    /// The stages seen, the first 64 of them.
    seen: u64,
}

/// The executions that lack a level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lacking {
    pub(crate) count: u64,
    pub(crate) example: Option<ExecutionId>,
}

impl Lacking {
    fn note(&mut self, execution: &ExecutionId) {
        self.count += 1;
        self.example.get_or_insert_with(|| execution.clone());
    }
}

/// The records of one trial, summed as finely as any level may ask for: by both kinds of step, and stage.
#[derive(Default)]
pub(crate) struct Tally<'a> {
    ids: HashMap<&'a str, Index>,
    executions: Vec<Execution>,
    stages: HashMap<&'a str, Index>,
    stage_names: Vec<&'a str>,
    steps: HashMap<String, Index>,
    step_names: Vec<String>,
    kinds: HashMap<Kind, Index>,
    /// By kind, then by stage; shorter than the stages where a kind has not met the last ones.
    cells: Vec<(Kind, Vec<Cell<'a>>)>,
    /// Stages from the 65th on, by execution.
    seen_beyond: std::collections::HashSet<(Index, Index)>,
    /// The same execution and stage more than once, in the order of the records.
    pub(crate) duplicates: Vec<(&'a str, &'a str)>,
    pub(crate) without_name: Lacking,
    pub(crate) without_plan: Lacking,
}

impl<'a> Tally<'a> {
    /// Sums `records`.
    pub(crate) fn of(records: &'a [StageRecord<'_>], steps: &impl Steps) -> Result<Self, IdError> {
        let mut tally = Self::default();
        // Records mostly come in runs of one execution; the last one is remembered to look up each run once.
        let mut last: Option<(&str, Index)> = None;
        for record in records {
            let id: &'a str = &record.execution_id;
            let execution = match last {
                Some((text, index)) if text == id => index,
                _ => tally.execution(id, steps)?,
            };
            last = Some((id, execution));
            let stage = tally.stage(&record.stage_name);
            if tally.seen_before(execution, stage) {
                tally.duplicates.push((id, &record.stage_name));
                continue;
            }
            let kind = tally.executions[execution as usize].kind;
            let cells = &mut tally.cells[kind as usize].1;
            if cells.len() <= stage as usize {
                cells.resize_with(stage as usize + 1, Cell::default);
            }
            cells[stage as usize].add(record);
        }
        Ok(tally)
    }

    /// The executions.
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = &'a str> {
        self.ids.keys().copied()
    }

    /// Every non-empty cell with its step at `level` and its stage, in the order of first appearance.
    pub(crate) fn rows(&self, level: RowLevel) -> impl Iterator<Item = (Option<&str>, &'a str, &Cell<'a>)> {
        self.cells.iter().flat_map(move |((name, plan), cells)| {
            let step = match level {
                RowLevel::Name => *name,
                RowLevel::Plan => *plan,
                RowLevel::Stage => None,
            };
            let step = step.map(|index| self.step_names[index as usize].as_str());
            cells
                .iter()
                .zip(&self.stage_names)
                .filter(|(cell, _)| !cell.is_empty())
                .map(move |(c, stage)| (step, *stage, c))
        })
    }

    fn execution(&mut self, id: &'a str, steps: &impl Steps) -> Result<Index, IdError> {
        if let Some(index) = self.ids.get(id) {
            return Ok(*index);
        }
        let parsed: ExecutionId = id.parse()?;
        let name = steps.by_name(&parsed).map(|step| self.step(step));
        let plan = steps.by_plan(&parsed).map(|step| self.step(step));
        if name.is_none() {
            self.without_name.note(&parsed);
        }
        if plan.is_none() {
            self.without_plan.note(&parsed);
        }
        let next = index(self.cells.len());
        let kind = *self.kinds.entry((name, plan)).or_insert(next);
        if kind == next {
            self.cells.push(((name, plan), Vec::new()));
        }
        let execution = index(self.executions.len());
        self.ids.insert(id, execution);
        self.executions.push(Execution { kind, seen: 0 });
        Ok(execution)
    }

    fn step(&mut self, step: &str) -> Index {
        if let Some(index) = self.steps.get(step) {
            return *index;
        }
        let next = index(self.step_names.len());
        self.steps.insert(step.to_owned(), next);
        self.step_names.push(step.to_owned());
        next
    }

    fn stage(&mut self, stage: &'a str) -> Index {
        // Comparing a few names is quicker than hashing one.
        if let Some(found) = self.stage_names.iter().take(16).position(|name| *name == stage) {
            return index(found);
        }
        let next = index(self.stage_names.len());
        let found = *self.stages.entry(stage).or_insert(next);
        if found == next {
            self.stage_names.push(stage);
        }
        found
    }

    fn seen_before(&mut self, execution: Index, stage: Index) -> bool {
        if stage >= 64 {
            return !self.seen_beyond.insert((execution, stage));
        }
        let seen = &mut self.executions[execution as usize].seen;
        let before = *seen & (1 << stage) != 0;
        *seen |= 1 << stage;
        before
    }
}

#[allow(clippy::cast_possible_truncation)] // see Index
fn index(length: usize) -> Index {
    length as Index
}
