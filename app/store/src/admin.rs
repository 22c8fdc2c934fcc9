//! What an operator sees of a store and does to it, while a service may be working on it: nothing here goes round the
//! versions and fences of subjects.

use domain::ports::StoreError;
use domain::ports::desk::AuditLine;
use domain::time::Ms;
use sqlx::{AnyConnection, AnyPool};

use crate::fault::Fault;
use crate::open::SqlStore;
use crate::register;
use crate::value::{from_ms, from_number, from_small, to_limit, to_ms};
use crate::writer::{Outcome, Work};

const LEASE: &str = "SELECT lease_owner, lease_ms FROM subject WHERE key = $1";
const OUTBOX: &str = "SELECT target, CASE WHEN sent_hash = hash THEN 1 ELSE 0 END, remote, attempts, due_ms, trouble, \
    lease_owner, lease_ms FROM outbox WHERE target = $1";
const AUDIT: &str = "SELECT at_ms, actor, action, subject, detail FROM audit WHERE subject = $1 OR subject = $2 \
    ORDER BY number DESC, at_ms DESC LIMIT $3";
const NAMED: &str = "SELECT id FROM repo WHERE LOWER(name) = LOWER($1) ORDER BY id";
const DELIVERY: &str = "SELECT event, received_ms, handled, attempts, due_ms, outcome, \
    CASE WHEN payload = '' THEN 0 ELSE 1 END FROM delivery WHERE guid = $1";
const AGAIN: &str = "UPDATE delivery SET handled = -1, outcome = NULL, attempts = 0, due_ms = $2 \
    WHERE guid = $1 AND payload <> ''";
const FILL: &str = "UPDATE delivery SET payload = $2 WHERE guid = $1";
const EFFECTS_NOW: &str = "UPDATE effect SET due_ms = $2 WHERE subject = $1 AND due_ms > $2";
// The version moves as well: whoever has claimed it and gives it back must not put it off again.
const SUBJECT_NOW: &str = "UPDATE subject SET due_ms = $2, version = version + 1, \
    unsaid_ms = CASE WHEN version > said THEN unsaid_ms ELSE $2 END \
    WHERE key = $1 AND (due_ms IS NULL OR due_ms > $2)";
const FREE_ENDED: &str = "UPDATE subject SET lease_owner = NULL, lease_ms = NULL WHERE key = $1 AND lease_ms < $2";
// The fence moves: who held it can no longer write.
const FREE_RUNNING: &str = "UPDATE subject SET lease_owner = NULL, lease_ms = NULL, fence = fence + 1 \
    WHERE key = $1 AND lease_ms >= $2";
const OUTBOX_NOW: &str = "UPDATE outbox SET due_ms = $2, attempts = 0 WHERE target = $1 AND sent_hash <> hash";
const OUTBOX_FREE_ENDED: &str =
    "UPDATE outbox SET lease_owner = NULL, lease_ms = NULL WHERE target = $1 AND lease_ms < $2";
const OUTBOX_FREE_RUNNING: &str = "UPDATE outbox SET lease_owner = NULL, lease_ms = NULL, fence = fence + 1 \
    WHERE target = $1 AND lease_ms >= $2";

/// Whose something is, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who claimed it.
    pub owner: String,
    /// Until when.
    pub until: Ms,
}

/// Something that is to be said or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// See [`domain::ports::desk::Want::target`].
    pub target: String,
    /// Whether it was said as it is wanted.
    pub said: bool,
    /// The number that the forge gave it.
    pub remote: Option<u64>,
    /// How often saying it failed in a row.
    pub attempts: u32,
    /// When it is to be said.
    pub due: Ms,
    /// Why it could not be said, the last time.
    pub trouble: Option<String>,
    /// Who says it now.
    pub lease: Option<Lease>,
}

/// A delivery that is known, without what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDelivery {
    /// The event.
    pub event: String,
    /// When it was received.
    pub received: Ms,
    /// Whether it was handled.
    pub handled: bool,
    /// How often handling it was begun and put off.
    pub attempts: u32,
    /// When it is handled.
    pub due: Ms,
    /// What came of it, in words.
    pub outcome: Option<String>,
    /// Whether what was sent is still there.
    pub whole: bool,
}

/// What is to be due at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstick {
    /// Keys of subjects.
    pub subjects: Vec<String>,
    /// Targets of what is to be said.
    pub targets: Vec<String>,
    /// Whether leases are taken back that still run.
    pub force: bool,
    /// When.
    pub now: Ms,
    /// What the audit log says of it.
    pub audit: AuditLine,
}

/// What became due, and what was freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unstuck {
    /// Subjects that were put off or waited for nothing.
    pub subjects: u64,
    /// Effects that were put off.
    pub effects: u64,
    /// Things to be said that are not said.
    pub unsaid: u64,
    /// Leases that had ended.
    pub ended_leases: u64,
    /// Leases that still ran.
    pub running_leases: u64,
}

fn lease(owner: Option<String>, until: Option<i64>) -> Option<Lease> {
    Some(Lease { owner: owner.unwrap_or_default(), until: from_ms(until?) })
}

impl SqlStore {
    /// Who has claimed a subject.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn lease(&self, key: &str) -> Result<Option<Lease>, StoreError> {
        let query = sqlx::query_as(LEASE).bind(key);
        let row: Result<Option<(Option<String>, Option<i64>)>, _> = query.fetch_optional(&self.readers).await;
        let row = row.map_err(|error| Fault::from(error).of("lease"))?;
        Ok(row.and_then(|(owner, until)| lease(owner, until)))
    }

    /// The repositories that were last seen under a name.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn repos_named(&self, name: &str) -> Result<Vec<u64>, StoreError> {
        let rows: Result<Vec<(i64,)>, _> = sqlx::query_as(NAMED).bind(name).fetch_all(&self.readers).await;
        let rows = rows.map_err(|error| Fault::from(error).of("repos named"))?;
        rows.into_iter().map(|(id,)| from_number(id).map_err(|fault| fault.of("repos named"))).collect()
    }

    /// What is to be said of these targets, those that are known.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn lines(&self, targets: &[String]) -> Result<Vec<Line>, StoreError> {
        lines(&self.readers, targets).await.map_err(|fault| fault.of("lines"))
    }

    /// The audit log of two subjects from its newest line backwards.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn audit_of(&self, one: &str, other: &str, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        audit(&self.readers, one, other, limit).await.map_err(|fault| fault.of("audit of"))
    }

    /// A delivery by its id, without what was sent.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn known_delivery(&self, guid: &str) -> Result<Option<KnownDelivery>, StoreError> {
        known(&self.readers, guid).await.map_err(|fault| fault.of("known delivery"))
    }

    /// Lets a delivery be handled anew. What was sent is put back where it is given. `false` where there is no such
    /// delivery, or what was sent is forgotten: then nothing changes.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn again(
        &self,
        guid: &str,
        now: Ms,
        payload: Option<String>,
        audit: AuditLine,
    ) -> Result<bool, StoreError> {
        self.write(Again { guid: guid.to_owned(), now, payload, audit }).await
    }

    /// Makes subjects, their effects and what is to be said due at once, and frees leases.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn unstick(&self, unstick: Unstick) -> Result<Unstuck, StoreError> {
        self.write(unstick).await
    }
}

/// Target, said, number there, attempts, due, trouble, owner, until.
type LineRow = (String, i64, Option<i64>, i64, i64, Option<String>, Option<String>, Option<i64>);

async fn lines(pool: &AnyPool, targets: &[String]) -> Result<Vec<Line>, Fault> {
    let mut conn = pool.acquire().await?;
    let mut lines = Vec::new();
    for target in targets {
        let row: Option<LineRow> = sqlx::query_as(OUTBOX).bind(target).fetch_optional(&mut *conn).await?;
        let Some((target, said, remote, attempts, due, trouble, owner, until)) = row else { continue };
        lines.push(Line {
            target,
            said: said == 1,
            remote: remote.map(from_number).transpose()?,
            attempts: from_small(attempts)?,
            due: from_ms(due),
            trouble,
            lease: lease(owner, until),
        });
    }
    Ok(lines)
}

async fn audit(pool: &AnyPool, one: &str, other: &str, limit: usize) -> Result<Vec<AuditLine>, Fault> {
    let query = sqlx::query_as(AUDIT).bind(one).bind(other).bind(to_limit(limit));
    let rows: Vec<(i64, String, String, String, String)> = query.fetch_all(pool).await?;
    let line = |(at, actor, action, subject, detail)| AuditLine { at: from_ms(at), actor, action, subject, detail };
    Ok(rows.into_iter().map(line).collect())
}

/// Event, received, handled, attempts, due, outcome, whole.
type DeliveryRow = (String, i64, i64, i64, i64, Option<String>, i64);

async fn known(pool: &AnyPool, guid: &str) -> Result<Option<KnownDelivery>, Fault> {
    let row: Option<DeliveryRow> = sqlx::query_as(DELIVERY).bind(guid).fetch_optional(pool).await?;
    let Some((event, received, handled, attempts, due, outcome, whole)) = row else { return Ok(None) };
    Ok(Some(KnownDelivery {
        event,
        received: from_ms(received),
        handled: handled >= 0,
        attempts: from_small(attempts)?,
        due: from_ms(due),
        outcome,
        whole: whole == 1,
    }))
}

struct Again {
    guid: String,
    now: Ms,
    payload: Option<String>,
    audit: AuditLine,
}

impl Work for Again {
    const NAME: &'static str = "delivery again";
    type Out = bool;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<bool>, Fault> {
        if let Some(payload) = &self.payload {
            sqlx::query(FILL).bind(&self.guid).bind(payload).execute(&mut *conn).await?;
        }
        if sqlx::query(AGAIN).bind(&self.guid).bind(to_ms(self.now)).execute(&mut *conn).await?.rows_affected() == 0 {
            return Ok(Outcome::Undo(false));
        }
        register::note(conn, &self.audit).await?;
        Ok(Outcome::Keep(true))
    }

    fn weight(&self) -> u64 {
        self.payload.as_ref().map_or(0, String::len) as u64 + 4 * 4096
    }
}

impl Work for Unstick {
    const NAME: &'static str = "unstick";
    type Out = Unstuck;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Unstuck>, Fault> {
        let mut done = Unstuck::default();
        let now = to_ms(self.now);
        // In the order in which everybody locks rows.
        let (mut subjects, mut targets) = (self.subjects.clone(), self.targets.clone());
        subjects.sort();
        targets.sort();
        for key in &subjects {
            done.subjects += run_one(conn, SUBJECT_NOW, key, now).await?;
            done.effects += run_one(conn, EFFECTS_NOW, key, now).await?;
            done.ended_leases += run_one(conn, FREE_ENDED, key, now).await?;
            if self.force {
                done.running_leases += run_one(conn, FREE_RUNNING, key, now).await?;
            }
        }
        for target in &targets {
            done.unsaid += run_one(conn, OUTBOX_NOW, target, now).await?;
            done.ended_leases += run_one(conn, OUTBOX_FREE_ENDED, target, now).await?;
            if self.force {
                done.running_leases += run_one(conn, OUTBOX_FREE_RUNNING, target, now).await?;
            }
        }
        register::note(conn, &self.audit).await?;
        Ok(Outcome::Keep(done))
    }
}

async fn run_one(conn: &mut AnyConnection, text: &'static str, key: &str, now: i64) -> Result<u64, Fault> {
    Ok(sqlx::query(text).bind(key).bind(now).execute(conn).await?.rows_affected())
}
