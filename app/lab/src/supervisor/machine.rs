//! What the machine did while a step ran.

use std::fs;

use serde::{Deserialize, Serialize};

/// The load of the whole machine: context for a reader, never judged. `None` where it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Mean number of runnable processes over one, five and fifteen minutes, when the step started.
    pub load_before: Option<[f64; 3]>,
    /// The same when it ended.
    pub load_after: Option<[f64; 3]>,
    /// CPU seconds that all processes of the machine used meanwhile, the step's included, in steps of 10 ms.
    pub busy_seconds: Option<f64>,
    /// CPU seconds that another machine on the same hardware took.
    pub stolen_seconds: Option<f64>,
}

/// One reading.
#[derive(Debug, Default)]
pub(super) struct Reading {
    load: Option<[f64; 3]>,
    /// Busy and stolen ticks since the machine started.
    ticks: Option<(u64, u64)>,
    killed: Killed,
}

/// How often the kernel killed for want of memory, on the machine and in our group of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Killed {
    machine: Option<u64>,
    group: Option<u64>,
}

impl Reading {
    pub(super) fn now() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            load: load(&text("/proc/loadavg")),
            ticks: ticks(&text("/proc/stat")),
            killed: Killed { machine: counter(&text("/proc/vmstat"), "oom_kill"), group: group() },
        }
    }

    pub(super) fn until(&self, after: &Self) -> Machine {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let between = |of: fn((u64, u64)) -> u64| {
            let (before, after) = (of(self.ticks?), of(after.ticks?));
            Some(after.checked_sub(before)? as f64 / per_second)
        };
        Machine {
            load_before: self.load,
            load_after: after.load,
            busy_seconds: between(|ticks| ticks.0),
            stolen_seconds: between(|ticks| ticks.1),
        }
    }

    /// Whether the kernel killed something for want of memory in between.
    pub(super) fn killed_until(&self, after: &Self) -> bool {
        more(self.killed.machine, after.killed.machine) || more(self.killed.group, after.killed.group)
    }
}

fn more(before: Option<u64>, after: Option<u64>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after > before)
}

fn load(loadavg: &str) -> Option<[f64; 3]> {
    let mut fields = loadavg.split_ascii_whitespace().map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??, fields.next()??])
}

/// user, nice, system, irq and softirq are busy; idle and iowait are not; guests are in user already.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    let field = |index: usize| fields.get(index).copied();
    Some((field(0)? + field(1)? + field(2)? + field(5)? + field(6)?, field(7)?))
}

fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The counter of the control group of this process, version 2 or 1.
fn group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let file = match controllers {
            "" => format!("/sys/fs/cgroup{path}/memory.events"),
            "memory" => format!("/sys/fs/cgroup/memory{path}/memory.oom_control"),
            _ => return None,
        };
        counter(&fs::read_to_string(file).ok()?, "oom_kill")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel() {
        assert_eq!(load("0.29 1.50 2.00 1/99 1234\n"), Some([0.29, 1.5, 2.0]));
        assert_eq!(load("0.29 x"), None);
        let stat = "cpu  100 20 30 4000 50 6 7 8 9 10\ncpu0 1 2 3 4\n";
        assert_eq!(ticks(stat), Some((163, 8)));
        assert_eq!((ticks("cpu 1 2"), ticks("")), (None, None));
        assert_eq!(counter("oom 1\noom_kill 3\noom_kill_disable 7\n", "oom_kill"), Some(3));
        assert_eq!(counter("oom_kill_disable 7\n", "oom_kill"), None);
    }

    #[test]
    fn only_more_kills_are_a_kill() {
        let reading = |machine, group| Reading { killed: Killed { machine, group }, ..Reading::default() };
        assert!(reading(Some(1), None).killed_until(&reading(Some(2), None)));
        assert!(reading(Some(1), Some(0)).killed_until(&reading(Some(1), Some(1))));
        assert!(!reading(Some(2), Some(0)).killed_until(&reading(Some(2), Some(0))));
        assert!(!reading(None, None).killed_until(&reading(Some(2), None)));
    }

    #[test]
    fn this_machine_is_read() {
        let machine = Reading::now().until(&Reading::now());
        assert!(machine.load_before.is_some() && machine.busy_seconds.is_some(), "{machine:?}");
    }
}
