//! The templates, and what is made with them.

use std::collections::BTreeMap;
use std::path::Path;

use domain::view::{Answer, View};
use handlebars::Handlebars;
use serde_json::{Value, json};

use crate::answer::written;
use crate::budget::{LIMIT, Limits, size};
use crate::dialect::Dialect;
use crate::marker;
use crate::page::Page;
use crate::rows::{Line, Row, collect};
use crate::spans::spans;
use crate::teller::Teller;
use crate::words::{self, Words};

/// The templates that are built in, by file name.
const TEMPLATES: [(&str, &str); 7] = [
    ("comment.hbs", include_str!("../../../templates/comment.hbs")),
    ("table.hbs", include_str!("../../../templates/table.hbs")),
    ("check_summary.hbs", include_str!("../../../templates/check_summary.hbs")),
    ("check_text.hbs", include_str!("../../../templates/check_text.hbs")),
    ("text.hbs", include_str!("../../../templates/text.hbs")),
    ("reply.hbs", include_str!("../../../templates/reply.hbs")),
    ("reply_text.hbs", include_str!("../../../templates/reply_text.hbs")),
];
const WORDS: &str = include_str!("../../../templates/words.txt");

/// GitHub's limit for the title of a check.
const TITLE: usize = 255;

/// What can go wrong with templates. Built-in ones do not fail.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template or the file of phrases has a mistake.
    #[error("{file}: {problem}")]
    Template {
        /// The file.
        file: String,
        /// What is wrong, with the line where it is known.
        problem: String,
    },
    /// A file of the folder could not be read.
    #[error("{file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The barest text that the templates make is still too long.
    #[error("the text has {size} bytes even with everything left out that can be; at most {limit} are allowed")]
    TooLong {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The whole body; its first line is the marker.
    pub body: String,
}

/// The three texts of a check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckText {
    /// One line without markup, at most 255 characters.
    pub title: String,
    /// What the verdict is and what to do.
    pub summary: String,
    /// The table and everything beside it.
    pub text: String,
}

/// Makes comments and texts from views.
pub struct Renderer {
    templates: Handlebars<'static>,
    words: Words,
    plain: Words,
}

impl Renderer {
    /// With the templates that are built in.
    ///
    /// # Errors
    /// Never with the built-in templates; the tests render every phrase.
    pub fn new() -> Result<Self, RenderError> {
        Self::with(&BTreeMap::new(), None)
    }

    /// With the files of `folder` in place of the built-in ones of the same name. Files that are not there stay built
    /// in; `words.txt` need only hold the phrases that differ.
    ///
    /// # Errors
    /// A file that cannot be read, that is not a template, or that names an unknown phrase.
    pub fn with_folder(folder: &Path) -> Result<Self, RenderError> {
        let read = |name: &str| -> Result<Option<(String, String)>, RenderError> {
            let path = folder.join(name);
            let file = path.display().to_string();
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Some((file, text))),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound && folder.is_dir() => Ok(None),
                Err(source) => Err(RenderError::Read { file, source }),
            }
        };
        let mut files = BTreeMap::new();
        for (name, _) in TEMPLATES {
            if let Some(found) = read(name)? {
                files.insert(name, found);
            }
        }
        let words = read(words::FILE)?;
        Self::with(&files, words.as_ref().map(|(file, text)| (file.as_str(), text.as_str())))
    }

    fn with(files: &BTreeMap<&str, (String, String)>, words: Option<(&str, &str)>) -> Result<Self, RenderError> {
        let mut templates = Handlebars::new();
        templates.set_strict_mode(true);
        templates.register_escape_fn(handlebars::no_escape);
        for (name, built_in) in TEMPLATES {
            let (file, text) = files.get(name).map_or((name, built_in), |(file, text)| (file.as_str(), text.as_str()));
            let key = name.trim_end_matches(".hbs");
            templates
                .register_template_string(key, text)
                .map_err(|e| RenderError::Template { file: file.to_owned(), problem: e.to_string() })?;
        }
        Ok(Self { templates, words: Words::new(WORDS, words, false)?, plain: Words::new(WORDS, words, true)? })
    }

    /// The verdict comment of a run, in whatever state it is. Never longer than 60,000 bytes.
    ///
    /// # Errors
    /// Templates of a folder that do not fit the page.
    pub fn comment(&self, view: &View) -> Result<Rendered, RenderError> {
        let rows = collect(view, &self.words)?;
        let body = fitting(|limits| self.fill("comment", &self.page(view, &rows, limits, Dialect::Markdown)?))?;
        Ok(Rendered { body })
    }

    /// The one further comment: help, refusal, status, plan, explanation.
    ///
    /// # Errors
    /// Templates of a folder that do not fit.
    pub fn reply(&self, answer: &Answer) -> Result<Rendered, RenderError> {
        let body = fitting(|limits| self.fill("reply", &self.answer(answer, limits, Dialect::Markdown)?))?;
        Ok(Rendered { body })
    }

    /// The same as plain text, up to one line break at its end.
    ///
    /// # Errors
    /// Templates of a folder that do not fit.
    pub fn reply_text(&self, answer: &Answer) -> Result<String, RenderError> {
        Ok(self.fill("reply_text", &self.answer(answer, Limits::ALL, Dialect::Text)?)? + "\n")
    }

    /// The one line of a comment that tells somebody of a verdict.
    #[must_use]
    pub fn notification(&self, login: &str, said: &str, link: Option<&str>) -> String {
        // The one mention that is meant: a login has letters, digits and dashes.
        let login: String = login.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let said = Dialect::Markdown.prose(said, TITLE);
        match link.and_then(crate::escape::address) {
            Some(url) => format!("@{login} {said}: [the comparison]({url})"),
            None => format!("@{login} {said}"),
        }
    }

    /// The texts of the check run.
    ///
    /// # Errors
    /// Templates of a folder that do not fit the page.
    pub fn check(&self, view: &View) -> Result<CheckText, RenderError> {
        let rows = collect(view, &self.words)?;
        let teller = self.teller(view, &rows, Limits::ALL, Dialect::Text);
        let title = crate::escape::line(&teller.heading(false)?, TITLE);
        let make = |name: &str| fitting(|limits| self.fill(name, &self.page(view, &rows, limits, Dialect::Markdown)?));
        Ok(CheckText { title, summary: make("check_summary")?, text: make("check_text")? })
    }

    /// The same content as plain text, with the rows that matter most, up to one line break at its end. What is left out
    /// is said.
    ///
    /// # Errors
    /// Templates of a folder that do not fit the page.
    pub fn text(&self, view: &View) -> Result<String, RenderError> {
        self.text_within(view, Limits::TERMINAL)
    }

    /// The same with every row.
    ///
    /// # Errors
    /// Templates of a folder that do not fit the page.
    pub fn text_of_all_rows(&self, view: &View) -> Result<String, RenderError> {
        self.text_within(view, Limits::ALL)
    }

    fn text_within(&self, view: &View, limits: Limits) -> Result<String, RenderError> {
        let rows = collect(view, &self.words)?;
        Ok(self.fill("text", &self.page(view, &rows, limits, Dialect::Text)?)? + "\n")
    }

    fn words_of(&self, dialect: Dialect) -> &Words {
        match dialect {
            Dialect::Markdown => &self.words,
            Dialect::Text => &self.plain,
        }
    }

    fn teller<'a>(&'a self, view: &'a View, rows: &'a [Row<'a>], limits: Limits, dialect: Dialect) -> Teller<'a> {
        Teller { view, words: self.words_of(dialect), dialect, limits, rows }
    }

    fn page(&self, view: &View, rows: &[Row<'_>], limits: Limits, dialect: Dialect) -> Result<Value, RenderError> {
        let teller = self.teller(view, rows, limits, dialect);
        let page = Page::new(&teller, |lines: &[Line]| self.fill("table", &json!({ "rows": lines })))?;
        Ok(json!(page))
    }

    fn fill(&self, template: &str, values: &Value) -> Result<String, RenderError> {
        let text = self
            .templates
            .render(template, values)
            .map_err(|e| RenderError::Template { file: format!("{template}.hbs"), problem: e.to_string() })?;
        Ok(text.trim_end().to_owned())
    }

    fn answer(&self, answer: &Answer, limits: Limits, dialect: Dialect) -> Result<Value, RenderError> {
        let words = self.words_of(dialect);
        let most = limits.list.saturating_mul(4);
        let mut blocks = Vec::new();
        for (title, block) in answer.blocks.iter().take(limits.list) {
            let (mut body, more) = written(block, dialect, limits, most);
            if more > 0 {
                body = format!("{body}\n\n{}", words.say("list.more_lines", &json!({ "n": more }))?);
            }
            blocks.push(json!({ "title": title.as_ref().map(|t| dialect.prose(t, 120)), "body": body }));
        }
        let left = answer.blocks.len().saturating_sub(limits.list);
        let left = if left > 0 { Some(words.say("list.more_lines", &json!({ "n": left }))?) } else { None };
        Ok(json!({
            "marker": marker::REPLY,
            "kind": words.get(&format!("answer.{}", answer.kind.key()))?,
            "title": spans(&answer.title, dialect, limits, false),
            "blocks": blocks,
            "left_out": left,
        }))
    }
}

/// The fullest text that is not too long.
fn fitting(make: impl Fn(Limits) -> Result<String, RenderError>) -> Result<String, RenderError> {
    // Each step shows no more than the one before: the first that fits is found by halving.
    let ladder = Limits::ladder();
    let (mut low, mut high) = (0, ladder.len());
    let mut found = None;
    let mut last = 0;
    while low < high {
        // Most comments fit as they are.
        let middle = if high == ladder.len() && low == 0 { 0 } else { usize::midpoint(low, high) };
        let text = make(ladder[middle])?;
        if size(&text) <= LIMIT {
            (found, high) = (Some(text), middle);
        } else {
            (last, low) = (size(&text), middle + 1);
        }
    }
    found.ok_or(RenderError::TooLong { size: last, limit: LIMIT })
}
