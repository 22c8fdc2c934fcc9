//! Runs the simulated world: `schedules [--count N] [--first SEED] [--blind] [--show SEED]`.
//!
//! Prints how the runs ended and exits with 1 when something did not hold. `--show` prints the trace of one seed;
//! `--blind` plants a mistake that must be found.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use engine::sim::{Options, every_crash, schedule};

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let (mut count, mut first, mut show) = (10_000, 0, None);
    let mut options = Options::default();
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
            _ => None,
        };
        if known.is_none() {
            writeln!(out, "{argument}: allowed: --count N, --first SEED, --blind, --show SEED")?;
            return Ok(ExitCode::from(2));
        }
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
