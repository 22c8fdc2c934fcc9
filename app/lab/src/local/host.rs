//! What kind of machine this is.

use std::fs;

use crate::assemble::Host;

/// Reads the machine.
pub(super) fn read() -> Host {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str| text(path).lines().next().map(|line| line.trim().chars().take(100).collect::<String>());
    Host {
        cores: std::thread::available_parallelism().ok().map(|cores| cores.get() as u64),
        cpu: field(&text("/proc/cpuinfo"), "model name"),
        memory_bytes: field(&text("/proc/meminfo"), "MemTotal")
            .and_then(|size| size.strip_suffix(" kB")?.trim().parse::<u64>().ok())
            .map(|kib| kib * 1024),
        kernel: line("/proc/sys/kernel/osrelease"),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

/// The kind of this machine; `None` where nothing is known. Calibrations and baselines of another kind say nothing
/// about this one.
#[must_use]
pub fn host_class() -> Option<String> {
    read().class()
}

fn field(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| -> Option<String> {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().chars().take(100).collect())
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let host = read();
        assert!(host.cores.is_some() && host.memory_bytes > Some(1 << 20) && host.kernel.is_some(), "{host:?}");
    }
}
