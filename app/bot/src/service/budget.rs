//! What a plan costs, learnt from what finished runs have cost, and whether there is a budget for it.

use domain::budget::{Estimate, Promise};
use domain::ids::Digest;
use domain::ports::{Desk, NoPlan, StoreError};
use domain::pull::Asked;
use domain::time::Ms;
use domain::view::Ending;
use suite::Suite;

use crate::command::run::{Prepared, agreement, by_suite};

/// What a note on the cost begins with.
const COSTS: &str = "this run ";
/// So many finished runs are learnt from.
const RUNS: usize = 10;

/// What finished runs say of a trial: those of this workload where there are any, else those of this preset. `None` where
/// there are none of either.
///
/// # Errors
/// A failing store.
pub async fn estimate<D: Desk>(
    desk: &D,
    suite: &str,
    preset: Option<&str>,
    fingerprint: &Digest,
) -> Result<Option<Estimate>, StoreError> {
    for of in [Some(fingerprint), None] {
        if let Some(estimate) = Estimate::learnt(&desk.learnt(suite, preset, of, RUNS).await?) {
            return Ok(Some(estimate));
        }
    }
    Ok(None)
}

/// Gives a plan the better estimate, says so in it, decides anew whether a person must agree to it, and has it promised what
/// it costs. To be called each time that it is planned: promising the same run again replaces what it was promised.
///
/// # Errors
/// [`NoPlan::Never`] where it does not fit into a budget, [`NoPlan::NotNow`] where the store fails.
pub async fn keep<D: Desk>(
    desk: &D,
    suite: &Suite,
    asked: &Asked,
    prepared: &mut Prepared,
    now: Ms,
) -> Result<(), NoPlan> {
    let (fingerprint, estimate) = expect(desk, suite, prepared).await?;
    let plan = &prepared.plan;
    let promise = Promise {
        run: plan.run.clone(),
        repo: asked.pull.repo.id,
        number: asked.pull.number,
        person: asked.by.id,
        suite: suite.name.as_str().to_owned(),
        preset: plan.preset.clone(),
        fingerprint,
        cpu_ms: estimate.map(|estimate| estimate.of(plan)),
        limits: (&suite.limits).into(),
        now,
    };
    match desk.promise(promise).await.map_err(not_now)? {
        Ok(()) => Ok(()),
        Err(over) => Err(NoPlan::Never { how: Ending::Refused, why: over.to_string() }),
    }
}

// The form that `map_err` asks for.
#[allow(clippy::needless_pass_by_value)]
fn not_now(why: StoreError) -> NoPlan {
    NoPlan::NotNow(why.to_string())
}

/// Gives a plan the better estimate, says so in it, and decides anew whether a person must agree to it. Nothing is promised.
/// Returns the fingerprint of its workload and the estimate.
///
/// # Errors
/// [`NoPlan::Never`] for a plan without a workload, [`NoPlan::NotNow`] where the store fails.
pub async fn expect<D: Desk>(
    desk: &D,
    suite: &Suite,
    prepared: &mut Prepared,
) -> Result<(Digest, Option<Estimate>), NoPlan> {
    let plan = &mut prepared.plan;
    let preset = plan.preset.clone();
    let workload = plan.workloads.get("control").and_then(|workload| workload.fingerprint(&[]).ok());
    let Some(fingerprint) = workload else {
        let why = "the plan has no workload of the control".to_owned();
        return Err(NoPlan::Never { how: Ending::Failed, why });
    };
    let learnt = estimate(desk, suite.name.as_str(), preset.as_deref(), &fingerprint).await.map_err(not_now)?;
    let estimate = learnt.or_else(|| by_suite(suite, preset.as_deref()));
    if let Some(estimate) = &estimate {
        prepared.each_ms = estimate.wall_ms.or(prepared.each_ms);
        plan.each_ms = prepared.each_ms;
        // A plan that goes on from another one brings what that one cost along.
        plan.notes.retain(|note| !note.starts_with(COSTS));
        plan.notes.push(format!("{COSTS}{}", estimate.words(plan)));
    }
    if plan.retry.is_none() {
        prepared.confirm = agreement(suite, plan, prepared.unusual.as_ref(), estimate.as_ref());
    }
    plan.confirm.clone_from(&prepared.confirm);
    Ok((fingerprint, estimate))
}
