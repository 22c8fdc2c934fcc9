//! One transaction of a subject: its state, its effects, a look.

use domain::ids::Digest;
use domain::ports::{Committed, LookKey, LookRow, StoredEffect, Write};
use domain::time::Ms;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::fault::Fault;
use crate::subject::{Step, step};
use crate::value::{from_ms, from_number, from_small, to_ms, to_number};
use crate::writer::{Outcome, Work};

const FINISH: &str = "DELETE FROM effect WHERE subject = $1 AND key = $2";
const ADD: &str = "INSERT INTO effect (subject, key, number, begun, attempts, due_ms, body) \
    VALUES ($1, $2, (SELECT COALESCE(MAX(number), 0) + 1 FROM effect WHERE subject = $1), 0, 0, $3, $4) \
    ON CONFLICT (subject, key) DO NOTHING";
const OPEN: &str = "SELECT key, body, begun, attempts, due_ms FROM effect WHERE subject = $1 ORDER BY number";
const BEGIN: &str = "UPDATE effect SET begun = 1, attempts = attempts + 1 WHERE subject = $1 AND key = $2 \
    AND EXISTS (SELECT 1 FROM subject WHERE key = $1 AND fence = $3)";
const DEFER: &str = "UPDATE effect SET due_ms = $4 WHERE subject = $1 AND key = $2 \
    AND EXISTS (SELECT 1 FROM subject WHERE key = $1 AND fence = $3)";
const TAKE_LOOK: &str = "INSERT INTO look (ledger, episode, look, run, at_ms, judged) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (ledger, episode, look) DO NOTHING";
const LOOK: &str = "SELECT run, at_ms, judged FROM look WHERE ledger = $1 AND episode = $2 AND look = $3";
const LAST_EPISODE: &str = "SELECT MAX(episode) FROM look WHERE ledger = $1";

/// Writes one transaction; what it did is to be undone where it is not [`Committed::Done`].
pub(crate) async fn write(conn: &mut AnyConnection, write: &Write) -> Result<Committed, Fault> {
    let (key, due) = (&write.subject, write.due);
    let moved = Step { key, version: write.version, fence: write.fence, due, state: &write.state, at: write.at };
    let Some(version) = step(conn, moved).await? else { return Ok(Committed::Outdated) };
    if let Some(look) = &write.look
        && !take(conn, look).await?
    {
        return Ok(Committed::LookTaken);
    }
    for effect in &write.finished {
        sqlx::query(FINISH).bind(key).bind(effect).execute(&mut *conn).await?;
    }
    for (effect, body, due) in &write.effects {
        sqlx::query(ADD).bind(key).bind(effect).bind(to_ms(*due)).bind(body).execute(&mut *conn).await?;
    }
    Ok(Committed::Done(version))
}

async fn take(conn: &mut AnyConnection, look: &LookRow) -> Result<bool, Fault> {
    let judged = serde_json::to_string(&look.judged).map_err(|_| Fault::Data("a judgement cannot be written"))?;
    let query = sqlx::query(TAKE_LOOK).bind(look.key.ledger.as_str()).bind(to_number(look.key.episode)?);
    let query = query.bind(i64::from(look.key.look)).bind(look.run.as_str()).bind(to_ms(look.at)).bind(judged);
    Ok(query.execute(conn).await?.rows_affected() == 1)
}

pub(crate) async fn open(pool: &AnyPool, subject: &str) -> Result<Vec<StoredEffect>, Fault> {
    let rows: Vec<(String, String, i64, i64, i64)> = sqlx::query_as(OPEN).bind(subject).fetch_all(pool).await?;
    let effect = |(key, body, begun, attempts, due)| {
        Ok(StoredEffect { key, body, begun: begun == 1, attempts: from_small(attempts)?, due: from_ms(due) })
    };
    rows.into_iter().map(effect).collect()
}

pub(crate) async fn look(pool: &AnyPool, key: &LookKey) -> Result<Option<LookRow>, Fault> {
    let query = sqlx::query_as(LOOK).bind(key.ledger.as_str()).bind(to_number(key.episode)?).bind(i64::from(key.look));
    let row: Option<(String, i64, String)> = query.fetch_optional(pool).await?;
    let Some((run, at, judged)) = row else { return Ok(None) };
    let run = run.parse().map_err(|_| Fault::Data("a run id was found that is none"))?;
    let judged = serde_json::from_str(&judged).map_err(|_| Fault::Data("a judgement was found that is none"))?;
    Ok(Some(LookRow { key: key.clone(), run, judged, at: from_ms(at) }))
}

pub(crate) async fn last_episode(pool: &AnyPool, ledger: &Digest) -> Result<u64, Fault> {
    let row: (Option<i64>,) = sqlx::query_as(LAST_EPISODE).bind(ledger.as_str()).fetch_one(pool).await?;
    row.0.map_or(Ok(0), from_number)
}

pub(crate) struct Commit(pub(crate) Write);

impl Work for Commit {
    const NAME: &'static str = "commit";
    type Out = Committed;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Committed>, Fault> {
        Ok(match write(conn, &self.0).await? {
            done @ Committed::Done(_) => Outcome::Keep(done),
            refused @ (Committed::Outdated | Committed::LookTaken) => Outcome::Undo(refused),
        })
    }
}

pub(crate) struct Begin {
    pub(crate) subject: String,
    pub(crate) effect: String,
    pub(crate) fence: u64,
}

impl Work for Begin {
    const NAME: &'static str = "begin";
    type Out = bool;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<bool>, Fault> {
        let query = sqlx::query(BEGIN).bind(&self.subject).bind(&self.effect).bind(to_number(self.fence)?);
        Ok(Outcome::Keep(query.execute(conn).await?.rows_affected() == 1))
    }
}

pub(crate) struct Defer {
    pub(crate) subject: String,
    pub(crate) effect: String,
    pub(crate) fence: u64,
    pub(crate) due: Ms,
}

impl Work for Defer {
    const NAME: &'static str = "defer";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        let query = sqlx::query(DEFER).bind(&self.subject).bind(&self.effect).bind(to_number(self.fence)?);
        query.bind(to_ms(self.due)).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}
