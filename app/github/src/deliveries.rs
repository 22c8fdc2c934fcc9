//! The log of deliveries.

use domain::ports::forge::{ForgeError, LoggedDelivery, SentDelivery};
use domain::time::Ms;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::asking::{Hub, plain};
use crate::objects::{Delivered, DeliveredWhole, Sent};
use crate::times;
use crate::verdict;

impl Hub {
    pub(crate) async fn deliveries(&self, since: Ms) -> Result<Vec<LoggedDelivery>, ForgeError> {
        let mut all = Vec::new();
        self.app_pages("/app/hook/deliveries?per_page=100", |reply| {
            for item in plain(reply).ok_or_else(|| verdict::unreadable(reply))? {
                let Some(logged) = serde_json::from_value(item).ok().and_then(|item| logged(item, since)) else {
                    continue;
                };
                if logged.at.seconds() < since.seconds() {
                    return Ok(false);
                }
                all.push(logged);
            }
            Ok(true)
        })
        .await?;
        Ok(all)
    }

    pub(crate) async fn delivery(&self, id: u64) -> Result<SentDelivery, ForgeError> {
        let reply = self.ask_app(&format!("/app/hook/deliveries/{id}")).await?;
        let found: DeliveredWhole = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let sent = found.request.unwrap_or(Sent { headers: None, payload: None });
        let headers = sent.headers.unwrap_or_default().into_iter().filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some((name, text)),
            other => Some((name, other.to_string())),
        });
        Ok(SentDelivery {
            headers: headers.collect(),
            event: found.event.unwrap_or_default(),
            guid: found.guid.unwrap_or_default(),
            payload: sent.payload.map(payload).unwrap_or_default(),
        })
    }
}

/// The log counts whole seconds. A line without a time counts as young enough.
fn logged(item: Delivered, since: Ms) -> Option<LoggedDelivery> {
    let second = item.at.as_deref().and_then(times::from_rfc3339);
    Some(LoggedDelivery {
        id: item.id?,
        guid: item.guid?,
        at: second.map_or(since, |second| Ms(second.saturating_mul(1000))),
        ok: item.status.as_deref() == Some("OK"),
        event: item.event.unwrap_or_default(),
    })
}

/// JSON as it is written; what was sent as text is in a string of it.
fn payload(raw: Box<RawValue>) -> String {
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text,
        Err(_) => Box::<str>::from(raw).into_string(),
    }
}
