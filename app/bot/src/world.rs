//! The outside world of a command: streams, the machine it runs on, the time. Taken hold of in `main`, passed on from there.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use domain::ports::Clock;
use domain::time::Ms;

/// The outside world of a command.
pub struct World<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// Standard output: results only.
    pub stdout: &'a mut dyn Write,
    /// Standard error: what happens meanwhile.
    pub stderr: &'a mut dyn Write,
    /// Whether a person is watching standard error.
    pub terminal: bool,
    /// Whether a person can answer on standard input.
    pub answers: bool,
    /// The machine.
    pub machine: Machine,
}

/// What a command may know of the machine that it runs on.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The program itself.
    pub program: PathBuf,
    /// `PATH`.
    pub path: OsString,
    /// Folder for temporary files.
    pub temp: PathBuf,
    /// Processors that the program may use.
    pub processors: usize,
    /// A random number, for ids.
    pub random: u32,
    /// The time.
    pub clock: SystemClock,
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Ms {
        // The one place that asks the machine for the time.
        #[allow(clippy::disallowed_methods)]
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs a command in a world of its own and returns what it came to and what it printed.
    pub(crate) fn with_world<T>(command: impl FnOnce(&mut World<'_>) -> T) -> (T, String) {
        let (mut out, mut err, mut nothing) = (Vec::new(), Vec::new(), std::io::empty());
        let mut world = World {
            stdin: &mut nothing,
            stdout: &mut out,
            stderr: &mut err,
            terminal: false,
            answers: false,
            machine: Machine::default(),
        };
        let result = command(&mut world);
        (result, String::from_utf8(out).unwrap())
    }
}
