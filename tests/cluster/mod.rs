//! The program on the real Iris and Finelog of `tests/rig`.
//!
//! Only where `ZEPHYR_AB_RIG` is set. The rig is one machine with one worker, so that the parts run one after the other;
//! a trial takes half a minute, so that what a part needs is taken from the jobs of an earlier one where that is possible.

mod churn;
mod compared;
mod http;
mod judged;
mod lines;
mod measured;
mod proxy;
mod refused;
mod rig;
mod served;
mod stopped;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rig::Rig;

/// What all parts together may launch.
const MOST_TRIALS: usize = 11;

/// A part and its name.
type Part = (&'static str, fn(&Rig));

const PARTS: [Part; 6] = [
    ("refused before anything starts", refused::before_anything_starts),
    ("measured and equal to what the servers say", measured::as_the_servers_say),
    ("compared again from the same jobs", compared::from_the_same_jobs),
    ("preempted", churn::preempted),
    ("interrupted", stopped::interrupted),
    ("on a pull request that is pushed to", served::on_a_pull_request),
];

#[test]
fn the_real_servers() {
    if std::env::var_os("ZEPHYR_AB_RIG").is_none() {
        said("skipped: whole runs on the real servers (ZEPHYR_AB_RIG is not set)");
        return;
    }
    let rig = Rig::new();
    let mut failed = None;
    for (name, part) in PARTS {
        // A part that fails is no reason to know nothing of the others, except where they build on it.
        let result = catch_unwind(AssertUnwindSafe(|| part(&rig)));
        said(&format!("rig: {name}: {}", if result.is_ok() { "ok" } else { "FAILED" }));
        failed = failed.or(result.err());
    }
    let trials = rig.proxy.launched().len();
    said(&format!("rig trials: {trials}"));
    if let Some(failure) = failed {
        resume_unwind(failure);
    }
    assert!(trials <= MOST_TRIALS, "{trials} trials were launched, at most {MOST_TRIALS} may be");
}

/// Past the harness, which keeps what `println!` says of a test that passes.
fn said(line: &str) {
    // Nobody watching is no reason to fail.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}
