//! Where a store is: the URL, and the file that is made where it is missing.

use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sqlx::ConnectOptions;
use sqlx::any::AnyConnectOptions;

use crate::dialect::Dialect;
use crate::open::OpenError;

/// Where a store is.
pub(crate) enum Place {
    /// In the memory of this process.
    Memory,
    /// In a file.
    File(PathBuf),
    /// On a server.
    Server(AnyConnectOptions),
}

impl Place {
    /// What a URL says. Nothing of the URL gets into an error: it may have a password.
    pub(crate) fn of(url: &str) -> Result<Self, OpenError> {
        if url == "sqlite::memory:" {
            return Ok(Self::Memory);
        }
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(OpenError::Url);
            }
            let path = std::path::absolute(path).map_err(|source| folder(Path::new(path), source))?;
            return Ok(Self::File(path));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let options: AnyConnectOptions = url.parse().map_err(|_| OpenError::Url)?;
            return Ok(Self::Server(options.disable_statement_logging()));
        }
        Err(OpenError::Url)
    }

    /// Which engine it is.
    pub(crate) const fn dialect(&self) -> Dialect {
        match self {
            Self::Memory | Self::File(_) => Dialect::Sqlite,
            Self::Server(_) => Dialect::Postgres,
        }
    }

    /// How it is connected to.
    pub(crate) fn options(&self) -> Result<AnyConnectOptions, OpenError> {
        let url = match self {
            Self::Server(options) => return Ok(options.clone()),
            Self::Memory => "sqlite::memory:".to_owned(),
            Self::File(path) => format!("sqlite://{}", escaped(path)?),
        };
        let options: AnyConnectOptions = url.parse().map_err(|_| OpenError::Url)?;
        Ok(options.disable_statement_logging())
    }

    /// Makes the file and its folder where they are missing, for their owner only.
    pub(crate) fn prepare(&self) -> Result<(), OpenError> {
        let Self::File(path) = self else { return Ok(()) };
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(|source| folder(path, source))?;
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Err(source) if source.kind() != ErrorKind::AlreadyExists => Err(folder(path, source)),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn folder(path: &Path, source: Error) -> OpenError {
    OpenError::File { path: path.to_owned(), source }
}

/// A path within a URL: everything but plain characters as `%XX`.
fn escaped(path: &Path) -> Result<String, OpenError> {
    let text = path.to_str().ok_or_else(|| folder(path, Error::new(ErrorKind::InvalidInput, "not UTF-8")))?;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-') {
            escaped.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        assert!(matches!(Place::of("sqlite::memory:"), Ok(Place::Memory)));
        for (url, path) in [("sqlite:/a/b.db", "/a/b.db"), ("sqlite:///a/b.db", "/a/b.db")] {
            let Ok(Place::File(found)) = Place::of(url) else { panic!("{url}") };
            assert_eq!(found, Path::new(path));
        }
        assert!(matches!(Place::of("postgres://u:p@h/d"), Ok(Place::Server(_))));
        for url in ["", "sqlite:", "sqlite://", "mysql://h/d", "/a/b.db", "postgres://u:p@h:port/d"] {
            assert!(matches!(Place::of(url), Err(OpenError::Url)), "{url}");
        }
        assert_eq!(escaped(Path::new("/a b/ä?#%.db")).unwrap(), "/a%20b/%C3%A4%3F%23%25.db");
    }
}
