//! The README's table of commands is the table of verbs.

use super::*;
use crate::request::KEYS;

const README: &str = include_str!("../../../../../README.md");
const BEGIN: &str = "<!-- commands -->\n";
const END: &str = "<!-- /commands -->";

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn tables() -> String {
    let mut lines = vec!["| comment | what it does | who |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(
        Verb::built().map(|verb| format!("| {} | {} | {} |", code(&verb.form()), verb.meaning, verb.who.words())),
    );
    lines.extend([String::new(), "| key of `run` | what it says | example |".to_owned(), "|---|---|---|".to_owned()]);
    lines.extend(KEYS.iter().filter(|key| key.built).map(|key| {
        format!("| {} | {} | {} |", code(&format!("{}={}", key.name, key.form)), key.meaning, code(key.example))
    }));
    lines.join("\n") + "\n"
}

#[test]
fn the_readme_has_the_table() {
    let block = README.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(block, _)| block);
    let expected = tables();
    assert_eq!(block, Some(expected.as_str()), "between the markers of README.md has to stand:\n{expected}");
}
