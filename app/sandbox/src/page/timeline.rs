//! The conversation of a pull request: comments, and what happened between them.

use std::fmt::Write as _;

use super::checks::past;
use super::icons::{avatar, icon};
use super::{counted, escaped, kind, markdown, short, time};
use crate::git::Commit;
use crate::model::{Comment, Event, Issue, Repository, Subject, What};
use crate::state::State;

/// Everything in the order in which it happened.
pub(super) fn timeline(state: &State, repo: &Repository, issue: &Issue) -> String {
    let opening = Shown {
        id: format!("issue-{}", issue.number),
        author: Some(&issue.author),
        via_app: false,
        created_ms: issue.created_ms,
        edited: false,
        minimized: None,
        body: &issue.body,
        subject: Subject::Issue(repo.id, issue.number),
    };
    let mut items: Vec<(u64, String)> = Vec::new();
    for event in state.events.iter().filter(|event| event.repo == repo.id && event.number == issue.number) {
        items.push((event.at_ms, happened(state, repo, issue, event)));
    }
    for found in state.comments.values().filter(|c| c.repo == repo.id && c.number == issue.number) {
        items.push((found.created_ms, comment(state, repo, issue, &Shown::of(found))));
    }
    // What happened at the same time stays in its order: events first, as they lead to comments.
    items.sort_by_key(|(at, _)| *at);
    comment(state, repo, issue, &opening) + &items.into_iter().map(|(_, text)| text).collect::<String>()
}

/// A box with a text that somebody wrote.
struct Shown<'a> {
    id: String,
    author: Option<&'a str>,
    via_app: bool,
    created_ms: u64,
    edited: bool,
    minimized: Option<&'a str>,
    body: &'a str,
    subject: Subject,
}

impl<'a> Shown<'a> {
    fn of(comment: &'a Comment) -> Self {
        Self {
            id: format!("issuecomment-{}", comment.id),
            author: comment.author.as_deref(),
            via_app: comment.via_app,
            created_ms: comment.created_ms,
            edited: comment.updated_ms > comment.created_ms,
            minimized: comment.minimized.as_deref(),
            body: &comment.body,
            subject: Subject::Comment(comment.id),
        }
    }
}

fn comment(state: &State, repo: &Repository, issue: &Issue, shown: &Shown<'_>) -> String {
    let author = shown.author.unwrap_or("ghost");
    let name = author.trim_end_matches("[bot]");
    let mut tags = String::new();
    let mut tag = |word: &str| {
        let _ = write!(tags, "<span class=\"tag\">{word}</span>");
    };
    if shown.author.is_some() && !shown.via_app {
        match State::association(repo, author) {
            "OWNER" => tag("Owner"),
            "COLLABORATOR" => tag("Collaborator"),
            _ => {}
        }
        if author == issue.author {
            tag("Author");
        }
    }
    let bot = if shown.via_app { " <span class=\"tag\">bot</span>" } else { "" };
    let edited = if shown.edited { " · edited" } else { "" };
    let head = format!(
        "<b>{}</b>{bot} <a href=\"#{1}\">commented {2}</a>{edited}<span class=\"right\">{tags}</span>",
        escaped(name),
        shown.id,
        time(shown.created_ms)
    );
    let body = if shown.body.trim().is_empty() {
        "<p class=\"none\">No description provided.</p>".to_owned()
    } else {
        markdown::html(shown.body)
    };
    let inner =
        format!("<div class=\"by\">{head}</div><div class=\"text\">{body}</div>{}", reactions(state, shown.subject));
    let inner = match shown.minimized {
        Some(why) => format!(
            "<details class=\"fold\"><summary><b>{}</b>: this comment was marked as {}.</summary>{inner}</details>",
            escaped(name),
            escaped(&why.to_lowercase())
        ),
        None => inner,
    };
    let picture = avatar(author, kind(state, author), 40);
    format!("<div class=\"item\">{picture}<div class=\"comment\" id=\"{}\">{inner}</div></div>", shown.id)
}

fn reactions(state: &State, subject: Subject) -> String {
    let mut signs: Vec<(&str, Vec<String>)> = Vec::new();
    for reaction in state.reactions.values().filter(|reaction| reaction.subject == subject) {
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
        let who = escaped(&reaction.user);
        match signs.iter_mut().find(|(known, _)| *known == sign) {
            Some((_, people)) => people.push(who),
            None => signs.push((sign, vec![who])),
        }
    }
    if signs.is_empty() {
        return String::new();
    }
    let shown =
        |(sign, who): &(&str, Vec<String>)| format!("<span title=\"{}\">{sign} {}</span>", who.join(", "), who.len());
    format!("<div class=\"reactions\">{}</div>", signs.iter().map(shown).collect::<String>())
}

fn happened(state: &State, repo: &Repository, issue: &Issue, event: &Event) -> String {
    let branch = issue.pull.as_ref().map_or("", |pull| pull.head_ref.as_str());
    let code = |text: &str| format!("<code>{}</code>", escaped(text));
    let (dot, picture, said, commits) = match &event.what {
        What::Opened(head) => {
            let base = issue.pull.as_ref().map_or("", |pull| pull.base_sha.as_str());
            let brought = state.pushed_between(&repo.folder, base, head);
            ("", "push", format!("added {}", counted(brought.commits.len() as u64, "commit")), brought.commits)
        }
        What::Pushed(before, after) => {
            let brought = state.pushed_between(&repo.folder, before, after);
            if brought.forward {
                ("", "push", format!("added {}", counted(brought.commits.len() as u64, "commit")), brought.commits)
            } else {
                let moved = format!("{} branch from {} to {}", code(branch), code(short(before)), code(short(after)));
                ("", "push", format!("force-pushed the {moved}"), Vec::new())
            }
        }
        What::Closed => ("closed", "pull", "closed this".to_owned(), Vec::new()),
        What::Merged(sha) => {
            let base = issue.pull.as_ref().map_or("", |pull| pull.base_ref.as_str());
            ("merged", "merged", format!("merged commit {} into {}", code(short(sha)), code(base)), Vec::new())
        }
        What::Reopened => ("", "pull", "reopened this".to_owned(), Vec::new()),
        What::Retargeted(from, to) => {
            ("", "edit", format!("changed the base branch from {} to {}", code(from), code(to)), Vec::new())
        }
        What::Drafted => ("", "pull", "marked this pull request as a draft".to_owned(), Vec::new()),
        What::Ready => ("", "pull", "marked this pull request as ready for review".to_owned(), Vec::new()),
    };
    let mut text = format!(
        "<div class=\"event\"><span class=\"dot {dot}\">{}</span><div>{} <b>{}</b> {said} {}",
        icon(picture),
        avatar(&event.by, kind(state, &event.by), 20),
        escaped(&event.by),
        time(event.at_ms)
    );
    for made in &commits {
        text.push_str(&commit(state, repo, issue, made));
    }
    text.push_str("</div></div>");
    text
}

/// A commit, with what was checked of it. What was checked of the newest one stands in a box of its own.
fn commit(state: &State, repo: &Repository, issue: &Issue, commit: &Commit) -> String {
    let here = format!("/{}/pull/{}", escaped(&repo.full_name()), issue.number);
    let newest = issue.pull.as_ref().is_some_and(|pull| pull.head_sha == commit.sha);
    let checked = past(state, repo.id, &commit.sha, &here);
    let row = format!(
        "{}<span>{}</span>{}<code class=\"sha\">{}</code>",
        icon("commit"),
        escaped(commit.message.lines().next().unwrap_or_default()),
        checked.as_ref().map_or("", |(picture, _)| picture),
        escaped(short(&commit.sha))
    );
    match checked.filter(|_| !newest) {
        Some((_, rows)) => format!(
            "<details class=\"past\" id=\"commit-{}\"><summary class=\"made\">{row}</summary>{rows}</details>",
            escaped(short(&commit.sha))
        ),
        None => format!("<div class=\"made\">{row}</div>"),
    }
}
