//! The same assertions against recorded answers and against the real servers.
//!
//! Recorded: always, from `tests/fixtures/recorded.json`. Real: with `ZEPHYR_AB_RIG` set to anything and the rig up
//! (`tests/rig/up.sh`) on `IRIS_PORT` and `FINELOG_PORT`. With `ZEPHYR_AB_RECORD` naming a file besides, what was
//! said is written there.

// A test says what went wrong by panicking, in its helpers too.
#![allow(clippy::expect_used, clippy::panic)]

mod assertions;
mod faults;
mod hostile;
mod login;
mod older;
mod record;
mod samples;
mod support;

use support::Subject;

#[tokio::test(flavor = "multi_thread")]
async fn recorded_answers() {
    let server = record::replay(include_str!("../fixtures/recorded.json")).await;
    assertions::all(&Subject::recorded(&server)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_servers() {
    let Some(subject) = Subject::real() else {
        // Past the harness, which keeps what `println!` says of a test that passes.
        let line = "skipped: the contract with the real servers (ZEPHYR_AB_RIG is not set)\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    };
    match std::env::var("ZEPHYR_AB_RECORD") {
        Err(_) => assertions::all(&subject).await,
        Ok(file) => {
            let recorder = record::Recorder::start(&subject).await;
            assertions::all(&recorder.subject()).await;
            recorder.save(&file);
        }
    }
}
