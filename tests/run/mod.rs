//! `zephyr-ab run` in repositories made for it.

mod answers;
mod calibrated;
mod commits;
mod continued;
mod refused;
mod retried;
mod scope;
mod weighed;
