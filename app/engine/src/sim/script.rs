//! How trials and judgements of a seed come out.

use domain::arms::{Arms, Declared, Role, Treatment};
use domain::comparability::Context;
use domain::ids::{CommitSha, Digest, IdError, RunId, SuiteName};
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::{Cause, End};
use domain::retry::Retry;
use domain::rounds::{RoundMode, TrialName};
use domain::time::{MINUTE, SECOND};
use domain::view::Reason;
use domain::workload::Workload;

use super::chance::about;

/// What kind of change and benchmark this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// Nothing breaks.
    Calm,
    /// Machines break, now and then.
    Flaky,
    /// The treatment fails often.
    TreatmentBreaks,
    /// The control fails often.
    ControlBreaks,
    /// Everything fails always.
    AllBreak,
    /// The machines of the treatment break.
    TreatmentSpoils,
    /// Everything, now and then.
    Wild,
}

const NATURES: [Nature; 7] = [
    Nature::Calm,
    Nature::Flaky,
    Nature::TreatmentBreaks,
    Nature::ControlBreaks,
    Nature::AllBreak,
    Nature::TreatmentSpoils,
    Nature::Wild,
];

/// How a trial comes out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    /// Milliseconds before it runs.
    pub(super) pending: u64,
    /// Milliseconds that it runs.
    pub(super) running: u64,
    /// How it ends.
    pub(super) end: End,
    /// Milliseconds until its records are there.
    pub(super) late: u64,
    /// Some of its records never come.
    pub(super) missing: bool,
    /// A worker ran out of memory inside although the job ended well.
    pub(super) oom_inside: bool,
    /// The infrastructure spoiled it although the job ended well.
    pub(super) churn_inside: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Script {
    seed: u64,
    nature: Nature,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = about(seed, "nature");
        // Half of all seeds are wild.
        let nature = if chance.happens(500) { Nature::Wild } else { chance.pick(NATURES) };
        Self { seed, nature }
    }

    pub(super) fn calm(seed: u64) -> Self {
        Self { seed, nature: Nature::Calm }
    }

    fn end(&self, name: &TrialName, role: &Role) -> End {
        let mut chance = about(self.seed, &format!("end {name}"));
        let treatment = *role != Role::Control;
        let (fails, breaks, hangs) = match self.nature {
            Nature::Calm => (0, 0, 0),
            Nature::Flaky => (0, 150, 5),
            Nature::TreatmentBreaks => (if treatment { 600 } else { 20 }, 30, 0),
            Nature::ControlBreaks => (if treatment { 20 } else { 600 }, 30, 0),
            Nature::AllBreak => (1000, 0, 0),
            Nature::TreatmentSpoils => (0, if treatment { 600 } else { 10 }, 0),
            Nature::Wild => (120, 120, 15),
        };
        let drawn = chance.below(1000);
        let oom = chance.happens(400);
        let cause = if drawn < fails {
            Cause::Application { oom, text: "error: it broke".to_owned() }
        } else if drawn < fails + breaks {
            Cause::Infrastructure("preempted".to_owned())
        } else if drawn < fails + breaks + hangs {
            Cause::TimeLimit
        } else {
            return End::Succeeded;
        };
        End::Failed { cause }
    }

    pub(super) fn course(&self, name: &TrialName, role: &Role) -> Course {
        let mut chance = about(self.seed, &format!("course {name}"));
        let troubled = !matches!(self.nature, Nature::Calm);
        let wild = self.nature == Nature::Wild;
        let pending = if chance.happens(300) { chance.below(2 * MINUTE) } else { 0 };
        Course {
            pending: if wild && chance.happens(15) { 10 * 60 * MINUTE } else { pending },
            running: 2 * SECOND + chance.below(3 * MINUTE),
            end: self.end(name, role),
            late: if troubled && chance.happens(300) { chance.below(2 * MINUTE) } else { 0 },
            missing: troubled && chance.happens(25),
            oom_inside: wild && chance.happens(60),
            churn_inside: troubled && chance.happens(30),
        }
    }

    /// What the statistics of a declared look say of a treatment.
    pub(super) fn reason(&self, treatment: &str, look: u32) -> Reason {
        const REASONS: [Reason; 12] = [
            Reason::Undecided,
            Reason::NoCalibration,
            Reason::SuspectedRegression,
            Reason::MarginInNoiseBand,
            Reason::SmallIncrease,
            Reason::WorkNotCounted,
            Reason::Undecided,
            Reason::NoChange,
            Reason::CpuLower,
            Reason::CpuHigher,
            Reason::CpuVsElapsed,
            Reason::MemAtRisk,
        ];
        about(self.seed, &format!("look {treatment} {look}")).pick(REASONS)
    }

    /// What screening says of a treatment that shows something no further round can change.
    pub(super) fn screened(&self, treatment: &str) -> Option<Reason> {
        let mut chance = about(self.seed, &format!("screen {treatment}"));
        (self.nature != Nature::Calm && chance.happens(60)).then_some(Reason::DifferentWork)
    }
}

/// The plan of a seed.
///
/// # Errors
/// None: every text below is a valid id.
pub(super) fn plan(seed: u64) -> Result<Plan, IdError> {
    plan_of(seed, &RunId::new(1_795_984_130, 7)?, &"sim".parse()?, &"b".repeat(40).parse()?)
}

/// The plan of a seed for a run of a suite that measures this head.
///
/// # Errors
/// As [`plan`].
pub(super) fn plan_of(seed: u64, run: &RunId, suite: &SuiteName, head: &CommitSha) -> Result<Plan, IdError> {
    let mut chance = about(seed, "plan");
    let count = if chance.happens(250) { 2 } else { 1 };
    let mut treatments = Vec::new();
    for name in ["head", "wide"].into_iter().take(count) {
        treatments.push(Treatment { name: name.parse()?, commit: head.clone(), declared: Declared::default() });
    }
    // One or two treatments of different names are arms.
    let Ok(arms) = Arms::new("a".repeat(40).parse()?, treatments) else {
        return Err(IdError::Form { what: "arms", allowed: "one or two treatments" });
    };
    let roles = ["control", "head", "wide"].into_iter().take(count + 1).map(str::to_owned);
    let looks = chance.pick([[1, 2, 3].as_slice(), &[2, 4], &[3], &[1, 2]]).to_vec();
    // A quarter of all seeds retry a run that was broken off in its first round.
    let retries = about(seed, "retry").happens(250);
    let earlier = RunId::new(1_795_980_000, 5)?;
    let place = |at: usize, run: &RunId| {
        let place = u32::try_from(at + 1).unwrap_or(u32::MAX);
        TrialName { run: run.clone(), round: 1, replacement: 0, place }
    };
    let names: Vec<(TrialName, TrialName)> = (0..=count).map(|at| (place(at, run), place(at, &earlier))).collect();
    let adopts = names.into_iter().map(|(own, other)| Ok((own, format!("/sim/{other}").parse()?)));
    let adopts = adopts.collect::<Result<Vec<_>, IdError>>()?.into_iter();
    Ok(Plan {
        schema: PLAN_SCHEMA,
        run: run.clone(),
        suite: suite.clone(),
        title: "Simulated".to_owned(),
        suite_digest: Digest::of(b"suite"),
        preset: None,
        arms,
        origin: Origin::default(),
        workloads: roles.clone().map(|role| (role, Workload::new(suite))).collect(),
        contexts: roles.clone().map(|role| (role, Context::default())).collect(),
        launches: roles.map(|role| (role, serde_json::Value::Null)).collect(),
        mode: if chance.happens(500) { RoundMode::Together } else { RoundMode::InTurn },
        looks,
        replacements: u32::try_from(chance.below(4)).unwrap_or(3),
        limit_ms: 60 * MINUTE,
        judging: serde_json::json!({}),
        calibration: serde_json::json!({}),
        calibrated: None,
        ledger: Digest::of(b"ledger"),
        episode: 1,
        continues: if retries { Some(earlier) } else { None },
        earlier_rounds: 0,
        each_ms: None,
        retry: retries.then(|| Retry { adopts: adopts.collect(), ..Retry::default() }),
        confirm: chance.happens(150).then(|| "it costs something".to_owned()),
        skip: None,
        scope: None,
        late: None,
        notes: Vec::new(),
    })
}
