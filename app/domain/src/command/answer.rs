//! What is answered to help, and to a line that is not understood.

use super::error::CommandError;
use super::known::{Known, SuiteKeys};
use super::verb::{PREFIX, Verb};
use crate::request::KEYS;
use crate::view::{Answer, Block, Kind, Span};

fn words(text: impl Into<String>) -> Span {
    Span::Words(text.into())
}

fn code(text: impl Into<String>) -> Span {
    Span::Code(text.into())
}

/// The texts as code, with commas between them.
fn codes(texts: impl IntoIterator<Item = String>) -> Vec<Span> {
    let mut spans = Vec::new();
    for text in texts {
        if !spans.is_empty() {
            spans.push(words(", "));
        }
        spans.push(code(text));
    }
    spans
}

fn titles(of: &[&str]) -> Vec<String> {
    of.iter().map(|title| (*title).to_owned()).collect()
}

/// How to ask: what is built of the table of verbs, the keys, the suites.
#[must_use]
pub fn help(known: &Known) -> Answer {
    let verbs = Verb::built().map(|verb| {
        vec![
            vec![code(verb.form())],
            vec![words(verb.meaning)],
            vec![code(verb.example)],
            vec![words(verb.who.words())],
        ]
    });
    let keys = KEYS.iter().filter(|key| key.built).map(|key| {
        let again = if key.repeatable { "; may be repeated" } else { "" };
        vec![
            vec![code(format!("{}={}", key.name, key.form))],
            vec![words(format!("{}{again}", key.meaning))],
            vec![code(key.example)],
        ]
    });
    let mut blocks = vec![
        (
            None,
            Block::Paragraph(vec![
                words("One line of a comment, beginning with "),
                code(PREFIX),
                words(", not in a quote, a list or code."),
            ]),
        ),
        (
            Some("Commands".to_owned()),
            Block::Table { head: titles(&["command", "what it does", "example", "who"]), rows: verbs.collect() },
        ),
        (
            Some("Keys of run, beside the parameters of the suite".to_owned()),
            Block::Table { head: titles(&["key", "what it says", "example"]), rows: keys.collect() },
        ),
    ];
    if !known.suites.is_empty() {
        blocks.push((Some("Suites".to_owned()), Block::List(known.suites.iter().map(suite).collect())));
    }
    Answer { kind: Kind::Help, title: vec![words("how to ask")], blocks }
}

/// A suite with its presets and parameters.
fn suite(suite: &SuiteKeys) -> Vec<Span> {
    let mut line = vec![code(suite.name.as_str())];
    if !suite.presets.is_empty() {
        line.push(words("; presets "));
        line.extend(codes(suite.presets.iter().cloned()));
    }
    if !suite.parameters.is_empty() {
        line.push(words("; parameters "));
        line.extend(codes(suite.keys().map(str::to_owned)));
    }
    line
}

/// Why nothing was done.
#[must_use]
pub fn refusal(error: &CommandError) -> Answer {
    let mut blocks = vec![(None, Block::Paragraph(vec![words(error.message.clone())]))];
    if let Some(line) = &error.complete_line {
        blocks.push((None, Block::Paragraph(vec![words("Type "), code(line.clone()), words(" in a new comment.")])));
    }
    blocks.push((
        None,
        Block::Paragraph(vec![
            words("Nothing was started. "),
            code(format!("{PREFIX} help")),
            words(" lists all commands."),
        ]),
    ));
    Answer { kind: Kind::Refusal, title: vec![words("the command is not understood")], blocks }
}
