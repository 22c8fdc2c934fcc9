//! Why there is no bundle.

use std::fmt;

use crate::git::{GitError, TreePath};

/// Why a commit could not be bundled. Foreign text is shortened and freed of control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// Git did not give what was asked for.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The zip is larger than the cluster takes.
    #[error(
        "the bundle has {} and the cluster takes at most {}; exclude what the job does not need by patterns in \
         `exclude` of `[tool.iris.bundle]` in pyproject.toml. The largest of it:{}",
        mebibytes(*bytes), mebibytes(*limit), Listed(largest)
    )]
    TooLarge {
        /// Bytes of the zip.
        bytes: u64,
        /// Bytes that it may have.
        limit: u64,
        /// What takes the most room in it, the largest first.
        largest: Vec<Large>,
    },
    /// The tree is larger than is looked at.
    #[error("{what} is more than is bundled: at most {limit}")]
    Bounds {
        /// What there is too much of.
        what: &'static str,
        /// The limit with its unit.
        limit: String,
    },
    /// A path that cannot be an entry of the zip.
    #[error("{path} cannot be bundled: it {why}")]
    Path {
        /// The path.
        path: TreePath,
        /// What is wrong.
        why: &'static str,
    },
    /// `[tool.iris.bundle]` says what cannot be meant.
    #[error("pyproject.toml: {key}: {why}")]
    Config {
        /// The key, or the place in it.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// The zip could not be written, which no content should lead to.
    #[error("writing the zip: {0}")]
    Zip(String),
}

/// A file that takes much room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// The path.
    pub path: TreePath,
    /// Its bytes in the zip.
    pub packed: u64,
    /// Its bytes in the tree.
    pub plain: u64,
}

impl BundleError {
    pub(super) fn bounds(what: &'static str, limit: u64, unit: &str) -> Self {
        Self::Bounds { what, limit: format!("{limit} {unit}") }
    }

    pub(super) fn config(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Config { key: key.into(), why: why.into() }
    }
}

struct Listed<'l>(&'l [Large]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Large { path, packed, plain } in self.0 {
            write!(f, "\n  {:>10} ({} unpacked) {path}", mebibytes(*packed), mebibytes(*plain))?;
        }
        Ok(())
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_says_what_to_do() {
        let large = |path: &str, packed, plain| Large { path: TreePath::new(path), packed, plain };
        let largest = vec![large("data/a\n.bin", 20 << 20, 21 << 20), large("b", 6 << 20, 60 << 20)];
        let error = BundleError::TooLarge { bytes: 27_000_000, limit: 25 << 20, largest };
        assert_eq!(
            error.to_string(),
            "the bundle has 25.75 MiB and the cluster takes at most 25.00 MiB; exclude what the job does not need by \
             patterns in `exclude` of `[tool.iris.bundle]` in pyproject.toml. The largest of it:\
             \n   20.00 MiB (21.00 MiB unpacked) \"data/a\\n.bin\"\
             \n    6.00 MiB (60.00 MiB unpacked) \"b\""
        );
    }
}
