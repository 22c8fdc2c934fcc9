//! Runs of pull requests: one active for each, and so many at once.

use domain::budget::ahead;
use domain::ids::{Digest, RunId};
use domain::ports::desk::RunRow;
use domain::time::Ms;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::spend;
use crate::subject::RUNS;
use crate::value::{from_digest, from_ms, from_number, to_ms, to_number};
use crate::writer::{Outcome, Work};

/// Id, repository, number, person, suite, request, head, ledger, active, outcome, evidence, created, ended.
type Row = (
    String,
    i64,
    i64,
    i64,
    String,
    String,
    String,
    Option<String>,
    i64,
    Option<String>,
    Option<String>,
    i64,
    Option<i64>,
);

// Both indexes may refuse: the one of requests and the one of active runs.
const BEGIN: &str = "INSERT INTO run (id, repo_id, number, person, suite, request, head, ledger, active, slot, outcome, \
    evidence, created_ms, ended_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11, $12, $13) ON CONFLICT DO NOTHING";
const PLANNED: &str = "UPDATE run SET ledger = $2 WHERE id = $1";
const OVER: &str = "UPDATE run SET active = 0, outcome = $2, evidence = $3, ended_ms = $4 WHERE id = $1";
const OF_PULL: &str = "SELECT id, repo_id, number, person, suite, request, head, ledger, active, outcome, evidence, \
    created_ms, ended_ms FROM run WHERE repo_id = $1 AND number = $2 ORDER BY created_ms DESC, id DESC";
const ACTIVE: &str = "SELECT id, repo_id, number, person, suite, request, head, ledger, active, outcome, evidence, \
    created_ms, ended_ms FROM run WHERE active = 1 ORDER BY created_ms, id";
const OF_ID: &str = "SELECT id, repo_id, number, person, suite, request, head, ledger, active, outcome, evidence, \
    created_ms, ended_ms FROM run WHERE id = $1";
// The slot of a run: 0 it never asked, 2 it waits, 1 it may start. Whoever asks is ready to start.
const WAIT: &str = "UPDATE run SET slot = 2 WHERE id = $1 AND active = 1 AND slot = 0";
const GRANT: &str = "UPDATE run SET slot = 1 WHERE id = $1 AND active = 1 AND slot = 2";
const GRANTED: &str = "SELECT slot, active FROM run WHERE id = $1";

/// `false` where the pull request has an active run, or the request or the run was made before.
pub(crate) async fn begin(conn: &mut AnyConnection, run: &RunRow) -> Result<bool, Fault> {
    let query = sqlx::query(BEGIN).bind(run.id.as_str()).bind(to_number(run.repo)?).bind(to_number(run.number)?);
    let query = query.bind(to_number(run.person)?).bind(&run.suite).bind(&run.request).bind(&run.head);
    let query = query.bind(run.ledger.as_ref().map(Digest::as_str)).bind(i64::from(run.active));
    let query = query.bind(run.outcome.as_deref()).bind(run.evidence.as_ref().map(Digest::as_str));
    let query = query.bind(to_ms(run.created)).bind(run.ended.map(to_ms));
    Ok(query.execute(conn).await?.rows_affected() == 1)
}

pub(crate) async fn planned(conn: &mut AnyConnection, id: &RunId, ledger: &Digest) -> Result<(), Fault> {
    there(sqlx::query(PLANNED).bind(id.as_str()).bind(ledger.as_str()).execute(conn).await?.rows_affected())
}

pub(crate) async fn over(
    conn: &mut AnyConnection,
    id: &RunId,
    outcome: &str,
    evidence: Option<&Digest>,
    at: Ms,
) -> Result<(), Fault> {
    let query = sqlx::query(OVER).bind(id.as_str()).bind(outcome).bind(evidence.map(Digest::as_str)).bind(to_ms(at));
    there(query.execute(&mut *conn).await?.rows_affected())?;
    spend::give_back(conn, id).await
}

fn there(rows: u64) -> Result<(), Fault> {
    if rows == 1 { Ok(()) } else { Err(Fault::Data("a run is planned or over that never began")) }
}

fn run(row: Row) -> Result<RunRow, Fault> {
    let (id, repo, number, person, suite, request, head, ledger, active, outcome, evidence, created, ended) = row;
    Ok(RunRow {
        id: id.parse().map_err(|_| Fault::Data("a run id was found that is none"))?,
        repo: from_number(repo)?,
        number: from_number(number)?,
        person: from_number(person)?,
        suite,
        request,
        head,
        ledger: ledger.as_deref().map(from_digest).transpose()?,
        active: active == 1,
        outcome,
        evidence: evidence.as_deref().map(from_digest).transpose()?,
        created: from_ms(created),
        ended: ended.map(from_ms),
    })
}

pub(crate) async fn of_pull(pool: &AnyPool, repo: u64, number: u64) -> Result<Vec<RunRow>, Fault> {
    let query = sqlx::query_as(OF_PULL).bind(to_number(repo)?).bind(to_number(number)?);
    let rows: Vec<Row> = query.fetch_all(pool).await?;
    rows.into_iter().map(run).collect()
}

pub(crate) async fn of_id(pool: &AnyPool, id: &RunId) -> Result<Option<RunRow>, Fault> {
    let row: Option<Row> = sqlx::query_as(OF_ID).bind(id.as_str()).fetch_optional(pool).await?;
    row.map(run).transpose()
}

pub(crate) async fn active(pool: &AnyPool) -> Result<Vec<RunRow>, Fault> {
    let rows: Vec<Row> = sqlx::query_as(ACTIVE).fetch_all(pool).await?;
    rows.into_iter().map(run).collect()
}

pub(crate) struct Grant {
    pub(crate) key: String,
    pub(crate) at_once: u32,
    pub(crate) now: Ms,
}

impl Work for Grant {
    const NAME: &'static str = "grant";
    type Out = bool;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<bool>, Fault> {
        let Some(id) = self.key.strip_prefix(RUNS) else { return Ok(Outcome::Keep(true)) };
        if let Some(text) = Dialect::of(conn).before_sharing() {
            sqlx::query(text).execute(&mut *conn).await?;
        }
        sqlx::query(WAIT).bind(id).execute(&mut *conn).await?;
        let run: RunId = id.parse().map_err(|_| Fault::Data("a run id was found that is none"))?;
        let places = spend::places(&mut *conn, self.now).await?;
        if ahead(&places, &run, self.now).is_some_and(|ahead| ahead < u64::from(self.at_once)) {
            sqlx::query(GRANT).bind(id).execute(&mut *conn).await?;
        }
        let row: Option<(i64, i64)> = sqlx::query_as(GRANTED).bind(id).fetch_optional(conn).await?;
        Ok(Outcome::Keep(row.is_none_or(|granted| granted == (1, 1))))
    }
}
