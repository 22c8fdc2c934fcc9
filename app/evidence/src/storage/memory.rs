//! Files in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Storage;

/// Files in memory, for runs that nobody keeps. Folders are there as long as they hold a file.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Clone for MemoryStorage {
    /// A copy: what is written to one is not seen by the other.
    fn clone(&self) -> Self {
        Self { files: Mutex::new(self.files().clone()) }
    }
}

impl MemoryStorage {
    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // Every operation leaves the map whole, whoever panicked.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn below(folder: &str) -> String {
    if folder.is_empty() { String::new() } else { format!("{folder}/") }
}

impl Storage for MemoryStorage {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.files().get(path).cloned())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append(&self, path: &str, keep: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let file = files.entry(path.to_owned()).or_default();
        let keep = usize::try_from(keep).map_err(|_| io::ErrorKind::InvalidInput)?;
        file.resize(keep, 0);
        file.extend_from_slice(bytes);
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let prefix = below(folder);
        let files: Vec<String> =
            self.files().keys().filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect();
        if files.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(files) }
    }

    fn is_folder(&self, path: &str) -> io::Result<bool> {
        let prefix = below(path);
        Ok(path.is_empty() || self.files().keys().any(|file| file.starts_with(&prefix)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (below(from), below(to));
        let mut files = self.files();
        if files.keys().any(|path| path.starts_with(&to)) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let all = std::mem::take(&mut *files);
        for (path, bytes) in all {
            let moved = path.strip_prefix(&from).map(|rest| format!("{to}{rest}"));
            files.insert(moved.unwrap_or(path), bytes);
        }
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.files().remove(path);
        Ok(())
    }
}
