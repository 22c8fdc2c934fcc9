//! The rows that decide, the differences and the notes, one point each.

use domain::view::{Metric, Side, Verdict};
use serde_json::json;

use crate::figures::{Claim, note_words};
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::teller::Teller;

type Said = Result<String, RenderError>;

impl Teller<'_> {
    /// The rows that decide, and what is noted of the whole run.
    pub(crate) fn points(&self) -> Result<Vec<String>, RenderError> {
        let mut points = Vec::new();
        let Some((treatment, judgement)) = self.view.head().and_then(|t| Some((t, t.judgement.as_ref()?))) else {
            return Ok(points);
        };
        for (claim, key) in
            [(Claim::Beyond, "point.beyond"), (Claim::Open, "point.open"), (Claim::Within, "point.within")]
        {
            if let Some(rows) = self.listed(&self.claims(treatment, claim))? {
                points.push(self.words.say(key, &json!({ "rows": rows }))?);
            }
        }
        let open: Vec<_> = self
            .rows_of(treatment)
            .filter(|row| row.verdict == Some(Verdict::Inconclusive) && row.claim() > Claim::Open)
            .map(|row| (row, open_metric(row)))
            .collect();
        if let Some(rows) = self.listed(&open)? {
            points.push(self.words.say("point.undecided", &json!({ "rows": rows }))?);
        }
        if judgement.verdict == Verdict::Tradeoff
            && let Some(rows) = self.listed(&self.claims(treatment, Claim::Lower))?
        {
            points.push(self.words.say("point.lower", &json!({ "rows": rows }))?);
        }
        // A field without a value in either arm is one that could not be read.
        let (unknown, differ): (Vec<_>, Vec<_>) =
            treatment.mismatch.iter().partition(|one| one.control.is_none() && one.treatment.is_none());
        if !unknown.is_empty() {
            let fields = unknown.iter().map(|one| self.name(&one.field)).collect();
            points.push(self.words.say("point.unknown", &json!({ "fields": self.few(fields, 12)? }))?);
        }
        for difference in differ.into_iter().take(self.limits.list.min(12)) {
            let values = json!({ "difference": self.difference(difference)? });
            points.push(self.words.say("point.mismatch", &values)?);
        }
        for (key, notes) in judgement.notes.iter().filter(|(key, _)| key.ends_with(":*")) {
            let metric = Metric::ALL.into_iter().find(|m| key.starts_with(m.key()));
            for note in notes {
                let text = note_words(*note, &self.view.settings, self.words, metric)?;
                let what = self.words.get(&format!("noted.{}", metric.map_or("run", Metric::key)))?;
                points.push(self.words.say("point.note", &json!({ "what": what, "text": text }))?);
            }
        }
        Ok(points)
    }

    /// `field: control → treatment`.
    pub(crate) fn difference(&self, difference: &domain::view::Difference) -> Said {
        let side = |value: &Option<String>| value.as_ref().map(|v| self.name(v));
        let field = self.name(&difference.field);
        match (side(&difference.control), side(&difference.treatment)) {
            (Some(c), Some(t)) => Ok(format!("{field}: {c} → {t}")),
            (None, Some(t)) => self.words.say("difference.treatment", &json!({ "field": field, "value": t })),
            (Some(c), None) => self.words.say("difference.control", &json!({ "field": field, "value": c })),
            (None, None) => Ok(field),
        }
    }

    /// Rows, each once: the first three with their figures, the others by name.
    pub(crate) fn listed(&self, rows: &[(&Row<'_>, Metric)]) -> Result<Option<String>, RenderError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let mut named: Vec<(&Row<'_>, Vec<Metric>)> = Vec::new();
        for (row, metric) in rows {
            match named.iter_mut().find(|(known, _)| std::ptr::eq(*known, *row)) {
                Some((_, metrics)) => metrics.push(*metric),
                None => named.push((row, vec![*metric])),
            }
        }
        let mut texts = Vec::new();
        for (row, metrics) in named.iter().take(3) {
            let mut figures = Vec::new();
            for metric in metrics {
                let figure = row.figure(*metric);
                let metric = self.words.get(&format!("metric.{}", metric.key()))?;
                let noise = if figure.noise.is_empty() { String::new() } else { format!(" ({})", figure.noise) };
                figures.push(format!("{metric} {}{noise}", figure.full()));
            }
            texts.push(format!("{}: {}", self.row_name(row), figures.join(", ")));
        }
        if named.len() > 3 {
            let others = named.iter().skip(3).map(|(row, _)| self.row_name(row)).collect();
            texts.push(self.words.say("list.also", &json!({ "rows": self.few(others, 24)? }))?);
        }
        Ok(Some(texts.join("; ")))
    }
}

/// The metric that keeps a row from being decided.
fn open_metric(row: &Row<'_>) -> Metric {
    match row.stats(Metric::Cpu) {
        Some(cpu) if cpu.fits() && cpu.suspect != Some(Side::Higher) => Metric::Elapsed,
        _ => Metric::Cpu,
    }
}
