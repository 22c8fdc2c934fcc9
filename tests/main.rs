//! Whole-program tests: the procedure against its reference, its laws, what it refuses, and the program itself.

// This crate is tests from end to end; the configuration of clippy allows this in `#[test]` functions only, and what
// they share is written as they are.
#![allow(clippy::expect_used, clippy::print_stdout)]

mod app;
mod chaos;
mod cluster;
mod demo;
mod differential;
mod evidence;
mod floors;
mod generate;
mod goals;
mod hostile;
mod metamorphic;
mod never;
mod parse;
mod reference;
mod refusals;
mod regressions;
mod rig_doctor;
mod run;
mod server;
mod support;
mod vectors;
