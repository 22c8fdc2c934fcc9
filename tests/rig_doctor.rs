//! `doctor` against the real servers: with `ZEPHYR_AB_RIG` set to anything and the rig up (`tests/rig/up.sh`). With
//! `full`, probes that fail and that are interrupted as well.

use std::process::Command;

use serde_json::Value;

use crate::support::program::run;
use crate::support::root;

/// Whether the rig is there to be used.
fn is_up(what: &str) -> bool {
    let up = std::env::var_os("ZEPHYR_AB_RIG").is_some();
    if !up {
        // Past the harness, which keeps what `println!` says of a test that passes.
        let line = format!("skipped: {what} (ZEPHYR_AB_RIG is not set)\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    up
}

const JSON: [&str; 5] = ["doctor", "--cluster", "rig", "--format", "json"];

fn doctor(more: &[&str]) -> (Option<i32>, Value) {
    let ran = run(&[&JSON[..], more].concat(), b"");
    (ran.code, parsed(&ran.stdout))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// The same, interrupted after a few seconds.
fn interrupted(seconds: &str, more: &[&str]) -> (Option<i32>, Value) {
    let script = r#"seconds=$1; shift; "$@" & pid=$!; sleep "$seconds"; kill -INT $pid; kill -INT $pid; wait $pid"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", seconds, env!("CARGO_BIN_EXE_zephyr-ab")]).args(JSON).args(more);
    let output = command.output().expect("a shell");
    (output.status.code(), parsed(&String::from_utf8_lossy(&output.stdout)))
}

/// The level of a check.
fn level<'v>(value: &'v Value, what: &str) -> Option<&'v str> {
    value["checks"].as_array()?.iter().find(|check| check["what"] == what)?["level"].as_str()
}

#[test]
fn the_rig_is_well() {
    if !is_up("doctor on the rig") {
        return;
    }
    let (code, value) = doctor(&[]);
    assert_eq!((code, value["fine"].as_bool()), (Some(0), Some(true)), "{value:#}");
    for what in ["git", "controller", "login", "fields", "finelog", "query", "clock"] {
        assert_eq!(level(&value, what), Some("ok"), "{value:#}");
    }
}

#[test]
fn a_probe_of_the_rig_holds_where_the_commit_does() {
    if !is_up("the probe on the rig") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let repository = folder.path().join("repository");
    let made = Command::new("bash").arg(root().join("tests/rig/repo.sh")).arg(&repository).status();
    assert!(made.expect("bash").success());
    let repository = repository.to_str().expect("UTF-8");
    let probe = |at: &str, limit: &str| {
        doctor(&["--probe", "rig", "preset=small", "--repo", repository, "--at", at, "--limit", limit])
    };

    let (code, value) = probe("main", "5min");
    assert_eq!(
        (code, level(&value, "first record"), level(&value, "gone")),
        (Some(0), Some("ok"), Some("ok")),
        "{value:#}"
    );

    // Each of these is a job more than those that the whole test may launch every time.
    if std::env::var("ZEPHYR_AB_RIG").as_deref() != Ok("full") {
        return;
    }
    let (code, value) = probe("broken", "5min");
    assert_eq!((code, level(&value, "gone")), (Some(1), Some("ok")), "{value:#}");
    assert!(value.to_string().contains("ValueError: broken on purpose"), "{value:#}");

    for seconds in ["1", "4"] {
        let args = ["--probe", "rig", "--repo", repository, "--at", "main"];
        let (code, value) = interrupted(seconds, &args);
        assert_eq!((code, level(&value, "gone")), (Some(1), Some("ok")), "{value:#}");
        assert!(value.to_string().contains("stopped by Ctrl-C"), "{value:#}");
    }

    // Started or not, nothing is left of it.
    let (code, value) = probe("main", "3s");
    assert_eq!((code, level(&value, "gone")), (Some(1), Some("ok")), "{value:#}");
}
