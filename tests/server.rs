//! The door of a service, over HTTP on loopback: what is stored, what is refused and how, and what goes on when it stops.

// What the tests share and the tests of tokio are written as tests are.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bot::metrics::Metrics;
use bot::server::{Ready, Receiver, ServerState, Signer, WebhookSecrets};
use bot::world::SystemClock;
use domain::ports::StoreError;
use domain::ports::desk::Delivery;
use reqwest::{Client, RequestBuilder, Response};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

/// The secret in force and the one before it.
const SECRETS: [&str; 2] = ["It's a Secret to Everybody", "the secret before that one"];
const APP: u64 = 4711;
const MIB: usize = 1 << 20;
/// Nothing here takes this long: a test that waits longer has failed.
const NEVER: Duration = Duration::from_mins(1);

/// A store in memory that can be made to fail and to wait.
#[derive(Clone, Default)]
struct Memory(Arc<Inside>);

#[derive(Default)]
struct Inside {
    deliveries: Mutex<BTreeMap<String, Delivery>>,
    fails: AtomicBool,
    /// Where it is set: how many have come here, and how many may go through. Both are counts: two may come at once.
    gate: Option<(Semaphore, Semaphore)>,
}

impl Memory {
    fn gated() -> Self {
        Self(Arc::new(Inside { gate: Some((Semaphore::new(0), Semaphore::new(0))), ..Inside::default() }))
    }

    /// Returns when a delivery waits.
    async fn waits(&self) {
        self.0.gate.as_ref().unwrap().0.acquire().await.unwrap().forget();
    }

    fn let_through(&self) {
        self.0.gate.as_ref().unwrap().1.add_permits(1);
    }

    fn guids(&self) -> Vec<String> {
        self.0.deliveries.lock().unwrap().keys().cloned().collect()
    }

    fn payload(&self, guid: &str) -> String {
        self.0.deliveries.lock().unwrap()[guid].payload.clone()
    }
}

impl Receiver for Memory {
    async fn receive(&self, delivery: Delivery) -> Result<bool, StoreError> {
        if let Some((waits, gate)) = &self.0.gate {
            waits.add_permits(1);
            gate.acquire().await.unwrap().forget();
        }
        assert!(!delivery.payload.contains("panic"), "asked to");
        self.alive().await?;
        Ok(self.0.deliveries.lock().unwrap().insert(delivery.guid.clone(), delivery).is_none())
    }

    async fn alive(&self) -> Result<(), StoreError> {
        if self.0.fails.load(Ordering::SeqCst) { Err(StoreError("/var/secret/place: full".to_owned())) } else { Ok(()) }
    }
}

struct Service {
    address: SocketAddr,
    memory: Memory,
    wake: Arc<Notify>,
    ready: Ready,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Service {
    async fn start(memory: Memory) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (wake, ready, shutdown) = (Arc::new(Notify::new()), Ready::default(), CancellationToken::new());
        let state = ServerState {
            receiver: memory.clone(),
            clock: SystemClock,
            secrets: WebhookSecrets::new(&SECRETS.map(SecretString::from)),
            app_id: APP,
            metrics: Arc::new(Metrics::new()),
            wake: Arc::clone(&wake),
            ready: ready.clone(),
        };
        let serving = tokio::spawn(bot::server::serve(listener, state, shutdown.clone()));
        Self { address, memory, wake, ready, shutdown, serving }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A delivery as it should be, over a connection of its own.
    fn delivery(&self, guid: &str, body: Vec<u8>) -> RequestBuilder {
        let signature = Signer::new(&SecretString::from(SECRETS[0])).sign(&body);
        self.unsigned(guid, body).header("X-Hub-Signature-256", signature)
    }

    fn unsigned(&self, guid: &str, body: Vec<u8>) -> RequestBuilder {
        let client = Client::builder().no_proxy().timeout(NEVER).build().unwrap();
        client
            .post(self.url("/webhook"))
            .header("Content-Type", "application/json")
            .header("X-GitHub-Event", "issue_comment")
            .header("X-GitHub-Delivery", guid)
            .body(body)
    }

    async fn get(&self, path: &str) -> Response {
        Client::builder().no_proxy().timeout(NEVER).build().unwrap().get(self.url(path)).send().await.unwrap()
    }

    /// Sends bytes over a connection of their own and returns what comes back until it is closed.
    async fn raw(&self, request: Vec<u8>) -> String {
        let address = self.address;
        let answer = spawn_blocking(move || {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.set_read_timeout(Some(NEVER)).unwrap();
            // The other side may have heard enough before the end.
            let _ = connection.write_all(&request);
            let mut answer = Vec::new();
            let _ = connection.read_to_end(&mut answer);
            String::from_utf8_lossy(&answer).into_owned()
        });
        answer.await.unwrap()
    }

    async fn stop(self) {
        self.shutdown.cancel();
        within(self.serving).await.unwrap().unwrap();
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(NEVER, future).await.expect("it takes too long")
}

async fn said(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// `{"x":"..."}` of a size.
fn json_of(size: usize) -> Vec<u8> {
    let mut body = b"{\"x\":\"".to_vec();
    body.resize(size - 2, b'x');
    body.extend_from_slice(b"\"}");
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_of_every_kind_are_answered_as_they_must_be() {
    let service = Service::start(Memory::default()).await;
    assert_eq!(said(service.delivery("a-24", json_of(24 * MIB))).await, (202, "stored\n".to_owned()));
    assert_eq!(service.memory.payload("a-24").len(), 24 * MIB);
    assert_eq!(said(service.delivery("a-26", json_of(26 * MIB))).await.0, 413);
    let form = "payload=%7B%7D".as_bytes().to_vec();
    let mut form = service.delivery("a-form", form).build().unwrap();
    form.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    let answer = Client::builder().no_proxy().build().unwrap().execute(form).await.unwrap();
    assert_eq!(answer.status(), 415);
    assert!(answer.text().await.unwrap().contains("content type of the webhook to application/json"));
    let wrong = service.unsigned("a-wrong", b"{}".to_vec()).header("X-Hub-Signature-256", format!("sha256={:064}", 0));
    let (status, text) = said(wrong).await;
    assert_eq!((status, text.as_str()), (401, "the signature is missing or wrong\n"));
    let (status, none) = said(service.unsigned("a-none", b"{}".to_vec())).await;
    assert_eq!((status, none), (401, text));
    let before = Signer::new(&SecretString::from(SECRETS[1])).sign(b"{}");
    let before = service.unsigned("a-before", b"{}".to_vec()).header("X-Hub-Signature-256", before);
    assert_eq!(said(before).await.0, 202);
    assert_eq!(service.memory.guids(), ["a-24", "a-before"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_signature_opens_the_door() {
    let service = Service::start(Memory::default()).await;
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let documented = service.unsigned("a-1", b"Hello, World!".to_vec()).header("X-Hub-Signature-256", signature);
    // Whether it is JSON is found out later.
    assert_eq!(said(documented).await.0, 202);
    let kept = service.memory.0.deliveries.lock().unwrap()["a-1"].clone();
    assert_eq!((kept.event.as_str(), kept.payload.as_str()), ("issue_comment", "Hello, World!"));
    assert!(!kept.headers.contains("757107ea") && kept.received.0 > 0, "{}", kept.headers);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_delivery_twice_at_once_is_stored_once() {
    let service = Service::start(Memory::gated()).await;
    let one = tokio::spawn(said(service.delivery("a-1", b"{}".to_vec())));
    let other = tokio::spawn(said(service.delivery("a-1", b"{}".to_vec())));
    // Both are in the middle of it.
    within(service.memory.waits()).await;
    within(service.memory.waits()).await;
    service.memory.let_through();
    service.memory.let_through();
    let mut answers = [within(one).await.unwrap(), within(other).await.unwrap()];
    answers.sort();
    assert_eq!(answers, [(202, "known\n".to_owned()), (202, "stored\n".to_owned())]);
    assert_eq!(service.memory.guids(), ["a-1"]);
    within(service.wake.notified()).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_and_goes_away_has_sent() {
    let service = Service::start(Memory::gated()).await;
    let body = b"{}";
    let signature = Signer::new(&SecretString::from(SECRETS[0])).sign(body);
    let request = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n\
         X-GitHub-Delivery: a-1\r\nX-Hub-Signature-256: {signature}\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let address = service.address;
    let connection = spawn_blocking(move || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        connection
    });
    let connection = connection.await.unwrap();
    within(service.memory.waits()).await;
    drop(connection);
    // Others are answered meanwhile; that connection is long gone then.
    for _ in 0..20 {
        assert_eq!(service.get("/healthz").await.status(), 200);
    }
    service.memory.let_through();
    within(service.wake.notified()).await;
    assert_eq!(service.memory.guids(), ["a-1"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_work_is_said_and_its_reasons_are_not() {
    let service = Service::start(Memory::default()).await;
    assert_eq!(service.get("/readyz").await.status(), 200);
    service.memory.0.fails.store(true, Ordering::SeqCst);
    let answer = service.delivery("a-1", b"{}".to_vec()).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "30");
    assert_eq!(answer.text().await.unwrap(), "it could not be stored\n");
    let ready = service.get("/readyz").await;
    assert_eq!(ready.status(), 503);
    let parts: serde_json::Value = ready.json().await.unwrap();
    let expected = serde_json::json!({ "ready": false, "parts": { "server": "ok", "store": "does not work" } });
    assert_eq!(parts, expected);
    assert_eq!(service.get("/healthz").await.status(), 200);
    service.memory.0.fails.store(false, Ordering::SeqCst);
    // A store that panics takes nothing with it.
    assert_eq!(said(service.delivery("a-2", b"{\"panic\":1}".to_vec())).await.0, 503);
    assert_eq!(said(service.delivery("a-1", b"{}".to_vec())).await, (202, "stored\n".to_owned()));
    service.ready.fails("inbox", "is behind");
    assert_eq!(service.get("/readyz").await.status(), 503);
    service.ready.works("inbox");
    assert_eq!(service.get("/readyz").await.status(), 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_on_when_it_stops_is_ended() {
    let service = Service::start(Memory::gated()).await;
    let going = tokio::spawn(said(service.delivery("a-1", b"{}".to_vec())));
    within(service.memory.waits()).await;
    service.shutdown.cancel();
    let address = service.address;
    // It stops listening; how soon is nobody's promise.
    within(async { while tokio::net::TcpStream::connect(address).await.is_ok() {} }).await;
    assert!(!service.serving.is_finished());
    service.memory.let_through();
    assert_eq!(within(going).await.unwrap(), (202, "stored\n".to_owned()));
    assert_eq!(service.memory.guids(), ["a-1"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_doors_take_nothing_large() {
    let service = Service::start(Memory::default()).await;
    for path in ["/healthz", "/readyz", "/metrics", "/elsewhere"] {
        // The body is not waited for.
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", 26 * MIB);
        let answer = service.raw(head.into_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
    }
    assert_eq!(service.get("/elsewhere").await.status(), 404);
    assert_eq!(service.get("/webhook").await.status(), 405);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_heads_get_answers_and_store_nothing() {
    let service = Service::start(Memory::default()).await;
    let body = b"{}".to_vec();
    let signature = Signer::new(&SecretString::from(SECRETS[0])).sign(&body);
    let post = |headers: &str, body: &[u8]| {
        let head = format!(
            "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let signed = format!("X-Hub-Signature-256: {signature}\r\n");
    let named = "X-GitHub-Event: push\r\nX-GitHub-Delivery: a-1\r\n";
    let many = "X-Many: y\r\n".repeat(200);
    let text = [b'"', 0xff, 0xfe, b'"'];
    let text_signature =
        format!("X-Hub-Signature-256: {}\r\n", Signer::new(&SecretString::from(SECRETS[0])).sign(&text));
    let cases: [(&str, Vec<u8>, &str); 11] = [
        ("no event", post(&format!("{signed}X-GitHub-Delivery: a-1\r\n"), &body), "400"),
        ("no id", post(&format!("{signed}X-GitHub-Event: push\r\n"), &body), "400"),
        (
            "an event with a path",
            post(&format!("{signed}X-GitHub-Event: ../x\r\nX-GitHub-Delivery: a-1\r\n"), &body),
            "400",
        ),
        (
            "an id that is long",
            post(&format!("{signed}X-GitHub-Event: push\r\nX-GitHub-Delivery: {:065}\r\n", 1), &body),
            "400",
        ),
        ("two ids", post(&format!("{signed}{named}X-GitHub-Delivery: a-2\r\n"), &body), "400"),
        ("two signatures", post(&format!("{signed}{signed}{named}"), &body), "401"),
        ("unsigned, unnamed", post("", &body), "401"),
        ("a payload that is no text", post(&format!("{text_signature}{named}"), &text), "400"),
        (
            "another app",
            post(
                &format!(
                    "{signed}{named}X-GitHub-Hook-Installation-Target-Type: integration\r\nX-GitHub-Hook-Installation-Target-ID: 12\r\n"
                ),
                &body,
            ),
            "202",
        ),
        ("many headers", post(&format!("{many}{signed}{named}"), &body), "431"),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), "400"),
    ];
    for (what, request, status) in cases {
        let answer = service.raw(request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
        assert!(!answer.contains(SECRETS[0]) && !answer.contains(&signature[7..]), "{what}: {answer}");
    }
    // The answer may be lost where more was sent than is read; what counts is that it was not let in.
    let large = post(&format!("X-Large: {}\r\n{signed}{named}", "y".repeat(MIB)), &body);
    let answer = service.raw(large).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(service.memory.guids(), Vec::<String>::new());
    // In pieces it is the same delivery, and as large as it may be in pieces only.
    let pieces = |body: &[u8]| {
        let head = format!(
            "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{signed}{named}\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        let mut request = head.into_bytes();
        for piece in body.chunks(MIB) {
            request.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            request.extend_from_slice(piece);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    };
    assert!(service.raw(pieces(&json_of(26 * MIB))).await.starts_with("HTTP/1.1 413 "));
    assert!(service.raw(pieces(&body)).await.starts_with("HTTP/1.1 202 "));
    assert_eq!(service.memory.guids(), ["a-1"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_counted() {
    let service = Service::start(Memory::default()).await;
    for _ in 0..2 {
        assert_eq!(said(service.delivery("a-1", b"{}".to_vec())).await.0, 202);
    }
    assert_eq!(said(service.unsigned("a-2", b"{}".to_vec())).await.0, 401);
    let numbers = service.get("/metrics").await;
    assert!(numbers.headers()["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    let numbers = numbers.text().await.unwrap();
    for line in [
        "zephyr_ab_deliveries_total{event=\"issue_comment\",outcome=\"Stored\"} 1",
        "zephyr_ab_deliveries_total{event=\"issue_comment\",outcome=\"Known\"} 1",
        "zephyr_ab_deliveries_total{event=\"unverified\",outcome=\"Unsigned\"} 1",
        "zephyr_ab_ack_seconds_count 3",
    ] {
        assert!(numbers.lines().any(|found| found == line), "{line}\n{numbers}");
    }
    service.stop().await;
}

/// A delivery is sent to a service by the command for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_replayed() {
    use bot::command::replay::{Sending, Target, send};
    let service = Service::start(Memory::default()).await;
    let target = |secret: &str, app_id| Target {
        to: service.url("/webhook"),
        app_id,
        signer: Signer::new(&SecretString::from(secret)),
    };
    let sending = Sending { event: "push".to_owned(), guid: "a-1".to_owned(), payload: b"{ }\n".to_vec() };
    assert_eq!(send(&target(SECRETS[0], APP), &sending).await.unwrap(), (202, "stored".to_owned()));
    assert_eq!(send(&target(SECRETS[0], APP), &sending).await.unwrap(), (202, "known".to_owned()));
    assert_eq!(service.memory.payload("a-1"), "{ }\n");
    assert_eq!(send(&target(SECRETS[0], APP + 1), &sending).await.unwrap(), (202, "not ours".to_owned()));
    assert_eq!(send(&target("another one of 20 chars", APP), &sending).await.unwrap().0, 401);
    service.stop().await;
}
