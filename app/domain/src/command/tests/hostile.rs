//! Any text at all: an answer, never a panic, and never a command from inside something else.

use proptest::prelude::*;

use super::*;

const PIECES: &[&str] = &[
    "/ab-test",
    "/ab-test zephyr",
    "/ab-test zephyr preset=light",
    " zephyr",
    " cancel",
    " run",
    " help",
    " preset=light",
    " treatment=a@head",
    " sources=",
    " skip x",
    " confirm ",
    " auto on",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "\t",
    "    ",
    "> ",
    "- ",
    "1. ",
    "# ",
    "```",
    "~~~",
    "`",
    "``",
    "<!--",
    "-->",
    "<details>",
    "</details>",
    "<b>",
    "</b>",
    "<br>",
    "<a href=\"",
    "\">",
    "[",
    "](x)",
    "[^1]",
    "[^1]: ",
    "![",
    "*",
    "**",
    "_",
    "~~",
    "|",
    "|---|",
    "---",
    "===",
    "\\",
    "&amp;",
    "&#47;",
    "\u{a0}",
    "\u{200b}",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "\u{b}",
    "“",
    "🤖",
    "ä",
    "'",
    "\"",
    "$(id)",
    ";",
    "..",
    ".",
    "=",
    "@",
    ",",
    "x",
];

fn hostile() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..30).prop_map(|pieces| pieces.concat())
}

/// Reads it, and looks at what came of it.
fn look(body: &str) -> Result<(), TestCaseError> {
    match read(body, &known()) {
        Ok(None) => prop_assert_eq!(extract(body), Found::None),
        Ok(Some(command)) => {
            prop_assert_eq!(command.suite.is_none(), command.request.suite.is_empty());
            prop_assert!(command.suite.is_some() || !command.verb.needs_suite);
            if command.verb.pairs == Pairs::Request {
                prop_assert!(command.request.options().is_ok());
            }
            for (_, value) in &command.request.pairs {
                prop_assert!(crate::request::check_value(value).is_ok() && !value.ends_with('.'));
            }
            let said = [command.digest, command.reason, command.row].into_iter().flatten();
            prop_assert!(said.into_iter().all(|text| !text.is_empty() && !text.contains(char::is_control)));
        }
        Err(error) => {
            prop_assert!(!error.message.is_empty() && !error.message.contains(char::is_control));
            let line = error.complete_line.as_deref().unwrap_or(PREFIX);
            prop_assert!(line.starts_with(PREFIX) && line.is_ascii());
        }
    }
    Ok(())
}

/// A line that is a command where it stands alone, in words that change nothing about where it stands.
fn prose() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just(""),
            Just("text"),
            Just("/ab-test zephyr"),
            Just("   /ab-test help"),
            Just("/ab-test"),
            Just("a *b* c")
        ],
        1..6,
    )
    .prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_has_an_answer(body in "\\PC{0,200}|(/ab-test[ \\PC]{0,60}\n?){1,3}") {
        look(&body)?;
    }

    #[test]
    fn hostile_pieces_have_an_answer(body in hostile()) {
        look(&body)?;
    }

    #[test]
    fn a_hostile_line_has_an_answer(rest in hostile()) {
        look(&format!("/ab-test zephyr{}", rest.replace(['\n', '\r'], " ")))?;
    }

    #[test]
    fn nothing_in_a_fence_a_quote_a_comment_or_headings_is_a_command(inner in prose(), outside in "[a-z ]{0,20}") {
        let each = |before: &str| format!("{before}{}\n", inner.replace('\n', &format!("\n{before}")));
        for wrapped in [
            format!("```\n{inner}\n```"),
            format!("````md\n{inner}\n```\n{inner}"),
            format!("~~~\n{inner}\n~~~"),
            each("> "),
            each("# "),
            each("    ").replacen("    ", "\n\n    ", 1),
            format!("<!--\n{inner}\n-->"),
            format!("<details>\n\n{inner}\n\n</details>"),
        ] {
            prop_assert_eq!(extract(&format!("{outside}\n\n{wrapped}\n\n{outside}")), Found::None, "{}", wrapped);
        }
    }

    #[test]
    fn what_stands_around_a_command_does_not_change_it(before in "([a-z äö🤖]{1,9}\n){0,4}", after in "(\n[a-z,. ]{1,9}){0,4}") {
        for end in ["\n", "\r\n", "\r"] {
            let body = format!("{before}\n/ab-test zephyr preset=light\n{after}").replace('\n', end);
            prop_assert_eq!(extract(&body), Found::One("/ab-test zephyr preset=light".to_owned()), "{:?}", body);
        }
    }
}

#[test]
fn deep_and_wide_bodies_are_read() {
    for (piece, most) in [
        (">", 60_000),
        ("> ", 30_000),
        ("- ", 30_000),
        ("[", 60_000),
        ("*", 60_000),
        ("`", 60_000),
        ("<b>", 20_000),
        ("<", 60_000),
        ("*a _b ", 10_000),
        ("![", 30_000),
        ("[^1]", 15_000),
        ("|", 60_000),
        ("/ab-test\n", 7_000),
        ("<b>\n/ab-test\n", 5_000),
        ("<i>\n\n/ab-test\n\n", 4_000),
        ("</b>\n\n", 10_000),
        ("<b>x</b>\n\n", 6_000),
        ("\\", 60_000),
        ("&", 60_000),
    ] {
        let body = format!("{}\n\n/ab-test zephyr", piece.repeat(most));
        assert!(body.chars().count() <= LONGEST_BODY, "{piece}");
        let found = extract(&body);
        assert!(!matches!(found, Found::TooLong { .. }), "{piece}");
    }
}
