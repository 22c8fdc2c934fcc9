//! From what is asked for to a plan: commits, workload, steps, looks, calibration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use domain::arms::Arms;
use domain::ids::{CommitSha, Digest, RunId};
use domain::machine::timing::Late;
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::Clock;
use domain::pull::FromPull;
use domain::request::{Options, Rounds};
use lab::bundle::Bundler;
use lab::git::{Mirror, Source};
use lab::scratch::{self, Scratch};
use suite::repository::BESIDE;
use suite::{Backend, Resolved, Suite};

use super::cost::{agreement, by_suite, unusual};
use super::found::find;
use super::launches::Roles;
use super::noise::{Noise, hints};
use super::place::RunsOn;
use super::trivial::{Difference, difference};
use crate::cli::World;
use crate::failure::Failure;

/// The revisions that are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Commits<'a> {
    /// The repository.
    pub repo: &'a str,
    /// What the head is to be merged into; the usual names are tried where it is not said.
    pub base: Option<&'a str>,
    /// What is compared with it.
    pub head: &'a str,
    /// Where a pull request names them.
    pub pinned: Option<&'a Pinned>,
}

/// Commits that a pull request names, in a mirror that is kept.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// The mirror, which has them.
    pub mirror: Mirror,
    /// The repository as people know it.
    pub repository: String,
    /// The pull request.
    pub pull: FromPull,
    /// The run that is planned.
    pub run: RunId,
    /// The head.
    pub head: CommitSha,
    /// The newest commit of the branch that it is to be merged into.
    pub base: CommitSha,
    /// The same at the moment of the request. Once the head is merged, only this one still says what it changed.
    pub asked_base: Option<CommitSha>,
    /// The finished folder of the run that is continued.
    pub continues: Option<std::path::PathBuf>,
    /// The finished folder of the run that is retried.
    pub retries: Option<std::path::PathBuf>,
}

/// Files that a plan is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// What is known of the noise.
    pub calibration: Option<&'a Path>,
    /// The configuration of the program.
    pub config: Option<&'a Path>,
}

/// Everything that is decided before a run starts.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// Text of the suite.
    pub suite_text: String,
    /// Files that stand beside the suite and belong to it, by their names.
    pub beside: Vec<(String, String)>,
    /// The calibration file that the plan was made with.
    pub calibration: Option<Vec<u8>>,
    /// The finished folder that this run continues or retries.
    pub continues: Option<std::path::PathBuf>,
    /// Why a person must agree to it whatever it costs.
    pub unusual: Option<String>,
    /// Why a person must agree before it starts.
    pub confirm: Option<String>,
    /// What a person should know before it starts.
    pub hints: Vec<String>,
    /// How long a trial is expected to take, milliseconds.
    pub each_ms: Option<u64>,
    /// Where trials run.
    pub runs_on: RunsOn,
    /// Makes the files of jobs; what was made for the plan is not made again.
    pub bundler: Arc<Bundler>,
    /// The mirror of the repository.
    pub mirror: Mirror,
    /// The folder that holds the mirror where that is not kept, removed when this is dropped.
    pub(in crate::command) _holds: Option<Scratch>,
}

pub(super) fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Plans a comparison.
///
/// # Errors
/// [`Failure::Usage`] where commits, request or calibration make no sense; anything else where git or the disk failed.
pub fn prepare(
    suite: &Suite,
    options: &Options,
    commits: &Commits<'_>,
    known: &Known<'_>,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let asked = suite::resolve(suite, options).map_err(usage)?;
    if matches!(asked.rounds, Some(Rounds::More(_))) {
        return Err(usage("rounds=+n adds rounds to an earlier run: name its folder with --continue"));
    }
    let runs_on = RunsOn::of(suite, known.config, world)?;
    let (mirror, holds) = mirror(commits, world)?;
    let mut found = find(suite, &mirror, commits, options, &asked)?;
    let applied = suite::apply(suite, options, &found.needed).map_err(usage)?;
    let differs = applied.differs(options);
    let mut resolved = applied.resolved;
    runs_on.complete(&mut resolved);
    let now = world.machine.clock.now();
    let fingerprint = resolved.control.workload.fingerprint(&[]).map_err(usage)?;
    let noise = match Noise::of(suite, &resolved, &fingerprint, known.calibration, world) {
        Err(Failure::Usage(why)) if differs => {
            uncalibrated(suite, [asked, resolved.clone()], known, &runs_on, world, &why)?
        }
        noise => noise?,
    };
    let looks = resolved.looks(noise.calibrated.grade, noise.rows);
    let hints = hints(&looks, noise.calibrated.grade);
    let mut notes = Vec::new();
    if commits.pinned.is_none() {
        notes.push("a ledger of its own: repeating it does not correct for the repetitions".to_owned());
    }
    notes.extend(suite.repository.iter().flat_map(|said| said.notes.clone()));
    notes.extend(applied.notes);
    notes.extend(noise.unfit);
    let steps = Roles::of(suite, &resolved, &mut found, &mirror, noise.host.as_deref())?;
    notes.append(&mut found.notes);
    let bundler = Arc::new(Bundler::new(mirror.clone()));
    notes.extend(steps.try_bundles(&found.arms, &bundler)?);
    let run = match commits.pinned {
        Some(pinned) => pinned.run.clone(),
        None => RunId::new(now.seconds(), world.machine.random).map_err(anyhow::Error::from)?,
    };
    let whose = match commits.pinned {
        Some(Pinned { pull, .. }) => format!("pull {} {}", pull.repo, pull.number),
        // Without a registry, every invocation is a ledger of its own.
        None => run.to_string(),
    };
    let skip = skip(suite, &mirror, &found.arms)?;
    if let Some(reasons) = &skip {
        notes.push(only(reasons));
    }
    let ledger = ledger(&whose, &found.trees, &fingerprint);
    let plan = Plan {
        schema: PLAN_SCHEMA,
        run,
        suite: suite.name.clone(),
        title: suite.title.clone(),
        suite_digest: suite.digest.clone(),
        preset: resolved.preset.clone(),
        arms: found.arms,
        origin: Origin { trees: found.trees, ..found.origin },
        workloads: steps.workloads,
        contexts: found.contexts,
        launches: steps.launches,
        mode: resolved.mode,
        looks,
        replacements: resolved.replaced_rounds,
        limit_ms: resolved.limit.0,
        judging: resolved.judging.clone(),
        calibration: noise.contract,
        calibrated: Some(noise.calibrated),
        ledger,
        episode: 1,
        continues: None,
        earlier_rounds: 0,
        each_ms: resolved.expect.wall.map(|wall| wall.0),
        retry: None,
        confirm: None,
        skip,
        scope: Some(found.needed.classes).filter(|scope| !scope.classes.is_empty()),
        late: late(suite),
        notes,
    };
    let unusual = unusual(&resolved);
    let estimate = by_suite(suite, plan.preset.as_deref());
    let confirm = agreement(suite, &plan, unusual.as_ref(), estimate.as_ref());
    let suite_text = suite.text.clone();
    let each_ms = plan.each_ms;
    Ok(Prepared {
        plan,
        suite_text,
        beside: beside(suite),
        calibration: noise.file,
        continues: None,
        unusual,
        confirm,
        hints,
        each_ms,
        runs_on,
        bundler,
        mirror,
        _holds: holds,
    })
}

/// A mirror of the repository: the one that is kept, or one in a temporary folder.
pub(super) fn mirror(commits: &Commits<'_>, world: &World<'_>) -> Result<(Mirror, Option<Scratch>), Failure> {
    if let Some(pinned) = commits.pinned {
        return Ok((pinned.mirror.clone(), None));
    }
    let source = Source::of(commits.repo).map_err(usage)?;
    let (mirror, holds) = empty_mirror(world)?;
    mirror.fetch(&source).map_err(anyhow::Error::from)?;
    Ok((mirror, Some(holds)))
}

/// A mirror of nothing in a temporary folder.
pub(in crate::command) fn empty_mirror(world: &World<'_>) -> Result<(Mirror, Scratch), Failure> {
    scratch::sweep(&world.machine.temp);
    let holds = Scratch::create(&world.machine.temp)
        .with_context(|| format!("no temporary folder in {}", world.machine.temp.display()))?;
    let mirror = Mirror::open(holds.path(), &world.machine.path).map_err(anyhow::Error::from)?;
    Ok((mirror, holds))
}

/// What is known of the noise where the rules want another workload than the calibrated one: nothing, and nobody asked
/// for that. A file that would not do for the request alone either is refused as ever.
fn uncalibrated(
    suite: &Suite,
    [mut alone, wanted]: [Resolved; 2],
    known: &Known<'_>,
    runs_on: &RunsOn,
    world: &World<'_>,
    why: &str,
) -> Result<Noise, Failure> {
    let of = |resolved: &Resolved, calibration: Option<&Path>| {
        let fingerprint = resolved.control.workload.fingerprint(&[]).map_err(usage)?;
        Noise::of(suite, resolved, &fingerprint, calibration, world)
    };
    runs_on.complete(&mut alone);
    of(&alone, known.calibration)?;
    Ok(Noise { unfit: Some(format!("not calibrated for what the rules want: {why}")), ..of(&wanted, None)? })
}

/// What alone differs.
pub(crate) fn only(reasons: &[String]) -> String {
    format!("only {} changed", reasons.join("; "))
}

/// What alone differs between the control and every treatment, where that cannot alter a measurement. A treatment that
/// declares a difference has one beside its files.
fn skip(suite: &Suite, mirror: &Mirror, arms: &Arms) -> Result<Option<Vec<String>>, Failure> {
    let mut commits: Vec<&CommitSha> = arms.treatments().iter().map(|treatment| &treatment.commit).collect();
    commits.dedup();
    if arms.treatments().iter().any(|treatment| !treatment.declared.is_empty()) {
        return Ok(None);
    }
    let mut all: Vec<String> = Vec::new();
    for commit in commits {
        match difference(suite, mirror, arms.control(), commit)? {
            Difference::Matters(_) => return Ok(None),
            Difference::Trivial(reasons) if reasons.is_empty() => return Ok(None),
            Difference::Trivial(reasons) => {
                all.extend(reasons.into_iter().filter(|reason| !all.contains(reason)).collect::<Vec<_>>());
            }
        }
    }
    Ok(Some(all).filter(|reasons| !reasons.is_empty()))
}

/// The scripts of the suite, and what the repository says of it: it is not whole without them.
pub(in crate::command) fn beside(suite: &Suite) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    if let Backend::Iris(cluster) = &suite.backend {
        let setup = &cluster.launcher.setup;
        all.extend(
            setup.scripts.iter().chain(&setup.commands).map(|script| (script.path.clone(), script.text.clone())),
        );
    }
    all.extend(suite.repository.iter().map(|said| (BESIDE.to_owned(), said.text.clone())));
    all.into_iter().collect()
}

/// How the suite waits for late records.
pub(in crate::command) fn late(suite: &Suite) -> Option<Late> {
    let Backend::Iris(cluster) = &suite.backend else { return None };
    let late = cluster.metrics.late_rows;
    // 1 to 10 by the suite.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let factor_percent = (late.factor * 100.0) as u64;
    Some(Late { every_ms: late.every.0, times: late.times, factor_percent })
}

/// What all looks at these trees under this workload are counted under.
fn ledger(whose: &str, trees: &BTreeMap<String, String>, fingerprint: &Digest) -> Digest {
    let trees: Vec<String> = trees.iter().map(|(role, tree)| format!("{role}={tree}")).collect();
    let text = format!("{whose}\n{}\n{}\n", fingerprint.as_str(), trees.join("\n"));
    Digest::of(text.as_bytes())
}
