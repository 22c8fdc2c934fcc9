//! The store of a service: `SQLite` or Postgres by one SQL text, through `sqlx`'s `Any`.
//!
//! [`open`] makes a [`SqlStore`] of a URL ([`place`]) and brings its tables up to date ([`migrate`]); what the engines call
//! differently is in [`dialect`]. Whatever changes something is a [`writer::Work`]: it waits in a bounded queue, runs with
//! what waits beside it in one transaction, and is answered after the commit. [`checkpoint`] keeps `SQLite`'s log short.
//! One file per noun has its texts: [`subject`] and [`effect`] (with the looks) are the port `Store`; [`delivery`], [`run`],
//! [`outbox`], [`register`] and [`settle`], which puts them together, are the port `Desk`; [`ports`] implements both.
//! [`admin`] is what an operator sees and does beside a service, `peek` what is known of a store without opening it.
//! Every text is a constant of the program; values are bound, never written into a text.

pub mod admin;
mod checkpoint;
mod delivery;
mod dialect;
mod effect;
mod fault;
mod migrate;
mod open;
mod outbox;
mod peek;
mod place;
mod ports;
mod register;
mod run;
mod settle;
mod spend;
mod subject;
mod value;
mod writer;

pub use open::{OpenError, Options, SqlStore};
pub use peek::{Tables, tables};
