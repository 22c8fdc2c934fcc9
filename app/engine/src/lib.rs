//! The engine: it claims runs that are due, steps their machines, writes state and effects in one transaction, performs
//! the effects through ports, and feeds the answers back as events.
//!
//! Two rules make a restart harmless: an effect is written down before it is performed, and one that may have been
//! performed is first looked up in the world, then repeated. [`Engine`] is who asks (`start`, `cancel`, `tick`), `work`
//! is one claimed run, `perform` one effect, [`memory`] a store without a disk, [`progress`] what a person sees while
//! it runs, [`drive`] the loop that ticks and waits until a run is over. [`service`] does the same for pull requests:
//! what was asked for on them becomes runs, and what runs have come to becomes comments. [`sim`] is a world of lost answers, crashes and
//! forgetful backends, made from a seed, in which all of this is tried.

pub mod drive;
mod engine;
pub mod memory;
mod perform;
pub mod progress;
pub mod service;
pub mod sim;
mod work;

#[cfg(test)]
mod tests;

pub use drive::run_to_end;
pub use engine::{CancelAnswer, Engine, EngineError, Settings};
pub use memory::MemoryStore;
pub use progress::Progress;
