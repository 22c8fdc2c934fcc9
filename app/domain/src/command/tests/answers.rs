//! What is answered.

use super::*;
use crate::view::{Answer, Block, Span};

fn line(spans: &[Span]) -> String {
    let span = |span: &Span| match span {
        Span::Words(text) => text.clone(),
        Span::Code(text) => format!("`{text}`"),
        Span::Link { text, url } => format!("[{text}]({url})"),
    };
    spans.iter().map(span).collect()
}

fn shown(answer: &Answer) -> String {
    let mut lines = vec![format!("{:?}: {}", answer.kind, line(&answer.title))];
    for (title, block) in &answer.blocks {
        lines.push(String::new());
        lines.extend(title.clone());
        match block {
            Block::Paragraph(spans) => lines.push(line(spans)),
            Block::List(items) => lines.extend(items.iter().map(|item| format!("- {}", line(item)))),
            Block::Table { head, rows } => {
                lines.push(head.join(" | "));
                let cells = |row: &Vec<Vec<Span>>| row.iter().map(|cell| line(cell)).collect::<Vec<_>>().join(" | ");
                lines.extend(rows.iter().map(cells));
            }
            Block::Lines(text) => lines.push(text.clone()),
        }
    }
    lines.join("\n")
}

#[test]
fn help_names_what_is_built_and_nothing_else() {
    let text = shown(&help(&known()));
    for verb in VERBS {
        assert_eq!(text.contains(&format!("`{}`", verb.form())), verb.built, "{}", verb.name);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn refusals_say_what_to_do() {
    let bodies = [
        "/ab-test zephir",
        "/ab-test zephyr presett=light",
        "/ab-test zephyr preset=lihgt",
        "/ab-test zephyr preset=light.",
        "/ab-test zephyr sources=\"x'; echo hello; '\"",
        "/ab-test zephyr treatment=control@head",
        "/ab-test\u{a0}zephyr",
        "/ab-test cancel",
        "/ab-test zephyr skip",
        "/ab-test zephyr cancle",
        "/ab-test zephyr cancel now",
        "/ab-test zephyr\n/ab-test help",
    ];
    let shown: Vec<String> =
        bodies.iter().map(|body| format!("{body:?}\n{}", shown(&refusal(&refused(body))))).collect();
    insta::assert_snapshot!(shown.join("\n\n----\n"));
}
