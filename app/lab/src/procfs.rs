//! Processes as `/proc` shows them.

use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// It is dead and waits to be reaped.
    pub(crate) zombie: bool,
    /// When it started, in ticks since the machine did. With the pid that names a process, while a pid alone is reused.
    pub(crate) started: u64,
}

/// The process of a pid.
pub(crate) fn process(pid: i32) -> Option<Process> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The process that runs this code.
pub(crate) fn own() -> Option<Process> {
    process(i32::try_from(std::process::id()).ok()?)
}

fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    // The name of the program stands in parentheses and may hold anything, parentheses and spaces included.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Every process that can be seen.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| process(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// The living processes below `ancestor`, however deep.
pub(crate) fn descendants(ancestor: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.pid);
            found.push(*process);
        }
    }
    found.retain(|process| !process.zombie);
    found
}

/// Kills exactly this process, never another one that was given its pid meanwhile.
pub(crate) fn kill(process: &Process) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let same = || self::process(process.pid).is_some_and(|now| now.started == process.started);
    match pidfd_open(pid, PidfdFlags::empty()) {
        // The descriptor names whatever had the pid when it was opened; that the process is still there says what.
        Ok(descriptor) if same() => drop(pidfd_send_signal(descriptor, Signal::KILL)),
        Err(rustix::io::Errno::NOSYS) if same() => drop(kill_process(pid, Signal::KILL)),
        _ => {}
    }
}

/// Kills the processes whose environment names something below `folder`: what is left of a trial whose supervisor was
/// killed. Environments of other users cannot be read and are passed over.
pub(crate) fn kill_strays(folder: &str) {
    // Each look finds what was started since the one before; a process that cannot die must not hold this up for ever.
    for _ in 0..100 {
        let found = strays(folder);
        if found.is_empty() {
            return;
        }
        found.iter().for_each(kill);
    }
}

fn strays(folder: &str) -> Vec<Process> {
    let below = format!("={folder}/");
    let names = |process: &Process| -> io::Result<bool> {
        let environment = fs::read(format!("/proc/{}/environ", process.pid))?;
        Ok(environment.windows(below.len()).any(|window| window == below.as_bytes()))
    };
    all().into_iter().filter(|process| !process.zombie && names(process).unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_anything() {
        let stat = b"7 (a) R 1 (b) Z 3 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 987654 0 0";
        assert_eq!(parse(7, stat), Some(Process { pid: 7, parent: 3, zombie: true, started: 987_654 }));
        for broken in [&b""[..], b"7", b"7 (x)", b"7 (x) R", b"7 (x) R 1", b"7 (x) R y 1 1", b"7 (x) \xff"] {
            assert_eq!(parse(7, broken), None);
        }
    }

    #[test]
    fn this_process_is_seen() {
        let own = own().unwrap();
        assert!(all().iter().any(|process| process.pid == own.pid && process.started == own.started));
        assert!(!own.zombie);
    }
}
