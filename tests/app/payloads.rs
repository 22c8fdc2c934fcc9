//! GitHub's own examples of payloads: each is taken, and read as what it is, however it is changed.

use std::fmt::Write as _;

use bot::service::inbox;
use bot::service::payload::{ButtonKind, Told, read};
use domain::ports::Desk as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::App;
use crate::support::root;

/// An event and its payload.
fn examples() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(root().join("tests/contract/examples.json")).expect("the examples");
    let all: Vec<Value> = serde_json::from_str(&text).expect("a list");
    let one = |example: &Value| (example["event"].as_str().expect("an event").to_owned(), example["payload"].clone());
    all.iter().map(one).collect()
}

/// The examples, and those of comments once more on a pull request of an installation.
fn all() -> Vec<(String, Value)> {
    let mut all = examples();
    let comments: Vec<_> = all.iter().filter(|(event, _)| event == "issue_comment").cloned().collect();
    for (event, mut payload) in comments {
        payload["issue"]["pull_request"] = json!({ "url": "https://api.github.com/repos/a/b/pulls/2" });
        payload["installation"] = json!({ "id": 11 });
        all.push((event, payload));
    }
    all
}

/// What a delivery tells, in a line.
fn line(told: &Told) -> String {
    match told {
        Told::Comment(comment) => format!(
            "comment {} {:?} on {} of {}@{} by {} for {}{} at {}: {:?}",
            comment.id,
            comment.happened,
            comment.pull.key(),
            comment.pull.repo.name,
            comment.pull.repo.installation,
            comment.sender.login,
            comment.author.as_ref().map_or("nobody", |author| author.login.as_str()),
            if comment.bot { " (a program)" } else { "" },
            comment.written.unwrap_or_default().0,
            comment.body.chars().take(40).collect::<String>(),
        ),
        Told::Pull { id, push, .. } => {
            let push = push.as_ref().map(|push| format!(", pushed {}..{}", push.before.short(), push.after.short()));
            format!("{} of {}@{}{}", id.key(), id.repo.name, id.repo.installation, push.unwrap_or_default())
        }
        Told::Button(button) => {
            let what = match &button.identifier {
                ButtonKind::Rerun => "run again".to_owned(),
                ButtonKind::Named(identifier) => format!("{identifier:?}"),
            };
            format!(
                "{what} of check {} ({:?}) of app {} at {} of {}@{} by {}{}",
                button.check,
                button.external,
                button.app_id.unwrap_or_default(),
                button.head.short(),
                button.repo.name,
                button.repo.installation,
                button.sender.login,
                if button.bot { " (a program)" } else { "" },
            )
        }
        Told::Installation { installation, what, whole, repos } => {
            let names: Vec<&str> = repos.iter().map(|repo| repo.name.as_str()).collect();
            let all = if *whole { "all of " } else { "" };
            format!("{all}installation {installation}: {what:?} {}", names.join(", "))
        }
        Told::Repo(repo) => format!("repository {} {}@{}", repo.id, repo.name, repo.installation),
        Told::Nothing(why) => format!("nothing: {why}"),
    }
}

#[test]
fn examples_are_read_as_what_they_are() {
    let mut lines = String::new();
    for (event, payload) in all() {
        let action = payload["action"].as_str().unwrap_or("-");
        let _ = writeln!(lines, "{event} {action}: {}", line(&read(&event, &payload.to_string())));
    }
    insta::assert_snapshot!(lines);
}

/// Sends a delivery as GitHub does; what it is answered.
fn post(app: &App, client: &reqwest::Client, guid: &str, event: &str, payload: &Value) -> u16 {
    let body = payload.to_string().into_bytes();
    let request = client
        .post(format!("http://127.0.0.1:{}/webhook", app.port))
        .header("Content-Type", "application/json")
        .header("X-GitHub-Event", event)
        .header("X-GitHub-Delivery", guid)
        .header("X-GitHub-Hook-Installation-Target-Type", "integration")
        .header("X-GitHub-Hook-Installation-Target-ID", app.sandbox.settings().app_id.to_string())
        .header("X-Hub-Signature-256", sandbox::signature::sign(&app.sandbox.settings().secret, &body))
        .body(body);
    app.runtime().block_on(request.send()).expect("an answer").status().as_u16()
}

/// A value that stands where another one is expected.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("what_no_version_knew_yet")),
        Just(json!("")),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(1.5)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{ "id": 1 }])),
    ]
}

/// What is done to a payload at a place: something stands there instead, it is gone, or there is more beside it.
#[derive(Clone, Debug)]
enum Change {
    Instead(Value),
    Gone,
    Beside(Value),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => odd().prop_map(Change::Instead),
        2 => Just(Change::Gone),
        1 => odd().prop_map(Change::Beside),
    ]
}

/// Every place in a value, by its JSON pointer.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut below = |key: String, value: &Value| {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        all.push(at.clone());
        places(value, &at, all);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| below(i.to_string(), value)),
        _ => {}
    }
}

fn changed(payload: &mut Value, at: &str, change: &Change) {
    let Some((above, key)) = at.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (payload.pointer_mut(above), change) {
        (Some(Value::Object(map)), Change::Instead(value)) => drop(map.insert(key, value.clone())),
        (Some(Value::Object(map)), Change::Gone) => drop(map.remove(&key)),
        (Some(Value::Object(map)), Change::Beside(value)) => drop(map.insert("a_new_field".to_owned(), value.clone())),
        (Some(Value::Array(list)), change) => {
            let at = key.parse::<usize>().ok().filter(|at| *at < list.len());
            match (at, change) {
                (Some(at), Change::Instead(value)) => list[at] = value.clone(),
                (Some(at), Change::Gone) => drop(list.remove(at)),
                (_, Change::Beside(value)) => list.push(value.clone()),
                (None, _) => {}
            }
        }
        _ => {}
    }
}

/// What of a payload is needed; everything else may change as it likes.
const NEEDED: [&str; 29] = [
    "/action",
    "/number",
    "/before",
    "/after",
    "/check_run/app/id",
    "/check_run/external_id",
    "/check_run/head_sha",
    "/check_run/id",
    "/requested_action/identifier",
    "/comment/id",
    "/comment/body",
    "/comment/created_at",
    "/comment/user/id",
    "/comment/user/login",
    "/comment/user/type",
    "/installation/id",
    "/issue/number",
    "/issue/pull_request",
    "/pull_request/head/sha",
    "/pull_request/number",
    "/pull_request/updated_at",
    "/repositories",
    "/repositories_added",
    "/repositories_removed",
    "/repository/id",
    "/repository/full_name",
    "/sender/id",
    "/sender/login",
    "/sender/type",
];

/// Whether something that is needed stands at the place, below it, or above it.
fn is_needed(at: &str) -> bool {
    let is_in = |place: &str, other: &str| place.starts_with(&format!("{other}/"));
    NEEDED.iter().any(|needed| *needed == at || is_in(needed, at) || is_in(at, needed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_payloads_tell_something_or_nothing(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..6),
        needed in any::<bool>(),
    ) {
        let all = ALL.get_or_init(all);
        let (event, mut payload) = which.get(all).clone();
        let before = read(&event, &payload.to_string());
        let mut matters = false;
        for (place, change) in &changes {
            let mut at = Vec::new();
            places(&payload, "", &mut at);
            // Half of the cases change what is needed only: by chance it is hardly ever met.
            at.retain(|at| !needed || is_needed(at));
            if at.is_empty() {
                continue;
            }
            let at = place.get(&at);
            matters |= is_needed(at) && !matches!(change, Change::Beside(_));
            changed(&mut payload, at, change);
        }
        let after = read(&event, &payload.to_string());
        prop_assert!(matters || before == after, "{} became {}", line(&before), line(&after));
        // A number that no store can hold is no number.
        let numbers = match &after {
            Told::Comment(comment) => vec![comment.id, comment.pull.number, comment.pull.repo.id, comment.sender.id],
            Told::Pull { id, .. } => vec![id.number, id.repo.id, id.repo.installation],
            Told::Button(button) => vec![button.check, button.repo.id, button.sender.id, button.app_id.unwrap_or_default()],
            Told::Installation { installation, repos, .. } => {
                repos.iter().map(|repo| repo.id).chain([*installation]).collect()
            }
            Told::Repo(repo) => vec![repo.id, repo.installation],
            Told::Nothing(_) => Vec::new(),
        };
        prop_assert!(numbers.iter().all(|number| i64::try_from(*number).is_ok()), "{}", line(&after));
    }
}

static ALL: std::sync::OnceLock<Vec<(String, Value)>> = std::sync::OnceLock::new();

#[test]
fn every_example_is_taken_and_handled_by_the_service() {
    let mut app = App::started(4);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut sent = Vec::new();
    let mut send = |event: &str, payload: &Value| {
        let guid = format!("00000000-0000-4000-a000-{:012}", sent.len());
        let status = post(&app, &client, &guid, event, payload);
        assert!((200..300).contains(&status), "{status}: {event} {}", payload["action"]);
        sent.push(guid);
    };
    for (event, payload) in all() {
        send(&event, &payload);
    }
    // Some of those that lack what is needed, have something else there, or have a number that no store can hold.
    for event in ["check_run", "installation", "issue_comment", "pull_request", "repository"] {
        let (_, example) = all().into_iter().rfind(|(of, _)| of == event).expect("an example");
        for at in NEEDED {
            for change in [Change::Gone, Change::Instead(Value::Null), Change::Instead(json!(u64::MAX))] {
                let mut payload = example.clone();
                changed(&mut payload, at, &change);
                if payload != example {
                    send(event, &payload);
                }
            }
        }
    }
    // What comes after all of that is handled.
    let number = app.pull("topic", 4000);
    app.comment(number, "mona", "/ab-test help");
    let help = app.until("help", || app.reply(number));
    assert!(help.contains("tiny"), "{help}");
    let store = app.runtime().block_on(app.store());
    app.until("all of them are handled", || {
        let counts = app.runtime().block_on(store.counts(inbox::HANDLER)).expect("counts");
        (counts.open_deliveries == 0).then_some(())
    });
    let known = app.runtime().block_on(store.known_deliveries(&sent)).expect("deliveries");
    assert_eq!(known.len(), sent.len());
    app.runtime().block_on(store.close());
    app.stop();
    assert!(!app.log().contains("panicked"), "{}", app.log());
    println!("{} payloads", sent.len());
}
