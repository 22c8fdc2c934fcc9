//! `zephyr-ab demo`: the whole of it on a small repository that it makes itself.
//!
//! - `pages`: a small GitHub and the service beside it, a command on a pull request, and its page
//! - `follow`: what the terminal says of that, and when it is over
//! - `browser`: shows the page
//! - `plain`: the same comparison without a GitHub
//! - `repository`, `timing`: the repository of `plain`, and how fast this machine is

mod browser;
mod follow;
mod pages;
mod plain;
mod repository;
mod timing;

use clap::ValueEnum;
use sandbox::demo::Lesson;

use super::run::Format;
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Shows a whole comparison in less than a minute: a pull request, the command, the comment that becomes the verdict.
///
/// Starts a small GitHub and the service on this machine, opens the page of a pull request, writes `/ab-test demo` there,
/// and follows it until the verdict; then comments can be written on the page until Ctrl-C. Needs git and a POSIX shell,
/// nothing else, and leaves nothing behind. With --plain there is no GitHub: two branches of a repository are compared,
/// the comment is printed, and the folder with the repository and the evidence is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab demo
  zephyr-ab demo --branch dearer --port 4000
  zephyr-ab demo --once --no-open
  zephyr-ab demo --plain --branch same")]
pub struct Args {
    /// What the branch does.
    #[arg(long, value_enum, default_value_t = Branch::Slower)]
    branch: Branch,
    /// Rounds instead of the five that the suite has; one shows what a single measurement is worth.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// End after the verdict.
    #[arg(long)]
    once: bool,
    /// Do not open the page.
    #[arg(long)]
    no_open: bool,
    /// The port of the page on 127.0.0.1 [default: a free one].
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Without a GitHub: compare the branch with main and print the comment.
    #[arg(long, conflicts_with_all = ["once", "no_open", "port"])]
    plain: bool,
    /// What --plain prints: the comment as plain text or as Markdown, or everything as JSON.
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "plain")]
    format: Format,
}

/// A branch of the demo's repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Branch {
    /// One step needs more CPU time for the same work.
    Slower,
    /// Only a comment and a README change.
    Same,
    /// Every step works while it waits for its data: faster, and dearer.
    Dearer,
    /// The steps do only half of the work.
    Different,
}

impl Branch {
    fn lesson(self) -> Lesson {
        match self {
            Self::Slower => Lesson::Slower,
            Self::Same => Lesson::Same,
            Self::Dearer => Lesson::Dearer,
            Self::Different => Lesson::Different,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Git or the shell is not there, the port is taken, or the disk failed.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    if args.plain { plain::run(args, world) } else { pages::run(args, world) }
}
