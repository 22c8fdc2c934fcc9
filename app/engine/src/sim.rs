//! A simulated world: a backend that loses answers and forgets jobs, measurements that come late or never, a store and
//! an engine that crash between any two writes, and time that jumps. Everything follows from one seed.
//!
//! [`chance`] draws, [`script`] says how trials and judgements of a seed come out, [`world`] is the shared state with
//! the fuse that makes a crash, [`lab`], [`records`] and [`store`] are the ports into it, [`invariants`] says what must
//! always hold, and [`schedule`] picks what happens next. [`crashes`] crashes one run at each of its points in turn.
//! [`pulls`] are pull requests with everything that happens to them.

mod chance;
pub mod crashes;
mod invariants;
mod lab;
pub mod pulls;
mod records;
pub mod schedule;
mod script;
mod store;
mod world;

#[cfg(test)]
mod tests;

pub use crashes::{Crashes, every_crash};
pub use schedule::{Options, Report, schedule};

/// A plan with one treatment.
#[cfg(test)]
pub(crate) fn plan_for_tests() -> domain::plan::Plan {
    (0..100)
        .filter_map(|seed| script::plan(seed).ok())
        .find(|plan| plan.treatments().len() == 1 && plan.retry.is_none())
        .unwrap()
}
