//! Lines of words, names and links, as answers and remarks have them.

use domain::view::Span;

use crate::budget::Limits;
use crate::dialect::Dialect;

/// A line of spans. `cell` where it stands in a cell of a table.
pub(crate) fn spans(line: &[Span], dialect: Dialect, limits: Limits, cell: bool) -> String {
    let cap = limits.name * 6;
    let code = |text: &str| {
        let code = if cell { dialect.cell(text, cap) } else { dialect.code(text, cap) };
        // In a code span a command is only text; without this it could not be copied.
        code.replace("/\u{200B}ab-test", "/ab-test")
    };
    let most = limits.list.saturating_mul(4);
    line.iter()
        .take(most)
        .map(|span| match span {
            Span::Words(text) => {
                let spaced = |edge: bool| if edge { " " } else { "" };
                let (front, back) = (text.starts_with(' '), text.ends_with(' ') && text.trim() != "");
                format!("{}{}{}", spaced(front), dialect.prose(text, cap), spaced(back))
            }
            Span::Code(text) => code(text),
            Span::Link { text, url } => dialect.link(&code(text), Some(url)),
        })
        .collect()
}
