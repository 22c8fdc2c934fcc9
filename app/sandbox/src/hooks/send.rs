//! The task that sends deliveries, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::sandbox::Shared;
use crate::signature::sign;

/// How long a receiver may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a delivery that is to be overtaken waits for another one.
const HELD: Duration = Duration::from_secs(1);

/// Sends deliveries until it is stopped.
pub(crate) async fn run(
    shared: Arc<Shared>,
    client: reqwest::Client,
    mut queue: mpsc::Receiver<u64>,
    stop: CancellationToken,
) {
    let mut held: Option<u64> = None;
    loop {
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = queue.recv() => next,
            () = flushed(&shared), if held.is_some() => {
                if let Some(id) = held.take() {
                    send(&shared, &client, id, false).await;
                }
                continue;
            }
        };
        let Some(id) = next else { return };
        let journey = shared.lock().journey();
        if journey.lost {
            finish(&shared, id, "failed to connect to host", 0, String::new(), BTreeMap::new(), 0.0);
        } else if let Some(late) = journey.late {
            let (shared, client, stop) = (Arc::clone(&shared), client.clone(), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(late) => send(&shared, &client, id, journey.doubled).await,
                }
            });
        } else if journey.reordered && held.is_none() {
            held = Some(id);
        } else {
            send(&shared, &client, id, journey.doubled).await;
            if let Some(id) = held.take() {
                send(&shared, &client, id, false).await;
            }
        }
    }
}

/// Somebody waits for all deliveries, or nothing has come for a while.
async fn flushed(shared: &Shared) {
    tokio::select! {
        () = shared.flush.notified() => {}
        () = tokio::time::sleep(HELD) => {}
    }
}

async fn send(shared: &Arc<Shared>, client: &reqwest::Client, id: u64, twice: bool) {
    let Some((url, headers, body, began)) = prepared(shared, id) else {
        finish(shared, id, "no webhook is set", 0, String::new(), BTreeMap::new(), 0.0);
        return;
    };
    let post = async || {
        let mut request = client.post(&url).timeout(PATIENCE).body(body.clone());
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        Ok::<_, reqwest::Error>((status, answer.text().await.unwrap_or_default()))
    };
    let answered = post().await;
    if twice {
        // What the second copy is answered is nobody's concern.
        let _ = post().await;
    }
    let took = shared.lock().now().saturating_sub(began) as f64 / 1000.0;
    match answered {
        Ok((status @ 200..300, text)) => finish(shared, id, "OK", status, text, headers, took),
        Ok((status, text)) => {
            finish(shared, id, &format!("Invalid HTTP Response: {status}"), status, text, headers, took);
        }
        Err(error) if error.is_timeout() => finish(shared, id, "timed out", 0, String::new(), headers, took),
        Err(_) => finish(shared, id, "failed to connect to host", 0, String::new(), headers, took),
    }
}

type Prepared = (String, BTreeMap<String, String>, Vec<u8>, u64);

/// Address, headers and body of a delivery, and the time.
fn prepared(shared: &Shared, id: u64) -> Option<Prepared> {
    let state = shared.lock();
    let url = state.app.webhook.clone()?;
    let delivery = state.deliveries.get(&id)?;
    let body = delivery.payload.to_string().into_bytes();
    let headers = [
        ("Accept", "*/*".to_owned()),
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", format!("GitHub-Hookshot/{:07x}", state.app.id)),
        ("X-GitHub-Delivery", delivery.guid.clone()),
        ("X-GitHub-Event", delivery.event.clone()),
        ("X-GitHub-Hook-ID", state.app.id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", state.app.id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", "integration".to_owned()),
        ("X-Hub-Signature-256", sign(&state.app.secret, &body)),
    ];
    let mut headers: BTreeMap<String, String> = headers.map(|(name, value)| (name.to_owned(), value)).into();
    if !state.prefix.is_empty() {
        // What a server of one's own adds.
        let host = state.web.trim_start_matches("http://").to_owned();
        headers.insert("X-GitHub-Enterprise-Host".to_owned(), host);
    }
    Some((url, headers, body, state.now()))
}

fn finish(
    shared: &Shared,
    id: u64,
    status: &str,
    code: u16,
    answer: String,
    headers: BTreeMap<String, String>,
    took: f64,
) {
    let mut state = shared.lock();
    if let Some(delivery) = state.deliveries.get_mut(&id) {
        delivery.status = Some(status.to_owned());
        delivery.status_code = code;
        delivery.answer = answer;
        delivery.headers = headers;
        delivery.duration = took;
    }
    state.pending.send_modify(|pending| *pending = pending.saturating_sub(1));
    drop(state);
    shared.changed();
}
