//! The webhook of the app and the log of its deliveries.

use serde_json::{Value, json};

use super::as_app;
use super::call::Call;
use super::page::Page;
use super::reply::{Answer, Reply, not_found, refuse};
use crate::state::State;

pub(super) fn config(state: &State, call: &Call) -> Answer {
    as_app(call)?;
    let url = state.app.webhook.clone().unwrap_or_else(|| format!("{}/nowhere", state.web));
    Ok(Reply::new(200, json!({ "content_type": "json", "insecure_ssl": "0", "secret": "********", "url": url })))
}

pub(super) fn configure(state: &mut State, call: &Call) -> Answer {
    as_app(call)?;
    if let Some(secret) = call.text("secret") {
        secret.clone_into(&mut state.app.secret);
    }
    if let Some(url) = call.text("url") {
        state.app.webhook = Some(url.to_owned());
    }
    config(state, call)
}

pub(super) fn list(state: &State, call: &Call) -> Answer {
    as_app(call)?;
    let number = |name: &str| match call.asked(name) {
        None => Ok(None),
        Some(text) => {
            let text = text.strip_prefix("v1_").unwrap_or(text);
            text.parse::<u64>().map(Some).map_err(|_| refuse(422, &format!("{name} makes no sense")))
        }
    };
    let per_page = usize::try_from(number("per_page")?.unwrap_or(30).clamp(1, 100)).unwrap_or(100);
    let before = number("cursor")?.unwrap_or(u64::MAX);
    let status = call.asked("status");
    let mut found =
        state.deliveries.values().rev().filter(|delivery| delivery.id < before).filter(|delivery| match status {
            Some("success") => (200..400).contains(&delivery.status_code),
            Some("failure") => (400..600).contains(&delivery.status_code),
            _ => true,
        });
    let page: Vec<_> = found.by_ref().take(per_page).collect();
    let next = found.next().and(page.last()).map(|last| {
        let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
        let url = format!("{}/app/hook/deliveries", state.api());
        format!("<{url}?per_page={per_page}&cursor=v1_{}{status}>; rel=\"next\"", last.id)
    });
    let lines: Vec<Value> = page.into_iter().map(State::delivery_line_json).collect();
    Ok(Page::<Value>::reply(next, lines.into()))
}

pub(super) fn get(state: &State, call: &Call, id: u64) -> Answer {
    as_app(call)?;
    let delivery = state.deliveries.get(&id).ok_or_else(not_found)?;
    Ok(Reply::new(200, state.delivery_json(delivery)))
}

pub(super) fn again(state: &mut State, call: &Call, id: u64) -> Answer {
    as_app(call)?;
    if !state.redeliver(id) {
        return Err(not_found());
    }
    Ok(Reply::new(202, json!({})))
}
