//! One room per subcommand: its arguments, and a function that runs it.

pub mod admin;
pub mod calibrate;
pub mod compare;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod evidence;
pub mod judge;
pub mod manifest;
pub mod parse;
pub mod power;
pub mod replay;
pub mod run;
pub mod sandbox;
pub mod serve;
pub mod simulate;
pub mod suite;
