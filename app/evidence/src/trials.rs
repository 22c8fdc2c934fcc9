//! The trials of a folder, their answers read as rows.

use domain::arms::Role;
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{Discard, Fate, TrialFate};
use domain::steps::Coarser;
use lab::assemble::cluster::{self, ClusterTrial, Facts, Unusable};
use lab::assemble::{AssembleError, Measured, in_words};
use lab::iris::rules::Rules;
use lab::supervisor::Exit;
use stats::{Event, Reason, Trial};

use crate::bundle::Bundle;

/// Answers that are no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The reason that it makes.
    pub reason: Reason,
    /// What is wrong, in words.
    pub problem: String,
}

/// A trial, whatever became of it.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// What became of it.
    pub fate: &'a TrialFate,
    /// Its answers; `None` where it said nothing that counts.
    pub answers: Option<Result<Measured, Broken>>,
}

impl Seen<'_> {
    /// The trial as it is judged. A failed one is what it measured and its failure, once: how often a step failed says
    /// nothing about how often the program fails.
    #[must_use]
    pub fn trial(&self) -> Option<Result<Trial, &Broken>> {
        match (&self.fate.fate, self.answers.as_ref()?) {
            (Fate::Failed(failure), answers) => {
                let mut trial = answers.as_ref().map(|found| found.trial.clone()).unwrap_or_default();
                trial.events.set(Event::Oom, u64::from(failure.oom));
                trial.events.set(Event::AppFailure, u64::from(!failure.oom));
                Some(Ok(trial))
            }
            (_, Ok(found)) => Some(Ok(found.trial.clone())),
            (_, Err(broken)) => Some(Err(broken)),
        }
    }

    /// What is known of it, where it ran on a cluster.
    #[must_use]
    pub fn cluster(&self) -> Option<&Facts> {
        self.answers.as_ref()?.as_ref().ok()?.cluster.as_ref()
    }
}

/// The trials of a folder: of the run and of those that it continues, read together, because a row is resolved as finely
/// as all of them allow.
#[derive(Clone, Debug)]
pub struct All<'a> {
    /// Every trial, those of earlier runs first, each run's in the order in which its fates were known.
    pub trials: Vec<Seen<'a>>,
    /// How answers of a cluster become rows; `None` for trials on this machine.
    pub rules: Option<Rules>,
    /// Why rows are coarser than the suite's rule, where they are.
    pub coarser: Option<Coarser>,
    /// Rows whose items and bytes count output paths.
    pub paths_only: Vec<String>,
}

impl<'a> All<'a> {
    /// The trials of one run.
    pub fn of<'s>(&'s self, run: &'s RunId) -> impl Iterator<Item = &'s Seen<'a>> {
        self.trials.iter().filter(move |seen| seen.fate.name.run == *run)
    }
}

/// Reads every trial of a folder.
#[must_use]
pub fn all(bundle: &Bundle) -> All<'_> {
    let said = |fate: &TrialFate| matches!(fate.fate, Fate::Counted | Fate::Failed(_));
    let fates: Vec<(&Bundle, &TrialFate)> =
        bundle.runs().flat_map(|run| run.fates.iter().map(move |fate| (run, fate))).collect();
    match rules(&bundle.plan) {
        None => {
            let read = |run: &Bundle, fate: &TrialFate| {
                lab::assemble::local(run.answers(fate)).map(Measured::from).map_err(|e| broken(&e))
            };
            let trials =
                fates.into_iter().map(|(run, fate)| Seen { fate, answers: said(fate).then(|| read(run, fate)) });
            All { trials: trials.collect(), rules: None, coarser: None, paths_only: Vec::new() }
        }
        Some(Err(problem)) => {
            let broken = Broken { reason: Reason::SchemaDrift, problem };
            let trials =
                fates.into_iter().map(|(_, fate)| Seen { fate, answers: said(fate).then(|| Err(broken.clone())) });
            All { trials: trials.collect(), rules: None, coarser: None, paths_only: Vec::new() }
        }
        Some(Ok(rules)) => on_cluster(fates, rules, said),
    }
}

/// Every trial of a run, in the order in which its fate was known.
#[must_use]
pub fn seen(bundle: &Bundle) -> Vec<Seen<'_>> {
    let All { trials, .. } = all(bundle);
    trials.into_iter().filter(|seen| seen.fate.name.run == bundle.plan.run).collect()
}

/// The rules of a plan whose trials run on a cluster.
pub(crate) fn rules(plan: &Plan) -> Option<Result<Rules, String>> {
    let launch = plan.launches.get("control")?;
    launch.get("rules")?;
    Some(lab::iris::launch_of(plan, &Role::Control).map(|launch| launch.rules))
}

fn on_cluster<'a>(fates: Vec<(&'a Bundle, &'a TrialFate)>, rules: Rules, said: impl Fn(&TrialFate) -> bool) -> All<'a> {
    let read: Vec<(&TrialFate, Option<Result<ClusterTrial, Unusable>>)> = fates
        .into_iter()
        .map(|(run, fate)| (fate, said(fate).then(|| cluster::read(run.answers(fate), &rules))))
        .collect();
    // What a failed trial measured before it failed is shown, and does not decide how finely the others are told apart.
    let whole = |(fate, trial): &'_ (&TrialFate, Option<Result<ClusterTrial, Unusable>>)| {
        fate.fate == Fate::Counted && matches!(trial, Some(Ok(_)))
    };
    let counted: Vec<&ClusterTrial> =
        read.iter().filter(|one| whole(one)).filter_map(|(_, trial)| trial.as_ref()?.as_ref().ok()).collect();
    let (rows, coarser) = cluster::rows(&counted, &rules);
    let mut rows = rows.into_iter();
    let mut paths_only: Vec<String> = Vec::new();
    let mut trials = Vec::new();
    for one in &read {
        let (fate, trial) = one;
        let unusable = |e: &Unusable| Broken { reason: e.reason, problem: e.problem.clone() };
        let answers = match trial {
            None => None,
            Some(Err(error)) => Some(Err(unusable(error))),
            Some(Ok(trial)) if whole(one) => match rows.next() {
                Some(Ok(rows)) => {
                    paths_only.extend(rows.paths_only);
                    let cluster = Some(trial.facts.clone());
                    Some(Ok(Measured { trial: rows.trial, cluster, context: rows.context, ..Measured::default() }))
                }
                Some(Err(error)) => Some(Err(unusable(&error))),
                None => None,
            },
            Some(Ok(trial)) => Some(Ok(Measured { cluster: Some(trial.facts.clone()), ..Measured::default() })),
        };
        trials.push(Seen { fate, answers });
    }
    paths_only.sort();
    paths_only.dedup();
    All { trials, rules: Some(rules), coarser, paths_only }
}

/// Lines of a log that are shown.
const SAID: usize = 8;

/// How a trial that did not end well ended, and the last lines that it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Such as `step sort exited with 1`.
    pub what: String,
    /// The last lines.
    pub said: Vec<String>,
}

/// How a trial ended that did not end well: the step that was the reason, or else what is known of the trial. `None`
/// where nothing went wrong with it, or where it was only told to stop.
#[must_use]
pub fn bad(bundle: &Bundle, fate: &TrialFate) -> Option<Bad> {
    let (otherwise, text) = match &fate.fate {
        Fate::Counted => (None, ""),
        Fate::Failed(failure) => (Some("failed"), failure.text.as_str()),
        Fate::Discarded(Discard::Infrastructure(text) | Discard::Refused(text)) => (Some("failed"), text.as_str()),
        Fate::Discarded(Discard::TimeLimit) => (Some("the time limit was reached"), ""),
        Fate::Discarded(_) => return None,
    };
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = lines.next().map(|line| line.trim_end_matches(':').to_owned());
    let mut said: Vec<String> = lines.map(str::to_owned).collect();
    let answers = lab::assemble::local(bundle.answers(fate)).ok();
    let ended = |exit: &Exit| matches!(exit, Exit::Code(0) | Exit::Stopped(_));
    let step = answers.and_then(|found| found.steps.into_iter().enumerate().find(|(_, step)| !ended(&step.exit)));
    let what = match &step {
        Some((_, step)) => format!("step {} {}", step.step, in_words(&step.exit)),
        None => first.or(otherwise.map(str::to_owned))?,
    };
    if let (Some((index, _)), true) = (&step, said.is_empty()) {
        let end = |end: &str| {
            let place = format!("{:02}-", index + 1);
            let log = bundle.logs(fate).iter().find(|log| log.name.starts_with(&place) && log.name.ends_with(end))?;
            let text = String::from_utf8_lossy(&log.bytes).trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let text = end(".stderr").or_else(|| end(".stdout")).unwrap_or_default();
        said = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    }
    said.drain(..said.len().saturating_sub(SAID));
    Some(Bad { what, said })
}

/// What answers that cannot be read come to. Never a guess: a file that is not there, or that measured nothing, is rows
/// that are missing; one of another form is a form that has changed.
fn broken(error: &AssembleError) -> Broken {
    let reason = match error {
        AssembleError::Missing(_) | AssembleError::NoStep => Reason::RowsMissing,
        AssembleError::Twice(_) => Reason::DuplicateRows,
        _ => Reason::SchemaDrift,
    };
    Broken { reason, problem: error.to_string() }
}
