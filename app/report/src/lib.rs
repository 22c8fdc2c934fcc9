//! What people read.
//! From the view of a run to what people read: comment, reply, check text and terminal text.
//!
//! [`Renderer`] holds the templates and the words. A view becomes a page of finished, escaped texts: [`rows`] and
//! [`figures`] make the table, [`story`] the heading and the sentences, [`facts`] what stands beside them, [`details`]
//! what is folded away; [`page`] puts them together and [`budget`] makes them fit. [`escape`] disarms foreign text,
//! [`numbers`] writes numbers, [`marker`] finds a comment again, [`needed`] says how many rounds would decide.

mod budget;
mod details;
mod dialect;
pub mod escape;
mod facts;
mod figures;
pub mod marker;
mod needed;
pub mod numbers;
mod page;
mod renderer;
mod rows;
mod story;
mod words;

pub use renderer::{CheckText, RenderError, Rendered, Renderer};
