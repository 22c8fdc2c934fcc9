//! Repositories as they were seen, who did what, and whether the store can be written to.

use domain::ports::desk::{AuditLine, Counts};
use domain::ports::forge::Repo;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::fault::Fault;
use crate::value::{from_ms, from_number, to_limit, to_ms, to_number};
use crate::writer::{Outcome, Work};

const SEE: &str = "INSERT INTO repo (id, name, installation) VALUES ($1, $2, $3) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, installation = excluded.installation";
const REPO: &str = "SELECT name, installation FROM repo WHERE id = $1";
const NOTE: &str = "INSERT INTO audit (number, at_ms, actor, action, subject, detail) \
    VALUES ((SELECT COALESCE(MAX(number), 0) + 1 FROM audit), $1, $2, $3, $4, $5)";
const AUDIT: &str = "SELECT at_ms, actor, action, subject, detail FROM audit ORDER BY number DESC, at_ms DESC LIMIT $1";
const FREE_SUBJECTS: &str = "UPDATE subject SET lease_owner = NULL, lease_ms = NULL WHERE lease_owner = $1";
const FREE_OUTBOX: &str = "UPDATE outbox SET lease_owner = NULL, lease_ms = NULL WHERE lease_owner = $1";
const COUNTS: &str = "SELECT (SELECT COUNT(*) FROM delivery WHERE handled < $1), \
    (SELECT COUNT(*) FROM outbox WHERE sent_hash <> hash), (SELECT COUNT(*) FROM run WHERE active = 1)";
const ALIVE: &str = "UPDATE meta SET value = value WHERE name = 'schema'";

pub(crate) async fn see(conn: &mut AnyConnection, repo: &Repo) -> Result<(), Fault> {
    let query = sqlx::query(SEE).bind(to_number(repo.id)?).bind(&repo.name).bind(to_number(repo.installation)?);
    query.execute(conn).await?;
    Ok(())
}

pub(crate) async fn repo(pool: &AnyPool, id: u64) -> Result<Option<Repo>, Fault> {
    let row: Option<(String, i64)> = sqlx::query_as(REPO).bind(to_number(id)?).fetch_optional(pool).await?;
    row.map(|(name, installation)| Ok(Repo { id, name, installation: from_number(installation)? })).transpose()
}

pub(crate) async fn note(conn: &mut AnyConnection, line: &AuditLine) -> Result<(), Fault> {
    let query = sqlx::query(NOTE).bind(to_ms(line.at)).bind(&line.actor).bind(&line.action);
    query.bind(&line.subject).bind(&line.detail).execute(conn).await?;
    Ok(())
}

pub(crate) async fn audit(pool: &AnyPool, limit: usize) -> Result<Vec<AuditLine>, Fault> {
    let query = sqlx::query_as(AUDIT).bind(to_limit(limit));
    let rows: Vec<(i64, String, String, String, String)> = query.fetch_all(pool).await?;
    let line = |(at, actor, action, subject, detail)| AuditLine { at: from_ms(at), actor, action, subject, detail };
    Ok(rows.into_iter().map(line).collect())
}

pub(crate) async fn counts(pool: &AnyPool, handler: u32) -> Result<Counts, Fault> {
    let row: (i64, i64, i64) = sqlx::query_as(COUNTS).bind(i64::from(handler)).fetch_one(pool).await?;
    let (open_deliveries, unsaid, active_runs) = row;
    Ok(Counts { open_deliveries, unsaid, active_runs })
}

/// Takes back what an owner has claimed.
pub(crate) struct FreeLeases(pub(crate) String);

impl Work for FreeLeases {
    const NAME: &'static str = "free leases";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        for text in [FREE_SUBJECTS, FREE_OUTBOX] {
            sqlx::query(text).bind(&self.0).execute(&mut *conn).await?;
        }
        Ok(Outcome::Keep(()))
    }
}

pub(crate) struct Alive;

impl Work for Alive {
    const NAME: &'static str = "alive";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        sqlx::query(ALIVE).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}
