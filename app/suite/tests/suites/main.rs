//! Suites from the outside: the whole example file, every kind of error, and requests of it.

// Helpers of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod errors;
mod hostile;
mod request;
mod whole;

/// The example of a suite for a cluster.
const ZEPHYR: &str = include_str!("zephyr.toml");
/// A suite for this machine with everything that such a suite may have.
const LOCAL: &str = include_str!("local.toml");

fn zephyr() -> suite::Suite {
    suite::Suite::parse("zephyr.toml", ZEPHYR).unwrap()
}

fn local() -> suite::Suite {
    suite::Suite::parse("local.toml", LOCAL).unwrap()
}
