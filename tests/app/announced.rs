//! What others are told, what a pull request is labelled, and how who asked is told of a verdict.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bot::server::Signer;
use bot::service::labs::Labs;
use domain::ids::RunId;
use domain::ports::announce::AnnouncedPull;
use domain::ports::desk::{Settle, Want};
use domain::ports::{Announcement, Announcer, Desk as _, Happening};
use domain::time::{DAY, HOUR, Ms};
use sandbox::clock::{Clock as _, Hand};
use sandbox::faults::{Fault, Rule};
use sandbox::model::Comment;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::crashing::Crashing;
use super::harness::{App, MARKER, REPO, is_over, now_ms};
use super::inside::{ByHand, Place};

const SECRET: &str = "hunter2hunter2hunter2";

/// Something that was sent.
#[derive(Clone, Debug)]
struct Got {
    headers: Vec<(String, String)>,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// Whoever is told: answers with each of some statuses in turn, and with the last one ever after. 0 is no answer.
struct Listener {
    at: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Listener {
    fn answering(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let at = listener.local_addr().expect("an address");
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let kept = Arc::clone(&got);
        // It ends with the process.
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                let Some(one) = read(&stream) else { continue };
                let n = {
                    let mut got = kept.lock().expect("a list");
                    got.push(one);
                    got.len()
                };
                match statuses[(n - 1).min(statuses.len() - 1)] {
                    0 => held.push(stream),
                    status => answer(&stream, status, at),
                }
            }
        });
        Self { at, got }
    }

    fn url(&self) -> String {
        format!("http://{}/hook/T0?key=k-e-y", self.at)
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().expect("a list").clone()
    }
}

fn read(stream: &TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut headers) = (String::new(), Vec::new());
    reader.read_line(&mut line).ok()?;
    assert!(line.starts_with("POST /hook/T0?key=k-e-y "), "{line}");
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut got = Got { headers, body: String::new() };
    let mut body = vec![0; got.header("content-length").parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    got.body = String::from_utf8(body).ok()?;
    Some(got)
}

fn answer(mut stream: &TcpStream, status: u16, at: SocketAddr) {
    let text = format!(
        "HTTP/1.1 {status} X\r\nlocation: http://{at}/elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    drop(stream.write_all(text.as_bytes()));
}

/// A service that tells this listener, and has labels. A plan of the usual preset waits for a person.
fn telling(listener: &Listener) -> App {
    let mut app = App::new(4);
    let file = |name: &str, text: &str| {
        let path = app.folder().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
    };
    file("hook", &listener.url());
    file("hook-secret", SECRET);
    app.configure(
        "[announce]\nurl_file = \"hook\"\nsecret_file = \"hook-secret\"\n[labels]\npass = \"ab: done\"\n\
         regression = \"ab: done\"\ntradeoff = \"ab: done\"\ninconclusive = \"ab: done\"\nrunning = \"ab: running\"",
    );
    let path = app.folder().join("suites/tiny.toml");
    let suite = fs::read_to_string(&path).expect("the suite");
    let quick = "limit = { wall = \"20min\" }\n";
    let dear = "limit = { wall = \"20min\" }\nexpect = { cpu_hours = 1, wall = \"3s\" }\n";
    assert!(suite.contains(quick), "{suite}");
    let suite = suite.replacen(quick, dear, 1) + "\n[limits]\nconfirm_above = { cpu_hours = 0.5 }\n";
    fs::write(path, suite).expect("a suite");
    app.start();
    app
}

/// What a pull request is labelled.
fn labels(app: &App, number: u64) -> Vec<String> {
    app.sandbox.look(REPO, number).expect("a pull request").labels
}

#[test]
fn others_are_told_and_labels_follow() {
    // The first is not taken, the second is sent elsewhere: both come again.
    let listener = Listener::answering(&[500, 302, 204]);
    let mut app = telling(&listener);
    let number = app.pull("topic", 1);
    app.sandbox.label(REPO, number, "bug", "mona").expect("a label");
    app.hold_steps(true);
    app.comment(number, "mona", "/ab-test tiny");
    app.until_comment(number, "⏸️");
    app.until("it runs, as far as labels go", || (labels(&app, number) == ["bug", "ab: running"]).then_some(()));
    app.comment(number, "mona", "/ab-test tiny cancel");
    app.until_heading(number, "cancelled");
    app.until("no label of ours", || (labels(&app, number) == ["bug"]).then_some(()));
    app.comment(number, "mona", "/ab-test tiny preset=other");
    app.until_heading(number, "round 1");
    app.until("it runs", || (labels(&app, number) == ["bug", "ab: running"]).then_some(()));
    app.hold_steps(false);
    app.until_over(number);
    app.until("it is labelled", || (labels(&app, number) == ["bug", "ab: done"]).then_some(()));
    let key = |got: &Got| {
        let body = got.json();
        (body["event"].as_str().expect("a word").to_owned(), body["run"].as_str().expect("a run").to_owned())
    };
    // Each once in the end, whatever came in between.
    let ids = || {
        let mut ids: Vec<String> =
            listener.got().iter().map(|got| got.header("x-zephyr-ab-delivery").to_owned()).collect();
        ids.sort();
        ids.dedup();
        ids
    };
    app.until("all is told", || (ids().len() == 6 && listener.got().len() >= 8).then_some(()));
    let got = listener.got();
    let signer = Signer::new(&SecretString::from(SECRET));
    for one in &got {
        assert_eq!(one.header("x-zephyr-ab-signature-256"), signer.sign(one.body.as_bytes()));
        assert_eq!(one.header("x-zephyr-ab-event"), key(one).0);
        assert_eq!(one.header("x-zephyr-ab-delivery"), one.json()["id"]);
        assert_eq!(one.header("content-type"), "application/json");
        // What is sent again is the same.
        let again = got.iter().filter(|other| other.json()["id"] == one.json()["id"]);
        assert!(again.clone().all(|other| other.body == one.body) && again.count() <= 3, "{got:#?}");
    }
    let runs: Vec<String> = {
        let mut runs: Vec<String> = got.iter().map(|got| key(got).1).collect();
        runs.sort();
        runs.dedup();
        runs
    };
    let mut told: Vec<(usize, String)> = got
        .iter()
        .map(key)
        .map(|(event, run)| (runs.iter().position(|known| *known == run).expect("a run"), event))
        .collect();
    told.sort();
    told.dedup();
    let expected = [(0, "ended"), (0, "queued"), (0, "waiting"), (1, "queued"), (1, "started"), (1, "verdict")];
    assert_eq!(told.iter().map(|(run, event)| (*run, event.as_str())).collect::<Vec<_>>(), expected);
    let of = |run: usize, event: &str| {
        let of = |got: &&Got| key(got) == (event.to_owned(), runs[run].clone());
        got.iter().find(of).expect("it was sent").json()
    };
    let head = app.head(number);
    let (queued, ended) = (of(0, "queued"), of(0, "ended"));
    let web = app.sandbox.settings().web;
    let at = queued["at"].as_str().expect("a time").to_owned();
    assert_eq!(
        queued,
        json!({
            "schema": 1, "event": "queued", "id": format!("{}:queued", runs[0]), "at": at, "repository": REPO,
            "pull_request": { "number": number, "url": format!("{web}/{REPO}/pull/{number}") }, "suite": "tiny",
            "run": runs[0], "head": head, "control": null, "verdict": null, "ended": null, "said": null,
            "reason": null, "comment_url": null, "evidence": null,
        })
    );
    assert!(at.len() == 20 && at.ends_with('Z') && at.contains('T'), "{at}");
    assert!(of(0, "waiting")["reason"].as_str().is_some_and(|why| why.contains("CPU")), "{}", of(0, "waiting"));
    assert_eq!((&ended["ended"], &ended["verdict"]), (&json!("cancelled"), &Value::Null));
    let verdict = of(1, "verdict");
    let comment = app.ours(number, MARKER)[0].id;
    assert_eq!(verdict["comment_url"], app.comment_url(number, comment));
    let word = verdict["verdict"].as_str().expect("a verdict");
    assert!(app.verdict(number).is_some_and(|body| body.contains(&format!("\nVerdict: {word}\n"))), "{verdict}");
    assert!(verdict["evidence"].as_str().is_some_and(|digest| digest.len() == 64), "{verdict}");
    assert!(verdict["control"].as_str().is_some_and(|sha| sha.len() == 40 && sha != head), "{verdict}");
    assert!(verdict["reason"].is_string() && verdict["said"].is_string(), "{verdict}");
    // The verdict no longer speaks of what would be merged.
    app.sandbox.push(REPO, "topic", &[("more", Some("x"))], "more", "mona").expect("a push");
    app.until_heading(number, "stale");
    app.until("no label of ours", || (labels(&app, number) == ["bug"]).then_some(()));
    let log = app.log();
    assert!(!log.contains("k-e-y") && !log.contains(SECRET), "{log}");
    assert!(log.contains("it was answered with 500") && log.contains("it was answered with 302"), "{log}");
    app.assert_lawful();
    app.stop();
}

/// Nobody answers, ever: comments, check and labels do not wait for that, and it is told by the next service.
#[test]
fn who_never_answers_keeps_nobody_waiting() {
    let listener = Listener::answering(&[0]);
    let mut app = telling(&listener);
    let number = app.pull("topic", 1);
    app.comment(number, "mona", "/ab-test tiny preset=other");
    app.until_over(number);
    app.until_concluded(&app.head(number));
    app.until("it is labelled", || (labels(&app, number) == ["ab: done"]).then_some(()));
    app.until("somebody waits for an answer", || (!listener.got().is_empty()).then_some(()));
    app.kill();
    let other = Listener::answering(&[200]);
    fs::write(app.folder().join("hook"), other.url()).expect("a file");
    app.start();
    let events = || {
        let mut events: Vec<String> =
            other.got().iter().map(|got| got.header("x-zephyr-ab-event").to_owned()).collect();
        events.sort();
        events.dedup();
        events
    };
    app.until("all is told", || (events() == ["queued", "started", "verdict"]).then_some(()));
    app.assert_lawful();
    app.stop();
}

/// Takes nothing, and remembers what it was to take.
struct Deaf(Mutex<Vec<(String, String)>>);

impl Announcer for Deaf {
    async fn send(&self, id: &str, _: Happening, body: &str) -> Result<(), String> {
        self.0.lock().expect("a list").push((id.to_owned(), body.to_owned()));
        Err("nobody is there".to_owned())
    }
}

#[test]
fn what_nobody_takes_for_a_day_is_given_up() {
    let app = App::new(4);
    let clock = Arc::new(Hand::at(now_ms()));
    let hand = ByHand(Arc::clone(&clock));
    let file = app.folder().join("zephyr-ab.toml");
    let place = Place::new(&file, app.folder().join("inside"), "pull:1:1".to_owned(), hand, (Duration::ZERO, 1));
    let run = RunId::new(1_800_000_000, 1).expect("an id");
    let announcement = Announcement {
        schema: 1,
        event: Happening::Queued,
        id: format!("{run}:queued"),
        at: "2027-01-15T08:00:00Z".to_owned(),
        repository: REPO.to_owned(),
        pull_request: AnnouncedPull { number: 1, url: "https://h/octo/demo/pull/1".to_owned() },
        suite: "tiny".to_owned(),
        run: run.clone(),
        head: "a".repeat(40).parse().expect("a commit"),
        control: None,
        verdict: None,
        ended: None,
        said: None,
        reason: None,
        comment_url: None,
        evidence: None,
    };
    let target = format!("announce:{run}:queued");
    let wanted = json!({ "since": clock.now_ms(), "announcement": announcement }).to_string();
    let deaf = Deaf(Mutex::default());
    app.runtime().block_on(async {
        let store = place.store().await;
        let want = Want { target: target.clone(), wanted, due: Ms(clock.now_ms()) };
        store.settle(Settle { wants: vec![want], ..Settle::default() }).await.expect("a want");
        let tried = async || {
            let labs = |place: &Place, desk: &Crashing| Labs::new(place.shared().clone(), desk.clone());
            place.announce(labs, Some(&deaf)).await
        };
        assert_eq!((tried().await, tried().await), (1, 0), "it is put off");
        clock.advance(DAY - HOUR);
        assert_eq!((tried().await, tried().await), (1, 0), "it is put off");
        let trouble = store.wanted(&target).await.expect("a want").expect("it is there");
        assert_eq!((trouble.attempts, store.audit(9).await.expect("lines").len()), (2, 0));
        clock.advance(2 * HOUR);
        assert_eq!(tried().await, 1);
        clock.advance(DAY);
        assert_eq!(tried().await, 0, "it is given up");
        let audit = store.audit(9).await.expect("lines");
        let line: Vec<_> =
            audit.iter().map(|line| (line.action.as_str(), &line.subject, line.detail.as_str())).collect();
        assert_eq!(line, [("announcement given up", &target, "nobody is there")]);
        assert_eq!(store.counts(1).await.expect("counts").unsaid, 0);
        store.close().await;
    });
    let sent = deaf.0.lock().expect("a list").clone();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|one| *one == sent[0]) && sent[0].0 == announcement.id, "{sent:#?}");
    assert_eq!(serde_json::from_str::<Announcement>(&sent[0].1).expect("JSON"), announcement);
}

/// Comments that tell somebody, oldest first.
fn notes(app: &App, number: u64) -> Vec<Comment> {
    let all = app.sandbox.comments(REPO, number).into_iter();
    all.filter(|comment| comment.via_app && comment.body.contains("@mona")).collect()
}

#[test]
fn another_verdict_is_told_and_the_older_telling_is_folded() {
    let mut app = App::measuring(5, "");
    let number = app.pull("topic", 40_000);
    let measured = |loops: u32| {
        let step = app.step(loops) + &format!("# {loops}\n");
        app.sandbox.push(REPO, "topic", &[("step.sh", Some(&step))], "more", "mona").expect("a push");
        app.until_heading(number, "stale");
        app.comment(number, "mona", "/ab-test tiny");
        app.until_heading(number, "round");
    };
    app.comment(number, "mona", "/ab-test tiny");
    let first = app.until_over(number);
    assert!(first.contains("\nVerdict: pass\n"), "{first}");
    measured(400_000);
    let second = app.until_over(number);
    assert!(second.contains("\nVerdict: regression\n"), "{second}");
    let note = app.until("it is told", || notes(&app, number).pop());
    // The first was no news, and took no time.
    assert_eq!(notes(&app, number).len(), 1);
    assert!(note.body.contains("regression") && note.minimized.is_none(), "{note:?}");
    let link = app.comment_url(number, app.ours(number, MARKER)[0].id);
    assert!(note.body.contains(&link), "{note:?}");
    // A lost answer tells nobody twice, nor does folding wait for a better time for ever.
    let posts = format!("/repos/*/issues/{number}/comments");
    app.sandbox.add_rule(Rule::next("POST", &posts, Fault::CutAfter));
    app.sandbox.add_rule(Rule::next("POST", "/graphql", Fault::Refused(502)));
    measured(40_001);
    let third = app.until_over(number);
    assert!(third.contains("\nVerdict: pass\n"), "{third}");
    app.until("the older one is folded", || {
        notes(&app, number).first().and_then(|note| note.minimized.clone()).filter(|why| why == "outdated")
    });
    let told = notes(&app, number);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].body.contains("pass") && told[1].minimized.is_none(), "{told:#?}");
    app.assert_lawful();
    app.stop();
}

#[test]
fn the_verdict_is_posted_anew_and_stands_there_once() {
    let mut app = App::new(4);
    app.rerun = "on_push = \"off\"\nnotify = \"repost\"".to_owned();
    app.configure("notify_after_s = 0");
    app.start();
    let number = app.pull("topic", 1);
    app.hold_steps(true);
    let run = |app: &App| {
        app.comment(number, "mona", "/ab-test tiny preset=other");
        app.until_heading(number, "round 1");
        let old = app.ours(number, MARKER)[0].id;
        let talk = app.comment(number, "hubot", "How long will this take?");
        app.hold_steps(false);
        (old, talk)
    };
    let at_the_end = |app: &App, old: u64, talk: u64| {
        let body = app.until("it is over, and anew", || {
            let ours = app.ours(number, MARKER);
            assert!(ours.len() <= 1, "{ours:#?}");
            ours.into_iter().next().filter(|one| one.id != old && is_over(&one.body))
        });
        assert!(body.id > talk && body.body.contains("\nVerdict: "), "{body:?}");
        assert_eq!(app.sandbox.comments(REPO, number).last().map(|last| last.id), Some(body.id));
        body.id
    };
    let (old, talk) = run(&app);
    let first = at_the_end(&app, old, talk);
    // The answers to both halves are lost; and then a person deletes it, which is another matter.
    app.hold_steps(true);
    app.sandbox.add_rule(Rule::next("DELETE", "/repos/*/issues/comments/*", Fault::CutAfter));
    let posts = format!("/repos/*/issues/{number}/comments");
    app.sandbox.add_rule(Rule::next("POST", &posts, Fault::Forgotten(502)));
    let (old, talk) = run(&app);
    assert_eq!(old, first, "what is posted anew is edited from then on");
    let second = at_the_end(&app, old, talk);
    app.sandbox.clear_rules();
    app.sandbox.delete_comment(second, "mona").expect("it is there");
    app.sandbox.push(REPO, "topic", &[("more", Some("x"))], "more", "mona").expect("a push");
    app.until_heading(number, "stale");
    // Where it may not be deleted it stays, and says the same.
    app.hold_steps(true);
    app.sandbox
        .add_rule(Rule { times: u32::MAX, ..Rule::next("DELETE", "/repos/*/issues/comments/*", Fault::Forbidden) });
    let (old, _) = run(&app);
    app.until_over(number);
    app.until("it is said", || app.log().contains("the comment cannot be posted anew").then_some(()));
    app.all_handled();
    assert_eq!(app.ours(number, MARKER).iter().map(|one| one.id).collect::<Vec<_>>(), [old]);
    assert!(notes(&app, number).is_empty());
    app.assert_lawful();
    app.stop();
}

/// The service dies with the old comment gone and the new one not made: one is there in the end.
#[test]
fn a_crash_between_both_halves_leaves_one() {
    let mut app = App::new(4);
    app.rerun = "on_push = \"off\"\nnotify = \"repost\"".to_owned();
    app.configure("notify_after_s = 0");
    app.start();
    let number = app.pull("topic", 1);
    app.hold_steps(true);
    app.comment(number, "mona", "/ab-test tiny preset=other");
    app.until_heading(number, "round 1");
    let old = app.ours(number, MARKER)[0].id;
    let posts = format!("/repos/*/issues/{number}/comments");
    app.sandbox.add_rule(Rule { times: u32::MAX, ..Rule::next("POST", &posts, Fault::Refused(502)) });
    app.hold_steps(false);
    app.until("the old one is gone", || app.ours(number, MARKER).is_empty().then_some(()));
    app.kill();
    app.sandbox.clear_rules();
    app.start();
    app.until_over(number);
    let ours = app.ours(number, MARKER);
    assert!(ours.len() == 1 && ours[0].id > old, "{ours:#?}");
    app.assert_lawful();
    app.stop();
}
