//! Foreign text stays text, wherever it stands.

use domain::view::{
    Answer, Block, Decided, Decision, Difference, Earlier, Fingerprint, Job, Kind, Note, Output, Span, Verdict, View,
};
use proptest::prelude::*;

use crate::support::{comment, complete, renderer, vector};

/// What hurts in a name.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("@team"),
        Just("#12"),
        Just("Fixes #3"),
        Just("|"),
        Just("\\"),
        Just("`"),
        Just("```"),
        Just("\n"),
        Just("<!-- zephyr-ab-test -->"),
        Just("</details>"),
        Just("<b>"),
        Just("https://x.y"),
        Just("![i](u)"),
        Just("\u{202E}"),
        Just("\u{200F}"),
        Just("\n/ab-test zephyr"),
        Just("owner/repo#1"),
        Just("a"),
        Just("😀"),
        Just("\u{0}"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|v| v.concat())
}

/// A view in which every foreign text is `text`.
fn infested(text: &str) -> View {
    let mut view = complete(vector("v03_cpu_plus10_one_stage_n3"));
    let t = || text.to_owned();
    let difference = || Difference { field: t(), control: Some(t()), treatment: Some(t()) };
    view.title = t();
    view.workload = vec![t(); 3];
    view.control.base_ref = Some(t());
    view.control.sha = Some(t());
    // Addresses are our own; what is not one is not linked.
    let url = || Some(format!("{text} "));
    view.control.jobs = vec![Job { id: t(), url: url() }];
    let treatment = &mut view.treatments[0];
    treatment.name = t();
    treatment.errors = vec![t(); 3];
    treatment.declared = vec![difference()];
    treatment.mismatch = vec![difference()];
    let judgement = treatment.judgement.as_mut().unwrap();
    let renamed = |name: &str| if name == "TOTAL" { name.to_owned() } else { format!("{name}{text}") };
    for (name, _) in &mut judgement.table.0 {
        *name = renamed(name);
    }
    for rows in [&mut judgement.stages.cpu, &mut judgement.stages.elapsed].into_iter().flatten() {
        rows.0.iter_mut().for_each(|(name, _)| *name = renamed(name));
    }
    if let Some(rows) = &mut judgement.rows {
        rows.0.iter_mut().for_each(|(name, _)| *name = renamed(name));
    }
    judgement.notes.0.push((format!("work:minhash{text}"), vec![Note::NotCounted]));
    treatment.outputs = vec![Output { name: t(), digest: t() }];
    view.control.outputs = vec![Output { name: t(), digest: format!("{text}2") }];
    view.decision = Some(Decision { what: Decided::Accepted, by: t(), why: t(), at: Some(t()) });
    view.fingerprint = Some(Fingerprint { digest: t(), fields: vec![(t(), t())], differences: vec![difference()] });
    view.context = vec![difference()];
    view.history = vec![Earlier { head: t(), verdict: Verdict::Pass, said: Some(t()), at: Some(t()), url: url() }];
    view.provenance.run = Some(t());
    view.provenance.page = url();
    view.averages[0].row = t();
    view.timeline[0].what = t();
    if let Some(infrastructure) = &mut view.infrastructure {
        infrastructure.priority = Some(t());
        infrastructure.arms[1].host_classes = vec![t()];
        infrastructure.arms[1].arm = t();
    }
    view
}

/// The comment without fenced blocks.
fn unfenced(body: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in body.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Lines without their code spans: what GitHub reads as prose.
fn without_code(text: &str) -> String {
    text.lines().map(|line| line_without_code(line) + "\n").collect()
}

fn line_without_code(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let run = |at: usize| chars[at..].iter().take_while(|c| **c == '`').count();
    let (mut out, mut i) = (String::new(), 0);
    while i < chars.len() {
        if chars[i] == '\\' && i + 1 < chars.len() {
            out.extend(&chars[i..i + 2]);
            i += 2;
        } else if chars[i] == '`' {
            let open = run(i);
            let mut j = i + open;
            let mut end = None;
            while j < chars.len() {
                let close = run(j);
                if close == open {
                    end = Some(j + close);
                    break;
                }
                j += close.max(1);
            }
            if let Some(end) = end {
                out.push_str("CODE");
                i = end;
            } else {
                out.extend(&chars[i..i + open]);
                i += open;
            }
        } else {
            out.push(chars[i]);
            i += 1;
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn foreign_text_stays_text(text in hostile()) {
        let view = infested(&text);
        let answer = Answer {
            kind: Kind::Status,
            title: vec![Span::Words(text.clone()), Span::Code(text.clone())],
            blocks: vec![
                (Some(text.clone()), Block::Paragraph(vec![Span::Words(text.clone())])),
                (None, Block::List(vec![vec![Span::Words(text.clone()), Span::Code(text.clone())]])),
                (None, Block::Lines(text.clone())),
                (None, Block::Table {
                    head: vec![text.clone(); 2],
                    rows: vec![vec![vec![Span::Code(text.clone())], vec![Span::Words(text.clone())]]],
                }),
            ],
        };
        let reply = renderer().reply(&answer).unwrap().body;
        let check = renderer().check(&view).unwrap();
        for body in [comment(&view), check.summary, check.text, reply] {
            let unfenced = unfenced(&body);
            let lines: Vec<&str> = unfenced.lines().collect();
            for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with('|')) {
                // A pipe without a backslash ends a cell in a code span too.
                let pipes = |line: &str| line.replace("\\|", "").matches('|').count();
                let head = lines[..=i].iter().rev().take_while(|l| l.starts_with('|')).last().unwrap();
                prop_assert_eq!(pipes(line), pipes(head), "{}", line);
            }
            let prose = without_code(&unfenced);
            for (i, line) in prose.lines().enumerate() {
                if i > 0 {
                    prop_assert!(!line.contains("<!--"), "{}", line);
                }
                prop_assert!(!line.trim_start().starts_with("/ab-test"), "{}", line);
            }
            for bad in ["@t", "#1", "#3", "https://x", "<b>"] {
                prop_assert!(!prose.contains(bad), "{} in {}", bad, prose);
            }
            prop_assert_eq!(prose.matches("<details>").count(), prose.matches("</details>").count());
            let hidden = body.contains(['\u{202E}', '\u{200F}', '\u{0}']);
            prop_assert!(!hidden);
            prop_assert_eq!(body.matches("<!-- zephyr").count(), usize::from(body.starts_with("<!--")));
        }
        let text = renderer().text(&view).unwrap();
        prop_assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
        let hidden = text.contains(['\u{202E}', '\u{200F}', '\u{0}', '\u{1B}']);
        prop_assert!(!hidden);
    }
}

#[test]
fn hostile_names_comment() {
    let text =
        "a|b `x` <!-- zephyr-ab-test --> @team Fixes #3 owner/repo#1 https://x.y ![i](u) <b>\n/ab-test zephyr \u{202E}";
    insta::assert_snapshot!(comment(&infested(text)));
}
