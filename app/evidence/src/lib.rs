//! The folder that lets anyone recompute a verdict.
//!
//! [`storage`] is a tree of files, on a disk or in memory; [`name`] says which names files may have, and [`scan`] keeps
//! secrets out of them. [`folder`] writes a run's folder while the run goes on and seals it. Judging reads the folder
//! and nothing else: [`bundle`] is what was read, [`trials`] are its answers as rows, [`spent`] what they used, [`gather`]
//! makes a case of them and holds the conditions of both arms against each other, [`retry`] says what of an unfinished run
//! still counts, [`judge`] judges that, [`view`] fills in what readers see, and [`compose`] makes evidence.json and comment.md
//! with the [`templates`]. [`mod@verify`] does the
//! same again and compares, file by file against [`sums`]; [`mod@diff`] names in what two folders differ. Nothing here
//! reads a clock.

pub mod bundle;
pub mod compose;
mod conditions;
pub mod diff;
mod error;
pub mod folder;
pub mod gather;
pub mod jsonl;
pub mod judge;
pub mod name;
mod reproduce;
pub mod retry;
pub mod scan;
pub mod spent;
pub mod storage;
pub mod sums;
pub mod templates;
pub mod trials;
pub mod verify;
pub mod view;

pub use bundle::Bundle;
pub use error::EvidenceError;
pub use folder::Folder;
/// What answers beside a comment are written with, so that they read as it does.
pub use report::{escape::prose, needed, numbers};
pub use reproduce::facts as workload_facts;
pub use scan::Scanner;
pub use storage::{DiskStorage, MemoryStorage, Storage};
pub use templates::Templates;
pub use verify::{Problem, Verified, verify};
