//! `zephyr-ab run`: two commits of a repository, measured and judged.

mod answer;
mod cost;
mod earlier;
mod follow;
mod found;
mod launches;
mod noise;
mod place;
mod plan;
mod progress;
mod retry;
mod trivial;
mod weigh;

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use domain::request::{KEYS, Key, Request};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use suite::repository::LARGEST;
use suite::{RepositoryFile, SuiteRef};

pub use answer::{FailOn, Format, Told};
pub(super) use answer::{exit, print, told};
pub(crate) use cost::{agreement, by_suite};
pub use earlier::continues as prepare_more;
pub(super) use follow::with;
pub use follow::{Ended, Measured, measure};
pub(super) use found::merge_bases;
pub(super) use noise::Noise;
pub use place::{RunsOn, runtime};
pub(crate) use plan::only;
pub use plan::{Commits, Known, Pinned, Prepared, prepare};
pub(super) use plan::{beside, empty_mirror, late};
pub use retry::{bring, retry as prepare_retry};
pub use weigh::weigh;

use crate::cli::World;
use crate::failure::{Exit, Failure};

/// The first argument that makes this program a supervisor of one step of a trial.
pub const SUPERVISE: &str = "supervise";

const EXAMPLES: &str = "Examples:
  zephyr-ab run bench.toml
  zephyr-ab run bench.toml preset=quick rounds=6 --base main --head my-branch
  zephyr-ab run zephyr preset=light --base main --head my-branch --config zephyr-ab.toml
  zephyr-ab run bench.toml treatment=batched@head,batch=64 --fail-on regression
  zephyr-ab run bench.toml rounds=+2 --continue zephyr-ab-evidence/20261129T202850Z-8d10c1b5
  zephyr-ab run bench.toml --retry zephyr-ab-evidence/20261129T202850Z-8d10c1b5";

/// What may be asked for, from the one table of keys.
fn keys() -> String {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let line = |key: &Key| format!("  {:width$}  {}, as in {}\n", key.name, key.meaning, key.example);
    let lines: String = KEYS.iter().map(line).collect();
    format!("Keys, beside the parameters of the suite:\n{lines}\n")
}

/// Compares two commits of a git repository by a suite.
///
/// The control is the merge base of base and head, the treatment is the head. Both run the same steps in checkouts of
/// their own, or the same job on a cluster, round by round; the repository is only read. The folder that is left allows
/// anyone to compute the verdict again.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{}{EXAMPLES}", keys()))]
pub struct Args {
    /// The suite: a path that ends in .toml, or a name.
    #[arg(value_name = "SUITE")]
    suite: String,
    /// What is asked for, as key=value: preset, rounds, treatment, control, normalize, and the suite's parameters.
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// The repository: a folder, or an https or file URL.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: String,
    /// What the head is to be merged into [default: the first of origin/HEAD, main, master].
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// What is compared with it [default: HEAD].
    #[arg(long, value_name = "REF")]
    head: Option<String>,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// What a repository says of the suite: its .github/zephyr-ab.toml, as a service reads it.
    #[arg(long, value_name = "FILE")]
    repository: Option<PathBuf>,
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
    /// Add rounds to the comparison in this folder of evidence, whose commits are compared again.
    #[arg(long = "continue", value_name = "DIR", conflicts_with_all = ["base", "head", "calibration"])]
    continues: Option<PathBuf>,
    /// Measure what is missing of the comparison in this folder of evidence, which was cancelled, failed, or came to no
    /// verdict because of the infrastructure.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["base", "head", "calibration", "continues"])]
    retry: Option<PathBuf>,
    /// The configuration, which says how clusters are reached [default: zephyr-ab.toml, where there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Verdicts that make the exit code 3.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "VERDICT")]
    fail_on: Vec<FailOn>,
    /// Start without asking, whatever it costs.
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] where what is asked for makes no sense, anything else where it could not be done.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let templates = Templates::built_in().map_err(anyhow::Error::from)?;
    let request =
        Request::new(&args.suite, args.pairs.iter().map(String::as_str)).map_err(|e| Failure::Usage(e.to_string()))?;
    let suite = suite::load(&SuiteRef::from(args.suite.as_str()), args.suites.as_deref())
        .map_err(|e| Failure::Usage(e.to_string()))?;
    let suite = match &args.repository {
        Some(path) => suite::repository::apply(&suite, &said(path)?).map_err(|e| Failure::Usage(e.to_string()))?,
        None => suite,
    };
    let options = request.options().map_err(|e| Failure::Usage(e.to_string()))?;
    let commits = Commits {
        repo: &args.repo,
        base: args.base.as_deref(),
        head: args.head.as_deref().unwrap_or("HEAD"),
        pinned: None,
    };
    let known = Known { calibration: args.calibration.as_deref(), config: args.config.as_deref() };
    let prepared = match (&args.continues, &args.retry) {
        (Some(folder), _) => prepare_more(&suite, &options, &commits, folder, known.config, world)?,
        (None, Some(folder)) => prepare_retry(&suite, &options, &commits, folder, known.config, world)?,
        (None, None) => prepare(&suite, &options, &commits, &known, world)?,
    };
    agree(&prepared, args.yes, world)?;
    announce(&prepared, world)?;
    keep_out_of_git(&args.out)?;
    let folder = Folder::new(DiskStorage::new(&args.out), templates, Scanner::new(&world.machine.secrets.values()));
    let measured = measure(&prepared, &folder, world)?;
    let told = told(&measured.run, &folder)?;
    print(&measured, &told, &args.out, (args.format, args.all_rows), world)?;
    Ok(answer::exit(&measured, &told, &args.fail_on))
}

/// Reads what a repository says of suites.
pub(super) fn said(path: &std::path::Path) -> Result<RepositoryFile, Failure> {
    let place = path.display().to_string();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|why| Failure::Usage(format!("{place}: cannot be read: {why}")))?;
    // One byte more than is allowed shows that there is too much.
    let read = file.take(LARGEST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|why| Failure::Usage(format!("{place}: cannot be read: {why}")))?;
    RepositoryFile::read(&place, &bytes).map_err(|why| Failure::Usage(why.to_string()))
}

/// What is about to be compared, before the first round.
pub(super) fn announce(prepared: &Prepared, world: &mut World<'_>) -> Result<(), Failure> {
    let plan = &prepared.plan;
    let treatments: Vec<String> = plan
        .arms
        .treatments()
        .iter()
        .map(|treatment| format!("{} {}", treatment.name, treatment.commit.short()))
        .collect();
    let rounds = plan.rounds().saturating_sub(u64::from(plan.earlier_rounds));
    let trials = rounds * plan.roles().len() as u64;
    let long = prepared.each_ms.map(|each| format!(", about {}", progress::duration(each * trials)));
    let (control, treatments, long) = (plan.arms.control().short(), treatments.join(", "), long.unwrap_or_default());
    if plan.origin.ran.is_empty() {
        writeln!(
            world.stderr,
            "{}: control {control} ({}), {treatments}; at most {rounds} rounds, {trials} trials{long}",
            plan.title, plan.origin.base
        )?;
    } else {
        let names: Vec<String> = plan.treatments().iter().map(ToString::to_string).collect();
        writeln!(world.stderr, "{}: control and {}, {rounds} rounds of jobs that ran", plan.title, names.join(", "))?;
    }
    for note in prepared.hints.iter().chain(&plan.notes) {
        writeln!(world.stderr, "note: {note}")?;
    }
    Ok(())
}

/// The folder of evidence often lies in a repository, and is not to be committed by accident.
pub(super) fn keep_out_of_git(out: &std::path::Path) -> Result<(), Failure> {
    if out.exists() {
        return Ok(());
    }
    let made = std::fs::create_dir_all(out).and_then(|()| std::fs::write(out.join(".gitignore"), "*\n"));
    Ok(made.with_context(|| out.display().to_string())?)
}

/// What waits for a person's agreement on GitHub is asked here, or needs `--yes`.
pub(super) fn agree(prepared: &Prepared, yes: bool, world: &mut World<'_>) -> Result<(), Failure> {
    let Some(why) = &prepared.confirm else { return Ok(()) };
    if yes {
        return Ok(());
    }
    if !world.answers {
        return Err(Failure::Usage(format!("{why}; start it with --yes")));
    }
    write!(world.stderr, "{why}. Start it? [y/N] ")?;
    world.stderr.flush()?;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 100 && std::io::Read::read(world.stdin, &mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let agreed = matches!(String::from_utf8_lossy(&line).trim().to_lowercase().as_str(), "y" | "yes");
    if agreed { Ok(()) } else { Err(Failure::Usage("not started".to_owned())) }
}
