//! Error rates and power of the very code that judges, by simulation.
//!
//! [`settings`] says what is simulated; [`draw`] makes the runs of one trial; [`family`] (one metric), [`whole`] (a
//! whole case) and [`textbook`] (other methods) judge them; [`workers`] spreads trials over threads; [`tally`] counts
//! and summarises; [`resample`] draws from real same-code ratios instead; [`goals`] holds a count against a limit.
//!
//! Trial i has a generator of its own, made from the seed and i: results do not depend on the number of threads, and
//! comparisons of different length share their first rounds.

mod draw;
mod family;
pub mod goals;
mod noise;
pub mod resample;
mod sequence;
pub mod settings;
pub mod tally;
mod textbook;
mod whole;
mod workers;

pub use resample::{Ratios, Resampling, resample};
pub use sequence::simulate;
pub use settings::{
    Affected, Margins, Method, Metrics, Noise, Order, OutOfRange, Schedule, Settings, Sizes, UnknownWord,
};
pub use tally::{Report, Summary};
pub use workers::Workers;
