//! What is to be said: the newest wanted state of each target, and what was said last.

use domain::ids::Digest;
use domain::ports::desk::{ClaimedWant, Want};
use domain::time::Ms;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::fault::Fault;
use crate::value::{from_digest, from_number, from_small, to_limit, to_ms, to_number};
use crate::writer::{Outcome, Work};

/// Target, wanted, its hash, number there, gone, attempts, fence, due.
type Row = (String, String, String, Option<i64>, i64, i64, i64, i64);

// What waits to be said already keeps its time, so that something that changes all the time is said at all.
const WANT: &str = "INSERT INTO outbox (target, hash, sent_hash, gone, due_ms, attempts, fence, wanted) \
    VALUES ($1, $2, '', 0, $3, 0, 0, $4) ON CONFLICT (target) DO UPDATE \
    SET hash = excluded.hash, wanted = excluded.wanted, due_ms = CASE WHEN outbox.sent_hash <> outbox.hash \
        AND outbox.due_ms < excluded.due_ms THEN outbox.due_ms ELSE excluded.due_ms END \
    WHERE outbox.hash <> excluded.hash";
// As with subjects, the outer conditions are repeated. From now on nobody knows what stands there until it is said: an answer
// may be lost, and what was said before may be wanted again meanwhile.
macro_rules! claim {
    ($of:literal) => {
        concat!(
            "UPDATE outbox SET lease_owner = $1, lease_ms = $2, fence = fence + 1, sent_hash = '' \
             WHERE target IN (SELECT target FROM outbox WHERE sent_hash <> hash AND due_ms <= $3 AND ",
            $of,
            " AND (lease_ms IS NULL OR lease_ms < $3) ORDER BY due_ms, target LIMIT $4) \
             AND sent_hash <> hash AND due_ms <= $3 AND (lease_ms IS NULL OR lease_ms < $3) \
             RETURNING target, wanted, hash, remote, gone, attempts, fence, due_ms"
        )
    };
}
// `;` comes after `:`.
const CLAIM: &str = claim!("(target < 'announce:' OR target >= 'announce;')");
const CLAIM_ANNOUNCEMENTS: &str = claim!("target >= 'announce:' AND target < 'announce;'");
const SAID: &str = "UPDATE outbox SET sent_hash = $3, remote = $4, gone = gone + $5, attempts = 0, trouble = NULL, \
    lease_owner = NULL, lease_ms = NULL WHERE target = $1 AND fence = $2";
const UNSAID_YET: &str = "UPDATE outbox SET due_ms = $3, trouble = $4, attempts = attempts + 1, \
    lease_owner = NULL, lease_ms = NULL WHERE target = $1 AND fence = $2";
const SAY_AGAIN: &str = "UPDATE outbox SET sent_hash = '', due_ms = $2 WHERE target = $1";
const SAY_REFUSED: &str = "UPDATE outbox SET due_ms = $1 WHERE sent_hash <> hash AND attempts > 0 AND due_ms > $1";
const WANTED: &str = "SELECT target, wanted, hash, remote, gone, attempts, fence, due_ms FROM outbox WHERE target = $1";

fn claimed(row: Row) -> Result<(Ms, ClaimedWant), Fault> {
    let (target, wanted, hash, remote, gone, attempts, fence, due) = row;
    let want = ClaimedWant {
        target,
        wanted,
        hash: from_digest(&hash)?,
        remote: remote.map(from_number).transpose()?,
        gone: from_small(gone)?,
        attempts: from_small(attempts)?,
        fence: from_number(fence)?,
    };
    Ok((crate::value::from_ms(due), want))
}

/// What is wanted already stays as it is.
pub(crate) async fn want(conn: &mut AnyConnection, want: &Want) -> Result<(), Fault> {
    let hash = Digest::of(want.wanted.as_bytes());
    let query = sqlx::query(WANT).bind(&want.target).bind(hash.as_str()).bind(to_ms(want.due)).bind(&want.wanted);
    query.execute(conn).await?;
    Ok(())
}

pub(crate) async fn wanted(pool: &AnyPool, target: &str) -> Result<Option<ClaimedWant>, Fault> {
    let row: Option<Row> = sqlx::query_as(WANTED).bind(target).fetch_optional(pool).await?;
    Ok(row.map(claimed).transpose()?.map(|(_, want)| want))
}

pub(crate) struct Claim {
    /// Announcements, or everything else.
    pub(crate) announcements: bool,
    pub(crate) owner: String,
    pub(crate) now: Ms,
    pub(crate) until: Ms,
    pub(crate) limit: usize,
}

impl Work for Claim {
    const NAME: &'static str = "claim wants";
    type Out = Vec<ClaimedWant>;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<Vec<ClaimedWant>>, Fault> {
        let claim = if self.announcements { CLAIM_ANNOUNCEMENTS } else { CLAIM };
        let query = sqlx::query_as(claim).bind(&self.owner).bind(to_ms(self.until)).bind(to_ms(self.now));
        let rows: Vec<Row> = query.bind(to_limit(self.limit)).fetch_all(conn).await?;
        let mut wants = rows.into_iter().map(claimed).collect::<Result<Vec<_>, _>>()?;
        wants.sort_by(|(a, one), (b, other)| (a, &one.target).cmp(&(b, &other.target)));
        Ok(Outcome::Keep(wants.into_iter().map(|(_, want)| want).collect()))
    }
}

pub(crate) struct Said {
    pub(crate) target: String,
    pub(crate) fence: u64,
    pub(crate) hash: Digest,
    pub(crate) remote: Option<u64>,
    pub(crate) gone: bool,
}

impl Work for Said {
    const NAME: &'static str = "said";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        let query = sqlx::query(SAID).bind(&self.target).bind(to_number(self.fence)?).bind(self.hash.as_str());
        let query = query.bind(self.remote.map(to_number).transpose()?).bind(i64::from(self.gone));
        query.execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}

pub(crate) struct UnsaidYet {
    pub(crate) target: String,
    pub(crate) fence: u64,
    pub(crate) due: Ms,
    pub(crate) why: String,
}

impl Work for UnsaidYet {
    const NAME: &'static str = "unsaid yet";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        let query = sqlx::query(UNSAID_YET).bind(&self.target).bind(to_number(self.fence)?);
        query.bind(to_ms(self.due)).bind(&self.why).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}

pub(crate) struct SayAgain {
    pub(crate) target: String,
    pub(crate) due: Ms,
}

impl Work for SayAgain {
    const NAME: &'static str = "say again";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        sqlx::query(SAY_AGAIN).bind(&self.target).bind(to_ms(self.due)).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}

pub(crate) struct SayRefused {
    pub(crate) due: Ms,
}

impl Work for SayRefused {
    const NAME: &'static str = "say what was refused";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        sqlx::query(SAY_REFUSED).bind(to_ms(self.due)).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}
