//! `zephyr-ab compare`: jobs that already ran, judged.

mod asked;
mod plan;
mod recover;

use std::path::PathBuf;

use evidence::{DiskStorage, Folder, Scanner, Templates};
use suite::{Suite, SuiteRef};

use super::run::{Ended, FailOn, Format, Known, Pinned, Prepared, announce, exit, keep_out_of_git, print, told, with};
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// Plans a comparison of jobs that a pull request names.
///
/// # Errors
/// See [`plan::prepare`]; the pairs name no jobs.
pub(crate) fn prepare(
    suite: &Suite,
    pairs: &[(String, String)],
    known: &Known<'_>,
    pinned: &Pinned,
    world: &crate::world::World<'_>,
) -> Result<Prepared, Failure> {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    plan::prepare(suite, &asked::Asked::parse(&pairs)?, known, Some(pinned), world)
}

/// Judges jobs that already ran on a cluster.
///
/// The jobs of control and treatment are paired in the order in which they are named: each pair is a round, and says
/// most where its jobs ran side by side. What they ran is read back from their own requests; what cannot be read back is
/// unknown, and then nothing is proven. Executions may be named instead of jobs: all of an arm make one trial. Nothing is
/// launched, and nothing is stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab compare zephyr control=/me/a1,/me/a2 treatment=head@/me/b1,/me/b2
  zephyr-ab compare zephyr control=/me/a treatment=wide@/me/b,pool_workers=80 --calibration light.json
  zephyr-ab compare rig control=exact-web-20261129-202850-8d10c1b5 treatment=head@exact-web-20261129-203011-0a1b2c3d")]
pub struct Args {
    /// The suite: a path that ends in .toml, or a name.
    #[arg(value_name = "SUITE")]
    suite: String,
    /// `control=JOB[,JOB]` and `treatment=NAME@JOB[,JOB][,key=value]`, which may be there several times.
    #[arg(value_name = "KEY=VALUE", required = true)]
    pairs: Vec<String>,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// What to print: the comment as plain text or as Markdown, or everything as JSON.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print every row as plain text, not only those that matter most.
    #[arg(long)]
    all_rows: bool,
    /// Folder for the evidence of runs.
    #[arg(long, value_name = "DIR", default_value = "zephyr-ab-evidence")]
    out: PathBuf,
    /// What is known of the noise: a file made by `zephyr-ab calibrate`.
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// The configuration, which says how clusters are reached [default: zephyr-ab.toml, where there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Verdicts that make the exit code 3.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "VERDICT")]
    fail_on: Vec<FailOn>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] where what is asked for makes no sense, anything else where it could not be done.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let templates = Templates::built_in().map_err(anyhow::Error::from)?;
    let asked = asked::Asked::parse(&args.pairs)?;
    let suite = suite::load(&SuiteRef::from(args.suite.as_str()), args.suites.as_deref())
        .map_err(|e| Failure::Usage(e.to_string()))?;
    let known = Known { calibration: args.calibration.as_deref(), config: args.config.as_deref() };
    let prepared = plan::prepare(&suite, &asked, &known, None, world)?;
    let lab = plan::lab(&prepared)?;
    announce(&prepared, world)?;
    keep_out_of_git(&args.out)?;
    let folder = Folder::new(DiskStorage::new(&args.out), templates, Scanner::new(&world.machine.secrets.values()));
    let measured = with(lab, &prepared, &folder, world)?;
    let told = told(&measured.run, &folder)?;
    print(&measured, &told, &args.out, (args.format, args.all_rows), world)?;
    debug_assert!(told.verdict.is_some() || measured.ended != Ended::Judged);
    Ok(exit(&measured, &told, &args.fail_on))
}
