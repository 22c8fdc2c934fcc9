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
    /// Whether windows can be shown.
    pub display: bool,
    /// A random number, for ids.
    pub random: u32,
    /// Values of the environment that must not be written anywhere.
    pub secrets: Secrets,
    /// The time.
    pub clock: SystemClock,
}

/// Values that must not be written anywhere.
#[derive(Clone, Default)]
pub struct Secrets(Vec<(String, String)>);

/// Parts of the names of variables whose values are secrets.
const SECRET_NAMES: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PRIVATE_KEY", "API_KEY", "CREDENTIAL"];

/// Whether the value of a variable of this name is a secret.
#[must_use]
pub fn is_named_like_a_secret(name: &str) -> bool {
    SECRET_NAMES.iter().any(|part| name.to_uppercase().contains(part))
}

impl Secrets {
    /// The values of variables that are named like secrets.
    #[must_use]
    pub fn of<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self(variables.into_iter().filter(|(name, _)| is_named_like_a_secret(name)).map(own).collect())
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> Vec<&str> {
        self.0.iter().map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a variable.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl std::fmt::Debug for Secrets {
    /// Never the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
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

    #[test]
    fn secrets_are_known_by_the_names_of_their_variables() {
        let secrets = Secrets::of([("GH_TOKEN", "abc"), ("HOME", "/x"), ("db_password", "def"), ("TOKENS", "ghi")]);
        assert_eq!(secrets.values(), ["abc", "def", "ghi"]);
        assert_eq!(format!("{secrets:?}"), "Secrets(3)");
    }

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
