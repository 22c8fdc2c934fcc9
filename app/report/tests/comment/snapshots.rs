//! Texts as they are.

use std::fmt::Write as _;

use domain::view::{Reason, Surface};

use crate::support::{blocked, comment, complete, on_the_command_line, renderer, vector, vectors};

/// The comment up to its workload.
fn top(body: &str) -> &str {
    body.split("\nWorkload: ").next().unwrap().split_once('\n').unwrap().1.trim()
}

#[test]
fn every_vector() {
    for (id, input) in vectors() {
        let body = comment(&crate::support::judged(input));
        insta::assert_snapshot!(id.as_str(), body);
    }
}

#[test]
fn every_reason() {
    let mut all = String::new();
    for reason in Reason::ALL {
        let body = comment(&blocked(*reason));
        writeln!(all, "==== {}\n{}\n", reason.code(), top(&body)).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn every_reason_on_the_command_line() {
    let mut all = String::new();
    for reason in Reason::ALL {
        let mut view = blocked(*reason);
        view.surface = Surface::CommandLine;
        writeln!(all, "==== {}\n{}\n", reason.code(), top(&comment(&view))).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn complete_text_on_the_command_line() {
    let mut view = on_the_command_line(complete(vector("w86_small_increase_n3")));
    view.treatments[0].judgement.as_mut().unwrap().reason = Reason::NewAppFailureUnconfirmed;
    insta::assert_snapshot!(renderer().text(&view).unwrap());
}

#[test]
fn complete_comment() {
    insta::assert_snapshot!(comment(&complete(vector("v03_cpu_plus10_one_stage_n3"))));
}

#[test]
fn complete_text() {
    insta::assert_snapshot!(renderer().text(&complete(vector("w86_small_increase_n3"))).unwrap());
}

#[test]
fn complete_check() {
    let check = renderer().check(&complete(vector("v11_faster_dearer_n5"))).unwrap();
    insta::assert_snapshot!(format!("{}\n----\n{}\n----\n{}", check.title, check.summary, check.text));
}
