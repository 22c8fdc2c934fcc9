//! What a run takes over from an unfinished one: found out from that one's folder alone, so that whoever retries it and
//! whoever verifies that come to the same.

use std::collections::BTreeMap;

use domain::arms::Role;
use domain::ids::{ArmName, RunId};
use domain::machine::{Standing, standing};
use domain::ports::{Counted, Decided, Discard, Fate, How, Judged, Look, LookKind, TrialFate};
use domain::retry::{Retry, counts_as_lost, is_infrastructure, may_have_ended_well};
use domain::rounds::{TrialName, order};
use domain::time::Ms;

use crate::bundle::Bundle;

/// The last judgement of a run, whatever it was for.
fn last(run: &Bundle) -> Option<(&Look, &Judged)> {
    match run.ending.as_ref().map(|ending| &ending.how) {
        Some(How::Judged { look, judged }) => Some((look, judged)),
        _ => run.looks.last().map(|line| (&line.look, &line.judged)),
    }
}

/// Treatments that are decided, with what the last judgement decided. That the infrastructure was in the way decides
/// nothing.
fn decided(look: &Look, judged: &Judged) -> Vec<Decided> {
    let mut all = look.decided.clone();
    let holds = |of: &&Decided| match standing(of.reason) {
        Standing::Guardrail => true,
        Standing::Final => !is_infrastructure(of.reason),
        Standing::Decided => matches!(look.kind, LookKind::Declared { .. }),
        _ => false,
    };
    let new = judged.treatments.iter().filter(|of| !all.iter().any(|known| known.treatment == of.treatment));
    let new: Vec<Decided> = new.filter(holds).cloned().collect();
    all.extend(new);
    all
}

fn of_role(run: &Bundle, name: &TrialName, role: &Role) -> bool {
    run.fates.iter().any(|fate| fate.name == *name && fate.role == *role)
}

/// The rounds of an unfinished run that count, and the trials outside them that do, as a look that its next run begins with.
/// A round that its last check found spoiled, or to be measured again, does not count: that run would have replaced it.
pub(crate) fn look(run: &Bundle) -> Look {
    let plan = &run.plan;
    let mut look = match last(run) {
        Some((look, _)) => look.clone(),
        None => Look {
            run: plan.run.clone(),
            ledger: plan.ledger.clone(),
            episode: plan.episode,
            kind: LookKind::Guardrail,
            rounds: Vec::new(),
            confirmations: Vec::new(),
            decided: plan.retry.iter().flat_map(|retry| retry.decided.clone()).collect(),
            at: Ms(0),
        },
    };
    if let Some((before, judged)) = last(run) {
        look.decided = decided(before, judged);
        if before.kind == LookKind::Guardrail {
            unspoiled(run, &mut look, judged);
        }
    }
    let failed = run.fates.iter().filter(|fate| matches!(fate.fate, Fate::Failed(_)) && fate.role != Role::Control);
    for fate in failed {
        if !look.confirmations.contains(&fate.name) {
            look.confirmations.push(fate.name.clone());
        }
    }
    look
}

/// Takes the last round out where the check after it said so.
fn unspoiled(run: &Bundle, look: &mut Look, judged: &Judged) {
    let open = judged.treatments.iter().filter(|of| !look.decided.iter().any(|known| known.treatment == of.treatment));
    let (mut spoiled, mut again) = (false, Vec::new());
    for of in open {
        let role = Role::Treatment(of.treatment.clone());
        match standing(of.reason) {
            // One that is known already waits for its repeats in the rounds to come.
            Standing::Confirm => {
                if !look.confirmations.iter().any(|name| of_role(run, name, &role)) {
                    again.push(role);
                }
            }
            Standing::Replace | Standing::ControlFailed => spoiled = true,
            _ => spoiled |= is_infrastructure(of.reason),
        }
    }
    if !spoiled && again.is_empty() {
        return;
    }
    let Some(Counted { round, replacement }) = look.rounds.pop() else { return };
    let here = |fate: &&TrialFate| (fate.name.round, fate.name.replacement) == (round, replacement);
    let found = run.fates.iter().filter(here).filter(|fate| again.contains(&fate.role));
    look.confirmations.extend(found.map(|fate| fate.name.clone()));
}

/// What a run begins with that retries `earlier`. With `adopting`, jobs that may have ended well become trials of `run`.
#[must_use]
pub fn of(earlier: &Bundle, run: &RunId, adopting: bool) -> Taken {
    let look = look(earlier);
    let plan = &earlier.plan;
    let before = plan.retry.clone().unwrap_or_default();
    let rounds = plan.earlier_rounds.saturating_add(u32::try_from(look.rounds.len()).unwrap_or(u32::MAX));
    let next = rounds.saturating_add(1);
    let undecided: Vec<ArmName> =
        plan.treatments().into_iter().filter(|name| !look.decided.iter().any(|of| of.treatment == *name)).collect();
    let adopted = if adopting { adoptable(earlier, next, &order(next, &undecided)) } else { Vec::new() };
    let mut failures = before.failures;
    let mut discards = before.discards;
    for fate in &earlier.fates {
        match (&fate.fate, &fate.role) {
            (Fate::Failed(_), Role::Treatment(name)) => *failures.entry(name.clone()).or_default() += 1,
            (Fate::Discarded(discard), role) if counts_as_lost(discard) => {
                let again = before.adopts.contains_key(&fate.name) && !matches!(discard, Discard::Incomplete(_));
                if !again && !adopted.iter().any(|of| of.name == fate.name) {
                    *discards.entry(role.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    // Found inside a trial that ended well.
    for name in &undecided {
        let role = Role::Treatment(name.clone());
        if look.confirmations.iter().any(|trial| of_role(earlier, trial, &role)) {
            failures.entry(name.clone()).or_insert(1);
        }
    }
    failures.retain(|name, _| undecided.contains(name));
    let declared = earlier.looks.iter().map(|line| &line.look).chain(last(earlier).map(|(look, _)| look));
    let looked = declared.filter_map(|look| match look.kind {
        LookKind::Declared { index } => Some(index.saturating_add(1)),
        LookKind::Guardrail | LookKind::Blocked(_) => None,
    });
    let place = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let adopts: BTreeMap<_, _> = adopted
        .iter()
        .enumerate()
        .filter_map(|(at, fate)| {
            let name = TrialName { run: run.clone(), round: next, replacement: 0, place: place(at) };
            Some((name, fate.job.clone()?))
        })
        .collect();
    let looked = looked.fold(before.looked, u32::max);
    Taken { rounds, undecided, retry: Retry { looked, decided: look.decided, failures, discards, adopts } }
}

/// What is taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The rounds that count, those of still earlier runs included.
    pub rounds: u32,
    /// Treatments that are not decided.
    pub undecided: Vec<ArmName>,
    /// Everything else.
    pub retry: Retry,
}

impl Taken {
    /// Whether the last judgement of `earlier`, where that ended with one, says of a treatment that is still open that
    /// only the infrastructure was in the way. `None` where it ended without a judgement.
    #[must_use]
    pub fn only_infrastructure(&self, earlier: &Bundle) -> Option<bool> {
        let Some(How::Judged { judged, .. }) = earlier.ending.as_ref().map(|ending| &ending.how) else { return None };
        let open = |of: &&Decided| self.undecided.contains(&of.treatment);
        Some(judged.treatments.iter().filter(open).any(|of| is_infrastructure(of.reason)))
    }
}

/// The trials of the round that was under way, in the order of their places, where every job of it may have ended well: they
/// ran in the same minutes, and what replaces one of them would not have.
fn adoptable<'a>(earlier: &'a Bundle, round: u32, places: &[Role]) -> Vec<&'a TrialFate> {
    let of_round = || earlier.fates.iter().filter(|fate| fate.name.round == round);
    let Some(replacement) = of_round().map(|fate| fate.name.replacement).max() else { return Vec::new() };
    let last = Counted { round, replacement };
    // Whole and spoiled: what is in it does not change by asking again.
    if last_rounds(earlier).contains(&last) {
        return Vec::new();
    }
    let at = |role: &Role| of_round().find(|fate| fate.name.replacement == replacement && fate.role == *role);
    let found: Option<Vec<&TrialFate>> =
        places.iter().map(|role| at(role).filter(|fate| may_have_ended_well(fate).is_some())).collect();
    found.unwrap_or_default()
}

/// The rounds of the last judgement.
fn last_rounds(run: &Bundle) -> &[Counted] {
    last(run).map_or(&[], |(look, _)| look.rounds.as_slice())
}
