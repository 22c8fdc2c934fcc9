//! Paths inside a tree.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path inside a tree: bytes, `/` between its parts, as git has it. Foreign, and safe only after [`Self::check`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    /// A path from its bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, with U+FFFD where it is no UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    pub(crate) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Checks that writing to this path stays inside the folder and touches no repository: it is relative, has no empty
    /// part, no `.`, no `..`, and no part that some file system takes for `.git`.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence that begins with the path.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.0.contains(&0) {
            return Err("has a NUL byte");
        }
        for part in self.parts() {
            match part {
                b"" => return Err("has an empty part"),
                b"." => return Err("has a part ."),
                b".." => return Err("has a part .."),
                _ => {}
            }
            // A backslash is an ordinary character here and parts names on other systems.
            if part.split(|byte| *byte == b'\\').any(|piece| piece == b".." || is_dot_git(piece)) {
                return Err("has a part that reads as .. or .git on some file system");
            }
        }
        Ok(())
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text().chars().take(200).collect();
        write!(f, "{shown:?}")
    }
}

/// Whether some file system takes a name for `.git`: in any case, with the characters that HFS+ ignores, and as NTFS
/// reads it (short name, streams, dots and spaces at the end). The rules are those of git's `is_hfs_dotgit` and
/// `is_ntfs_dotgit`.
fn is_dot_git(name: &[u8]) -> bool {
    // Most names are ASCII, where nothing is ignored: the first character decides for nearly all of them.
    if name.is_ascii() && !name.first().is_some_and(|first| matches!(first, b'.' | b'g' | b'G')) {
        return false;
    }
    let text = String::from_utf8_lossy(name);
    let kept = text.chars().filter(
        |c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'),
    );
    let folded: String = kept.map(|c| c.to_ascii_lowercase()).collect();
    let stream = folded.split(':').next().unwrap_or_default();
    matches!(stream.trim_end_matches(['.', ' ']), ".git" | "git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_paths() {
        for path in [
            "a",
            "a/b",
            "-rf",
            "a\nb",
            ".gitignore",
            ".gitmodules",
            ".github/x",
            "git",
            "a.git",
            "x/..y",
            "...",
            "~",
            "a\\b",
            "a:b",
        ] {
            assert_eq!(TreePath::new(path).check(), Ok(()), "{path:?}");
        }
        assert_eq!(TreePath::new(*b"caf\xe9/\xff").check(), Ok(()));
    }

    #[test]
    fn unsafe_paths() {
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "./a",
            "..",
            "a/../b",
            "a/..",
            ".git",
            "a/.git/config",
            ".GIT",
            ".Git/hooks/x",
            ".git.",
            ".git ",
            ".git . .",
            "git~1",
            "GIT~1/config",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{206a}T",
            "a\\.git\\config",
            "..\\x",
            ".git\\x",
            "a\0b",
        ] {
            assert!(TreePath::new(path).check().is_err(), "{path:?}");
        }
    }

    #[test]
    fn shown_on_one_line() {
        assert_eq!(TreePath::new(*b"a\n\x1b[31m\xff").to_string(), "\"a\\n\\u{1b}[31m\u{fffd}\"");
    }
}
