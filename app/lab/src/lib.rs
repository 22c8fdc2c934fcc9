//! Where trials run, and how their answers become rows.
//!
//! [`git`] reads repositories that nobody vouches for: commits, trees and checkouts by the git command line, without
//! hooks, filters or configuration of the repository. [`local`] runs the steps of a suite as processes on this
//! machine, each under a [`supervisor`] that measures it and leaves no process behind. [`iris`] runs them as jobs of a
//! cluster and collects what they measured; a job runs in a [`bundle`], a zip made from git objects alone. [`assemble`]
//! turns the answers of a trial into the rows that are judged; it is pure, so that what was judged can be judged again
//! from the files. [`scratch`] has temporary folders that are swept after a crash.
//! The local backend is for Linux: it reads `/proc`.

pub mod assemble;
pub mod bundle;
pub mod git;
pub mod iris;
pub mod local;
mod plain;
mod procfs;
pub mod scratch;
pub mod supervisor;
