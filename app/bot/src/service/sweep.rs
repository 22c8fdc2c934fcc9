//! Fetches deliveries that never arrived: GitHub delivers once, and keeps a log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::ports::desk::{Delivery, Settle};
use domain::ports::forge::{ForgeError, LoggedDelivery};
use domain::ports::{Desk, Forge, StoreError, Subject, Write};
use domain::time::{HOUR, MINUTE, Ms};
use serde::{Deserialize, Serialize};

/// How far the log is looked at again each time, milliseconds: a delivery may be logged late.
const OVERLAP: u64 = HOUR;
/// How far back at most, milliseconds: what is older is not redelivered by GitHub either.
const OLDEST: u64 = 70 * HOUR;
/// How young an attempt may be that is left to arrive by itself, milliseconds; less where the log is looked at more often.
const YOUNG: u64 = MINUTE / 2;
/// The subject that remembers how far the log was looked at.
const KEY: &str = "service:sweep";
/// The events that are handled.
const EVENTS: [&str; 6] =
    ["check_run", "installation", "installation_repositories", "issue_comment", "pull_request", "repository"];

#[derive(Debug, Serialize, Deserialize)]
struct Swept {
    since: Ms,
}

/// Why a sweep did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be read.
    #[error("the log of deliveries: {0}")]
    Forge(#[from] ForgeError),
}

/// Deliveries of which no attempt arrived, the oldest first.
fn lost(log: &[LoggedDelivery], young: u64, now: Ms) -> Vec<&LoggedDelivery> {
    let arrived: BTreeSet<&str> = log.iter().filter(|one| one.ok).map(|one| one.guid.as_str()).collect();
    let mut newest: BTreeMap<&str, &LoggedDelivery> = BTreeMap::new();
    for one in log.iter().filter(|one| !arrived.contains(one.guid.as_str()) && EVENTS.contains(&one.event.as_str())) {
        newest
            .entry(&one.guid)
            .and_modify(|known| *known = if one.at > known.at { one } else { *known })
            .or_insert(one);
    }
    let mut lost: Vec<&LoggedDelivery> = newest.into_values().filter(|one| now.since(one.at) >= young).collect();
    lost.sort_by_key(|one| (one.at, one.id));
    lost
}

/// Fetches what was lost since the last sweep, and stores it as if it had arrived. Returns how many deliveries that were.
/// `every` is how often it is called. The first sweep of a store only remembers when it was: what is older was never meant for it.
///
/// # Errors
/// See [`SweepError`]; what was stored stays so, and the next sweep begins at the same place.
pub async fn sweep<D: Desk, F: Forge>(desk: &D, forge: &F, every: Duration, now: Ms) -> Result<usize, SweepError> {
    let state = |since: Ms| serde_json::to_string(&Swept { since }).unwrap_or_default();
    let Some(subject) = desk.read(KEY).await? else {
        let (key, body) = (KEY.to_owned(), "{}".to_owned());
        desk.create(Subject { key, body, state: state(now), version: 0, fence: 0, due: None }).await?;
        return Ok(0);
    };
    let first = serde_json::from_str::<Swept>(&subject.state).map_or(now, |swept| swept.since);
    let since = first.max(Ms(now.0.saturating_sub(OLDEST)));
    let log = forge.deliveries(since).await?;
    let young = YOUNG.min(u64::try_from(every.as_millis()).unwrap_or(YOUNG));
    let lost = lost(&log, young, now);
    let guids: Vec<String> = lost.iter().map(|one| one.guid.clone()).collect();
    let known: BTreeSet<String> = desk.known_deliveries(&guids).await?.into_iter().collect();
    let (mut stored, mut failed) = (0, None);
    for one in lost.into_iter().filter(|one| !known.contains(&one.guid)) {
        let sent = match forge.delivery(one.id).await {
            Ok(sent) => sent,
            // The log forgets.
            Err(ForgeError::Gone(_)) => continue,
            Err(error @ (ForgeError::Limited { .. } | ForgeError::Unavailable(_))) => {
                failed.get_or_insert(error);
                continue;
            }
            Err(error) => {
                tracing::warn!(guid = one.guid, %error, "a lost delivery cannot be fetched");
                continue;
            }
        };
        let guid = one.guid.clone();
        let delivery =
            Delivery { guid, event: sent.event, headers: "{}".to_owned(), payload: sent.payload, received: now };
        stored += usize::from(desk.receive(delivery).await?);
    }
    if let Some(error) = failed {
        // What could be fetched is stored; the next sweep begins at the same place.
        return Err(error.into());
    }
    // What began before the overlap has been seen more than once.
    let next = first.max(Ms(now.0.saturating_sub(OVERLAP)));
    let write = Write {
        subject: KEY.to_owned(),
        version: subject.version,
        fence: subject.fence,
        state: state(next),
        due: None,
        finished: Vec::new(),
        effects: Vec::new(),
        look: None,
        at: now,
    };
    desk.settle(Settle { writes: vec![write], at: now, ..Settle::default() }).await?;
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost() {
        let one = |id: u64, guid: &str, at: u64, ok: bool, event: &str| LoggedDelivery {
            id,
            guid: guid.to_owned(),
            at: Ms(at),
            ok,
            event: event.to_owned(),
        };
        let now = 10 * MINUTE;
        let log = [
            one(9, "young", now - 1, false, "issue_comment"),
            one(8, "twice", 5000, false, "issue_comment"),
            one(7, "again", 4000, true, "issue_comment"),
            one(6, "again", 3000, false, "issue_comment"),
            one(5, "twice", 2000, false, "issue_comment"),
            one(4, "star", 2000, false, "star"),
            one(3, "first", 1000, false, "pull_request"),
        ];
        let found: Vec<u64> = lost(&log, YOUNG, Ms(now)).iter().map(|one| one.id).collect();
        assert_eq!(found, [3, 8]);
    }
}
