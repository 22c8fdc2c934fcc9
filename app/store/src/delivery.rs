//! Deliveries: received once, handled once by each version of the handler.

use domain::ports::desk::{Delivery, OpenDelivery};
use domain::time::Ms;
use sqlx::AnyConnection;
use sqlx::AnyPool;

use crate::fault::Fault;
use crate::value::{from_ms, from_small, to_limit, to_ms};
use crate::writer::{Outcome, Work};

const PRUNE: &str = "UPDATE delivery SET payload = '' WHERE handled >= 0 AND received_ms < $1 AND payload <> ''";
const HANDLED: &str = "SELECT handled FROM delivery WHERE guid = $1";
const RECEIVE: &str = "INSERT INTO delivery (guid, event, received_ms, handled, due_ms, attempts, headers, payload) \
    VALUES ($1, $2, $3, -1, $3, 0, $4, $5) ON CONFLICT (guid) DO NOTHING";
const OPEN: &str = "SELECT guid, event, headers, payload, received_ms, attempts FROM delivery \
    WHERE handled < $1 AND due_ms <= $2 ORDER BY received_ms, guid LIMIT $3";
const DEFER: &str = "UPDATE delivery SET due_ms = $2, attempts = attempts + 1 WHERE guid = $1";
const KNOWN: &str = "SELECT guid FROM delivery WHERE guid = $1";
const HANDLE: &str = "UPDATE delivery SET handled = $2, outcome = $3 WHERE guid = $1 AND handled < $2";

/// `false` where this version or a newer one has handled it, or there is no such delivery.
pub(crate) async fn handle(conn: &mut AnyConnection, guid: &str, handler: u32, outcome: &str) -> Result<bool, Fault> {
    let query = sqlx::query(HANDLE).bind(guid).bind(i64::from(handler)).bind(outcome);
    Ok(query.execute(conn).await?.rows_affected() == 1)
}

pub(crate) async fn open(pool: &AnyPool, handler: u32, now: Ms, limit: usize) -> Result<Vec<OpenDelivery>, Fault> {
    let query = sqlx::query_as(OPEN).bind(i64::from(handler)).bind(to_ms(now)).bind(to_limit(limit));
    let rows: Vec<(String, String, String, String, i64, i64)> = query.fetch_all(pool).await?;
    let delivery = |(guid, event, headers, payload, received, attempts)| {
        let delivery = Delivery { guid, event, headers, payload, received: from_ms(received) };
        Ok(OpenDelivery { delivery, attempts: from_small(attempts)? })
    };
    rows.into_iter().map(delivery).collect()
}

pub(crate) async fn is_open(pool: &AnyPool, guid: &str, handler: u32) -> Result<bool, Fault> {
    let row: Option<(i64,)> = sqlx::query_as(HANDLED).bind(guid).fetch_optional(pool).await?;
    Ok(row.is_some_and(|(handled,)| handled < i64::from(handler)))
}

pub(crate) async fn known(pool: &AnyPool, guids: &[String]) -> Result<Vec<String>, Fault> {
    let mut conn = pool.acquire().await?;
    let mut known = Vec::new();
    for guid in guids {
        let row: Option<(String,)> = sqlx::query_as(KNOWN).bind(guid).fetch_optional(&mut *conn).await?;
        known.extend(row.map(|(guid,)| guid));
    }
    Ok(known)
}

/// Forgets payloads.
pub(crate) struct Prune(pub(crate) Ms);

impl Work for Prune {
    const NAME: &'static str = "prune";
    type Out = u64;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<u64>, Fault> {
        Ok(Outcome::Keep(sqlx::query(PRUNE).bind(to_ms(self.0)).execute(conn).await?.rows_affected()))
    }
}

pub(crate) struct Receive(pub(crate) Delivery);

impl Work for Receive {
    const NAME: &'static str = "receive";
    type Out = bool;

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<bool>, Fault> {
        let delivery = &self.0;
        let query = sqlx::query(RECEIVE).bind(&delivery.guid).bind(&delivery.event).bind(to_ms(delivery.received));
        let query = query.bind(&delivery.headers).bind(&delivery.payload);
        Ok(Outcome::Keep(query.execute(conn).await?.rows_affected() == 1))
    }

    fn weight(&self) -> u64 {
        (self.0.payload.len() + self.0.headers.len()) as u64 + 4 * 4096
    }
}

pub(crate) struct Defer {
    pub(crate) guid: String,
    pub(crate) until: Ms,
}

impl Work for Defer {
    const NAME: &'static str = "defer delivery";
    type Out = ();

    async fn run(&self, conn: &mut AnyConnection) -> Result<Outcome<()>, Fault> {
        sqlx::query(DEFER).bind(&self.guid).bind(to_ms(self.until)).execute(conn).await?;
        Ok(Outcome::Keep(()))
    }
}
