//! What a job that already ran was, from its own request.

use std::collections::BTreeMap;

use domain::ids::{CommitSha, Digest};
use domain::setting::Setting;
use domain::workload::{Field, Known, Workload};
use lab::iris::launch::{Argument, Launch, PROVENANCE, Site, commit_of};
use lab::iris::rules::Rules;
use marin::iris::{Constraint, ConstraintOp, HIDDEN, LaunchRequest, PriorityBand};
use suite::cluster::Cluster;
use suite::{Backend, Suite};

use crate::world::is_named_like_a_secret;

/// A job that already ran.
#[derive(Clone, Debug)]
pub(super) struct Recovered {
    /// What it ran.
    pub(super) workload: Workload,
    /// What it was made of, where it says so.
    pub(super) commit: Option<CommitSha>,
    /// What stands for the commit where it is not known: the beginning of a digest of its files, or of its name.
    pub(super) stand_in: CommitSha,
    /// Its files: equal ones are equal trees.
    pub(super) tree: String,
    /// What it says that it was made of, commit and files, where nothing was changed beside it.
    pub(super) made_of: Option<(String, String)>,
    /// How it would be launched again.
    pub(super) launch: Launch,
    /// Its container image, where it names one.
    pub(super) image: Option<String>,
}

/// Variables that name a trial or what it was made of: they differ between arms without being a difference.
const NOT_COMPARED: [&str; 1] = [PROVENANCE];

/// The field that stands for everything of a request that has none of its own.
pub(super) const REST: &str = "request_rest";

/// A request of which nothing could be read but that it is there.
pub(super) fn nothing(suite: &Suite, name: &str, rules: &Rules, connection: &str) -> Recovered {
    let mut recovered = of(suite, name, &LaunchRequest::default(), rules, connection);
    for field in Field::ALL.iter().filter(|field| !matches!(field, Field::Suite | Field::Controller)) {
        recovered.workload.set(*field, Known::Unknown);
    }
    recovered
}

/// What the request of a job says. Whatever cannot be read stays unknown.
pub(super) fn of(suite: &Suite, name: &str, request: &LaunchRequest, rules: &Rules, connection: &str) -> Recovered {
    let argv = &request.entrypoint.run_command.argv;
    let cluster: Option<&Cluster> = match &suite.backend {
        Backend::Iris(cluster) => Some(cluster),
        Backend::Local(_) => None,
    };
    let generations = cluster.map(|cluster| &cluster.generations[..]).unwrap_or_default();
    let read = generations.iter().find_map(|one| Some((one.id.as_str(), one.read_back(&suite.parameters, argv)?)));
    let mut workload = Workload::new(&suite.name);
    for field in &Field::ALL[1..] {
        workload.set(*field, Known::Unset);
    }
    // Names of parameters are names of fields: the suite has checked them.
    for parameter in &suite.parameters {
        let known = read.as_ref().and_then(|(_, read)| read.values.get(&parameter.name).cloned());
        drop(workload.set_named(&parameter.name, known.unwrap_or(Known::Unknown)));
    }
    let tag = read.as_ref().and_then(|(_, read)| read.run_tag.clone());
    let own = cluster.map(|cluster| cluster.launcher.env.keys()).into_iter().flatten();
    let open: Vec<&str> = own.chain(&suite.rerun.env_allowed).map(String::as_str).collect();
    launcher(&mut workload, request, tag.as_deref(), &open);
    workload.set(Field::Controller, Known::Set(Setting::text(connection)));
    let commit = request.environment.env_vars.get(PROVENANCE).and_then(|said| commit_of(said));
    let tree =
        if request.bundle_id.is_empty() { Digest::of(name.as_bytes()).to_string() } else { request.bundle_id.clone() };
    Recovered {
        workload,
        stand_in: commit.clone().unwrap_or_else(|| stand_in(&tree)),
        commit,
        made_of: made_of(request),
        tree,
        launch: launch(read.as_ref().map_or("unknown", |(id, _)| id), request, rules),
        image: Some(request.task_image.clone()).filter(|image| !image.is_empty()),
    }
}

/// The beginning of a digest of the files, where a commit must stand.
fn stand_in(tree: &str) -> CommitSha {
    let digits: String = Digest::of(tree.as_bytes()).as_str().chars().take(40).collect();
    // Forty hexadecimal digits are a commit, unless all are zeros, for which nobody knows a text.
    #[allow(clippy::expect_used)]
    digits.parse().expect("the beginning of a digest has the form of a commit")
}

fn made_of(request: &LaunchRequest) -> Option<(String, String)> {
    let said: serde_json::Value = serde_json::from_str(request.environment.env_vars.get(PROVENANCE)?).ok()?;
    let text = |key: &str| said.get(key)?.as_str().map(str::to_owned).filter(|text| !text.is_empty());
    let clean = said.get("dirty").and_then(serde_json::Value::as_bool) == Some(false);
    Some((text("base_commit")?, text("tree_hash")?)).filter(|_| clean)
}

impl Recovered {
    /// Whether two jobs were made of the same files; `None` where that cannot be told: the same files zipped twice are
    /// two zips.
    pub(super) fn same_files(&self, other: &Self) -> Option<bool> {
        match (&self.made_of, &other.made_of) {
            _ if self.tree == other.tree => Some(true),
            (Some(one), Some(other)) => Some(one == other),
            _ => None,
        }
    }
}

fn launcher(workload: &mut Workload, request: &LaunchRequest, tag: Option<&str>, open: &[&str]) {
    let resources = &request.resources;
    // Millicores are far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    let cores = suite::parameter::Value::Float(resources.cpu_millicores as f64 / 1000.0).setting();
    let size = |bytes: i64| match u64::try_from(bytes) {
        Ok(bytes) if bytes > 0 => Known::Set(Setting::size(domain::bytesize::ByteSize(bytes))),
        _ => Known::Unknown,
    };
    workload.set(Field::LauncherCpu, if resources.cpu_millicores > 0 { Known::Set(cores) } else { Known::Unknown });
    workload.set(Field::LauncherRam, size(resources.memory_bytes));
    workload.set(Field::LauncherDisk, size(resources.disk_bytes));
    let place = one(request, "cluster").or_else(|| one(request, "region"));
    workload.set(Field::Locality, place.map_or(Known::Unknown, |place| Known::Set(Setting::text(place))));
    let fixed = one(request, "preemptible") == Some("false");
    workload.set(Field::Preemptible, Known::Set(Setting::Flag(!fixed)));
    let band = request.priority_band.as_str().trim_start_matches("PRIORITY_BAND_").to_lowercase();
    let known = !matches!(request.priority_band, PriorityBand::Inherit);
    workload.set(Field::Priority, if known { Known::Set(Setting::text(&band)) } else { Known::Unknown });
    let retries = |count: i64| u32::try_from(count).map_or(Known::Unknown, |n| Known::Set(Setting::whole(n)));
    let mut more = vec![
        ("launcher_retries_preemption".to_owned(), retries(request.max_retries_preemption)),
        ("launcher_retries_failure".to_owned(), retries(request.max_retries_failure)),
    ];
    let digest = |text: &String| Digest::of(text.as_bytes()).as_str().chars().take(12).collect::<String>();
    let scripts = request.environment.setup_scripts.iter().map(|text| format!("scripts {}", digest(text)));
    let commands = request.entrypoint.setup_commands.iter().map(|text| format!("commands {}", digest(text)));
    let setup: Vec<String> = scripts.chain(commands).collect();
    if !setup.is_empty() {
        more.push(("launcher_setup".to_owned(), Known::Set(Setting::List(setup))));
    }
    for (name, value) in &request.environment.env_vars {
        if NOT_COMPARED.contains(&name.as_str()) {
            continue;
        }
        let value = match tag {
            // A short tag is part of too much.
            Some(tag) if tag.len() >= 8 => value.replace(tag, "{run_tag}"),
            _ => value.clone(),
        };
        // Hidden values look alike whatever they are; one that is named like a secret is none of the workload. What the
        // suite does not name may be somebody's secret, too.
        let known = if value.contains(HIDDEN) && !is_named_like_a_secret(name) {
            Known::Unknown
        } else if open.contains(&name.as_str()) {
            Known::Set(Setting::text(&value))
        } else {
            Known::Set(Setting::text(&format!("sha256:{}", digest(&value))))
        };
        more.push((format!("env.{name}"), known));
    }
    more.push((REST.to_owned(), Known::Set(Setting::text(&digest(&rest(request))))));
    for (name, known) in more {
        if workload.set_named(&name, known).is_err() {
            // A variable that no field can be named after: that there is one is known, and no more.
            drop(workload.set_named("env_of_other_names", Known::Unknown));
        }
    }
}

/// Everything of a request that has no field of its own: its name, its files and who submitted it aside.
fn rest(request: &LaunchRequest) -> String {
    let named = ["region", "cluster", "preemptible"];
    let mut rest = LaunchRequest {
        name: String::new(),
        entrypoint: marin::iris::Entrypoint { other: request.entrypoint.other.clone(), ..Default::default() },
        environment: marin::iris::Environment { other: request.environment.other.clone(), ..Default::default() },
        resources: marin::iris::Resources { other: request.resources.other.clone(), ..Default::default() },
        bundle_id: String::new(),
        bundle_blob: Vec::new(),
        priority_band: PriorityBand::default(),
        existing_job_policy: marin::iris::ExistingJobPolicy::default(),
        submit_argv: Vec::new(),
        client_revision_date: String::new(),
        max_retries_failure: 0,
        max_retries_preemption: 0,
        timeout: None,
        scheduling_timeout: None,
        replicas: request.replicas.max(1),
        ..request.clone()
    };
    rest.constraints.retain(|constraint| !named.contains(&constraint.key.as_str()));
    for volatile in ["submittingUser", "submitArgv", "federation", "clientRevisionDate", "failIfExists"] {
        rest.other.remove(volatile);
    }
    serde_json::to_string(&rest).unwrap_or_default()
}

/// The value of a constraint that allows one only.
fn one<'r>(request: &'r LaunchRequest, key: &str) -> Option<&'r str> {
    let fits = |constraint: &&Constraint| constraint.key == key && constraint.op == ConstraintOp::Eq;
    request.constraints.iter().find(fits)?.value.string_value.as_deref()
}

fn launch(generation: &str, request: &LaunchRequest, rules: &Rules) -> Launch {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    let count = |number: i64| u32::try_from(number).unwrap_or(0);
    let argv: Vec<Argument> =
        request.entrypoint.run_command.argv.iter().map(|word| Argument::Text(word.clone())).collect();
    let unknown = || vec![Argument::Text("unknown".to_owned())];
    Launch {
        generation: generation.to_owned(),
        argv: if argv.is_empty() { unknown() } else { argv },
        env: BTreeMap::new(),
        setup_scripts: Vec::new(),
        setup_commands: Vec::new(),
        cpu_millicores: count(request.resources.cpu_millicores),
        memory_bytes: unsigned(request.resources.memory_bytes),
        disk_bytes: unsigned(request.resources.disk_bytes),
        // Never launched; a word that is one.
        priority: lab_priority(&request.priority_band).to_owned(),
        preemptible: one(request, "preemptible") != Some("false"),
        retries_preemption: count(request.max_retries_preemption),
        retries_failure: count(request.max_retries_failure),
        site: match (one(request, "cluster"), one(request, "region")) {
            (Some(cluster), _) => Site::Cluster(cluster.to_owned()),
            (None, region) => Site::Region(region.unwrap_or("unknown").to_owned()),
        },
        tag_chars: "abcdefghijklmnopqrstuvwxyz0123456789".to_owned(),
        tag_length: 12,
        harness: None,
        rules: rules.clone(),
    }
}

fn lab_priority(band: &PriorityBand) -> &'static str {
    match band {
        PriorityBand::Production => "production",
        PriorityBand::Interactive => "interactive",
        _ => "batch",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn suite() -> Suite {
        suite::load(&suite::SuiteRef::Name("rig".to_owned()), None).unwrap()
    }

    pub(in crate::command::compare) fn rules(suite: &Suite) -> Rules {
        let Backend::Iris(cluster) = &suite.backend else { panic!("rig runs on a cluster") };
        Rules::of(cluster, suite.judging.host_class, None).unwrap()
    }

    pub(in crate::command::compare) fn request() -> LaunchRequest {
        let text = include_str!("../../../../marin/tests/fixtures/LaunchJob-request.json");
        let mut request: serde_json::Value = serde_json::from_str(text).unwrap();
        // Shortened in the fixture.
        request.as_object_mut().unwrap().remove("bundleBlob");
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn a_request_of_the_official_client_is_understood() {
        let suite = suite();
        let found = of(&suite, "/bot/x", &request(), &rules(&suite), "rig");
        assert_eq!(found.launch.generation, "range");
        assert_eq!(found.workload.unknown(&[]), Vec::<String>::new());
        let shown = |name: &str| match found.workload.get(name) {
            Known::Set(setting) => setting.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(
            (shown("stages"), shown("locality"), shown("priority")),
            ("tokenize..tokenize".to_owned(), "europe-west4".to_owned(), "batch".to_owned())
        );
        assert_eq!(found.commit, None);
    }

    #[test]
    fn what_a_job_does_not_say_stays_unknown() {
        let suite = suite();
        let mut strange = request();
        strange.entrypoint.run_command.argv = vec!["bash".to_owned(), "run.sh".to_owned()];
        strange.constraints.clear();
        let unknown = of(&suite, "/bot/x", &strange, &rules(&suite), "rig").workload.unknown(&[]);
        assert!(
            ["sample", "stages", "locality"].iter().all(|name| unknown.contains(&(*name).to_owned())),
            "{unknown:?}"
        );
        let unknown = nothing(&suite, "x", &rules(&suite), "rig").workload.unknown(&[]);
        assert!(unknown.len() >= Field::ALL.len() - 2);
    }

    #[test]
    fn a_value_that_the_controller_hides_is_unknown() {
        let suite = suite();
        let mut request = request();
        for (name, value) in [("CACHE", "/mnt/[REDACTED]/x"), ("HF_TOKEN", "[REDACTED]"), ("MODE", "fast")] {
            request.environment.env_vars.insert(name.to_owned(), value.to_owned());
        }
        let unknown = of(&suite, "/bot/x", &request, &rules(&suite), "rig").workload.unknown(&[]);
        assert_eq!(unknown, ["env.CACHE"]);
    }
}
