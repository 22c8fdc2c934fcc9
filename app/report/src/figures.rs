//! One row and metric as people read it: the change with its interval, what the comparison could detect, what is
//! tolerated, and how many rounds it rests on; or why it is not judged.

use domain::view::{Cell, Config, Direction, Interval, Metric, Note, RowStats, Side, Why};
use serde_json::json;

use crate::numbers;
use crate::renderer::RenderError;
use crate::words::Words;
use crate::{needed::Promise, numbers::seconds};

/// A change, told in full and in two halves for a narrow cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figure {
    /// `+3.1 % ±0.9`.
    pub(crate) change: String,
    /// `detects ≥ 1.9 %, tolerates 5 %, n=3`, or why it is not judged.
    pub(crate) context: String,
    /// What could be detected: `1.9 %`.
    pub(crate) detects: String,
    /// What is tolerated: `5 %`.
    pub(crate) tolerates: String,
    /// Where the noise band is as wide as the tolerance: what would mend that.
    pub(crate) noise: String,
    /// What is claimed of it.
    pub(crate) claim: Claim,
    /// Natural logarithm of the ratio; 0 where there is none.
    pub(crate) effect: f64,
    /// Rounds, or control and treatment runs: `3`, `6/3`.
    pub(crate) n: String,
    /// There is a ratio.
    pub(crate) known: bool,
    /// Judged by this metric.
    pub(crate) judged: bool,
    /// Not judged because nothing of this comparison is.
    pub(crate) screened: bool,
}

impl Figure {
    /// `+3.1 % ±0.9, detects ≥ 1.9 %, tolerates 5 % (n=3)`.
    pub(crate) fn full(&self) -> String {
        if self.judged {
            let context = self.context.strip_suffix(&format!(", n={}", self.n)).unwrap_or(&self.context);
            format!("{}, {context} (n={})", self.change, self.n)
        } else if self.screened {
            format!("{} (n={})", self.change, self.n)
        } else if self.known {
            format!("{} ({}, n={})", self.change, self.context, self.n)
        } else {
            self.context.clone()
        }
    }
}

/// What is claimed of a row by one metric, the gravest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// A confirmed increase beyond what is tolerated.
    Beyond,
    /// A confirmed increase that may be tolerated.
    Open,
    /// A confirmed increase that is tolerated.
    Within,
    /// A confirmed decrease.
    Lower,
    /// None.
    #[default]
    None,
}

impl Claim {
    /// The claim of a row's statistics.
    pub(crate) fn of(row: &RowStats) -> Self {
        if row.beyond {
            Self::Beyond
        } else if row.small == Some(Side::Higher) {
            Self::Within
        } else {
            match row.direction {
                Direction::Higher => Self::Open,
                Direction::Lower => Self::Lower,
                Direction::Flat | Direction::Unknown => Self::None,
            }
        }
    }

    /// The sign that marks it in a table.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Beyond => "⛔",
            Self::Open => "⚠️",
            Self::Within => "▲",
            Self::Lower => "▼",
            Self::None => "",
        }
    }
}

/// The figure of a row: its statistics, where there are some, its cell of the table, and what would settle it where it
/// holds the verdict open.
pub(crate) fn figure(
    stats: Option<&RowStats>,
    settings: &Config,
    words: &Words,
    metric: Metric,
    cell: &Cell,
    need: Option<Promise>,
) -> Result<Figure, RenderError> {
    let n = if cell.n_control == cell.n_treatment {
        cell.n_treatment.to_string()
    } else {
        format!("{}/{}", cell.n_control, cell.n_treatment)
    };
    let screened = matches!(cell.why, Some(Why::Reason(_)));
    let mut figure = Figure { n, judged: cell.judged, screened, ..Figure::default() };
    let no_ratio = matches!(cell.why, Some(Why::Note(Note::OverheadDominated | Note::ZeroBoth)));
    let middle = stats.map(|s| s.est.exp()).or(cell.ratio).filter(|r| r.is_finite() && *r > 0.0 && !no_ratio);
    let limits = match (stats, cell.lo, cell.hi) {
        (Some(s), _, _) => Some((s.lo.exp(), s.hi.exp())),
        (None, Some(lo), Some(hi)) => Some((lo, hi)),
        _ => None,
    };
    if let Some(ratio) = middle {
        figure.known = true;
        figure.effect = ratio.ln();
        figure.change = match limits {
            None => words.say("figure.no_interval", &json!({ "change": numbers::change(ratio) }))?,
            Some((lo, hi)) => numbers::interval(ratio, lo, hi),
        };
    } else {
        "—".clone_into(&mut figure.change);
    }
    if let Some(stats) = stats {
        figure.detects = numbers::size(stats.mde90).unwrap_or_default();
        figure.tolerates = numbers::size(stats.margin_pass).unwrap_or_default();
        if cell.judged {
            figure.claim = Claim::of(stats);
        }
        if cell.judged && stats.margin_in_noise {
            figure.noise = match need {
                Some(Promise::Rounds(rounds)) => words.say("figure.noise", &json!({ "rounds": rounds }))?,
                Some(Promise::AtLeast(rounds)) => words.say("figure.noise_at_least", &json!({ "rounds": rounds }))?,
                Some(Promise::TooMany) => words.get("figure.noise_many")?,
                Some(Promise::Unknown) | None => words.get("figure.noise_beside")?,
            };
        }
    }
    figure.context = context(&figure, settings, words, metric, cell)?;
    Ok(figure)
}

fn context(
    figure: &Figure,
    settings: &Config,
    words: &Words,
    metric: Metric,
    cell: &Cell,
) -> Result<String, RenderError> {
    if !cell.judged {
        let why = match cell.why {
            Some(why) => why_words(why, settings, words, metric)?,
            None => words.get("note.not_judged")?,
        };
        let text = words.say("figure.not_judged", &json!({ "why": why }))?;
        let assumed = figure.known && cell.interval == Some(Interval::Assumed);
        return Ok(if assumed { format!("{}, {text}", words.get("figure.assumed")?) } else { text });
    }
    let mut parts = Vec::new();
    if !figure.detects.is_empty() {
        parts.push(words.say("figure.detects", &json!({ "size": figure.detects }))?);
    }
    if !figure.tolerates.is_empty() {
        parts.push(words.say("figure.tolerates", &json!({ "size": figure.tolerates }))?);
    }
    parts.push(format!("n={}", figure.n));
    Ok(parts.join(", "))
}

/// Why a row is not judged, in words.
pub(crate) fn why_words(why: Why, settings: &Config, words: &Words, metric: Metric) -> Result<String, RenderError> {
    match why {
        Why::Note(note) => note_words(note, settings, words, Some(metric)),
        Why::MissingInControl => words.get("why.missing_in_control"),
        Why::MissingInTreatment => words.get("why.missing_in_treatment"),
        Why::BadValue => words.get("why.bad_value"),
        Why::Decided => words.get("why.decided"),
        Why::Reason(_) => words.get("why.reason"),
    }
}

/// A note in words.
pub(crate) fn note_words(
    note: Note,
    settings: &Config,
    words: &Words,
    metric: Option<Metric>,
) -> Result<String, RenderError> {
    let floor = match metric {
        Some(metric) => seconds_plain(settings.min_value[metric]),
        None => format!("{} / {}", seconds_plain(settings.min_value.cpu), seconds_plain(settings.min_value.elapsed)),
    };
    let values = json!({
        "floor": floor,
        "share": numbers::share(settings.min_share),
        "overhead": numbers::share(settings.overhead_max),
        "tolerance": numbers::share(settings.work_tol),
    });
    let key = match note {
        Note::NotJudged if metric == Some(Metric::Elapsed) && !settings.paired => "not_judged_unpaired",
        note => note_key(note),
    };
    words.say(&format!("note.{key}"), &values)
}

/// `10 s` rather than `10.00 s`: a setting, not a measurement.
fn seconds_plain(x: f64) -> String {
    if x == x.round() && x < 10_000.0 { format!("{x} s") } else { seconds(x) }
}

/// The code of a note.
pub(crate) fn note_key(note: Note) -> &'static str {
    match note {
        Note::BelowFloor => "below_floor",
        Note::ZeroBoth => "zero_both",
        Note::ZeroOneSided => "zero_one_sided",
        Note::Immaterial => "immaterial",
        Note::OverheadDominated => "overhead_dominated",
        Note::NotJudged => "not_judged",
        Note::RoundsDropped => "rounds_dropped",
        Note::NoiseChangedNoClaim => "noise_changed_no_claim",
        Note::NoiseChangedCalibrationIgnored => "noise_changed_calibration_ignored",
        Note::Normalised => "normalised",
        Note::WorkDiffers => "work_differs",
        Note::NotCounted => "not_counted",
        Note::SmallHigher => "small_higher",
        Note::OomNotRepeated => "oom_not_repeated",
        Note::AppFailureNotRepeated => "app_failure_not_repeated",
    }
}
