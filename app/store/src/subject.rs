//! Subjects: what has a state and moves, under versions, leases and fences.

use domain::ports::Subject;
use domain::time::Ms;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::fault::Fault;
use crate::value::{from_ms, from_number, to_limit, to_ms, to_number};
use crate::writer::{Outcome, Work};

/// What `Store::claim` claims.
pub(crate) const RUNS: &str = "run:";

/// Key, version, fence, due, state, body.
type Row = (String, i64, i64, Option<i64>, String, String);

const CREATE: &str = "INSERT INTO subject (key, version, fence, due_ms, said, unsaid_ms, state, body) \
    VALUES ($1, $2, $3, $4, -1, $5, $6, $7) ON CONFLICT (key) DO NOTHING";
const READ: &str = "SELECT key, version, fence, due_ms, state, body FROM subject WHERE key = $1";
// The outer conditions are repeated: where two servers choose the same rows, the second finds them under a lease.
const CLAIM: &str = "UPDATE subject SET lease_owner = $1, lease_ms = $2, fence = fence + 1 \
    WHERE key IN (SELECT key FROM subject WHERE key >= $3 AND key < $4 AND due_ms <= $5 \
        AND (lease_ms IS NULL OR lease_ms < $5) ORDER BY due_ms, key LIMIT $6) \
    AND due_ms <= $5 AND (lease_ms IS NULL OR lease_ms < $5) \
    RETURNING key, version, fence, due_ms, state, body";
const RELEASE: &str = "UPDATE subject SET lease_owner = NULL, lease_ms = NULL, \
    due_ms = CASE WHEN version = $3 THEN $4 ELSE due_ms END WHERE key = $1 AND fence = $2";
const NEXT_DUE: &str = "SELECT MIN(CASE WHEN lease_ms IS NULL OR lease_ms < due_ms THEN due_ms ELSE lease_ms + 1 END) \
    FROM subject WHERE due_ms IS NOT NULL AND key >= $1 AND key < $2";
const STEP: &str = "UPDATE subject SET version = version + 1, due_ms = $4, state = $5, \
    unsaid_ms = CASE WHEN version > said THEN unsaid_ms ELSE $6 END \
    WHERE key = $1 AND version = $2 AND fence = $3 RETURNING version";
const SAID: &str = "UPDATE subject SET said = $2, unsaid_ms = $3 WHERE key = $1 AND said < $2";
const UNSAID: &str = "SELECT key, version, fence, due_ms, state, body FROM subject WHERE version > said \
    ORDER BY unsaid_ms, key LIMIT $1";

fn subject((key, version, fence, due, state, body): Row) -> Result<Subject, Fault> {
    let (version, fence) = (from_number(version)?, from_number(fence)?);
    Ok(Subject { key, body, state, version, fence, due: due.map(from_ms) })
}

/// The first text after all that begin with `prefix`, in the order of bytes.
fn after(prefix: &str) -> String {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        let mut next = u32::from(last) + 1;
        if next == 0xD800 {
            next = 0xE000;
        }
        if let Some(next) = char::from_u32(next) {
            end.push(next);
            return end.into_iter().collect();
        }
    }
    // Nothing is after the empty prefix: no key has this character.
    char::MAX.to_string()
}

/// `false` where there is one of this key.
pub(crate) async fn create(conn: &mut AnyConnection, subject: &Subject, at: Ms) -> Result<bool, Fault> {
    let query =
        sqlx::query(CREATE).bind(&subject.key).bind(to_number(subject.version)?).bind(to_number(subject.fence)?);
    let query = query.bind(subject.due.map(to_ms)).bind(to_ms(at)).bind(&subject.state).bind(&subject.body);
    Ok(query.execute(conn).await?.rows_affected() == 1)
}

/// A new state of a subject.
pub(crate) struct Step<'a> {
    pub(crate) key: &'a str,
    pub(crate) version: u64,
    pub(crate) fence: u64,
    pub(crate) due: Option<Ms>,
    pub(crate) state: &'a str,
    pub(crate) at: Ms,
}

/// The version after it; `None` where the version or the fence has moved, or there is no such subject.
pub(crate) async fn step(conn: &mut AnyConnection, step: Step<'_>) -> Result<Option<u64>, Fault> {
    let query = sqlx::query_as(STEP).bind(step.key).bind(to_number(step.version)?).bind(to_number(step.fence)?);
    let query = query.bind(step.due.map(to_ms)).bind(step.state).bind(to_ms(step.at));
    let row: Option<(i64,)> = query.fetch_optional(conn).await?;
    row.map(|(version,)| from_number(version)).transpose()
}

/// Everything up to `version` is said.
pub(crate) async fn said(conn: &mut AnyConnection, key: &str, version: u64, at: Ms) -> Result<(), Fault> {
    sqlx::query(SAID).bind(key).bind(to_number(version)?).bind(to_ms(at)).execute(conn).await?;
    Ok(())
}

pub(crate) async fn read(pool: &AnyPool, key: &str) -> Result<Option<Subject>, Fault> {
    let row: Option<Row> = sqlx::query_as(READ).bind(key).fetch_optional(pool).await?;
    row.map(subject).transpose()
}

/// Of runs: others are not claimed by who asks.
pub(crate) async fn next_due(pool: &AnyPool) -> Result<Option<Ms>, Fault> {
    let row: (Option<i64>,) = sqlx::query_as(NEXT_DUE).bind(RUNS).bind(after(RUNS)).fetch_one(pool).await?;
    Ok(row.0.map(from_ms))
}

pub(crate) async fn unsaid(pool: &AnyPool, limit: usize) -> Result<Vec<Subject>, Fault> {
    let rows: Vec<Row> = sqlx::query_as(UNSAID).bind(to_limit(limit)).fetch_all(pool).await?;
    rows.into_iter().map(subject).collect()
}

pub(crate) struct Create(pub(crate) Subject);

impl Work for Create {
    const NAME: &'static str = "create";
    type Out = bool;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<bool>, Fault> {
        // No time is told: what was never said is said first.
        Ok(Outcome::Keep(create(conn, &self.0, Ms(0)).await?))
    }
}

pub(crate) struct Claim {
    pub(crate) prefix: &'static str,
    pub(crate) owner: String,
    pub(crate) now: Ms,
    pub(crate) until: Ms,
    pub(crate) limit: usize,
}

impl Work for Claim {
    const NAME: &'static str = "claim";
    type Out = Vec<Subject>;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Vec<Subject>>, Fault> {
        let query = sqlx::query_as(CLAIM).bind(&self.owner).bind(to_ms(self.until));
        let query = query.bind(self.prefix).bind(after(self.prefix)).bind(to_ms(self.now)).bind(to_limit(self.limit));
        let rows: Vec<Row> = query.fetch_all(conn).await?;
        let mut claimed = rows.into_iter().map(subject).collect::<Result<Vec<_>, _>>()?;
        claimed.sort_by(|a, b| (a.due, &a.key).cmp(&(b.due, &b.key)));
        Ok(Outcome::Keep(claimed))
    }
}

pub(crate) struct Release {
    pub(crate) key: String,
    pub(crate) fence: u64,
    pub(crate) version: u64,
    pub(crate) due: Option<Ms>,
}

impl Work for Release {
    const NAME: &'static str = "release";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        let query = sqlx::query(RELEASE).bind(&self.key).bind(to_number(self.fence)?);
        query.bind(to_number(self.version)?).bind(self.due.map(to_ms)).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_after_a_prefix() {
        for (prefix, end) in [("run:", "run;"), ("a", "b"), ("a\u{D7FF}", "a\u{E000}"), ("a\u{10FFFF}", "b")] {
            assert_eq!(after(prefix), end);
            assert!(prefix < end && format!("{prefix}\u{10FFFF}z").as_str() < end, "{prefix}");
        }
        assert!("run:z" < after("").as_str());
    }
}
