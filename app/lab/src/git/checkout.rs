//! A commit's files on a disk, made from git objects.
//!
//! No filter, no conversion of line ends and no hook runs: a file has the bytes that git stores, whatever the
//! attributes say, so that a file of Git LFS is its pointer. Everything is checked before the first byte is written.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use domain::ids::CommitSha;

use super::command::{Git, shown};
use super::{Entry, GitError, Kind, Mirror, TreePath, read_blobs};

const LIMIT: Duration = Duration::from_mins(30);
/// Longest target of a link that is followed; Linux has no longer ones.
const LINK_BYTES: u64 = 4096;
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";

/// How large a checkout may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckoutLimits {
    /// Paths.
    pub paths: usize,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Default for CheckoutLimits {
    /// A million paths, 4 GiB a file, 32 GiB in all.
    fn default() -> Self {
        Self { paths: 1_000_000, file_bytes: 4 << 30, bytes: 32 << 30 }
    }
}

/// What was written, and what was not as the commit has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// Files that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Submodules: their folder is empty, as after a clone without them.
    pub submodules: Vec<TreePath>,
    /// Links that lead out of the tree: a file that holds the target stands there, as git makes it where there are no
    /// links.
    pub plain_links: Vec<TreePath>,
    /// Files that are pointers of Git LFS.
    pub lfs_pointers: u64,
}

impl Mirror {
    /// Writes the files of a commit into `folder`, which is empty and which nobody else writes to. `stop` is asked
    /// between files and ends the work early.
    ///
    /// # Errors
    /// A path that is not safe to write, two entries of one path, a tree over the limits (all before anything is written),
    /// a disk that says no, or git failing.
    pub fn checkout(
        &self,
        commit: &CommitSha,
        folder: &Path,
        limits: &CheckoutLimits,
        stop: &dyn Fn() -> bool,
    ) -> Result<CheckedOut, GitError> {
        let entries = self.list(commit)?;
        check(&entries, limits)?;
        let files: Vec<&Entry> = entries.iter().filter(|e| matches!(e.kind, Kind::File { .. })).collect();
        let links: Vec<&Entry> = entries.iter().filter(|e| e.kind == Kind::Link).collect();
        let mut made = CheckedOut::default();
        let failed = |path: &TreePath, why: &io::Error| GitError::system(format!("writing {path}"), why);

        let git = Git { limit: LIMIT.max(self.git().limit), ..self.git().clone() };
        objects(&git, &files, &mut |entry, content| {
            if stop() {
                return Err(GitError::Stopped);
            }
            let executable = entry.kind == Kind::File { executable: true };
            let mut first = Vec::with_capacity(LFS.len());
            let mut file = create(folder, &entry.path, executable).map_err(|why| failed(&entry.path, &why))?;
            (&mut *content).take(LFS.len() as u64).read_to_end(&mut first).map_err(|why| failed(&entry.path, &why))?;
            made.lfs_pointers += u64::from(first == LFS && entry.bytes < 1024);
            io::copy(&mut first.as_slice().chain(content), &mut file).map_err(|why| failed(&entry.path, &why))?;
            made.files += 1;
            made.bytes += entry.bytes;
            Ok(())
        })?;

        let mut targets: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        objects(&git, &links, &mut |entry, content| {
            let mut target = Vec::new();
            content.read_to_end(&mut target).map_err(|why| failed(&entry.path, &why))?;
            targets.insert(entry.path.bytes().to_vec(), target);
            Ok(())
        })?;
        // Links come last, so that no file was written through one.
        for entry in &links {
            let Some(target) = targets.get(entry.path.bytes()) else { continue };
            if stays_inside(&targets, &entry.path, target) {
                let at = folder.join(entry.path.as_path());
                let made = parents(folder, &entry.path).and_then(|()| symlink(OsStr::from_bytes(target), at));
                made.map_err(|why| failed(&entry.path, &why))?;
            } else {
                let mut file = create(folder, &entry.path, false).map_err(|why| failed(&entry.path, &why))?;
                io::copy(&mut target.as_slice(), &mut file).map_err(|why| failed(&entry.path, &why))?;
                made.plain_links.push(entry.path.clone());
            }
        }
        for entry in entries.iter().filter(|e| e.kind == Kind::Submodule) {
            fs::create_dir_all(folder.join(entry.path.as_path())).map_err(|why| failed(&entry.path, &why))?;
            made.submodules.push(entry.path.clone());
        }
        Ok(made)
    }
}

/// Refuses a tree that must not, or cannot, be written.
fn check(entries: &[Entry], limits: &CheckoutLimits) -> Result<(), GitError> {
    let too_large = |what: String, limit: String| Err(GitError::TooLarge { what, limit });
    if entries.len() > limits.paths {
        return too_large("the tree".to_owned(), format!("{} paths", limits.paths));
    }
    let mut total = 0_u64;
    for entry in entries {
        entry.path.check().map_err(|why| GitError::UnsafePath { path: entry.path.clone(), why })?;
        let most = if entry.kind == Kind::Link { LINK_BYTES } else { limits.file_bytes };
        if entry.bytes > most {
            return too_large(format!("the file {}", entry.path), format!("{most} bytes"));
        }
        total = total.saturating_add(entry.bytes);
    }
    if total > limits.bytes {
        return too_large("the tree".to_owned(), format!("{} bytes", limits.bytes));
    }
    let mut paths: Vec<&TreePath> = entries.iter().map(|entry| &entry.path).collect();
    // With the separator below every other byte, what stands inside a path follows it at once.
    paths.sort_by(|one, other| one.parts().cmp(other.parts()));
    for pair in paths.windows(2) {
        let inside = pair[1].bytes().strip_prefix(pair[0].bytes());
        if inside.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/")) {
            return Err(GitError::UnsafePath { path: pair[1].clone(), why: "stands there twice, or inside a file" });
        }
    }
    Ok(())
}

fn parents(folder: &Path, path: &TreePath) -> io::Result<()> {
    match folder.join(path.as_path()).parent() {
        Some(parent) => fs::create_dir_all(parent),
        None => Ok(()),
    }
}

/// Makes a new file; one that is there, or a link, is an error.
fn create(folder: &Path, path: &TreePath, executable: bool) -> io::Result<File> {
    parents(folder, path)?;
    let mode = if executable { 0o755 } else { 0o644 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(folder.join(path.as_path()))
}

type Take<'t> = dyn FnMut(&Entry, &mut dyn Read) -> Result<(), GitError> + 't;

/// Gives the content of each entry to `take`, in order, from one `cat-file --batch`.
fn objects(git: &Git, entries: &[&Entry], take: &mut Take<'_>) -> Result<(), GitError> {
    let objects: Vec<&str> = entries.iter().map(|entry| entry.object.as_str()).collect();
    read_blobs(git, &objects, |at, bytes, content| {
        if bytes != entries[at].bytes {
            return Err(GitError::unexpected("cat-file"));
        }
        take(entries[at], content)
    })
}

/// Whether following the link at `path` never leaves the tree, with all other links as they are. What is not there does
/// no harm, and neither does a circle.
fn stays_inside(links: &HashMap<Vec<u8>, Vec<u8>>, path: &TreePath, target: &[u8]) -> bool {
    let mut place: Vec<Vec<u8>> = path.parts().map(<[u8]>::to_vec).collect();
    place.pop();
    // Parts that are still to walk, the next one last.
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let push = |ahead: &mut Vec<Vec<u8>>, target: &[u8]| -> bool {
        ahead.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        !target.starts_with(b"/") && !target.is_empty() && !target.contains(&0)
    };
    let mut followed = 0;
    if !push(&mut ahead, target) {
        return false;
    }
    while let Some(part) = ahead.pop() {
        match part.as_slice() {
            b"" | b"." => {}
            b".." => {
                if place.pop().is_none() {
                    return false;
                }
            }
            _ => {
                place.push(part);
                if let Some(next) = links.get(place.join(&b'/').as_slice()) {
                    followed += 1;
                    // Linux gives up after 40 links.
                    if followed > 40 {
                        return true;
                    }
                    place.pop();
                    if !push(&mut ahead, next) {
                        return false;
                    }
                }
            }
        }
    }
    true
}

/// Removes a folder and everything in it, folders included that may not be written to. Links are removed, never followed.
///
/// # Errors
/// Something could not be removed.
pub(crate) fn remove(folder: &Path) -> Result<(), GitError> {
    let Err(first) = fs::remove_dir_all(folder) else { return Ok(()) };
    if first.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    open_up(folder);
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(GitError::system(format!("removing {}", shown(folder)), &why))
        }
        _ => Ok(()),
    }
}

fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(links: &[(&'static str, &str)], at: &str) -> bool {
        let links: HashMap<Vec<u8>, Vec<u8>> =
            links.iter().map(|(path, target)| (path.as_bytes().to_vec(), target.as_bytes().to_vec())).collect();
        stays_inside(&links, &TreePath::new(at), &links[at.as_bytes()])
    }

    #[test]
    fn links_that_stay() {
        assert!(inside(&[("a", "b")], "a"));
        assert!(inside(&[("d/a", "../b/./c//d")], "d/a"));
        assert!(inside(&[("d/a", "..")], "d/a"));
        assert!(inside(&[("a", "a")], "a"));
        assert!(inside(&[("a", "b"), ("b", "a")], "a"));
        assert!(inside(&[("a", "b/.."), ("b", "c/d/e")], "a"));
    }

    #[test]
    fn links_that_leave() {
        assert!(!inside(&[("a", "/etc/passwd")], "a"));
        assert!(!inside(&[("a", "..")], "a"));
        assert!(!inside(&[("d/a", "../../x")], "d/a"));
        assert!(!inside(&[("a", "")], "a"));
        assert!(!inside(&[("a", "b\0c")], "a"));
        // Each text alone seems to stay; together they leave.
        assert!(!inside(&[("deep/er/x", "../../top"), ("l", "deep/er/x/../../..")], "l"));
        assert!(!inside(&[("a", "b"), ("b", "/tmp")], "a"));
        assert!(!inside(&[("a", "b/c"), ("b", "..")], "a"));
    }

    #[test]
    fn one_path_is_one_thing() {
        let entry = |path: &str, bytes| {
            let (kind, object) = (Kind::File { executable: false }, "aa".to_owned());
            Entry { path: TreePath::new(path), kind, object, bytes }
        };
        let limits = CheckoutLimits { paths: 4, file_bytes: 10, bytes: 15 };
        assert_eq!(check(&[entry("a", 5), entry("a.b", 0), entry("A", 0), entry("ab/c", 10)], &limits), Ok(()));
        for entries in [
            vec![entry("a", 0), entry("a", 0)],
            vec![entry("a", 0), entry("a.b", 0), entry("a/b", 0)],
            vec![entry("a", 11)],
            vec![entry("a", 8), entry("b", 8)],
            (0..5).map(|n| entry(&n.to_string(), 0)).collect(),
            vec![entry("../a", 0)],
        ] {
            assert!(check(&entries, &limits).is_err(), "{entries:?}");
        }
    }

    #[test]
    fn what_may_not_be_written_to_is_removed_too() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, outside) = (dir.path().join("x"), dir.path().join("kept"));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(&outside, "kept").unwrap();
        fs::write(folder.join("a/b/c"), "c").unwrap();
        symlink(&outside, folder.join("a/link")).unwrap();
        let mut locked = fs::metadata(folder.join("a/b")).unwrap().permissions();
        locked.set_readonly(true);
        fs::set_permissions(folder.join("a/b"), locked).unwrap();
        remove(&folder).unwrap();
        remove(&folder).unwrap();
        assert!(!folder.exists() && outside.exists());
    }
}
