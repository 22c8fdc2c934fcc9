//! The program zephyr-ab as a library: [`cli`] is the command line, [`command`] has one room per subcommand,
//! [`failure`] is what a person sees when a command cannot do its work.

pub mod cli;
pub mod command;
pub mod failure;
