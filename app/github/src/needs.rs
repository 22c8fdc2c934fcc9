//! What the app asks for. One table: the manifest of the app, its tokens and whoever checks an app read the same lines.

use serde_json::{Map, Value};

/// Something that the app has to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// Its name at GitHub.
    pub name: &'static str,
    /// `read` or `write`.
    pub level: &'static str,
    /// What is done with it.
    pub why: &'static str,
}

/// An event that the app has to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name at GitHub.
    pub name: &'static str,
    /// What it leads to.
    pub why: &'static str,
}

/// What the app has to be allowed, and nothing more.
pub const PERMISSIONS: [Permission; 6] = [
    Permission { name: "checks", level: "write", why: "the check of a run" },
    Permission { name: "contents", level: "read", why: "git fetches the commits that are compared" },
    Permission { name: "issues", level: "write", why: "comments and reactions on pull requests" },
    Permission { name: "metadata", level: "read", why: "who may do what in a repository, and what it is called" },
    Permission { name: "pull_requests", level: "read", why: "head, base and state of a pull request" },
    Permission { name: "statuses", level: "read", why: "checks of others that a suite requires" },
];

/// The permissions of them that a token for the API has; the others are for tokens of their own.
const OF_THE_API: [&str; 5] = ["checks", "contents", "issues", "metadata", "pull_requests"];

/// What the app has to be told of. Its installations and their repositories are told to every app without being asked for.
pub const EVENTS: [Event; 4] = [
    Event { name: "check_run", why: "somebody presses a button of a check" },
    Event { name: "issue_comment", why: "somebody writes a command" },
    Event { name: "pull_request", why: "a pull request is pushed to, closed or gets another base" },
    Event { name: "repository", why: "a repository is renamed or moves" },
];

/// The permissions as GitHub wants them: `{"issues": "write", ...}`.
#[must_use]
pub fn permissions() -> Map<String, Value> {
    PERMISSIONS.iter().map(|one| (one.name.to_owned(), one.level.into())).collect()
}

/// What a token for the API is asked for.
pub(crate) fn of_the_api() -> Map<String, Value> {
    permissions().into_iter().filter(|(name, _)| OF_THE_API.contains(&name.as_str())).collect()
}

/// Whether `granted` is as much as `level`.
#[must_use]
pub fn suffices(granted: Option<&str>, level: &str) -> bool {
    granted.is_some_and(|granted| rank(granted) >= rank(level))
}

fn rank(level: &str) -> u8 {
    match level {
        "read" => 1,
        "write" => 2,
        "admin" => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        for (granted, level, expected) in [
            (None, "read", false),
            (Some("read"), "read", true),
            (Some("read"), "write", false),
            (Some("write"), "read", true),
            (Some("none"), "read", false),
        ] {
            assert_eq!(suffices(granted, level), expected, "{granted:?} {level}");
        }
    }

    #[test]
    fn names_stand_there_once_and_in_order() {
        assert!(PERMISSIONS.windows(2).all(|two| two[0].name < two[1].name));
        assert!(EVENTS.windows(2).all(|two| two[0].name < two[1].name));
        assert_eq!(permissions().len(), PERMISSIONS.len());
        assert_eq!(of_the_api().len(), OF_THE_API.len());
    }
}
