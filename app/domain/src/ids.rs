//! Names with strict parsers: what is accepted here is safe in a query, a file name and a job name.
//!
//! Every id is parsed with [`std::str::FromStr`], printed as it was parsed, and written by serde as its text. No
//! parser panics on any input; an error names what was wrong and what is allowed.

mod calendar;
mod error;
mod execution;
mod hash;
mod job;
mod name;
mod run;

pub use error::IdError;
pub use execution::ExecutionId;
pub use hash::{CommitSha, Digest};
pub use job::JobId;
pub(crate) use name::CONTROL;
pub use name::{ArmName, SuiteName};
pub use run::{RunId, RunTag, TagLengths, equal_length};

/// A text newtype with a parser `fn(&str) -> Result<String, IdError>` that returns the text to keep.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $parse:path) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ids::IdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $parse(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::ids::IdError;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}
use text_id;
