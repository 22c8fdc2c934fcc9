//! The simulated backend and its source of measurements.

use domain::arms::Role;
use domain::ids::JobId;
use domain::plan::Plan;
use domain::ports::{Answer, Collected, End, JobState, Lab, StoredEffect, Submitted, Unreachable};
use domain::rounds::TrialName;
use domain::time::SECOND;

use super::world::{Shared, World};
use crate::memory::MemoryStore;

/// What is written down and not done yet.
pub(super) trait Written {
    fn open_effects(&self, subject: &str) -> Vec<StoredEffect>;
}

impl Written for MemoryStore {
    fn open_effects(&self, subject: &str) -> Vec<StoredEffect> {
        Self::open_effects(self, subject)
    }
}

/// The simulated backend. It sees the store only to check that what it is asked to do was written down before.
#[derive(Clone, Debug)]
pub(super) struct SimLab<S = MemoryStore> {
    pub(super) world: Shared,
    pub(super) store: S,
}

/// Records grow for this long after the first are there, although they look complete.
const GROWS: u64 = 4 * SECOND;

/// The content of complete and final records.
pub(super) fn records_of(name: &TrialName) -> Vec<u8> {
    format!("records of {name}").into_bytes()
}

fn silent(world: &World) -> Result<(), Unreachable> {
    if world.now < world.lab_silent { Err(Unreachable("connection refused".to_owned())) } else { Ok(()) }
}

/// The name of the job of a trial: that of the trial, but for one that was taken over.
pub(super) fn job_name<'a>(trial: &'a TrialName, job: Option<&JobId>) -> std::borrow::Cow<'a, TrialName> {
    job.and_then(name_of).map_or(std::borrow::Cow::Borrowed(trial), std::borrow::Cow::Owned)
}

fn name_of(job: &JobId) -> Option<TrialName> {
    job.root_name().parse().ok()
}

fn job_of(name: &TrialName) -> Result<JobId, Unreachable> {
    format!("/sim/{name}").parse().map_err(|error: domain::ids::IdError| Unreachable(error.to_string()))
}

enum Way {
    Answered,
    AnswerLost,
    NeverSent,
    Delayed(u64),
    Refused,
}

impl<S: Written> SimLab<S> {
    fn way(world: &mut World) -> Way {
        let faults = world.faults;
        if silent(world).is_err() {
            Way::NeverSent
        } else if world.chance.happens(faults.refused) {
            Way::Refused
        } else if world.chance.happens(faults.lost) {
            match world.chance.below(3) {
                0 => Way::AnswerLost,
                1 => Way::NeverSent,
                // As long as a submission may be under way; after that it counts as never sent.
                _ => Way::Delayed(world.chance.below(170) * SECOND),
            }
        } else {
            Way::Answered
        }
    }

    fn check_written(&self, world: &mut World, plan: &Plan, key: &str) {
        let subject = crate::engine::key_of(&plan.run);
        let written = self.store.open_effects(&subject).iter().any(|effect| effect.key == key && effect.begun);
        if !written {
            world.violated(format!("{key} was performed before it was written down"));
        }
    }
}

impl<S: Written + Send + Sync> Lab for SimLab<S> {
    async fn submit(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        self.world.point("before a submission").await;
        let answer = {
            let mut world = self.world.lock();
            if plan.retry.as_ref().is_some_and(|retry| retry.adopts.contains_key(trial)) {
                world.violated(format!("{trial} was to take a job over and was submitted"));
            }
            self.check_written(&mut world, plan, &format!("submit:{trial}"));
            let way = Self::way(&mut world);
            let lost = || Submitted::NoAnswer("timeout".to_owned());
            match (way, job_of(trial)) {
                (Way::Refused, _) => Submitted::Refused("no such image".to_owned()),
                (Way::NeverSent, _) | (_, Err(_)) => lost(),
                (Way::Delayed(ms), _) => {
                    let at = world.now.plus(ms);
                    world.arrivals.push((at, trial.clone(), role.clone()));
                    lost()
                }
                (way, Ok(job)) => {
                    let new = world.launch(trial, role);
                    match (way, new) {
                        (Way::AnswerLost, _) => lost(),
                        (_, true) => Submitted::Accepted(job),
                        (_, false) => Submitted::AlreadyThere(job),
                    }
                }
            }
        };
        self.world.lock().log(&format!("submit {trial}: {answer:?}"));
        self.world.point("after a submission").await;
        answer
    }

    async fn adopt(&self, _: &Plan, trial: &TrialName, _: &Role, job: &JobId) -> Submitted {
        self.world.point("before a job is taken over").await;
        self.world.lock().log(&format!("{trial} takes {job} over"));
        self.world.point("after a job was taken over").await;
        Submitted::AlreadyThere(job.clone())
    }

    async fn find(&self, _plan: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        let mut world = self.world.lock();
        let lost = world.faults.lost;
        silent(&world)?;
        if world.chance.happens(lost) {
            return Err(Unreachable("timeout".to_owned()));
        }
        let found = if world.jobs.contains_key(trial) { Some(job_of(trial)?) } else { None };
        world.log(&format!("find {trial}: {}", found.is_some()));
        Ok(found)
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        let mut world = self.world.lock();
        let lost = world.faults.lost;
        silent(&world)?;
        if world.chance.happens(lost) {
            return Err(Unreachable("timeout".to_owned()));
        }
        let now = world.now;
        let Some(known) = name_of(job).and_then(|name| world.jobs.get(&name)) else { return Ok(JobState::Unknown) };
        Ok(if known.is_live(now) {
            if now < known.begins {
                JobState::Pending("no machine".to_owned())
            } else {
                JobState::Running { step: Some("work".to_owned()), done: 0, of: 1 }
            }
        } else {
            JobState::Ended(known.end.clone())
        })
    }

    async fn collect(&self, _plan: &Plan, trial: &TrialName, job: &JobId, _probe: u32) -> Collected {
        let mut world = self.world.lock();
        let (now, lost, at_once) = (world.now, world.faults.lost, world.at_once);
        let grows = !at_once && !world.jumpy;
        if now < world.source_silent || world.chance.happens(lost) {
            return Collected::Unavailable("503".to_owned());
        }
        let answer = |bytes: Vec<u8>| vec![Answer { name: "records.json".to_owned(), bytes }];
        let name = name_of(job).unwrap_or_else(|| trial.clone());
        let Some(job) = world.jobs.get(&name) else {
            // The source is another service than the backend, but here it knows no more than it.
            return Collected::Unavailable("404".to_owned());
        };
        if job.is_live(now) {
            world.violated(format!("{trial} was collected while it ran"));
            return Collected::Unavailable("still running".to_owned());
        }
        let there = job.ends.plus(job.course.late);
        let missing = vec!["(work, stage0)".to_owned()];
        if job.course.missing || !matches!(job.end, End::Succeeded) || (now < there && !at_once) {
            Collected::Incomplete(answer(b"some records".to_vec()), missing)
        } else if now < there.plus(GROWS) && grows {
            Collected::Complete(answer(b"records that still grow".to_vec()))
        } else {
            Collected::Complete(answer(records_of(&name)))
        }
    }

    async fn terminate(&self, job: &JobId) -> Result<(), Unreachable> {
        self.world.point("before a termination").await;
        {
            let mut world = self.world.lock();
            let lost = world.faults.lost;
            silent(&world)?;
            if let Some(name) = name_of(job) {
                world.terminate(&name);
            }
            if world.chance.happens(lost) {
                return Err(Unreachable("timeout".to_owned()));
            }
        }
        self.world.point("after a termination").await;
        Ok(())
    }

    fn settles_at_once(&self, _: &JobId) -> bool {
        self.world.lock().at_once
    }
}
