//! From jobs that already ran to a plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::arms::{Arms, Role, Treatment};
use domain::comparability::Context;
use domain::ids::{Digest, JobId, RunId};
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::Clock as _;
use domain::request::Options;
use domain::rounds::RoundMode;
use domain::workload::Known;
use lab::bundle::Bundler;
use lab::iris::existing::{ExistingLab, Ran};
use lab::iris::rules::Rules;
use marin::iris::JobState;
use suite::{Backend, Resolved, Suite};

use super::asked::{ArmAsked, Asked};
use super::recover::{self, Recovered};
use crate::cli::World;
use crate::cluster::Connection;
use crate::command::run::{Noise, Prepared, RunsOn, beside, empty_mirror, runtime};
use crate::failure::Failure;

/// Long enough for jobs that have ended.
const LIMIT_MS: u64 = 24 * 3_600_000;

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Plans the comparison and opens the backend that only looks.
pub(super) fn prepare(
    suite: &Suite,
    asked: &Asked,
    calibration: Option<&Path>,
    config: Option<&Path>,
    world: &World<'_>,
) -> Result<(Prepared, ExistingLab), Failure> {
    let Backend::Iris(cluster) = &suite.backend else {
        return Err(usage(format!("suite {} runs on this machine, where no jobs are left to compare", suite.name)));
    };
    let RunsOn::Cluster(connection) = RunsOn::of(suite, config, world)? else {
        return Err(usage("the suite runs on no cluster"));
    };
    let resolved = suite::resolve(suite, &Options::default()).map_err(usage)?;
    let mut rules = Rules::of(cluster, suite.judging.host_class, suite.judging.max_lost_attempts).map_err(usage)?;
    let mut found: BTreeMap<Role, Vec<Recovered>> = BTreeMap::new();
    for (role, arm) in arms(asked) {
        let all = arm.trials.iter().map(|ran| recovered(suite, ran, &rules, &connection));
        found.insert(role, all.collect::<Result<_, _>>()?);
    }
    unlike(&mut found)?;
    let first =
        |role: &Role| found.get(role).and_then(|all| all.first()).cloned().ok_or_else(|| usage("an arm is empty"));
    let control = first(&Role::Control)?;
    let mut notes =
        vec!["jobs that had run before: whether they ran side by side is for whoever names them".to_owned()];
    // Without what could not be read, and what a calibration does not know of.
    let mut except = control.workload.unknown(&[]);
    except.push(recover::REST.to_owned());
    let except: Vec<&str> = except.iter().map(String::as_str).collect();
    let fingerprint = control.workload.fingerprint(&except).map_err(usage)?;
    let (noise, unfit) = match Noise::of(suite, &resolved, &fingerprint, calibration, world) {
        Ok(noise) => (noise, None),
        // Nobody chose these jobs to fit a calibration: without one the rounds must tell the noise themselves.
        Err(Failure::Usage(why)) => {
            (Noise::of(suite, &resolved, &fingerprint, None, world)?, Some(format!("calibrated by nothing: {why}")))
        }
        Err(other) => return Err(other),
    };
    notes.extend(unfit);
    rules.calibrated_host.clone_from(&noise.host);
    let mut treatments = Vec::new();
    for (name, arm) in &asked.treatments {
        let commit = first(&Role::Treatment(name.clone()))?.stand_in;
        treatments.push(Treatment { name: name.clone(), commit, declared: arm.declared.clone() });
    }
    let run = RunId::new(world.machine.clock.now().seconds(), world.machine.random).map_err(anyhow::Error::from)?;
    let trees: BTreeMap<String, String> =
        found.iter().filter_map(|(role, all)| Some((role.to_string(), all.first()?.tree.clone()))).collect();
    let plan = Plan {
        schema: PLAN_SCHEMA,
        ledger: ledger(asked, &fingerprint),
        run,
        suite: suite.name.clone(),
        title: suite.title.clone(),
        suite_digest: suite.digest.clone(),
        preset: None,
        arms: Arms::new(control.stand_in.clone(), treatments).map_err(usage)?,
        origin: origin(asked, &found, trees),
        workloads: of_each(&found, |one| Ok(one.workload.clone()))?,
        contexts: of_each(&found, |one| Ok(context(one)))?,
        launches: of_each(&found, |one| {
            let mut launch = one.launch.clone();
            launch.rules.clone_from(&rules);
            Ok(serde_json::to_value(launch).map_err(anyhow::Error::from)?)
        })?,
        mode: RoundMode::Together,
        looks: vec![asked.rounds() as u64],
        replacements: 0,
        limit_ms: LIMIT_MS,
        judging: judging(&resolved),
        calibration: noise.contract,
        calibrated: Some(noise.calibrated),
        episode: 1,
        continues: None,
        earlier_rounds: 0,
        confirm: None,
        late: crate::command::run::late(suite),
        notes,
    };
    let (mirror, holds) = empty_mirror(world)?;
    let bundler = Arc::new(Bundler::new(mirror.clone()));
    let lab = ExistingLab::new(connection.lab(Arc::clone(&bundler)), places(asked));
    let prepared = Prepared {
        plan,
        suite_text: suite.text.clone(),
        beside: beside(suite),
        calibration: noise.file,
        continues: None,
        confirm: None,
        hints: Vec::new(),
        each_ms: None,
        runs_on: RunsOn::Cluster(connection),
        bundler,
        mirror,
        _holds: holds,
    };
    Ok((prepared, lab))
}

fn arms(asked: &Asked) -> impl Iterator<Item = (Role, &ArmAsked)> {
    let treatments = asked.treatments.iter().map(|(name, arm)| (Role::Treatment(name.clone()), arm));
    std::iter::once((Role::Control, &asked.control)).chain(treatments)
}

/// The trials by round and role.
fn places(asked: &Asked) -> BTreeMap<(u32, Role), Ran> {
    let of = |(role, arm): (Role, &ArmAsked)| {
        let numbered = (1_u32..).zip(arm.trials.clone());
        numbered.map(move |(round, ran)| ((round, role.clone()), ran)).collect::<Vec<_>>()
    };
    arms(asked).flat_map(of).collect()
}

/// What a job says of itself. One that has not ended, or did not end well, is no measurement.
fn recovered(suite: &Suite, ran: &Ran, rules: &Rules, connection: &Connection) -> Result<Recovered, Failure> {
    let job = match ran {
        Ran::Job(job) => job,
        Ran::Executions(ids) => {
            let name = ids.first().map(ToString::to_string).unwrap_or_default();
            return Ok(recover::nothing(suite, &name, rules, &connection.name));
        }
    };
    let id = marin::JobId::new(job.as_str()).map_err(usage)?;
    let record = match runtime()?.block_on(connection.iris.job(&id)) {
        Ok(record) => record,
        Err(error) if error.is_not_found() => {
            return Err(usage(format!("{job}: the controller of {} does not know this job", connection.name)));
        }
        Err(error) => return Err(anyhow::Error::from(error).into()),
    };
    let state = record.job.state.as_str().trim_start_matches("JOB_STATE_").to_lowercase();
    if !record.job.state.has_ended() {
        return Err(usage(format!("{job} is {state}: it can be compared when it has ended")));
    }
    if record.job.state != JobState::Succeeded {
        let error: String = record.job.error.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        return Err(usage(format!("{job} {state}, and measured nothing that could be compared: {error}")));
    }
    Ok(recover::of(suite, job.as_str(), &record.request, rules, &connection.name))
}

/// Jobs of one arm that are not of the same files are refused; where that cannot be told, it is not known.
fn unlike(found: &mut BTreeMap<Role, Vec<Recovered>>) -> Result<(), Failure> {
    for (role, all) in found {
        let Some((first, others)) = all.split_first_mut() else { continue };
        for other in others {
            match first.same_files(other) {
                Some(true) => {}
                Some(false) => {
                    return Err(usage(format!(
                        "the jobs of {role} were made of different commits: an arm is one commit, and another one is a \
                         treatment of its own"
                    )));
                }
                None => first.workload.set_named("files_of_the_arm", Known::Unknown).map_err(usage)?,
            }
        }
    }
    Ok(())
}

/// A value of each arm. Where the jobs of an arm ran different workloads, what differs between them is unknown.
fn of_each<T>(
    found: &BTreeMap<Role, Vec<Recovered>>,
    value: impl Fn(&Recovered) -> Result<T, Failure>,
) -> Result<BTreeMap<String, T>, Failure> {
    let mut all = BTreeMap::new();
    for (role, recovered) in found {
        let Some(first) = recovered.first() else { continue };
        let mut alike = first.clone();
        for other in &recovered[1..] {
            alike.workload = alike.workload.agreed(&other.workload);
        }
        all.insert(role.to_string(), value(&alike)?);
    }
    Ok(all)
}

fn context(one: &Recovered) -> Context {
    let mut context = Context::default();
    context.0.insert("image".to_owned(), one.image.clone());
    context.0.insert("generation".to_owned(), Some(one.launch.generation.clone()));
    context
}

fn origin(asked: &Asked, found: &BTreeMap<Role, Vec<Recovered>>, trees: BTreeMap<String, String>) -> Origin {
    let unknown = found.iter().filter(|(_, all)| all.first().is_none_or(|one| one.commit.is_none()));
    let text = |ran: &Ran| match ran {
        Ran::Job(job) => JobId::to_string(job),
        Ran::Executions(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    };
    Origin {
        trees,
        unknown_commits: unknown.map(|(role, _)| role.to_string()).collect(),
        ran: arms(asked).map(|(role, arm)| (role.to_string(), arm.trials.iter().map(text).collect())).collect(),
        ..Origin::default()
    }
}

/// The settings of the suite, without those that depend on the size of a pool: that is what the jobs had.
fn judging(resolved: &Resolved) -> serde_json::Value {
    let mut judging = resolved.judging.clone();
    if let Some(fields) = judging.as_object_mut() {
        fields.remove("pool_cores");
        fields.remove("mem_limit");
    }
    judging
}

/// The same jobs are the same ledger, whoever looks at them again.
fn ledger(asked: &Asked, fingerprint: &Digest) -> Digest {
    let jobs: Vec<String> = arms(asked).map(|(role, arm)| format!("{role}={:?}", arm.trials)).collect();
    Digest::of(format!("jobs that ran\n{}\n{}\n", fingerprint.as_str(), jobs.join("\n")).as_bytes())
}
