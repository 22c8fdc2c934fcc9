//! From rounds of paired measurements to a verdict: the decision procedure *abv1*.
//!
//! The rooms, in the order in which a comparison walks through them:
//! [`input`] reads a case from JSON and refuses what is not one; [`case`] and [`config`] are what was read;
//! [`judge`] screens each treatment (screen, work), turns trials into log ratios (series, [`sample`]) with pooled
//! variances ([`variance`]), asks whether the noise has grown ([`noise`]), decides every row ([`family`], [`hull`]) and
//! concludes the verdict ([`conclude`]) with its table of all rows; [`output`] is the answer.
//! Beside that walk: [`reason`] (the closed list of reasons), [`calibration`], [`spending`] (looks and episodes),
//! [`power`] (what a comparison can detect), [`simulate`] (error rates of the code above) and [`classic`] (the
//! textbook tests it is compared with). [`special`] holds the distributions. Nothing here reads a clock, a file
//! or a random number of its own.

pub mod calibration;
pub mod case;
pub mod classic;
pub mod conclude;
pub mod config;
pub mod digits;
pub mod family;
pub mod hull;
pub mod input;
pub mod judge;
pub mod noise;
pub mod output;
pub mod power;
pub mod reason;
pub mod sample;
mod screen;
mod series;
pub mod simulate;
pub mod special;
pub mod spending;
mod table;
pub mod variance;
mod work;

pub use case::{Arm, Calibration, Case, Control, Event, Grade, Reading, Round, Stage, Trial};
pub use config::{Config, Metric, PerMetric};
pub use family::{Direction, RowStats, Side};
pub use input::UsageError;
pub use judge::judge;
pub use output::{Judgement, Note, Outcome, Why};
pub use reason::{Reason, Verdict};
