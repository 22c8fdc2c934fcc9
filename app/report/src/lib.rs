//! What people read.
//! From the view of a run to what people read: comment, reply, check text and terminal text.
//!
//! [`Renderer`] holds the templates and the words. A view becomes a page of finished, escaped texts, told by a
//! [`teller`]: [`heading`] writes the verdict and the line at the top, [`sentences`] what happened and what to do,
//! [`progress`] how far a run has come, [`points`] the rows that decide, [`interpretation`] what the numbers mean,
//! [`facts`] what stands beside them, [`details`] what is folded away; [`rows`] and [`figures`] make the table. [`page`]
//! puts them together and [`budget`] makes them fit. [`escape`] disarms foreign text, [`numbers`] writes numbers,
//! [`marker`] finds a comment again, [`answer`] and [`spans`] write answers and remarks, [`needed`] says how many rounds would decide.

mod answer;
mod budget;
mod details;
mod dialect;
pub mod escape;
mod facts;
mod figures;
mod heading;
mod interpretation;
pub mod marker;
pub mod needed;
pub mod numbers;
mod page;
mod points;
mod progress;
mod renderer;
mod rows;
mod sentences;
mod spans;
mod teller;
mod words;

pub use renderer::{CheckText, RenderError, Rendered, Renderer};
