//! What runs were promised and have used, and what finished ones say of the next.

use domain::budget::line::WEEK;
use domain::budget::{Learnt, MOST, OverBudget, Past, Place, Promise, Promised, Used, check};
use domain::ids::{Digest, RunId};
use domain::time::{DAY, Ms};
use sqlx::{Any, AnyConnection, AnyPool, Executor};

use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::value::{from_ms, from_number, from_small, to_limit, to_ms, to_number};
use crate::writer::{Outcome, Work};

/// Repository, number, person, when, CPU milliseconds.
type Row = (i64, i64, i64, i64, i64);
/// Run, slot, person's CPU milliseconds, created.
type Waits = (String, i64, i64, i64);

// Whoever ends a run writes its row too: one of both is first.
const GOES_ON: &str = "UPDATE run SET person = person WHERE id = $1 AND active = 1";
const DAY_OF: &str = "SELECT repo_id, number, person, at_ms, COALESCE(used_ms, promised_ms, 0) FROM spend \
    WHERE (repo_id = $1 OR person = $2) AND at_ms > $3 AND run <> $4";
const PROMISE: &str = "INSERT INTO spend (run, repo_id, number, person, at_ms, promised_ms, used_ms, trials, trials_cpu_ms, \
    trials_wall_ms, suite, preset, fingerprint) VALUES ($1, $2, $3, $4, $5, $6, NULL, 0, 0, 0, $7, $8, $9) \
    ON CONFLICT (run) DO UPDATE SET promised_ms = excluded.promised_ms, preset = excluded.preset, \
    fingerprint = excluded.fingerprint";
const USED: &str = "UPDATE spend SET used_ms = COALESCE($2, used_ms), trials = $3, trials_cpu_ms = $4, trials_wall_ms = $5 \
    WHERE run = $1";
const GIVE_BACK: &str = "DELETE FROM spend WHERE run = $1 \
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = $1 AND run.slot = 1)";
const LEARNT: &str = "SELECT trials, trials_cpu_ms, trials_wall_ms FROM spend WHERE suite = $1 AND preset = $2 \
    AND fingerprint = $3 AND trials > 0 ORDER BY at_ms DESC, run DESC LIMIT $4";
const LEARNT_OF_ANY: &str = "SELECT trials, trials_cpu_ms, trials_wall_ms FROM spend WHERE suite = $1 AND preset = $2 \
    AND trials > 0 ORDER BY at_ms DESC, run DESC LIMIT $3";
// What waits is not spent: who asks for much is served once before it counts.
const PLACES: &str = "SELECT run.id, run.slot, CAST(COALESCE(week.cpu_ms, 0) AS BIGINT), run.created_ms FROM run LEFT JOIN (\
    SELECT spend.person AS person, SUM(COALESCE(spend.used_ms, spend.promised_ms, 0)) AS cpu_ms FROM spend \
        JOIN run AS paid ON paid.id = spend.run WHERE spend.at_ms > $1 AND paid.slot = 1 GROUP BY spend.person\
    ) AS week ON week.person = run.person WHERE run.active = 1 ORDER BY run.created_ms, run.id";

/// As much as is counted for one run.
fn to_cpu(ms: u64) -> Result<i64, Fault> {
    to_number(ms.min(MOST))
}

/// The moment from which on something counts that lies less than `span` before `now`.
fn from(now: Ms, span: u64) -> i64 {
    to_ms(Ms(now.0.saturating_sub(span)))
}

pub(crate) struct Promising(pub(crate) Promise);

impl Work for Promising {
    const NAME: &'static str = "promise";
    type Out = Result<(), OverBudget>;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Self::Out>, Fault> {
        let of = &self.0;
        if let Some(text) = Dialect::of(conn).before_sharing() {
            sqlx::query(text).execute(&mut *conn).await?;
        }
        let goes_on = sqlx::query(GOES_ON).bind(of.run.as_str()).execute(&mut *conn).await?.rows_affected();
        if goes_on == 0 {
            return Ok(Outcome::Keep(Ok(())));
        }
        let (repo, number, person) = (to_number(of.repo)?, to_number(of.number)?, to_number(of.person)?);
        let query = sqlx::query_as(DAY_OF).bind(repo).bind(person).bind(from(of.now, DAY)).bind(of.run.as_str());
        let rows: Vec<Row> = query.fetch_all(&mut *conn).await?;
        let mut past = Past::default();
        for (repo_id, its_number, who, at, cpu) in rows {
            let promised = Promised { at: from_ms(at), cpu_ms: from_number(cpu)? };
            let of = [
                ((repo_id, its_number) == (repo, number), &mut past.pull_request),
                (who == person, &mut past.person),
                (repo_id == repo, &mut past.repository),
            ];
            of.into_iter().filter(|(counts, _)| *counts).for_each(|(_, all)| all.push(promised));
        }
        if let Err(over) = check(&of.limits, &past, of.cpu_ms, of.now) {
            return Ok(Outcome::Undo(Err(over)));
        }
        let query = sqlx::query(PROMISE).bind(of.run.as_str()).bind(repo).bind(number).bind(person);
        let query = query.bind(to_ms(of.now)).bind(of.cpu_ms.map(to_cpu).transpose()?).bind(&of.suite);
        let query = query.bind(of.preset.as_deref().unwrap_or_default()).bind(of.fingerprint.as_str());
        query.execute(conn).await?;
        Ok(Outcome::Keep(Ok(())))
    }
}

/// A run has used that. Nothing happens where it was promised nothing.
pub(crate) async fn used(conn: &mut AnyConnection, run: &RunId, used: &Used) -> Result<(), Fault> {
    let query = sqlx::query(USED).bind(run.as_str()).bind(used.cpu_ms.map(to_cpu).transpose()?);
    let query = query.bind(i64::from(used.trials)).bind(to_cpu(used.trials_cpu_ms)?).bind(to_cpu(used.trials_wall_ms)?);
    query.execute(conn).await?;
    Ok(())
}

/// A run is over. One that never started has used nothing and counts for nothing.
pub(crate) async fn give_back(conn: &mut AnyConnection, run: &RunId) -> Result<(), Fault> {
    sqlx::query(GIVE_BACK).bind(run.as_str()).execute(conn).await?;
    Ok(())
}

pub(crate) async fn learnt(
    pool: &AnyPool,
    suite: &str,
    preset: Option<&str>,
    fingerprint: Option<&Digest>,
    limit: usize,
) -> Result<Vec<Learnt>, Fault> {
    let preset = preset.unwrap_or_default();
    let rows: Vec<(i64, i64, i64)> = match fingerprint {
        Some(of) => {
            let query = sqlx::query_as(LEARNT).bind(suite).bind(preset).bind(of.as_str());
            query.bind(to_limit(limit)).fetch_all(pool).await?
        }
        None => sqlx::query_as(LEARNT_OF_ANY).bind(suite).bind(preset).bind(to_limit(limit)).fetch_all(pool).await?,
    };
    let read = |(trials, cpu, wall)| {
        Ok(Learnt { trials: from_small(trials)?, cpu_ms: from_number(cpu)?, wall_ms: from_number(wall)? })
    };
    rows.into_iter().map(read).collect()
}

/// The runs that go on, the oldest first, as [`domain::budget::line`] orders them.
pub(crate) async fn places<'e>(on: impl Executor<'e, Database = Any>, now: Ms) -> Result<Vec<Place>, Fault> {
    let rows: Vec<Waits> = sqlx::query_as(PLACES).bind(from(now, WEEK)).fetch_all(on).await?;
    let place = |(id, slot, cpu, created): Waits| {
        Ok(Place {
            run: id.parse().map_err(|_| Fault::Data("a run id was found that is none"))?,
            started: slot == 1,
            ready: slot == 2,
            week_cpu_ms: from_number(cpu)?,
            since: from_ms(created),
        })
    };
    rows.into_iter().map(place).collect()
}
