//! Files on a disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::{LARGEST, Storage, UNFINISHED};

/// A folder on a disk. Files are written beside their place, synced and renamed. Links are never followed inside it.
#[derive(Clone, Debug)]
pub struct DiskStorage {
    root: PathBuf,
}

impl DiskStorage {
    /// The folder `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

fn odd(path: &Path) -> io::Error {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().escape_debug().to_string();
    io::Error::new(io::ErrorKind::InvalidData, format!("{name} is neither a file nor a folder"))
}

/// Makes the entries of a folder durable: a file that was created or renamed in it.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Creates a folder and those above it, each durable in its parent.
fn create(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create(parent)?;
    }
    match fs::create_dir(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    sync(parent.unwrap_or(Path::new(".")))
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Storage for DiskStorage {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(path);
        let kind = match fs::symlink_metadata(&path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            found => found?,
        };
        if !kind.is_file() {
            return Err(odd(&path));
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("is larger than {LARGEST} bytes")));
        }
        Ok(Some(bytes))
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        create(parent_of(&path))?;
        let mut beside = path.clone().into_os_string();
        beside.push(UNFINISHED.to_string());
        let beside = PathBuf::from(beside);
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        sync(parent_of(&path))
    }

    fn append(&self, path: &str, keep: u64, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        create(parent_of(&path))?;
        let new = !path.exists();
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        file.set_len(keep)?;
        file.seek(SeekFrom::Start(keep))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        if new { sync(parent_of(&path)) } else { Ok(()) }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut files = Vec::new();
        walk(&self.path(folder), "", &mut files)?;
        files.sort();
        Ok(files)
    }

    fn is_folder(&self, path: &str) -> io::Result<bool> {
        match fs::metadata(self.path(path)) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            found => Ok(found?.is_dir()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let to = self.path(to);
        if to.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something of that name"));
        }
        fs::rename(self.path(from), &to)?;
        sync(parent_of(&to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.path(path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| odd(&entry.path()))?;
        let name = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.push(name);
        } else {
            return Err(odd(&entry.path()));
        }
    }
    Ok(())
}
