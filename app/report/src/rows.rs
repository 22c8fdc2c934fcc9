//! The rows of the table: every row of every treatment, confirmed changes first, then by share of CPU time.

use std::collections::HashMap;

use domain::view::{Metric, Ordered, RowStats, TOTAL, TableRow, Treatment, Verdict, View, Why};
use serde::Serialize;

use crate::dialect::Dialect;
use crate::figures::{Claim, Figure, figure};
use crate::needed::{self, Rule};
use crate::numbers;
use crate::renderer::RenderError;
use crate::words::Words;

/// Rows in order, as figures.
pub(crate) struct Row<'a> {
    /// Position of the treatment in the view.
    pub(crate) arm: usize,
    /// The treatment.
    pub(crate) treatment: &'a Treatment,
    /// Name of the row.
    pub(crate) name: &'a str,
    /// Its cells.
    pub(crate) cells: &'a TableRow,
    /// Its verdict by itself, where it was judged.
    pub(crate) verdict: Option<Verdict>,
    /// Its statistics by CPU and by elapsed time.
    pub(crate) stats: [Option<&'a RowStats>; 2],
    /// By CPU time.
    pub(crate) cpu: Figure,
    /// By elapsed time.
    pub(crate) elapsed: Figure,
    /// Share of the CPU time, the larger of the two arms.
    pub(crate) share: f64,
    /// What decides its place.
    pub(crate) place: u8,
}

impl Row<'_> {
    /// The statistics of a metric.
    pub(crate) fn stats(&self, metric: Metric) -> Option<&RowStats> {
        self.stats[metric as usize]
    }

    /// The figure of a metric.
    pub(crate) fn figure(&self, metric: Metric) -> &Figure {
        match metric {
            Metric::Cpu => &self.cpu,
            Metric::Elapsed => &self.elapsed,
        }
    }

    /// The gravest claim of the two metrics.
    pub(crate) fn claim(&self) -> Claim {
        self.cpu.claim.min(self.elapsed.claim)
    }

    /// The sum of all rows.
    pub(crate) fn is_total(&self) -> bool {
        self.name == TOTAL
    }
}

/// Every row of every judged treatment: the headline's first, each with its total first.
pub(crate) fn collect<'a>(view: &'a View, words: &Words) -> Result<Vec<Row<'a>>, RenderError> {
    let head = view.head().map(|t| t.name.as_str());
    let done = needed::done(view);
    let mut rows = Vec::new();
    for (arm, treatment) in view.treatments.iter().enumerate() {
        let Some(judgement) = &treatment.judgement else { continue };
        let totals = totals(&judgement.table);
        let rule = Rule::new(judgement, &view.settings, done);
        let verdicts: HashMap<&str, Verdict> =
            judgement.rows.iter().flat_map(Ordered::iter).map(|(name, verdict)| (name, *verdict)).collect();
        let known: [HashMap<&str, &RowStats>; 2] =
            Metric::ALL.map(|metric| judgement.stages[metric].iter().flat_map(Ordered::iter).collect());
        for (name, cells) in judgement.table.iter() {
            let verdict = verdicts.get(name).copied();
            let stats = [known[0].get(name).copied(), known[1].get(name).copied()];
            let cpu = figure(stats[0], &view.settings, words, Metric::Cpu, &cells.cpu, rule.row(name, Metric::Cpu))?;
            let need = rule.row(name, Metric::Elapsed);
            let elapsed = figure(stats[1], &view.settings, words, Metric::Elapsed, &cells.elapsed, need)?;
            let share = share(cells, totals);
            let mut row = Row { arm, treatment, name, cells, verdict, stats, cpu, elapsed, share, place: 0 };
            row.place = place(&row);
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| (Some(row.treatment.name.as_str()) != head, row.arm);
        key(a).cmp(&key(b)).then_with(|| order(a, b))
    });
    Ok(rows)
}

/// The order of rows of one treatment.
fn order(a: &Row<'_>, b: &Row<'_>) -> std::cmp::Ordering {
    a.place.cmp(&b.place).then(b.share.total_cmp(&a.share))
}

/// The `limit` rows that matter most, in the order in which all of them stand.
pub(crate) fn worst<'r, 'a>(rows: &'r [Row<'a>], limit: usize) -> Vec<&'r Row<'a>> {
    if rows.len() <= limit {
        return rows.iter().collect();
    }
    let mut positions: Vec<usize> = (0..rows.len()).collect();
    positions.sort_by(|a, b| order(&rows[*a], &rows[*b]).then(a.cmp(b)));
    positions.truncate(limit);
    positions.sort_unstable();
    positions.into_iter().map(|i| &rows[i]).collect()
}

fn place(row: &Row<'_>) -> u8 {
    let broken =
        |why: Option<Why>| matches!(why, Some(Why::MissingInControl | Why::MissingInTreatment | Why::BadValue));
    if row.is_total() {
        return 0;
    }
    if broken(row.cells.cpu.why) || broken(row.cells.elapsed.why) {
        return 1;
    }
    match (row.claim(), row.verdict) {
        (Claim::Beyond, _) => 2,
        (Claim::Open, _) => 3,
        (_, Some(Verdict::Inconclusive)) => 6,
        (Claim::Within, _) => 4,
        (Claim::Lower, _) => 5,
        (Claim::None, _) => 7,
    }
}

/// CPU time of control and treatment.
fn totals(table: &Ordered<TableRow>) -> [f64; 2] {
    if let Some(total) = table.get(TOTAL) {
        return [total.cpu.control.unwrap_or(0.0), total.cpu.treatment.unwrap_or(0.0)];
    }
    table.iter().fold([0.0; 2], |sum, (_, row)| {
        [sum[0] + row.cpu.control.unwrap_or(0.0), sum[1] + row.cpu.treatment.unwrap_or(0.0)]
    })
}

fn share(cells: &TableRow, totals: [f64; 2]) -> f64 {
    let one = |value: Option<f64>, total: f64| if total > 0.0 { value.unwrap_or(0.0) / total } else { 0.0 };
    one(cells.cpu.control, totals[0]).max(one(cells.cpu.treatment, totals[1]))
}

/// A row of finished texts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    treatment: String,
    stage: String,
    cpu_control: String,
    cpu_treatment: String,
    cpu_change: Change,
    elapsed_control: String,
    elapsed_treatment: String,
    elapsed_change: Change,
    memory: String,
}

/// A change in two halves.
#[derive(Clone, Debug, Serialize)]
struct Change {
    main: String,
    sub: String,
}

/// The texts of a row.
pub(crate) fn line(row: &Row<'_>, dialect: Dialect, cap: usize) -> Line {
    let name = dialect.cell(row.name, cap);
    let glue = |text: &str| if dialect == Dialect::Markdown { text.replace(' ', "\u{A0}") } else { text.to_owned() };
    let [cpu_control, cpu_treatment] = means(row, Metric::Cpu).map(|text| glue(&text));
    let [elapsed_control, elapsed_treatment] = means(row, Metric::Elapsed).map(|text| glue(&text));
    Line {
        treatment: dialect.cell(&row.treatment.name, cap.min(32)),
        stage: if row.is_total() { dialect.strong(TOTAL) } else { name },
        cpu_control,
        cpu_treatment,
        cpu_change: change(&row.cpu, dialect),
        elapsed_control,
        elapsed_treatment,
        elapsed_change: change(&row.elapsed, dialect),
        memory: numbers::memory(row.cells.mem_peak).unwrap_or_else(|| "—".to_owned()),
    }
}

/// The halves of a change. In a cell the pieces between commas stay on one line each.
fn change(figure: &Figure, dialect: Dialect) -> Change {
    let main = match figure.claim {
        Claim::None => figure.change.clone(),
        claim => format!("{} {}", claim.sign(), dialect.strong(&figure.change)),
    };
    let sub =
        if figure.noise.is_empty() { figure.context.clone() } else { format!("{}; {}", figure.context, figure.noise) };
    let sub = if figure.judged && dialect == Dialect::Markdown {
        sub.replace(' ', "\u{A0}")
            .replace(",\u{A0}detects", ", detects")
            .replace(",\u{A0}tolerates", ", tolerates")
            .replace(";\u{A0}", "; ")
    } else {
        sub
    };
    Change { main, sub }
}

/// Means per run.
fn means(row: &Row<'_>, metric: Metric) -> [String; 2] {
    let cell = row.cells.cell(metric);
    let mean = |sum: Option<f64>, n: usize| sum.map(|sum| sum / n.max(1) as f64);
    let pair = [mean(cell.control, cell.n_control), mean(cell.treatment, cell.n_treatment)];
    numbers::seconds_pair(pair).map(|text| text.unwrap_or_else(|| "—".to_owned()))
}
