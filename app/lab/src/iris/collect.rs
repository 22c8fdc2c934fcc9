//! The measurements of a job that has ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::{ExecutionId, JobId};
use domain::ports::{Answer, Collected};
use marin::finelog::{LogQuery, LogSource};
use marin::sql::Select;
use marin::{Code, Error};

use super::answers::{Answers, Grid, LOG_TAIL, Line, Told};
use super::rules::Rules;
use super::{IrisLab, outside, queries};
use crate::assemble::cluster::{knows_hosts, missing};
use crate::assemble::executions::{executions, named_in_log};

/// Pages of log lines that are read; ten thousand lines each.
const PAGES: usize = 5;
/// Characters of a line that are kept.
const LINE: usize = 1000;
/// Before the job was launched: clocks differ.
const SLACK_MS: i64 = 60_000;
/// The line that tells how many shards were tried again; for people.
const RETRIED: &str = r"Shards retried \(attempts";

/// Why there are no answers yet.
enum Lacking {
    /// A server does not answer: ask again.
    Unavailable(String),
    /// The controller answers and does not know the job.
    Unknown(String),
}

impl Lacking {
    fn of(error: &Error) -> Self {
        if error.is_not_found() { Self::Unknown(error.to_string()) } else { Self::Unavailable(error.to_string()) }
    }
}

impl IrisLab {
    /// The answers of a job that has ended. Only a repeated probe is cheap: the stage records are asked for again, and
    /// everything else only where they have changed.
    pub(super) async fn ask(&self, rules: &Rules, job: &JobId, probe: u32) -> Collected {
        let id = match outside(job) {
            Ok(id) => id,
            Err(why) => return Collected::Unavailable(why),
        };
        let before = if probe > 1 { self.recall(job).answers } else { None };
        let answers = match before {
            Some(before) => match self.again(rules, &id, &before).await {
                Ok(true) => Ok(before),
                Ok(false) => self.all(rules, job, &id).await,
                Err(error) => Err(Lacking::of(&error)),
            },
            None => self.all(rules, job, &id).await,
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(Lacking::Unavailable(why)) => return Collected::Unavailable(why),
            Err(Lacking::Unknown(why)) => return Collected::Incomplete(Vec::new(), vec![why]),
        };
        let mut files = answers.written();
        if let Some(tail) = self.recall(job).tail {
            files.push(Answer { name: LOG_TAIL.to_owned(), bytes: (tail.join("\n") + "\n").into_bytes() });
        }
        match missing(&answers, rules) {
            Ok(missing) if missing.is_empty() => {
                // Machines that are not there yet are asked for again with everything else.
                let whole = knows_hosts(&answers, rules);
                self.remember(job, |known| known.answers = Some(answers).filter(|_| whole));
                Collected::Complete(files)
            }
            Ok(missing) => Collected::Incomplete(files, missing),
            Err(why) => Collected::Incomplete(files, vec![why]),
        }
    }

    /// The answers of executions that a person named.
    pub(super) async fn ask_named(&self, rules: &Rules, ids: &[domain::ids::ExecutionId]) -> Collected {
        let mut answers = Answers { named: Some(ids.iter().map(ToString::to_string).collect()), ..Answers::default() };
        let ids = self::ids(ids.iter());
        let told = async {
            let executions = self.told(&queries::executions_named(&ids)?).await?;
            Ok::<_, Error>((executions, self.told(&queries::stages(&ids)?).await?))
        };
        match told.await {
            Ok((executions, stages)) => (answers.executions, answers.stages) = (Some(executions), Some(stages)),
            Err(error) => return Collected::Unavailable(error.to_string()),
        }
        match missing(&answers, rules) {
            Ok(missing) if missing.is_empty() => Collected::Complete(answers.written()),
            Ok(missing) => Collected::Incomplete(answers.written(), missing),
            Err(why) => Collected::Incomplete(answers.written(), vec![why]),
        }
    }

    async fn all(&self, rules: &Rules, job: &JobId, id: &marin::JobId) -> Result<Arc<Answers>, Lacking> {
        let unavailable = |error: Error| Lacking::of(&error);
        let tree = self.tree(job, id).await.map_err(unavailable)?;
        let mut answers = Answers { job: Some((*tree).clone()), ..Answers::default() };
        let pattern = rules.line_pattern().map_err(Lacking::Unavailable)?;
        let mut named = Vec::new();
        if let (true, Some(pattern)) = (rules.asks_logs(), &pattern) {
            let lines = self.lines(id, pattern.as_str()).await.map_err(unavailable)?;
            named = named_in_log(&lines, id.as_str(), pattern);
            answers.lines = Some(lines);
        }
        if rules.asks_table() {
            let ids = ids(named.iter());
            let select = queries::executions(id, &ids).map_err(|why| Lacking::Unavailable(why.to_string()))?;
            answers.executions = Some(self.told(&select).await.map_err(unavailable)?);
        }
        let counted = executions(&answers, id.as_str(), pattern.as_ref());
        let select =
            queries::stages(&ids(counted.planned.keys())).map_err(|why| Lacking::Unavailable(why.to_string()))?;
        answers.stages = Some(self.told(&select).await.map_err(unavailable)?);
        let since = tree.root.job.submitted_at.map_or(0, |at| at.epoch_ms - SLACK_MS);
        let select = queries::tasks(id, since).map_err(|why| Lacking::Unavailable(why.to_string()))?;
        answers.tasks = Some(self.told(&select).await.map_err(unavailable)?);
        Ok(Arc::new(answers))
    }

    /// Whether what was there is all that is there now: no execution more and no record more. Records are only ever
    /// added, so that their number tells.
    async fn again(&self, rules: &Rules, id: &marin::JobId, before: &Answers) -> Result<bool, Error> {
        let pattern = rules.line_pattern().unwrap_or_default();
        let counted = executions(before, id.as_str(), pattern.as_ref());
        let in_table = counted.planned.values().any(Option::is_some);
        if in_table {
            let Told::Grid(now) = self.told(&queries::progress(id)?).await? else { return Ok(false) };
            return Ok(counts(&now) == counted_before(before, id.as_str()));
        }
        // The log tells of executions that the table does not know.
        if let (true, Some(pattern)) = (rules.asks_logs(), &pattern)
            && before.lines.as_ref() != Some(&self.lines(id, pattern.as_str()).await?)
        {
            return Ok(false);
        }
        let ids = ids(counted.planned.keys());
        Ok(before.stages.as_ref() == Some(&self.told(&queries::stages(&ids)?).await?))
    }

    /// A table, or the server's word that it cannot be had.
    pub(super) async fn told(&self, select: &Select) -> Result<Told, Error> {
        match self.finelog.query(select).await {
            Ok(table) => Ok(Told::Grid(Grid::of(&table))),
            // Asking again would not help, but for a login that is given later.
            Err(error) if is_lasting(&error) => {
                let said = error.to_string();
                let absent = said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
                Ok(Told::Absent { absent })
            }
            Err(error) => Err(error),
        }
    }

    /// The lines of the log that name executions or repeated shards.
    pub(super) async fn lines(&self, id: &marin::JobId, pattern: &str) -> Result<Vec<Line>, Error> {
        let mut query =
            LogQuery { regex: format!("{pattern}|{RETRIED}"), ..LogQuery::new(LogSource::Tree(id.clone())) };
        let mut lines = Vec::new();
        for _ in 0..PAGES {
            let page = self.finelog.logs(&query).await?;
            lines.extend(page.entries.iter().map(Line::of).map(|line| line.shortened(LINE)));
            if !page.full || page.cursor <= query.after {
                break;
            }
            query.after = page.cursor;
        }
        Ok(lines)
    }
}

/// Whether a query is refused the same every time.
fn is_lasting(error: &Error) -> bool {
    match error {
        Error::Rpc { code: Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented, .. }
        | Error::Login(_) => false,
        error => !error.is_transient(),
    }
}

/// Records by execution, as the query of the progress counts them: once for each record of the execution.
type Counts = BTreeMap<String, usize>;

fn counts(grid: &Grid) -> Counts {
    let of = |row: &Vec<serde_json::Value>| {
        let done = grid.integer(row, "done").and_then(|done| usize::try_from(done).ok())?;
        Some((grid.text(row, "execution_id")?.to_owned(), done))
    };
    grid.rows.iter().filter_map(of).collect()
}

fn counted_before(answers: &Answers, root: &str) -> Counts {
    let (Some(Told::Grid(executions)), Some(Told::Grid(stages))) = (&answers.executions, &answers.stages) else {
        return Counts::new();
    };
    let mut counts = Counts::new();
    for row in executions.rows.iter().filter(|row| executions.text(row, "root_job_id") == Some(root)) {
        let Some(id) = executions.text(row, "execution_id") else { continue };
        let records = stages.rows.iter().filter(|stage| stages.text(stage, "execution_id") == Some(id)).count();
        *counts.entry(id.to_owned()).or_default() += records;
    }
    counts
}

/// Ids as the client of the store checks them: what it refuses is not asked for.
pub(super) fn ids<'i>(all: impl Iterator<Item = &'i ExecutionId>) -> Vec<marin::ExecutionId> {
    all.filter_map(|id| marin::ExecutionId::new(id.as_str()).ok()).collect()
}
