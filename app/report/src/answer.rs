//! The parts of an answer.

use domain::view::Block;

use crate::budget::Limits;
use crate::details::aligned;
use crate::dialect::Dialect;
use crate::escape;
use crate::spans::spans;

/// A part of an answer with at most `most` lines, and how many are left out.
pub(crate) fn written(block: &Block, dialect: Dialect, limits: Limits, most: usize) -> (String, usize) {
    match block {
        Block::Paragraph(line) => (spans(line, dialect, limits, false), 0),
        Block::List(lines) => {
            let shown: Vec<String> =
                lines.iter().take(most).map(|line| format!("- {}", spans(line, dialect, limits, false))).collect();
            (shown.join("\n"), lines.len().saturating_sub(most))
        }
        Block::Table { head, rows } => {
            let titles: Vec<String> = head.iter().map(|t| dialect.prose(t, 80)).collect();
            let cells = rows.iter().take(most).map(|row| {
                let cell = |i: usize| row.get(i).map_or_else(String::new, |c| spans(c, dialect, limits, true));
                (0..head.len()).map(cell).collect()
            });
            let cells: Vec<Vec<String>> = cells.collect();
            let text = match dialect {
                Dialect::Text => aligned(&titles, head.len(), &cells),
                Dialect::Markdown => {
                    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
                    let above = [line(&titles), format!("|{}", "---|".repeat(head.len()))];
                    above.into_iter().chain(cells.iter().map(|cells| line(cells))).collect::<Vec<_>>().join("\n")
                }
            };
            (text, rows.len().saturating_sub(most))
        }
        Block::Lines(text) if dialect == Dialect::Text => {
            let lines: Vec<String> = text.lines().map(|line| format!("  {}", escape::line(line, 400))).collect();
            (lines.join("\n"), 0)
        }
        Block::Lines(text) => escape::block(text, most, limits.name.max(32) * 4),
    }
}
