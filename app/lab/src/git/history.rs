//! How commits are related.

use domain::ids::CommitSha;

use super::error::plain;
use super::{GitError, Mirror, TreePath};

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
}

fn commits(printed: &[u8], what: &str) -> Result<Vec<CommitSha>, GitError> {
    let text = String::from_utf8_lossy(printed);
    text.lines().map(|line| line.trim().parse().map_err(|_| GitError::unexpected(what))).collect()
}
