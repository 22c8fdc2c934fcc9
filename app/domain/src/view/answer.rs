//! The one further comment: help, refusal, status, plan, explanation.

use serde::{Deserialize, Serialize};

/// What an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// How to ask.
    Help,
    /// Why something was not done.
    Refusal,
    /// How far things are.
    Status,
    /// What would be done.
    Plan,
    /// How a number came to be.
    Explain,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Help, Self::Refusal, Self::Status, Self::Plan, Self::Explain];

    /// The key of its words.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Refusal => "refusal",
            Self::Status => "status",
            Self::Plan => "plan",
            Self::Explain => "explain",
        }
    }
}

/// A piece of a line. All of it is shown as text: nothing in it becomes a mention, a link or markup by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Prose.
    Words(String),
    /// A name, a command, a value.
    Code(String),
    /// A link to a page of our own.
    Link {
        /// Its text.
        text: String,
        /// Its address; anything but http and https is shown as text.
        url: String,
    },
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A list.
    List(Vec<Vec<Span>>),
    /// A table with as many columns as its head.
    Table {
        /// The titles of the columns.
        head: Vec<String>,
        /// The rows.
        rows: Vec<Vec<Vec<Span>>>,
    },
    /// Lines as they are.
    Lines(String),
}

/// The one further comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What it is about.
    pub kind: Kind,
    /// What it says in one line.
    pub title: Vec<Span>,
    /// Its parts, each with a title or without.
    pub blocks: Vec<(Option<String>, Block)>,
}
