//! What people read, as a whole: snapshots of texts, and rules that hold for every text.
#![allow(clippy::unwrap_used)] // a test that cannot make its own input fails, and should

mod cases;
mod hostile;
mod rules;
mod sizes;
mod snapshots;
mod states;
mod support;
