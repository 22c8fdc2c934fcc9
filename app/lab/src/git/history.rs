//! How commits are related.

use domain::ids::CommitSha;

use super::error::plain;
use super::tree::Kind;
use super::{GitError, Mirror, TreePath};

/// A path that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: TreePath,
    /// What stood there, and its object; `None` where nothing did.
    pub before: Option<(Kind, String)>,
    /// What stands there now.
    pub after: Option<(Kind, String)>,
}

/// The best common ancestors of two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeBases {
    /// The one that is taken: of the newest committer date, and among those the least id. The same commits always give
    /// the same one.
    pub taken: CommitSha,
    /// All of them, the taken one first; more than one where branches were merged both ways.
    pub all: Vec<CommitSha>,
}

impl Mirror {
    /// The merge bases of two commits.
    ///
    /// # Errors
    /// The commits have no common ancestor, or git failed.
    pub fn merge_bases(&self, one: &CommitSha, other: &CommitSha) -> Result<MergeBases, GitError> {
        let args = ["merge-base", "--all", one.as_str(), other.as_str()].map(std::ffi::OsStr::new);
        let ended = self.git().call(&args, &[])?;
        if ended.code == Some(1) && ended.answer.is_empty() {
            let (one, other) = (one.short().to_owned(), other.short().to_owned());
            return Err(GitError::Unrelated { one, other, shallow: self.is_shallow() });
        }
        let listed = commits(&ended.success("merge-base")?, "merge-base")?;
        let mut dated = Vec::with_capacity(listed.len());
        for commit in listed {
            dated.push((std::cmp::Reverse(self.committed(&commit)?), commit));
        }
        dated.sort();
        let all: Vec<CommitSha> = dated.into_iter().map(|(_, commit)| commit).collect();
        let taken = all.first().cloned().ok_or_else(|| GitError::unexpected("merge-base"))?;
        Ok(MergeBases { taken, all })
    }

    /// The committer date, seconds since 1970 as the committer wrote them.
    ///
    /// # Errors
    /// Git failed, or the commit has no such date.
    pub fn committed(&self, commit: &CommitSha) -> Result<i64, GitError> {
        let printed = self.git().run(&["log", "-1", "--no-color", "--format=%ct", commit.as_str()])?;
        plain(&printed, 40).parse().map_err(|_| GitError::unexpected("log"))
    }

    /// How many commits `tip` has that `commit` has not.
    ///
    /// # Errors
    /// Git failed.
    pub fn behind(&self, commit: &CommitSha, tip: &CommitSha) -> Result<u64, GitError> {
        let range = format!("{commit}..{tip}");
        let printed = self.git().run(&["rev-list", "--count", &range])?;
        plain(&printed, 40).parse().map_err(|_| GitError::unexpected("rev-list"))
    }

    /// The paths that differ between two commits, in the order of their bytes. A file that moved differs in both places.
    ///
    /// # Errors
    /// Git failed.
    pub fn changed_paths(&self, one: &CommitSha, other: &CommitSha) -> Result<Vec<TreePath>, GitError> {
        let flags = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let args: Vec<&str> =
            flags.into_iter().chain(["--ignore-submodules=none", one.as_str(), other.as_str()]).collect();
        let printed = self.git().run(&args)?;
        let mut paths: Vec<TreePath> =
            printed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(TreePath::new).collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The same paths with what stands there on both sides.
    ///
    /// # Errors
    /// Git failed.
    pub fn changes(&self, one: &CommitSha, other: &CommitSha) -> Result<Vec<Change>, GitError> {
        let flags = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let args: Vec<&str> =
            flags.into_iter().chain(["--ignore-submodules=none", one.as_str(), other.as_str()]).collect();
        let mut all = changes(&self.git().run(&args)?).ok_or_else(|| GitError::unexpected("diff-tree"))?;
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }
}

/// Reads what `diff-tree -r -z` printed: `:mode mode object object letter`, the path, each ended by NUL.
fn changes(printed: &[u8]) -> Option<Vec<Change>> {
    let mut parts = printed.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let mut all = Vec::new();
    while let Some(head) = parts.next() {
        let mut fields = std::str::from_utf8(head).ok()?.strip_prefix(':')?.split(' ');
        let (modes, objects) = ([fields.next()?, fields.next()?], [fields.next()?, fields.next()?]);
        let side = |at: usize| match modes[at] {
            "000000" => Some(None),
            mode => Some(Some((Kind::of(mode)?, objects[at].to_owned()))),
        };
        all.push(Change { path: TreePath::new(parts.next()?), before: side(0)?, after: side(1)? });
    }
    Some(all)
}

fn commits(printed: &[u8], what: &str) -> Result<Vec<CommitSha>, GitError> {
    let text = String::from_utf8_lossy(printed);
    text.lines().map(|line| line.trim().parse().map_err(|_| GitError::unexpected(what))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_change() {
        let printed = b":100644 100755 aa bb M\0a b\0:000000 120000 00 cc A\0l\0:160000 000000 dd 00 D\0s\0";
        let read = changes(printed).unwrap();
        let shown: Vec<(&[u8], Option<Kind>, Option<Kind>)> = read
            .iter()
            .map(|c| {
                (c.path.bytes(), c.before.as_ref().map(|(kind, _)| *kind), c.after.as_ref().map(|(kind, _)| *kind))
            })
            .collect();
        let file = |executable| Some(Kind::File { executable });
        assert_eq!(
            shown,
            [
                (&b"a b"[..], file(false), file(true)),
                (b"l", None, Some(Kind::Link)),
                (b"s", Some(Kind::Submodule), None)
            ]
        );
        assert_eq!(read[0].after.as_ref().unwrap().1, "bb");
        assert_eq!(changes(b""), Some(Vec::new()));
        for broken in [&b":100644 100644 aa bb M\0"[..], b"a\0", b":040000 100644 aa bb M\0a\0", b":100644\0a\0"] {
            assert_eq!(changes(broken), None, "{broken:?}");
        }
    }
}
