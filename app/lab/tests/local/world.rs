//! What the tests are made of: a repository, a backend, and trials of one or two steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use domain::arms::{Arms, Declared, Role, Treatment};
use domain::ids::{CommitSha, Digest, JobId};
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::{Answer, Cause, Collected, End, JobState, Lab as _, Submitted};
use domain::rounds::{RoundMode, TrialName};
use lab::assemble::{self, LocalTrial};
use lab::git::Mirror;
use lab::local::{Launch, LocalLab, Settings, Step};
use serde_json::Value;

use crate::SUPERVISE;
use crate::support::{self, Repo, path};

pub(super) fn step(name: &str, script: &str) -> Step {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    Step { name: name.to_owned(), argv, env: BTreeMap::new(), limit_ms: None, parallel: false }
}

pub(super) fn plan(commit: &CommitSha, launch: &Launch) -> Plan {
    let launch = serde_json::to_value(launch).unwrap();
    let treatment = Treatment { name: "head".parse().unwrap(), commit: commit.clone(), declared: Declared::default() };
    Plan {
        schema: PLAN_SCHEMA,
        run: "20261129T202850Z-8d10c1b5".parse().unwrap(),
        suite: "demo".parse().unwrap(),
        title: "Demo".to_owned(),
        suite_digest: Digest::of(b""),
        preset: None,
        arms: Arms::new(commit.clone(), vec![treatment]).unwrap(),
        origin: Origin::default(),
        workloads: BTreeMap::new(),
        contexts: BTreeMap::new(),
        launches: ["control", "head"].map(|role| (role.to_owned(), launch.clone())).into(),
        mode: RoundMode::InTurn,
        looks: vec![1],
        replacements: 1,
        limit_ms: 600_000,
        judging: Value::Null,
        calibration: Value::Null,
        calibrated: None,
        ledger: Digest::of(b""),
        episode: 1,
        continues: None,
        earlier_rounds: 0,
        each_ms: None,
        retry: None,
        confirm: None,
        skip: None,
        scope: None,
        late: None,
        notes: Vec::new(),
    }
}

pub(super) fn trial(place: u32) -> TrialName {
    format!("zab-20261129T202850Z-8d10c1b5-r1.0-{place}").parse().unwrap()
}

/// The backend never waits inside a call.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a call of the local backend waits"),
    }
}

#[allow(clippy::disallowed_methods)] // waits for processes, which nothing tells of
pub(super) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(value) = found() {
            return value;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("waited in vain for {what}")
}

pub(super) struct World {
    pub(super) repo: Repo,
    pub(super) commit: CommitSha,
    pub(super) lab: Option<LocalLab>,
}

pub(super) fn settings(dir: &Path, mirror: Mirror) -> Settings {
    let program = std::env::current_exe().unwrap();
    let path = path().into_string().unwrap();
    Settings::new(dir.join("jobs"), mirror, vec![program.into(), SUPERVISE.into()], path)
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let repo = Repo::new();
        let commit = repo.commit(&[("bench.sh", "#!/bin/sh\necho \"$0 $*\"\n"), ("data", "12")]);
        let mut settings = settings(repo.dir.path(), repo.mirror());
        change(&mut settings);
        let lab = LocalLab::open(settings).unwrap();
        Self { repo, commit, lab: Some(lab) }
    }

    pub(super) fn lab(&self) -> &LocalLab {
        self.lab.as_ref().unwrap()
    }

    pub(super) fn jobs(&self) -> PathBuf {
        self.repo.dir.path().join("jobs")
    }

    pub(super) fn submit(&self, steps: Vec<Step>) -> JobId {
        let plan = plan(&self.commit, &Launch { steps });
        match now(self.lab().submit(&plan, &trial(1), &Role::Control)) {
            Submitted::Accepted(job) => job,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn end(&self, job: &JobId) -> End {
        until("the trial to end", || match now(self.lab().poll(job)).unwrap() {
            JobState::Ended(end) => Some(end),
            _ => None,
        })
    }

    pub(super) fn answers(&self, job: &JobId) -> Vec<Answer> {
        let plan = plan(&self.commit, &Launch::default());
        match now(self.lab().collect(&plan, &trial(1), job, 1)) {
            Collected::Complete(answers) => answers,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn run(&self, steps: Vec<Step>) -> (End, Vec<Answer>) {
        let job = self.submit(steps);
        let end = self.end(&job);
        (end, self.answers(&job))
    }

    /// Runs one step and returns how the trial ended and what was measured.
    pub(super) fn measure(&self, script: &str) -> (End, LocalTrial, Vec<Answer>) {
        let (end, answers) = self.run(vec![step("s", script)]);
        (end, assemble::local(&answers).unwrap(), answers)
    }

    /// A file of the tests' own, outside of what is removed.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.repo.dir.path().join(name)
    }

    /// The pid that a step has written to a file.
    pub(super) fn pid(&self, name: &str) -> i32 {
        until("a pid", || std::fs::read_to_string(self.file(name)).ok()?.strip_suffix('\n')?.parse().ok())
    }

    pub(super) fn assert_gone(mut self) {
        self.lab = None;
        assert_eq!(support::listing(&self.jobs()), [""; 0]);
    }
}

pub(super) fn text(answers: &[Answer], name: &str) -> String {
    let answer = answers.iter().find(|answer| answer.name == name);
    String::from_utf8_lossy(&answer.unwrap_or_else(|| panic!("{name} in {answers:?}")).bytes).into_owned()
}

pub(super) fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

pub(super) fn cpu(trial: &LocalTrial) -> f64 {
    trial.trial.stages[0].1.cpu_time_total.value().unwrap()
}

/// Uses well over 50 ms of CPU on any machine: the shell counts to 100,000.
pub(super) const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";

pub(super) fn application(end: &End) -> &str {
    match end {
        End::Failed { cause: Cause::Application { oom: false, text } } => text,
        other => panic!("{other:?}"),
    }
}
