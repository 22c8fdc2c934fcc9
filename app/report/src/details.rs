//! What is folded away, and in which order it goes when there is no room.

use std::collections::BTreeSet;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use domain::view::{Metric, RowStats};
use serde::Serialize;
use serde_json::json;

use crate::dialect::Dialect;
use crate::facts::{SHA, Work};
use crate::figures::note_words;
use crate::renderer::RenderError;
use crate::rows::{Row, worst};
use crate::teller::Teller;
use crate::{
    escape,
    needed::{self, Promise, Rule},
    numbers,
};

/// The details that can be dropped, the least needed first. What decides (`noise`) and the rows go last.
pub(crate) const DROPS: [&str; 11] = [
    "averages",
    "timeline",
    "work",
    "queries",
    "history",
    "context",
    "reproduce",
    "fingerprint",
    "errors",
    "rows",
    "noise",
];

/// Characters of a name in a table of a terminal: wider ones would push every other column out of sight.
const TEXT_CELL: usize = 60;

/// A block that is folded away.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detail {
    #[serde(skip)]
    pub(crate) key: &'static str,
    /// What stands on the fold.
    pub(crate) title: String,
    /// What is inside, finished.
    pub(crate) body: String,
}

/// What is inside a fold: its text and how many rows are left out of it.
type Body = Result<Option<(String, usize)>, RenderError>;

impl Teller<'_> {
    /// Everything that is folded away and fits the limits, with what is left out. `rows` is the text of all rows.
    pub(crate) fn details(
        &self,
        rows: impl Fn(&[&Row<'_>]) -> Result<String, RenderError>,
    ) -> Result<(Vec<Detail>, Vec<String>), RenderError> {
        let mut shown = Vec::new();
        let mut left = Vec::new();
        for key in [
            "noise",
            "rows",
            "errors",
            "work",
            "averages",
            "fingerprint",
            "context",
            "timeline",
            "reproduce",
            "queries",
            "history",
        ] {
            let body = match key {
                "noise" => self.noise()?,
                "rows" => self.all_rows(&rows)?,
                "errors" => self.errors()?,
                "work" => self.work_table()?,
                "averages" => self.averages()?,
                "fingerprint" => self.fingerprint()?,
                "context" => self.context()?,
                "timeline" => self.timeline()?,
                "reproduce" => self.reproduce()?,
                "queries" => self.lines(&self.view.queries),
                _ => self.history()?,
            };
            let Some((body, missing)) = body else { continue };
            let title = self.words.say(&format!("detail.{key}"), &json!({ "n": self.rows.len() }))?;
            if DROPS[..self.limits.dropped].contains(&key) {
                left.push(self.words.say("left.detail", &json!({ "title": title }))?);
                continue;
            }
            if missing > 0 {
                left.push(
                    self.words.say(
                        "left.rows_of",
                        &json!({ "rows": self.counted("rows", missing as u64)?, "title": title }),
                    )?,
                );
            }
            shown.push(Detail { key, title, body });
        }
        Ok((shown, left))
    }

    /// A table. `head` is the phrase of its columns, separated by `|`; `right` is the first column that is aligned right.
    fn table(&self, head: &str, right: usize, rows: &[Vec<String>]) -> Result<String, RenderError> {
        let head = self.words.get(head)?;
        if self.dialect == Dialect::Text {
            let titles: Vec<&str> = head.split('|').map(str::trim).collect();
            return Ok(aligned(&titles, right, rows));
        }
        let columns = head.split('|').count();
        let rule: Vec<&str> = (0..columns).map(|i| if i < right { "---" } else { "---:" }).collect();
        let mut lines = vec![format!("| {head} |"), format!("|{}|", rule.join("|"))];
        lines.extend(rows.iter().map(|row| format!("| {} |", row.join(" | "))));
        Ok(lines.join("\n"))
    }

    fn cell(&self, text: &str) -> String {
        let cap = if self.dialect == Dialect::Text { self.limits.name.min(TEXT_CELL) } else { self.limits.name };
        self.dialect.cell(text, cap)
    }

    fn all_rows(&self, text: &impl Fn(&[&Row<'_>]) -> Result<String, RenderError>) -> Body {
        // A terminal folds nothing away.
        if self.rows.len() <= self.limits.open_rows || self.dialect == Dialect::Text {
            return Ok(None);
        }
        let rows = worst(self.rows, self.limits.folded_rows);
        Ok(Some((text(&rows)?, self.rows.len() - rows.len())))
    }

    fn noise(&self) -> Body {
        let judged: Vec<(&Row<'_>, Metric, &RowStats)> = self
            .rows
            .iter()
            .flat_map(|row| Metric::ALL.map(|metric| (row, metric)))
            .filter_map(|(row, metric)| Some((row, metric, row.stats(metric)?)))
            .collect();
        // In a terminal every figure of the rows stands beside them.
        let most = if self.dialect == Dialect::Text { 0 } else { self.limits.folded_rows.saturating_mul(2) };
        let done = needed::done(self.view);
        let mut rows = Vec::new();
        for (row, metric, stats) in judged.iter().take(most) {
            let figure = row.figure(*metric);
            let dash = |text: &str| if text.is_empty() { "—".to_owned() } else { text.to_owned() };
            let need = row.treatment.judgement.as_ref().map(|j| Rule::new(j, &self.view.settings, done));
            let noise = match need.and_then(|rule| rule.row(row.name, *metric)) {
                _ if !stats.margin_in_noise => self.words.get("noise.fine")?,
                Some(Promise::Rounds(n)) => self.words.say("noise.rounds", &json!({ "n": n }))?,
                Some(Promise::AtLeast(n)) => self.words.say("noise.at_least", &json!({ "n": n }))?,
                Some(Promise::TooMany) => self.words.get("noise.many")?,
                Some(Promise::Unknown) | None => self.words.get("noise.beside")?,
            };
            rows.push(vec![
                self.cell(&row.treatment.name),
                self.cell(row.name),
                self.words.get(&format!("metric.{}", metric.key()))?,
                figure.change.clone(),
                numbers::size(stats.band).map_or_else(|| "—".to_owned(), |band| format!("±{band}")),
                dash(&figure.detects),
                dash(&figure.tolerates),
                figure.n.clone(),
                noise,
            ]);
        }
        let mut parts = Vec::new();
        if !judged.is_empty() {
            parts.push(self.words.get("noise.intro")?);
        }
        if !rows.is_empty() {
            parts.push(self.table("noise.head", 3, &rows)?);
        }
        let notes = self.notes()?;
        if !notes.is_empty() {
            parts.push(notes.join("\n"));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let missing = if self.dialect == Dialect::Text { 0 } else { judged.len().saturating_sub(most) };
        Ok(Some((parts.join("\n\n"), missing)))
    }

    /// The notes on rows, one line for each kind.
    fn notes(&self) -> Result<Vec<String>, RenderError> {
        let mut kinds: Vec<(String, BTreeSet<&str>)> = Vec::new();
        for treatment in &self.view.treatments {
            for (key, notes) in treatment.judgement.iter().flat_map(|judgement| judgement.notes.iter()) {
                let Some((prefix, row)) = key.split_once(':').filter(|(_, row)| *row != "*") else { continue };
                let metric = Metric::ALL.into_iter().find(|m| m.key() == prefix);
                for note in notes {
                    let mut text = note_words(*note, &self.view.settings, self.words, metric)?;
                    if let Some(metric) = metric {
                        text = format!("{}: {text}", self.words.get(&format!("noted.{}", metric.key()))?);
                    }
                    match kinds.iter_mut().find(|(kind, _)| *kind == text) {
                        Some((_, rows)) => {
                            rows.insert(row);
                        }
                        None => kinds.push((text, BTreeSet::from([row]))),
                    }
                }
            }
        }
        kinds
            .into_iter()
            .map(|(text, rows)| {
                let rows = rows.into_iter().map(|row| self.name(row)).collect();
                self.words.say("noise.note", &json!({ "text": text, "rows": self.few(rows, 12)? }))
            })
            .collect()
    }

    fn errors(&self) -> Body {
        let mut parts = Vec::new();
        let control = std::iter::once(("control", &self.view.control.errors));
        let arms = control.chain(self.view.treatments.iter().map(|t| (t.name.as_str(), &t.errors)));
        for (name, errors) in arms.filter(|(_, errors)| !errors.is_empty()).take(self.limits.list.min(8)) {
            let (block, more) = escape::block(&errors.join("\n"), 40, 300);
            let block = if self.dialect == Dialect::Text { plain_block(errors, 40) } else { block };
            parts.push(format!("{}\n\n{block}", self.name(name)));
            if more > 0 {
                parts.push(self.words.say("list.more_lines", &json!({ "n": more }))?);
            }
        }
        Ok(if parts.is_empty() { None } else { Some((parts.join("\n\n"), 0)) })
    }

    fn work_table(&self) -> Body {
        let stages: Vec<&Row<'_>> = self.rows.iter().filter(|row| !row.is_total()).collect();
        if stages.is_empty() {
            return Ok(None);
        }
        let most = self.limits.folded_rows;
        let mut rows = Vec::new();
        for row in stages.iter().take(most) {
            let runs = [row.cells.cpu.n_control, row.cells.cpu.n_treatment];
            let mut cells = vec![self.cell(&row.treatment.name), self.cell(row.name)];
            for both in [row.cells.items, row.cells.bytes_processed, row.cells.total_shards] {
                let [c, t] = both.unwrap_or([None, None]);
                let text = |x: Option<f64>, n: usize| x.map_or_else(|| "—".to_owned(), |x| amount(x / n.max(1) as f64));
                cells.push(match Work::of(both, runs) {
                    Work::NotCounted => self.words.get("work.not_counted")?,
                    Work::Equal => self.words.say("work.equal", &json!({ "n": text(c, runs[0]) }))?,
                    Work::OneSided => format!("{} → {}", text(c, runs[0]), text(t, runs[1])),
                    Work::Off(ratio) => {
                        let by = if (ratio - 1.0).abs() < 0.0005 {
                            self.words.get("data.tiny")?
                        } else {
                            numbers::change(ratio)
                        };
                        format!("{} → {} ({by})", text(c, runs[0]), text(t, runs[1]))
                    }
                });
            }
            rows.push(cells);
        }
        Ok(Some((self.table("work.head", 2, &rows)?, stages.len().saturating_sub(most))))
    }

    fn averages(&self) -> Body {
        if self.view.averages.is_empty() {
            return Ok(None);
        }
        let most = self.limits.folded_rows;
        let dash = || "—".to_owned();
        let rows: Vec<Vec<String>> = self
            .view
            .averages
            .iter()
            .take(most)
            .map(|a| {
                let cpu = a.cpu_pct.filter(|x| x.is_finite()).map_or_else(dash, |x| numbers::share(x / 100.0));
                let memory = a.mem_bytes.filter(|x| x.is_finite()).map_or_else(dash, numbers::bytes);
                vec![self.cell(&a.arm), self.cell(&a.row), cpu, memory]
            })
            .collect();
        let text = format!("{}\n\n{}", self.words.get("averages.intro")?, self.table("averages.head", 2, &rows)?);
        Ok(Some((text, self.view.averages.len().saturating_sub(most))))
    }

    fn fingerprint(&self) -> Body {
        let Some(fingerprint) = &self.view.fingerprint else { return Ok(None) };
        let mut parts =
            vec![self.words.say("fingerprint.digest", &json!({ "digest": self.name(&fingerprint.digest) }))?];
        if fingerprint.differences.is_empty() {
            parts.push(self.words.get("fingerprint.equal")?);
        } else {
            parts.push(self.words.get("fingerprint.differs")?);
            parts.push(self.bullets(&fingerprint.differences)?);
        }
        let most = self.limits.list.saturating_mul(4);
        let rows: Vec<Vec<String>> = fingerprint
            .fields
            .iter()
            .take(most)
            .map(|(field, value)| vec![self.cell(field), self.cell(value)])
            .collect();
        if !rows.is_empty() {
            parts.push(self.table("fingerprint.head", 2, &rows)?);
        }
        Ok(Some((parts.join("\n\n"), fingerprint.fields.len().saturating_sub(most))))
    }

    fn context(&self) -> Body {
        if self.view.context.is_empty() {
            return Ok(None);
        }
        Ok(Some((format!("{}\n\n{}", self.words.get("context.intro")?, self.bullets(&self.view.context)?), 0)))
    }

    fn bullets(&self, differences: &[domain::view::Difference]) -> Result<String, RenderError> {
        let most = self.limits.list;
        let mut lines = Vec::new();
        for difference in differences.iter().take(most) {
            lines.push(format!("- {}", self.difference(difference)?));
        }
        if differences.len() > most {
            lines.push(format!("- {}", self.words.say("list.more", &json!({ "n": differences.len() - most }))?));
        }
        Ok(lines.join("\n"))
    }

    fn timeline(&self) -> Body {
        if self.view.timeline.is_empty() {
            return Ok(None);
        }
        let most = self.limits.list.saturating_mul(4);
        let with_jobs = self.view.timeline.iter().any(|moment| moment.job.is_some());
        let head = if with_jobs { "timeline.head_jobs" } else { "timeline.head" };
        let rows: Vec<Vec<String>> = self
            .view
            .timeline
            .iter()
            .take(most)
            .map(|moment| {
                let began = moment.began.as_ref().map_or_else(|| "—".to_owned(), |at| self.cell(at));
                let took = moment.seconds.map_or_else(|| "—".to_owned(), numbers::duration);
                let mut cells = vec![self.cell(&moment.what), began, took];
                if with_jobs {
                    cells.push(moment.job.as_ref().map_or_else(|| "—".to_owned(), |job| self.cell(&job.id)));
                }
                cells
            })
            .collect();
        let text = format!(
            "{}\n\n{}",
            self.words.get("timeline.intro")?,
            self.table(head, if with_jobs { 4 } else { 2 }, &rows)?
        );
        Ok(Some((text, self.view.timeline.len().saturating_sub(most))))
    }

    fn reproduce(&self) -> Body {
        let Some((lines, missing)) = self.lines(&self.view.reproduce) else { return Ok(None) };
        let intro = match &self.view.provenance.repository {
            Some(repository) => self.words.say("reproduce.intro", &json!({ "repository": self.name(repository) }))?,
            None => return Ok(Some((lines, missing))),
        };
        Ok(Some((format!("{intro}\n\n{lines}"), missing)))
    }

    fn lines(&self, lines: &[String]) -> Option<(String, usize)> {
        if lines.is_empty() {
            return None;
        }
        let most = self.limits.list.saturating_mul(4).min(200);
        if self.dialect == Dialect::Text {
            return Some((plain_block(lines, most), lines.len().saturating_sub(most)));
        }
        // Our own commands and queries are copied from here: they stay as they are, in one line each.
        let (block, more) = escape::block(&lines.join("\n"), most, 4_000);
        Some((block.replace("\u{200B}", ""), more)).filter(|(block, _)| block.len() < 20_000).or_else(|| {
            let (block, more) = escape::block(&lines.join("\n"), 20, 400);
            Some((block, more))
        })
    }

    fn history(&self) -> Body {
        if self.view.history.is_empty() {
            return Ok(None);
        }
        let most = self.limits.list;
        let mut rows = Vec::new();
        for earlier in self.view.history.iter().take(most) {
            let head = self.cell(&earlier.head.chars().take(SHA).collect::<String>());
            rows.push(vec![
                self.dialect.link(&head, earlier.url.as_deref()),
                earlier.verdict.word().to_owned(),
                earlier.said.as_ref().map_or_else(|| "—".to_owned(), |said| self.dialect.prose(said, 120)),
                earlier.at.as_ref().map_or_else(|| "—".to_owned(), |at| self.dialect.prose(at, 40)),
            ]);
        }
        Ok(Some((self.table("history.head", 4, &rows)?, self.view.history.len().saturating_sub(most))))
    }
}

/// Columns of the width of their widest entry, two spaces apart, without lines.
pub(crate) fn aligned<T: AsRef<str>>(head: &[T], right: usize, rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head.iter().map(AsRef::as_ref)).add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if i < right { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.trim_fmt()
}

fn plain_block(lines: &[String], most: usize) -> String {
    lines
        .iter()
        .flat_map(|l| l.lines())
        .take(most)
        .map(|l| format!("  {}", escape::line(l, 400)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A whole number as it is; a mean of several runs with one decimal.
fn amount(x: f64) -> String {
    if !x.is_finite() || x < 0.0 {
        return "unknown".to_owned();
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked against 2^53
    if x.round() == x && x < 9e15 { numbers::count(x as u64) } else { format!("{x:.1}") }
}
