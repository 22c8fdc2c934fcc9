//! Suites from the outside: the whole example file, every kind of error, and requests of it.

// Helpers of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod errors;
mod hostile;
mod repository;
mod request;
mod scope;
mod setup;
mod shipped;
mod whole;

/// The program's own suite for a cluster, which has everything that such a suite may have.
const ZEPHYR: &str = include_str!("../../../../config/suites/zephyr.toml");
/// Texts for the scripts that it names.
const SCRIPTS: suite::Beside<'static> =
    suite::Beside::Texts(&[("setup/uv-sync.sh", "uv sync\n"), ("setup/runtime.sh", "uv pip install a\n")]);
/// A suite for this machine with everything that such a suite may have.
const LOCAL: &str = include_str!("local.toml");

fn zephyr() -> suite::Suite {
    suite::load(&"zephyr".into(), None).unwrap()
}

fn local() -> suite::Suite {
    suite::Suite::parse("local.toml", LOCAL).unwrap()
}
