//! What a commit holds.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;

use domain::ids::{CommitSha, Digest};

use super::command::Git;
use super::error::plain;
use super::{GitError, Mirror, TreePath};

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File {
        /// It may be executed.
        executable: bool,
    },
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// One path of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path.
    pub path: TreePath,
    /// What stands there.
    pub kind: Kind,
    /// The object: hexadecimal digits.
    pub object: String,
    /// Bytes of a file or of the target of a link; 0 of a submodule.
    pub bytes: u64,
}

/// One path of a commit, without its size: to list these takes git a third of the time, since no object of a file is
/// looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The path.
    pub path: TreePath,
    /// What stands there.
    pub kind: Kind,
    /// The object: hexadecimal digits.
    pub object: String,
}

/// A file as it was at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAt {
    /// Its content.
    Content(Vec<u8>),
    /// It is larger than was asked for, in bytes.
    TooLarge(u64),
    /// Something else stands there: a link, a submodule or a folder.
    NoFile,
    /// Nothing stands there.
    Absent,
}

impl Mirror {
    /// The id of the commit's whole tree.
    ///
    /// # Errors
    /// Git failed.
    pub fn tree_id(&self, commit: &CommitSha) -> Result<String, GitError> {
        let asked = format!("{commit}^{{tree}}");
        let printed = self.git().run(&["rev-parse", "--verify", "--end-of-options", &asked])?;
        Ok(plain(&printed, 100))
    }

    /// Every path of a commit but folders, in the order of git.
    ///
    /// # Errors
    /// Git failed, as on a broken tree.
    pub fn list(&self, commit: &CommitSha) -> Result<Vec<Entry>, GitError> {
        entries(&self.git().run(&["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()])?)
    }

    /// Every path of a commit but folders, in the order of git, where the listing has at most `most` bytes.
    ///
    /// # Errors
    /// A longer listing, or git failed, as on a broken tree.
    pub fn leaves(&self, commit: &CommitSha, most: u64) -> Result<Vec<Leaf>, GitError> {
        let git = Git { most, ..self.git().clone() };
        leaves(&git.run(&["ls-tree", "-r", "-z", "--full-tree", commit.as_str()])?)
    }

    /// SHA-256 over mode, object and path of every path that `counts`, in the order of their bytes: equal for two commits
    /// exactly when nothing that counts differs.
    ///
    /// # Errors
    /// Git failed.
    pub fn tree_digest(&self, commit: &CommitSha, counts: impl Fn(&TreePath) -> bool) -> Result<Digest, GitError> {
        let mut entries = self.list(commit)?;
        entries.retain(|entry| counts(&entry.path));
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        let mut bytes = Vec::new();
        for entry in entries {
            bytes.extend_from_slice(entry.kind.mode().as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(entry.object.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(entry.path.bytes());
            bytes.push(0);
        }
        Ok(Digest::of(&bytes))
    }

    /// A file as it was at a commit, if it has at most `most` bytes.
    ///
    /// # Errors
    /// A path that cannot be one, or git failed.
    pub fn read_file(&self, commit: &CommitSha, path: &TreePath, most: u64) -> Result<FileAt, GitError> {
        path.check().map_err(|why| GitError::UnsafePath { path: path.clone(), why })?;
        let flags = ["ls-tree", "-z", "-l", "--full-tree", commit.as_str(), "--"];
        let mut args: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
        args.push(OsStr::from_bytes(path.bytes()));
        let printed = self.git().call(&args, &[])?.success("ls-tree")?;
        if printed.is_empty() {
            return Ok(FileAt::Absent);
        }
        let is_folder = printed.starts_with(b"040000 ");
        let found = if is_folder { Vec::new() } else { entries(&printed)? };
        let Some(entry) = found.into_iter().find(|entry| entry.path == *path) else { return Ok(FileAt::NoFile) };
        if !matches!(entry.kind, Kind::File { .. }) {
            return Ok(FileAt::NoFile);
        }
        if entry.bytes > most {
            return Ok(FileAt::TooLarge(entry.bytes));
        }
        let args = ["cat-file", "blob", &entry.object].map(OsStr::new);
        let read = |stdout: &mut dyn Read| {
            let mut bytes = Vec::new();
            let taken = stdout.take(most.saturating_add(1)).read_to_end(&mut bytes);
            taken.map_err(|why| GitError::system("reading from git cat-file", &why))?;
            Ok(bytes)
        };
        let bytes = self.git().stream(&args, &[], read)?.success("cat-file")?;
        if bytes.len() as u64 == entry.bytes {
            Ok(FileAt::Content(bytes))
        } else {
            Err(GitError::unexpected("cat-file"))
        }
    }
}

impl Kind {
    /// What a mode of git means; `None` for a folder and what git has none for.
    pub(super) fn of(mode: &str) -> Option<Self> {
        match mode {
            "100755" => Some(Self::File { executable: true }),
            "120000" => Some(Self::Link),
            "160000" => Some(Self::Submodule),
            _ if mode.starts_with("100") => Some(Self::File { executable: false }),
            _ => None,
        }
    }

    /// The mode that git has for it. The one old mode of a file, 100664, counts as 100644.
    fn mode(self) -> &'static str {
        match self {
            Self::File { executable: false } => "100644",
            Self::File { executable: true } => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }
}

/// Reads the answer of `ls-tree -z -l`: mode, type, object, size, a tab, and the path, ended by NUL.
fn entries(printed: &[u8]) -> Result<Vec<Entry>, GitError> {
    lines(printed, |mut fields, path| {
        let (mode, _, object, size) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let kind = Kind::of(mode)?;
        let bytes = if kind == Kind::Submodule { 0 } else { size.parse().ok()? };
        Some(Entry { path, kind, object: object.to_owned(), bytes })
    })
}

/// Reads the answer of `ls-tree -z`: as [`entries`], without the size.
fn leaves(printed: &[u8]) -> Result<Vec<Leaf>, GitError> {
    lines(printed, |mut fields, path| {
        let (mode, _, object) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Leaf { path, kind: Kind::of(mode)?, object: object.to_owned() })
    })
}

/// Reads lines that NUL ends: fields, a tab, and a path.
fn lines<T>(
    printed: &[u8],
    read: impl Fn(std::str::SplitAsciiWhitespace<'_>, TreePath) -> Option<T>,
) -> Result<Vec<T>, GitError> {
    let line = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(&line[..tab]).ok()?;
        read(head.split_ascii_whitespace(), TreePath::new(&line[tab + 1..]))
    };
    let lines = printed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines.map(|text| line(text).ok_or_else(|| GitError::unexpected("ls-tree"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing() {
        let lines = [
            &b"100644 blob aaaa      12\ta b"[..],
            b"100755 blob bbbb       0\tx\ty\n",
            b"120000 blob cccc       3\t-l",
            b"160000 commit dddd       -\tsub",
            b"100664 blob eeee 5\told",
            b"",
        ];
        let printed = lines.join(&0);
        let listed = entries(&printed).unwrap();
        let shown: Vec<(&[u8], Kind, u64)> = listed.iter().map(|e| (e.path.bytes(), e.kind, e.bytes)).collect();
        assert_eq!(
            shown,
            [
                (&b"a b"[..], Kind::File { executable: false }, 12),
                (b"x\ty\n", Kind::File { executable: true }, 0),
                (b"-l", Kind::Link, 3),
                (b"sub", Kind::Submodule, 0),
                (b"old", Kind::File { executable: false }, 5),
            ]
        );
        let short = leaves(b"100755 blob aaaa\ta b\x00160000 commit dddd\tsub\0").unwrap();
        let shown: Vec<(&[u8], Kind)> = short.iter().map(|leaf| (leaf.path.bytes(), leaf.kind)).collect();
        assert_eq!(shown, [(&b"a b"[..], Kind::File { executable: true }), (b"sub", Kind::Submodule)]);
        assert!(leaves(b"040000 tree aaaa\ta\0").is_err());
        for broken in [&b"x\0"[..], b"100644 blob\ta\0", b"040000 tree aaaa -\ta\0", b"100644 blob aaaa BAD\ta\0"] {
            assert!(entries(broken).is_err());
        }
    }
}
