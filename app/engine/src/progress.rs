//! What a person sees while a run goes on.

use domain::arms::Role;
use domain::ids::JobId;
use domain::machine::{Run, State, Step, Trial, TrialState};
use domain::ports::{Discard, Fate};
use domain::rounds::RoundMode;
use domain::time::Ms;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits for a slot.
    Queued,
    /// It is being planned.
    Planning,
    /// A person must agree first.
    AwaitingConfirmation,
    /// A job waits for a machine, or is being submitted.
    Waiting,
    /// A job runs.
    Running,
    /// A job is over; its measurements are being fetched.
    Collecting,
    /// The rounds so far are being judged.
    Judging,
    /// Jobs are being stopped.
    Stopping,
    /// The evidence is being sealed.
    Sealing,
    /// It is over.
    Over,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// The round, from 1, those of earlier runs included; 0 before the first.
    pub round: u32,
    /// The largest number of rounds.
    pub of: u64,
    /// How often this round was replaced.
    pub replacement: u32,
    /// Why the round before was replaced: the arm and what became of its trial, as it was told.
    pub spoiled: Option<(Role, String)>,
    /// The arms whose trials are under way.
    pub arms: Vec<Role>,
    /// The jobs that are under way.
    pub jobs: Vec<(Role, JobId)>,
    /// The step of the first of them that says it.
    pub step: Option<Step>,
    /// What is waited for: a machine, the source of the measurements.
    pub waits: Option<String>,
    /// Trials of counted rounds and of the current one that are over.
    pub trials_done: u64,
    /// Trials of this run, if it takes every round.
    pub trials_planned: u64,
    /// Milliseconds that every remaining round would take, after those that are over; `None` before the first,
    /// where nobody knows how long one takes.
    pub remaining_ms: Option<u64>,
    /// Milliseconds since the run was made.
    pub elapsed_ms: u64,
}

impl Progress {
    /// The progress of a run.
    #[must_use]
    pub fn of(run: &Run, now: Ms) -> Self {
        let frame = run.frame.as_ref();
        let under_way: Vec<&Trial> = run.trials.iter().filter(|trial| !trial.is_over()).collect();
        let counted = |trial: &&Trial| {
            trial.is_counted()
                && (run
                    .counted
                    .iter()
                    .any(|of| (of.round, of.replacement) == (trial.name.round, trial.name.replacement))
                    || (trial.name.round, trial.name.replacement) == (run.round, run.replacement))
        };
        let trials_done = run.trials.iter().filter(counted).count() as u64;
        let places = run.places.len().max(run.undecided().len() + 1) as u64;
        let rounds_left = frame.map_or(0, |frame| frame.rounds().saturating_sub(run.rounds_done()));
        let of_counted = run.trials.iter().filter(counted).filter(|trial| !is_current_open(run, trial)).count() as u64;
        let trials_planned = (of_counted + rounds_left * places).max(trials_done);
        Self {
            phase: phase(run, &under_way),
            round: run.round,
            of: frame.map_or(0, domain::machine::Frame::rounds),
            replacement: run.replacement,
            spoiled: spoiled(run),
            arms: under_way.iter().map(|trial| trial.role.clone()).collect(),
            jobs: under_way.iter().filter_map(|trial| Some((trial.role.clone(), trial.job.clone()?))).collect(),
            step: under_way.iter().find_map(|trial| trial.step.clone()),
            waits: under_way.iter().find_map(|trial| waits(trial)),
            trials_done,
            trials_planned,
            remaining_ms: remaining(run, trials_planned - trials_done, places, now),
            elapsed_ms: now.since(run.started),
        }
    }
}

/// A trial of the current round, where that is not counted yet.
fn is_current_open(run: &Run, trial: &Trial) -> bool {
    let key = (trial.name.round, trial.name.replacement);
    key == (run.round, run.replacement) && !run.counted.iter().any(|of| (of.round, of.replacement) == key)
}

fn phase(run: &Run, under_way: &[&Trial]) -> Phase {
    match &run.state {
        State::Queued => Phase::Queued,
        State::Planning => Phase::Planning,
        State::AwaitingConfirmation { .. } => Phase::AwaitingConfirmation,
        State::Measuring { .. } => {
            let any = |of: fn(&Trial) -> bool| under_way.iter().any(|trial| of(trial));
            if any(|trial| matches!(trial.state, TrialState::Live { .. }) && trial.running.is_some()) {
                Phase::Running
            } else if any(|trial| matches!(trial.state, TrialState::Settled { .. } | TrialState::Collecting { .. })) {
                Phase::Collecting
            } else {
                Phase::Waiting
            }
        }
        State::Judging { .. } => Phase::Judging,
        State::Stopping { .. } => Phase::Stopping,
        State::Sealing { .. } => Phase::Sealing,
        State::Done { .. } | State::Ended { .. } => Phase::Over,
    }
}

/// The trial that spoiled the round before, where the round is measured anew.
fn spoiled(run: &Run) -> Option<(Role, String)> {
    let before = run.replacement.checked_sub(1)?;
    let of_round = run.trials.iter().filter(|trial| (trial.name.round, trial.name.replacement) == (run.round, before));
    let why = |trial: &Trial| match trial.fate()? {
        Fate::Counted | Fate::Discarded(Discard::Stopped) => None,
        Fate::Failed(failure) => Some(failure.text.lines().next().unwrap_or_default().to_owned()),
        Fate::Discarded(Discard::Infrastructure(why) | Discard::Refused(why) | Discard::SourceUnavailable(why)) => {
            Some(why.clone())
        }
        Fate::Discarded(Discard::Lost) => Some("the backend no longer knew its job".to_owned()),
        Fate::Discarded(Discard::Incomplete(missing)) => Some(format!("{} records stayed missing", missing.len())),
        Fate::Discarded(Discard::TimeLimit) => Some("it reached its time limit".to_owned()),
        Fate::Discarded(Discard::Abandoned) => Some("it could not be stopped".to_owned()),
    };
    of_round.into_iter().find_map(|trial| Some((trial.role.clone(), why(trial)?)))
}

fn waits(trial: &Trial) -> Option<String> {
    match &trial.state {
        TrialState::Collecting { unavailable: Some(of), .. } => Some(format!("SOURCE_UNAVAILABLE: {}", of.why)),
        _ => trial.waits.clone(),
    }
}

/// The mean time of a counted trial, or else what the plan expects of one, times those that are left, less what the running
/// ones have had.
fn remaining(run: &Run, left: u64, places: u64, now: Ms) -> Option<u64> {
    let frame = run.frame.as_ref()?;
    if run.state.is_over() {
        return None;
    }
    let times: Vec<u64> = run
        .trials
        .iter()
        .filter(|trial| trial.is_counted())
        .filter_map(|trial| Some(trial.ended?.since(trial.submitted?)))
        .collect();
    let mean = times.iter().sum::<u64>().checked_div(times.len() as u64).or(frame.each_ms)?;
    let had = |trial: &Trial| trial.submitted.map_or(0, |at| now.since(at)).min(mean);
    let had: Vec<u64> = run.trials.iter().filter(|trial| !trial.is_over()).map(had).collect();
    Some(match frame.mode {
        RoundMode::InTurn => (mean * left).saturating_sub(had.iter().sum()),
        RoundMode::Together => {
            (mean * left.div_ceil(places.max(1))).saturating_sub(had.iter().min().copied().unwrap_or(0))
        }
    })
}
