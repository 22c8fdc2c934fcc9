//! The doctor before servers that are not as they should be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, TimestampMicrosecondArray};
use arrow_ipc::writer::StreamWriter;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use clap::Parser as _;
use domain::ports::Clock as _;
use serde_json::{Value, json};

use super::*;
use crate::world::{Secrets, SystemClock};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// What a server says to a call: by the last part of its path.
type Answers = BTreeMap<&'static str, (u16, String)>;

/// A controller with a Finelog behind it, and the calls that it got: last part of the path, and body.
struct Fake {
    url: String,
    calls: Arc<Mutex<Vec<(String, String)>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Fake {
    fn start(answers: Answers) -> Self {
        let runtime = runtime().unwrap();
        let calls: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let kept = calls.clone();
        let app = Router::new().fallback(move |request: Request| {
            let (answers, kept) = (answers.clone(), kept.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
                let body = String::from_utf8_lossy(&body).into_owned();
                let path = head.uri.path();
                let last = path.rsplit('/').next().unwrap_or_default();
                let key = match last {
                    "health" if path.starts_with("/proxy") => "finelog",
                    "LaunchJob" if body.contains("\"environment\":{\"marinProbe\"") => "environment",
                    "LaunchJob" if body.contains("marinProbe") => "fields",
                    other => other,
                };
                kept.lock().unwrap().push((last.to_owned(), body));
                let (status, text) = answers.get(key).cloned().unwrap_or((404, "Not Found".to_owned()));
                Response::builder().status(status).body(Body::from(text)).unwrap()
            }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, calls, _runtime: runtime }
    }

    fn count(&self, method: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|(called, _)| called == method).count()
    }
}

fn failure(code: &str, message: &str) -> String {
    json!({ "code": code, "message": message }).to_string()
}

/// The refusal from which it is learnt what a controller knows.
fn knows(place: &str, fields: &[&str]) -> (u16, String) {
    let list: Vec<String> = fields.iter().map(|field| format!("'{field}'")).collect();
    let message = format!(
        "Message type \"M\" has no field named \"marinProbe\" at \"{place}\".\n Available Fields(except extensions): \"[{}]\"",
        list.join(", ")
    );
    (500, failure("unknown", &message))
}

const LAUNCH: [&str; 12] = [
    "name",
    "entrypoint",
    "resources",
    "environment",
    "bundleId",
    "bundleBlob",
    "constraints",
    "replicas",
    "timeout",
    "maxRetriesPreemption",
    "priorityBand",
    "existingJobPolicy",
];

/// The answer to the query for the time: this machine's, so much later.
fn time(later_s: i64) -> String {
    let now = i64::try_from(SystemClock.now().0).unwrap();
    let times = TimestampMicrosecondArray::from(vec![(now + later_s * 1000) * 1000]);
    let batch = RecordBatch::try_from_iter([("at", Arc::new(times) as _)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.encode(bytes);
    json!({ "arrowIpc": bytes, "rowCount": "1" }).to_string()
}

const STAGE: [&str; 9] = [
    "execution_id",
    "stage_name",
    "status",
    "cpu_time_total",
    "elapsed",
    "items",
    "bytes_processed",
    "total_shards",
    "mem_peak_bytes_max",
];

fn namespaces(change: impl Fn(&str, &str) -> bool) -> String {
    let all: [(&str, &[&str]); 6] = [
        ("log", &["key", "data"]),
        ("zephyr.stage", &STAGE),
        ("zephyr.execution", &["execution_id", "root_job_id", "stages_json"]),
        ("zephyr.worker", &["execution_id"]),
        ("iris.task", &["task_id", "attempt_id", "worker_id", "memory_peak_mb", "ts"]),
        ("iris.worker", &["worker_id", "device_type", "device_variant", "cpu_count", "memory_bytes", "zone", "ts"]),
    ];
    let there = all.iter().filter(|(name, _)| change(name, "")).map(|(name, columns)| {
        let columns = columns.iter().filter(|column| change(name, column));
        let columns: Vec<Value> = columns.map(|name| json!({ "name": name })).collect();
        json!({ "namespace": name, "rowCount": "7", "schema": { "columns": columns } })
    });
    json!({ "namespaces": there.collect::<Vec<Value>>() }).to_string()
}

/// Servers as they should be.
fn fine() -> Answers {
    BTreeMap::from([
        ("health", (200, r#"{"status":"ok","database":"ok"}"#.to_owned())),
        ("finelog", (200, "ok".to_owned())),
        ("GetCurrentUser", (200, r#"{"userId":"bot","role":"user"}"#.to_owned())),
        ("fields", knows("LaunchJobRequest", &LAUNCH)),
        ("environment", knows("LaunchJobRequest.environment", &["envVars", "setupScripts"])),
        ("ListNamespaces", (200, namespaces(|_, _| true))),
        ("Query", (200, time(0))),
    ])
}

fn changed(key: &'static str, answer: (u16, String)) -> Answers {
    let mut answers = fine();
    answers.insert(key, answer);
    answers
}

/// What the doctor comes to and prints, with what differs between machines taken out.
fn doctor(url: &str, more: &[&str]) -> (Exit, String) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("zephyr-ab.toml");
    fs::write(&config, format!("[clusters.rig]\ncontroller = \"{url}\"\n")).unwrap();
    let config = config.to_str().unwrap();
    let words = ["doctor", "--config", config].into_iter().chain(more.iter().copied());
    let line = Line::try_parse_from(words).unwrap();
    let (result, printed) = crate::world::tests::with_world(|world| {
        world.machine.path = std::env::var_os("PATH").unwrap();
        world.machine.temp = folder.path().to_owned();
        world.machine.secrets = Secrets::of([("SOME_TOKEN", "hunter2hunter2")]);
        run(&line.args, world)
    });
    let plain = printed.replace(config, "zephyr-ab.toml").replace(url, "http://controller");
    let git =
        |line: &str| if line.starts_with("  ok       git") { "  ok       git".to_owned() } else { line.to_owned() };
    (result.unwrap(), plain.lines().map(git).collect::<Vec<_>>().join("\n"))
}

fn said(answers: Answers, exit: Exit) -> String {
    let (found, text) = doctor(&Fake::start(answers).url, &["--cluster", "rig"]);
    assert_eq!(found, exit, "{text}");
    // What stands above is the same in all.
    text.split_once("cluster rig").map_or(text.clone(), |(_, below)| format!("cluster rig{below}"))
}

#[test]
fn everything_is_as_it_should_be() {
    let server = Fake::start(fine());
    let (exit, text) = doctor(&server.url, &[]);
    assert_eq!(exit, Exit::Done);
    insta::assert_snapshot!(text);
    let (exit, text) = doctor(&server.url, &["--format", "json"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((exit, &value["fine"]), (Exit::Done, &json!(true)));
    let last = value["checks"].as_array().unwrap().last().unwrap();
    let clock = json!({ "about": "cluster rig", "what": "clock", "level": "ok", "found": "equal to that of Finelog within 1 s" });
    assert_eq!(*last, clock);
}

#[test]
fn nobody_is_there() {
    let (exit, text) = doctor("http://127.0.0.1:1", &["--probe", "rig"]);
    assert_eq!(exit, Exit::Failed);
    insta::assert_snapshot!(text);
}

#[test]
fn logins_that_may_not_launch() {
    let answer = |status: u16, text: String| said(changed("GetCurrentUser", (status, text)), Exit::Failed);
    let mut all = answer(401, failure("unauthenticated", "no auth layer admitted it"));
    all += "\n\n";
    all += &answer(200, r#"{"userId":"bot@example.com","role":"dashboard"}"#.to_owned());
    insta::assert_snapshot!(all);
    let mut proxied = fine();
    let page = (302, "<html>".to_owned());
    for key in ["health", "finelog", "GetCurrentUser"] {
        proxied.insert(key, page.clone());
    }
    insta::assert_snapshot!("before_a_proxy", said(proxied, Exit::Failed));
}

#[test]
fn older_controllers() {
    let mut answers = changed("environment", knows("LaunchJobRequest.environment", &["envVars"]));
    let june = said(answers.clone(), Exit::Done);
    answers.insert("fields", knows("LaunchJobRequest", &LAUNCH[..10]));
    let older = said(answers, Exit::Failed);
    let untold = said(changed("fields", (403, failure("permission_denied", "no"))), Exit::Done);
    let lines = [june, older, untold];
    let lines = lines.iter().flat_map(|text| text.lines().filter(|line| line.contains(" fields ")));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_store_that_loses_records() {
    let stage = said(changed("finelog", (200, "degraded: zephyr.stage: flush failed".to_owned())), Exit::Failed);
    let other = said(changed("finelog", (200, "degraded: iris.worker: flush failed\n".to_owned())), Exit::Done);
    let lines = [stage, other];
    let lines = lines.iter().flat_map(|text| text.lines().filter(|line| line.contains(" finelog ")));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn tables_that_are_not_there() {
    let newer = ["zephyr.execution", "zephyr.worker", "iris.task", "iris.worker"];
    let without = namespaces(|name, _| !newer.contains(&name));
    insta::assert_snapshot!("without_newer_tables", said(changed("ListNamespaces", (200, without)), Exit::Done));
    insta::assert_snapshot!("without_any", said(changed("ListNamespaces", (200, "{}".to_owned())), Exit::Failed));
}

#[test]
fn columns_that_are_not_there() {
    let without = namespaces(|_, column| !["cpu_time_total", "stage_name", "device_variant"].contains(&column));
    insta::assert_snapshot!(said(changed("ListNamespaces", (200, without)), Exit::Failed));
}

#[test]
fn queries_and_clocks() {
    let slow = failure("deadline_exceeded", "query exceeded deadline of 10000 ms");
    let late = said(changed("Query", (504, slow)), Exit::Failed);
    let behind = said(changed("Query", (200, time(90))), Exit::Done);
    let lines = [late, behind];
    let lines =
        lines.iter().flat_map(|text| text.lines().filter(|line| line.contains(" query ") || line.contains(" clock ")));
    // A whole second goes by sooner or later.
    let text = lines.collect::<Vec<_>>().join("\n").replace(" 89 s", " 90 s");
    insta::assert_snapshot!(text);
}

#[test]
fn what_servers_say_is_not_believed_by_the_terminal() {
    let hostile = "\u{1b}[2J hunter2hunter2 \u{202e}\r\n  ok       login";
    let mut answers = changed("finelog", (200, format!("degraded: {hostile}")));
    answers.insert("GetCurrentUser", (401, failure("unauthenticated", hostile)));
    let text = said(answers, Exit::Failed);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text.lines().filter(|line| line.contains("[2J")).collect::<Vec<_>>().join("\n"));
}

fn repository(folder: &Path) {
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").args(who).args(args).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let file = folder.join("experiments/datakit/zephyr_benchmark.py");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "\"--first-stage\" \"--last-stage\"").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "x"]);
}

/// What a probe of a repository comes to, its job called `JOB`, without times.
fn probed(server: &Fake, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path());
    let repo = folder.path().to_str().unwrap();
    let words = ["--probe", "rig", "--repo", repo];
    let (exit, text) = doctor(&server.url, &[&words[..], more].concat());
    assert_eq!(exit, Exit::Failed, "{text}");
    let (_, below) = text.split_once("probe: ").unwrap();
    let launched = server.calls.lock().unwrap();
    let name =
        launched.iter().find_map(|(_, body)| Some(body.split_once("/bot/zab-")?.1.split('"').next()?.to_owned()));
    let name = format!("/bot/zab-{}", name.unwrap_or_default());
    let mut lines = Vec::new();
    for line in below.replace(&name, "JOB").replace(repo, "DIR").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let timed = words.windows(2).position(|pair| pair[1] == "s" && pair[0].parse::<f64>().is_ok());
        let kept = words.iter().enumerate().filter(|(at, _)| timed.is_none_or(|t| *at != t && *at != t + 1));
        lines.push(kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" "));
    }
    let text = lines.join("\n");
    let commit = text.split_once("commit ").map(|(_, rest)| rest.split(',').next().unwrap().to_owned());
    let bundle = text.lines().find(|line| line.starts_with("ok bundle")).unwrap_or_default().to_owned();
    text.replace(&commit.unwrap_or_default(), "COMMIT").replace(&bundle, "ok bundle")
}

/// A controller whose jobs are in this state.
fn with_jobs(launch: (u16, String), state: &str, error: &str) -> Fake {
    let mut answers = changed("LaunchJob", launch);
    let started = (state == "JOB_STATE_FAILED").then(|| json!({ "epochMs": "1" }));
    let job = json!({ "jobId": "/bot/zab-x", "state": state, "error": error, "startedAt": started });
    answers.insert("GetJobStatus", (200, json!({ "job": job }).to_string()));
    answers.insert("GetJobState", (200, json!({ "states": { "/bot/zab-x": state } }).to_string()));
    for key in ["TerminateJob", "ListJobs", "ListTasks", "FetchLogs"] {
        answers.insert(key, (200, "{}".to_owned()));
    }
    Fake::start(answers)
}

fn accepted() -> (u16, String) {
    (200, r#"{"jobId":"/bot/zab-x"}"#.to_owned())
}

#[test]
fn a_launch_without_an_answer_leaves_no_job() {
    let server = with_jobs((503, failure("unavailable", "starting")), "JOB_STATE_KILLED", "");
    insta::assert_snapshot!(probed(&server, &[]));
    assert_eq!(server.count("TerminateJob"), 1);
}

#[test]
fn jobs_that_no_worker_can_take() {
    let mut server = with_jobs(accepted(), "JOB_STATE_UNSCHEDULABLE", "no worker fits");
    insta::assert_snapshot!("unschedulable", probed(&server, &[]));
    assert_eq!(server.count("TerminateJob"), 1);
    server = with_jobs((400, failure("failed_precondition", "Job is unschedulable: no groups")), "", "");
    insta::assert_snapshot!("refused", probed(&server, &[]));
    assert_eq!(server.count("TerminateJob"), 0);
}

#[test]
fn a_job_that_ends_without_a_record() {
    let server = with_jobs(accepted(), "JOB_STATE_FAILED", "Exit code: 3");
    insta::assert_snapshot!(probed(&server, &[]));
    assert_eq!(server.count("TerminateJob"), 1);
}
