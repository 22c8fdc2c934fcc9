//! What must hold after every step.

use domain::machine::{Run, State, TrialState};
use domain::ports::{Discard, End, Fate, How, LookRow};
use std::collections::BTreeSet;

use super::lab::{job_name, records_of};
use super::world::World;
use crate::drive::is_finished;

/// Checks everything that must always hold of a run, its looks in the store and its world. `before` is the run as last
/// seen.
pub(super) fn check(world: &mut World, looks: &[LookRow], before: Option<&Run>, run: &Run) {
    let names: BTreeSet<_> = run.trials.iter().map(|trial| &trial.name).collect();
    if names.len() != run.trials.len() {
        world.violated("a trial stands twice in the run".to_owned());
    }
    for name in world.launches.keys().filter(|name| name.run == run.id).cloned().collect::<Vec<_>>() {
        if !names.contains(&name) {
            world.violated(format!("{name} was launched and the run does not know it"));
        }
    }
    let looks = looks.iter().filter(|look| look.run == run.id).count();
    if looks != run.looked as usize {
        world.violated(format!("{} looks were taken and {looks} are in the ledger", run.looked));
    }
    stays(world, before, run);
    kept(world, run);
    if run.state.is_over() || matches!(run.state, State::Sealing { .. }) {
        settled(world, run);
    }
    if is_finished(run) {
        sealed(world, run);
    }
}

/// What is over stays as it is, and no trial comes back.
fn stays(world: &mut World, before: Option<&Run>, run: &Run) {
    let Some(before) = before else { return };
    let same = match (&before.state, &run.state) {
        (State::Done { .. }, now) => before.state == *now,
        (State::Ended { how, why, alive, .. }, State::Ended { how: how2, why: why2, alive: alive2, .. }) => {
            (how, why, alive) == (how2, why2, alive2)
        }
        (State::Ended { .. }, _) => false,
        _ => true,
    };
    if !same {
        world.violated(format!("{:?} became {:?}", before.state, run.state));
    }
    if before.counted.len() > run.counted.len() + 1 || before.looked > run.looked {
        world.violated("counted rounds or looks were lost".to_owned());
    }
    for trial in before.trials.iter().filter(|trial| trial.is_over()) {
        let now = run.trials.iter().find(|known| known.name == trial.name);
        if now.is_none_or(|now| now.state != trial.state) {
            world.violated(format!("{} was over and changed", trial.name));
        }
    }
}

/// A trial counts with all of its final answers, and one that did well counts.
fn kept(world: &mut World, run: &Run) {
    for trial in &run.trials {
        let TrialState::Over { fate } = &trial.state else { continue };
        let key = (trial.name.clone(), "records.json".to_owned());
        let of = job_name(&trial.name, trial.job.as_ref());
        let content = world.folders.get(&run.id).and_then(|folder| folder.answers.get(&key));
        if *fate == Fate::Counted && content != Some(&records_of(&of)) {
            world.violated(format!("{} counts without its answers", trial.name));
        }
        let Some(job) = world.jobs.get(of.as_ref()) else { continue };
        let well = matches!(job.end, End::Succeeded) && !job.course.missing;
        let bad = *fate == Fate::Counted && !matches!(job.end, End::Succeeded);
        let lost =
            matches!(fate, Fate::Discarded(Discard::Incomplete(_) | Discard::Infrastructure(_)) | Fate::Failed(_));
        if well && lost {
            world.violated(format!("{} did well and became {fate:?}", trial.name));
        }
        if bad {
            world.violated(format!("{} counts and did not end well", trial.name));
        }
    }
}

/// No run ends before every trial of it is settled; what may live is named.
fn settled(world: &mut World, run: &Run) {
    let alive = run.alive();
    let now = world.now;
    for trial in &run.trials {
        let of = job_name(&trial.name, trial.job.as_ref());
        let live = world.jobs.get(of.as_ref()).is_some_and(|job| job.is_live(now))
            || world.arrivals.iter().any(|(_, name, _)| *name == trial.name);
        if !trial.is_over() {
            world.violated(format!("the run ended while {} was not settled", trial.name));
        } else if live && !alive.iter().any(|of| of.trial == trial.name) {
            world.violated(format!("the run ended while the job of {} lived", trial.name));
        }
    }
}

/// The end in the folder is that of the state.
fn sealed(world: &mut World, run: &Run) {
    let Some((ending, sealed)) = world.folder(&run.id).sealed.clone() else {
        if let State::Done { .. } = run.state {
            world.violated("done without a sealed folder".to_owned());
        }
        return;
    };
    match (&run.state, &ending.how) {
        (State::Done { judged, evidence, .. }, How::Judged { judged: written, look }) => {
            let incomplete = judged.treatments.len() != run.frame.as_ref().map_or(0, |frame| frame.treatments.len());
            if judged != written || *evidence != sealed.digest || incomplete || look.rounds.len() > run.trials.len() {
                world.violated("the sealed verdict is not that of the run".to_owned());
            }
        }
        (State::Ended { how, .. }, How::Ended { how: written, .. }) if how == written => {}
        // Sealed, and the engine died before it knew; then the folder failed for good.
        (State::Ended { sealing: false, evidence: None, .. }, _) => {}
        (state, _) => world.violated(format!("the folder says something else than {state:?}")),
    }
}
