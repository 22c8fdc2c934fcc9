//! What goes on from the finished folder of another run: more rounds of it, and what every such plan needs.

use std::path::Path;
use std::sync::Arc;

use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{Clock, How};
use domain::request::{Options, Rounds};
use evidence::{Bundle, DiskStorage, Templates, verify};
use lab::bundle::Bundler;
use lab::git::Mirror;
use lab::scratch::Scratch;
use suite::Suite;

use super::cost::{agreement, by_suite};
use super::place::RunsOn;
use super::plan::{Commits, Pinned, Prepared, beside, mirror, usage};
use crate::cli::World;
use crate::failure::Failure;

/// Plans more rounds of a comparison that is over: the same commits, steps and workload, one episode later.
///
/// # Errors
/// [`Failure::Usage`] where the folder is no finished comparison, or the suite has changed since.
pub fn continues(
    suite: &Suite,
    options: &Options,
    commits: &Commits<'_>,
    folder: &Path,
    config: Option<&Path>,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let more = match options.rounds {
        Some(Rounds::More(more)) => more,
        // Two rounds are the least in whose order a drift cancels.
        None => 2,
        Some(Rounds::Exactly(_)) => return Err(usage("--continue adds rounds: rounds=+n")),
    };
    if (Options { rounds: None, ..options.clone() }) != Options::default() {
        return Err(usage("--continue repeats the request of the earlier run: only rounds=+n may be given"));
    }
    let bundle = finished(folder)?;
    let Some(How::Judged { look, .. }) = bundle.ending.as_ref().map(|ending| &ending.how) else {
        return Err(usage(format!("{}: it ended without a verdict and cannot be continued", folder.display())));
    };
    let before = bundle.plan;
    if !before.origin.ran.is_empty() {
        return Err(usage(format!("{}: it is of jobs that had run before: name more of them", folder.display())));
    }
    let rounds = before.earlier_rounds.saturating_add(u32::try_from(look.rounds.len()).unwrap_or(u32::MAX));
    let (mirror, holds, run) = again(suite, &before, folder, commits, "continue", world)?;
    let plan = Plan {
        run,
        looks: vec![u64::from(rounds) + u64::from(more)],
        episode: before.episode + 1,
        continues: Some(before.run.clone()),
        earlier_rounds: rounds,
        retry: None,
        ..before
    };
    over(plan, suite, folder, (mirror, holds), config, world)
}

/// Reads a finished folder that another run goes on from. What is taken over is sealed anew: only what is as it was may
/// be.
pub(super) fn finished(folder: &Path) -> Result<Bundle, Failure> {
    let place = |error: evidence::EvidenceError| Failure::Usage(format!("{}: {error}", folder.display()));
    let storage = DiskStorage::new(folder);
    let templates = Templates::built_in().map_err(anyhow::Error::from)?;
    if let Some(problem) = verify(&storage, &templates).map_err(place)?.problems.first() {
        let problem = problem.to_string().replace(char::is_control, "?");
        return Err(usage(format!("{}: it does not verify: {problem}", folder.display())));
    }
    Bundle::read(&storage, "").map_err(place)
}

/// What is needed to compare the same commits again, as `verb` wants to: the mirror, which has them, and the id of the new
/// run.
pub(super) fn again(
    suite: &Suite,
    before: &Plan,
    folder: &Path,
    commits: &Commits<'_>,
    verb: &str,
    world: &World<'_>,
) -> Result<(Mirror, Option<Scratch>, RunId), Failure> {
    if let Some(other) = continuation(folder, &before.run, commits.pinned) {
        let folder = folder.display();
        return Err(usage(format!(
            "{folder}: {other} continues it already; {verb} that one: each look is counted once"
        )));
    }
    if before.suite_digest != suite.digest {
        return Err(usage(format!("{}: the suite has changed since that run", folder.display())));
    }
    let (mirror, holds) = mirror(commits, world)?;
    for commit in before.roles().iter().filter_map(|role| before.arms.commit(role)) {
        mirror.resolve(commit.as_str()).map_err(usage)?;
    }
    let run = match commits.pinned {
        Some(pinned) => pinned.run.clone(),
        None => RunId::new(world.machine.clock.now().seconds(), world.machine.random).map_err(anyhow::Error::from)?,
    };
    Ok((mirror, holds, run))
}

/// A plan that goes on from the finished folder of another run, prepared.
pub(super) fn over(
    plan: Plan,
    suite: &Suite,
    folder: &Path,
    (mirror, holds): (Mirror, Option<Scratch>),
    config: Option<&Path>,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let suite_text = suite.text.clone();
    let confirm = agreement(suite, &plan, None, by_suite(suite, plan.preset.as_deref()).as_ref());
    Ok(Prepared {
        plan,
        suite_text,
        beside: beside(suite),
        calibration: None,
        continues: Some(folder.to_owned()),
        unusual: None,
        confirm,
        hints: Vec::new(),
        each_ms: None,
        runs_on: RunsOn::of(suite, config, world)?,
        bundler: Arc::new(Bundler::new(mirror.clone())),
        mirror,
        _holds: holds,
    })
}

/// The run beside `folder` that continues `run`, if there is one: going on from the same rounds twice would give two
/// chances where one is accounted for.
///
/// On a pull request one run goes on at a time: what is not sealed is what an attempt to plan has left.
fn continuation(folder: &Path, run: &RunId, pinned: Option<&Pinned>) -> Option<String> {
    let siblings = std::fs::read_dir(folder.canonicalize().ok()?.parent()?).ok()?;
    let sealed = |name: &std::ffi::OsStr| name.to_string_lossy().parse::<RunId>().is_ok();
    siblings.flatten().filter(|sibling| pinned.is_none() || sealed(&sibling.file_name())).find_map(|sibling| {
        let plan = std::fs::read(sibling.path().join("plan.json")).ok()?;
        let plan: Plan = serde_json::from_slice(&plan).ok()?;
        (plan.continues.as_ref() == Some(run)).then(|| sibling.file_name().to_string_lossy().into_owned())
    })
}
