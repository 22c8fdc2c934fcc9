//! The check runs of a commit, as the box above the form shows them.

use std::fmt::Write as _;

use super::icons::{avatar, icon};
use super::{counted, escaped, escaped_path, markdown};
use crate::model::{Check, Kind};
use crate::state::State;

/// The check runs of a commit, oldest first.
fn of<'a>(state: &'a State, repo: u64, sha: &str) -> Vec<&'a Check> {
    state.checks.values().filter(|check| check.repo == repo && check.head_sha == sha).collect()
}

/// What several come to: the picture for all of them.
fn sum(all: &[&Check]) -> &'static str {
    let any = |signs: &[&str]| all.iter().any(|check| signs.contains(&sign(check)));
    if any(&["bad"]) {
        "bad"
    } else if any(&["runs", "waits"]) {
        "runs"
    } else {
        "good"
    }
}

/// The box; empty where nobody has checked the commit. Buttons lead to addresses below `page`.
pub(super) fn checks(state: &State, repo: u64, sha: &str, page: &str) -> String {
    let all = of(state, repo, sha);
    if all.is_empty() {
        return String::new();
    }
    let picture = sum(&all);
    let title = match picture {
        "bad" => "Some checks were not successful",
        "runs" => "Some checks haven’t completed yet",
        _ => "All checks have passed",
    };
    let words = [
        ("bad", "failing"),
        ("runs", "in progress"),
        ("waits", "queued"),
        ("neutral", "neutral"),
        ("good", "successful"),
    ];
    let counts = words.map(|(picture, word)| (all.iter().filter(|check| sign(check) == picture).count(), word));
    let counts: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    format!(
        "<div class=\"checks\"><div class=\"head\">{}<div><h3>{title}</h3><p>{} check{}</p></div></div>{}</div>",
        icon(picture),
        counts.join(", "),
        if all.len() == 1 { "" } else { "s" },
        all.iter().map(|check| row(state, check, page)).collect::<String>()
    )
}

/// The picture of all check runs of a commit, and their rows; `None` where nobody has checked it.
pub(super) fn past(state: &State, repo: u64, sha: &str, page: &str) -> Option<(String, String)> {
    let all = of(state, repo, sha);
    let rows = || all.iter().map(|check| row(state, check, page)).collect();
    (!all.is_empty()).then(|| (icon(sum(&all)), rows()))
}

/// The picture of a check run.
fn sign(check: &Check) -> &'static str {
    match (check.status.as_str(), check.conclusion.as_deref()) {
        ("completed", Some("success")) => "good",
        ("completed", Some("neutral" | "skipped" | "stale")) => "neutral",
        ("completed", Some("action_required")) => "waits",
        ("completed", _) => "bad",
        ("in_progress", _) => "runs",
        _ => "waits",
    }
}

fn row(state: &State, check: &Check, page: &str) -> String {
    let title = check.output.get("title").map(String::as_str);
    let long = match (check.started_ms, check.completed_ms) {
        (Some(from), Some(to)) => format!(" after {}", counted(to.saturating_sub(from).div_ceil(1000), "second")),
        _ => String::new(),
    };
    let word = match check.conclusion.as_deref() {
        Some(word) => format!("{}{long}", escaped(&word.replace('_', " "))),
        None => escaped(&check.status.replace('_', " ")),
    };
    let mut text = format!(
        "<details class=\"check\" id=\"check-{}\"><summary>{}{}<span><b>{}</b> {word}{}</span><em>Details</em></summary>\
         <div class=\"text\">",
        check.id,
        icon(sign(check)),
        avatar(&format!("{}[bot]", check.app.1), Kind::Bot, 20),
        escaped(&check.name),
        title.map(|title| format!(" — {}", escaped(title))).unwrap_or_default()
    );
    if let Some(title) = title {
        let _ = write!(text, "<h2>{}</h2>", escaped(title));
    }
    for part in ["summary", "text"] {
        if let Some(part) = check.output.get(part) {
            text.push_str(&markdown::html(part));
        }
    }
    text.push_str("</div>");
    text.push_str(&buttons(state, check, page));
    text.push_str("</details>");
    text
}

/// The buttons of a check run. They belong to the form for comments, which says who presses them.
fn buttons(state: &State, check: &Check, page: &str) -> String {
    // Only the app that made it would hear of them.
    if check.app.0 != state.app.id {
        return String::new();
    }
    let mut text = String::new();
    let mut button = |to: &str, label: &str, title: &str| {
        let _ = write!(
            text,
            "<button form=\"write\" formnovalidate formaction=\"{page}/checks/{}/{to}\" title=\"{}\">{}</button>",
            check.id,
            escaped(title),
            escaped(label)
        );
    };
    for action in &check.actions {
        button(&format!("actions/{}", escaped_path(&action.identifier)), &action.label, &action.description);
    }
    if check.status == "completed" {
        button("rerequest", "Re-run", "Ask for this check again");
    }
    if text.is_empty() { text } else { format!("<div class=\"buttons\">{text}</div>") }
}
