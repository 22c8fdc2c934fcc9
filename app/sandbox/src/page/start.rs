//! The lists of repositories and pull requests.

use std::fmt::Write as _;

use super::frame::framed;
use super::pull::branch;
use super::{badge, escaped, time};
use crate::model::Repository;
use crate::state::State;

/// All repositories with their pull requests.
pub(super) fn all(state: &State) -> String {
    let mut inner =
        String::from("<div class=\"top\"><div><b>Sandbox</b></div></div><main><div class=\"live\" id=\"lists\">");
    for repo in state.repos.values() {
        inner.push_str(&pulls(repo));
    }
    inner.push_str(
        "</div><p class=\"none\">A small GitHub on this machine that forgets everything when it ends. Faults, pushes of your \
         own and the rest with curl: see <code>/_sandbox/</code>.</p></main>",
    );
    framed("Sandbox", &inner)
}

/// The pull requests of a repository.
pub(super) fn one(repo: &Repository) -> String {
    let name = escaped(&repo.full_name());
    let inner = format!(
        "<div class=\"top\"><div><a href=\"/\">Sandbox</a> / <b>{name}</b></div></div>\
         <main><div class=\"live\" id=\"lists\">{}</div></main>",
        pulls(repo)
    );
    framed(&repo.full_name(), &inner)
}

fn pulls(repo: &Repository) -> String {
    let name = escaped(&repo.full_name());
    let mut text = format!("<h2><a href=\"/{name}\">{name}</a></h2>");
    if repo.parent.is_some() {
        text.push_str("<p class=\"none\">A fork; its pull requests are at what it was forked from.</p>");
        return text;
    }
    text.push_str("<ul class=\"list\">");
    for issue in repo.issues.values() {
        let kind = if issue.pull.is_some() { "pull" } else { "issues" };
        let _ = write!(
            text,
            "<li>{} <a href=\"/{name}/{kind}/{}\"><b>{}</b></a><small>#{} opened {} by {}{}</small></li>",
            badge(issue),
            issue.number,
            escaped(&issue.title),
            issue.number,
            time(issue.created_ms),
            escaped(&issue.author),
            issue
                .pull
                .as_ref()
                .map(|pull| format!(" · <code>{}</code>", escaped(&branch(repo, pull))))
                .unwrap_or_default()
        );
    }
    text.push_str("</ul>");
    text
}
