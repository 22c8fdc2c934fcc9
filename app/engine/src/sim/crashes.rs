//! Every crash of one run: at each point between two writes, in turn.

use domain::machine::{Run, State};

use super::schedule::Stage;
use super::script::{Script, plan};
use super::world::World;
use crate::engine::Habits;

/// What came of crashing one run everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crashes {
    /// The points at which it can crash.
    pub points: u64,
    /// How it ends without a crash.
    pub end: String,
    /// What did not hold after a crash at which point.
    pub violations: Vec<(u64, String)>,
}

/// What a crash must not change: how the run ended, which rounds counted, what was decided, and what became of every
/// trial.
type Outcome = (String, Vec<String>);

fn outcome(run: Option<&Run>, end: String) -> Outcome {
    let mut facts = Vec::new();
    if let Some(run) = run {
        facts.extend(run.counted.iter().map(|of| format!("counted {}.{}", of.round, of.replacement)));
        facts.extend(run.trials.iter().map(|trial| format!("{} {:?}", trial.name, trial.fate())));
        if let State::Done { judged, .. } = &run.state {
            facts.extend(judged.treatments.iter().map(|of| format!("{} {}", of.treatment, of.reason.code())));
        }
    }
    (end, facts)
}

fn once(seed: u64, crash_at: Option<u64>, habits: Habits) -> Result<(Outcome, u64, Vec<String>), String> {
    let mut world = World::new(seed, Script::calm(seed));
    world.crash_at = crash_at;
    let mut plan = plan(seed).map_err(|error| error.to_string())?;
    plan.confirm = None;
    let mut stage = Stage::new(world, plan, habits);
    stage.start();
    stage.finish();
    let run = stage.run();
    let outcome = outcome(run.as_ref(), stage.end());
    let world = stage.world.lock();
    Ok((outcome, world.points, world.violations.clone()))
}

/// Runs the calm run of a seed once without a crash, then once for each point with a crash there. Whatever was broken
/// must hold, and the run must end as it does without.
///
/// `submits_blindly` plants the mistake of [`super::Options`].
#[must_use]
pub fn every_crash(seed: u64, submits_blindly: bool) -> Crashes {
    let habits = Habits { look_first: !submits_blindly, answers_twice: false };
    let (expected, points, first) = match once(seed, None, habits) {
        Ok(reference) => reference,
        Err(error) => return Crashes { points: 0, end: String::new(), violations: vec![(0, error)] },
    };
    let mut violations: Vec<(u64, String)> = first.into_iter().map(|what| (0, what)).collect();
    for point in 1..=points {
        match once(seed, Some(point), habits) {
            Ok((outcome, _, broken)) => {
                violations.extend(broken.into_iter().map(|what| (point, what)));
                if outcome != expected {
                    violations.push((point, format!("ended as {outcome:?}, without the crash as {expected:?}")));
                }
            }
            Err(error) => violations.push((point, error)),
        }
    }
    Crashes { points, end: expected.0, violations }
}
