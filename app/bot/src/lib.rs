//! The program zephyr-ab as a library: [`cli`] is the command line, [`command`] has one room per subcommand,
//! [`config`] is the configuration and [`cluster`] a cluster that it names, connected to; [`server`] is the door of a
//! service, [`service`] what is behind it, and [`metrics`] its numbers; [`world`] is what a command may know of the machine, [`failure`] is what a person
//! sees when it cannot do its work.

pub mod cli;
pub mod cluster;
pub mod command;
pub mod config;
pub mod failure;
pub mod metrics;
pub mod server;
pub mod service;
pub mod world;
