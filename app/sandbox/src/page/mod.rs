//! Pages for a browser, as GitHub shows them, and the forms on them.
//!
//! - `start`: the lists of repositories and pull requests
//! - `pull`: the page of a pull request or an issue: its head, and the form to write a comment
//! - `timeline`: the conversation: comments, commits, pushes
//! - `checks`: the check runs of the head, with their buttons
//! - [`posted`]: what a form does, for pages of this server only
//! - `markdown`, `icons`, `frame`: texts that people wrote, small pictures, and what is around every page

mod checks;
mod frame;
mod icons;
mod markdown;
mod posted;
mod pull;
mod start;
mod timeline;

use std::fmt::Write as _;

use crate::model::{Issue, Kind, Repository};
use crate::stamp::written;
use crate::state::State;

pub(crate) use frame::policy;
pub(crate) use posted::posted;

/// The page of a path; `None` where there is none.
pub(crate) fn answer(state: &State, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        [""] => Some(start::all(state)),
        [owner, name] => Some(start::one(repo(state, owner, name)?)),
        [owner, name, "pull" | "issues", number] => {
            let repo = repo(state, owner, name)?;
            Some(pull::page(state, repo, repo.issues.get(&number.parse().ok()?)?))
        }
        _ => None,
    }
}

fn repo<'a>(state: &'a State, owner: &str, name: &str) -> Option<&'a Repository> {
    state.named(&format!("{owner}/{name}")).ok().and_then(|id| state.repos.get(&id))
}

fn state_word(issue: &Issue) -> &'static str {
    match &issue.pull {
        Some(pull) if pull.merged.is_some() => "merged",
        Some(pull) if pull.draft && issue.open => "draft",
        _ if issue.open => "open",
        _ => "closed",
    }
}

/// `Open` in its colour.
fn badge(issue: &Issue) -> String {
    let word = state_word(issue);
    let picture = icons::icon(if word == "merged" { word } else { "pull" });
    let (first, rest) = word.split_at(1);
    format!("<span class=\"state {word}\">{picture}{}{rest}</span>", first.to_uppercase())
}

/// What an account is; a person where it is gone.
fn kind(state: &State, login: &str) -> Kind {
    state.users.get(login).map_or(Kind::User, |user| user.kind)
}

/// A time that the script writes as an age.
fn time(ms: u64) -> String {
    let at = written(ms);
    format!("<time datetime=\"{at}\" title=\"{at}\">{} UTC</time>", at.replace('T', " ").trim_end_matches('Z'))
}

/// `1 commit`, `2 commits`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The first figures of a commit.
fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

/// A text in a page.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// A path in an address: everything but `/` and plain characters is encoded.
pub(crate) fn escaped_path(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
