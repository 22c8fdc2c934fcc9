//! The command line. Every subcommand's help ends with an example.

use std::io::{Read, Write};

use clap::{Parser, Subcommand};

use crate::command::{judge, power, simulate};
use crate::failure::{Exit, Failure};

/// The outside world of a command.
pub struct World<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// Standard output: results only.
    pub stdout: &'a mut dyn Write,
    /// Whether a person is watching standard error.
    pub terminal: bool,
}

/// Compares two commits by the same benchmark and says what is proven: pass, regression, tradeoff or inconclusive.
#[derive(Debug, Parser)]
#[command(name = "zephyr-ab", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Judge(judge::Args),
    Power(power::Args),
    Simulate(simulate::Args),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Failure`], which is one line for a person and an exit code.
    pub fn run(&self, world: &mut World<'_>) -> Result<Exit, Failure> {
        match &self.command {
            Command::Judge(args) => judge::run(args, world),
            Command::Power(args) => power::run(args, world),
            Command::Simulate(args) => simulate::run(args, world),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_has_an_example() {
        for sub in Cli::command().get_subcommands() {
            let after = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains(&format!("zephyr-ab {}", sub.get_name())), "{}", sub.get_name());
        }
    }
}
