//! Which row a stage record belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ExecutionId;

/// How a suite names the step of an execution. Stage names are generic, so that pipelines of different steps share
/// them; a row is therefore (step, stage).
pub trait Steps {
    /// The step that the name in the execution id tells, by the suite's rule.
    fn by_name<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str>;
    /// The step that the execution's list of planned stages tells.
    fn by_plan<'s>(&'s self, execution: &'s ExecutionId) -> Option<&'s str>;
    /// The finest level that the suite has a rule for.
    fn finest(&self) -> RowLevel;
}

/// Rows by stage name alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSteps;

impl Steps for NoSteps {
    fn by_name<'s>(&'s self, _: &'s ExecutionId) -> Option<&'s str> {
        None
    }
    fn by_plan<'s>(&'s self, _: &'s ExecutionId) -> Option<&'s str> {
        None
    }
    fn finest(&self) -> RowLevel {
        RowLevel::Stage
    }
}

/// Where the step of a row comes from, finest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowLevel {
    /// From the name in the execution id.
    Name,
    /// From the planned stage list.
    Plan,
    /// There is no step; rows are stage names.
    Stage,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowKey {
    /// The step, where rows have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The stage name, as it came.
    pub stage: String,
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "{step} · {}", self.stage),
            None => f.write_str(&self.stage),
        }
    }
}

/// The level at which the rows of a comparison were resolved: the finest that every execution of every arm has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The level.
    pub level: RowLevel,
    /// Why it is coarser than the suite's rule, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarser: Option<Coarser>,
}

/// Why rows could not be told apart as finely as the suite's rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coarser {
    /// The level that the suite has a rule for.
    pub wanted: RowLevel,
    /// Executions that lack that level.
    pub lacking: u64,
    /// One of them.
    pub example: ExecutionId,
}
