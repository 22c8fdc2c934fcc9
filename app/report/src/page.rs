//! The page: finished texts in the order in which the templates show them.

use serde::Serialize;
use serde_json::json;

use crate::budget::Limits;
use crate::details::Detail;
use crate::dialect::Dialect;
use crate::marker::Marker;
use crate::renderer::RenderError;
use crate::rows::{Line, Row, line, worst};
use crate::teller::Teller;

/// What the templates of comment, check and terminal text are filled with.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Page {
    marker: String,
    title: String,
    heading: String,
    verdict: String,
    sentences: Vec<String>,
    points: Vec<String>,
    workload: String,
    control: String,
    treatments: Vec<String>,
    /// The only treatment, where there is one.
    treatment: Option<String>,
    rows: Vec<Line>,
    legend: Vec<String>,
    data: String,
    infrastructure: String,
    interpretation: String,
    details: Vec<Detail>,
    left_out: Option<String>,
    footer: Vec<String>,
}

impl Page {
    /// The page of `teller`. `table` writes lines as a table.
    pub(crate) fn new(
        teller: &Teller<'_>,
        table: impl Fn(&[Line]) -> Result<String, RenderError>,
    ) -> Result<Self, RenderError> {
        let Limits { open_rows, name, .. } = teller.limits;
        let lines = |rows: &[&Row<'_>]| rows.iter().map(|row| line(row, teller.dialect, name)).collect::<Vec<_>>();
        let open = worst(teller.rows, open_rows);
        let (details, mut left) = teller.details(|rows| table(&lines(rows)))?;
        let hidden = teller.rows.len() - open.len();
        let folded = details.iter().any(|detail| detail.key == "rows");
        if hidden > 0 && !folded {
            left.retain(|text| !text.is_empty());
            left.insert(0, teller.words.say("left.rows", &json!({ "rows": teller.counted("rows", hidden as u64)? }))?);
        }
        let mut legend = teller.legend()?;
        if hidden > 0 && folded {
            legend.insert(0, teller.words.say("legend.folded", &json!({ "n": open.len(), "of": teller.rows.len() }))?);
        }
        let mut treatments = teller.treatments()?;
        let treatment = if treatments.len() == 1 { treatments.pop() } else { None };
        Ok(Self {
            marker: Marker::suite(&teller.view.suite).line(),
            title: teller.dialect.prose(&teller.view.title, 80),
            heading: teller.heading(true)?,
            verdict: teller.verdict()?,
            sentences: teller.sentences()?,
            points: teller.points()?,
            workload: teller.workload()?,
            control: teller.control()?,
            treatments,
            treatment,
            rows: lines(&open),
            legend,
            data: teller.data_check()?,
            infrastructure: teller.infrastructure()?,
            interpretation: teller.interpretation()?,
            details,
            left_out: left_out(teller, &left)?,
            footer: teller.footer()?,
        })
    }
}

/// One sentence that names everything that is left out and where it is.
fn left_out(teller: &Teller<'_>, left: &[String]) -> Result<Option<String>, RenderError> {
    if left.is_empty() {
        return Ok(None);
    }
    if teller.dialect == Dialect::Text {
        return teller.here("left.out_text", &json!({ "list": left.join(", ") })).map(Some);
    }
    let page = teller.view.provenance.page.as_deref().and_then(crate::escape::address);
    let place = match page {
        Some(_) => teller.dialect.link(&teller.words.get("footer.page")?, page),
        None => teller.words.get("left.no_page")?,
    };
    teller.words.say("left.out", &json!({ "list": left.join(", "), "place": place })).map(Some)
}
