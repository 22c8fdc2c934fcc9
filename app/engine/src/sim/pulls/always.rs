//! What must hold after every step.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::RunId;
use domain::machine::{Run, State};
use domain::plan::Plan;
use domain::pull::{Cause, NewerFate, PullState, Stage as At};

use super::stage::Stage;
use super::tables::Row;
use crate::engine::{key_of, plan_of};
use crate::sim::invariants;

/// What was seen at the step before.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The version of each subject.
    versions: BTreeMap<String, u64>,
    runs: BTreeMap<RunId, Run>,
    plans: BTreeMap<RunId, Plan>,
    /// Runs that pushes began and that were looked at.
    begun: BTreeSet<RunId>,
}

fn parsed<T, E: std::fmt::Display>(read: Result<T, E>, stage: &Stage) -> Option<T> {
    read.map_err(|error| stage.town.violated(error.to_string())).ok()
}

impl Stage {
    pub(super) fn pull(&self, number: u64) -> Option<PullState> {
        let subject = self.desk.tables().subjects.get(&super::hub::id(number).key())?.subject.clone();
        parsed(PullState::from_json(&subject.state), self)
    }

    pub(super) fn run(&self, run: &RunId) -> Option<Run> {
        let subject = self.desk.tables().subjects.get(&key_of(run))?.subject.clone();
        parsed(Run::from_json(&subject.state), self)
    }

    /// Checks what must hold now.
    pub(super) fn check(&mut self) {
        let changed: Vec<Row> = {
            let tables = self.desk.tables();
            let new = |row: &&Row| self.seen.versions.get(&row.subject.key) != Some(&row.subject.version);
            tables.subjects.values().filter(new).cloned().collect()
        };
        let some = !changed.is_empty();
        for row in changed {
            self.seen.versions.insert(row.subject.key.clone(), row.subject.version);
            if row.subject.key.starts_with("run:") {
                self.check_run(&row);
            } else if let Some(state) = parsed(PullState::from_json(&row.subject.state), self) {
                self.check_pull(&state, &row);
            }
        }
        if some {
            self.check_live();
        }
    }

    fn check_run(&mut self, row: &Row) {
        let Some(run) = parsed(Run::from_json(&row.subject.state), self) else { return };
        let looks: Vec<_> = self.desk.tables().looks.values().cloned().collect();
        let before = self.seen.runs.get(&run.id);
        invariants::check(&mut self.town.world.lock(), &looks, before, &run);
        if before.is_none()
            && let Some(plan) = parsed(plan_of(&row.subject), self)
        {
            self.check_plan(&plan);
            self.seen.plans.insert(run.id.clone(), plan);
        }
        if run.trials.iter().any(|trial| trial.name.run != run.id) {
            self.town.violated(format!("{} has a trial of another run", run.id));
        }
        self.seen.runs.insert(run.id.clone(), run);
    }

    /// A plan takes nothing over from a plan of another head.
    fn check_plan(&self, plan: &Plan) {
        let head = |plan: &Plan| plan.arms.treatments().first().map(|arm| arm.commit.clone());
        let hub = self.town.hub();
        let Some(asked) = hub.planned.get(&plan.run) else {
            drop(hub);
            return self.town.violated(format!("{} runs and nobody planned it", plan.run));
        };
        let mut broken = Vec::new();
        if head(plan).as_ref() != Some(&asked.head) {
            broken.push(format!("{} measures another head than was asked for", plan.run));
        }
        let before = plan.continues.as_ref().and_then(|before| hub.planned.get(before));
        if before.is_some_and(|before| before.head != asked.head) {
            broken.push(format!("{} goes on with the control of another head", plan.run));
        }
        drop(hub);
        self.town.all_violated(broken);
    }

    fn check_pull(&mut self, state: &PullState, row: &Row) {
        let number = state.id.number;
        let active: Vec<RunId> = {
            let tables = self.desk.tables();
            tables.runs.iter().filter(|run| run.active && run.number == number).map(|run| run.id.clone()).collect()
        };
        let going: Vec<RunId> = state
            .shown
            .values()
            .filter(|shown| !matches!(shown.stage, At::Over(_)))
            .map(|shown| shown.asked.run.clone())
            .collect();
        if active.len() > 1 || going.len() > 1 {
            self.town.violated(format!("several runs of {number} go on: {active:?}, {going:?}"));
        } else if active != going {
            self.town.violated(format!("of {number}, {active:?} go on in the store and {going:?} in the state"));
        }
        for shown in state.shown.values() {
            let asked = &shown.asked;
            if asked.cause == Cause::Push && shown.stage == At::Planning && self.seen.begun.insert(asked.run.clone()) {
                let seen = state.seen.as_ref();
                let draft = seen.is_some_and(|seen| seen.draft);
                let off = state.auto.get(&asked.suite).is_some_and(|auto| !auto.on);
                if draft || off || asked.fork {
                    let of = [(draft, "a draft"), (off, "what was switched off"), (asked.fork, "a fork")];
                    let of: Vec<&str> = of.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
                    self.town.violated(format!("{number} is measured after a push and is {}", of.join(" and ")));
                }
                // A head that was asked for, stopped by a push, and is back.
                let back = self.desk.tables().runs.iter().any(|run| {
                    run.id != asked.run
                        && run.number == number
                        && run.suite == asked.suite
                        && run.head == asked.head.as_str()
                });
                let off = {
                    let hub = self.town.hub();
                    let since = hub.since.get(&number).cloned().unwrap_or_default();
                    let newest = hub.pulls.get(&number).is_some_and(|pull| pull.head == asked.head);
                    newest
                        && !back
                        && !since.on.contains(asked.suite.as_str())
                        && !state.auto.contains_key(&asked.suite)
                };
                if off {
                    self.town.violated(format!("{number} is measured after a push although the suite wants none"));
                }
            }
            let given_up =
                matches!(shown.newer.as_ref().map(|newer| &newer.fate), Some(NewerFate::Next { finishing: false, .. }));
            if given_up && shown.stage == At::Running {
                let key = format!("cancel:{}:superseded", asked.run);
                let told = row.effects.iter().any(|effect| effect.key == key);
                let goes_on = self.run(&asked.run).is_some_and(|run| {
                    matches!(
                        run.state,
                        State::Queued
                            | State::Planning
                            | State::AwaitingConfirmation { .. }
                            | State::Measuring { .. }
                            | State::Judging { .. }
                    )
                });
                if goes_on && !told {
                    self.town.violated(format!("{} was given up for a newer push and goes on", asked.run));
                }
            }
        }
    }

    /// Every job that lives belongs to a run that goes on, or is named as possibly alive.
    fn check_live(&self) {
        let active: BTreeSet<RunId> = {
            let tables = self.desk.tables();
            tables.runs.iter().filter(|run| run.active).map(|run| run.id.clone()).collect()
        };
        let live: Vec<_> = {
            let world = self.town.world.lock();
            let now = world.now;
            let live = world.jobs.iter().filter(|(_, job)| job.is_live(now)).map(|(name, _)| name.clone());
            live.filter(|name| !active.contains(&name.run)).collect()
        };
        for name in live {
            let named = self.run(&name.run).is_some_and(|run| run.alive().iter().any(|of| of.trial == name));
            if !named {
                self.town.violated(format!("{name} lives and its run is over"));
            }
        }
        let hub = self.town.hub();
        let unapproved = |run: &RunId| {
            hub.planned
                .get(run)
                .is_some_and(|asked| asked.fork && !hub.approved.contains(&(asked.pull.number, asked.head.clone())))
        };
        let launched: Vec<_> =
            self.town.world.lock().launches.keys().filter(|name| unapproved(&name.run)).cloned().collect();
        drop(hub);
        for name in launched {
            self.town.violated(format!("{name} of a fork was launched and nobody approved it"));
        }
    }
}
