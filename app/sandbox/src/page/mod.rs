//! Pages for a browser.

mod markdown;

use std::fmt::Write as _;

use crate::model::{Comment, Issue, Repository, Subject};
use crate::stamp::written;
use crate::state::State;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1f2328}
a{color:#0969da;text-decoration:none}h1{font-weight:400}h1 small{color:#59636e}
.comment,.check{border:1px solid #d1d9e0;border-radius:6px;margin:1rem 0}
.by{background:#f6f8fa;border-bottom:1px solid #d1d9e0;padding:.4rem 1rem;color:#59636e}.by b{color:#1f2328}
.text{padding:.3rem 1rem;overflow-x:auto}.reactions{padding:0 1rem .6rem}
.reactions span,.tag{border:1px solid #d1d9e0;border-radius:1em;padding:0 .6em;margin-right:.4em}
table{border-collapse:collapse}td,th{border:1px solid #d1d9e0;padding:.3rem .8rem}
pre{background:#f6f8fa;padding:1rem;overflow-x:auto;border-radius:6px}code{font-size:85%;background:#818b981f;padding:.1em .3em}
pre code{background:none;padding:0}";

/// The page of a path; `None` where there is none.
pub(crate) fn answer(state: &State, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        [""] => Some(start(state)),
        [owner, name] => Some(list(repo(state, owner, name)?)),
        [owner, name, "pull" | "issues", number] => {
            let repo = repo(state, owner, name)?;
            Some(issue(state, repo, repo.issues.get(&number.parse().ok()?)?))
        }
        _ => None,
    }
}

fn repo<'a>(state: &'a State, owner: &str, name: &str) -> Option<&'a Repository> {
    state.named(&format!("{owner}/{name}")).ok().and_then(|id| state.repos.get(&id))
}

/// A page with this title.
fn framed(title: &str, inner: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body>{inner}</body></html>\n"
    )
}

fn start(state: &State) -> String {
    let mut inner = String::from("<h1>Repositories</h1><ul>");
    for repo in state.repos.values() {
        let name = escaped(&repo.full_name());
        let _ = write!(inner, "<li><a href=\"/{name}\">{name}</a></li>");
    }
    inner.push_str("</ul>");
    for repo in state.repos.values() {
        inner.push_str(&pulls(repo));
    }
    inner.push_str("<p>Play a person with curl: <code>POST /_sandbox/comment</code>; see <code>/_sandbox/</code>.</p>");
    framed("Sandbox", &inner)
}

fn list(repo: &Repository) -> String {
    framed(&repo.full_name(), &format!("<h1>{}</h1>{}", escaped(&repo.full_name()), pulls(repo)))
}

fn pulls(repo: &Repository) -> String {
    if repo.issues.is_empty() {
        return String::new();
    }
    let name = escaped(&repo.full_name());
    let mut text = format!("<h2>{name}</h2><ul>");
    for issue in repo.issues.values().rev() {
        let kind = if issue.pull.is_some() { "pull" } else { "issues" };
        let _ = write!(
            text,
            "<li><span class=\"tag\">{}</span> <a href=\"/{name}/{kind}/{}\">{}</a> #{} by {}</li>",
            state_word(issue),
            issue.number,
            escaped(&issue.title),
            issue.number,
            escaped(&issue.author)
        );
    }
    text.push_str("</ul>");
    text
}

fn state_word(issue: &Issue) -> &'static str {
    match &issue.pull {
        Some(pull) if pull.merged.is_some() => "merged",
        Some(pull) if pull.draft && issue.open => "draft",
        _ if issue.open => "open",
        _ => "closed",
    }
}

fn issue(state: &State, repo: &Repository, issue: &Issue) -> String {
    let name = escaped(&repo.full_name());
    let mut text = format!("<p><a href=\"/\">all</a> / <a href=\"/{name}\">{name}</a></p>");
    let _ = write!(text, "<h1>{} <small>#{}</small></h1>", escaped(&issue.title), issue.number);
    let _ = write!(text, "<p><span class=\"tag\">{}</span> {}", state_word(issue), escaped(&issue.author));
    if let Some(pull) = &issue.pull {
        let _ = write!(
            text,
            " wants to merge <code>{}:{}</code> at <code>{}</code> into <code>{}</code>",
            escaped(&pull.head_owner),
            escaped(&pull.head_ref),
            pull.head_sha.get(..10).unwrap_or_default(),
            escaped(&pull.base_ref)
        );
    }
    text.push_str("</p>");
    if !issue.body.is_empty() {
        let _ = write!(text, "<div class=\"text\">{}</div>", markdown::html(&issue.body));
    }
    for found in state.comments.values().filter(|c| c.repo == repo.id && c.number == issue.number) {
        text.push_str(&comment(state, found));
    }
    if let Some(pull) = &issue.pull {
        text.push_str(&checks(state, repo.id, &pull.head_sha));
    }
    framed(&format!("{} #{}", issue.title, issue.number), &text)
}

fn comment(state: &State, comment: &Comment) -> String {
    let author = comment.author.as_deref().unwrap_or("ghost");
    let edited = if comment.updated_ms > comment.created_ms { ", edited" } else { "" };
    let mut text = format!(
        "<div class=\"comment\" id=\"issuecomment-{}\"><div class=\"by\"><b>{}</b> {}{edited}</div>",
        comment.id,
        escaped(author),
        written(comment.created_ms)
    );
    let body = format!("<div class=\"text\">{}</div>", markdown::html(&comment.body));
    match &comment.minimized {
        Some(why) => {
            let _ = write!(text, "<details><summary>hidden as {}</summary>{body}</details>", escaped(why));
        }
        None => text.push_str(&body),
    }
    let mut signs = String::new();
    for reaction in state.reactions.values().filter(|reaction| reaction.subject == Subject::Comment(comment.id)) {
        let sign = match reaction.content.as_str() {
            "+1" => "\u{1f44d}",
            "-1" => "\u{1f44e}",
            "laugh" => "\u{1f604}",
            "confused" => "\u{1f615}",
            "heart" => "\u{2764}\u{fe0f}",
            "hooray" => "\u{1f389}",
            "rocket" => "\u{1f680}",
            "eyes" => "\u{1f440}",
            _ => "?",
        };
        let _ = write!(signs, "<span title=\"{}\">{sign}</span>", escaped(&reaction.user));
    }
    if !signs.is_empty() {
        let _ = write!(text, "<div class=\"reactions\">{signs}</div>");
    }
    text.push_str("</div>");
    text
}

fn checks(state: &State, repo: u64, sha: &str) -> String {
    let mut text = String::new();
    for check in state.checks.values().filter(|check| check.repo == repo && check.head_sha == sha) {
        let _ = write!(
            text,
            "<div class=\"check\"><div class=\"by\"><b>{}</b> {} (check run {})</div><div class=\"text\">",
            escaped(&check.name),
            escaped(check.conclusion.as_deref().unwrap_or(&check.status)),
            check.id
        );
        if let Some(title) = check.output.get("title") {
            let _ = write!(text, "<p><b>{}</b></p>", escaped(title));
        }
        for part in ["summary", "text"] {
            if let Some(part) = check.output.get(part) {
                text.push_str(&markdown::html(part));
            }
        }
        for action in &check.actions {
            let _ = write!(
                text,
                "<span class=\"tag\" title=\"{}\">{}</span>",
                escaped(&action.identifier),
                escaped(&action.label)
            );
        }
        text.push_str("</div></div>");
    }
    if text.is_empty() { text } else { format!("<h2>Checks</h2>{text}") }
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
