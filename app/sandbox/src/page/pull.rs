//! The page of a pull request or an issue.

use std::fmt::Write as _;

use super::checks::checks;
use super::frame::framed;
use super::timeline::timeline;
use super::{badge, counted, escaped};
use crate::demo;
use crate::model::{Issue, Kind, Pull, Repository};
use crate::state::State;

/// The page.
pub(super) fn page(state: &State, repo: &Repository, issue: &Issue) -> String {
    let name = escaped(&repo.full_name());
    let kind = if issue.pull.is_some() { "pull" } else { "issues" };
    let here = format!("/{name}/{kind}/{}", issue.number);
    let mut text = format!(
        "<div class=\"top\"><div><a href=\"/\">Sandbox</a> / <a href=\"/{name}\"><b>{name}</b></a>\
         <small>not GitHub: a small one on this machine</small></div></div>\n<main>"
    );
    let _ = write!(text, "<h1>{} <span>#{}</span></h1>", escaped(&issue.title), issue.number);
    let _ = writeln!(text, "<div class=\"live\" id=\"head\">{}</div>", head(state, repo, issue));
    let _ = writeln!(text, "<div class=\"live timeline\" id=\"timeline\">{}</div>", timeline(state, repo, issue));
    let checked = issue.pull.as_ref().map(|pull| checks(state, repo.id, &pull.head_sha, &here)).unwrap_or_default();
    let _ =
        writeln!(text, "<div class=\"live\" id=\"checks\">{checked}</div>\n{}</main>", form(state, repo, issue, &here));
    framed(&format!("{} · {kind} #{} · {}", issue.title, issue.number, repo.full_name()), &text)
}

fn head(state: &State, repo: &Repository, issue: &Issue) -> String {
    let author = escaped(&issue.author);
    let Some(pull) = &issue.pull else {
        return format!("<p class=\"meta\">{} <b>{author}</b> opened this issue</p>", badge(issue));
    };
    let between = state.between(&repo.folder, &pull.base_sha, &pull.head_sha);
    let comments = state.comments.values().filter(|c| c.repo == repo.id && c.number == issue.number).count();
    let checks = state.checks.values().filter(|check| check.repo == repo.id && check.head_sha == pull.head_sha).count();
    let commits = counted(between.commits, "commit");
    let (who, does) = match &pull.merged {
        Some((by, _)) => (escaped(by), "merged"),
        None => (author, "wants to merge"),
    };
    format!(
        "<p class=\"meta\">{} <b>{who}</b> {does} {commits} into <code>{}</code> from <code>{}</code></p>\
         <div class=\"tabs\"><span class=\"here\">Conversation <i>{comments}</i></span><span>Commits <i>{}</i></span>\
         <span>Checks <i>{checks}</i></span><span>Files changed <i>{}</i></span>\
         <span class=\"size\"><span class=\"plus\">+{}</span> <span class=\"minus\">−{}</span></span></div>",
        badge(issue),
        escaped(&pull.base_ref),
        escaped(&branch(repo, pull)),
        between.commits,
        between.files,
        between.additions,
        between.deletions
    )
}

/// The branch, with its owner where it is in a fork.
pub(super) fn branch(repo: &Repository, pull: &Pull) -> String {
    match pull.head_repo {
        Some(id) if id == repo.id => pull.head_ref.clone(),
        _ => format!("{}:{}", pull.head_owner, pull.head_ref),
    }
}

/// The form to write a comment with. Every other button of the page belongs to it as well: it says who acts.
fn form(state: &State, repo: &Repository, issue: &Issue, here: &str) -> String {
    let mut people: Vec<(&str, String)> = state
        .users
        .values()
        .filter(|user| user.kind == Kind::User)
        .map(|user| (user.login.as_str(), State::role(repo, &user.login)))
        .collect();
    // Those who may do most come first.
    people.sort_by_key(|(_, role)| {
        ["admin", "write", "read", "none"].iter().position(|word| *word == State::permission(role))
    });
    let mut options = String::new();
    for (login, role) in &people {
        let _ = write!(options, "<option value=\"{0}\">{0} ({1})</option>", escaped(login), escaped(role));
    }
    let button = |to: &str, label: &str| format!("<button formnovalidate formaction=\"{here}/{to}\">{label}</button>");
    let mut more = String::new();
    if demo::can_change(repo, issue) {
        more.push_str(&button("push", "Push a change"));
    }
    if issue.pull.as_ref().is_none_or(|pull| pull.merged.is_none()) {
        let to = if issue.open { "close" } else { "reopen" };
        let what = if issue.pull.is_some() { "pull request" } else { "issue" };
        more.push_str(&button(to, &if issue.open { format!("Close {what}") } else { format!("Reopen {what}") }));
    }
    let hint = if repo.full_name() == demo::REPOSITORY { demo::HINT } else { "" };
    format!(
        "<form class=\"write\" id=\"write\" method=\"post\" action=\"{here}/comments\"><div class=\"by\">\
         <b>Add a comment</b><label class=\"right\">as <select name=\"by\">{options}</select></label></div>\
         <textarea name=\"body\" required maxlength=\"65536\" aria-label=\"Comment\" placeholder=\"Add your comment here...\"></textarea>{hint}\
         <div class=\"buttons\"><span id=\"said\"></span>{more}<button class=\"primary\">Comment</button></div></form>\n"
    )
}
