//! The table of all rows, whatever the verdict: sums, ratio, interval, and whether the row was judged or why not.

use crate::case::{Reading, Stage};
use crate::config::{Config, Metric};
use crate::family::RowStats;
use crate::output::{Both, Cell, Interval, Note, Ordered, TOTAL, TableRow, Why};
use crate::reason::Reason;
use crate::sample::moments;
use crate::screen::{Data, Findings, SideTrials, Sides};
use crate::special::t_quantile;

/// What the table is made of.
pub(crate) struct Source<'s, 'a> {
    pub(crate) sides: &'s Sides<'a>,
    pub(crate) found: &'s Findings,
    pub(crate) data: &'s Data<'a>,
    pub(crate) family: &'s crate::config::PerMetric<Option<Vec<RowStats>>>,
    pub(crate) config: &'s Config,
    /// The reason of the verdict; `None` for a treatment that was decided earlier.
    pub(crate) reason: Option<Reason>,
    /// Whether rows were judged at all.
    pub(crate) judged: bool,
}

pub(crate) fn table(source: &Source<'_, '_>) -> Ordered<TableRow> {
    let names = &source.sides.names;
    let mut rows: Vec<(String, TableRow)> =
        names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), source.row(i..i + 1, i))).collect();
    if names.len() > 1 {
        rows.push((TOTAL.to_owned(), source.row(0..names.len(), names.len())));
    }
    Ordered(rows)
}

type Parts = std::ops::Range<usize>;

impl Source<'_, '_> {
    fn row(&self, parts: Parts, row: usize) -> TableRow {
        let peak = |side: &SideTrials<'_>| {
            side.grid
                .iter()
                .flat_map(|t| &t[parts.clone()])
                .filter_map(|s| s.and_then(|s| s.mem_peak_bytes_max.value()))
                .reduce(f64::max)
        };
        TableRow {
            cpu: self.cell(Metric::Cpu, parts.clone(), row),
            elapsed: self.cell(Metric::Elapsed, parts.clone(), row),
            items: self.both(row, |s| s.items),
            bytes_processed: self.both(row, |s| s.bytes_processed),
            total_shards: self.both(row, |s| s.total_shards),
            mem_peak: [peak(&self.sides.control), peak(&self.sides.treatment)],
        }
    }

    /// The sums of one row; `None` for TOTAL.
    fn both(&self, row: usize, field: impl Fn(&Stage) -> Reading + Copy) -> Option<Both> {
        let all = |side: &SideTrials<'_>| sum(side.grid.iter(), row..row + 1, field);
        (row < self.sides.names.len()).then(|| [all(&self.sides.control), all(&self.sides.treatment)])
    }

    fn cell(&self, metric: Metric, parts: Parts, row: usize) -> Cell {
        let field = |s: &Stage| s.metric(metric);
        let keep = self.found.keep.as_ref().map(|k| &k[metric]).filter(|k| self.sides.paired && !k.is_empty());
        let counting = |side: &'_ SideTrials<'_>| match keep {
            Some(keep) => (sum(keep.iter().map(|i| &side.grid[*i]), parts.clone(), field), keep.len()),
            None => (sum(side.grid.iter(), parts.clone(), field), side.grid.len()),
        };
        let ((control, n_control), (treatment, n_treatment)) =
            (counting(&self.sides.control), counting(&self.sides.treatment));
        let ratio = match (control, treatment) {
            (Some(c), Some(t)) if c > 0.0 && t > 0.0 => Some((t / n_treatment as f64) / (c / n_control as f64)),
            _ => None,
        };
        let series = self.data[metric].as_ref();
        let at = series.and_then(|s| s.rows.iter().position(|r| *r == row));
        let stats = self.family[metric].as_ref().zip(at).map(|(rows, at)| &rows[at]);
        let limits = match (stats, series, at) {
            (Some(stats), ..) => Some((stats.lo, stats.hi, Interval::Measured)),
            (None, Some(series), Some(at)) if ratio.is_some() => series.modes.last().map(|rows| {
                let m = moments(&rows[at].sample);
                let half = t_quantile(1.0 - self.config.alpha_eq, self.config.display_df)
                    * self.config.display_sd[metric]
                    * m.inv.sqrt();
                (m.est - half, m.est + half, Interval::Assumed)
            }),
            _ => None,
        };
        let why = self.why(metric, row, stats.is_some(), control.is_none() || treatment.is_none());
        Cell {
            control,
            treatment,
            n_control,
            n_treatment,
            ratio,
            lo: limits.map(|(lo, ..)| ratio_of(lo)),
            hi: limits.map(|(_, hi, _)| ratio_of(hi)),
            interval: limits.map(|(.., kind)| kind),
            judged: why.is_none(),
            why,
        }
    }

    fn why(&self, metric: Metric, row: usize, has_stats: bool, bad: bool) -> Option<Why> {
        if self.judged && has_stats && self.data[metric].as_ref().is_some_and(|s| s.claim) {
            return None;
        }
        let telling = |note: &&Note| {
            matches!(
                note,
                Note::BelowFloor | Note::ZeroBoth | Note::ZeroOneSided | Note::Immaterial | Note::OverheadDominated
            )
        };
        if let Some(note) = self.found.notes.row[metric][row].iter().find(telling) {
            return Some(Why::Note(*note));
        }
        let missing =
            |side: &SideTrials<'_>| row < self.sides.names.len() && side.grid.iter().any(|t| t[row].is_none());
        Some(if missing(&self.sides.control) {
            Why::MissingInControl
        } else if missing(&self.sides.treatment) {
            Why::MissingInTreatment
        } else if bad {
            Why::BadValue
        } else if self.judged {
            Why::Note(self.found.notes.metric[metric].first().copied().unwrap_or(Note::NotJudged))
        } else {
            self.reason.map_or(Why::Decided, Why::Reason)
        })
    }
}

/// The ratio of a log ratio, kept inside the numbers that exist.
fn ratio_of(log: f64) -> f64 {
    log.clamp(-700.0, 700.0).exp()
}

/// The sum over trials and rows; `None` where there is nothing or anything of it is missing or bad.
fn sum<'t>(
    trials: impl Iterator<Item = &'t Vec<Option<&'t Stage>>>,
    parts: Parts,
    field: impl Fn(&Stage) -> Reading,
) -> Option<f64> {
    let mut total = None;
    for stage in trials.flat_map(|t| &t[parts.clone()]) {
        *total.get_or_insert(0.0) += field((*stage)?).value()?;
    }
    total
}
