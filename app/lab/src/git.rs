//! Repositories that nobody vouches for, read by the git command line.
//!
//! Arguments are fixed and never pass a shell; names from outside are checked before git sees them. The environment is
//! empty but for what is set here, so that no configuration of the user, the system or the environment is used. What
//! is read from is a bare [`Mirror`] of our own with a configuration of our own: the repository itself is only ever
//! fetched from, and its hooks, attributes, filters and configuration mean nothing. Every call has a time limit, after
//! which its whole process group is killed, and a limit of what it may print.
//!
//! [`source`] is where a mirror is filled from, [`mirror`] the mirror and its revisions, [`history`] how commits are
//! related and what differs between them, [`tree`] what a commit holds, and [`checkout`] a commit's files on a disk.

mod blobs;
pub mod checkout;
mod command;
mod error;
pub mod history;
pub mod mirror;
pub mod path;
pub mod source;
pub mod tree;

pub(crate) use blobs::read_blobs;
pub use checkout::{CheckedOut, CheckoutLimits};
pub use error::GitError;
pub(crate) use error::plain;
pub use history::{Change, MergeBases};
pub use mirror::Mirror;
pub use path::TreePath;
pub use source::Source;
pub use tree::{Entry, Kind, Leaf};
