//! What comments are understood as, by the program as it is: `zephyr-ab parse`.

use serde_json::{Value, json};

use crate::support::program::run;

/// What the program says of a comment.
fn parse(body: &str) -> Value {
    let ran = run(&["parse", "--format", "json"], body.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{body:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|why| panic!("{body:?}: {why}: {}", ran.stdout))
}

fn text(body: &str) -> String {
    let ran = run(&["parse"], body.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{body:?}");
    ran.stdout
}

/// The command, where there is nothing else.
fn command(body: &str) -> Value {
    let mut found = parse(body);
    assert_eq!(found["error"], Value::Null, "{body:?}: {found}");
    assert_eq!(found.as_object().map(serde_json::Map::len), Some(2), "{found}");
    found["command"].take()
}

/// The code and the message of the error, where there is nothing else.
fn error(body: &str) -> (String, String) {
    let found = parse(body);
    assert_eq!(found["command"], Value::Null, "{body:?}: {found}");
    let text = |key: &str| found["error"][key].as_str().unwrap_or_else(|| panic!("{body:?}: {found}")).to_owned();
    assert_eq!(found["error"].as_object().map(serde_json::Map::len), Some(2), "{found}");
    (text("code"), text("message"))
}

#[test]
fn commands_are_understood() {
    for (body, suite, verb, args) in [
        ("/ab-test zephyr", Some("zephyr"), "run", json!({})),
        ("/ab-test demo\n", Some("demo"), "run", json!({})),
        ("Hello,\r\n\r\n  /ab-test  zephyr preset=light\r\nthanks", Some("zephyr"), "run", json!({"preset": "light"})),
        (
            "/ab-test zephyr run rounds=+2 priority=interactive sha=4F2A9C1",
            Some("zephyr"),
            "run",
            json!({"rounds": "+2", "priority": "interactive", "sha": "4F2A9C1"}),
        ),
        (
            "/ab-test zephyr treatment=wide@head,pool_workers=96 control=0123456",
            Some("zephyr"),
            "run",
            json!({"treatment": ["wide@head,pool_workers=96"], "control": "0123456"}),
        ),
        (
            "/ab-test zephyr treatment=a@head treatment=b@0123456",
            Some("zephyr"),
            "run",
            json!({"treatment": ["a@head", "b@0123456"]}),
        ),
        (
            "/ab-test zephyr stages=minhash..fuzzy sources=a_b,*c* pool_ram=1.5GiB",
            Some("zephyr"),
            "run",
            json!({"stages": "minhash..fuzzy", "sources": "a_b,*c*", "pool_ram": "1.5GiB"}),
        ),
        ("/ab-test zephyr target=all", Some("zephyr"), "run", json!({"target": "all"})),
        ("/ab-test help", None, "help", json!({})),
        ("/ab-test status", None, "status", json!({})),
        ("/ab-test zephyr status", Some("zephyr"), "status", json!({})),
        ("/ab-test zephyr cancel", Some("zephyr"), "cancel", json!({})),
        ("/ab-test zephyr retry", Some("zephyr"), "retry", json!({})),
        ("/ab-test zephyr plan preset=full", Some("zephyr"), "plan", json!({"preset": "full"})),
        ("/ab-test zephyr confirm", Some("zephyr"), "confirm", json!({})),
        ("/ab-test zephyr confirm 4f2a9c1b", Some("zephyr"), "confirm", json!({"digest": "4f2a9c1b"})),
        ("/ab-test zephyr skip only docs.", Some("zephyr"), "skip", json!({"reason": "only docs."})),
        ("/ab-test zephyr accept a = b", Some("zephyr"), "accept", json!({"reason": "a = b"})),
        (
            "/ab-test zephyr explain minhash · stage0-Map → Write",
            Some("zephyr"),
            "explain",
            json!({"row": "minhash · stage0-Map → Write"}),
        ),
        ("/ab-test zephyr auto off", Some("zephyr"), "auto", json!({"state": "off"})),
        (
            "/ab-test zephyr compare control=/me/a treatment=head@/me/b",
            Some("zephyr"),
            "compare",
            json!({"control": "/me/a", "treatment": ["head@/me/b"]}),
        ),
    ] {
        assert_eq!(command(body), json!({"suite": suite, "verb": verb, "args": args}), "{body:?}");
    }
}

#[test]
fn what_is_quoted_or_hidden_is_no_command() {
    for body in [
        "",
        "looks good to me",
        "> /ab-test zephyr\n\nwhy?",
        "> quoted\n/ab-test zephyr",
        "```\n/ab-test zephyr\n```",
        "    /ab-test zephyr",
        "use `/ab-test zephyr`",
        "<!-- /ab-test zephyr -->",
        "<!--\n/ab-test zephyr\n-->",
        "<details>\n\n/ab-test zephyr\n\n</details>",
        "[/ab-test zephyr](https://example.org)",
        "# /ab-test zephyr",
        "/ab-test zephyr\n---",
        "- /ab-test zephyr",
        "/ab-testing zephyr",
    ] {
        assert_eq!(command(body), Value::Null, "{body:?}");
    }
}

#[test]
fn what_is_wrong_has_a_code_and_a_hint() {
    let long = format!("/ab-test zephyr treatment={}@head", "x".repeat(300));
    let longest = format!("/ab-test zephyr\n{}", "x".repeat(70_000));
    let pairs = format!("/ab-test zephyr{}", " treatment=a@head".repeat(65));
    for (body, code, says) in [
        ("/ab-test zephyr\n/ab-test zephyr cancel", "two_commands", "two comments"),
        ("/ab-test zephir", "unknown_suite", "nearest: zephyr"),
        ("/ab-test zephyr.", "unknown_suite", "full stop"),
        ("/ab-test zephyr cancle", "unknown_verb", "nearest: cancel"),
        ("/ab-test zephyr presett=light", "unknown_key", "nearest: preset"),
        ("/ab-test zephyr pool_workrs=3", "unknown_key", "nearest: pool_workers"),
        ("/ab-test zephyr treatment=a@head,pool_workrs=3", "unknown_key", "nearest: pool_workers"),
        ("/ab-test zephyr treatment=a@head,env.LD_PRELOAD=x", "unknown_key", "LD_PRELOAD"),
        ("/ab-test demo priority=batch", "unknown_key", "priority"),
        ("/ab-test zephyr preset=lihgt", "unknown_value", "nearest: light"),
        ("/ab-test zephyr preset=light.", "unknown_value", "full stop"),
        ("/ab-test zephyr stages=minhsh", "unknown_value", "nearest: minhash"),
        ("/ab-test zephyr target=everything", "unknown_value", "expected all"),
        ("/ab-test zephyr stages=fuzzy..exact", "bad_value", "steps in the order"),
        ("/ab-test zephyr pool_workers=0", "bad_value", "1 to 768"),
        ("/ab-test zephyr pool_ram=16", "bad_value", "1GiB to 1TiB"),
        ("/ab-test zephyr sample=gs://elsewhere/x", "bad_value", "gs://marin-eu-west4/"),
        ("/ab-test zephyr source_fraction=0.5 sources=a", "bad_value", "exclude each other"),
        ("/ab-test zephyr sources=\"x'; echo hello; '\"", "bad_value", "allowed"),
        ("/ab-test zephyr sample=gs://b/../../c", "bad_value", "allowed"),
        ("/ab-test zephyr treatment=a@--upload-pack=x", "bad_value", "hexadecimal"),
        ("/ab-test zephyr preset=$(id)", "bad_value", "allowed"),
        ("/ab-test zephyr preset=“light”", "bad_value", "allowed"),
        ("/ab-test zephyr treatment=head@0123456", "bad_value", "another name"),
        ("/ab-test zephyr treatment=control@head", "bad_value", "compared with"),
        ("/ab-test zephyr treatment=a@head treatment=a@head", "bad_value", "name of its own"),
        (&long, "bad_value", "300 characters"),
        ("/ab-test zephyr preset=light preset=full", "duplicate_key", "preset"),
        ("/ab-test zephyr stages=exact..fuzzy target=all", "duplicate_key", "stages"),
        ("/ab-test", "missing_argument", "type /ab-test zephyr"),
        ("/ab-test cancel", "missing_argument", "type /ab-test zephyr cancel"),
        ("/ab-test zephyr skip", "missing_argument", "reason"),
        ("/ab-test zephyr cancel now", "trailing_text", "now"),
        ("/ab-test zephyr preset=light please", "trailing_text", "key=value"),
        (&longest, "too_long", "65536"),
        (&pairs, "too_long", "64"),
    ] {
        let (found, message) = error(body);
        assert_eq!(found, code, "{body:.80}: {message}");
        assert!(message.contains(says), "{body:.80}: {message}");
    }
}

#[test]
fn people_read_lines() {
    let bodies = [
        "/ab-test zephyr preset=light treatment=a@head",
        "/ab-test zephyr skip only docs",
        "/ab-test help",
        "/ab-test cancel",
        "/ab-test zephyr preset=lihgt",
        "nothing",
    ];
    let shown: Vec<String> = bodies.iter().map(|body| format!("{body}\n{}", text(body))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_folder_of_suites_and_bytes_of_any_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let suite = "schema = 1\nname = \"mine\"\ntitle = \"Mine\"\nbackend = \"local\"\n\n[[steps]]\nname = \"a\"\nargv = [[\"true\"]]\n";
    std::fs::write(folder.path().join("mine.toml"), suite).expect("a file");
    let path = folder.path().to_str().expect("UTF-8");
    let ran = run(&["parse", "--format", "json", "--suites", path], b"/ab-test mine");
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(found, json!({"command": {"suite": "mine", "verb": "run", "args": {}}, "error": null}));
    assert_eq!(error("/ab-test mine").0, "unknown_suite", "without the folder nobody knows it");
    let ran = run(&["parse", "--format", "json"], b"\xff\n/ab-test zephyr preset=\xff");
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(found["error"]["code"], "bad_value");
    std::fs::write(folder.path().join("broken.toml"), "schema = 2\n").expect("a file");
    let ran = run(&["parse", "--suites", path], b"/ab-test mine");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
}
