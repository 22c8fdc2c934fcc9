//! The processes below a supervisor.

use std::sync::mpsc::SyncSender;

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};

use super::run::Event;
use crate::procfs;

/// Reaps every child, own or inherited, and tells of it; ends when there is none.
pub(super) fn reap(events: &SyncSender<Event>) {
    loop {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Reaped(pid.as_raw_pid(), status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => Event::NoneLeft,
        };
        let last = matches!(event, Event::NoneLeft);
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// Kills what lives below this process now. Says how many that were; what they started meanwhile is for the next call.
pub(super) fn kill_all(own: i32) -> usize {
    let found = procfs::descendants(own);
    found.iter().for_each(procfs::kill);
    found.len()
}

/// The exit code or the signal of a process.
pub(super) fn ended(status: WaitStatus) -> Result<i32, i32> {
    match status.exit_status() {
        Some(code) => Ok(code),
        None => Err(status.terminating_signal().unwrap_or(0)),
    }
}
