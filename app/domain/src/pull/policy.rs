//! Who may ask for what, and which commit is meant.

use super::state::Push;
use crate::command::Who;
use crate::ids::CommitSha;
use crate::ports::forge::{Permission, Pull};
use crate::time::Ms;

/// Why somebody may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The right is missing.
    #[error("{needs} is needed for this, and {login} has {has}")]
    Permission {
        /// Who asked.
        login: String,
        /// What is needed.
        needs: &'static str,
        /// What there is.
        has: &'static str,
    },
    /// The head of a fork must be named.
    #[error("the head comes from a fork: name the commit that you have read, in full")]
    NeedsSha {
        /// The head now.
        head: CommitSha,
    },
    /// The named head is not the head.
    #[error("the head is {head} now, not {named}")]
    HeadMoved {
        /// The head now.
        head: CommitSha,
        /// What was named.
        named: String,
    },
    /// The pull request is closed.
    #[error("the pull request is closed")]
    Closed,
}

fn word(permission: Permission) -> &'static str {
    match permission {
        Permission::None => "no right in the repository",
        Permission::Read => "the right to read",
        Permission::Write => "the right to push",
        Permission::Admin => "every right",
    }
}

/// Whether somebody with this permission may do what `who` says. `requester` is whether they asked for what goes on.
///
/// # Errors
/// [`Denied::Permission`].
pub fn may(who: Who, permission: Permission, requester: bool, login: &str) -> Result<(), Denied> {
    let (fine, needs) = match who {
        Who::Anyone => (true, ""),
        Who::Read => (permission >= Permission::Read, "the right to read the repository as a collaborator"),
        Who::Write => (permission >= Permission::Write, "the right to push"),
        Who::RequesterOrWrite => (requester || permission >= Permission::Write, "the right to push"),
    };
    if fine { Ok(()) } else { Err(Denied::Permission { login: login.to_owned(), needs, has: word(permission) }) }
}

/// Whether somebody has at least what the repository wants, where it wants more than everybody needs.
///
/// # Errors
/// [`Denied::Permission`].
pub fn at_least(least: Option<Permission>, permission: Permission, login: &str) -> Result<(), Denied> {
    if least.is_none_or(|least| permission >= least) {
        return Ok(());
    }
    let needs = match least {
        Some(Permission::Admin) => "by .github/zephyr-ab.toml of the repository, every right",
        _ => "by .github/zephyr-ab.toml of the repository, the right to push",
    };
    Err(Denied::Permission { login: login.to_owned(), needs, has: word(permission) })
}

/// The commit that a command means which was written at `written`. For a fork it must be named in full and be the head:
/// whoever pushes there need not be trusted, and a beginning of a commit id can be forged. In the repository itself it
/// is the head now, or the one before the first push that is known to be later than the comment. Where nobody knows when that
/// was written, no push is.
///
/// # Errors
/// Why nothing is measured.
pub fn head_meant(pull: &Pull, named: Option<&str>, pushes: &[Push], written: Option<Ms>) -> Result<CommitSha, Denied> {
    if !pull.open {
        return Err(Denied::Closed);
    }
    let moved = |named: &str| Denied::HeadMoved { head: pull.head.clone(), named: named.to_owned() };
    if pull.is_fork() {
        return match named {
            Some(named) if named.eq_ignore_ascii_case(pull.head.as_str()) => Ok(pull.head.clone()),
            Some(named) if named.len() == pull.head.as_str().len() => Err(moved(named)),
            _ => Err(Denied::NeedsSha { head: pull.head.clone() }),
        };
    }
    let later =
        pushes.iter().filter(|push| written.is_some_and(|written| push.at > written)).min_by_key(|push| push.at);
    let head = later.map_or(&pull.head, |push| &push.before);
    match named {
        Some(named) if !head.as_str().starts_with(&named.to_ascii_lowercase()) => Err(moved(named)),
        _ => Ok(head.clone()),
    }
}
