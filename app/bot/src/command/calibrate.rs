//! `zephyr-ab calibrate`: how much the same code differs from itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context as _;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use domain::calibration::{CALIBRATION_SCHEMA, CalibrationFile, CalibrationTrial, RowSeconds};
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::Fate;
use domain::request::{Options, Request, Rounds, TreatmentAsked};
use evidence::trials::seen;
use evidence::{Bundle, DiskStorage, Folder, Scanner, Templates};
use lab::local::host_class;
use stats::Event;
use stats::calibration::helmert;
use suite::SuiteRef;

use super::run::{Commits, Ended, Known, agree, announce, measure, prepare};
use crate::cli::World;
use crate::failure::{Exit, Failure};

/// The name of the second arm, which runs the same code.
const AGAIN: &str = "again";

/// Runs one commit many times and writes down how long each row took: what is known of the noise.
///
/// `zephyr-ab run --calibration FILE` then needs fewer rounds. Eleven trials or more are the best grade; a calibration
/// holds for one suite, one workload and one kind of machine, and for 30 days.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab calibrate bench.toml
  zephyr-ab calibrate bench.toml preset=quick --at main --trials 20 --file quick.calibration.json")]
pub struct Args {
    /// The suite: a path that ends in .toml, or a name.
    #[arg(value_name = "SUITE")]
    suite: String,
    /// What is asked for, as key=value: preset and the suite's parameters, and runs=N for --trials N.
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// The repository: a folder, or an https or file URL.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: String,
    /// The commit that is run.
    #[arg(long, value_name = "REF", default_value = "HEAD")]
    at: String,
    /// How often it is run; an odd number is rounded up.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=200))]
    trials: u32,
    /// File to write; an existing one is not overwritten.
    #[arg(long, value_name = "FILE", default_value = "calibration.json")]
    file: PathBuf,
    /// Folder of suites that go before those that the program brings along.
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// The configuration, which says how clusters are reached [default: zephyr-ab.toml, where there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for the evidence of runs.
    #[arg(long, value_name = "DIR", default_value = "zephyr-ab-evidence")]
    out: PathBuf,
    /// Start without asking, whatever it costs.
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] where what is asked for makes no sense, anything else where it could not be measured.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    if args.file.exists() {
        return Err(usage(&format!("{} exists; name another --file", args.file.display())));
    }
    // Found out now and not after hours of measuring.
    let parent = args.file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| ".".as_ref());
    let draft = tempfile::NamedTempFile::new_in(parent).with_context(|| parent.display().to_string())?;
    let (pairs, trials) = trials(args)?;
    let request = Request::new(&args.suite, pairs).map_err(|e| usage(&e))?;
    let suite = suite::load(&SuiteRef::from(args.suite.as_str()), args.suites.as_deref()).map_err(|e| usage(&e))?;
    let options = request.options().map_err(|e| usage(&e))?;
    let asks_for_arms = !options.treatments.is_empty() || options.control.is_some() || options.rounds.is_some();
    if asks_for_arms {
        return Err(usage(
            &"a calibration has one arm: control, treatment and rounds cannot be given (see --at, --trials)",
        ));
    }
    let name = AGAIN.parse().map_err(anyhow::Error::from)?;
    let again = TreatmentAsked { name, commit: None, declared: domain::arms::Declared::default() };
    let rounds = Some(Rounds::Exactly(trials.div_ceil(2)));
    let options = Options { treatments: vec![again], rounds, ..options };
    let commits = Commits { repo: &args.repo, base: Some(&args.at), head: &args.at, pinned: None };
    let known = Known { calibration: None, config: args.config.as_deref() };
    let prepared = prepare(&suite, &options, &commits, &known, world)?;
    agree(&prepared, args.yes, world)?;
    announce(&prepared, world)?;
    let templates = Templates::built_in().map_err(anyhow::Error::from)?;
    let folder = Folder::new(DiskStorage::new(&args.out), templates, Scanner::new(&world.machine.secrets.values()));
    let measured = measure(&prepared, &folder, world)?;
    if let Ended::Without(how, why) = measured.ended {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        return Err(anyhow::anyhow!("{}{why}; nothing was written", how.key().replace('_', " ")).into());
    }
    let (file, short) = calibration(&prepared.plan, &measured.run, folder.storage())?;
    // A run ends early where more rounds cannot help, as when every row is too short.
    if file.trials.len() < trials as usize {
        let place = args.out.join(measured.run.as_str());
        let judged = folder.composed(&measured.run).map_err(anyhow::Error::from)?.judged;
        let reason =
            judged.as_ref().and_then(|judged| judged.headline()).map_or("no verdict", |head| head.reason.code());
        return Err(anyhow::anyhow!(
            "only {} trials could be counted ({reason}); see {}; nothing was written",
            file.trials.len(),
            place.display()
        )
        .into());
    }
    let mut text = serde_json::to_string_pretty(&file).map_err(anyhow::Error::from)?;
    text.push('\n');
    std::fs::write(draft.path(), text).with_context(|| draft.path().display().to_string())?;
    draft.persist_noclobber(&args.file).map_err(|e| e.error).with_context(|| args.file.display().to_string())?;
    writeln!(world.stdout, "{}", table(&file))?;
    if !short.is_empty() {
        let rows: Vec<String> = short.iter().map(|row| row.replace(char::is_control, "?")).collect();
        writeln!(world.stdout, "too short to be calibrated, and left out: {}", rows.join("; "))?;
    }
    writeln!(
        world.stdout,
        "{} trials of {} in {}",
        file.trials.len(),
        prepared.plan.arms.control().short(),
        args.file.display()
    )?;
    Ok(Exit::Done)
}

/// The pairs without `runs=N`, which says the same as `--trials N`, and how many trials there are to be.
fn trials(args: &Args) -> Result<(Vec<&str>, u32), Failure> {
    let (runs, pairs): (Vec<&str>, Vec<&str>) =
        args.pairs.iter().map(String::as_str).partition(|pair| pair.starts_with("runs="));
    let number = |pair: &str| pair.trim_start_matches("runs=").parse::<u32>().ok().filter(|n| (2..=200).contains(n));
    match runs[..] {
        [] => Ok((pairs, args.trials)),
        [one] => match number(one) {
            Some(trials) => Ok((pairs, trials)),
            None => Err(Failure::Usage(format!("{}: expected 2 to 200", one.chars().take(40).collect::<String>()))),
        },
        _ => Err(Failure::Usage("runs is given twice".to_owned())),
    }
}

/// The row sums of every trial that counted, in the order of time, and the rows that are left out because some trial
/// took no measurable time for them.
fn calibration(plan: &Plan, run: &RunId, storage: &DiskStorage) -> Result<(CalibrationFile, Vec<String>), Failure> {
    let bundle = Bundle::read(storage, run.as_str()).map_err(anyhow::Error::from)?;
    let (mut trials, mut short, mut hosts) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut on_cluster = false;
    for seen in seen(&bundle) {
        if seen.fate.fate != Fate::Counted {
            continue;
        }
        let Some(Ok(trial)) = seen.trial() else {
            return Err(anyhow::anyhow!("the measurements of {} cannot be used", seen.fate.name).into());
        };
        // What disturbed a trial is not its noise.
        if Event::ALL.into_iter().any(|event| trial.events.count(event) > 0) {
            continue;
        }
        if let Some(facts) = seen.cluster() {
            on_cluster = true;
            hosts.extend(facts.hosts.keys().cloned());
        }
        let mut rows = BTreeMap::new();
        for (row, stage) in &trial.stages {
            match (stage.cpu_time_total.positive(), stage.elapsed.positive()) {
                (Some(cpu), Some(elapsed)) => drop(rows.insert(row.clone(), RowSeconds { cpu, elapsed })),
                _ => drop(short.insert(row.clone())),
            }
        }
        trials.push(CalibrationTrial {
            at: seen.fate.ended.unwrap_or(seen.fate.at),
            commit: plan.arms.control().clone(),
            trial: seen.fate.name.clone(),
            rows,
        });
    }
    trials.sort_by_key(|trial| trial.at);
    // A row is in every trial or in none: what was measured in some of them only is no series.
    for trial in &trials {
        short.extend(
            trials.iter().flat_map(|other| other.rows.keys()).filter(|row| !trial.rows.contains_key(*row)).cloned(),
        );
    }
    for trial in &mut trials {
        trial.rows.retain(|row, _| !short.contains(row));
    }
    if trials.first().is_some_and(|trial| trial.rows.is_empty()) {
        return Err(anyhow::anyhow!("no row took a measurable time in every trial; nothing was written").into());
    }
    // Of several kinds of machines it says nothing of any one.
    let host_class = match (on_cluster, hosts.len()) {
        (false, _) => host_class(),
        (true, 1) => hosts.pop_first(),
        (true, _) => None,
    };
    let workload = plan.workloads.get("control").context("the plan has no workload")?;
    let file = CalibrationFile {
        schema: CALIBRATION_SCHEMA,
        suite: plan.suite.clone(),
        preset: plan.preset.clone(),
        fingerprint: workload.fingerprint(&[]).map_err(anyhow::Error::from)?,
        host_class,
        trials,
    };
    Ok((file, short.into_iter().collect()))
}

/// What each row takes and how much one run of it differs from the next.
fn table(file: &CalibrationFile) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["row", "CPU", "noise of a run", "elapsed", "noise of a run"]);
    let Some(first) = file.trials.first() else { return table };
    for row in first.rows.keys() {
        let mut cells = vec![row.replace(char::is_control, "?")];
        for seconds in [|row: &RowSeconds| row.cpu, |row: &RowSeconds| row.elapsed] {
            let all: Vec<f64> = file.trials.iter().filter_map(|trial| trial.rows.get(row)).map(seconds).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let ratios = helmert(&all);
            // A ratio has the variance of a pair, which is twice that of a run.
            let squares = ratios.iter().map(|ratio| ratio * ratio).sum::<f64>();
            let noise = (squares / (2.0 * ratios.len() as f64)).sqrt();
            cells.push(format!("{mean:.3} s"));
            cells.push(if noise.is_finite() { format!("{:.1} %", noise * 100.0) } else { "unknown".to_owned() });
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
