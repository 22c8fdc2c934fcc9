//! Folders of runs: written, judged, sealed, verified, damaged.

// This crate is tests from end to end; the configuration of clippy allows this in `#[test]` functions only, and what
// they share is written as they are.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::print_stdout)]

mod broken;
mod continued;
mod crash;
mod disk;
mod flips;
mod live;
mod random;
mod retried;
mod secrets;
mod several;
mod support;
mod versions;
mod written;
