//! A sandbox with the demo, a program that talks to it, and a receiver of deliveries.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::extract::Request;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use sandbox::clock::Hand;
use sandbox::demo::{Bench, Demo};
use sandbox::{Options, PRIVATE_KEY, Sandbox};
use serde_json::{Value, json};

/// The time at which tests begin, milliseconds.
pub(super) const NOON: u64 = 1_772_366_400_000;
pub(super) const REPO: &str = "octo/demo";

pub(super) struct World {
    pub(super) clock: Arc<Hand>,
    pub(super) sandbox: Sandbox,
    pub(super) demo: Demo,
    pub(super) client: reqwest::Client,
}

/// An answer that was read.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

impl Got {
    pub(super) fn link(&self, rel: &str) -> Option<String> {
        let rel = format!("rel=\"{rel}\"");
        let part = self.headers.get("link")?.split(", ").find(|part| part.ends_with(&rel))?;
        Some(part[1..part.find('>')?].to_owned())
    }
}

/// The description as the judge. All sandboxes share it, as it prepares what it has to check only once.
pub(super) fn contract() -> sandbox::exchange::Judge {
    static JUDGE: OnceLock<sandbox::exchange::Judge> = OnceLock::new();
    let read = || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/github.json");
        sandbox::contract::judge(&std::fs::read_to_string(file).unwrap()).unwrap()
    };
    Arc::clone(JUDGE.get_or_init(read))
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let clock = Arc::new(Hand::at(NOON));
        let mut options = Options::new(clock.clone());
        options.judge = Some(contract());
        change(&mut options);
        let sandbox = Sandbox::start(options).await.unwrap();
        let demo = sandbox::demo::make(&sandbox, &Bench { loops: 1000, wait: "0.5" }).unwrap();
        let client = reqwest::Client::builder()
            .user_agent("tests")
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        Self { clock, sandbox, demo, client }
    }

    pub(super) fn jwt(&self) -> String {
        jwt(&json!({ "iss": self.sandbox.settings().app_id, "iat": NOON / 1000 - 60, "exp": NOON / 1000 + 540 }))
    }

    /// A request with the path below the prefix, or a whole address.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Result<Got, reqwest::Error> {
        let url = if path.starts_with("http") { path.to_owned() } else { self.sandbox.settings().api + path };
        let mut request = self.client.request(method.parse().unwrap(), url).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        let headers = answer.headers().iter().map(header).collect();
        let text = answer.text().await?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
        Ok(Got { status, headers, body })
    }

    pub(super) async fn as_app(&self, method: &str, path: &str, body: Option<Value>) -> Got {
        self.ask(method, path, &self.jwt(), body).await.unwrap()
    }

    pub(super) async fn token(&self, narrowed: Value) -> String {
        let path = format!("/app/installations/{}/access_tokens", self.demo.installation);
        let got = self.as_app("POST", &path, Some(narrowed)).await;
        assert_eq!(got.status, 201, "{got:?}");
        got.body["token"].as_str().unwrap().to_owned()
    }

    /// A request as the installation, which has to be answered with this status.
    pub(super) async fn expect(&self, status: u16, method: &str, path: &str, body: Option<Value>) -> Got {
        let token = self.token(json!({})).await;
        let got = self.ask(method, path, &token, body).await.unwrap();
        assert_eq!(got.status, status, "{method} {path}: {got:?}");
        got
    }
}

pub(super) fn jwt(claims: &Value) -> String {
    let key = EncodingKey::from_rsa_pem(PRIVATE_KEY.as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).unwrap()
}

/// A delivery as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    pub(super) headers: BTreeMap<String, String>,
    pub(super) bytes: Vec<u8>,
}

impl Arrived {
    pub(super) fn payload(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// `issue_comment.created`
    pub(super) fn what(&self) -> String {
        let action = self.payload()["action"].as_str().map(|action| format!(".{action}")).unwrap_or_default();
        format!("{}{action}", self.headers["x-github-event"])
    }
}

/// Takes deliveries and answers them with a status.
pub(super) struct Receiver {
    pub(super) url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    status: Arc<Mutex<u16>>,
}

impl Receiver {
    pub(super) async fn new() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let (arrived, status) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(202)));
        let (all, answer) = (Arc::clone(&arrived), Arc::clone(&status));
        let app = Router::new().fallback(move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap().to_vec();
            let headers =
                parts.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
            all.lock().unwrap().push(Arrived { headers: headers.collect(), bytes });
            axum::http::StatusCode::from_u16(*answer.lock().unwrap()).unwrap()
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, arrived, status }
    }

    pub(super) fn answer(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }

    pub(super) fn take(&self) -> Vec<Arrived> {
        std::mem::take(&mut self.arrived.lock().unwrap())
    }
}
