//! Markdown for GitHub, or plain text for a terminal.

use crate::escape;

/// How foreign text, emphasis and links are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// GitHub's Markdown.
    Markdown,
    /// Plain text.
    Text,
}

impl Dialect {
    /// A name or value on a line of its own text.
    pub(crate) fn code(self, text: &str, cap: usize) -> String {
        match self {
            Self::Markdown => escape::code(text, cap),
            Self::Text => plain(text, cap),
        }
    }

    /// A name or value in a cell of a table.
    pub(crate) fn cell(self, text: &str, cap: usize) -> String {
        match self {
            Self::Markdown => escape::cell(text, cap),
            Self::Text => plain(text, cap),
        }
    }

    /// Foreign prose.
    pub(crate) fn prose(self, text: &str, cap: usize) -> String {
        match self {
            Self::Markdown => escape::prose(text, cap),
            Self::Text => escape::line(text, cap),
        }
    }

    /// A link, where the address may be linked; else the text alone.
    pub(crate) fn link(self, text: &str, url: Option<&str>) -> String {
        match (self, url.and_then(escape::address)) {
            (Self::Markdown, Some(url)) => format!("[{text}]({})", url.replace('(', "%28").replace(')', "%29")),
            (Self::Text, Some(url)) => format!("{text} <{url}>"),
            (_, None) => text.to_owned(),
        }
    }

    /// Emphasis.
    pub(crate) fn strong(self, text: &str) -> String {
        match self {
            Self::Markdown => format!("**{text}**"),
            Self::Text => text.to_owned(),
        }
    }
}

fn plain(text: &str, cap: usize) -> String {
    let text = escape::line(text, cap);
    if text.is_empty() { "(empty)".to_owned() } else { text }
}
