//! Addresses of stores.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// The store of a service that names none.
pub(super) const USUAL: &str = "sqlite:/var/lib/zephyr-ab/zephyr-ab.db";

/// The address of a store that has no password in it, so that it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// The address as it stands in the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for StoreUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        check(&text).map_err(de::Error::custom)?;
        if has_password(&text) {
            return Err(de::Error::custom("a password stands in the address: use url_file or url_env"));
        }
        Ok(Self(text))
    }
}

/// Whether it is the address of a store: `SQLite` in a file, or Postgres. Nothing of it is repeated.
pub(super) fn check(url: &str) -> Result<(), &'static str> {
    if let Some(path) = sqlite(url) {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let lost = path.is_empty() || path.contains(":memory:") || url.contains("mode=memory");
        return if lost {
            Err("a store in memory forgets everything: sqlite:FILE is one that does not")
        } else {
            Ok(())
        };
    }
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err("it is neither sqlite:FILE nor postgres://HOST/DATABASE");
    }
    reqwest::Url::parse(url).map(|_| ()).map_err(|_| "it is no address")
}

fn has_password(url: &str) -> bool {
    sqlite(url).is_none()
        && reqwest::Url::parse(url).map_or(true, |url| {
            url.password().is_some() || url.query_pairs().any(|(name, _)| name.to_lowercase().contains("password"))
        })
}

/// What comes after the scheme of `SQLite`.
fn sqlite(url: &str) -> Option<&str> {
    url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:"))
}

/// The address with the file of `SQLite` seen from `folder`.
pub(super) fn resolved(url: &str, folder: &Path) -> String {
    match sqlite(url) {
        Some(path) => format!("sqlite:{}", folder.join(path).display()),
        None => url.to_owned(),
    }
}

/// The file of a store that is one.
#[must_use]
pub fn file_of(url: &str) -> Option<PathBuf> {
    let path = sqlite(url)?;
    Some(PathBuf::from(path.split_once('?').map_or(path, |(path, _)| path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_file_or_postgres() {
        for good in [USUAL, "sqlite://a.db?mode=rwc", "postgres://u@h/d", "postgresql://h:5432/d?sslmode=require"] {
            assert_eq!(check(good), Ok(()), "{good}");
            assert!(!has_password(good), "{good}");
        }
        for bad in
            ["", "sqlite:", "sqlite::memory:", "sqlite://?mode=memory", "mysql://h/d", "postgres:h", "postgres://h:x/d"]
        {
            assert!(check(bad).is_err(), "{bad}");
        }
        for secret in ["postgres://u:p@h/d", "postgres://h/d?password=p", "postgres://h/d?sslpassword=p"] {
            assert_eq!((check(secret), has_password(secret)), (Ok(()), true), "{secret}");
        }
    }

    #[test]
    fn a_file_is_seen_from_the_folder() {
        let folder = Path::new("/etc/zephyr-ab");
        for (url, expected) in [
            ("sqlite:a.db?x=1", "sqlite:/etc/zephyr-ab/a.db?x=1"),
            ("sqlite:///var/a.db", "sqlite:/var/a.db"),
            ("postgres://h/d", "postgres://h/d"),
        ] {
            assert_eq!(resolved(url, folder), expected);
        }
        assert_eq!(file_of("sqlite:/var/a.db?x=1"), Some(PathBuf::from("/var/a.db")));
        assert_eq!(file_of("postgres://h/d"), None);
    }
}
