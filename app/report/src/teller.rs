//! Who tells: a view with its rows, the phrases, the dialect and the limits, and how names, lists and rows are found.

use domain::view::{Job, Judgement, Metric, Surface, TOTAL, Treatment, View};
use serde_json::{Value, json};

use crate::budget::Limits;
use crate::dialect::Dialect;
use crate::figures::Claim;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::words::Words;

type Said = Result<String, RenderError>;

/// What every sentence needs.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a> {
    /// What is told of.
    pub(crate) view: &'a View,
    /// The phrases.
    pub(crate) words: &'a Words,
    /// For whom.
    pub(crate) dialect: Dialect,
    /// How much.
    pub(crate) limits: Limits,
    /// Every row in order.
    pub(crate) rows: &'a [Row<'a>],
}

impl<'a> Teller<'a> {
    /// A name.
    pub(crate) fn name(&self, text: &str) -> String {
        self.dialect.code(text, self.limits.name)
    }

    /// The phrase `key` for where the reader is: `key.cli` on the command line and `key.jobs` where jobs were compared,
    /// where there is one.
    pub(crate) fn here(&self, key: &str, values: &Value) -> Said {
        let ends: &[&str] = match self.view.surface {
            Surface::Comment => &[],
            Surface::CommandLine => &["cli"],
            Surface::Jobs => &["jobs", "cli"],
            Surface::CommentJobs => &["jobs"],
        };
        let own = ends.iter().map(|end| format!("{key}.{end}")).find(|own| self.words.has(own));
        self.words.say(own.as_deref().unwrap_or(key), values)
    }

    /// The name of a row.
    pub(crate) fn row_name(&self, row: &Row<'_>) -> String {
        if row.is_total() { TOTAL.to_owned() } else { self.name(row.name) }
    }

    /// The first entries of a list as finished texts, with how many are left out.
    pub(crate) fn few(&self, texts: Vec<String>, most: usize) -> Said {
        let most = most.min(self.limits.list);
        let more = texts.len().saturating_sub(most);
        let mut few: Vec<String> = texts.into_iter().take(most).collect();
        if more > 0 {
            few.push(self.words.say("list.more", &json!({ "n": more }))?);
        }
        Ok(few.join(", "))
    }

    /// The rows of a treatment.
    pub(crate) fn rows_of(&self, treatment: &Treatment) -> impl Iterator<Item = &'a Row<'a>> + use<'a> {
        let treatment: *const Treatment = treatment;
        self.rows.iter().filter(move |row| std::ptr::eq(row.treatment, treatment))
    }

    /// The total of a treatment, or its only row.
    pub(crate) fn total_of(&self, treatment: &Treatment) -> Option<&'a Row<'a>> {
        let mut rows: Vec<_> = self.rows_of(treatment).collect();
        if rows.len() == 1 { rows.pop() } else { rows.into_iter().find(|row| row.is_total()) }
    }

    /// The judgement of the headline treatment, where there is one.
    pub(crate) fn judged(&self) -> Option<&'a Judgement> {
        self.view.head()?.judgement.as_ref()
    }

    /// Rows with a claim, the largest change first.
    pub(crate) fn claims(&self, treatment: &Treatment, claim: Claim) -> Vec<(&'a Row<'a>, Metric)> {
        let mut found: Vec<_> = Metric::ALL
            .into_iter()
            .flat_map(|m| self.rows_of(treatment).filter(move |row| row.figure(m).claim == claim).map(move |r| (r, m)))
            .collect();
        found.sort_by(|(a, m), (b, o)| {
            let size = |row: &Row<'_>, metric: Metric| row.figure(metric).effect.abs();
            m.cmp(o).then(size(b, *o).total_cmp(&size(a, *m)))
        });
        found
    }

    /// A job with its link.
    pub(crate) fn job(&self, job: &Job) -> String {
        self.dialect.link(&self.name(&job.id), job.url.as_deref())
    }
}
