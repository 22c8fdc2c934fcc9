//! The command line of a comment.
//!
//! Only what a reader sees as the comment's own prose can be a command: a line of a paragraph that stands in nothing
//! else. Which lines those are is told by the parser of Markdown; the line itself is taken from the source, so that
//! `_`, `*` and `<` stay as they were typed.

use std::borrow::Cow;

use comrak::nodes::{Node, NodeValue};
use comrak::{Arena, Options, parse_document};

use super::PREFIX;
use super::html::Elements;

/// Most characters of a comment: what GitHub allows.
pub const LONGEST_BODY: usize = 65_536;
/// Most characters of a command line.
pub const LONGEST_LINE: usize = 2_000;
/// Most columns that a command line is indented by; with more it would be code elsewhere.
const INDENT: usize = 3;

/// Most characters of markers that a line begins with: far more than anybody nests, and few enough for the parser, whose work
/// grows with the square of the depth.
const DEEPEST: usize = 500;

/// What a comment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No command line.
    None,
    /// One, from its `/` to its last character that is no blank.
    One(String),
    /// More than one.
    Two,
    /// A comment or a command line that is too long: its characters, and how many are allowed.
    TooLong {
        /// What it is.
        what: &'static str,
        /// Its characters.
        found: usize,
        /// Most characters.
        most: usize,
    },
}

/// The Markdown of GitHub.
fn options() -> Options<'static> {
    let mut options = Options::default();
    let extension = &mut options.extension;
    extension.strikethrough = true;
    extension.table = true;
    extension.autolink = true;
    extension.tasklist = true;
    extension.footnotes = true;
    extension.alerts = true;
    options
}

/// The lines as the parser of Markdown counts them.
fn lines(body: &str) -> impl Iterator<Item = &str> {
    body.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The line as a command, where it looks like one.
fn command(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > INDENT {
        return None;
    }
    let next = text.strip_prefix(PREFIX)?.chars().next();
    next.is_none_or(char::is_whitespace).then(|| text.trim_end_matches([' ', '\t']))
}

/// The line with no more markers before its text than are worth telling apart.
fn shallow(line: &str) -> Cow<'_, str> {
    let marks = |c: char| c.is_ascii_digit() || matches!(c, '>' | ' ' | '\t' | '-' | '*' | '+' | '.' | ')');
    // Markers are ASCII, so that every place among them is the boundary of a character.
    match line.find(|c| !marks(c)).unwrap_or(line.len()) {
        end if end > DEEPEST => Cow::Owned(format!("{}{}", &line[..DEEPEST], &line[end..])),
        _ => Cow::Borrowed(line),
    }
}

/// Finds the command line of a comment.
#[must_use]
pub fn extract(body: &str) -> Found {
    // Most comments hold nothing that looks like one, and need no parser.
    if !lines(body).any(|line| command(line).is_some()) {
        return Found::None;
    }
    let length = body.chars().count();
    if length > LONGEST_BODY {
        return Found::TooLong { what: "the comment", found: length, most: LONGEST_BODY };
    }
    let lines: Vec<&str> = lines(body).collect();
    let mut found = places(&lines).into_iter().filter_map(|line| command(lines.get(line.checked_sub(1)?)?));
    match (found.next(), found.next()) {
        (None, _) => Found::None,
        (Some(_), Some(_)) => Found::Two,
        (Some(line), None) => match line.chars().count() {
            length if length > LONGEST_LINE => {
                Found::TooLong { what: "the command line", found: length, most: LONGEST_LINE }
            }
            _ => Found::One(line.to_owned()),
        },
    }
}

/// The numbers, counted from 1, of the lines that begin as plain text of a paragraph which stands in nothing else.
fn places(lines: &[&str]) -> Vec<usize> {
    let arena = Arena::new();
    let body = lines.iter().map(|line| shallow(line)).collect::<Vec<_>>().join("\n");
    let root = parse_document(&arena, &body, &options());
    let mut elements = Elements::default();
    let mut begun = Vec::new();
    for block in root.children() {
        match &block.data().value {
            NodeValue::HtmlBlock(html) => elements.read(&html.literal),
            NodeValue::Paragraph => {
                let before = definitions(block, lines);
                let mut first = true;
                for inline in block.children() {
                    let inline = inline.data();
                    match &inline.value {
                        NodeValue::SoftBreak | NodeValue::LineBreak => {
                            first = true;
                            continue;
                        }
                        NodeValue::Text(text) if first && text.starts_with(PREFIX) => {
                            begun.push((inline.sourcepos.start.line + before, elements.place()));
                        }
                        NodeValue::HtmlInline(html) => elements.read(html),
                        _ => {}
                    }
                    first = false;
                }
            }
            _ => {}
        }
    }
    elements.free(&begun)
}

/// How many lines of definitions of links a paragraph begins with. The parser takes them out, and counts the lines of what is
/// left from where the paragraph began.
fn definitions(paragraph: Node<'_>, lines: &[&str]) -> usize {
    let place = paragraph.data().sourcepos;
    let begin = place.start.line.checked_sub(1).and_then(|at| lines.get(at));
    if !begin.is_some_and(|line| line.trim_start().starts_with('[')) {
        return 0;
    }
    let last = paragraph.last_child().map(|inline| inline.data().sourcepos.end.line);
    last.map_or(0, |last| place.end.line.saturating_sub(last))
}
