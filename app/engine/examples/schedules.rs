//! Runs the simulated world: `schedules [--count N] [--first SEED] [--blind] [--show SEED] [--pulls] [--habits]`.
//!
//! Prints how the runs ended and exits with 1 when something did not hold. `--show` prints the trace of one seed;
//! `--blind` plants a mistake that must be found. `--pulls` runs the world of pull requests instead, `--habits` plants
//! each of its mistakes in turn, and each must be found.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use engine::sim::pulls::{Habit, PullReport, pulls, shrunk};
use engine::sim::{Options, every_crash, schedule};

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let (mut count, mut first, mut show) = (10_000, 0, None);
    let mut options = Options::default();
    let (mut of_pulls, mut habits) = (false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
        let known = match argument.as_str() {
            "--count" => number().map(|n| count = n),
            "--first" => number().map(|n| first = n),
            "--show" => number().map(|n| show = Some(n)),
            "--blind" => {
                options.submits_blindly = true;
                Some(())
            }
            "--pulls" => {
                of_pulls = true;
                Some(())
            }
            "--habits" => {
                habits = true;
                Some(())
            }
            _ => None,
        };
        if known.is_none() {
            writeln!(out, "{argument}: allowed: --count N, --first SEED, --blind, --show SEED, --pulls, --habits")?;
            return Ok(ExitCode::from(2));
        }
    }
    if habits {
        return plant(&mut out, first, count);
    }
    if of_pulls {
        return match show {
            Some(seed) => show_pulls(&mut out, seed),
            None => many_pulls(&mut out, first, count),
        };
    }
    if let Some(seed) = show {
        let report = schedule(seed, options);
        for line in &report.trace {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}: {:?}", report.end, report.violations)?;
        return Ok(ExitCode::from(u8::from(!report.violations.is_empty())));
    }
    let (mut ends, mut broken) = (BTreeMap::<String, u64>::new(), 0u64);
    let (mut actions, mut crashes, mut points) = (0, 0, 0);
    for seed in first..first + count {
        let report = schedule(seed, options);
        *ends.entry(report.end).or_default() += 1;
        actions += report.actions;
        crashes += report.crashes;
        points += report.points;
        if !report.violations.is_empty() {
            broken += 1;
            if broken <= 10 {
                writeln!(out, "seed {seed}: {:?}", report.violations)?;
            }
        }
    }
    for (end, times) in &ends {
        writeln!(out, "{times:>7}  {end}")?;
    }
    writeln!(out, "{count} schedules, {actions} actions, {crashes} crashes at {points} points, {broken} broken")?;
    let crashed = every_crash(first, options.submits_blindly);
    writeln!(out, "one run ({}): {} crash points, {} broken", crashed.end, crashed.points, crashed.violations.len())?;
    for (point, what) in crashed.violations.iter().take(10) {
        writeln!(out, "point {point}: {what}")?;
    }
    let found = broken > 0 || !crashed.violations.is_empty();
    Ok(ExitCode::from(u8::from(found != options.submits_blindly)))
}

fn exit(broken: bool) -> ExitCode {
    ExitCode::from(u8::from(broken))
}

/// The trace of one seed, and the fewest acts in which it still breaks.
fn show_pulls(out: &mut impl Write, seed: u64) -> std::io::Result<ExitCode> {
    let report = pulls(seed, Habit::Sound);
    for line in &report.trace {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}: {:?}", report.ends.join(", "), report.violations)?;
    if let Some((acts, violations)) = shrunk(seed, Habit::Sound) {
        writeln!(out, "{}\n{violations:#?}", acts.join("\n"))?;
    }
    Ok(exit(!report.violations.is_empty()))
}

fn many_pulls(out: &mut impl Write, first: u64, count: u64) -> std::io::Result<ExitCode> {
    let (mut ends, mut broken, mut sums) = (BTreeMap::<String, u64>::new(), 0u64, [0u64; 5]);
    let mut longest = 0;
    for seed in first..first + count {
        let PullReport { acts, steps, crashes, pauses, planned, ends: of, violations, .. } = pulls(seed, Habit::Sound);
        for end in of {
            *ends.entry(end).or_default() += 1;
        }
        for (sum, more) in sums.iter_mut().zip([acts, steps, crashes, pauses, planned]) {
            *sum += more;
        }
        longest = longest.max(steps);
        if !violations.is_empty() {
            broken += 1;
            if broken <= 30 {
                writeln!(out, "seed {seed}: {violations:?}")?;
            }
        }
    }
    for (end, times) in &ends {
        writeln!(out, "{times:>7}  {end}")?;
    }
    let [acts, steps, crashes, pauses, planned] = sums;
    writeln!(out, "{count} schedules of pull requests, {acts} acts, {steps} steps to rest, at most {longest} in one")?;
    writeln!(out, "{planned} plans, {crashes} crashes, {pauses} held up, {broken} broken")?;
    Ok(exit(broken > 0))
}

/// Each mistake, until the first seed that finds it.
fn plant(out: &mut impl Write, first: u64, count: u64) -> std::io::Result<ExitCode> {
    let mut missed = false;
    for habit in Habit::ALL {
        let mut seeds = (first..first + count).map(|seed| pulls(seed, habit));
        if let Some(found) = seeds.find(|report| !report.violations.is_empty()) {
            writeln!(out, "{habit:?}: seed {}: {}", found.seed, found.violations[0])?;
        } else {
            missed = true;
            writeln!(out, "{habit:?}: not found")?;
        }
    }
    Ok(exit(missed))
}
