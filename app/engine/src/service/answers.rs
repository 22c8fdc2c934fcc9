//! Replies: what somebody is told who asked for something that is not done, or asked how things are.

use domain::ids::Digest;
use domain::pull::{Asked, Denied, Said};
use domain::time::utc;
use domain::view::{Answer, Block, Kind, Span};

use super::views::SHOWN;

pub(super) fn words(text: impl Into<String>) -> Span {
    Span::Words(text.into())
}

pub(super) fn code(text: impl Into<String>) -> Span {
    Span::Code(text.into())
}

/// A refusal of one line, and paragraphs.
fn refusal(title: Vec<Span>, paragraphs: Vec<Vec<Span>>) -> Answer {
    let blocks = paragraphs.into_iter().map(|line| (None, Block::Paragraph(line))).collect();
    Answer { kind: Kind::Refusal, title, blocks }
}

/// What is said beyond what comments show; `None` where nothing is.
#[must_use]
pub fn of(said: &Said, link: Option<&str>) -> Option<Answer> {
    let there = |text: &str| match link {
        Some(url) => Span::Link { text: text.to_owned(), url: url.to_owned() },
        None => words(text),
    };
    Some(match said {
        Said::Nothing | Said::Handled | Said::NotAgain(..) => return None,
        Said::Running(asked) => {
            let by = format!(", asked for by {} at {}, of ", asked.by.login, utc(asked.at));
            refusal(
                vec![words("already running: "), there("the run"), words(by), code(asked.head.short())],
                vec![vec![
                    words("One run of a pull request goes on at a time. "),
                    code(format!("/ab-test {} cancel", asked.suite)),
                    words(" stops it."),
                ]],
            )
        }
        Said::Decided(asked, over) => {
            let said = format!(": {}", over.said);
            refusal(
                vec![code(asked.head.short()), words(" has "), there("a verdict"), words(said)],
                vec![vec![
                    words("Nothing was started: repeating buys no other verdict. "),
                    code(format!("/ab-test {} rounds=+2", asked.suite)),
                    words(" adds two rounds to the same comparison."),
                ]],
            )
        }
        Said::NothingToContinue => refusal(
            vec![
                code("rounds=+n"),
                words(" adds rounds to a comparison of this head, and there is none with a verdict"),
            ],
            vec![],
        ),
        Said::NotPlanned(asked, over) => {
            let why = over.ended.as_ref().and_then(|(_, why)| why.clone()).unwrap_or_else(|| over.said.clone());
            refusal(
                vec![code(asked.line()), words(format!(" was not started: {why}"))],
                vec![vec![there("The verdict"), words(" before it stands.")]],
            )
        }
        Said::NothingToRetry => refusal(
            vec![words("there is no run here whose measurements could be completed")],
            vec![vec![
                code("retry"),
                words(
                    " goes on with a run that was cancelled or failed, or that decided nothing because of the machines.",
                ),
            ]],
        ),
        Said::NothingToAccept(suite) => refusal(
            vec![words("there is no verdict of "), code(suite.clone()), words(" here that would have to be accepted")],
            vec![],
        ),
        Said::NewerVerdict(suite) => refusal(
            vec![words("the verdict is newer than the comment that accepts one")],
            vec![vec![
                words("Nothing was accepted. Having read it: "),
                code(format!("/ab-test {suite} accept <reason>")),
                words("."),
            ]],
        ),
        Said::Closed => refusal(vec![words("the pull request is closed: nothing is started")], vec![]),
        Said::NotSkipped(asked, over) => refusal(
            vec![code(asked.head.short()), words(" has "), there("a verdict"), words(format!(": {}", over.said))],
            vec![vec![
                words("It cannot be skipped any more. "),
                code(format!("/ab-test {} accept <reason>", asked.suite)),
                words(" accepts it."),
            ]],
        ),
        Said::Auto(suite, on) => switched(suite, *on),
        Said::NothingRuns => refusal(vec![words("nothing of this suite runs here")], vec![]),
        Said::NothingWaits => nothing_waits(),
        Said::Foreign(comment) => refusal(
            vec![words("a comment of somebody else begins with the line by which ours are found")],
            vec![vec![
                words(format!(
                    "It is comment {comment}. It was not written by this app, is not edited by it, and says "
                )),
                words("nothing about a run."),
            ]],
        ),
    })
}

/// Pushes run a suite again, or no longer.
fn switched(suite: &str, on: bool) -> Answer {
    let (title, other) = if on {
        ("pushes to this pull request are measured by themselves from now on", "off")
    } else {
        ("pushes to this pull request are not measured by themselves any more", "on")
    };
    let line = vec![code(format!("/ab-test {suite} auto {other}")), words(" changes that.")];
    let mut blocks = vec![(None, Block::Paragraph(line))];
    if on {
        let limits = "Pushes to a draft or from a fork are not, and a plan above the limit waits for a confirmation.";
        blocks.insert(0, (None, Block::Paragraph(vec![words(limits)])));
    }
    Answer { kind: Kind::Status, title: vec![code(suite), words(format!(": {title}"))], blocks }
}

/// A plan that cannot be made, for somebody who only wanted to see it.
#[must_use]
pub fn no_plan(asked: &Asked, why: &str) -> Answer {
    refusal(vec![code(asked.line()), words(format!(" cannot be planned: {why}"))], vec![])
}

/// A run that was begun cannot be skipped.
#[must_use]
pub fn too_late_to_skip() -> Answer {
    refusal(vec![words("the run has begun: cancel it first, then skip")], vec![])
}

/// No plan waits for an agreement.
#[must_use]
pub fn nothing_waits() -> Answer {
    refusal(vec![words("no plan of this suite waits for a confirmation here")], vec![])
}

/// The plan is no longer that of the pull request.
#[must_use]
pub fn outdated(why: &str) -> Answer {
    refusal(
        vec![words(format!("the plan was not started: {why}"))],
        vec![vec![words("It is dropped; asking again makes a new one.")]],
    )
}

/// Another plan waits.
#[must_use]
pub fn another_plan(plan: &Digest) -> Answer {
    let shown = plan.as_str().get(..SHOWN).unwrap_or_default();
    refusal(vec![words("the plan that waits is "), code(shown), words(", not the one that was confirmed")], vec![])
}

/// Why somebody may not. `line` is what they typed, without `sha=`.
#[must_use]
pub fn denied(denied: &Denied, line: &str) -> Answer {
    let mut more = Vec::new();
    let approve = |head: &str| {
        vec![
            words(
                "Approving runs this code with the credentials of the cluster. After reading it press Approve at the check of \
                 the commit, or write ",
            ),
            code(format!("{line} sha={head}")),
        ]
    };
    match denied {
        Denied::NeedsSha { head } => more.push(approve(head.as_str())),
        Denied::HeadMoved { head, .. } => {
            more.push(vec![words("Nothing was started. ")]);
            more.push(vec![words("After reading what is new: "), code(format!("{line} sha={head}"))]);
        }
        Denied::Permission { .. } | Denied::Closed => {}
    }
    refusal(vec![words(denied.to_string())], more)
}

/// A verb or a key that this version does not have.
#[must_use]
pub fn not_built(what: &str) -> Answer {
    refusal(
        vec![code(what), words(" is understood, and this version cannot do it yet")],
        vec![vec![code("/ab-test help"), words(" lists what it can do.")]],
    )
}

/// What the repository says of itself cannot be read.
#[must_use]
pub fn unreadable(why: &str) -> Answer {
    refusal(vec![words(why)], vec![vec![words("Nothing was done. The file of the default branch is to be corrected.")]])
}

/// A repository that this service does not serve.
#[must_use]
pub fn not_served(asked: &str) -> Answer {
    refusal(vec![words("this service does not run benchmarks for "), code(asked)], vec![])
}

/// The line without `sha=`, to be completed.
#[must_use]
pub fn without_sha(suite: &str, pairs: &[(String, String)]) -> String {
    let rest = pairs.iter().filter(|(key, _)| key != "sha").map(|(key, value)| format!(" {key}={value}"));
    format!("/ab-test {suite}{}", rest.collect::<String>())
}

/// How a request is told in a table.
#[must_use]
pub(super) fn asked_for(asked: &Asked) -> Vec<Span> {
    vec![code(asked.line()), words(format!(", {} at {}", asked.by.login, utc(asked.at)))]
}
