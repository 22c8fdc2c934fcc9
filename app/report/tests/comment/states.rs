//! Every state of a run, decisions, and the one further comment.

use std::fmt::Write as _;

use domain::view::{Answer, Block, Decided, Decision, Ending, Job, Kind, Span, State, Surface, View};

use crate::support::{comment, complete, renderer, vector};

fn text(s: &str) -> String {
    s.to_owned()
}

fn alive() -> Vec<Job> {
    vec![Job { id: text("/ab/zephyr-ab-k7m2-1-head"), url: None }]
}

/// One of each.
pub(crate) fn states() -> Vec<State> {
    let mut states = vec![
        State::Queued { ahead: Some(2) },
        State::Queued { ahead: None },
        State::Planning,
        State::AwaitingConfirmation {
            why: Some(text("Costs above 40 CPU hours need the agreement of a person.")),
            plan: Some(text("3fa9c1")),
            cpu_hours: Some(182.8),
            until: Some(text("2026-12-06 11:00 UTC")),
            skip: Vec::new(),
        },
        State::AwaitingConfirmation {
            why: None,
            plan: Some(text("3fa9c1")),
            cpu_hours: None,
            until: Some(text("2026-12-06 11:00 UTC")),
            skip: vec![text("documentation"), text("tests of @team")],
        },
        State::AwaitingChecks {
            pending: vec![text("lint"), text("unit | #12")],
            until: Some(text("2026-11-29 17:00 UTC")),
        },
        State::AwaitingChecks { pending: Vec::new(), until: None },
        State::Measuring { round: 2, of: 5, next_look: Some(text("2026-11-29 14:30 UTC")) },
        State::Measuring { round: 2, of: 5, next_look: None },
        State::Collecting { unavailable: None, again: None },
        State::Collecting { unavailable: Some(text("503 Service Unavailable")), again: Some(text("in 4 minutes")) },
        State::Stopping { why: Some(text("Cancelled by octocat")), alive: alive() },
        State::Stale { why: text("the base branch is now release-2") },
    ];
    states.extend(Ending::ALL.into_iter().map(|how| State::Ended {
        how,
        why: Some(text("Asked by octocat")),
        alive: alive(),
    }));
    states
}

#[test]
fn every_state() {
    insta::assert_snapshot!(told(Surface::Comment));
}

#[test]
fn every_state_on_the_command_line() {
    insta::assert_snapshot!(told(Surface::CommandLine));
}

fn told(surface: Surface) -> String {
    let mut all = String::new();
    for state in states() {
        let mut view = View { surface, ..View::new("zephyr", "Zephyr A/B test", state.clone()) };
        view.rounds.done = 3;
        if state.is_decided() {
            view = View { surface, state, ..vector("v01_aa_n3") };
        }
        let body = comment(&view);
        let letters: Vec<char> = body.chars().collect();
        assert!(!letters.windows(2).any(|w| w[0] == '.' && w[1].is_uppercase()), "a space is missing: {body}");
        assert!(!body.replace("run ...", "run").contains(".."), "{body}");
        writeln!(all, "==== {:?}\n{}\n", view.state, body.split("\nWorkload: ").next().unwrap()).unwrap();
    }
    all
}

#[test]
fn a_provisional_table_decides_nothing() {
    let state = State::Measuring { round: 4, of: 5, next_look: None };
    let view = View { state, ..complete(vector("v03_cpu_plus10_one_stage_n3")) };
    let body = comment(&view);
    assert!(body.contains("decide nothing yet"));
    assert!(body.contains("Verdict: none yet\n"));
    assert!(body.contains("| **TOTAL** |"));
    assert!(!body.contains("⛔ regression"));
    insta::assert_snapshot!(body);
}

#[test]
fn nothing_that_is_over_says_that_it_is_running() {
    for how in Ending::ALL {
        let state = State::Ended { how, why: None, alive: Vec::new() };
        let body = comment(&View::new("zephyr", "Zephyr A/B test", state));
        assert!(!body.contains("running") && !body.contains('⏳'), "{body}");
        assert!(body.contains("\nVerdict: none\n"), "{body}");
    }
}

#[test]
fn decisions_stand_beside_the_verdict() {
    let mut view = vector("v03_cpu_plus10_one_stage_n3");
    view.decision = Some(Decision {
        what: Decided::Accepted,
        by: text("octocat"),
        why: text("needed for #12, see @team"),
        at: Some(text("2026-11-29")),
    });
    let body = comment(&view);
    assert!(body.contains("\nVerdict: regression\n"));
    assert!(body.contains("· accepted"));
    assert!(body.contains("Accepted by `octocat` 2026-11-29: needed for #\u{200B}12, see @\u{200B}team"));
    view.decision.as_mut().unwrap().at = None;
    assert!(comment(&view).contains("Accepted by `octocat`: needed"));
}

#[test]
fn remarks_stand_in_every_text_and_are_only_text() {
    let remark = |what: &str| {
        vec![
            Span::Words(text("the head is ")),
            Span::Code(text("a2b3c4d")),
            Span::Words(format!(" now, {what} by @team, see #12: ")),
            Span::Code(text("/ab-test zephyr")),
        ]
    };
    let mut all = String::new();
    for state in [State::Measuring { round: 2, of: 5, next_look: None }, State::Done] {
        let mut view = View { state, ..vector("v01_aa_n3") };
        view.remarks = vec![remark("pushed"), remark("</details> | <b>")];
        let check = renderer().check(&view).unwrap();
        for body in [comment(&view), check.summary, renderer().text(&view).unwrap()] {
            writeln!(all, "====\n{}\n", body.split("\nWorkload: ").next().unwrap()).unwrap();
        }
        assert!(!check.title.contains("a2b3c4d"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn who_skipped_it_is_said_once() {
    let state = State::Ended { how: Ending::Skipped, why: Some(text("docs only")), alive: Vec::new() };
    let mut view = View::new("zephyr", "Zephyr A/B test", state);
    assert!(comment(&view).contains("No benchmark was run for this change (docs only)."));
    let (by, why) = (text("octocat"), text("docs only"));
    view.decision = Some(Decision { what: Decided::Skipped, by, why, at: None });
    let body = comment(&view);
    assert_eq!(body.matches("docs only").count(), 1, "{body}");
    assert!(body.contains("Skipped by `octocat`: docs only") && body.contains("No benchmark was run for this change."));
}

#[test]
fn further_comment() {
    let words = |s: &str| Span::Words(text(s));
    let code = |s: &str| Span::Code(text(s));
    let mut all = String::new();
    for kind in Kind::ALL {
        let answer = Answer {
            kind,
            title: vec![words("no suite is named "), code("zephir")],
            blocks: vec![
                (
                    None,
                    Block::Paragraph(vec![words("Did you mean "), code("/ab-test zephyr"), words("? See @team, #12.")]),
                ),
                (
                    Some(text("Suites")),
                    Block::Table {
                        head: vec![text("Suite"), text("What")],
                        rows: vec![vec![vec![code("a|b")], vec![words("x | y")]]],
                    },
                ),
                (
                    None,
                    Block::List(vec![
                        vec![Span::Link { text: text("page"), url: text("https://ab.example/") }],
                        vec![words("# no head")],
                    ]),
                ),
                (Some(text("Log")), Block::Lines(text("one\n```\n<!-- zephyr-ab-test -->"))),
            ],
        };
        let body = renderer().reply(&answer).unwrap().body;
        assert_eq!(report::marker::find(&body), Some(report::marker::Marker::Reply));
        writeln!(all, "{body}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_huge_further_comment_is_cut_and_says_so() {
    let line = "😀".repeat(400);
    let answer = Answer {
        kind: Kind::Status,
        title: vec![Span::Words(line.clone())],
        blocks: (0..40).map(|_| (None, Block::List(vec![vec![Span::Words(line.clone())]; 100]))).collect(),
    };
    let body = renderer().reply(&answer).unwrap().body;
    assert!(body.len() <= 60_000);
    assert!(body.contains("more left out here"));
}
