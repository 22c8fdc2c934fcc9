//! What the app says on the pull requests, line by line.

use std::collections::BTreeMap;

use sandbox::Sandbox;
use sandbox::demo::REPOSITORY;

/// What stands alone on a line of a comment, before its verdict.
const VERDICT: &str = "Verdict: ";
/// The verdict of a run that goes on.
const NONE_YET: &str = "none yet";
/// The verdict of a run that ended without one.
const NONE: &str = "none";

/// Something that the app has said anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// The pull request.
    pub(super) number: u64,
    /// The heading of the comment.
    pub(super) heading: String,
    /// Whether the run of the comment has a verdict; `None` while it goes on, and for other comments.
    pub(super) decided: Option<bool>,
}

/// Knows what was said already.
#[derive(Debug, Default)]
pub(super) struct Follower {
    said: BTreeMap<u64, String>,
}

impl Follower {
    /// Waits until a heading is a new one.
    pub(super) async fn next(&mut self, sandbox: &Sandbox, numbers: &[u64]) -> Vec<News> {
        sandbox
            .until(|sandbox| {
                let news = self.look(sandbox, numbers);
                (!news.is_empty()).then_some(news)
            })
            .await
    }

    fn look(&mut self, sandbox: &Sandbox, numbers: &[u64]) -> Vec<News> {
        let mut news = Vec::new();
        for &number in numbers {
            for comment in sandbox.comments(REPOSITORY, number).into_iter().filter(|comment| comment.via_app) {
                let Some(heading) = heading(&comment.body) else { continue };
                if self.said.insert(comment.id, heading.clone()).as_ref() != Some(&heading) {
                    news.push(News { number, heading, decided: decided(&comment.body) });
                }
            }
        }
        news
    }
}

/// The heading of a comment, which stands below its marker, as a line for a terminal.
fn heading(body: &str) -> Option<String> {
    let line = body.lines().nth(1)?.trim_start_matches(['#', ' ', '🤖']);
    Some(line.chars().filter(|c| !c.is_control() && *c != '`').collect())
}

/// Whether a run has a verdict; `None` while it goes on.
fn decided(body: &str) -> Option<bool> {
    let word = body.lines().find_map(|line| line.strip_prefix(VERDICT))?;
    (word != NONE_YET).then_some(word != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_in_a_line() {
        let body = |heading: &str, verdict: &str| format!("<!-- marker -->\n## 🤖 {heading}\n\n{verdict}\n\ntext");
        for (text, expected) in [
            (body("Demo A/B test: ⏳ queued", "Verdict: none yet"), ("Demo A/B test: ⏳ queued", None)),
            (
                body("T: ⛔ regression · `join` CPU +9 %", "Verdict: regression"),
                ("T: ⛔ regression · join CPU +9 %", Some(true)),
            ),
            (body("T: ⚠️ cancelled", "Verdict: none"), ("T: ⚠️ cancelled", Some(false))),
            (body("Not started\u{1b}[2J", ""), ("Not started[2J", None)),
        ] {
            assert_eq!((heading(&text).as_deref(), decided(&text)), (Some(expected.0), expected.1));
        }
        assert_eq!(heading("one line"), None);
    }
}
