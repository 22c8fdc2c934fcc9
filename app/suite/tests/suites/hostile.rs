//! Whatever the text: a suite or an error with file and line, never a panic.

use proptest::prelude::*;
use suite::Suite;

use crate::{LOCAL, SCRIPTS, ZEPHYR};

/// One line, with the file, a line that the file has, and a message.
fn check(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = Suite::parse_beside("s.toml", text, SCRIPTS) {
        let lines = text.split('\n').count();
        prop_assert!((1..=lines).contains(&error.line), "line {} of {lines}", error.line);
        let shown = error.to_string();
        prop_assert!(shown.starts_with(&format!("s.toml:{}: ", error.line)), "{shown}");
        prop_assert!(!shown.contains('\n') && shown.len() > 12, "{shown:?}");
        prop_assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    Ok(())
}

/// A place of the text that lies between characters.
fn boundary(text: &str, at: prop::sample::Index) -> usize {
    let mut at = at.index(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Insert(String),
    Delete(usize),
    Copy(prop::sample::Index, usize),
    DropLine,
}

fn change() -> impl Strategy<Value = Change> {
    let tokens = prop::sample::select(vec![
        "\"",
        "{",
        "}",
        "[",
        "]",
        "=",
        "\n",
        ",",
        "[[",
        "{x}",
        "{{",
        "%",
        "-1",
        "1e999",
        "nan",
        "0x7fffffffffffffff",
        "99999999999999999999",
        "true",
        "'",
        "\u{1b}[31m",
        "\\u0000",
        "1979-05-27",
        "..",
        "*",
        "a.b.c",
        "(?P<",
        "\"\"",
        "schema",
        "name",
        "é",
        "[a]\n",
        "0",
        "\"?\"",
    ]);
    prop_oneof![
        4 => tokens.prop_map(|token| Change::Insert(token.to_owned())),
        1 => "\\PC{1,4}".prop_map(Change::Insert),
        3 => (1_usize..12).prop_map(Change::Delete),
        2 => (any::<prop::sample::Index>(), 1_usize..40).prop_map(|(from, length)| Change::Copy(from, length)),
        2 => Just(Change::DropLine),
    ]
}

/// Changes of a text, and where they are made.
pub(crate) fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Change)>> {
    prop::collection::vec((any::<prop::sample::Index>(), change()), 1..8)
}

pub(crate) fn apply(mut text: String, changes: Vec<(prop::sample::Index, Change)>) -> String {
    for (at, change) in changes {
        let at = boundary(&text, at);
        match change {
            Change::Insert(token) => text.insert_str(at, &token),
            Change::Delete(count) => {
                let rest: String = text[at..].chars().skip(count).collect();
                text.truncate(at);
                text.push_str(&rest);
            }
            Change::Copy(from, length) => {
                let from = boundary(&text, from);
                let piece: String = text[from..].chars().take(length).collect();
                text.insert_str(at, &piece);
            }
            Change::DropLine => {
                let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
                let end = text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
                text.replace_range(start..end, "");
            }
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_suites(
        which in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..5),
    ) {
        let text = if which { LOCAL } else { ZEPHYR };
        check(&apply(text.to_owned(), changes))?;
    }

    #[test]
    fn any_text(text in "(\\PC|\n){0,200}") {
        check(&text)?;
    }
}
