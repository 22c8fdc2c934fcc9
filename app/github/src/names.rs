//! What repositories are called now, and through which installation they are reached.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::ports::forge::Repo;

/// Names by the number of the repository, as GitHub has told them.
#[derive(Default)]
pub(crate) struct Names(Mutex<HashMap<u64, String>>);

impl Names {
    /// The name to ask by; `None` where there is none that can stand in a path.
    pub(crate) fn of(&self, repo: &Repo) -> Option<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.get(&repo.id).unwrap_or(&repo.name);
        is_name(name).then(|| name.clone())
    }

    /// GitHub told that the repository with this number is called so.
    pub(crate) fn learn(&self, id: u64, name: &str) {
        if is_name(name) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, name.to_owned());
        }
    }
}

/// Installations by the number of the repository, where GitHub has told of another one than whoever asks knows.
#[derive(Default)]
pub(crate) struct Homes(Mutex<HashMap<u64, u64>>);

impl Homes {
    /// The installation to ask through.
    pub(crate) fn of(&self, repo: &Repo) -> u64 {
        let homes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        homes.get(&repo.id).copied().unwrap_or(repo.installation)
    }

    /// GitHub told that the repository with this number is reached through this one.
    pub(crate) fn learn(&self, id: u64, installation: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, installation);
    }
}

/// Whether `name` is `owner/name` of GitHub's characters: nothing that leads to another path.
pub(crate) fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 100
            && part != "."
            && part != ".."
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    name.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, is) in [
            ("octo/hello-world", true),
            ("o/.github", true),
            ("o/a_b.c", true),
            ("o", false),
            ("o/", false),
            ("/r", false),
            ("o/r/x", false),
            ("o/..", false),
            ("../r", false),
            ("o/r?x", false),
            ("o/r%2f", false),
            ("o /r", false),
        ] {
            assert_eq!(is_name(name), is, "{name}");
        }
    }
}
