//! One step of a trial, measured, with no process left behind.
//!
//! [`main`] is the whole of a hidden subcommand: the program starts itself once per step, so that what is counted for
//! the children of that process is the step and nothing else. It reads one [`Order`] from standard input, runs it, and
//! writes one [`Report`] to standard output. The standard input stays open: when it closes, whoever gave the order is
//! gone, and the step is killed. It takes the orphans of the step as its own children (`PR_SET_CHILD_SUBREAPER`), so
//! that a process that daemonises is counted and killed like any other.
//!
//! What counts:
//! - *CPU*: user and system time of every descendant that has been waited for, by its parent or here, in microseconds
//!   as the kernel adds them up (`getrusage(RUSAGE_CHILDREN)`). Not counted: children of a process that ignores
//!   `SIGCHLD`, for which the kernel adds up nothing, and work that other processes do on the step's behalf.
//! - *Elapsed*: from just before the step's process is started until it and all that it started have ended (or it was
//!   stopped), on the monotonic clock. What still runs a second after the step's process is killed; the CPU time of that
//!   counts until its death.
//! - *Peak memory*: the largest resident set that any single descendant ever had. Descendants that live at the same
//!   time are not added up, and no value is below what this program itself needs before it becomes the step (a few MB).
//!
//! The crate `rustix` gives subreaper, waiting and pidfds without unsafe code; `nix` gives `getrusage`, which it lacks.

mod capture;
mod descendants;
mod machine;
mod order;
mod run;
pub(crate) mod work;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ExitCode;

pub use machine::Machine;
pub use order::{Exit, Order, Report, Yes};
pub use work::Work;

/// Reads an order from standard input, carries it out, and reports on standard output. The process must have no children
/// and must not have started threads that make some: everything below it is taken for the step.
#[must_use]
pub fn main() -> ExitCode {
    let mut stdin = BufReader::new(std::io::stdin());
    let mut line = String::new();
    if stdin.read_line(&mut line).is_err() || line.is_empty() {
        return ExitCode::FAILURE;
    }
    let report = match serde_json::from_str::<Order>(&line) {
        Ok(order) => run::run(&order, stdin),
        Err(why) => Report::failed(format!("the order cannot be read: {why}")),
    };
    // Nobody may listen any more; the step is over in any case.
    let written = serde_json::to_writer(std::io::stdout(), &report).is_ok() && std::io::stdout().flush().is_ok();
    if written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
