//! What the forms of a page do.

use crate::api::call::{decoded, pairs};
use crate::model::Kind;
use crate::serve::Asked;
use crate::state::State;
use crate::{Error, demo};

/// The longest comment, characters, as at GitHub.
const LONGEST: usize = 65_536;

/// Why a form was not carried out: a status, and a sentence for a person.
pub(crate) type Refused = (u16, String);

/// Carries out a form of a page, and says where to go on. `None` for a path that belongs to no form.
pub(crate) fn posted(state: &mut State, asked: &Asked) -> Option<Result<String, Refused>> {
    let parts: Vec<&str> = asked.path.trim_matches('/').split('/').collect();
    let [owner, name, "pull" | "issues", number, act @ ..] = parts.as_slice() else { return None };
    if act.is_empty() {
        return None;
    }
    Some(carried_out(state, asked, &format!("{owner}/{name}"), number, act))
}

fn carried_out(state: &mut State, asked: &Asked, repo: &str, number: &str, act: &[&str]) -> Result<String, Refused> {
    if !is_of_our_pages(asked) {
        return Err((403, "only a page of this server may send this; programs use /_sandbox/".to_owned()));
    }
    let unknown = || (404, "there is no such page".to_owned());
    let text = std::str::from_utf8(&asked.body).map_err(|_| (400, "the form is not text".to_owned()))?;
    let form = pairs(text);
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
    let by = field("by");
    if state.users.get(by).is_none_or(|user| user.kind != Kind::User) {
        return Err((422, format!("there is nobody called {by:?}")));
    }
    let refused = |error: Error| (422, error.to_string());
    let repo = state.named(repo).map_err(refused)?;
    let number: u64 = number.parse().map_err(|_| unknown())?;
    let issue = state.issue(repo, number).map_err(refused)?;
    let (locked, author) = (issue.locked, issue.author == by);
    let writes = |state: &State, repo: u64| {
        state.repo(repo).is_ok_and(|repo| matches!(State::permission(&State::role(repo, by)), "write" | "admin"))
    };
    let may_write = writes(state, repo);
    let only = |may: bool, who: &str| {
        if may { Ok(()) } else { Err((403, format!("{by} may not do this: at GitHub only {who} see this button"))) }
    };
    let mut mark = String::new();
    match act {
        ["comments"] => {
            let body = field("body").replace("\r\n", "\n");
            if body.trim().is_empty() || body.chars().count() > LONGEST {
                return Err((422, format!("a comment has from 1 to {LONGEST} characters")));
            }
            if locked && !may_write {
                return Err((403, "the conversation is locked".to_owned()));
            }
            let id = state.write_comment(repo, number, by, &body, false).map_err(refused)?;
            mark = format!("#issuecomment-{id}");
        }
        ["close" | "reopen"] => {
            only(may_write || author, "its author and people who may write")?;
            state.set_open(repo, number, act[0] == "reopen", by).map_err(refused)?;
        }
        ["push"] => {
            let head = state.pull(repo, number).map_err(refused)?.1.head_repo;
            only(head.is_some_and(|head| writes(state, head)), "people who may write to the branch")?;
            demo::push_change(state, repo, number, by).map_err(refused)?;
        }
        ["checks", check, rest @ ..] => {
            only(may_write, "people who may write")?;
            let check: u64 = check.parse().map_err(|_| unknown())?;
            if state.checks.get(&check).is_none_or(|check| check.repo != repo) {
                return Err(unknown());
            }
            match rest {
                ["rerequest"] => state.rerequest(check, by).map_err(refused)?,
                ["actions", identifier] => state.press(check, &decoded(identifier, false), by).map_err(refused)?,
                _ => return Err(unknown()),
            }
        }
        _ => return Err(unknown()),
    }
    // Where the page is, whatever name of this host the browser knows.
    let page: Vec<&str> = asked.path.trim_matches('/').split('/').take(4).collect();
    Ok(format!("/{}{mark}", page.join("/")))
}

/// Whether a page of this server sent it: a browser says where a form comes from, and does not let a page of somebody
/// else say otherwise. The name of this host has to be one that nobody else can give it.
fn is_of_our_pages(asked: &Asked) -> bool {
    let Some(host) = asked.header("host") else { return false };
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    if !matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
        return false;
    }
    match (asked.header("origin"), asked.header("sec-fetch-site")) {
        (Some(origin), site) => origin == format!("http://{host}") && site.is_none_or(|site| site == "same-origin"),
        (None, site) => site == Some("same-origin"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    #[test]
    fn who_may_send_a_form() {
        let here = "127.0.0.1:4000";
        for (host, origin, site, expected) in [
            (Some(here), Some("http://127.0.0.1:4000"), Some("same-origin"), true),
            (Some(here), Some("http://127.0.0.1:4000"), None, true),
            (Some(here), None, Some("same-origin"), true),
            (Some("localhost:4000"), Some("http://localhost:4000"), None, true),
            (Some("[::1]:4000"), Some("http://[::1]:4000"), None, true),
            (Some(here), None, None, false),
            (None, Some("http://127.0.0.1:4000"), None, false),
            (Some(here), Some("null"), None, false),
            (Some(here), Some("http://evil.example"), None, false),
            (Some(here), Some("http://127.0.0.1:4001"), Some("same-site"), false),
            (Some(here), Some("http://127.0.0.1:4000"), Some("cross-site"), false),
            (Some(here), Some("https://127.0.0.1:4000"), None, false),
            (Some(here), None, Some("none"), false),
            // A name of somebody else that leads here.
            (Some("evil.example:4000"), Some("http://evil.example:4000"), Some("same-origin"), false),
            (Some("127.0.0.1.evil.example"), Some("http://127.0.0.1.evil.example"), Some("same-origin"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("host", host), ("origin", origin), ("sec-fetch-site", site)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            let (path, query, method) = (String::new(), String::new(), "POST".to_owned());
            let asked = Asked { method, path, query, headers, body: axum::body::Bytes::new() };
            assert_eq!(is_of_our_pages(&asked), expected, "{host:?} {origin:?} {site:?}");
        }
    }
}
