//! What the stores have of a job that may still run: for who wants to know whether anything arrives, not for judging.

use domain::ids::{ExecutionId, JobId};
use domain::ports::Unreachable;

use super::answers::Told;
use super::collect::ids;
use super::rules::Rules;
use super::{IrisLab, outside, queries, unreachable};
use crate::assemble::executions::named_in_log;

/// What is there so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The executions of the job.
    pub executions: Vec<ExecutionId>,
    /// Whether the table of executions named them; else the log did.
    pub in_table: bool,
    /// Their stage records.
    pub records: Vec<Record>,
    /// Why there is no table of stage records, in the server's words: hostile text.
    pub absent: Option<String>,
}

/// A stage record. All of it is hostile text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its execution.
    pub execution: String,
    /// The stage.
    pub stage: String,
    /// `END` or `FAILED`.
    pub status: String,
}

impl IrisLab {
    /// What is there so far of a job.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn seen(&self, rules: &Rules, job: &JobId) -> Result<Seen, Unreachable> {
        let id = outside(job).map_err(unreachable)?;
        let mut seen = Seen::default();
        if rules.asks_table()
            && let Told::Grid(grid) =
                self.told(&queries::executions(&id, &[]).map_err(unreachable)?).await.map_err(unreachable)?
        {
            let own = grid.rows.iter().filter(|row| grid.text(row, "root_job_id") == Some(id.as_str()));
            seen.executions =
                own.filter_map(|row| grid.text(row, "execution_id")?.parse::<ExecutionId>().ok()).collect();
            seen.in_table = !seen.executions.is_empty();
        }
        if seen.executions.is_empty()
            && rules.asks_logs()
            && let Some(pattern) = rules.line_pattern().map_err(unreachable)?
        {
            let lines = self.lines(&id, pattern.as_str()).await.map_err(unreachable)?;
            seen.executions = named_in_log(&lines, id.as_str(), &pattern);
        }
        if seen.executions.is_empty() {
            return Ok(seen);
        }
        let select = queries::stages(&ids(seen.executions.iter())).map_err(unreachable)?;
        match self.told(&select).await.map_err(unreachable)? {
            Told::Grid(grid) => {
                let text = |row: &[serde_json::Value], column| grid.text(row, column).unwrap_or_default().to_owned();
                let record = |row: &Vec<serde_json::Value>| Record {
                    execution: text(row, "execution_id"),
                    stage: text(row, "stage_name"),
                    status: text(row, "status"),
                };
                seen.records = grid.rows.iter().map(record).collect();
            }
            Told::Absent { absent } => seen.absent = Some(absent),
        }
        Ok(seen)
    }

    /// The last lines of the log of a job's own task as they are now: hostile text. None where the store does not
    /// answer.
    pub async fn last_lines(&self, job: &JobId) -> Vec<String> {
        match outside(job) {
            Ok(id) => self.tail_now(job, &id).await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }
}
