//! Pull requests in the simulated world: the real service, two replicas of it, over a simulated store and forge. People
//! push, comment, close, retarget and change the rules; deliveries come late, twice and out of order; processes die or
//! are held up between any two writes.
//!
//! [`acts`] is what may happen and how a seed picks it, [`hub`] the forge as it is, [`happen`] what happens to it,
//! [`forge`], [`planner`] and [`desk`] (with [`tables`]) are the ports, [`inbox`] makes events of deliveries, [`stage`] is
//! the service in its world, [`always`] says what must hold after every step and [`rest`] what must hold when nothing is
//! left to do, [`habit`] are mistakes that can be planted, and [`shrunk`] finds the acts that something takes to break.

mod acts;
mod always;
mod desk;
mod forge;
mod habit;
mod happen;
mod hub;
mod inbox;
mod planner;
mod rest;
mod shrink;
mod stage;
mod tables;

#[cfg(test)]
mod tests;

pub use habit::Habit;
pub use shrink::shrunk;

use super::chance::about;
use acts::Act;
use stage::Stage;

/// What came of a schedule of pull requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReport {
    /// The seed.
    pub seed: u64,
    /// Acts that the scheduler picked.
    pub acts: u64,
    /// Steps until everything was at rest.
    pub steps: u64,
    /// Processes that died.
    pub crashes: u64,
    /// How often something was held up and others went on.
    pub pauses: u64,
    /// Plans that were made or tried.
    pub planned: u64,
    /// How its runs ended, in a word each.
    pub ends: Vec<String>,
    /// What did not hold; empty when all is well.
    pub violations: Vec<String>,
    /// What happened, one line each.
    pub trace: Vec<String>,
}

fn acts_of(seed: u64) -> Vec<Act> {
    acts::acts(&mut about(seed, "acts"))
}

fn played(seed: u64, habit: Habit, acts: &[Act]) -> PullReport {
    let mut stage = match Stage::new(seed, habit) {
        Ok(stage) => stage,
        Err(error) => return PullReport { seed, violations: vec![error], ..PullReport::default() },
    };
    for act in acts {
        stage.town.log(&format!("{act:?}"));
        stage.act(*act);
        if !stage.town.world.lock().violations.is_empty() {
            break;
        }
    }
    let mut steps = 0;
    if stage.town.world.lock().violations.is_empty() {
        steps = stage.rest();
        stage.check_rest();
    }
    if !stage.town.world.lock().violations.is_empty() {
        stage.tell();
    }
    let ends = stage.desk.tables().runs.iter().filter_map(|run| run.outcome.clone()).collect();
    let planned = stage.town.hub().planned.len() as u64;
    let mut world = stage.town.world.lock();
    PullReport {
        seed,
        acts: acts.len() as u64,
        steps,
        crashes: stage.crashes,
        pauses: stage.pauses,
        planned,
        ends,
        violations: std::mem::take(&mut world.violations),
        trace: std::mem::take(&mut world.trace),
    }
}

/// One schedule of a seed. The same seed and habit give the same report.
#[must_use]
pub fn pulls(seed: u64, habit: Habit) -> PullReport {
    played(seed, habit, &acts_of(seed))
}
