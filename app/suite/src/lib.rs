//! Suites: what a benchmark is, in a TOML file, and what a request of it means.
//!
//! [`catalogue`] finds a suite by its name or path, [`suite`] is the whole of it and reads its text; every [`error`] has
//! file, line and key. [`parameter`] has the kinds of values, [`values`] those of one arm, [`preset`] named points,
//! [`template`] command lines with places for them. A suite runs [`step`]s on this machine, or on a [`cluster`], where
//! [`generation`] tells which command line a commit has and [`setup`] has the scripts of its jobs. [`scope`] says how
//! much of it a change needs and [`apply`] puts that into a request, [`trivial`] tells changes that cannot alter what is
//! measured, [`judging`] has how it is judged, [`policy`] what may be spent; [`unit`] reads percentages and durations.
//! [`resolve`] turns a request into what every arm runs, [`repository`] is what the repository that is measured may say
//! of a suite.

pub mod apply;
pub mod catalogue;
pub mod cluster;
pub mod error;
pub mod generation;
pub mod judging;
mod node;
pub mod parameter;
pub mod policy;
pub mod preset;
pub mod readback;
pub mod repository;
pub mod resolve;
pub mod scope;
pub mod setup;
pub mod step;
pub mod suite;
pub mod template;
pub mod trivial;
pub mod unit;
pub mod values;

pub use apply::{Applied, apply};
pub use catalogue::{LoadError, SuiteRef, load, names};
pub use error::{Problem, SuiteError};
pub use repository::RepositoryFile;
pub use resolve::{Arm, ResolveError, Resolved, ResolvedTreatment, resolve};
pub use setup::Beside;
pub use suite::{Backend, Suite};
