//! `zephyr-ab run` in repositories made for it.

mod answers;
mod calibrated;
mod commits;
mod continued;
mod refused;
mod scope;
mod weighed;
