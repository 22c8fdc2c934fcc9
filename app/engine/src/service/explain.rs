//! How the number of a row came to be: what was measured round by round, what that comes to, what it was held against,
//! and why the row is judged as it is. From the view of a comparison alone.

#[cfg(test)]
mod tests;

use domain::view::{
    Answer, Block, Direction, Judgement, Kind, Metric, Normalize, Note, Pair, RowStats, Side, Span, Treatment, Verdict,
    View, Why,
};
use evidence::needed::{self, Promise, Rule};
use evidence::numbers;

use super::answers::{code, words};

/// Rows that are named where none is meant for sure.
const NAMED: usize = 20;

/// A line of the table of statistics: what it tells, and that for each metric.
type Fact = (&'static str, fn(&Told<'_>) -> Option<String>);

/// The answer to `explain` with the name of a row. The name may be in other letters, or a part, where that means one
/// row only.
#[must_use]
pub fn row(view: &View, asked: &str) -> Answer {
    let names = names(view);
    let asked = asked.trim();
    if names.is_empty() {
        let title = vec![words("nothing is measured yet, so there is no row to explain")];
        return Answer { kind: Kind::Explain, title, blocks: Vec::new() };
    }
    match find(&names, asked) {
        Ok(name) => explained(view, name),
        Err(near) => not_found(&names, asked, &near),
    }
}

/// Every row of every treatment once, in the order of the tables.
fn names(view: &View) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    let tables = view.treatments.iter().filter_map(|treatment| treatment.judgement.as_ref());
    tables
        .flat_map(|judgement| judgement.table.iter())
        .map(|(name, _)| name)
        .filter(|name| seen.insert(*name))
        .collect()
}

/// The row that is meant, or those that could be, the likeliest first.
fn find<'n>(names: &[&'n str], asked: &str) -> Result<&'n str, Vec<&'n str>> {
    if let Some(name) = names.iter().find(|name| **name == asked) {
        return Ok(name);
    }
    let low = asked.to_lowercase();
    let like = |fits: &dyn Fn(&str) -> bool| -> Vec<&'n str> {
        names.iter().copied().filter(|name| fits(&name.to_lowercase())).collect()
    };
    let same = like(&|name| name == low);
    let part = if low.is_empty() { Vec::new() } else { like(&|name| name.contains(&low)) };
    match (same.as_slice(), part.as_slice()) {
        ([only], _) | ([], [only]) => Ok(only),
        ([], []) => {
            let short = |text: &str| text.chars().take(100).collect::<String>();
            let (low, mut all) = (short(&low), names.to_vec());
            // Of equals the earlier one: the order of the table stays.
            all.sort_by_cached_key(|name| strsim::osa_distance(&short(&name.to_lowercase()), &low));
            Err(all)
        }
        ([], many) | (many, _) => Err(many.to_vec()),
    }
}

fn not_found(names: &[&str], asked: &str, near: &[&str]) -> Answer {
    let some = near.len() < names.len() || near.len() > NAMED;
    let before = match (near.len() < names.len(), some) {
        (true, _) => "These rows have it in their name:",
        (false, true) => "The nearest names:",
        (false, false) => "There are these:",
    };
    let title = if near.len() < names.len() {
        vec![code(asked), words(" is the name of no row, and part of several")]
    } else {
        vec![words("no row is named "), code(asked)]
    };
    let mut blocks = vec![(None, Block::Paragraph(vec![words(before)]))];
    blocks.push((None, Block::List(near.iter().take(NAMED).map(|name| vec![code(*name)]).collect())));
    if near.len() > NAMED {
        let more = format!("and {} more; the table of the comparison has all of them.", near.len() - NAMED);
        blocks.push((None, Block::Paragraph(vec![words(more)])));
    }
    Answer { kind: Kind::Explain, title, blocks }
}

fn explained(view: &View, name: &str) -> Answer {
    let mut blocks = Vec::new();
    let several = view.treatments.len() > 1;
    for treatment in &view.treatments {
        let title = several.then(|| format!("Treatment {}", treatment.name));
        let of = match &treatment.judgement {
            Some(judgement) if judgement.table.get(name).is_some() => of_treatment(view, treatment, judgement, name),
            Some(_) => vec![Block::Paragraph(vec![words("It has no such row, and neither has its control.")])],
            None => vec![Block::Paragraph(vec![words("Nothing is judged of it yet.")])],
        };
        blocks.extend(of.into_iter().enumerate().map(|(i, block)| (title.clone().filter(|_| i == 0), block)));
    }
    if !view.state.is_decided() {
        let provisional = "The comparison goes on: these numbers decide nothing yet.";
        blocks.push((None, Block::Paragraph(vec![words(provisional)])));
    }
    let mut title = vec![code(name)];
    if let Some(sha) = view.head().and_then(|treatment| treatment.sha.as_deref()) {
        title.extend([words(" of "), code(sha.chars().take(7).collect::<String>())]);
    }
    Answer { kind: Kind::Explain, title, blocks }
}

/// A row of a treatment by one metric, with everything that is told of it.
struct Told<'a> {
    view: &'a View,
    judgement: &'a Judgement,
    name: &'a str,
    metric: Metric,
    stats: &'a RowStats,
}

fn of_treatment(view: &View, treatment: &Treatment, judgement: &Judgement, name: &str) -> Vec<Block> {
    let told = Metric::ALL.map(|metric| {
        let stats = judgement.row(metric, name)?;
        Some(Told { view, judgement, name, metric, stats })
    });
    let mut blocks = Vec::new();
    blocks.extend(measured(view, treatment, name));
    if told.iter().any(Option::is_some) {
        blocks.push(statistics(&told));
    }
    let mut says: Vec<Vec<Span>> = told.iter().flatten().map(claim).collect();
    says.extend(Metric::ALL.iter().filter_map(|metric| not_judged(view, judgement, name, *metric)));
    says.extend(notes(judgement, name));
    if let (true, Some(unit)) = (told.iter().any(Option::is_some), unit(view)) {
        let both = format!("The row is judged by its time and by its time per {unit}: the interval spans both.");
        says.push(vec![words(both)]);
    }
    says.push(verdict(view, judgement, name));
    says.extend(open(view, judgement, name, &told));
    blocks.push(Block::List(says));
    if told.iter().any(Option::is_some) {
        blocks.extend(rule(view).map(|said| Block::Paragraph(vec![words(said)])));
    }
    blocks
}

/// Every round of both metrics.
fn measured(view: &View, treatment: &Treatment, name: &str) -> Option<Block> {
    let all = view.measured.as_ref()?;
    let [cpu, elapsed] = Metric::ALL.map(|metric| all.pairs(&treatment.name, name, metric));
    let paired = view.settings.paired;
    let seconds = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), numbers::seconds);
    let change = |pair: &Pair, clock: bool| match pair.ratio() {
        _ if clock && pair.spoiled => "does not count".to_owned(),
        Some(ratio) if paired => numbers::change(ratio),
        _ => "—".to_owned(),
    };
    let rows = cpu.iter().zip(&elapsed).enumerate().map(|(i, (cpu, elapsed))| {
        let mut cells = vec![(i + 1).to_string()];
        for (pair, clock) in [(cpu, false), (elapsed, true)] {
            cells.extend([seconds(pair.control), seconds(pair.treatment)]);
            if paired {
                cells.push(change(pair, clock));
            }
        }
        cells.into_iter().map(|cell| vec![words(cell)]).collect()
    });
    let rows: Vec<Vec<Vec<Span>>> = rows.collect();
    let head: &[&str] = if paired {
        &["Round", "CPU control", "CPU treatment", "change", "elapsed control", "elapsed treatment", "change"]
    } else {
        &["Run", "CPU control", "CPU treatment", "elapsed control", "elapsed treatment"]
    };
    let head = head.iter().map(|title| (*title).to_owned()).collect();
    (!rows.is_empty()).then_some(Block::Table { head, rows })
}

/// What the rounds come to and what that is held against.
fn statistics(told: &[Option<Told<'_>>; 2]) -> Block {
    let facts: [Fact; 14] = [
        ("estimate", |t| Some(numbers::interval(t.stats.est.exp(), t.stats.lo.exp(), t.stats.hi.exp()))),
        ("interval", |t| {
            let [lo, hi] = [t.stats.lo, t.stats.hi].map(|log| numbers::change(log.exp()));
            Some(format!("{lo} to {hi} ({} confidence)", numbers::share(t.stats.conf)))
        }),
        ("made of", |t| Some(format!("{}{}", counted(t), if per_unit(t) { ", per unit of work" } else { "" }))),
        ("standard error", |t| numbers::size(t.stats.se)),
        ("noise of one pair of runs", |t| {
            let pair = t.stats.se * (t.stats.n as f64).sqrt();
            numbers::size(pair).filter(|_| t.view.settings.paired)
        }),
        ("degrees of freedom", |t| Some(tenth(t.stats.df))),
        ("same-code ratios of this row", same_code),
        ("noise of all rows, mixed in", |t| {
            let sd = numbers::size(t.stats.s02.sqrt()).filter(|_| t.stats.d0 > 0.0)?;
            Some(format!("{sd}, with the weight of {} degrees of freedom", tenth(t.stats.d0)))
        }),
        ("calibration grade", |t| t.judgement.grade.map(|grade| grade.word().to_owned())),
        ("margin", |t| numbers::size(t.stats.margin)),
        ("tolerates", |t| {
            let text = numbers::size(t.stats.margin_pass)?;
            let wider = t.stats.margin_pass > t.stats.margin;
            Some(format!("{text}{}", if wider { ", as it is a small part of the total" } else { "" }))
        }),
        ("detects", |t| numbers::size(t.stats.mde90).map(|size| format!("≥ {size}, nine times out of ten"))),
        ("p of an increase", |t| Some(p_value(t, Side::Higher))),
        ("p of a decrease", |t| Some(p_value(t, Side::Lower))),
    ];
    let rows = facts.iter().filter_map(|(what, tell)| {
        let cells: Vec<Option<String>> = told.iter().map(|told| told.as_ref().and_then(tell)).collect();
        if cells.iter().all(Option::is_none) {
            return None;
        }
        let cells = cells.into_iter().map(|cell| vec![words(cell.unwrap_or_else(|| "—".to_owned()))]);
        Some(std::iter::once(vec![words(*what)]).chain(cells).collect())
    });
    Block::Table { head: vec![String::new(), "CPU".to_owned(), "elapsed".to_owned()], rows: rows.collect() }
}

fn counted(told: &Told<'_>) -> String {
    let row = told.judgement.table.get(told.name).map(|row| row.cell(told.metric));
    match (told.view.settings.paired, told.stats.n, row) {
        (true, 1, _) => "one round".to_owned(),
        (true, n, _) => format!("{n} rounds, the mean of the logarithms of their ratios"),
        (false, _, Some(cell)) => format!("{} control and {} treatment runs", cell.n_control, cell.n_treatment),
        (false, n, None) => format!("{n} runs an arm"),
    }
}

fn per_unit(told: &Told<'_>) -> bool {
    told.judgement.notes(&format!("work:{}", told.name)).contains(&Note::Normalised)
}

fn same_code(told: &Told<'_>) -> Option<String> {
    let measured = told.view.measured.as_ref()?;
    let ratios = measured.same_code(told.name, told.metric);
    let learnt = measured.learnt(told.name, told.metric);
    let mut text = match ratios.len() {
        0 => "none".to_owned(),
        n => {
            // Their mean is 0 by construction: both sides ran the same code.
            let sd = (ratios.iter().map(|log| log * log).sum::<f64>() / n as f64).sqrt();
            format!("{n}, spread {}", numbers::size(sd).unwrap_or_else(|| "unknown".to_owned()))
        }
    };
    if let Some(learnt) = learnt {
        text = format!("{text}; {} degrees of freedom from earlier comparisons", tenth(learnt.df));
    }
    Some(text)
}

/// A p value, after Holm, with its place in the family.
fn p_value(told: &Told<'_>, side: Side) -> String {
    let of = |row: &RowStats| match side {
        Side::Higher => (row.p_higher, row.holm_higher),
        Side::Lower => (row.p_lower, row.holm_lower),
    };
    let judged = told.view.treatments.iter().filter_map(|treatment| treatment.judgement.as_ref());
    let family: Vec<f64> = judged
        .filter_map(|judgement| judgement.stages[told.metric].as_ref())
        .flat_map(|rows| rows.iter().map(|(_, row)| of(row).0))
        .collect();
    let (p, holm) = of(told.stats);
    let before = family.iter().filter(|other| **other < p).count();
    format!("{}; after Holm {} (number {} of {} rows)", p_text(p), p_text(holm), before + 1, family.len())
}

fn p_text(p: f64) -> String {
    match p {
        p if !p.is_finite() => "unknown".to_owned(),
        p if p < 0.0001 => "below 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

fn tenth(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn label(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "CPU",
        Metric::Elapsed => "Elapsed",
    }
}

/// What is claimed of the row by a metric, and why.
fn claim(told: &Told<'_>) -> Vec<Span> {
    let stats = told.stats;
    let size = |log: f64| numbers::size(log).unwrap_or_else(|| "unknown".to_owned());
    let tolerates = size(stats.margin_pass);
    let too_few = stats.df < told.view.settings.min_df;
    let says = match (stats.beyond, stats.small, stats.direction, stats.suspect) {
        _ if too_few => format!(
            "nothing is decided with {} degrees of freedom; {} are needed",
            tenth(stats.df),
            tenth(told.view.settings.min_df)
        ),
        (true, ..) => format!("a confirmed increase; the whole interval is beyond the {tolerates} that it may grow"),
        (_, Some(Side::Higher), ..) => {
            format!("a confirmed increase; the whole interval is below the {tolerates} that it may grow")
        }
        (_, _, Direction::Higher, _) => {
            format!("a confirmed increase; the interval lies across the {tolerates} that it may grow")
        }
        (_, _, Direction::Lower, _) => "a confirmed decrease".to_owned(),
        (_, _, Direction::Flat, _) => {
            format!("no change: the whole interval lies within {} in either direction", size(stats.margin))
        }
        (_, _, Direction::Unknown, suspect) => {
            let suspected = match suspect {
                Some(Side::Higher) => "an increase is suspected and not confirmed",
                Some(Side::Lower) => "a decrease is suspected and not confirmed",
                None => "no change is confirmed",
            };
            let fits = if stats.ni {
                format!("the whole interval is below the {tolerates} that it may grow")
            } else if stats.margin_in_noise {
                format!("the noise is as wide as the {tolerates} that it may grow, so that nothing can be proven")
            } else {
                format!("the interval reaches beyond the {tolerates} that it may grow")
            };
            format!("{suspected}; {fits}")
        }
    };
    vec![words(format!("{}: {says}.", label(told.metric)))]
}

/// Why the row is not judged by a metric.
fn not_judged(view: &View, judgement: &Judgement, name: &str, metric: Metric) -> Option<Vec<Span>> {
    let cell = judgement.table.get(name)?.cell(metric);
    if cell.judged {
        return None;
    }
    let settings = &view.settings;
    let why = match cell.why {
        Some(Why::MissingInControl) => "the control has no such row, in some runs at least".to_owned(),
        Some(Why::MissingInTreatment) => "the treatment has no such row, in some runs at least".to_owned(),
        Some(Why::BadValue) => "a value is missing or no usable number".to_owned(),
        Some(Why::Decided) => "the treatment was decided at an earlier look, and nothing was judged anew".to_owned(),
        Some(Why::Reason(_)) => "the verdict was found before any numbers were compared".to_owned(),
        Some(Why::Note(Note::BelowFloor)) => {
            format!("it is shorter than {} s in every run", tenth(settings.min_value[metric]))
        }
        Some(Why::Note(Note::Immaterial)) => {
            format!("it is less than {} of the total", numbers::share(settings.min_share))
        }
        Some(Why::Note(Note::OverheadDominated)) => {
            format!("at least {} of it is fixed cost", numbers::share(settings.overhead_max))
        }
        Some(Why::Note(Note::ZeroBoth)) => "it took 0 s in every run".to_owned(),
        Some(Why::Note(Note::ZeroOneSided)) => "it took 0 s in some runs only".to_owned(),
        Some(Why::Note(_)) if metric == Metric::Elapsed && !settings.paired => {
            "elapsed times of runs at different times are not compared".to_owned()
        }
        Some(Why::Note(_)) | None => "no round is left that counts".to_owned(),
    };
    let shown = cell.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0).map(numbers::change);
    let shown = shown.map_or_else(String::new, |change| format!(" The means differ by {change}."));
    Some(vec![words(format!("{}: not judged, because {why}.{shown}", label(metric)))])
}

/// What is noted of the row that changes how its rounds are read.
fn notes(judgement: &Judgement, name: &str) -> Vec<Vec<Span>> {
    let mut says = Vec::new();
    for metric in Metric::ALL {
        let notes = [format!("{}:{name}", metric.key()), format!("{}:*", metric.key())];
        for note in notes.iter().flat_map(|key| judgement.notes(key)) {
            let text = match note {
                Note::RoundsDropped => "some rounds do not count, because a lost worker spoiled their clock",
                Note::NoiseChangedNoClaim => {
                    "the rounds differ from each other far more than the calibrated noise allows, so nothing is claimed"
                }
                Note::NoiseChangedCalibrationIgnored => {
                    "the rounds differ from each other far more than the calibrated noise allows, so they are judged by \
                     their own spread"
                }
                _ => continue,
            };
            says.push(vec![words(format!("{}: {text}.", label(metric)))]);
        }
    }
    for note in judgement.notes(&format!("work:{name}")) {
        let text = match note {
            Note::Normalised => "Times were divided by the work before they were compared; the table has the times.",
            Note::WorkDiffers => "The amount of work differs a little, and times were not divided by it.",
            Note::NotCounted => "The row does not say how much work it did.",
            _ => continue,
        };
        says.push(vec![words(text)]);
    }
    says
}

/// What times are also divided by, where somebody asked for it.
fn unit(view: &View) -> Option<&'static str> {
    match view.settings.normalize {
        Normalize::Item => Some("item"),
        Normalize::Byte => Some("byte"),
        Normalize::Auto | Normalize::None => None,
    }
}

/// The verdict of the row, and of the comparison.
fn verdict(view: &View, judgement: &Judgement, name: &str) -> Vec<Span> {
    let whole = if view.treatments.len() > 1 { "this treatment" } else { "the comparison" };
    let own = judgement.rows.as_ref().and_then(|rows| rows.get(name));
    let mut says = match own {
        Some(verdict) => vec![words("By itself this row is a "), code(verdict.word()), words("; ")],
        None => vec![words("This row has no verdict of its own; ")],
    };
    if own == Some(&Verdict::Inconclusive) {
        says[0] = words("By itself this row is ");
    }
    says.extend([
        words(format!("the verdict of {whole} is ")),
        code(judgement.verdict.word()),
        words(" with the reason "),
        code(judgement.reason.code()),
        words("."),
    ]);
    says
}

/// What would decide a row that is open.
fn open(view: &View, judgement: &Judgement, name: &str, told: &[Option<Told<'_>>; 2]) -> Vec<Vec<Span>> {
    let rule = Rule::new(judgement, &view.settings, needed::done(view));
    let needs = told.iter().flatten().filter_map(|told| {
        let needs = match rule.row(name, told.metric)? {
            Promise::Rounds(n) => format!("{n} rounds in all would decide it if the numbers stay as they are"),
            Promise::AtLeast(n) => format!("at least {n} rounds in all are needed"),
            Promise::TooMany => "more than 200 rounds would be needed at this noise".to_owned(),
            Promise::Unknown => return None,
        };
        Some(vec![words(format!("{}: {needs}.", label(told.metric)))])
    });
    needs.collect()
}

/// The rule by which a change is confirmed.
fn rule(view: &View) -> [String; 2] {
    let settings = &view.settings;
    let [cpu, elapsed] = Metric::ALL.map(|metric| {
        let text = format!("{:.3}", settings.alphas(metric).0 * 100.0);
        format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
    });
    let [least_cpu, least_elapsed] = Metric::ALL.map(|metric| numbers::share(settings.eps[metric]));
    let one = match numbers::size(settings.gross1.cpu.ln_1p()) {
        Some(gross) => format!(
            "One round alone confirms a change of CPU time only, from {gross} on and with at least {} same-code ratios.",
            tenth(settings.n1_min_calib)
        ),
        None => "One round alone confirms nothing.".to_owned(),
    };
    [
        format!(
            "A change is confirmed where p after Holm, over all rows of all treatments, is at most {cpu} for CPU and \
             {elapsed} for elapsed at this look, the estimate is at least {least_cpu} and {least_elapsed}, and it does \
             not hang on one round."
        ),
        format!("From five rounds on half of that is spent on the mean and half on the median. {one}"),
    ]
}
