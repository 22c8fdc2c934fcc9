//! The demo without a GitHub.

use std::path::PathBuf;

use anyhow::Context as _;
use domain::request::{Options, Rounds};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use suite::SuiteRef;

use super::Args;
use super::repository::Repository;
use crate::cli::World;
use crate::command::run::{Commits, Known, announce, measure, prepare, print, told};
use crate::failure::{Exit, Failure};

/// Compares a branch of a new repository with main and prints the comment.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let place = tempfile::Builder::new()
        .prefix("zephyr-ab-demo-")
        .tempdir_in(&world.machine.temp)
        .with_context(|| format!("no temporary folder in {}", world.machine.temp.display()))?
        .keep();
    let branch = args.branch.lesson().name();
    let repository = Repository::make(&place.join("repository"), &world.machine)?;
    writeln!(world.stderr, "main against {branch}, in {}", repository.folder().display())?;
    let suite = suite::load(&SuiteRef::Name("demo".to_owned()), None).map_err(anyhow::Error::from)?;
    let options = Options { rounds: args.rounds.map(Rounds::Exactly), ..Options::default() };
    let folder = repository.folder().display().to_string();
    let commits = Commits { repo: &folder, base: Some("main"), head: branch, pinned: None };
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
