//! `zephyr-ab demo`: the whole of it on a small repository that it makes itself.

mod repository;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use domain::request::{Options, Rounds};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use suite::SuiteRef;

use super::run::{Commits, Format, Known, announce, measure, prepare, print, told};
use crate::cli::World;
use crate::failure::{Exit, Failure};
use repository::Repository;

/// Shows a whole comparison in less than a minute.
///
/// Makes a small git repository with a benchmark in plain shell and a branch that changes it, compares the branch with
/// main, and prints the comment. Needs git and a POSIX shell, nothing else. The folder with the repository and the
/// evidence is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab demo
  zephyr-ab demo --branch dearer
  zephyr-ab demo --branch same --once")]
pub struct Args {
    /// What the branch does.
    #[arg(long, value_enum, default_value_t = Branch::Slower)]
    branch: Branch,
    /// One round instead of five: what a single measurement is worth.
    #[arg(long)]
    once: bool,
    /// What to print: the comment as plain text or as Markdown, or everything as JSON.
    #[arg(long, value_enum, default_value_t = Format::Text)]
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
    /// The name of the branch.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Dearer => "dearer",
            Self::Different => "different",
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Git or the shell is not there, or the disk failed.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let place = tempfile::Builder::new()
        .prefix("zephyr-ab-demo-")
        .tempdir_in(&world.machine.temp)
        .with_context(|| format!("no temporary folder in {}", world.machine.temp.display()))?
        .keep();
    let repository = Repository::make(&place.join("repository"), &world.machine)?;
    writeln!(world.stderr, "main against {}, in {}", args.branch.name(), repository.folder().display())?;
    let suite = suite::load(&SuiteRef::Name("demo".to_owned()), None).map_err(anyhow::Error::from)?;
    let options = Options { rounds: args.once.then_some(Rounds::Exactly(1)), ..Options::default() };
    let folder = repository.folder().display().to_string();
    let commits = Commits { repo: &folder, base: Some("main"), head: args.branch.name(), pinned: None };
    let prepared = prepare(&suite, &options, &commits, &Known::default(), world)?;
    announce(&prepared, world)?;
    let out: PathBuf = place.join("evidence");
    let templates = Templates::built_in().map_err(anyhow::Error::from)?;
    let records = Folder::new(DiskStorage::new(&out), templates, Scanner::new(&world.machine.secrets.values()));
    let measured = measure(&prepared, &records, world)?;
    let told = told(&measured.run, &records)?;
    print(&measured, &told, &out, (args.format, false), world)?;
    Ok(if told.verdict.is_some() { Exit::Done } else { Exit::Failed })
}
