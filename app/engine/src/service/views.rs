//! What a comment shows: how far a run is, and all of it before there is a folder of evidence.

use domain::machine::{Run, State as At, Stop, TrialState};
use domain::pull::Asked;
use domain::rounds::RoundMode;
use domain::time::{MINUTE, Ms, utc};
use domain::view::{Job, State, Treatment, View};

/// Digits of the digest of a plan that a person types.
pub const SHOWN: usize = 12;

/// The view of a run of which nothing but the request is known.
#[must_use]
pub fn early(asked: &Asked, title: &str, state: State) -> View {
    let mut view = View::new(&asked.suite, title, state);
    let mut treatment = Treatment::new("head");
    // What jobs that had run were made of is not known yet.
    if !asked.jobs {
        view.control.base_ref = Some(asked.base_ref.clone());
        treatment.sha = Some(asked.head.to_string());
        view.provenance.head = Some(asked.head.to_string());
    }
    view.treatments = vec![treatment];
    view.provenance.repository = Some(asked.pull.repo.name.clone());
    view.provenance.run = Some(asked.run.to_string());
    view
}

/// How far a run is, as readers see it. `ahead` are the runs that go before it while it waits.
#[must_use]
pub fn state_of(run: &Run, ahead: Option<u64>) -> State {
    match &run.state {
        At::Queued => State::Queued { ahead },
        At::Planning => State::Planning,
        At::AwaitingConfirmation { plan, until } => State::AwaitingConfirmation {
            why: run.frame.as_ref().and_then(|frame| frame.confirm.clone()),
            plan: plan.as_str().get(..SHOWN).map(str::to_owned),
            cpu_hours: None,
            until: Some(utc(*until)),
            skip: Vec::new(),
        },
        At::Measuring { .. } | At::Judging { .. } => measuring(run),
        At::Stopping { stop, .. } => State::Stopping { why: Some(stopping(stop)), alive: live(run) },
        At::Sealing { .. } | At::Done { .. } => State::Collecting { unavailable: None, again: None },
        At::Ended { how, why, alive, .. } => State::Ended {
            how: *how,
            why: why.clone(),
            alive: alive
                .iter()
                .map(|of| job(of.job.as_ref().map_or_else(|| of.trial.to_string(), ToString::to_string)))
                .collect(),
        },
    }
}

fn measuring(run: &Run) -> State {
    let silent = run.current().find_map(|trial| match &trial.state {
        TrialState::Collecting { unavailable: Some(of), .. } => Some(of.why.clone()),
        _ => None,
    });
    if let Some(why) = silent {
        return State::Collecting { unavailable: Some(why), again: None };
    }
    let of = run.frame.as_ref().map_or(0, domain::machine::Frame::rounds);
    State::Measuring { round: u64::from(run.round), of, next_look: next_look(run) }
}

/// When the next look is due, to the minute, by the mean time of the trials so far.
fn next_look(run: &Run) -> Option<String> {
    let frame = run.frame.as_ref()?;
    let times: Vec<u64> = run
        .trials
        .iter()
        .filter(|trial| trial.is_counted())
        .filter_map(|trial| Some(trial.ended?.since(trial.submitted?)))
        .collect();
    let mean = times.iter().sum::<u64>().checked_div(times.len() as u64)?;
    let began = run.current().filter_map(|trial| trial.submitted).min()?;
    let done = run.rounds_done();
    let rounds = frame.looks.iter().find(|look| **look > done)?.saturating_sub(done);
    let each = match frame.mode {
        RoundMode::Together => mean,
        RoundMode::InTurn => mean * run.places.len().max(1) as u64,
    };
    let due = began.plus(each * rounds);
    Some(utc(Ms(due.0.div_ceil(MINUTE) * MINUTE)))
}

fn stopping(stop: &Stop) -> String {
    match stop {
        Stop::Blocked { reason } => reason.code().to_owned(),
        Stop::Cancelled { by, .. } => by.clone(),
        Stop::Failed { text } => text.clone(),
    }
}

/// The jobs that are being stopped.
fn live(run: &Run) -> Vec<Job> {
    let going = run.trials.iter().filter(|trial| !trial.is_over());
    going.map(|trial| job(trial.job.as_ref().map_or_else(|| trial.name.to_string(), ToString::to_string))).collect()
}

fn job(id: String) -> Job {
    Job { id, url: None }
}
