//! The answer of the procedure, with the field names of the contract.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::case::Grade;
use crate::config::{Metric, PerMetric};
use crate::digits;
use crate::family::RowStats;
use crate::reason::{Reason, Verdict};

/// The name of the sum of all rows.
pub const TOTAL: &str = "TOTAL";

/// A map that keeps its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ordered<T> {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(k, v)| (k, v)))
    }
}

/// What is noted of a row, of a metric, of the work, or of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Too short to measure.
    BelowFloor,
    /// 0 s in every trial.
    ZeroBoth,
    /// 0 s in some trials only.
    ZeroOneSided,
    /// Too small a share of the total.
    Immaterial,
    /// Mostly fixed cost.
    OverheadDominated,
    /// The metric could not be judged at all.
    NotJudged,
    /// Some rounds count for CPU time only.
    RoundsDropped,
    /// The noise has grown: no claim on this metric.
    NoiseChangedNoClaim,
    /// The noise has grown: judged by this comparison's own spread.
    NoiseChangedCalibrationIgnored,
    /// Time was divided by work.
    Normalised,
    /// Work differs a little and time was not divided by it.
    WorkDiffers,
    /// The row does not count its work.
    NotCounted,
    /// A confirmed increase that is proven tolerated.
    SmallHigher,
    /// One out-of-memory, acquitted by clean trials.
    OomNotRepeated,
    /// One application failure, acquitted by clean trials.
    AppFailureNotRepeated,
}

/// Why a row of the table is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Something about the row or the metric.
    Note(Note),
    /// Measured in treatment trials only, or in some.
    MissingInControl,
    /// Measured in control trials only, or in some.
    MissingInTreatment,
    /// A value is not a usable number.
    BadValue,
    /// The reason of the verdict.
    Reason(Reason),
    /// The treatment was decided at an earlier look.
    Decided,
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Note(note) => note.serialize(serializer),
            Self::MissingInControl => serializer.serialize_str("missing_in_control"),
            Self::MissingInTreatment => serializer.serialize_str("missing_in_treatment"),
            Self::BadValue => serializer.serialize_str("bad_value"),
            Self::Reason(reason) => reason.serialize(serializer),
            Self::Decided => serializer.serialize_str("decided"),
        }
    }
}

/// Where the interval of a table row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// From the measurements.
    Measured,
    /// From an assumed noise, for display only.
    Assumed,
}

/// One row and metric of the table. Sums are seconds over the trials that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Sum over the control trials; `None` where a value is missing or bad.
    #[serde(serialize_with = "digits::option::serialize")]
    pub control: Option<f64>,
    /// Sum over the treatment trials.
    #[serde(serialize_with = "digits::option::serialize")]
    pub treatment: Option<f64>,
    /// Control trials.
    pub n_control: usize,
    /// Treatment trials.
    pub n_treatment: usize,
    /// Ratio of the means per trial, treatment over control.
    #[serde(serialize_with = "digits::option::serialize")]
    pub ratio: Option<f64>,
    /// Lower limit of the ratio.
    #[serde(serialize_with = "digits::option::serialize")]
    pub lo: Option<f64>,
    /// Upper limit of the ratio.
    #[serde(serialize_with = "digits::option::serialize")]
    pub hi: Option<f64>,
    /// Where the limits come from.
    pub interval: Option<Interval>,
    /// Whether the row was judged by this metric.
    pub judged: bool,
    /// Why not.
    pub why: Option<Why>,
}

/// A control and a treatment value, either of which may be missing.
pub type Both = [Option<f64>; 2];

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRow {
    /// CPU time.
    pub cpu: Cell,
    /// Summed stage elapsed.
    pub elapsed: Cell,
    /// Sums of items; `None` for TOTAL.
    #[serde(serialize_with = "pair_or_null")]
    pub items: Option<Both>,
    /// Sums of bytes; `None` for TOTAL.
    #[serde(serialize_with = "pair_or_null")]
    pub bytes_processed: Option<Both>,
    /// Sums of shards; `None` for TOTAL.
    #[serde(serialize_with = "pair_or_null")]
    pub total_shards: Option<Both>,
    /// Largest peak memory in bytes.
    #[serde(serialize_with = "digits::pair::serialize")]
    pub mem_peak: Both,
}

impl TableRow {
    /// The cell of a metric.
    #[must_use]
    pub fn cell(&self, metric: Metric) -> &Cell {
        match metric {
            Metric::Cpu => &self.cpu,
            Metric::Elapsed => &self.elapsed,
        }
    }
}

#[allow(clippy::ref_option)] // the signature that serde asks for
fn pair_or_null<S: Serializer>(both: &Option<Both>, serializer: S) -> Result<S::Ok, S::Error> {
    match both {
        Some(both) => digits::pair::serialize(both, serializer),
        None => serializer.serialize_none(),
    }
}

/// The answer for one treatment.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: Reason,
    /// The verdict per row; `None` where no row was judged.
    pub rows: Option<Ordered<Verdict>>,
    /// The statistics per metric and row; empty where there are none.
    pub stages: PerMetric<Option<Ordered<RowStats>>>,
    /// Notes by `metric:row`, `metric:*`, `work:row` or `run:*`.
    pub notes: Ordered<Vec<Note>>,
    /// Every row of either arm, and TOTAL.
    pub table: Ordered<TableRow>,
    /// What the calibration is worth here, where it came to that.
    pub grade: Option<Grade>,
    /// Declared differences.
    pub declared: Vec<(String, Value)>,
    /// Whether pool, parallelism or concurrency changed.
    pub topology: bool,
    /// Decided at an earlier look: the verdict is carried over and nothing was judged now.
    pub decided: bool,
}

impl Judgement {
    /// The notes under a key.
    #[must_use]
    pub fn notes(&self, key: &str) -> &[Note] {
        self.notes.get(key).map_or(&[], Vec::as_slice)
    }

    /// The statistics of a row.
    #[must_use]
    pub fn row(&self, metric: Metric, row: &str) -> Option<&RowStats> {
        self.stages[metric].as_ref()?.get(row)
    }
}

impl Serialize for Judgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("verdict", &self.verdict)?;
        map.serialize_entry("reason", &self.reason)?;
        if self.decided {
            map.serialize_entry("decided", &true)?;
        } else {
            map.serialize_entry("rows", &self.rows)?;
            let stages = Metric::ALL
                .into_iter()
                .filter_map(|m| self.stages[m].as_ref().map(|rows| (m.key().to_owned(), rows)))
                .collect();
            map.serialize_entry("stages", &Ordered(stages))?;
            map.serialize_entry("notes", &self.notes)?;
        }
        map.serialize_entry("table", &self.table)?;
        if let Some(grade) = self.grade {
            map.serialize_entry("grade", &grade)?;
        }
        if !self.declared.is_empty() && !self.decided {
            map.serialize_entry("declared", &Ordered(self.declared.clone()))?;
        }
        if self.topology && !self.decided {
            map.serialize_entry("topology", &true)?;
        }
        map.end()
    }
}

/// The answer for a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The case did not name its treatment.
    Sole(Judgement),
    /// The case named its treatments.
    Several {
        /// Name of the treatment whose verdict is the headline: the worst, the first declared among equals.
        headline: String,
        /// Every treatment, in the order of declaration.
        treatments: Ordered<Judgement>,
    },
}

impl Outcome {
    /// The judgement that is the headline.
    #[must_use]
    pub fn headline(&self) -> &Judgement {
        match self {
            Self::Sole(judgement) => judgement,
            Self::Several { headline, treatments } => treatments.get(headline).unwrap_or(&treatments.0[0].1),
        }
    }

    /// Every treatment's name and judgement.
    #[must_use]
    pub fn treatments(&self) -> Vec<(&str, &Judgement)> {
        match self {
            Self::Sole(judgement) => vec![(crate::case::SOLE_TREATMENT, judgement)],
            Self::Several { treatments, .. } => treatments.iter().collect(),
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sole(judgement) => judgement.serialize(serializer),
            Self::Several { headline, treatments } => {
                let head = self.headline();
                let mut map = serializer.serialize_map(Some(4))?;
                map.serialize_entry("verdict", &head.verdict)?;
                map.serialize_entry("reason", &head.reason)?;
                map.serialize_entry("headline", headline)?;
                map.serialize_entry("treatments", treatments)?;
                map.end()
            }
        }
    }
}
