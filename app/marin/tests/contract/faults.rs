//! Servers that fail: what is repeated, what is not, and that one launch stays one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use marin::iris::{Fields, Launched};
use marin::retry::Later;
use marin::{Clock, Code, Error, Finelog, Iris, JobId, Limits, Login, RetryPolicy, Transport};
use serde_json::json;

use crate::record::serve;
use crate::support::Subject;

/// A clock that does not wait and keeps what it was asked to wait.
#[derive(Debug, Default)]
pub(crate) struct StillClock {
    pub(crate) now: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl StillClock {
    pub(crate) fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(Duration::from_secs(seconds)), slept: Mutex::default() })
    }

    fn slept(&self) -> Vec<u128> {
        self.slept.lock().expect("no panic").iter().map(Duration::as_millis).collect()
    }
}

impl Clock for StillClock {
    fn unix(&self) -> Duration {
        *self.now.lock().expect("no panic")
    }
    fn elapsed(&self) -> Duration {
        self.unix()
    }
    fn jitter(&self) -> f64 {
        0.0
    }
    fn sleep(&self, time: Duration) -> Later<'_, ()> {
        *self.now.lock().expect("no panic") += time;
        self.slept.lock().expect("no panic").push(time);
        Box::pin(std::future::ready(()))
    }
}

/// What a scripted server does with one call.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Say(u16, String),
    /// Compressed, although nobody asked for it: so does the proxy of a controller of June 2026.
    Zipped(Vec<u8>),
    /// Breaks off in the middle of the answer.
    Break,
    /// Never answers.
    Hang,
    /// Sends to a login page.
    Redirect,
}

pub(crate) fn say(http: u16, body: &serde_json::Value) -> Act {
    Act::Say(http, body.to_string())
}

/// A server whose answers come in order, the last one for ever, and the calls it got: path, headers, body.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) url: String,
    pub(crate) calls: Arc<Mutex<Vec<(String, String, String)>>>,
}

impl Script {
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let acts = Arc::new(Mutex::new(VecDeque::from(acts)));
        let calls: Arc<Mutex<Vec<(String, String, String)>>> = Arc::default();
        let kept = calls.clone();
        let app = Router::new().fallback(move |request: Request| {
            let (acts, kept) = (acts.clone(), kept.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 64 << 20).await.expect("a body");
                let body = String::from_utf8(body.to_vec()).expect("text");
                let headers = format!("{:?}", head.headers);
                kept.lock().expect("no panic").push((head.uri.path().to_owned(), headers, body));
                let act = {
                    let mut acts = acts.lock().expect("no panic");
                    if acts.len() > 1 { acts.pop_front() } else { acts.front().cloned() }
                };
                let mut response = Response::new(Body::empty());
                match act.expect("an act") {
                    Act::Say(http, body) => {
                        *response.status_mut() = StatusCode::from_u16(http).expect("a status");
                        *response.body_mut() = body.into();
                    }
                    Act::Redirect => {
                        *response.status_mut() = StatusCode::FOUND;
                        response.headers_mut().insert("location", "/login".parse().expect("a value"));
                    }
                    Act::Zipped(body) => {
                        response.headers_mut().insert("content-encoding", "gzip".parse().expect("a value"));
                        *response.body_mut() = body.into();
                    }
                    Act::Break => {
                        response.headers_mut().insert("content-length", "100".parse().expect("a value"));
                        *response.body_mut() = "short".into();
                    }
                    Act::Hang => std::future::pending::<()>().await,
                }
                response
            }
        });
        Self { url: serve(app).await, calls }
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.lock().expect("no panic").len()
    }

    fn transport(&self, clock: &Arc<StillClock>) -> Transport {
        Transport::new(&self.url, Login::none(), clock.clone()).expect("an address")
    }
}

fn failure(http: u16, code: &str, message: &str) -> Act {
    say(http, &json!({ "code": code, "message": message }))
}

#[tokio::test]
async fn what_may_pass_is_repeated_with_growing_waits() {
    let clock = StillClock::at(0);
    let script = Script::start(vec![
        failure(503, "unavailable", "starting"),
        Act::Break,
        failure(500, "internal", "oops"),
        Act::Say(502, "<html>".into()),
        failure(429, "resource_exhausted", "load"),
        say(200, &json!({ "userId": "bot", "role": null })),
    ])
    .await;
    let user = Iris::new(script.transport(&clock)).current_user().await.expect("at last");
    assert_eq!((user.user_id.as_str(), user.role.as_str()), ("bot", ""));
    assert_eq!(clock.slept(), [500, 1000, 2000, 4000, 8000]);
}

#[tokio::test]
async fn what_stays_so_is_asked_once() {
    for (http, code) in [
        (404, "not_found"),
        (400, "invalid_argument"),
        (403, "permission_denied"),
        (401, "unauthenticated"),
        (500, "unknown"),
    ] {
        let clock = StillClock::at(0);
        let script = Script::start(vec![failure(http, code, "no")]).await;
        let error = Iris::new(script.transport(&clock)).current_user().await.expect_err("refused");
        assert_eq!(error.code(), Some(&Code::of_name(code)));
        assert_eq!((script.count(), clock.slept().len()), (1, 0), "{code}");
    }
    let clock = StillClock::at(0);
    let script = Script::start(vec![failure(504, "deadline_exceeded", "query exceeded deadline of 10000 ms")]).await;
    let select = marin::sql::Template::new("SELECT 1").expect("fine").fill(&[]).expect("fine");
    assert!(Finelog::new(script.transport(&clock)).query(&select).await.is_err());
    assert_eq!(script.count(), 1);
}

#[tokio::test]
async fn a_compressed_answer_is_read_and_its_limit_is_that_of_what_it_unpacks_to() {
    use base64::Engine as _;
    let clock = StillClock::at(0);
    let small = base64::engine::general_purpose::STANDARD
        .decode("H4sIAAAAAAAC/6tWKi1OLfJMUbJSSsovUaoFACvuRfIQAAAA")
        .expect("base64");
    let script = Script::start(vec![Act::Zipped(small)]).await;
    assert_eq!(Iris::new(script.transport(&clock)).current_user().await.expect("a user").user_id, "bot");
    let script = Script::start(vec![Act::Zipped(include_bytes!("../fixtures/bomb.gz").to_vec())]).await;
    let limits = Limits { answer: 10_000, ..Limits::default() };
    let error = Iris::new(script.transport(&clock).with_limits(limits)).current_user().await.expect_err("a bomb");
    assert!(matches!(error, Error::AnswerTooLarge { .. }), "{error}");
}

#[tokio::test]
async fn repeats_end_with_the_total() {
    let clock = StillClock::at(0);
    let script = Script::start(vec![failure(503, "unavailable", "down")]).await;
    let error = Iris::new(script.transport(&clock)).current_user().await.expect_err("gives up");
    assert_eq!(error.code(), Some(&Code::Unavailable));
    let spent: u128 = clock.slept().iter().sum();
    assert!((1_780_000..=1_800_000).contains(&spent), "{spent}");
}

#[tokio::test]
async fn time_and_size_have_limits() {
    let clock = StillClock::at(0);
    let limits = Limits { timeout: Duration::from_millis(100), answer: 1000, ..Limits::default() };
    let ask = |script: &Script| Iris::new(script.transport(&clock).with_retry(RetryPolicy::NEVER).with_limits(limits));
    let hangs = Script::start(vec![Act::Hang]).await;
    assert!(matches!(ask(&hangs).current_user().await, Err(Error::TimedOut { .. })));
    let floods = Script::start(vec![Act::Say(200, "x".repeat(2000))]).await;
    assert!(matches!(ask(&floods).current_user().await, Err(Error::AnswerTooLarge { limit: 1000, .. })));
    let page = Script::start(vec![Act::Redirect]).await;
    assert_eq!(ask(&page).current_user().await.expect_err("a login page").code(), Some(&Code::Unauthenticated));
    assert_eq!(page.count(), 1, "a redirect is not followed");
    let babbles = Script::start(vec![Act::Say(200, "{".into())]).await;
    assert!(matches!(ask(&babbles).current_user().await, Err(Error::Malformed { .. })));
    drop(hangs);
    let nobody = Transport::new("http://127.0.0.1:1", Login::none(), clock.clone()).expect("an address");
    let error = Iris::new(nobody.with_retry(RetryPolicy::NEVER)).current_user().await.expect_err("nobody there");
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("127.0.0.1:1/"), "{error}");
}

fn no_field(place: &str, known: &str) -> Act {
    let message = format!(
        "Message type \"M\" has no field named \"marinProbe\" at \"{place}\".\n Available Fields(except extensions): \"[{known}]\""
    );
    failure(500, "unknown", &message)
}

const LAUNCH: &str = "'name', 'entrypoint', 'resources', 'environment', 'bundleBlob', 'constraints', 'replicas', \
                      'priorityBand', 'existingJobPolicy'";

fn probes() -> Vec<Act> {
    vec![no_field("LaunchJobRequest", LAUNCH), no_field("LaunchJobRequest.environment", "'envVars'")]
}

#[tokio::test]
async fn a_launch_whose_answer_is_lost_stays_one_job() {
    let subject = Subject::recorded("http://127.0.0.1:1");
    let request = subject.request("lost", 1, "0", 0);
    let recorded = json!({ "job": { "jobId": "/me/lost" }, "request": {
        "name": "/me/lost", "entrypoint": { "runCommand": { "argv": ["python", "hello.py", "1", "0", "0"] } },
        "resources": { "cpuMillicores": 100, "memoryBytes": "268435456", "diskBytes": "268435456", "device": {} },
        "environment": { "envVars": { "PYTHONUNBUFFERED": "1" } },
        "bundleId": marin::iris::bundle_id(&request.bundle_blob), "replicas": 1,
    } });
    let clock = StillClock::at(0);
    let mut acts = probes();
    acts.extend([
        Act::Break,
        failure(409, "already_exists", "Job /me/lost already exists and is still running"),
        say(200, &recorded),
    ]);
    let script = Script::start(acts).await;
    let launched = Iris::new(script.transport(&clock)).launch(&request).await.expect("told apart");
    let job = JobId::new("/me/lost").expect("a job id");
    assert_eq!(launched, Launched::Existing { job, same: true, answer_lost: true });
    let calls = script.calls.lock().expect("no panic");
    let launches: Vec<_> = calls.iter().filter(|call| call.2.contains("EXISTING_JOB_POLICY_ERROR")).collect();
    assert_eq!(launches.len(), 2);
    assert_eq!(launches[0].2, launches[1].2);
}

#[tokio::test]
async fn a_launch_that_is_refused_is_not_repeated_and_nothing_is_sent_in_vain() {
    let subject = Subject::recorded("http://127.0.0.1:1");
    let request = subject.request("refused", 1, "0", 0);
    let clock = StillClock::at(0);
    let mut acts = probes();
    acts.push(failure(400, "failed_precondition", "Job /bot/x is unschedulable"));
    let script = Script::start(acts).await;
    let iris = Iris::new(script.transport(&clock));
    assert_eq!(iris.launch(&request).await.expect_err("refused").code(), Some(&Code::FailedPrecondition));
    assert_eq!(script.count(), 3);
    let mut large = request.clone();
    large.bundle_blob = vec![0; (25 << 20) + 1];
    assert!(matches!(iris.launch(&large).await, Err(Error::BundleTooLarge { limit: 26_214_400, .. })));
    let mut nameless = request.clone();
    nameless.name = "x".into();
    assert!(matches!(iris.launch(&nameless).await, Err(Error::BadId(_))));
    let mut newer = request;
    newer.egress_policy = "EGRESS_POLICY_NONE".into();
    assert!(matches!(iris.launch(&newer).await, Err(Error::UnsupportedField { field, .. }) if field == "egressPolicy"));
    assert_eq!(script.count(), 3, "refused here, and the capabilities were learnt once");
}

#[tokio::test]
async fn a_controller_that_does_not_tell_gets_what_all_know() {
    let clock = StillClock::at(0);
    let denied = Script::start(vec![failure(403, "permission_denied", "read only")]).await;
    let iris = Iris::new(denied.transport(&clock));
    let capabilities = iris.capabilities().await.expect("untold");
    assert!(matches!(capabilities.launch, Fields::Untold(_)));
    assert!(capabilities.launch.has("bundleId") && !capabilities.launch.has("egressPolicy"));
    let lenient = Script::start(vec![failure(400, "invalid_argument", "Job name is required")]).await;
    let iris = Iris::new(lenient.transport(&clock));
    assert!(iris.capabilities().await.expect("any").launch.has("whatever"));
}
