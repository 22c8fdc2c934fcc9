//! What a plan is expected to cost, and why a person must agree to it.

use domain::budget::cost::Source;
use domain::budget::{Estimate, to_ms};
use domain::plan::Plan;
use suite::{Resolved, Suite};

use super::plan::only;

/// What the suite file says of a trial.
pub(crate) fn by_suite(suite: &Suite, preset: Option<&str>) -> Option<Estimate> {
    let expect = suite.preset(preset?)?.expect;
    let wall_ms = expect.wall.map(|wall| wall.0);
    Some(Estimate { cpu_ms: to_ms(expect.cpu_hours?), wall_ms, source: Source::Suite })
}

/// Why a person must agree to what was asked for, whatever it costs.
pub(super) fn unusual(resolved: &Resolved) -> Option<String> {
    resolved
        .other_sample
        .then(|| "another sample than the preset's was asked for, which nobody vouches for to stay as it is".to_owned())
}

/// A preset of the repository costs what nobody vouches for before there was a run of it: it must not slip under the
/// operator's limit.
fn unknown(suite: &Suite, plan: &Plan, estimate: Option<&Estimate>) -> Option<String> {
    let preset = suite.preset(plan.preset.as_deref()?).filter(|preset| preset.of_repository)?;
    let unknown = estimate.is_none() && suite.limits.confirm_above.is_some();
    unknown.then(|| {
        format!("what it costs is not known: {} is a preset of the repository, and was never run", preset.name)
    })
}

/// Why a person must agree to a plan: because nothing that matters seems to differ, because of what was asked for, or because
/// of what it costs.
pub(crate) fn agreement(
    suite: &Suite,
    plan: &Plan,
    unusual: Option<&String>,
    estimate: Option<&Estimate>,
) -> Option<String> {
    let cost = estimate.and_then(|estimate| estimate.above(plan, suite.limits.confirm_above));
    let skip =
        plan.skip.as_ref().map(|reasons| format!("{}, and measuring it is likely to show nothing", only(reasons)));
    let all: Vec<String> =
        skip.into_iter().chain(unusual.cloned()).chain(cost).chain(unknown(suite, plan, estimate)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
