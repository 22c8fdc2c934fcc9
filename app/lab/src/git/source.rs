//! Where a mirror is filled from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::GitError;
use super::command::Access;
use super::error::plain;

/// A repository to fetch from.
#[derive(Clone, Debug)]
pub struct Source(Place, Option<Access>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Folder(PathBuf),
    Url(String),
}

impl Source {
    /// The repository that the folder `dir` belongs to: the folder itself, or the nearest one above it that has a
    /// `.git` or is a bare repository.
    ///
    /// # Errors
    /// The folder cannot be read, or no repository is there.
    pub fn folder(dir: &Path) -> Result<Self, GitError> {
        let absolute = dir.canonicalize().map_err(|why| GitError::system(shown(dir), &why))?;
        let is_repository = |dir: &&Path| {
            dir.join(".git").exists()
                || (dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir())
        };
        match absolute.ancestors().find(is_repository) {
            Some(found) => Ok(Self(Place::Folder(found.to_owned()), None)),
            None => Err(GitError::Source { found: shown(dir), why: "neither it nor a folder above it is one" }),
        }
    }

    /// A URL, `https://` or `file://`. A user name or a password in it is refused: it would be seen by every user of
    /// this machine.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn url(text: &str) -> Result<Self, GitError> {
        let refused = |found: &str, why| Err(GitError::Source { found: plain(found.as_bytes(), 100), why });
        let Some((scheme, rest)) = text.split_once("://") else { return refused(text, "it has no ://") };
        if text.len() > 2000 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return refused(scheme, "it is too long or has spaces or control characters");
        }
        if rest.split('/').next().is_some_and(|host| host.contains('@')) {
            return refused(scheme, "it has a user name or a password");
        }
        match scheme {
            "https" | "file" if !rest.starts_with('-') && !rest.is_empty() => {
                Ok(Self(Place::Url(text.to_owned()), None))
            }
            _ => refused(text, "its scheme is not used"),
        }
    }

    /// A URL of a forge, reached with this value of the header `Authorization`. As [`Self::url`]; `http://` on this machine
    /// is allowed as well.
    ///
    /// # Errors
    /// What is wrong with it. The header is never in it.
    pub fn forge(text: &str, authorization: Option<String>) -> Result<Self, GitError> {
        let refused = |why| Err(GitError::Source { found: "the header for it".to_owned(), why });
        if authorization.as_ref().is_some_and(|value| value.chars().any(|c| c.is_control() || !c.is_ascii())) {
            return refused("it has control characters");
        }
        let local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"].iter().any(|own| text.starts_with(own));
        let checked = if local { Self::url(&text.replacen("http", "https", 1))? } else { Self::url(text)? };
        let Place::Url(_) = checked.0 else { return refused("it is no URL") };
        Ok(Self(Place::Url(text.to_owned()), Some(Access { plain: local, authorization })))
    }

    pub(crate) fn access(&self) -> Option<&Access> {
        self.1.as_ref()
    }

    /// A folder, where the text has no `://`, or a URL.
    ///
    /// # Errors
    /// See [`Self::folder`] and [`Self::url`].
    pub fn of(text: &str) -> Result<Self, GitError> {
        if text.contains("://") { Self::url(text) } else { Self::folder(Path::new(text)) }
    }

    /// The name that people know it by: of the folder without the path to it, or the last two parts of the URL.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match &self.0 {
            Place::Folder(path) => {
                let path = if path.ends_with(".git") { path.parent().unwrap_or(path) } else { path };
                path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            }
            Place::Url(url) => {
                let parts: Vec<&str> = url.split('/').filter(|part| !part.is_empty()).collect();
                parts[parts.len().saturating_sub(2).max(1)..].join("/")
            }
        };
        plain(name.strip_suffix(".git").unwrap_or(&name).as_bytes(), 100)
    }

    pub(crate) fn argument(&self) -> OsString {
        match &self.0 {
            Place::Folder(path) => path.into(),
            Place::Url(url) => url.into(),
        }
    }
}

fn shown(path: &Path) -> String {
    plain(path.to_string_lossy().as_bytes(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let source = Source::of("https://github.com/marin-community/marin.git").unwrap();
        assert_eq!(source.name(), "marin-community/marin");
        assert_eq!(Source::of("file:///srv/x.git").unwrap().name(), "srv/x");
        for bad in [
            "ext::sh -c x",
            "ext://x",
            "ssh://host/x",
            "git://host/x",
            "https://",
            "https://user:secret@host/x",
            "https://token@host/x",
            "https://-x/y",
            "https://host/ x",
            "https://host/\n",
            "http://host/x",
            "://",
        ] {
            let error = Source::of(bad).unwrap_err().to_string();
            assert!(!error.contains("secret") && !error.contains("token"), "{error}");
        }
    }

    #[test]
    fn forges() {
        let secret = || Some("Basic c2VjcmV0".to_owned());
        for good in ["https://github.com/o/n.git", "http://127.0.0.1:8900/o/n.git", "http://localhost:1/o/n.git"] {
            let source = Source::forge(good, secret()).unwrap();
            assert!(!format!("{source:?}").contains("c2VjcmV0"), "{source:?}");
        }
        for bad in
            ["http://github.com/o/n.git", "http://127.0.0.1.evil:1/x", "ssh://github.com/o/n", "http://127.0.0.1:@x/y"]
        {
            let error = Source::forge(bad, secret()).unwrap_err().to_string();
            assert!(!error.contains("c2VjcmV0"), "{error}");
        }
        assert!(Source::forge("https://github.com/o/n.git", Some("a\nb".to_owned())).is_err());
    }

    #[test]
    fn folders() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("work/a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert!(matches!(Source::folder(&inner), Err(GitError::Source { .. })));
        std::fs::create_dir(dir.path().join("work/.git")).unwrap();
        let source = Source::folder(&inner).unwrap();
        assert_eq!(source.name(), "work");
        assert!(matches!(Source::folder(&dir.path().join("none")), Err(GitError::System { .. })));
    }
}
