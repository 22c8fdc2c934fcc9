//! Making the app, looking at it, and looking into the store of a service.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use domain::ids::{Digest, RunId};
use domain::machine::{Event, Frame, Run, TrialState, step};
use domain::ports::desk::{Desk as _, RunRow, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Store as _, Subject};
use domain::rounds::RoundMode;
use domain::time::{MINUTE, Ms};

use super::harness::{App, REPO, now_ms};
use crate::support::program::{Ran, run};

/// The program with the configuration of a service.
fn with(config: &Path, args: &[&str]) -> Ran {
    let config = config.to_str().expect("UTF-8");
    run(&[args, &["--config", config]].concat(), b"")
}

/// Whether nothing of the secrets of the sandbox stands in a text.
fn has_no_secret(app: &App, text: &str) {
    let key = sandbox::PRIVATE_KEY.lines().nth(1).expect("a line");
    assert!(!text.contains(key) && !text.contains(&app.sandbox.settings().secret), "{text}");
}

// ---- making the app ----

/// A browser that asks for one address and goes nowhere else: status, where it is sent, and the page.
fn browse(app: &App, url: &str, form: Option<String>) -> (u16, Option<String>, String) {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
    let client = client.expect("a client");
    app.runtime().block_on(async {
        let asked = match form {
            Some(form) => {
                client.post(url).header("content-type", "application/x-www-form-urlencoded").body(form).send().await
            }
            None => client.get(url).send().await,
        };
        let answer = asked.expect("an answer");
        let sent = answer.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned);
        (answer.status().as_u16(), sent, answer.text().await.expect("a page"))
    })
}

/// What stands in the first attribute of this beginning.
fn attribute(page: &str, beginning: &str) -> String {
    let (_, rest) = page.split_once(beginning).expect("it stands there");
    let text = rest.split('"').next().unwrap_or_default();
    text.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Everything encoded, as a form is.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |all, byte| format!("{all}%{byte:02X}"))
}

#[test]
fn an_app_is_made_in_a_browser_and_served() {
    let app = App::new(4);
    let (web, url) = (app.sandbox.settings().web, format!("http://127.0.0.1:{}", app.port));
    let out = app.folder().join("made");
    let line =
        ["manifest", "--serve", "--url", &url, "--web", &web, "--api", &web, "--out", out.to_str().expect("UTF-8")];
    let mut child = Command::new(env!("CARGO_BIN_EXE_zephyr-ab"))
        .args(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut printed = BufReader::new(child.stdout.take().expect("piped"));
    let mut told = String::new();
    while !told.contains("  http://") {
        assert!(printed.read_line(&mut told).expect("a line") > 0, "{told}");
    }
    let page = told.lines().last().expect("a line").trim().to_owned();

    let (status, _, start) = browse(&app, &page, None);
    assert_eq!(status, 200, "{start}");
    // Whoever does not know the state did not come from the page.
    for wrong in ["made?code=x", "made?code=x&state=y", "made"] {
        assert_eq!(browse(&app, &format!("{page}{wrong}"), None).0, 400, "{wrong}");
    }
    let (to, manifest) = (attribute(&start, "action=\""), attribute(&start, "name=\"manifest\" value=\""));
    let (status, sent, answer) = browse(&app, &to, Some(format!("manifest={}", encoded(&manifest))));
    assert_eq!(status, 302, "{answer}");
    let (status, _, done) = browse(&app, &sent.expect("it is sent back"), None);
    assert_eq!(status, 200, "{done}");
    printed.read_to_string(&mut told).expect("text");
    assert!(child.wait().expect("it ends").success(), "{told}");
    has_no_secret(&app, &told);
    has_no_secret(&app, &done);

    // What was written down is what a service needs.
    let config = out.join("zephyr-ab.toml");
    let found = with(&config, &["doctor", "--app"]);
    assert_eq!(found.code, Some(0), "{}{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("ok       webhook  ") && !found.stdout.contains("skipped"), "{}", found.stdout);

    // A second time nothing is asked and nothing is overwritten.
    let key = fs::read_to_string(out.join("private-key.pem")).expect("a key");
    let again = run(&line, b"");
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("stays as it is"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(out.join("private-key.pem")).expect("a key"), key);
}

#[test]
fn a_code_that_does_not_hold_leaves_nothing_behind() {
    let app = App::new(4);
    let web = app.sandbox.settings().web;
    let out = app.folder().join("made");
    let line = [
        "manifest",
        "--url",
        "https://ab.example",
        "--api",
        &web,
        "--code",
        "abc",
        "--out",
        out.to_str().expect("UTF-8"),
    ];
    let refused = run(&line, b"");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("does not take the code"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(&out).expect("a folder").count(), 0);
}

// ---- looking at it ----

/// A service that is configured whole: its address is that of its webhook.
fn configured(app: &App) {
    app.configure("");
    let path = app.folder().join("zephyr-ab.toml");
    let text = fs::read_to_string(&path).expect("a configuration");
    let listen = format!("[server]\npublic_url = \"http://127.0.0.1:{}\"", app.port);
    fs::write(path, text.replace("[server]", &listen)).expect("a configuration");
}

fn change(app: &App, from: &str, to: &str) {
    let path = app.folder().join("zephyr-ab.toml");
    let text = fs::read_to_string(&path).expect("a configuration");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("a configuration");
}

/// What the doctor says and its exit code, without what differs from machine to machine.
fn doctor(app: &App) -> (Option<i32>, String) {
    let ran = with(&app.folder().join("zephyr-ab.toml"), &["doctor", "--app"]);
    has_no_secret(app, &ran.stdout);
    assert_eq!(ran.stderr, "");
    let web = app.sandbox.settings().web;
    let text = ran.stdout.replace(app.folder().to_str().expect("UTF-8"), "DIR").replace(&web, "http://FORGE");
    let text = text.replace(&format!("127.0.0.1:{}", app.port), "HERE");
    // Which git there is, how much room, and what arrived meanwhile is that of the machine.
    let of_the_machine = |line: &&str| {
        let what = line.get(11..29).unwrap_or_default().trim_end();
        what == "git"
            || (what == "data folder" && line.contains("GiB"))
            || (what == "deliveries" && !line.starts_with("  skipped"))
    };
    (ran.code, text.lines().filter(|line| !of_the_machine(line)).map(|line| line.to_owned() + "\n").collect())
}

/// Only what is not as it should be.
fn troubles(app: &App) -> String {
    let (code, text) = doctor(app);
    assert_eq!(code, Some(1), "{text}");
    let bad = ["  FAIL", "  warn", "  skipped"];
    text.lines()
        .filter(|line| bad.iter().any(|word| line.starts_with(word)))
        .map(|line| line.to_owned() + "\n")
        .collect()
}

#[test]
fn a_service_that_has_everything() {
    let app = App::new(4);
    configured(&app);
    let (code, text) = doctor(&app);
    assert_eq!(code, Some(0), "{text}");
    let body: Vec<&str> = text.lines().collect();
    insta::assert_snapshot!("doctor_healthy", body[..body.len() - 1].join("\n"));
    let json = with(&app.folder().join("zephyr-ab.toml"), &["doctor", "--app", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(value["fine"], true, "{value:#}");
    has_no_secret(&app, &json.stdout);
}

#[test]
fn keys_and_numbers_that_do_not_fit() {
    let app = App::new(4);
    configured(&app);
    app.sandbox.remove_key(sandbox::PUBLIC_KEY);
    insta::assert_snapshot!("doctor_another_key", troubles(&app));
    app.sandbox.add_key(sandbox::PUBLIC_KEY);
    let id = app.sandbox.settings().app_id;
    change(&app, &format!("app_id = {id}"), "app_id = 7\nslug = \"another\"");
    insta::assert_snapshot!("doctor_another_number", troubles(&app));
    change(&app, "app_id = 7", &format!("app_id = {id}"));
    fs::write(app.folder().join("key.pem"), "hunter2hunter2hunter2").expect("a file");
    fs::write(app.folder().join("secret"), "short").expect("a file");
    insta::assert_snapshot!("doctor_no_key", troubles(&app));
}

#[test]
fn an_app_that_may_not_or_is_not_told() {
    let app = App::new(4);
    configured(&app);
    let installation = app.sandbox.settings().installations[0].0;
    app.sandbox.ask_for("checks", Some("read"));
    app.sandbox.permit(installation, "checks", Some("read")).expect("a permission");
    app.sandbox.subscribe(&["pull_request", "repository", "check_run", "star"]);
    app.sandbox.set_webhook("https://elsewhere.example/webhook");
    insta::assert_snapshot!("doctor_may_not", troubles(&app));
}

#[test]
fn an_app_that_asks_for_more_or_is_suspended_or_is_not_there() {
    let app = App::new(4);
    configured(&app);
    app.sandbox.ask_for("administration", Some("write"));
    app.sandbox.suspend(app.sandbox.settings().installations[0].0, true, "octo").expect("suspended");
    change(&app, "data_dir", "repositories = [\"octo/demo\", \"octo/absent\"]\ndata_dir");
    insta::assert_snapshot!("doctor_suspended", troubles(&app));
    app.sandbox.uninstall(app.sandbox.settings().installations[0].0, "octo").expect("uninstalled");
    insta::assert_snapshot!("doctor_not_installed", troubles(&app));
}

#[test]
fn a_clock_that_is_ahead() {
    let app = App::at(4, Arc::new(|| now_ms() - 10 * MINUTE));
    configured(&app);
    let text = troubles(&app);
    assert!(text.starts_with("  FAIL     clock ") && text.contains("ahead of the forge"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_folder_and_a_database_that_cannot_be_used() {
    let app = App::new(4);
    configured(&app);
    let database = format!("sqlite:{}", app.database().display());
    change(&app, &database, "postgres://nobody@127.0.0.1:1/nothing");
    fs::write(app.folder().join("data"), "a file").expect("a file");
    insta::assert_snapshot!("doctor_no_folder", troubles(&app));
}

#[test]
fn a_database_of_a_newer_program() {
    let app = App::new(4);
    configured(&app);
    app.runtime().block_on(async { app.store().await.close().await });
    let newer =
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as c: c.execute(\"UPDATE meta SET value = 99\")";
    let done = Command::new("python3").args(["-c", newer]).arg(app.database()).status().expect("python3");
    assert!(done.success());
    insta::assert_snapshot!("doctor_newer_database", troubles(&app));
    let shown = with(&app.folder().join("zephyr-ab.toml"), &["admin", "run", "show", "octo/demo#1"]);
    assert_eq!(shown.code, Some(2));
    assert!(shown.stderr.contains("use a newer program"), "{}", shown.stderr);
}

#[test]
fn a_configuration_that_is_none_of_a_service() {
    let app = App::new(4);
    configured(&app);
    change(&app, "app_id", "# app_id");
    insta::assert_snapshot!("doctor_incomplete", troubles(&app));
}

// ---- looking into the store ----

#[test]
fn a_run_is_shown_and_freed_and_a_delivery_is_handled_again_beside_the_service() {
    let mut app = App::new(4);
    let config = app.folder().join("zephyr-ab.toml");
    app.hold_steps(true);
    app.start();
    let number = app.pull("held", 40_000);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_comment(number, "⏳");
    let pull = format!("{REPO}#{number}");
    let store = app.runtime().block_on(app.store());
    let row = app.until("a job that lives", || {
        let row = app.runtime().block_on(store.active_runs()).expect("runs").pop()?;
        let subject = app.runtime().block_on(store.read(&format!("run:{}", row.id))).expect("a subject")?;
        let run = Run::from_json(&subject.state).expect("a state");
        run.trials.first().is_some_and(|trial| matches!(trial.state, TrialState::Live { .. })).then_some(row)
    });
    let shown = with(&config, &["admin", "run", "show", &pull]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for part in [
        format!("pull request {pull} (pull:{}:{number})", row.repo),
        format!("run {} of suite tiny: goes on", row.id),
        "state      measuring, round 1 of 4".to_owned(),
        format!("trial      zab-{}-r1.0-1 control: live, job /", row.id),
        "to do      poll (".to_owned(),
        format!("comment:{}:{number}:tiny as ", row.repo),
        format!("mona  run  pull:{}:{number}", row.repo),
    ] {
        assert!(shown.stdout.contains(&part), "{part}\n{}", shown.stdout);
    }
    has_no_secret(&app, &shown.stdout);
    // A job that is known is not replaced.
    let refused = with(&config, &["admin", "run", "adopt-job", row.id.as_str(), "r1.0-1", "/me/by-hand"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("is known and alive"), "{}", refused.stderr);
    let freed = with(&config, &["admin", "run", "unstick", row.id.as_str(), "--force"]);
    assert_eq!(freed.code, Some(0), "{}", freed.stderr);
    app.hold_steps(false);
    app.until_over(number);

    // Handled anew, a command makes no second run.
    let delivery = app.sandbox.deliveries().into_iter().find(|one| one.event == "issue_comment").expect("a delivery");
    for named in [delivery.guid.clone(), delivery.id.to_string()] {
        let again = with(&config, &["admin", "delivery", "again", &named]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        app.until("it is handled", || {
            let known = app.runtime().block_on(store.known_delivery(&delivery.guid)).expect("a delivery")?;
            known.handled.then_some(())
        });
    }
    // What was sent is forgotten here: the forge knows it.
    assert!(app.runtime().block_on(store.prune(Ms(u64::MAX))).expect("pruned") > 0);
    let again = with(&config, &["admin", "delivery", "again", &delivery.guid]);
    assert!(again.stdout.contains("as the forge has logged it"), "{}{}", again.stdout, again.stderr);
    app.until("it is handled", || {
        let known = app.runtime().block_on(store.known_delivery(&delivery.guid)).expect("a delivery")?;
        known.handled.then_some(())
    });
    assert_eq!(app.runtime().block_on(store.runs(row.repo, number)).expect("runs").len(), 1);
    let audit = app.runtime().block_on(store.audit(100)).expect("an audit log");
    let acts: Vec<&str> = audit.iter().filter(|line| line.actor == "admin").map(|line| line.action.as_str()).collect();
    assert_eq!(acts, ["delivery again", "delivery again", "delivery again", "unstick"]);
    let unknown = with(&config, &["admin", "delivery", "again", "0b989ba4-242f-11e5-81e1-c7b6966d2516"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    app.runtime().block_on(store.close());
    app.assert_lawful();
}

/// A run whose trials were launched, and nobody knows what became of it.
fn launched(id: &RunId) -> Run {
    let frame = Frame {
        plan: Digest::of(b"plan"),
        treatments: vec!["head".parse().expect("a name")],
        mode: RoundMode::Together,
        looks: vec![2],
        replacements: 1,
        limit_ms: 60 * MINUTE,
        ledger: Digest::of(b"ledger"),
        episode: 1,
        earlier_rounds: 0,
        each_ms: None,
        retry: None,
        skip: false,
        confirm: None,
        late: domain::machine::timing::Late::default(),
    };
    let granted = step(&Run::new(id.clone(), Ms(1)), &Event::SlotGranted, Ms(2)).0;
    step(&granted, &Event::Resolved(Box::new(frame)), Ms(3)).0
}

#[test]
fn a_person_says_which_job_a_trial_is() {
    let app = App::new(4);
    let config = app.folder().join("zephyr-ab.toml");
    let id = RunId::new(1_795_984_130, 7).expect("an id");
    let key = format!("run:{id}");
    let store = app.runtime().block_on(app.store());
    let row = RunRow {
        id: id.clone(),
        repo: 1,
        number: 42,
        person: 5,
        suite: "tiny".to_owned(),
        request: "comment:1:1".to_owned(),
        head: "0123456789012345678901234567890123456789".to_owned(),
        ledger: None,
        active: true,
        outcome: None,
        evidence: None,
        created: Ms(1),
        ended: None,
    };
    let state = launched(&id).to_json().expect("a state");
    let subject = Subject { key: key.clone(), body: "{}".to_owned(), state, version: 0, fence: 0, due: None };
    let repo = Repo { id: 1, name: REPO.to_owned(), installation: 7 };
    let settle = Settle { create: vec![subject], begin: vec![row], repos: vec![repo], ..Settle::default() };
    assert_eq!(app.runtime().block_on(store.settle(settle)).expect("settled"), Settled::Done);

    let adopt = |trial: &str, job: &str| with(&config, &["admin", "run", "adopt-job", id.as_str(), trial, job]);
    for (trial, job, why) in [
        ("r1.0-9", "/me/by-hand", "has no trial r1.0-9; it has zab-"),
        ("r1.0-1", "by-hand", "a job id does not have the form"),
        ("r1.0-1", &format!("/me/zab-{id}-r1.0-2"), "is by its name the job of trial"),
    ] {
        let refused = adopt(trial, job);
        assert_eq!(refused.code, Some(2), "{trial} {job}");
        assert!(refused.stderr.contains(why), "{why}: {}", refused.stderr);
    }
    let adopted = adopt("r1.0-1", "/me/by-hand");
    assert_eq!(adopted.code, Some(0), "{}", adopted.stderr);
    assert!(adopted.stdout.contains("on your word"), "{}", adopted.stdout);
    let twice = adopt("r1.0-2", "/me/by-hand");
    assert!(twice.stderr.contains("is the job of trial"), "{}", twice.stderr);
    assert!(adopt("r1.0-1", "/me/other").stderr.contains("is known and alive"));

    let subject = app.runtime().block_on(store.read(&key)).expect("a subject").expect("a subject");
    let run = Run::from_json(&subject.state).expect("a state");
    assert_eq!(run.trials[0].job.as_ref().map(ToString::to_string).as_deref(), Some("/me/by-hand"));
    assert!(run.trials[1].job.is_none() && subject.due.is_some());
    let effects = app.runtime().block_on(store.effects(&key)).expect("effects");
    assert!(effects.iter().any(|effect| effect.key.starts_with("poll:")), "{effects:?}");
    let audit = app.runtime().block_on(store.audit(9)).expect("an audit log");
    assert_eq!((audit.len(), audit[0].action.as_str(), audit[0].subject.as_str()), (1, "adopt job", key.as_str()));
    app.runtime().block_on(store.close());
}
