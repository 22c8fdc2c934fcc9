//! How fast this machine is, and what its programs are called with.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use domain::ports::Clock as _;
use sandbox::demo::Bench;

use crate::failure::Failure;
use crate::world::Machine;

/// How long a step is to work, milliseconds.
const WORK_MS: u64 = 500;
/// How long a step waits for its data, seconds: as long as it works, so that doing both at once shows.
const WAIT: &str = "0.5";
/// The same where `sleep` only knows whole seconds, which is all that POSIX asks of it.
const WHOLE_WAIT: &str = "1";
/// Turns of the loop by which the machine is timed.
const TIMED_LOOPS: u64 = 200_000;

/// The benchmark whose steps work for half a second on this machine. A folder for a file is needed meanwhile.
pub(super) fn bench(folder: &Path, machine: &Machine) -> Result<Bench, Failure> {
    let loops = loops(folder, machine)?;
    let wait = if call(folder, machine, "sleep", &["0.01"]).is_ok() { WAIT } else { WHOLE_WAIT };
    Ok(Bench { loops, wait })
}

/// How often the loop turns in the CPU time of a step, by the shell's own account of its time: a machine that is busy
/// otherwise only makes the clock slower. The fastest of three tries.
fn loops(folder: &Path, machine: &Machine) -> Result<u64, Failure> {
    let file = folder.join("bench.sh");
    let text = Bench { loops: TIMED_LOOPS, wait: "0" }.text();
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    let mut fastest = u64::MAX;
    for _ in 0..3 {
        let before = machine.clock.now();
        let said = call(folder, machine, "sh", &["-c", "set -- load; . ./bench.sh; times"])?;
        let clock = machine.clock.now().since(before);
        fastest = fastest.min(cpu_ms(&said).unwrap_or(clock).max(1));
    }
    Ok((TIMED_LOOPS * WORK_MS / fastest).max(1000))
}

/// Runs a program in a folder, with nothing of the user's configuration, and returns what it printed.
pub(super) fn call(folder: &Path, machine: &Machine, program: &str, args: &[&str]) -> Result<String, Failure> {
    let person = [("NAME", "demo"), ("EMAIL", "demo@localhost")];
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env_clear().env("PATH", &machine.path);
    command.env("HOME", folder).env("LC_ALL", "C");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null"));
    for (what, value) in person {
        command.env(format!("GIT_AUTHOR_{what}"), value).env(format!("GIT_COMMITTER_{what}"), value);
    }
    let ended = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("{program} cannot be started; the demo needs git and a POSIX shell"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(anyhow!("{program} {}: {}", args.join(" "), said.trim()).into())
}

/// The user time of a shell in what its `times` printed, milliseconds: the first `0m0.15s` of the last line but one.
fn cpu_ms(said: &str) -> Option<u64> {
    let line = said.lines().rev().nth(1)?;
    let (minutes, seconds) = line.split_whitespace().next()?.strip_suffix('s')?.split_once('m')?;
    let seconds = minutes.parse::<f64>().ok()? * 60.0 + seconds.replace(',', ".").parse::<f64>().ok()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few seconds, not negative
    let ms = (seconds * 1000.0).round() as u64;
    (ms > 0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_shell() {
        assert_eq!(cpu_ms("{\"items\": 5}\n0m0.150s 0m0.000s\n0m0.010s 0m0.000s\n"), Some(150));
        assert_eq!(cpu_ms("1m2,50s 0m0,00s\n0m0,00s 0m0,00s\n"), Some(62_500));
        for odd in ["", "0m0.000s 0m0.000s\nx\n", "nonsense\nx\n"] {
            assert_eq!(cpu_ms(odd), None, "{odd:?}");
        }
    }
}
