//! From the trials of a folder to the case that is judged.

use std::collections::BTreeMap;

use domain::arms::Role;
use domain::case::{CountedRound, Trials};
use domain::comparability::{Comparison, compare};
use domain::ids::{ArmName, RunId};
use domain::plan::Plan;
use domain::ports::{Counted, How, Look, LookKind};
use domain::rounds::TrialName;
use domain::steps::Coarser;
use lab::iris::rules::Rules;
use serde_json::{Value, json};
use stats::case::Confirmation;
use stats::{Arm, Calibration, Case, Config, Event, Reason, Trial};

use crate::bundle::{Bundle, ENDING, LOOKS, PLAN, TRIALS};
use crate::conditions::{Condition, condition};
use crate::error::EvidenceError;
use crate::trials::{All, Broken, Seen, all};

/// The case of a folder at a look, and what was found on the way.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The case, as it was measured.
    pub case: Case,
    /// The workload of each treatment held against the control's, in the order of declaration.
    pub comparisons: Vec<Comparison>,
    /// Answers that could not be used, per treatment, in words.
    pub problems: Vec<Vec<String>>,
    /// The trials that count, by name, and the rounds that they count in: of all runs.
    pub counted: Vec<TrialName>,
    /// Why rows are coarser than the suite's rule, where they are.
    pub coarser: Option<Coarser>,
}

/// Makes the case of a look: rounds in the order of the plan, those of earlier runs first.
///
/// # Errors
/// A plan, a look or an earlier run that does not fit the others.
pub fn gather(bundle: &Bundle, look: &Look) -> Result<Gathered, EvidenceError> {
    check(&bundle.plan, look)?;
    let plan = &bundle.plan;
    let comparisons = comparisons(plan)?;
    let mut arms: Vec<Side> = plan.treatments().into_iter().map(|name| Side::new(name, look)).collect();
    let (mut rounds, mut counted, mut earlier) = (Vec::new(), Vec::new(), 0);
    let all = all(bundle);
    for run in bundle.runs() {
        let own = run.plan.run == plan.run;
        let before;
        let look = if own {
            look
        } else if bundle.is_retried(&run.plan.run) {
            before = crate::retry::look(run);
            &before
        } else {
            final_look(run)?
        };
        earlier += if own { 0 } else { look.rounds.len() };
        let trials = Index::of(&all, &run.plan.run);
        trials.check(look)?;
        for round in &look.rounds {
            rounds.extend(trials.round(&run.plan.run, *round, &mut arms, &mut counted));
        }
        trials.outside(look, &mut arms);
    }
    if earlier != plan.earlier_rounds as usize {
        let problem = format!("counts {} rounds of earlier runs, of which there are {earlier}", plan.earlier_rounds);
        return Err(EvidenceError::file(PLAN, problem));
    }
    let (mut config, calibration) = settings(plan, look, (earlier + look.rounds.len()) as u64)?;
    config.paths_only.extend(all.paths_only.iter().cloned());
    let (calibration, unfit) = match unfit_calibration(&all, &counted) {
        None => (calibration, None),
        Some(why) => (Calibration::default(), Some(why)),
    };
    for side in &mut arms {
        side.problems.extend(unfit.clone());
    }
    let problems = arms.iter().map(|side| side.problems.clone()).collect();
    let named = arms.into_iter().zip(&comparisons).map(|(side, comparison)| side.arm(comparison, look)).collect();
    let case = domain::case::case(config, calibration, named, Trials::Paired(rounds))
        .map_err(|e| EvidenceError::file(PLAN, e))?;
    Ok(Gathered { case, comparisons, problems, counted, coarser: all.coarser })
}

fn check(plan: &Plan, look: &Look) -> Result<(), EvidenceError> {
    let fail = |problem: String| Err(EvidenceError::file(LOOKS, problem));
    if look.run != plan.run {
        return fail(format!("a look of {} at {}", look.run, plan.run));
    }
    if look.ledger != plan.ledger || look.episode != plan.episode {
        return fail(format!("a look of episode {} of another ledger than the plan's", look.episode));
    }
    if !look.rounds.is_sorted_by(|a, b| a.round < b.round) {
        return fail("the rounds of a look are not ascending".to_owned());
    }
    if let LookKind::Declared { index } = look.kind
        && index as usize >= plan.looks.len()
    {
        return fail(format!("look {index} of a plan with {}", plan.looks.len()));
    }
    if let (LookKind::Declared { index }, Some(retry)) = (look.kind, &plan.retry)
        && index < retry.looked
    {
        return fail(format!("look {index} was taken by an earlier run"));
    }
    match look.decided.iter().find(|decided| !plan.treatments().contains(&decided.treatment)) {
        Some(decided) => fail(format!("{} is decided and no treatment of the plan", decided.treatment)),
        None => Ok(()),
    }
}

/// The workload of each treatment against the control's.
///
/// # Errors
/// A role without a workload.
pub fn comparisons(plan: &Plan) -> Result<Vec<Comparison>, EvidenceError> {
    let workload = |role: &Role| {
        let text = role.to_string();
        plan.workloads.get(&text).ok_or_else(|| EvidenceError::file(PLAN, format!("has no workload for {text}")))
    };
    let control = workload(&Role::Control)?;
    let of = |treatment: &domain::arms::Treatment| {
        Ok(compare(control, workload(&Role::Treatment(treatment.name.clone()))?, &treatment.declared))
    };
    plan.arms.treatments().iter().map(of).collect()
}

/// The look that an earlier run ended with.
fn final_look(run: &Bundle) -> Result<&Look, EvidenceError> {
    match run.ending.as_ref().map(|ending| &ending.how) {
        Some(How::Judged { look, .. }) => Ok(look),
        _ => Err(EvidenceError::file(format!("earlier/{}/{ENDING}", run.plan.run), "has no judgement to continue")),
    }
}

/// The settings of the judgement: those of the plan, at this look of this episode. A look that spends nothing is judged
/// with the settings of the next declared one; nothing statistical that it finds decides anything.
fn settings(plan: &Plan, look: &Look, rounds: u64) -> Result<(Config, Calibration), EvidenceError> {
    let index = match look.kind {
        LookKind::Declared { index } => index as usize,
        LookKind::Guardrail | LookKind::Blocked(_) => {
            plan.looks.iter().position(|look| *look >= rounds).unwrap_or(plan.looks.len().saturating_sub(1))
        }
    };
    let object = |value: &Value| if value.is_null() { json!({}) } else { value.clone() };
    let mut config = object(&plan.judging);
    if let Value::Object(config) = &mut config {
        config.insert("episode".to_owned(), json!(plan.episode));
        config.insert("looks".to_owned(), json!(plan.looks));
        config.insert("look_index".to_owned(), json!(index));
    }
    let text = json!({ "config": config, "calibration": object(&plan.calibration), "rounds": [] }).to_string();
    let case = stats::input::parse(&text).map_err(|e| EvidenceError::file(PLAN, format!("judging: {e}")))?;
    Ok((case.config, case.calibration))
}

/// What is gathered of one treatment.
struct Side {
    name: ArmName,
    decided: bool,
    /// What was unequal, which comes before everything that went wrong.
    unequal: Option<Reason>,
    broken: Option<Reason>,
    problems: Vec<String>,
    /// By run, round and replacement: what happened in one of them is told together.
    outside: BTreeMap<(RunId, u32, u32), Confirmation>,
}

impl Side {
    fn new(name: ArmName, look: &Look) -> Self {
        let decided = look.decided.iter().any(|decided| decided.treatment == name);
        Self { name, decided, unequal: None, broken: None, problems: Vec::new(), outside: BTreeMap::new() }
    }

    fn breaks(&mut self, reason: Reason, problem: &str) {
        if !self.decided {
            self.broken = self.broken.or(Some(reason));
        }
        self.problems.push(problem.to_owned());
    }

    fn unequal(&mut self, reason: Reason, problem: &str) {
        if !self.decided {
            self.unequal = self.unequal.or(Some(reason));
        }
        self.problems.push(problem.to_owned());
    }

    fn outside(&mut self, trial: &TrialName) -> &mut Confirmation {
        self.outside.entry((trial.run.clone(), trial.round, trial.replacement)).or_default()
    }

    /// Conditions come first, then what the engine says, then what could not be read.
    fn arm(self, comparison: &Comparison, look: &Look) -> (ArmName, Arm) {
        let mut arm = Arm { confirmations: self.outside.into_values().collect(), ..Arm::default() };
        comparison.apply(&mut arm);
        arm.blocked = arm.blocked.or(self.unequal);
        let decided = look.decided.iter().find(|decided| decided.treatment == self.name);
        arm.decided = decided.map(|decided| (decided.verdict, decided.reason));
        if let LookKind::Blocked(reason) = look.kind {
            arm.blocked = arm.blocked.or(Some(reason));
        }
        arm.blocked = arm.blocked.or(self.broken);
        (self.name, arm)
    }
}

/// Why the calibration says nothing of these trials: it is of another kind of machine than the controls ran on, or that
/// is not known. `None` where it fits.
fn unfit_calibration(all: &All<'_>, counted: &[TrialName]) -> Option<String> {
    let calibrated = all.rules.as_ref()?.calibrated_host.as_deref()?;
    let mut controls =
        all.trials.iter().filter(|seen| seen.fate.role == Role::Control && counted.contains(&seen.fate.name));
    let other = controls.find_map(|seen| {
        let hosts = seen.cluster().map(|facts| &facts.hosts).filter(|hosts| !hosts.is_empty());
        match hosts {
            Some(hosts) if hosts.keys().all(|host| host == calibrated) => None,
            Some(hosts) => Some(hosts.keys().cloned().collect::<Vec<_>>().join(" and ")),
            None => Some("machines that are not known".to_owned()),
        }
    })?;
    Some(format!("the calibration is of {calibrated} and says nothing here: the control ran on {other}"))
}

/// The trials of one run, to be found.
struct Index<'a> {
    by_name: BTreeMap<&'a TrialName, &'a Seen<'a>>,
    by_place: BTreeMap<(Counted, &'a Role), &'a TrialName>,
    rules: Option<&'a Rules>,
}

impl<'a> Index<'a> {
    fn of(all: &'a All<'a>, run: &RunId) -> Self {
        let of_run = || all.trials.iter().filter(|seen| seen.fate.name.run == *run);
        let by_name: BTreeMap<_, _> = of_run().map(|seen| (&seen.fate.name, seen)).collect();
        let by_place = of_run().map(|seen| {
            let name = &seen.fate.name;
            ((Counted { round: name.round, replacement: name.replacement }, &seen.fate.role), name)
        });
        Self { by_place: by_place.collect(), by_name, rules: all.rules.as_ref() }
    }

    /// What is unequal between the control and the treatment of a round.
    fn condition(&self, round: Counted, role: &Role) -> Option<Condition> {
        let facts = |role: &Role| {
            let name = self.by_place.get(&(round, role))?;
            self.by_name.get(*name)?.cluster()
        };
        condition(self.rules?, facts(&Role::Control)?, facts(role)?)
    }

    /// That a look names no round and no trial of which nothing is written.
    fn check(&self, look: &Look) -> Result<(), EvidenceError> {
        let not_yet = |what: String| EvidenceError::NotYet {
            file: TRIALS.to_owned(),
            problem: format!("has no line for {what}"),
        };
        if let Some(round) = look.rounds.iter().find(|round| !self.by_place.contains_key(&(**round, &Role::Control))) {
            return Err(not_yet(format!("the control of round {}.{}", round.round, round.replacement)));
        }
        match look.confirmations.iter().find(|name| !self.by_name.contains_key(name)) {
            Some(name) => Err(not_yet(name.to_string())),
            None => Ok(()),
        }
    }

    /// The trial of a role in a round: its name and rows, or why there are none.
    fn trial(&self, round: Counted, role: &Role) -> Option<(&'a TrialName, Result<Trial, Broken>)> {
        let (name, seen) = self.by_place.get(&(round, role)).and_then(|name| self.by_name.get_key_value(*name))?;
        let trial = match seen.trial() {
            Some(Ok(trial)) => Ok(trial),
            Some(Err(broken)) => Err(broken.clone()),
            None => Err(Broken { reason: Reason::RowsMissing, problem: "was discarded".to_owned() }),
        };
        Some((name, trial))
    }

    /// One counted round. Without a usable control it counts for nobody; without a usable treatment, not for that one.
    /// What happened in a trial that lost its partner still counts, outside the rounds.
    fn round(
        &self,
        run: &RunId,
        round: Counted,
        arms: &mut [Side],
        counted: &mut Vec<TrialName>,
    ) -> Option<CountedRound> {
        let place = |role: &Role| format!("{run}, round {}, {role}", round.round);
        let missing = || Broken { reason: Reason::RowsMissing, problem: "is not in the folder".to_owned() };
        let mut treatments: Vec<(Option<&TrialName>, Option<Trial>)> = Vec::new();
        for side in arms.iter_mut() {
            let role = Role::Treatment(side.name.clone());
            match self.trial(round, &role) {
                None if side.decided => treatments.push((None, None)),
                Some((name, Ok(trial))) => match self.condition(round, &role) {
                    Some(Condition::Apart(why)) => {
                        side.problems.push(format!("{}: {why}", place(&role)));
                        // It says nothing of the times; what happened in it still counts.
                        side.outside(name).treatment = Some(trial);
                        treatments.push((None, None));
                    }
                    found => {
                        if let Some(Condition::Unequal(reason, why)) = found {
                            side.unequal(reason, &format!("{}: {why}", place(&role)));
                        }
                        treatments.push((Some(name), Some(trial)));
                    }
                },
                other => {
                    let Broken { reason, problem } =
                        other.map_or_else(missing, |(_, trial)| trial.err().unwrap_or_else(missing));
                    side.breaks(reason, &format!("{}: {problem}", place(&role)));
                    treatments.push((None, None));
                }
            }
        }
        match self.trial(round, &Role::Control) {
            Some((name, Ok(control))) if treatments.iter().any(|(_, trial)| trial.is_some()) => {
                counted.push(name.clone());
                counted.extend(treatments.iter().filter_map(|(name, _)| name.cloned()));
                Some(CountedRound { control, treatments: treatments.into_iter().map(|(_, trial)| trial).collect() })
            }
            Some((name, Ok(control))) => {
                for side in arms.iter_mut().filter(|side| !side.decided) {
                    side.outside(name).control = Some(control.clone());
                }
                None
            }
            other => {
                let Broken { reason, problem } =
                    other.map_or_else(missing, |(_, trial)| trial.err().unwrap_or_else(missing));
                for (side, (name, trial)) in arms.iter_mut().zip(treatments) {
                    side.breaks(reason, &format!("{}: {problem}", place(&Role::Control)));
                    if let (Some(name), Some(trial)) = (name, trial) {
                        side.outside(name).treatment = Some(trial);
                    }
                }
                None
            }
        }
    }

    /// Trials outside the rounds. One that is inside a round, too, is kept when it is clean: that it repeated a failure
    /// without failing counts here. What happened in it counts in its round.
    fn outside(&self, look: &Look, arms: &mut [Side]) {
        for name in &look.confirmations {
            let Some(seen) = self.by_name.get(name) else { continue };
            let inside = look.rounds.iter().any(|c| (c.round, c.replacement) == (name.round, name.replacement));
            let concerned = arms.iter_mut().filter(|side| match &seen.fate.role {
                Role::Control => !side.decided,
                Role::Treatment(treatment) => side.name == *treatment,
            });
            for side in concerned {
                match seen.trial() {
                    Some(Ok(trial)) => {
                        let clean = [Event::Oom, Event::AppFailure].iter().all(|e| trial.events.count(*e) == 0);
                        if inside && !clean {
                            continue;
                        }
                        let place = side.outside(name);
                        let part =
                            if seen.fate.role == Role::Control { &mut place.control } else { &mut place.treatment };
                        *part = Some(trial);
                    }
                    Some(Err(broken)) => side.breaks(broken.reason, &format!("{name}: {}", broken.problem)),
                    // Nothing can be said about the change from a discarded trial.
                    None => {}
                }
            }
        }
    }
}
