//! From jobs that already ran to a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::arms::{Arms, Role, Treatment};
use domain::comparability::Context;
use domain::ids::{CommitSha, Digest, RunId};
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::Clock as _;
use domain::request::Options;
use domain::rounds::RoundMode;
use domain::setting::Setting;
use domain::workload::Known;
use lab::bundle::Bundler;
use lab::iris::existing::{ExistingLab, Ran};
use lab::iris::launch::Launch;
use lab::iris::rules::Rules;
use marin::iris::JobState;
use serde_json::Value as Json;
use suite::judging::{Factor, MemoryLimit};
use suite::{Backend, Resolved, Suite};

use super::asked::{ArmAsked, Asked};
use super::recover::{self, Recovered};
use crate::cli::World;
use crate::cluster::Connection;
use crate::command::run::{
    Known as Files, Noise, Pinned, Prepared, RunsOn, beside, empty_mirror, merge_bases, runtime,
};
use crate::failure::Failure;

/// Long enough for jobs that have ended.
const LIMIT_MS: u64 = 24 * 3_600_000;

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Plans the comparison. `pinned` is the pull request that asks for it, where one does.
///
/// # Errors
/// [`Failure::Usage`] where jobs are not there, did not end well or do not fit together; anything else where the cluster
/// cannot be asked.
pub(crate) fn prepare(
    suite: &Suite,
    asked: &Asked,
    known: &Files<'_>,
    pinned: Option<&Pinned>,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let Backend::Iris(cluster) = &suite.backend else {
        return Err(usage(format!("suite {} runs on this machine, where no jobs are left to compare", suite.name)));
    };
    let RunsOn::Cluster(connection) = RunsOn::of(suite, known.config, world)? else {
        return Err(usage("the suite runs on no cluster"));
    };
    let resolved = suite::resolve(suite, &Options::default()).map_err(usage)?;
    let mut rules = Rules::of(cluster, suite.judging.host_class, suite.judging.max_lost_attempts).map_err(usage)?;
    let mut found: BTreeMap<Role, Vec<Recovered>> = BTreeMap::new();
    for (role, arm) in arms(asked) {
        let all = arm.trials.iter().map(|ran| recovered(suite, ran, &rules, &connection, pinned.is_none()));
        found.insert(role, all.collect::<Result<_, _>>()?);
    }
    let found: BTreeMap<Role, Recovered> =
        found.into_iter().map(|(role, all)| Ok((role.clone(), agreed(&role, all)?))).collect::<Result<_, Failure>>()?;
    let of = |role: &Role| found.get(role).ok_or_else(|| usage("an arm is empty"));
    let control = of(&Role::Control)?;
    // Without what could not be read, and what a calibration does not know of.
    let mut except = control.workload.unknown(&[]);
    except.push(recover::REST.to_owned());
    let except: Vec<&str> = except.iter().map(String::as_str).collect();
    let fingerprint = control.workload.fingerprint(&except).map_err(usage)?;
    let (noise, unfit) = match Noise::of(suite, &resolved, &fingerprint, known.calibration, world) {
        Ok(noise) => (noise, None),
        // Nobody chose these jobs to fit a calibration: without one the rounds must tell the noise themselves.
        Err(Failure::Usage(why)) => {
            (Noise::of(suite, &resolved, &fingerprint, None, world)?, Some(format!("calibrated by nothing: {why}")))
        }
        Err(other) => return Err(other),
    };
    rules.calibrated_host.clone_from(&noise.host);
    let mut treatments = Vec::new();
    for (name, arm) in &asked.treatments {
        let commit = of(&Role::Treatment(name.clone()))?.stand_in.clone();
        treatments.push(Treatment { name: name.clone(), commit, declared: arm.declared.clone() });
    }
    let arms = Arms::new(control.stand_in.clone(), treatments).map_err(usage)?;
    let run = match pinned {
        Some(pinned) => pinned.run.clone(),
        None => RunId::new(world.machine.clock.now().seconds(), world.machine.random).map_err(anyhow::Error::from)?,
    };
    let origin = origin(asked, &found, pinned)?;
    let mut notes = notes(&origin, &arms, pinned);
    notes.extend(unfit);
    let mut launches = BTreeMap::new();
    for (role, one) in &found {
        let launch = Launch { rules: rules.clone(), ..one.launch.clone() };
        launches.insert(role.to_string(), serde_json::to_value(launch).map_err(anyhow::Error::from)?);
    }
    let plan = Plan {
        schema: PLAN_SCHEMA,
        ledger: ledger(asked, &fingerprint, pinned),
        run,
        suite: suite.name.clone(),
        title: suite.title.clone(),
        suite_digest: suite.digest.clone(),
        preset: None,
        arms,
        origin,
        workloads: found.iter().map(|(role, one)| (role.to_string(), one.workload.clone())).collect(),
        contexts: found.iter().map(|(role, one)| (role.to_string(), context(one))).collect(),
        launches,
        mode: RoundMode::Together,
        looks: vec![asked.rounds() as u64],
        replacements: 0,
        limit_ms: LIMIT_MS,
        judging: judging(suite, &resolved, &found),
        calibration: noise.contract,
        calibrated: Some(noise.calibrated),
        episode: 1,
        continues: None,
        earlier_rounds: 0,
        each_ms: None,
        retry: None,
        confirm: None,
        skip: None,
        scope: None,
        late: crate::command::run::late(suite),
        notes,
    };
    let (mirror, holds) = match pinned {
        Some(pinned) => (pinned.mirror.clone(), None),
        None => empty_mirror(world).map(|(mirror, holds)| (mirror, Some(holds)))?,
    };
    let bundler = Arc::new(Bundler::new(mirror.clone()));
    Ok(Prepared {
        plan,
        suite_text: suite.text.clone(),
        beside: beside(suite),
        calibration: noise.file,
        continues: None,
        unusual: None,
        confirm: None,
        hints: Vec::new(),
        each_ms: None,
        runs_on: RunsOn::Cluster(connection),
        bundler,
        mirror,
        _holds: holds,
    })
}

/// The backend of a plan, which only looks.
pub(super) fn lab(prepared: &Prepared) -> Result<ExistingLab, Failure> {
    let RunsOn::Cluster(connection) = &prepared.runs_on else {
        return Err(usage("the suite runs on no cluster"));
    };
    let iris = Arc::new(connection.lab(Arc::clone(&prepared.bundler)));
    ExistingLab::of_plan(iris, &prepared.plan).map_err(usage)
}

/// What a reader has to know of jobs that somebody named.
fn notes(origin: &Origin, arms: &Arms, pinned: Option<&Pinned>) -> Vec<String> {
    let Some(pinned) = pinned else {
        return vec!["jobs that had run before: whether they ran side by side is for whoever names them".to_owned()];
    };
    let whose = match origin.doubt(arms, &pinned.head) {
        Some(doubt) => doubt.short(),
        None => "jobs of the commits of this pull request were compared",
    };
    vec![whose.to_owned(), "nothing was launched: whether they ran side by side is for whoever named them".to_owned()]
}

fn arms(asked: &Asked) -> impl Iterator<Item = (Role, &ArmAsked)> {
    let treatments = asked.treatments.iter().map(|(name, arm)| (Role::Treatment(name.clone()), arm));
    std::iter::once((Role::Control, &asked.control)).chain(treatments)
}

/// What a job says of itself. One that has not ended, or did not end well, is no measurement. What it ended with is told to
/// its reader `alone` only: in a pull request it would be told to everybody.
fn recovered(
    suite: &Suite,
    ran: &Ran,
    rules: &Rules,
    connection: &Connection,
    alone: bool,
) -> Result<Recovered, Failure> {
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
        let why = if alone { format!(": {error}") } else { String::new() };
        return Err(usage(format!("{job} {state}, and measured nothing that could be compared{why}")));
    }
    Ok(recover::of(suite, job.as_str(), &record.request, rules, &connection.name))
}

/// What the jobs of an arm have in common. Jobs of different commits are refused; what else differs between them, and
/// whether they are of the same files where that cannot be told, is unknown.
fn agreed(role: &Role, jobs: Vec<Recovered>) -> Result<Recovered, Failure> {
    let mut jobs = jobs.into_iter();
    let mut first = jobs.next().ok_or_else(|| usage("an arm is empty"))?;
    for other in jobs {
        first.workload = first.workload.agreed(&other.workload);
        first.commit = first.commit.filter(|commit| other.commit.as_ref() == Some(commit));
        match first.same_files(&other) {
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
    Ok(first)
}

fn context(one: &Recovered) -> Context {
    let mut context = Context::default();
    context.0.insert("image".to_owned(), one.image.clone());
    context.0.insert("generation".to_owned(), Some(one.launch.generation.clone()));
    context
}

fn origin(asked: &Asked, found: &BTreeMap<Role, Recovered>, pinned: Option<&Pinned>) -> Result<Origin, Failure> {
    let unknown = found.iter().filter(|(_, one)| one.commit.is_none());
    let pull = match pinned {
        Some(pinned) => Origin {
            repository: pinned.repository.clone(),
            head: pinned.head.to_string(),
            merge_bases: of_pull(pinned)?,
            pull: Some(pinned.pull.clone()),
            ..Origin::default()
        },
        None => Origin::default(),
    };
    Ok(Origin {
        trees: found.iter().map(|(role, one)| (role.to_string(), one.tree.clone())).collect(),
        unknown_commits: unknown.map(|(role, _)| role.to_string()).collect(),
        ran: arms(asked)
            .map(|(role, arm)| (role.to_string(), arm.trials.iter().map(Ran::to_string).collect()))
            .collect(),
        ..pull
    })
}

/// The merge bases of a pull request, of which a run would measure the first.
fn of_pull(pinned: &Pinned) -> Result<Vec<CommitSha>, Failure> {
    let asked = pinned.asked_base.as_ref();
    Ok(merge_bases(&pinned.mirror, &pinned.base, &pinned.head, asked)?.all)
}

/// The settings of the suite, with the size of the pool that the jobs had.
fn judging(suite: &Suite, resolved: &Resolved, found: &BTreeMap<Role, Recovered>) -> Json {
    let mut judging = resolved.judging.clone();
    let Some(fields) = judging.as_object_mut() else { return judging };
    let setting = |one: &Recovered, name: &str| match one.workload.get(name) {
        Known::Set(setting) => Some(setting.clone()),
        _ => None,
    };
    if let Some(MemoryLimit::Parameter(name)) = &suite.judging.memory_limit {
        let bytes = |one: &Recovered| match setting(one, name) {
            Some(Setting::Bytes { bytes }) => Some(bytes.0),
            _ => None,
        };
        put(
            fields,
            "mem_limit",
            found.values().map(bytes).collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max()),
        );
    }
    let cores = |one: &Recovered| {
        suite.judging.pool_cores.iter().try_fold(1.0, |product, factor| match factor {
            Factor::Number(number) => Some(product * number),
            Factor::Parameter(name) => match setting(one, name) {
                Some(Setting::Number(number)) => Some(product * number.get()),
                _ => None,
            },
        })
    };
    if !suite.judging.pool_cores.is_empty() {
        let all = found.values().map(cores).collect::<Option<Vec<f64>>>();
        put(fields, "pool_cores", all.map(|all| all.into_iter().fold(0.0, f64::max)).filter(|most| *most > 0.0));
    }
    judging
}

/// Sets a key, or takes it out where its value is not known: the fingerprint then is not known either.
fn put<T: serde::Serialize>(fields: &mut serde_json::Map<String, Json>, key: &str, value: Option<T>) {
    match value {
        Some(value) => drop(fields.insert(key.to_owned(), serde_json::json!(value))),
        None => drop(fields.remove(key)),
    }
}

/// The same jobs are the same ledger, whoever looks at them again; those of a pull request are its own.
fn ledger(asked: &Asked, fingerprint: &Digest, pinned: Option<&Pinned>) -> Digest {
    let jobs: Vec<String> = arms(asked).map(|(role, arm)| format!("{role}={:?}", arm.trials)).collect();
    let whose = pinned.map(|pinned| format!("pull {} {}\n", pinned.pull.repo, pinned.pull.number)).unwrap_or_default();
    Digest::of(format!("{whose}jobs that ran\n{}\n{}\n", fingerprint.as_str(), jobs.join("\n")).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::recover::tests::{request, rules};
    use super::*;

    #[test]
    fn guardrails_are_those_of_the_pool_that_the_jobs_had() {
        let text = include_str!("../../../../../config/suites/rig.toml");
        let text =
            text.replace("[judging]", "[judging]\nmemory_limit = \"pool_ram\"\npool_cores = \"pool_workers*pool_cpu\"");
        let suite = Suite::parse("s.toml", &text).unwrap();
        let resolved = suite::resolve(&suite, &Options::default()).unwrap();
        let with = |ram: &str, workers: &str| {
            let mut request = request();
            let argv = &mut request.entrypoint.run_command.argv;
            for (flag, value) in [("--pool-ram", ram), ("--pool-workers", workers)] {
                let at = argv.iter().position(|word| word == flag).unwrap();
                value.clone_into(&mut argv[at + 1]);
            }
            recover::of(&suite, "/bot/x", &request, &rules(&suite), "rig")
        };
        let of = |treatment| {
            let found =
                [(Role::Control, with("1g", "1")), (Role::Treatment("head".parse().unwrap()), treatment)].into();
            let judging = judging(&suite, &resolved, &found);
            (judging["mem_limit"].as_u64(), judging["pool_cores"].as_f64())
        };
        assert_eq!(of(with("2g", "3")), (Some(2 << 30), Some(3.0)));
        // Not the suite's own: a guardrail of another pool would be none.
        assert_eq!(of(with("much", "many")), (None, None));
    }
}
