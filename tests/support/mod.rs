//! What several tests need: places, JSON that keeps its order, the program.

pub(crate) mod json;
pub(crate) mod program;
pub(crate) mod repository;
pub(crate) mod world;

use std::path::PathBuf;

use stats::{Case, Outcome};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The number in an environment variable, or `default`.
pub(crate) fn count(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a whole number"))
}

/// A case that is known to be one.
pub(crate) fn parse(text: &str) -> Case {
    stats::input::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The answer for a case that is known to be one.
pub(crate) fn judge(case: &json::Json) -> Outcome {
    stats::judge(&parse(&case.to_string()))
}
