//! `zephyr-ab simulate`: how often the procedure is wrong, and how often it finds what is there.

use std::fs::read_to_string;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::ArgGroup;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use stats::simulate::goals::{BadGoal, Bound, Goal, Judged, judge_all};
use stats::simulate::{
    Affected, Margins, Method, Metrics, Noise, Order, OutOfRange, Ratios, Report, Resampling, Schedule, Settings,
    Sizes, Summary, Workers, resample, simulate,
};

use crate::cli::World;
use crate::command::power::{Format, Share, table};
use crate::failure::{Exit, Failure};

/// Measures error rates and power of the very code that judges, by simulation.
///
/// Every share is that of the simulated comparisons. `confirmed`: any judged row has a confirmed increase, tolerated ones
/// included; `power`: an affected row has one. The others are verdicts. With several treatments a comparison counts when
/// any treatment came to it; with extensions, when it ever came to it. The same seed gives the same result on every
/// machine, with any number of threads.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  zephyr-ab simulate --stages 20 --cv 1% --rounds 1,2,3,5 --trials 20000
  zephyr-ab simulate --stages 20 --cv 1% --effect 7% --looks 1,2,3,5 --trials 20000 --at-least regression=0.80
  zephyr-ab simulate --stages 12 --cv 1% --metrics both --sizes zipf --margins impact --rounds 3 --trials 4000
  zephyr-ab simulate --from-csv ratios.csv --columns 20 --windows 6000 --rounds 1,2,3,5")]
pub struct Args {
    #[command(flatten)]
    options: Box<Options>,
}

#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("schedule").required(true).args(["rounds", "looks"])),
    group(ArgGroup::new("what").required(true).args(["stages", "from_csv"])),
)]
struct Options {
    /// Stage rows.
    #[arg(long, value_name = "N", requires = "trials")]
    stages: Option<usize>,
    /// Standard deviation of one run's CPU time: 0.02 or 2%. Not needed with --noise mixed.
    #[arg(long, value_name = "X")]
    cv: Option<Share>,
    /// How runs vary: lognormal, t3, outliers, bimodal, drift, common or mixed.
    #[arg(long, default_value = "lognormal")]
    noise: Noise,
    /// Change of the true CPU time in the affected rows.
    #[arg(long, value_name = "E", default_value = "0", allow_hyphen_values = true)]
    effect: Share,
    /// Change of the true elapsed time in the affected rows.
    #[arg(long, value_name = "E", default_value = "0", allow_hyphen_values = true)]
    elapsed_effect: Share,
    /// Affected rows: the first K, all, largest, or the one nearest to a share (share=0.03).
    #[arg(long, value_name = "ROWS", default_value = "1")]
    affected: Affected,
    /// Judge once after so many rounds, each number an experiment of its own.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    rounds: Vec<u64>,
    /// Judge at each of these numbers of rounds until something is decided.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    looks: Vec<u64>,
    /// Extensions by one round after the last look; every look then counts and nothing stops.
    #[arg(long, value_name = "E", default_value_t = 0, conflicts_with = "rounds")]
    extensions: u64,
    /// Same-code ratios that calibrate.
    #[arg(long, value_name = "K", default_value_t = 10)]
    calibration: usize,
    /// Order of the runs: abba or sequential.
    #[arg(long, default_value = "abba")]
    order: Order,
    /// Simulated comparisons.
    #[arg(long, value_name = "N", conflicts_with = "from_csv")]
    trials: Option<u64>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// cpu: the CPU rows alone; both: whole cases with elapsed time, TOTAL, screening and the alarm.
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "both"])]
    metrics: String,
    /// Standard deviation of one run's elapsed time.
    #[arg(long, value_name = "Y", default_value = "5%")]
    elapsed_cv: Share,
    /// Sizes of the rows: equal or zipf.
    #[arg(long, default_value = "equal")]
    sizes: Sizes,
    /// Tolerance of a row: flat, or impact (stretched where its share is small).
    #[arg(long, default_value = "flat")]
    margins: Margins,
    /// Treatments that share the control; the effect is on the first alone.
    #[arg(long, value_name = "K", default_value_t = 1)]
    treatments: usize,
    /// Unpaired, with so many control runs from other minutes.
    #[arg(long, value_name = "NC")]
    unpaired: Option<usize>,
    /// What judges: abv1, welch, mwu, bootstrap or threshold.
    #[arg(long, default_value = "abv1")]
    method: Method,
    /// Draw from same-code log ratios instead: a line is a pair of runs, a column a benchmark.
    #[arg(long, value_name = "FILE", requires = "columns", requires = "windows",
        conflicts_with_all = ["cv", "noise", "effect", "elapsed_effect", "affected", "looks", "order", "metrics", "elapsed_cv", "sizes", "margins", "treatments", "unpaired", "method"])]
    from_csv: Option<PathBuf>,
    /// Random columns of a window.
    #[arg(long, value_name = "N", conflicts_with = "stages")]
    columns: Option<usize>,
    /// Windows.
    #[arg(long, value_name = "W", conflicts_with = "stages")]
    windows: Option<u64>,
    /// Exit with 1 where a share exceeds P beyond chance (the 99.9 % binomial quantile); repeatable.
    #[arg(long, value_name = "NAME=P")]
    at_most: Vec<String>,
    /// Exit with 1 where a share falls below P beyond chance; repeatable.
    #[arg(long, value_name = "NAME=P")]
    at_least: Vec<String>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What was asked for.
#[derive(Serialize)]
#[serde(untagged)]
enum Plan {
    Simulation(Settings),
    Resampling(Resampling),
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    goals: &'a [Judged],
    settings: &'a Plan,
}

/// Runs the command. A goal that is missed ends it with [`Exit::Failed`].
///
/// # Errors
/// A setting out of its range, a file that cannot be read, or an output that cannot be written.
pub fn run(args: &Args, world: &mut World<'_>) -> Result<Exit, Failure> {
    let args = args.options.as_ref();
    let goals = goals(args)?;
    let threads = args.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    let (plan, report) = if let Some(file) = &args.from_csv {
        let text = read_to_string(file).map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?;
        let ratios = Ratios::parse(&text).map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?;
        let settings = Resampling {
            columns: args.columns.unwrap_or_default(),
            windows: args.windows.unwrap_or_default(),
            rounds: args.rounds.clone(),
            calibration: args.calibration,
            seed: args.seed,
        };
        settings.check(&ratios).map_err(|e| usage(&e))?;
        let bar = bar(world.terminal, settings.windows * settings.rounds.len() as u64);
        let progress = |done| bar.inc(done);
        let report = resample(&ratios, &settings, &Workers { threads, progress: &progress }).map_err(|e| usage(&e))?;
        bar.finish_and_clear();
        (Plan::Resampling(settings), report)
    } else {
        let settings = settings(args)?;
        settings.check().map_err(|e| usage(&e))?;
        let experiments = match &settings.schedule {
            Schedule::Rounds(rounds) => rounds.len() as u64,
            Schedule::Looks { .. } => 1,
        };
        let bar = bar(world.terminal, settings.trials * experiments);
        let progress = |done| bar.inc(done);
        let report = simulate(&settings, &Workers { threads, progress: &progress }).map_err(|e| usage(&e))?;
        bar.finish_and_clear();
        (Plan::Simulation(settings), report)
    };
    let judged = judge_all(&goals, &report);
    let missed = judged.iter().any(|j| !j.met);
    match args.format {
        Format::Json => {
            let answer = Answer { report: &report, goals: &judged, settings: &plan };
            let text = serde_json::to_string_pretty(&answer).map_err(anyhow::Error::from)?;
            writeln!(world.stdout, "{text}")?;
        }
        Format::Text => write!(world.stdout, "{}", text(&report, &judged))?,
    }
    Ok(if missed { Exit::Failed } else { Exit::Done })
}

fn usage(error: &OutOfRange) -> Failure {
    Failure::Usage(format!("--{error}"))
}

fn goals(args: &Options) -> Result<Vec<Goal>, Failure> {
    let read = |texts: &[String], bound| {
        texts.iter().map(|text| Goal::parse(text, bound)).collect::<Result<Vec<_>, BadGoal>>()
    };
    let refused = |option: &'static str| move |e: BadGoal| Failure::Usage(format!("--{option}: {e}"));
    let mut goals = read(&args.at_most, Bound::AtMost).map_err(refused("at-most"))?;
    goals.extend(read(&args.at_least, Bound::AtLeast).map_err(refused("at-least"))?);
    Ok(goals)
}

fn settings(args: &Options) -> Result<Settings, Failure> {
    let cv = match (args.cv, args.noise) {
        (Some(cv), _) => cv.0,
        // Mixed rows have cvs of their own.
        (None, Noise::Mixed) => Settings::default().cv,
        (None, _) => return Err(Failure::Usage("--cv: expected the noise of one run, such as 0.02 or 2%".to_owned())),
    };
    Ok(Settings {
        stages: args.stages.unwrap_or_default(),
        cv,
        noise: args.noise,
        effect: args.effect.0,
        elapsed_effect: args.elapsed_effect.0,
        affected: args.affected,
        schedule: if args.looks.is_empty() {
            Schedule::Rounds(args.rounds.clone())
        } else {
            Schedule::Looks { looks: args.looks.clone(), extensions: args.extensions }
        },
        calibration: args.calibration,
        order: args.order,
        trials: args.trials.unwrap_or_default(),
        seed: args.seed,
        metrics: if args.metrics == "both" { Metrics::Both { elapsed_cv: args.elapsed_cv.0 } } else { Metrics::Cpu },
        sizes: args.sizes,
        margins: args.margins,
        treatments: args.treatments,
        unpaired: args.unpaired,
        method: args.method,
    })
}

/// A bar on standard error where a person is watching.
fn bar(terminal: bool, length: u64) -> ProgressBar {
    if !terminal {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A share with as many digits as its rarity asks for.
fn share(share: f64) -> String {
    if share > 0.0 && share < 0.01 { format!("{share:.4}") } else { format!("{share:.3}") }
}

fn text(report: &Report, judged: &[Judged]) -> String {
    let header = ["rounds", "trials"].into_iter().chain(Summary::NAMES).chain(["mean rounds"]);
    let row = |(key, summary): (&str, &Summary)| {
        let shares = Summary::NAMES.iter().map(|name| summary.share(name).map_or("-".to_owned(), share));
        [key.to_owned(), summary.trials.to_string()]
            .into_iter()
            .chain(shares)
            .chain([format!("{:.2}", summary.mean_rounds())])
            .collect()
    };
    let header = header.map(|name| name.replace('_', " ")).collect();
    let counts = table(header, report.rounds.iter().map(row).collect());
    if judged.is_empty() {
        return format!("{counts}\n");
    }
    let header = ["rounds", "goal", "measured", "count", "allowed", "met"].map(str::to_owned).to_vec();
    format!("{counts}\n\n{}\n", table(header, judged.iter().map(goal_row).collect()))
}

fn goal_row(judged: &Judged) -> Vec<String> {
    let (word, side) = match judged.goal.bound {
        Bound::AtMost => ("at most", "<="),
        Bound::AtLeast => ("at least", ">="),
    };
    vec![
        judged.key.clone(),
        format!("{} {word} {}", judged.goal.name.replace('_', " "), judged.goal.limit),
        if judged.count.is_some() { share(judged.measured) } else { format!("{:.2}", judged.measured) },
        judged.count.map_or("-".to_owned(), |count| count.to_string()),
        judged.allowed.map_or("-".to_owned(), |allowed| format!("{side} {allowed}")),
        if judged.met { "met" } else { "MISSED" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use clap::Parser;
    use serde_json::Value;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn simulated(line: &str) -> Result<(Exit, String), Failure> {
        let line = Line::try_parse_from(["simulate"].into_iter().chain(line.split(' ')))
            .map_err(|e| Failure::Usage(e.to_string()))?;
        let (result, printed) = crate::world::tests::with_world(|world| run(&line.args, world));
        result.map(|exit| (exit, printed))
    }

    #[test]
    fn table() {
        let (exit, text) = simulated("--stages 8 --cv 1% --effect 10% --rounds 1,2,3 --trials 200").unwrap();
        assert_eq!(exit, Exit::Done);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn goals_are_printed_and_a_missed_one_is_the_exit_code() {
        let line = "--stages 8 --cv 1% --rounds 3 --trials 200 --at-most confirmed=1.5%";
        assert_eq!(simulated(line).unwrap().0, Exit::Done);
        let line = format!("{line} --at-least regression=0.5 --at-most mean_rounds=2.5");
        let (exit, text) = simulated(&line).unwrap();
        assert_eq!(exit, Exit::Failed);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn json_has_the_keys_that_are_promised() {
        let line = "--stages 8 --cv 0.01 --effect 0.1 --looks 1,2,3 --trials 100 --seed 7 --format json";
        let (_, text) = simulated(line).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let summary = &json["rounds"]["sequential"];
        assert!(summary["false_regression"].is_null());
        for name in ["regression", "confirmed", "power", "pass", "tradeoff", "inconclusive"] {
            let share = summary[name].as_f64().unwrap();
            let [lo, hi] = [0, 1].map(|i| summary["ci95"][name][i].as_f64().unwrap());
            assert!((0.0..=1.0).contains(&share) && lo <= share && share <= hi, "{name}");
        }
        assert_eq!(summary["trials"], 100);
        assert!(summary["mean_rounds"].as_f64().unwrap() <= 3.0);
        assert_eq!(json["settings"]["seed"], 7);
        assert!(json.get("goals").is_none());
    }

    #[test]
    fn threads_do_not_change_the_output() {
        let line = "--stages 8 --noise mixed --rounds 2 --trials 300 --format json --threads";
        assert_eq!(simulated(&format!("{line} 1")).unwrap(), simulated(&format!("{line} 3")).unwrap());
    }

    #[test]
    fn windows_are_drawn_from_a_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let lines =
            (0..30).map(|i| format!("{},{},0.001\n", 0.01 * f64::from(i % 3 - 1), 0.002 * f64::from(i % 5 - 2)));
        file.write_all(lines.collect::<String>().as_bytes()).unwrap();
        let path = file.path().display();
        let line = format!("--from-csv {path} --columns 3 --windows 50 --rounds 1,3 --format json");
        let (_, text) = simulated(&line).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["rounds"]["3"]["trials"], 50);
        assert_eq!(json["settings"]["calibration"], 10);
        let failure = simulated(&line.replace("--columns 3", "--columns 4")).unwrap_err().to_string();
        assert_eq!(failure, "--columns: expected 1 to 3, got 4");
        file.write_all(b"0.1,x,0.3\n").unwrap();
        let failure = simulated(&line).unwrap_err().to_string();
        assert!(failure.ends_with("line 31, column 2: expected a log ratio of -10 to 10, got `x`"), "{failure}");
    }

    #[test]
    fn errors_name_the_option_and_what_is_allowed() {
        let base = "--stages 8 --cv 1% --rounds 3 --trials 10";
        for (line, expected) in [
            ("--stages 8 --rounds 3 --trials 10".to_owned(), "--cv: expected the noise of one run"),
            ("--stages 8 --cv 1% --trials 10".to_owned(), "--rounds"),
            ("--cv 1% --rounds 3".to_owned(), "--stages"),
            ("--stages 8 --cv 1% --rounds 3".to_owned(), "--trials"),
            (format!("{base} --noise lognorma"), "did you mean `lognormal`?"),
            (format!("{base} --affected most"), "known are all, largest"),
            (format!("{base} --affected 9"), "--affected: expected 1 to 8, got 9"),
            (format!("{base} --effect -1"), "--effect: expected -0.95 to 10, got -1"),
            (format!("{base} --looks 1,2"), "cannot be used with"),
            (format!("{base} --extensions 2"), "cannot be used with"),
            (format!("{base} --columns 2"), "cannot be used with"),
            (format!("{base} --method welch --metrics both"), "--method: other methods judge CPU time only"),
            (format!("{base} --at-most confirmd=0.1"), "--at-most: `confirmd` is no count"),
            (base.replace("--rounds 3", "--rounds 3,2"), "--rounds: expected an ascending list"),
            ("--from-csv /no/such.csv --columns 2 --windows 5 --rounds 1".to_owned(), "/no/such.csv: "),
        ] {
            let failure = simulated(&line).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage, "{line}");
            assert!(failure.to_string().contains(expected), "{line}: {failure}");
        }
    }
}
