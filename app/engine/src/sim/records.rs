//! The evidence folder of the simulated world. It judges by a small copy of the screening rules, and refuses to judge
//! what is not whole.

use std::collections::BTreeSet;

use domain::arms::Role;
use domain::ids::Digest;
use domain::plan::Plan;
use domain::ports::{Answer, Decided, Ending, Fate, Judged, Look, LookKind, Records, RecordsError, Sealed, TrialFate};
use domain::rounds::TrialName;
use domain::view::Reason;

use super::lab::{job_name, records_of};
use super::world::{Shared, World};

#[derive(Clone, Debug)]
pub(super) struct SimRecords(pub(super) Shared);

fn flaky(world: &mut World) -> Result<(), RecordsError> {
    let per_mille = world.faults.records;
    if world.faults.disk_full || world.chance.happens(per_mille) {
        return Err(RecordsError::Failed("no space left on device".to_owned()));
    }
    Ok(())
}

fn conflict<T>(world: &mut World, what: String) -> Result<T, RecordsError> {
    world.violated(what.clone());
    Err(RecordsError::Conflict(what))
}

/// Failures of one arm: out of memory, other.
fn failures(world: &World, trials: &BTreeSet<TrialName>, role: &Role) -> (u32, u32) {
    let (mut oom, mut other) = (0, 0);
    for fate in trials.iter().filter_map(|name| world.fate(name)).filter(|fate| fate.role == *role) {
        match &fate.fate {
            Fate::Failed(failure) if failure.oom => oom += 1,
            Fate::Failed(_) => other += 1,
            Fate::Counted if world.script.course(&fate.name, role).oom_inside => oom += 1,
            Fate::Counted | Fate::Discarded(_) => {}
        }
    }
    (oom, other)
}

fn is_clean(world: &World, name: &TrialName) -> bool {
    let fate = world.fate(name);
    fate.is_some_and(|fate| fate.fate == Fate::Counted && !world.script.course(name, &fate.role).oom_inside)
}

fn reason(world: &World, look: &Look, in_rounds: &BTreeSet<TrialName>, role: &Role) -> Reason {
    let all: BTreeSet<TrialName> = in_rounds.iter().chain(&look.confirmations).cloned().collect();
    let (oom, other) = failures(world, &all, role);
    let (control_oom, control_other) = failures(world, &all, &Role::Control);
    let of_role = |name: &&TrialName| world.fate(name).is_some_and(|fate| fate.role == *role);
    let clean = look.confirmations.iter().filter(of_role).filter(|name| is_clean(world, name)).count();
    let in_round = failures(world, in_rounds, role) != (0, 0);
    let acquitted = clean >= 2 && !in_round;
    if oom > 0 && control_oom > 0 {
        Reason::OomBothArms
    } else if oom > 1 {
        Reason::NewOom
    } else if other > 0 && control_other > 0 {
        Reason::AppFailureBothArms
    } else if other > 1 {
        Reason::NewAppFailure
    } else if control_oom + control_other > 0 {
        Reason::ControlFailed
    } else if oom > 0 && !acquitted {
        Reason::NewOomUnconfirmed
    } else if other > 0 && !acquitted {
        Reason::NewAppFailureUnconfirmed
    } else if let LookKind::Blocked(reason) = look.kind {
        reason
    } else if in_rounds.iter().any(|name| {
        let fate = world.fate(name);
        fate.is_some_and(|fate| world.script.course(name, &fate.role).churn_inside)
    }) {
        Reason::InfraChurn
    } else if let Some(reason) = world.script.screened(&role.to_string()) {
        reason
    } else if let LookKind::Declared { index } = look.kind {
        world.script.reason(&role.to_string(), index)
    } else {
        Reason::Undecided
    }
}

impl SimRecords {
    /// The trials of the rounds that count. Each must be whole: control and every treatment that is not decided, ended
    /// well, with all of its final answers.
    fn whole(world: &mut World, plan: &Plan, look: &Look) -> BTreeSet<TrialName> {
        let mut all = BTreeSet::new();
        for round in &look.rounds {
            let trials: Vec<TrialFate> = world
                .folder(&look.run)
                .fates
                .values()
                .filter(|fate| (fate.name.round, fate.name.replacement) == (round.round, round.replacement))
                .cloned()
                .collect();
            for role in plan.roles() {
                let decided = look.decided.iter().any(|of| Role::Treatment(of.treatment.clone()) == role);
                if !decided && !trials.iter().any(|fate| fate.role == role) {
                    world.violated(format!("round {} is judged without {role}", round.round));
                }
            }
            for fate in trials {
                let key = (fate.name.clone(), "records.json".to_owned());
                let content = world.folder(&look.run).answers.get(&key).cloned();
                let whole = records_of(&job_name(&fate.name, fate.job.as_ref()));
                if fate.fate != Fate::Counted || content != Some(whole) {
                    world.violated(format!("{} is judged although it is not whole", fate.name));
                }
                all.insert(fate.name);
            }
        }
        for name in &look.confirmations {
            if world.fate(name).is_none() {
                world.violated(format!("{name} is judged before its fate is written"));
            }
        }
        all
    }
}

impl Records for SimRecords {
    fn open(&self, plan: &Plan) -> Result<(), RecordsError> {
        let mut world = self.0.lock();
        flaky(&mut world)?;
        if world.folder(&plan.run).plan.as_ref().is_some_and(|known| known != plan) {
            return conflict(&mut world, "another plan in the folder".to_owned());
        }
        world.folder(&plan.run).plan = Some(plan.clone());
        Ok(())
    }

    fn answer(&self, trial: &TrialName, _role: &Role, answers: &[Answer]) -> Result<(), RecordsError> {
        let mut world = self.0.lock();
        flaky(&mut world)?;
        for answer in answers {
            let key = (trial.clone(), answer.name.clone());
            let folder = world.folder(&trial.run);
            match folder.answers.get(&key) {
                Some(known) if *known != answer.bytes => {
                    return Err(RecordsError::Conflict(format!("{trial} has other answers")));
                }
                _ => {
                    folder.answers.insert(key, answer.bytes.clone());
                }
            }
        }
        Ok(())
    }

    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        let mut world = self.0.lock();
        flaky(&mut world)?;
        if world.fate(&fate.name).is_some_and(|known| known != fate) {
            return conflict(&mut world, format!("{} has two fates", fate.name));
        }
        world.log(&format!("note {} {:?}", fate.name, fate.fate));
        world.folder(&fate.name.run).fates.insert(fate.name.clone(), fate.clone());
        Ok(())
    }

    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        let mut world = self.0.lock();
        flaky(&mut world)?;
        let Some(plan) = world.folder(&look.run).plan.clone() else {
            return conflict(&mut world, "judged before the folder was opened".to_owned());
        };
        let in_rounds = Self::whole(&mut world, &plan, look);
        let judge = |treatment: domain::ids::ArmName| {
            if let Some(decided) = look.decided.iter().find(|of| of.treatment == treatment) {
                return decided.clone();
            }
            let reason = reason(&world, look, &in_rounds, &Role::Treatment(treatment.clone()));
            Decided { treatment, verdict: reason.verdict(), reason }
        };
        let judged = Judged { treatments: plan.treatments().into_iter().map(judge).collect() };
        let said: Vec<&str> = judged.treatments.iter().map(|of| of.reason.code()).collect();
        world.log(&format!("judge {:?} rounds {} {said:?}", look.kind, look.rounds.len()));
        Ok(judged)
    }

    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError> {
        let mut world = self.0.lock();
        flaky(&mut world)?;
        if let Some((known, sealed)) = world.folder(&ending.run).sealed.clone() {
            if known == *ending {
                return Ok(sealed);
            }
            return conflict(&mut world, "sealed twice, differently".to_owned());
        }
        let text = serde_json::to_vec(ending).map_err(|error| RecordsError::Unusable(error.to_string()))?;
        let sealed = Sealed { digest: Digest::of(&text) };
        world.folder(&ending.run).sealed = Some((ending.clone(), sealed.clone()));
        world.log("sealed");
        Ok(sealed)
    }
}
