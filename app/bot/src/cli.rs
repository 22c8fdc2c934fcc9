//! The command line. Every subcommand's help ends with an example.

use clap::{Parser, Subcommand};

use crate::command::{
    admin, calibrate, compare, config, demo, doctor, evidence, judge, manifest, parse, power, replay, run, sandbox,
    serve, simulate, suite,
};
use crate::failure::{Exit, Failure};
pub use crate::world::World;

/// Compares two commits by the same benchmark and says what is proven: pass, regression, tradeoff or inconclusive.
#[derive(Debug, Parser)]
#[command(name = "zephyr-ab", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Admin(admin::Args),
    Calibrate(calibrate::Args),
    Compare(compare::Args),
    Config(config::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Evidence(evidence::Args),
    Judge(judge::Args),
    Manifest(manifest::Args),
    Parse(parse::Args),
    Power(power::Args),
    Replay(replay::Args),
    Run(Box<run::Args>),
    Sandbox(sandbox::Args),
    Serve(serve::Args),
    Simulate(simulate::Args),
    Suite(suite::Args),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Failure`], which is one line for a person and an exit code.
    pub fn run(&self, world: &mut World<'_>) -> Result<Exit, Failure> {
        match &self.command {
            Command::Admin(args) => admin::run(args, world),
            Command::Calibrate(args) => calibrate::run(args, world),
            Command::Compare(args) => compare::run(args, world),
            Command::Config(args) => config::run(args, world),
            Command::Demo(args) => demo::run(args, world),
            Command::Doctor(args) => doctor::run(args, world),
            Command::Evidence(args) => evidence::run(args, world),
            Command::Judge(args) => judge::run(args, world),
            Command::Manifest(args) => manifest::run(args, world),
            Command::Parse(args) => parse::run(args, world),
            Command::Power(args) => power::run(args, world),
            Command::Replay(args) => replay::run(args, world),
            Command::Run(args) => run::run(args, world),
            Command::Sandbox(args) => sandbox::run(args, world),
            Command::Serve(args) => serve::run(args, world),
            Command::Simulate(args) => simulate::run(args, world),
            Command::Suite(args) => suite::run(args, world),
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
