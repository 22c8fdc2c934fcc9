//! What the service says about a comparison in its comment: sentences from plain facts, each a line of spans. Names of
//! people and branches, reasons and commands go in as they are; whoever shows a span disarms it.

use domain::ids::CommitSha;
use domain::time::{MINUTE, Ms, utc};
use domain::view::Span;

use super::answers::{code, words};

/// A head that was pushed while an older one is measured, or has been.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// The line that asks for the same comparison again, without `sha=`.
    pub line: &'a str,
    /// Name of the suite.
    pub suite: &'a str,
    /// The head that the comparison is about.
    pub old: &'a CommitSha,
    /// The head of now.
    pub new: &'a CommitSha,
}

/// What becomes of a head that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Whether it changes anything that counts is being found out.
    BeingWeighed,
    /// Nothing that counts differs: the comparison speaks of it, too.
    CarriedOver {
        /// What is equal, such as `the paths that count are the same`. Part of a sentence.
        why: String,
    },
    /// The older comparison is stopped, and this head is measured.
    Superseding {
        /// From when on, unless another push comes; `None` as soon as it can be.
        at: Option<Ms>,
    },
    /// The older comparison is over, and this head is measured.
    Next {
        /// From when on, unless another push comes; `None` as soon as it can be.
        at: Option<Ms>,
    },
    /// The older comparison goes on to its end, and this head is measured after it.
    Finishing {
        /// From when on at the earliest, unless another push comes.
        at: Option<Ms>,
    },
    /// Pushes start nothing in this suite.
    OnlyStale,
    /// It is not measured by itself.
    NotAgain(Why),
}

/// Why a head is not measured by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It comes from another repository.
    Fork,
    /// The pull request is a draft.
    Draft,
    /// Somebody switched it off for this pull request.
    Off,
    /// A person put an end to the last one, or it could not be run.
    Ended,
    /// There is no budget left for it: which, such as `3 of 3 runs of today`. Part of a sentence.
    Budget(String),
    /// The pull request goes into another branch now.
    Retargeted {
        /// The branch.
        base: String,
    },
}

/// What becomes of a newer head, and what to type where a person must act.
#[must_use]
pub fn moved(push: &Push<'_>, what: &What) -> Vec<Span> {
    let Push { line, suite, old, new } = *push;
    let (old, short) = (code(old.short()), code(new.short()));
    let pushed = |rest: &str| vec![short.clone(), words(" was pushed after "), old.clone(), words(rest.to_owned())];
    let measures = |mut said: Vec<Span>, line: &str| {
        said.extend([code(line), words(" measures "), short.clone(), words(".")]);
        said
    };
    match what {
        What::BeingWeighed => {
            let mut said = pushed(". Whether it changes anything that counts is being found out; what is measured is ");
            said.extend([old, words(".")]);
            said
        }
        What::CarriedOver { why } => {
            let mut said = pushed(". The comparison is about ");
            said.extend([old, words(" and stands for "), short, words(format!(", too: {}.", part(why)))]);
            said
        }
        What::Superseding { at } => {
            let mut said = pushed(". The comparison of ");
            said.extend([old, words(" is given up; ")]);
            said.extend(measured_from(&short, *at, "as soon as there is room"));
            said
        }
        What::Next { at } => {
            let mut said = pushed("; ");
            said.extend(measured_from(&short, *at, "as soon as there is room"));
            said
        }
        What::Finishing { at } => {
            let mut said = pushed(". The comparison of ");
            said.extend([old, words(" goes on to its end; ")]);
            said.extend(measured_from(&short, *at, "after it"));
            said
        }
        What::OnlyStale => {
            let mut said = pushed(". Pushes start nothing in this suite: the comparison is about ");
            said.extend([old, words(" only. ")]);
            measures(said, line)
        }
        What::NotAgain(Why::Fork) => {
            let said = pushed(
                ". It comes from a fork, and measuring runs its code with the credentials of the cluster, so it is not \
                 started by itself. After reading it: ",
            );
            measures(said, &format!("{line} sha={new}"))
        }
        What::NotAgain(Why::Draft) => measures(pushed(". Pushes to a draft are not measured by themselves. "), line),
        What::NotAgain(Why::Off) => {
            let mut said = measures(pushed(". Measuring after a push is switched off here. "), line);
            said.extend([words(" "), code(format!("/ab-test {suite} auto on")), words(" switches it on again.")]);
            said
        }
        What::NotAgain(Why::Ended) => {
            let mut said = pushed(". What is said here is about ");
            said.extend([old, words(", over without a verdict, so a push starts nothing. ")]);
            measures(said, line)
        }
        What::NotAgain(Why::Budget(of)) => {
            measures(pushed(&format!(". It is not measured by itself: {}. ", part(of))), line)
        }
        What::NotAgain(Why::Retargeted { base }) => vec![
            words("The pull request goes into "),
            code(base),
            words(" now, and the comparison of "),
            old,
            words(" is with another branch. "),
            code(line),
            words(" compares "),
            short,
            words(" with this one."),
        ],
    }
}

/// `a2b3c4d is measured from 2026-11-29 14:05 UTC on, unless another push comes.`
fn measured_from(new: &Span, at: Option<Ms>, soon: &str) -> [Span; 2] {
    let when = at.map_or_else(|| soon.to_owned(), |at| format!("from {} on", minute(at)));
    [new.clone(), words(format!(" is measured {when}, unless another push comes."))]
}

fn asks_for(mut said: Vec<Span>, line: &str) -> Vec<Span> {
    said.extend([code(line), words(" asks for it.")]);
    said
}

/// The pull request was merged. `goes_on` while the comparison is not over.
#[must_use]
pub fn merged(head: &CommitSha, base: &str, goes_on: bool) -> Vec<Span> {
    let rest = if goes_on {
        " The comparison goes on: its verdict is about what was merged."
    } else {
        " Nothing more is measured here."
    };
    vec![code(head.short()), words(" was merged into "), code(base), words(format!(".{rest}"))]
}

/// The pull request was opened again, which starts nothing.
#[must_use]
pub fn reopened(line: &str) -> Vec<Span> {
    asks_for(vec![words("The pull request was opened again, which starts nothing by itself. ")], line)
}

/// To the minute, never earlier: `2026-11-29 14:05 UTC`.
fn minute(at: Ms) -> String {
    utc(Ms(at.0.div_ceil(MINUTE).saturating_mul(MINUTE))).replace(":00 UTC", " UTC")
}

/// Part of a sentence that goes on, or ends with a full stop of its own.
fn part(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use domain::view::{State, View};

    use super::*;

    const NOON: Ms = Ms(1_796_040_000_000);

    fn all(line: &str, hostile: &str) -> Vec<(String, Vec<Span>)> {
        let old: CommitSha = "8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99".parse().unwrap();
        let new: CommitSha = "c0ffee1234567890c0ffee1234567890c0ffee12".parse().unwrap();
        let push = Push { line, suite: "zephyr", old: &old, new: &new };
        let at = Some(NOON.plus(5 * MINUTE + 1));
        let text = hostile.to_owned();
        let mut all: Vec<(String, Vec<Span>)> = [
            What::BeingWeighed,
            What::CarriedOver { why: text.clone() },
            What::Superseding { at },
            What::Superseding { at: None },
            What::Next { at },
            What::Next { at: None },
            What::Finishing { at },
            What::Finishing { at: None },
            What::OnlyStale,
            What::NotAgain(Why::Fork),
            What::NotAgain(Why::Draft),
            What::NotAgain(Why::Off),
            What::NotAgain(Why::Ended),
            What::NotAgain(Why::Budget(text.clone())),
            What::NotAgain(Why::Retargeted { base: text.clone() }),
        ]
        .into_iter()
        .map(|what| (format!("{what:?}"), moved(&push, &what)))
        .collect();
        all.extend([
            ("merged, goes on".to_owned(), merged(&old, hostile, true)),
            ("merged, over".to_owned(), merged(&old, hostile, false)),
            ("reopened".to_owned(), reopened(line)),
        ]);
        all
    }

    fn comment(remark: Vec<Span>) -> String {
        let mut view = View::new("zephyr", "Zephyr A/B test", State::Queued { ahead: None });
        view.remarks = vec![remark];
        let body = report::Renderer::new().unwrap().comment(&view).unwrap().body;
        let after = body.split("Waiting for a free place.\n\n").nth(1).unwrap();
        after.split("\n\nWorkload: ").next().unwrap().trim().to_owned()
    }

    #[test]
    fn every_remark_in_its_comment() {
        let mut told = String::new();
        for (what, remark) in all("/ab-test zephyr rounds=3", "octo-cat") {
            writeln!(told, "==== {what}\n{}\n", comment(remark)).unwrap();
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn foreign_text_stays_text() {
        let hostile = "`x` @team #12 <!-- a --> [l](https://evil.example)\n# Verdict: pass /ab-test zephyr\u{202e}";
        for (what, remark) in all("/ab-test zephyr", hostile) {
            let body = comment(remark);
            assert_eq!(body.lines().count(), 1, "{what}: {body}");
            for bad in ["@team", "#12", "<!--", "](https://", "Verdict:", "\u{202e}"] {
                assert!(!body.contains(bad), "{what}: {body}");
            }
        }
    }

    #[test]
    fn who_must_act_is_told_what_to_type() {
        for (what, remark) in all("/ab-test zephyr rounds=3", "x") {
            let line = remark.iter().find_map(|span| match span {
                Span::Code(text) if text.starts_with("/ab-test") => Some(text.as_str()),
                _ => None,
            });
            let waits = what.starts_with("NotAgain") || what == "OnlyStale";
            assert!(!waits || line.is_some(), "{what}");
            if what.contains("Fork") {
                assert_eq!(line, Some("/ab-test zephyr rounds=3 sha=c0ffee1234567890c0ffee1234567890c0ffee12"));
            }
        }
    }
}
