//! What every role runs: steps on this machine, or a job on a cluster with the command line that its commit has.

use std::collections::BTreeMap;

use domain::arms::{Arms, Role, Treatment};
use domain::ids::CommitSha;
use domain::request::HarnessPolicy;
use domain::workload::Workload;
use lab::bundle::Bundler;
use lab::git::tree::FileAt;
use lab::git::{Mirror, TreePath};
use lab::iris::launch::{Harness, Launch as Job};
use lab::iris::overlay;
use lab::iris::rules::Rules;
use lab::local::{Launch, Step};
use serde_json::Value;
use suite::cluster::Cluster;
use suite::generation::{CannotRun, Generation, detect};
use suite::{Arm, Backend, Resolved, Suite};

use super::found::Found;
use super::plan::usage;
use crate::failure::Failure;

/// Largest file that is searched for the marks of a generation, bytes.
const LARGEST: u64 = 16 << 20;
/// Paths that are listed in a message.
const LISTED: usize = 5;
/// What a treatment declares that runs its own benchmark.
const HARNESS: &str = "harness";

/// What every role runs, and under which conditions.
pub(super) struct Roles {
    pub(super) workloads: BTreeMap<String, Workload>,
    pub(super) launches: BTreeMap<String, Value>,
}

impl Roles {
    /// Finds out what every role runs. `host` is the kind of machine that the calibration is of.
    pub(super) fn of(
        suite: &Suite,
        resolved: &Resolved,
        found: &mut Found,
        mirror: &Mirror,
        host: Option<&str>,
    ) -> Result<Self, Failure> {
        let treatments = resolved.treatments.iter().map(|t| (Role::Treatment(t.asked.name.clone()), &t.arm));
        let arms: Vec<(Role, &Arm)> = std::iter::once((Role::Control, &resolved.control)).chain(treatments).collect();
        let launches = match &suite.backend {
            Backend::Local(_) => {
                let steps = |(role, arm): &(Role, &Arm)| Ok((role.to_string(), json(&steps(suite, arm)?)?));
                arms.iter().map(steps).collect::<Result<_, Failure>>()?
            }
            Backend::Iris(cluster) => {
                let harness = harness(suite, resolved, found, mirror)?;
                jobs(suite, cluster, resolved, (found, mirror), harness.as_ref(), host, &arms)?
            }
        };
        let workloads = arms.iter().map(|(role, arm)| (role.to_string(), arm.workload.clone())).collect();
        Ok(Self { workloads, launches })
    }
}

impl Roles {
    /// Makes the files of every arm's jobs, so that a commit that cannot be bundled is refused before anything starts.
    /// Returns what a reader should know of them.
    pub(super) fn try_bundles(&self, arms: &Arms, bundler: &Bundler) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        for role in arms.roles() {
            let launch =
                self.launches.get(&role.to_string()).and_then(|launch| serde_json::from_value(launch.clone()).ok());
            // Steps on this machine run in a checkout.
            let (Some(launch), Some(commit)) = (launch, arms.commit(&role)) else { continue };
            let launch: Job = launch;
            let refused =
                |why: lab::bundle::BundleError| usage(format!("{role} at {commit}: {why}; nothing was started"));
            let bundle = bundler.bundle(commit, overlay(&launch).as_ref()).map_err(refused)?;
            if let Some(first) = bundle.skipped.first() {
                let more = bundle.skipped.len() - 1;
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                notes.push(format!("{role} runs without {} ({:?}){more}", first.path, first.why));
            }
        }
        Ok(notes)
    }
}

fn json<T: serde::Serialize>(launch: &T) -> Result<Value, Failure> {
    Ok(serde_json::to_value(launch).map_err(anyhow::Error::from)?)
}

/// The steps of an arm on this machine.
pub(super) fn steps(suite: &Suite, arm: &Arm) -> Result<Launch, Failure> {
    let commands = suite.commands(arm).map_err(usage)?;
    let step = |command: suite::step::Command| Step {
        name: command.name,
        argv: command.argv,
        env: command.env,
        limit_ms: command.limit.map(|limit| limit.0),
        parallel: command.parallel,
    };
    let launch = Launch { steps: commands.into_iter().map(step).collect() };
    launch.check().map_err(usage)?;
    Ok(launch)
}

fn jobs(
    suite: &Suite,
    cluster: &Cluster,
    resolved: &Resolved,
    (found, mirror): (&Found, &Mirror),
    harness: Option<&Harness>,
    host: Option<&str>,
    arms: &[(Role, &Arm)],
) -> Result<BTreeMap<String, Value>, Failure> {
    let mut rules = Rules::of(cluster, suite.judging.host_class, suite.judging.max_lost_attempts).map_err(usage)?;
    rules.calibrated_host = host.map(str::to_owned);
    let place = resolved.place.as_ref().ok_or_else(|| usage("no locality is known"))?;
    let priority = resolved.priority.as_deref().unwrap_or(&cluster.launcher.priority);
    let mut at = Vec::new();
    for (role, arm) in arms {
        let commit = found.arms.commit(role).ok_or_else(|| usage(format!("there is no commit of {role}")))?;
        let generation = generation(cluster, mirror, role, commit, harness)?;
        at.push((role, *arm, commit, generation));
    }
    let mut launches = BTreeMap::new();
    for (role, arm, commit, generation) in &at {
        let line = |tag: &str| generation.argv(&arm.values, tag);
        let mut job =
            Job::new(cluster, &generation.id, line, &arm.env, (place, priority), rules.clone()).map_err(|error| {
                let others = at.iter().filter(|(other, ..)| other != role);
                let others = others.map(|(role, _, commit, of)| ((*role).clone(), (*commit).clone(), of.id.clone()));
                usage(CannotRun {
                    role: (*role).clone(),
                    commit: (*commit).clone(),
                    generation: generation.id.clone(),
                    error,
                    others: others.collect(),
                })
            })?;
        job.harness = harness.cloned();
        job.check().map_err(usage)?;
        launches.insert(role.to_string(), json(&job)?);
    }
    Ok(launches)
}

/// The command line that a commit has.
fn generation<'c>(
    cluster: &'c Cluster,
    mirror: &Mirror,
    role: &Role,
    commit: &CommitSha,
    harness: Option<&Harness>,
) -> Result<&'c Generation, Failure> {
    let text_of = |file: &str| {
        let path = TreePath::new(file.as_bytes());
        let from = harness.filter(|harness| harness.paths.iter().any(|own| is_below(&path, own)));
        let commit = from.map_or(commit, |harness| &harness.commit);
        Ok(match mirror.read_file(commit, &path, LARGEST)? {
            FileAt::Content(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        })
    };
    let found = detect(&cluster.generations, text_of).map_err(|why: lab::git::GitError| anyhow::Error::from(why))?;
    found.ok_or_else(|| {
        let known: Vec<&str> = cluster.generations.iter().map(|generation| generation.id.as_str()).collect();
        usage(format!(
            "{role} at {commit}: its benchmark has an unknown command line; known are {}; nothing was started",
            known.join(", ")
        ))
    })
}

/// Whether a path is `own` or lies below it.
fn is_below(path: &TreePath, own: &str) -> bool {
    let text = path.text();
    text.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a change of the benchmark itself leads to: the control's files in every arm, a declared difference, or a refusal.
fn harness(suite: &Suite, resolved: &Resolved, found: &mut Found, mirror: &Mirror) -> Result<Option<Harness>, Failure> {
    let Some(own) = &suite.harness else { return Ok(None) };
    let control = found.arms.control().clone();
    let matters = |path: &TreePath| !suite.scope.of([path.text().as_ref()]).is_trivial();
    let ruler = |path: &TreePath| own.paths.iter().any(|own| is_below(path, own));
    let (mut touched, mut nothing_else) = (Vec::new(), None);
    for treatment in found.arms.treatments() {
        let changed = mirror.changed_paths(&control, &treatment.commit).map_err(anyhow::Error::from)?;
        let only_ruler = changed.iter().any(ruler) && !changed.iter().any(|path| !ruler(path) && matters(path));
        // A treatment that declares a difference has one beside the ruler.
        if only_ruler && treatment.declared.is_empty() && nothing_else.is_none() {
            nothing_else = Some(treatment.name.clone());
        }
        touched.extend(changed.into_iter().filter(ruler));
    }
    touched.sort();
    touched.dedup();
    if touched.is_empty() {
        return Ok(None);
    }
    let listed: Vec<String> = touched.iter().take(LISTED).map(ToString::to_string).collect();
    let more = if touched.len() > LISTED { ", ..." } else { "" };
    let paths = format!("{}{more}", listed.join(", "));
    match resolved.harness {
        Some(HarnessPolicy::Refuse) => Err(usage(format!(
            "the change alters the benchmark itself ({paths}), and the suite compares no such changes; nothing was \
             started. harness=control measures the rest of the change by the control's benchmark, harness=head compares \
             the benchmarks as they are, as a declared difference"
        ))),
        Some(HarnessPolicy::Head) => {
            let mut treatments: Vec<Treatment> = found.arms.treatments().to_vec();
            for treatment in &mut treatments {
                treatment.declared.parameter(HARNESS, HarnessPolicy::Head.word()).map_err(usage)?;
            }
            found.arms = Arms::new(control, treatments).map_err(usage)?;
            found.notes.push(format!("every arm runs its own benchmark ({paths})"));
            Ok(None)
        }
        Some(HarnessPolicy::Control) | None => {
            if let Some(name) = nothing_else {
                return Err(usage(format!(
                    "in {name} only the benchmark itself differs ({paths}): by the control's benchmark it would be the \
                     same as the control, so nothing was started. harness=head compares the two benchmarks, as a \
                     declared difference"
                )));
            }
            found.notes.push(format!("every arm runs the control's benchmark: the change alters {paths}"));
            for context in found.contexts.values_mut() {
                context.0.insert("benchmark".to_owned(), Some(control.short().to_owned()));
            }
            Ok(Some(Harness { commit: control, paths: own.paths.clone() }))
        }
    }
}
