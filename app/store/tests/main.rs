//! The store on `SQLite`, and on Postgres where `ZEPHYR_AB_POSTGRES` holds the URL of one (`tests/postgres.sh`).

mod contend;
mod desk;
mod files;
mod model;
mod place;
mod words;
