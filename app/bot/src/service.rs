//! `zephyr-ab serve`: everything that makes deliveries into verdict comments.
//!
//! [`payload`] reads what a delivery tells, [`inbox`] handles one after the other, `commanded` says what a command leads to,
//! [`planner`] makes the plan of what was asked for, [`budget`] says what that costs and whether it may, [`repository`] what the
//! repository wants of it, [`labs`] finds the backend of a run again after a restart, [`hook`] sends what others are told, [`sweep`]
//! fetches deliveries that never arrived, and [`run`] has all of it go on until it is told to stop, each `part` by itself.
//! [`blocking`] reads and writes evidence beside all that. The machines and what follows from them are in `engine`.

pub mod blocking;
pub mod budget;
mod commanded;
pub mod hook;
pub mod inbox;
pub mod labs;
mod part;
pub mod payload;
pub mod planner;
mod pressed;
pub mod repository;
pub mod run;
pub mod shared;
pub mod sweep;

pub use run::{Parts, serve};
pub use shared::Shared;
