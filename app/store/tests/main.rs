//! The store on `SQLite`, and on Postgres where `ZEPHYR_AB_POSTGRES` holds the URL of one (`tests/postgres.sh`).

// The configuration of clippy allows these in `#[test]` functions only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod admin;
mod contend;
mod desk;
mod files;
mod model;
mod place;
mod spend;
mod words;
