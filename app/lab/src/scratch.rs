//! Temporary folders of this process, and what crashed ones left behind.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::git::checkout::remove;
use crate::procfs;

const PREFIX: &str = "zephyr-ab-";
const LOCK: &str = "lock";

/// A folder of this process, `zephyr-ab-<pid>-<start of the process>-<number>`, readable by its user only. Its lock is
/// held as long as it lives; it is removed when it is dropped, or swept by a later process when this one crashed.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held until the process is gone, which no crash and no reused pid can undo.
    _lock: File,
}

impl Scratch {
    /// Makes a folder in `root`, which is made where it is not there.
    ///
    /// # Errors
    /// The system said no.
    pub fn create(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let own = procfs::own().ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        let mut number = 0_u32;
        let path = loop {
            let path = root.join(format!("{PREFIX}{}-{}-{number}", own.pid, own.started));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => number += 1,
                Err(why) => return Err(why),
            }
        };
        let lock = File::create_new(path.join(LOCK))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next process that looks here.
        drop(remove(&self.path));
    }
}

/// Kills the processes and removes the folders of processes that are gone. A folder is only touched when the process in
/// its name does not live and its lock is free: the second says so across containers that share the folder, where pids
/// mean something else. Returns the folders that were removed.
pub fn sweep(root: &Path) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let Ok(entries) = fs::read_dir(&root) else { return Vec::new() };
    let own = rustix::process::getuid().as_raw();
    let mut swept = Vec::new();
    for entry in entries.flatten() {
        let Some((pid, started)) = entry.file_name().to_str().and_then(owner) else { continue };
        // Of a link this is the link itself.
        let ours = entry.metadata().is_ok_and(|folder| folder.is_dir() && folder.uid() == own);
        let alive = procfs::process(pid).is_some_and(|process| process.started == started && !process.zombie);
        if !ours || alive || is_locked(&entry.path()) {
            continue;
        }
        if let Some(folder) = entry.path().to_str() {
            procfs::kill_strays(folder);
        }
        if remove(&entry.path()).is_ok() {
            swept.push(entry.path());
        }
    }
    swept
}

fn is_locked(folder: &Path) -> bool {
    // Without a lock the owner crashed before it made one.
    let Ok(lock) = File::open(folder.join(LOCK)) else { return false };
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let (pid, started, number) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || ![pid, started, number].into_iter().all(digits) {
        return None;
    }
    Some((pid.parse().ok()?, started.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(root: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_folders_of_the_gone_are_swept() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (Scratch::create(root.path()).unwrap(), Scratch::create(root.path()).unwrap());
        assert_ne!(one.path(), two.path());
        // No process has the pid 4194305, one above the largest; a lock that is held speaks for an owner elsewhere.
        let gone = root.path().join("zephyr-ab-4194305-7-0");
        let reused = root.path().join(format!("zephyr-ab-{}-1-0", std::process::id()));
        let elsewhere = root.path().join("zephyr-ab-4194305-8-0");
        for folder in [&gone, &reused, &elsewhere] {
            fs::create_dir_all(folder.join("trial/tree")).unwrap();
        }
        for other in ["zephyr-ab-x-1-0", "zephyr-ab-4194305-7", "zephyr-ab-4194305-7-0-1", "mine"] {
            fs::create_dir(root.path().join(other)).unwrap();
        }
        std::os::unix::fs::symlink(root.path().join("mine"), root.path().join("zephyr-ab-4194305-9-0")).unwrap();
        let held = File::create_new(elsewhere.join(LOCK)).unwrap();
        held.lock().unwrap();
        let mut swept = sweep(root.path());
        swept.sort();
        let mut expected = [gone, reused].map(|path| path.canonicalize().unwrap_or(path));
        expected.sort();
        assert_eq!(
            swept.iter().map(|p| p.file_name()).collect::<Vec<_>>(),
            expected.iter().map(|p| p.file_name()).collect::<Vec<_>>()
        );
        assert!(one.path().exists() && two.path().exists() && elsewhere.exists());
        drop((one, two, held));
        assert_eq!(sweep(root.path()).len(), 1);
        let left =
            ["mine", "zephyr-ab-4194305-7", "zephyr-ab-4194305-7-0-1", "zephyr-ab-4194305-9-0", "zephyr-ab-x-1-0"];
        assert_eq!(listed(root.path()), left);
    }
}
