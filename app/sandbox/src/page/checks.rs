//! The check runs of a commit, as the box above the form shows them.

use std::fmt::Write as _;

use super::icons::{avatar, icon};
use super::{counted, escaped, escaped_path, markdown};
use crate::model::{Check, Kind};
use crate::state::State;

/// The box; empty where nobody has checked the commit. Buttons lead to addresses below `page`.
pub(super) fn checks(state: &State, repo: u64, sha: &str, page: &str) -> String {
    let all: Vec<&Check> = state.checks.values().filter(|check| check.repo == repo && check.head_sha == sha).collect();
    if all.is_empty() {
        return String::new();
    }
    let of = |sign: &str| all.iter().filter(|check| self::sign(check) == sign).count() as u64;
    let open = of("runs") + of("waits");
    let (picture, title) = match (open, of("bad")) {
        (_, 1..) => ("bad", "Some checks were not successful"),
        (1.., _) => ("runs", "Some checks haven’t completed yet"),
        _ => ("good", "All checks have passed"),
    };
    let mut counts: Vec<String> = Vec::new();
    for (sign, word) in [
        ("bad", "failing"),
        ("runs", "in progress"),
        ("waits", "queued"),
        ("neutral", "neutral"),
        ("good", "successful"),
    ] {
        if of(sign) > 0 {
            counts.push(format!("{} {word}", of(sign)));
        }
    }
    let last = if all.len() == 1 { "check" } else { "checks" };
    let mut text = format!(
        "<div class=\"checks\"><div class=\"head\">{}<div><h3>{title}</h3><p>{} {last}</p></div></div>",
        icon(picture),
        counts.join(", ")
    );
    for check in all {
        text.push_str(&row(state, check, page));
    }
    text.push_str("</div>");
    text
}

/// The picture of a check run.
fn sign(check: &Check) -> &'static str {
    match (check.status.as_str(), check.conclusion.as_deref()) {
        ("completed", Some("success")) => "good",
        ("completed", Some("neutral" | "skipped" | "stale")) => "neutral",
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
        avatar(&check.app.1, Kind::Bot, 20),
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
