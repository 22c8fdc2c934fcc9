//! A GitHub, a clock that does not wait, and the port between them.

use std::sync::{Arc, Mutex, MutexGuard, Once};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use domain::ports::forge::{CommentWanted, PullId, Repo};
use github::clock::Wait;
use github::{Clock, GitHub, Settings};
use secrecy::SecretString;
use serde_json::Value;

use crate::fake::{Fake, Fault, Seen};

pub(crate) const FIRST_KEY: &str = include_str!("fixtures/test-only-first.pkcs1.pem");
pub(crate) const SECOND_KEY: &str = include_str!("fixtures/test-only-second.pkcs8.pem");
pub(crate) const START: u64 = 1_796_016_485_000;
pub(crate) const MARKER: &str = "<!-- zab:7 -->";

/// A clock that does not wait and keeps what it was asked to wait.
#[derive(Default)]
pub(crate) struct StillClock {
    now: Mutex<u64>,
    slept: Mutex<Vec<u64>>,
}

impl StillClock {
    pub(crate) fn now(&self) -> u64 {
        *self.now.lock().unwrap()
    }

    pub(crate) fn pass(&self, ms: u64) {
        *self.now.lock().unwrap() += ms;
    }

    pub(crate) fn slept(&self) -> Vec<u64> {
        self.slept.lock().unwrap().clone()
    }
}

impl Clock for StillClock {
    fn now_ms(&self) -> u64 {
        self.now()
    }

    fn sleep(&self, ms: u64) -> Wait<'_> {
        self.pass(ms);
        self.slept.lock().unwrap().push(ms);
        Box::pin(std::future::ready(()))
    }
}

pub(crate) struct Stage {
    pub(crate) github: GitHub,
    pub(crate) clock: Arc<StillClock>,
    pub(crate) address: String,
    fake: Arc<Mutex<Fake>>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with("", |_| {}).await
    }

    /// With the API under `prefix` and other settings.
    pub(crate) async fn with(prefix: &str, change: impl FnOnce(&mut Settings)) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| rustls::crypto::ring::default_provider().install_default().unwrap());
        let clock = Arc::new(StillClock::default());
        clock.pass(START);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let fake = Arc::new(Mutex::new(Fake::new(&address, prefix, clock.clone())));
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let mut settings = Settings {
            api: format!("{address}{prefix}"),
            write_pause_ms: 0,
            ..Settings::new(5, vec![SecretString::from(FIRST_KEY)])
        };
        change(&mut settings);
        let github = GitHub::new(&settings, clock.clone()).unwrap();
        Self { github, clock, address, fake }
    }

    pub(crate) fn fake(&self) -> MutexGuard<'_, Fake> {
        self.fake.lock().unwrap()
    }

    /// What was asked so, as `METHOD part of the path`.
    pub(crate) fn seen(&self, method: &str, part: &str) -> Vec<Seen> {
        self.fake().seen.iter().filter(|seen| seen.method == method && seen.path.contains(part)).cloned().collect()
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.fake().faults.push(fault);
    }

    /// The comments that are there, as number and body.
    pub(crate) fn comments(&self) -> Vec<(u64, String)> {
        let body = |comment: &Value| comment["body"].as_str().unwrap_or_default().to_owned();
        self.fake().comments.iter().map(|(id, comment)| (*id, body(comment))).collect()
    }
}

async fn answer(State(fake): State<Arc<Mutex<Fake>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    fake.lock().unwrap().answer(&head, &body)
}

pub(crate) fn repo() -> Repo {
    Repo { id: 11, name: "octo/demo".into(), installation: 3 }
}

pub(crate) fn pull() -> PullId {
    PullId { repo: repo(), number: 7 }
}

pub(crate) fn wanted(text: &str) -> CommentWanted {
    CommentWanted { pull: pull(), marker: MARKER.into(), body: format!("{MARKER}\n{text}") }
}
