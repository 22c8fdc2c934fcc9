//! The view where only a case and its outcome are known.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use stats::case::{Arm, Control as ControlTrial, Event, Trial};

use super::{
    ArmFacts, Calibrated, Case, Difference, Happening, Infrastructure, Job, Measured, Metric, Outcome, Provenance,
    State, Treatment, View,
};

/// Texts that may come with a case. What is absent stays unknown; what is not listed here is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Texts {
    /// Name of the suite; `zephyr` where it is absent.
    pub suite: Option<String>,
    /// Title of the suite.
    pub title: Option<String>,
    /// The workload, one fact each.
    pub workload: Vec<String>,
    /// Commit of the control.
    pub control_sha: Option<String>,
    /// Branch the control was taken from.
    pub base_ref: Option<String>,
    /// Jobs of the control.
    pub control_jobs: Vec<Job>,
    /// Commit of the treatment; of the first where there are several.
    pub treatment_sha: Option<String>,
    /// Jobs of the treatment; of the first where there are several.
    pub treatment_jobs: Vec<Job>,
    /// Commits, ids and links.
    pub provenance: Provenance,
}

impl View {
    /// The view of a case that was judged, with what `texts` add.
    #[must_use]
    pub fn of_case(case: &Case, outcome: &Outcome, texts: Texts) -> Self {
        let suite = texts.suite.unwrap_or_else(|| "zephyr".to_owned());
        let title = texts.title.unwrap_or_else(|| title_of(&suite));
        let mut view = Self::new(suite, title, State::Done);
        view.workload = texts.workload;
        view.provenance = texts.provenance;
        view.settings = case.config.clone();
        view.measured = Some(Measured::new(Arc::new(case.clone())));
        for (name, arm) in &case.arms {
            let mut treatment = Treatment::new(name);
            treatment.runs = Some(treatments_of(arm).count() as u64);
            treatment.executions = executions(treatments_of(arm));
            treatment.declared = arm.declared.iter().map(|(field, value)| declared(field, value)).collect();
            treatment.mismatch = arm.fingerprint_mismatch.iter().flatten().map(mismatch).collect();
            treatment.judgement =
                outcome.treatments().into_iter().find(|(n, _)| n == name).map(|(_, judgement)| judgement.clone());
            view.treatments.push(treatment);
        }
        if let Some(first) = view.treatments.first_mut() {
            first.sha = texts.treatment_sha;
            first.jobs = texts.treatment_jobs;
        }
        if let Outcome::Several { headline, .. } = outcome {
            view.headline = Some(headline.clone());
        }
        let controls = controls_of(case);
        view.control.sha = texts.control_sha;
        view.control.base_ref = texts.base_ref;
        view.control.jobs = texts.control_jobs;
        view.control.runs = Some(controls.len() as u64);
        view.control.executions = executions(controls.iter().copied());
        view.rounds.done = case.arms.iter().map(|(_, arm)| rounds_of(case, arm)).max().unwrap_or(0);
        view.rounds.looks = case.config.looks.clone().unwrap_or_default();
        view.rounds.planned = view.rounds.looks.last().copied();
        view.calibration = outcome.headline().grade.map(|grade| Calibrated {
            grade,
            ratios: case.calibration.ratios[Metric::Cpu].values().map(|r| r.len() as u64).min(),
            age_days: None,
            frozen: None,
        });
        let mut arms = vec![facts("control", controls.iter().copied().chain(confirmations(case, true)))];
        for (i, (name, arm)) in case.arms.iter().enumerate() {
            arms.push(facts(name, treatments_of(arm).chain(confirmations_of(&case.arms[i].1, false))));
        }
        view.infrastructure = Some(Infrastructure { arms, ..Infrastructure::default() });
        view
    }
}

fn title_of(suite: &str) -> String {
    let mut letters = suite.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{} A/B test", letters.as_str())
}

fn treatments_of(arm: &Arm) -> impl Iterator<Item = &Trial> {
    arm.rounds.iter().map(|round| &round.treatment).chain(&arm.trials)
}

/// Every control trial once, shared ones too.
fn controls_of(case: &Case) -> Vec<&Trial> {
    let own = case.arms.iter().flat_map(|(_, arm)| &arm.rounds).filter_map(|round| match &round.control {
        ControlTrial::Own(trial) => Some(trial),
        ControlTrial::Shared(_) => None,
    });
    case.control.iter().chain(own).collect()
}

fn rounds_of(case: &Case, arm: &Arm) -> u64 {
    if case.config.paired { arm.rounds.len() as u64 } else { arm.trials.len().min(case.control.len()) as u64 }
}

fn confirmations_of(arm: &Arm, control: bool) -> impl Iterator<Item = &Trial> {
    arm.confirmations.iter().filter_map(move |c| if control { c.control.as_ref() } else { c.treatment.as_ref() })
}

fn confirmations(case: &Case, control: bool) -> impl Iterator<Item = &Trial> {
    case.arms.iter().flat_map(move |(_, arm)| confirmations_of(arm, control))
}

/// The sum of the executions; unknown as soon as one trial does not say it.
fn executions<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<u64> {
    let counts: Vec<Option<u64>> = trials.map(|trial| trial.executions).collect();
    if counts.is_empty() { None } else { counts.into_iter().sum() }
}

fn facts<'a>(arm: &str, trials: impl Iterator<Item = &'a Trial>) -> ArmFacts {
    let mut counts = [0u64; Event::ALL.len()];
    for trial in trials {
        for (count, event) in counts.iter_mut().zip(Event::ALL) {
            *count = count.saturating_add(trial.events.count(event));
        }
    }
    let happened =
        Event::ALL.into_iter().zip(counts).filter(|(_, n)| *n > 0).map(|(event, n)| (happening(event), n)).collect();
    ArmFacts { arm: arm.to_owned(), happened, ..ArmFacts::default() }
}

fn happening(event: Event) -> Happening {
    match event {
        Event::Oom => Happening::Oom,
        Event::AppFailure => Happening::AppFailure,
        Event::ChurnElapsed => Happening::LostWorker,
        Event::Preempted => Happening::Preemption,
        Event::HardwareFault => Happening::HardwareFault,
        Event::InfraFailure => Happening::InfraFailure,
        Event::Straggler => Happening::Straggler,
        Event::UnknownFailure => Happening::UnknownFailure,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// A declared difference: `{control, treatment}` where it says both, else the value of the treatment.
fn declared(field: &str, value: &Value) -> Difference {
    let side = |key: &str| value.get(key).map(text);
    match (side("control"), side("treatment")) {
        (None, None) => Difference { field: field.to_owned(), control: None, treatment: Some(text(value)) },
        (control, treatment) => Difference { field: field.to_owned(), control, treatment },
    }
}

/// An undeclared difference: `{field, control, treatment}`, or anything else as it is.
fn mismatch(value: &Value) -> Difference {
    match value.get("field") {
        Some(field) => Difference {
            field: text(field),
            control: value.get("control").map(text),
            treatment: value.get("treatment").map(text),
        },
        None => Difference { field: text(value), control: None, treatment: None },
    }
}
