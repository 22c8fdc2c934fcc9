//! A backend that answers at once what trials of a real run answered. It dies with its process, as trials on this machine do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::arms::Role;
use domain::ids::JobId;
use domain::plan::Plan;
use domain::ports::{Answer, Cause, Collected, End, JobState, Lab, Submitted, TrialFate, Unreachable};
use domain::rounds::TrialName;

/// What the trials of a run answered.
pub(crate) struct Tape {
    /// The place, arm and round of a trial: its name, its commit and its answers.
    trials: BTreeMap<(String, u32), Recorded>,
    rounds: u32,
}

struct Recorded {
    name: String,
    commit: String,
    answers: Vec<Answer>,
}

fn plan_of(run: &Path) -> Plan {
    let text = std::fs::read_to_string(run.join("plan.json")).expect("a plan");
    serde_json::from_str(&text).expect("a plan")
}

/// The fates in the evidence of a run.
pub(crate) fn fates(run: &Path) -> Vec<TrialFate> {
    let text = std::fs::read_to_string(run.join("trials.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a fate")).collect()
}

impl Tape {
    /// Reads the evidence of a finished run.
    pub(crate) fn of(run: &Path) -> Self {
        let plan = plan_of(run);
        let mut trials = BTreeMap::new();
        for fate in fates(run) {
            let folder = run.join(evidence::name::trial_folder(&fate.name, &fate.role));
            let files = std::fs::read_dir(&folder).expect("answers").flatten();
            let answer = |entry: std::fs::DirEntry| Answer {
                name: entry.file_name().to_string_lossy().into_owned(),
                bytes: std::fs::read(entry.path()).expect("an answer"),
            };
            let commit = plan.arms.commit(&fate.role).expect("an arm").to_string();
            let recorded = Recorded { name: fate.name.to_string(), commit, answers: files.map(answer).collect() };
            trials.insert((fate.role.to_string(), fate.name.round), recorded);
        }
        let rounds = trials.keys().map(|(_, round)| *round).max().expect("a round");
        Self { trials, rounds }
    }

    /// What a trial answers: what the recorded one of its arm did in the same round, under its own name.
    fn answers(&self, plan: &Plan, trial: &TrialName, role: &Role) -> Vec<Answer> {
        let round = (trial.round - 1) % self.rounds + 1;
        let recorded = self.trials.get(&(role.to_string(), round)).expect("a recorded trial");
        let commit = plan.arms.commit(role).expect("an arm").to_string();
        let answer = |answer: &Answer| {
            if answer.name != "job.json" {
                return answer.clone();
            }
            let text = String::from_utf8_lossy(&answer.bytes).replace(&recorded.name, &trial.to_string());
            Answer { name: answer.name.clone(), bytes: text.replace(&recorded.commit, &commit).into_bytes() }
        };
        recorded.answers.iter().map(answer).collect()
    }
}

/// How often each trial was started, over all processes.
pub(crate) type Launches = Arc<Mutex<BTreeMap<TrialName, u32>>>;

/// The backend.
pub(crate) struct Replaying {
    tape: Arc<Tape>,
    launches: Launches,
    /// The trials of this process, and those that were seen running.
    here: Mutex<(BTreeMap<TrialName, Role>, BTreeSet<TrialName>)>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn trial_of(job: &JobId) -> TrialName {
    job.root_name().parse().expect("the name of a trial")
}

fn job_of(trial: &TrialName) -> JobId {
    format!("/local/{trial}").parse().expect("a job")
}

impl Replaying {
    pub(crate) fn new(tape: &Arc<Tape>, launches: &Launches) -> Self {
        Self { tape: Arc::clone(tape), launches: Arc::clone(launches), here: Mutex::default() }
    }
}

impl Lab for Replaying {
    async fn submit(&self, _: &Plan, trial: &TrialName, role: &Role) -> Submitted {
        *locked(&self.launches).entry(trial.clone()).or_default() += 1;
        locked(&self.here).0.insert(trial.clone(), role.clone());
        Submitted::Accepted(job_of(trial))
    }

    async fn find(&self, _: &Plan, trial: &TrialName) -> Result<Option<JobId>, Unreachable> {
        // As the service answers for trials on this machine.
        Ok(Some(job_of(trial)))
    }

    async fn poll(&self, job: &JobId) -> Result<JobState, Unreachable> {
        let (trial, mut here) = (trial_of(job), locked(&self.here));
        if !here.0.contains_key(&trial) {
            let cause = Cause::Infrastructure("it ended with the process that ran it".to_owned());
            return Ok(JobState::Ended(End::Failed { cause }));
        }
        let first = here.1.insert(trial);
        let running = JobState::Running { step: Some("one".to_owned()), done: 0, of: 2 };
        Ok(if first { running } else { JobState::Ended(End::Succeeded) })
    }

    async fn collect(&self, plan: &Plan, trial: &TrialName, _: &JobId, _: u32) -> Collected {
        match locked(&self.here).0.get(trial) {
            Some(role) => Collected::Complete(self.tape.answers(plan, trial, role)),
            None => Collected::Gone(format!("{trial} ended with the process that ran it")),
        }
    }

    async fn terminate(&self, _: &JobId) -> Result<(), Unreachable> {
        Ok(())
    }

    fn settles_at_once(&self, _: &JobId) -> bool {
        true
    }
}
