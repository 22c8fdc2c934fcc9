//! A delivery that is handled anew.

use domain::ports::desk::{Delivery, Settle};
use domain::ports::forge::SentDelivery;
use domain::ports::{Desk as _, Forge as _, StoreError};
use domain::time::{DAY, Ms};

use super::open::Opened;
use crate::command::replay;
use crate::failure::Failure;
use crate::server::{is_event, is_guid};
use crate::service::run::forge;

/// How long the forge keeps its log, milliseconds.
const LOGGED_FOR: u64 = 3 * DAY;

fn failed(why: StoreError) -> Failure {
    Failure::Other(why.into())
}

/// Has a delivery handled anew, by its id or by its number in the forge's log.
pub(super) async fn again(opened: &Opened, delivery: &str) -> Result<String, Failure> {
    if let Ok(number) = delivery.parse::<u64>() {
        let secrets = opened.service.secrets(&opened.machine.secrets)?;
        let forge = forge(&opened.service, &secrets)?;
        let sent = forge.delivery(number).await;
        let sent = sent.map_err(|why| anyhow::Error::new(why).context(format!("delivery {number}")))?;
        return with(opened, sent).await;
    }
    if !is_guid(delivery) {
        return Err(Failure::Usage("a delivery is named by its id or by its number in the forge's log".to_owned()));
    }
    let known = opened.store.known_delivery(delivery).await.map_err(failed)?;
    if known.is_some_and(|known| known.whole) {
        return opened_again(opened, delivery, None, "as it is stored").await;
    }
    let secrets = opened.service.secrets(&opened.machine.secrets)?;
    let since = Ms(opened.now().0.saturating_sub(LOGGED_FOR));
    let sent = replay::fetch(&forge(&opened.service, &secrets)?, delivery, since).await?;
    with(opened, sent).await
}

/// One that the forge's log has.
async fn with(opened: &Opened, sent: SentDelivery) -> Result<String, Failure> {
    let SentDelivery { event, guid, payload, .. } = sent;
    if !is_guid(&guid) || !is_event(&event) || payload.is_empty() {
        return Err(Failure::Other(anyhow::anyhow!("the forge's log does not say what was sent")));
    }
    let known = opened.store.known_delivery(&guid).await.map_err(failed)?;
    if known.is_some_and(|known| known.whole) {
        return opened_again(opened, &guid, None, "as it is stored").await;
    }
    let delivery = Delivery {
        guid: guid.clone(),
        event,
        headers: "{}".to_owned(),
        payload: payload.clone(),
        received: opened.now(),
    };
    if opened.store.receive(delivery).await.map_err(failed)? {
        let audit = vec![opened.audit("delivery again", &subject(&guid), "as the forge has logged it".to_owned())];
        let settle = Settle { audit, at: opened.now(), ..Settle::default() };
        opened.store.settle(settle).await.map_err(failed)?;
        return Ok(said(&guid, "it was not known, and is now"));
    }
    opened_again(opened, &guid, Some(payload), "as the forge has logged it").await
}

async fn opened_again(opened: &Opened, guid: &str, payload: Option<String>, how: &str) -> Result<String, Failure> {
    let audit = opened.audit("delivery again", &subject(guid), how.to_owned());
    if !opened.store.again(guid, opened.now(), payload, audit).await.map_err(failed)? {
        return Err(Failure::Usage(format!("the store does not know delivery {guid}, or no longer what was sent")));
    }
    Ok(said(guid, how))
}

fn subject(guid: &str) -> String {
    format!("delivery:{guid}")
}

fn said(guid: &str, how: &str) -> String {
    format!(
        "delivery {guid} is handled anew, {how}, within moments where the service runs\n\
         a command that made a run makes no second one\n"
    )
}
