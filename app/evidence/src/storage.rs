//! A tree of files. Paths are relative, of parts separated by `/`; the empty path is the root.

mod disk;
mod memory;

use std::io;

pub use disk::DiskStorage;
pub use memory::MemoryStorage;

use crate::error::EvidenceError;

/// The largest file that is read, bytes.
pub const LARGEST: u64 = 256 << 20;

/// The end of the name of a file that is being written. No finished file has it, so that what a crash left behind is
/// told from what counts.
pub const UNFINISHED: char = '~';

/// A tree of files. What returned is on stable storage.
pub trait Storage: Send + Sync {
    /// The content of a file; `None` where there is none.
    ///
    /// # Errors
    /// What the system says; a file above [`LARGEST`], and what is neither a file nor a folder, is invalid data.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes a whole file, with the folders above it. Whoever reads sees the old content or the new one.
    ///
    /// # Errors
    /// What the system says.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file after its first `keep` bytes and adds `bytes`. A crash leaves any part of `bytes`, from its
    /// beginning.
    ///
    /// # Errors
    /// What the system says.
    fn append(&self, path: &str, keep: u64, bytes: &[u8]) -> io::Result<()>;

    /// Every file below a folder, relative to it, in the order of their names; unfinished ones too.
    ///
    /// # Errors
    /// What the system says; what is neither a file nor a folder, such as a link, is invalid data.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Whether there is such a folder.
    ///
    /// # Errors
    /// What the system says.
    fn is_folder(&self, path: &str) -> io::Result<bool>;

    /// Gives a folder another name that nothing has.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file; one that is not there is fine.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &str) -> io::Result<()>;
}

/// A folder of a storage, with errors that name the file.
pub(crate) struct Dir<'a, S: ?Sized> {
    pub(crate) storage: &'a S,
    root: String,
}

impl<'a, S: Storage + ?Sized> Dir<'a, S> {
    pub(crate) fn new(storage: &'a S, root: impl Into<String>) -> Self {
        Self { storage, root: root.into() }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        match (self.root.as_str(), name) {
            ("", name) => name.to_owned(),
            (root, "") => root.to_owned(),
            (root, name) => format!("{root}/{name}"),
        }
    }

    pub(crate) fn sub(&self, name: &str) -> Dir<'a, S> {
        Dir { storage: self.storage, root: self.path(name) }
    }

    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, EvidenceError> {
        self.storage.read(&self.path(name)).map_err(|e| EvidenceError::io(name, e))
    }

    /// The content of a file that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<Vec<u8>, EvidenceError> {
        self.read(name)?.ok_or_else(|| EvidenceError::file(name, "is missing"))
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        self.storage.write(&self.path(name), bytes).map_err(|e| EvidenceError::io(name, e))
    }

    pub(crate) fn append(&self, name: &str, keep: usize, bytes: &[u8]) -> Result<(), EvidenceError> {
        self.storage.append(&self.path(name), keep as u64, bytes).map_err(|e| EvidenceError::io(name, e))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), EvidenceError> {
        self.storage.remove(&self.path(name)).map_err(|e| EvidenceError::io(name, e))
    }

    /// Every file, unfinished ones too.
    pub(crate) fn list(&self) -> Result<Vec<String>, EvidenceError> {
        self.storage
            .list(&self.root)
            .map_err(|e| EvidenceError::io(if self.root.is_empty() { "." } else { &self.root }, e))
    }
}
