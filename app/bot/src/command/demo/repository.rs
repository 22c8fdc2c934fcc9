//! The repository of the demo: main, and a branch for each lesson.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use domain::ports::Clock as _;

use super::Branch;
use crate::failure::Failure;
use crate::world::Machine;

const BENCH: &str = include_str!("bench.sh");
const README: &str = "# A small benchmark\n\n`sh bench.sh load|join|store` turns a loop and says how often.\n";
/// How long a step is to work, milliseconds.
const WORK_MS: u64 = 500;
/// How long a step waits for its data, seconds: as long as it works, so that doing both at once shows.
const WAIT: &str = "0.5";
/// The same where `sleep` only knows whole seconds, which is all that POSIX asks of it.
const WHOLE_WAIT: &str = "1";
/// Turns of the loop by which the machine is timed.
const TIMED_LOOPS: u64 = 200_000;

/// A git repository in a folder.
pub(super) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Makes the repository, with steps that work for half a second on this machine.
    pub(super) fn make(folder: &Path, machine: &Machine) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let this = Self { folder: folder.to_owned() };
        let loops = this.loops(machine)?;
        let wait = if this.call(machine, "sleep", &["0.01"]).is_ok() { WAIT } else { WHOLE_WAIT };
        let main = BENCH.replace("@LOOPS@", &loops.to_string()).replace("@WAIT@", wait);
        this.git(machine, &["init", "--quiet", "--initial-branch=main"])?;
        this.commit(machine, &[("bench.sh", &main), ("README.md", README)], "A benchmark in three steps")?;
        for branch in [Branch::Slower, Branch::Same, Branch::Dearer, Branch::Different] {
            this.git(machine, &["checkout", "--quiet", "-b", branch.name(), "main"])?;
            let (changed, readme) = changed(&main, branch);
            let readme = format!("{README}{readme}");
            this.commit(machine, &[("bench.sh", &changed), ("README.md", &readme)], title(branch))?;
        }
        this.git(machine, &["checkout", "--quiet", "main"])?;
        Ok(this)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How often the loop turns in the CPU time of a step, by the shell's own account of its time: a machine that is
    /// busy otherwise only makes the clock slower. The fastest of three tries.
    fn loops(&self, machine: &Machine) -> Result<u64, Failure> {
        let file = self.folder.join("bench.sh");
        let text = BENCH.replace("@LOOPS@", &TIMED_LOOPS.to_string()).replace("@WAIT@", "0");
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let mut fastest = u64::MAX;
        for _ in 0..3 {
            let before = machine.clock.now();
            let said = self.call(machine, "sh", &["-c", "set -- load; . ./bench.sh; times"])?;
            let clock = machine.clock.now().since(before);
            fastest = fastest.min(cpu_ms(&said).unwrap_or(clock).max(1));
        }
        Ok((TIMED_LOOPS * WORK_MS / fastest).max(1000))
    }

    fn commit(&self, machine: &Machine, files: &[(&str, &str)], title: &str) -> Result<(), Failure> {
        for (name, text) in files {
            let file = self.folder.join(name);
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        }
        self.git(machine, &["add", "--all"])?;
        self.git(machine, &["commit", "--quiet", "--message", title])
    }

    fn git(&self, machine: &Machine, args: &[&str]) -> Result<(), Failure> {
        self.call(machine, "git", args).map(drop)
    }

    /// Runs a program in the folder, with nothing of the user's configuration, and returns what it printed.
    fn call(&self, machine: &Machine, program: &str, args: &[&str]) -> Result<String, Failure> {
        let person = [("NAME", "demo"), ("EMAIL", "demo@localhost")];
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.folder).env_clear().env("PATH", &machine.path);
        command.env("HOME", &self.folder).env("LC_ALL", "C");
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

/// The benchmark of a branch, and what it adds to the README.
fn changed(main: &str, branch: Branch) -> (String, &'static str) {
    let step = |name: &str| format!("  {name}) fetch; turn \"$loops\" ;;");
    match branch {
        Branch::Slower => {
            let dear = "  join) fetch; turn \"$loops\"; turn \"$loops\" ;;";
            (main.replace(&step("join"), dear), "\nThe second step does its work twice.\n")
        }
        Branch::Same => (main.replace("# turn N: the work", "# turn N: all of the work"), "\nNothing else changes.\n"),
        Branch::Dearer => {
            // 30 % more work, but none of it waits for the data.
            let both = "fetch & turn \"$(( loops * 13 / 10 ))\"; wait";
            let mut text = main.to_owned();
            for name in ["load", "join", "store"] {
                text = text.replace(&step(name), &format!("  {name}) {both} ;;"));
            }
            (text, "\nEvery step works while it waits for its data, which costs something.\n")
        }
        Branch::Different => {
            let half = |line: &str| line.replace("loops=", "loops=$(( ") + " / 2 ))";
            let text = main.lines().map(|line| if line.starts_with("loops=") { half(line) } else { line.to_owned() });
            (text.collect::<Vec<_>>().join("\n") + "\n", "\nOnly half of the data is processed.\n")
        }
    }
}

fn title(branch: Branch) -> &'static str {
    match branch {
        Branch::Slower => "Check every row twice",
        Branch::Same => "Say more in a comment",
        Branch::Dearer => "Work while waiting for the data",
        Branch::Different => "Skip half of the data",
    }
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

    #[test]
    fn every_branch_changes_the_benchmark() {
        let main = BENCH.replace("@LOOPS@", "1000");
        for branch in [Branch::Slower, Branch::Same, Branch::Dearer, Branch::Different] {
            assert_ne!(changed(&main, branch).0, main, "{branch:?}");
        }
        assert!(changed(&main, Branch::Slower).0.contains("join) fetch; turn \"$loops\"; turn \"$loops\" ;;"));
        assert_eq!(changed(&main, Branch::Dearer).0.matches("fetch & turn").count(), 3);
        assert!(changed(&main, Branch::Different).0.contains("\nloops=$(( 1000 / 2 ))\n"));
    }
}
