//! What was said to the real servers, written down and said again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use serde::{Deserialize, Serialize};

use crate::support::{Subject, http};

/// One question and its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exchange {
    method: String,
    path: String,
    request: String,
    status: u16,
    answer: String,
}

/// Questions are the same when they say the same, in whatever order their members stand.
fn key(method: &str, path: &str, body: &str) -> String {
    let body =
        serde_json::from_str::<serde_json::Value>(body).map_or_else(|_| body.to_owned(), |value| value.to_string());
    format!("{method} {path} {body}")
}

pub(crate) async fn serve(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

async fn parts(request: Request) -> (String, String, String) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.expect("a body");
    (head.method.to_string(), head.uri.path().to_owned(), String::from_utf8(body.to_vec()).expect("text"))
}

fn answer(status: u16, body: String) -> Response<axum::body::Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// A server that says what was recorded. A question asked several times gets its answers in their order, and then
/// the last one again.
pub(crate) async fn replay(recording: &str) -> String {
    let exchanges: Vec<Exchange> = serde_json::from_str(recording).expect("a recording");
    let mut answers: BTreeMap<String, VecDeque<(u16, String)>> = BTreeMap::new();
    for said in exchanges {
        answers.entry(key(&said.method, &said.path, &said.request)).or_default().push_back((said.status, said.answer));
    }
    let answers = Arc::new(Mutex::new(answers));
    serve(Router::new().fallback(move |request: Request| {
        let answers = answers.clone();
        async move {
            let (method, path, body) = parts(request).await;
            let key = key(&method, &path, &body);
            let mut answers = answers.lock().expect("no panic");
            match answers.get_mut(&key) {
                None => answer(599, format!("not recorded: {key}")),
                Some(queue) => {
                    let said = if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() };
                    let (status, body) = said.expect("never empty");
                    answer(status, body)
                }
            }
        }
    }))
    .await
}

/// A server that passes questions on and keeps what was said.
pub(crate) struct Recorder {
    address: String,
    real: Subject,
    said: Arc<Mutex<Vec<Exchange>>>,
}

impl Recorder {
    pub(crate) async fn start(subject: &Subject) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (iris, finelog) = (subject.iris.clone(), subject.finelog.clone());
        let kept = said.clone();
        let client = http();
        let app = Router::new().fallback(move |request: Request| {
            let (kept, client, iris, finelog) = (kept.clone(), client.clone(), iris.clone(), finelog.clone());
            async move {
                let (method, path, body) = parts(request).await;
                let url = match path.strip_prefix("/iris") {
                    Some(rest) => format!("{iris}{rest}"),
                    None => format!("{finelog}{}", path.strip_prefix("/finelog").expect("one of the two")),
                };
                let verb = method.parse().expect("a method");
                let asked = client.request(verb, url).header("content-type", "application/json").body(body.clone());
                let said = asked.send().await.expect("an answer");
                let status = said.status().as_u16();
                let bytes: Bytes = said.bytes().await.expect("a body");
                let text = String::from_utf8(bytes.to_vec()).expect("text");
                kept.lock().expect("no panic").push(Exchange {
                    method,
                    path,
                    request: body,
                    status,
                    answer: text.clone(),
                });
                answer(status, text)
            }
        });
        let real = Subject { tag: "recorded".into(), clock: subject.clock.clone(), ..Subject::recorded("") };
        let real = Subject { pause: subject.pause, ..real };
        Self { address: serve(app).await, real, said }
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject { pause: self.real.pause, ..Subject::recorded(&self.address) }
    }

    /// Writes the recording; equal answers that follow each other are kept once.
    pub(crate) fn save(&self, file: &str) {
        let mut kept: Vec<Exchange> = Vec::new();
        for said in self.said.lock().expect("no panic").iter() {
            let asked = |other: &&Exchange| {
                key(&other.method, &other.path, &other.request) == key(&said.method, &said.path, &said.request)
            };
            let last = kept.iter().rev().find(asked);
            if last.is_none_or(|last| (last.status, &last.answer) != (said.status, &said.answer)) {
                kept.push(said.clone());
            }
        }
        std::fs::write(file, serde_json::to_string_pretty(&kept).expect("JSON")).expect("written");
    }
}
