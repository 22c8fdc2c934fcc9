//! The view of a run: everything that a comment, a check or a terminal shows, as plain data.
//!
//! Whatever is `None` or empty is not known: it is left out of what people read or said to be unknown, never made up.
//! Texts are raw: what renders them escapes them. [`arms`] are control and treatments, [`state`] is how far the run
//! has come, [`facts`] is what was found beside the measurements, [`measured`] what the numbers come from, [`answer`] is the one further comment, and
//! [`of_case`] makes a view where only a case and its outcome are known.

pub mod answer;
pub mod arms;
pub mod facts;
pub mod measured;
pub mod of_case;
pub mod state;

use serde::Serialize;

use crate::scope::ScopeOf;
use crate::steps::Coarser;

pub use answer::{Answer, Block, Kind, Span};
pub use arms::{Control, Difference, Job, Output, Treatment};
pub use facts::{
    ArmFacts, Average, Busy, Calibrated, Earlier, Fingerprint, Happening, Infrastructure, Moment, Provenance, Rounds,
    Trouble,
};
pub use measured::{Measured, Pair};
pub use of_case::Texts;
pub use state::{Decided, Decision, Ending, State, Surface};
pub use stats::config::Normalize;
pub use stats::output::{Both, Cell, Interval, Ordered, TOTAL, TableRow};
pub use stats::{
    Case, Config, Direction, Grade, Judgement, Metric, Note, Outcome, PerMetric, Reason, RowStats, Side, Verdict, Why,
};

/// Everything that is shown of one run of one suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// Name of the suite; the marker of the comment follows from it.
    pub suite: String,
    /// Title of the suite, such as `Zephyr A/B test`.
    pub title: String,
    /// Where the reader asks for more: next steps are told in its words.
    pub surface: Surface,
    /// How far the run has come.
    pub state: State,
    /// A human decision about the verdict.
    pub decision: Option<Decision>,
    /// What the service says about this comparison, a paragraph each: what it does with a newer commit, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Vec<Span>>,
    /// The workload, one fact each, such as `stages exact..fuzzy`.
    pub workload: Vec<String>,
    /// What kind of change it is by the suite's rules, where one fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeOf>,
    /// The control arm.
    pub control: Control,
    /// The treatments in the order of their declaration.
    pub treatments: Vec<Treatment>,
    /// Name of the treatment whose verdict is the headline; the first one where it is not said.
    pub headline: Option<String>,
    /// The settings that the comparison is judged by.
    pub settings: Config,
    /// What was measured round by round; `None` where nothing was judged.
    #[serde(skip)]
    pub measured: Option<Measured>,
    /// What had to be equal.
    pub fingerprint: Option<Fingerprint>,
    /// Conditions that follow from the commits and differ: shown, never a mismatch.
    pub context: Vec<Difference>,
    /// What the calibration is worth.
    pub calibration: Option<Calibrated>,
    /// Rounds and looks.
    pub rounds: Rounds,
    /// Why rows could not be told apart as finely as the suite's rule says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarser: Option<Coarser>,
    /// What happened on the machines; `None` where nobody reported.
    pub infrastructure: Option<Infrastructure>,
    /// Steps that did not end well, the control's first.
    pub troubles: Vec<Trouble>,
    /// Shard-weighted averages, as context.
    pub averages: Vec<Average>,
    /// How long jobs and tasks took: never in table or verdict.
    pub timeline: Vec<Moment>,
    /// Earlier verdicts of this pull request, the newest first.
    pub history: Vec<Earlier>,
    /// Queries that fetch the rows behind the table.
    pub queries: Vec<String>,
    /// Command lines that repeat the comparison.
    pub reproduce: Vec<String>,
    /// Commits, ids and links.
    pub provenance: Provenance,
    /// Commands that make sense now, such as `/ab-test zephyr rounds=+2`.
    pub offers: Vec<String>,
}

impl View {
    /// A view of a run of which nothing is known yet but its suite.
    #[must_use]
    pub fn new(suite: impl Into<String>, title: impl Into<String>, state: State) -> Self {
        Self {
            suite: suite.into(),
            title: title.into(),
            surface: Surface::default(),
            state,
            decision: None,
            remarks: Vec::new(),
            workload: Vec::new(),
            scope: None,
            control: Control::default(),
            treatments: Vec::new(),
            headline: None,
            settings: Config::default(),
            measured: None,
            fingerprint: None,
            context: Vec::new(),
            calibration: None,
            rounds: Rounds::default(),
            coarser: None,
            infrastructure: None,
            troubles: Vec::new(),
            averages: Vec::new(),
            timeline: Vec::new(),
            history: Vec::new(),
            queries: Vec::new(),
            reproduce: Vec::new(),
            provenance: Provenance::default(),
            offers: Vec::new(),
        }
    }

    /// The treatment whose verdict is the headline.
    #[must_use]
    pub fn head(&self) -> Option<&Treatment> {
        self.treatments.iter().find(|t| Some(&t.name) == self.headline.as_ref()).or(self.treatments.first())
    }
}
