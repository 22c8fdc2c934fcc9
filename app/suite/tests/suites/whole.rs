//! Every key of the files is understood, with its meaning.

use domain::request::HarnessPolicy;
use domain::rounds::RoundMode;
use domain::scope::Class;
use domain::view::Grade;
use suite::cluster::{Place, place_of};
use suite::judging::{Factor, HostClass, MemoryLimit};
use suite::parameter::{Kind, Value};
use suite::policy::{Notify, OnPush};
use suite::setup::Script;
use suite::unit::Duration;
use suite::{Backend, Suite};

use crate::{ZEPHYR, local, zephyr};

fn cluster(suite: &Suite) -> &suite::cluster::Cluster {
    let Backend::Iris(cluster) = &suite.backend else { panic!("not a cluster") };
    cluster
}

#[test]
fn parameters_of_zephyr() {
    let suite = zephyr();
    assert_eq!(
        (suite.name.as_str(), suite.title.as_str(), suite.backend.word()),
        ("zephyr", "Zephyr A/B test", "iris")
    );
    assert!(suite.summary.is_some());
    assert_eq!((suite.text.as_str(), suite.digest.as_str().len()), (ZEPHYR, 64));
    let names: Vec<&str> = suite.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names.join(" "),
        "sample sources source_fraction stages pool_workers pool_cpu pool_ram pool_disk max_concurrent parallelism \
         cc_iterations"
    );
    let of = |name: &str| suite.parameters.iter().find(|p| p.name == name).unwrap();
    assert_eq!(of("sample").help.as_deref(), Some("pre-normalized sample prefix"));
    assert_eq!(of("sources").excludes, ["source_fraction"]);
    assert_eq!(of("sources").kind, Kind::List { max_items: 200 });
    assert_eq!(of("source_fraction").kind, Kind::Float { low: 0.001, high: 1.0 });
    assert!(of("source_fraction").optional && of("cc_iterations").optional && !of("pool_ram").optional);
    let Kind::Bytes { low, high } = of("pool_ram").kind else { panic!() };
    assert_eq!((low.0, high.0), (1 << 30, 1 << 40));
    let Kind::Span(steps) = &of("stages").kind else { panic!() };
    assert_eq!(steps.of, ["exact", "tokenize", "minhash", "fuzzy"]);
    assert_eq!(steps.keys, Some(("first-stage".to_owned(), "last-stage".to_owned())));
    assert_eq!(steps.alias.as_deref(), Some("target"));
    assert_eq!(of("stages").default.as_ref().unwrap().to_string(), "exact..fuzzy");
}

#[test]
fn presets_of_zephyr() {
    let suite = zephyr();
    let light = suite.preset("light").unwrap();
    assert!(light.default && !suite.preset("full").unwrap().default);
    assert_eq!(light.values().get("source_fraction"), Some(&Value::Float(0.1)));
    assert_eq!(light.values().get("sources"), None, "a fraction takes the place of the default list");
    assert_eq!(light.values().get("cc_iterations"), Some(&Value::Int(3)));
    let expect = light.expect;
    assert_eq!((expect.sources, expect.shards, expect.cpu_hours), (Some(77), Some(165), Some(15.3)));
    assert_eq!((expect.input.unwrap().0, expect.wall.unwrap()), (26_800_000_000, Duration(28 * 60_000)));
    assert_eq!(light.limit, Some(Duration(3 * 3_600_000)));
    let looks = |preset: &str, grade, rows| suite.preset(preset).unwrap().looks.of(grade, rows);
    assert_eq!(looks("light", Grade::A, 13), [1, 2, 3, 5]);
    assert_eq!(looks("light", Grade::A5, 13), [1, 2, 3, 5]);
    assert_eq!(looks("full", Grade::A, 13), [1, 2, 3]);
    assert_eq!((looks("full", Grade::B, 13), looks("full", Grade::C, 2)), (vec![3], vec![4]));
    let words = local();
    let looks = |preset: &str, grade, rows| words.preset(preset).unwrap().looks.of(grade, rows);
    assert_eq!((looks("small", Grade::C, 2), looks("small", Grade::C, 3)), (vec![5, 8], vec![4, 6]));
    assert_eq!((looks("large", Grade::A5, 2), looks("large", Grade::B, 2)), (vec![2, 4], vec![3, 5]));
}

#[test]
fn cluster_of_zephyr() {
    let suite = zephyr();
    let cluster = cluster(&suite);
    let at = |sample: &str| place_of(&cluster.localities, sample).cloned();
    assert_eq!(at("gs://marin-eu-west4/x"), Some(Place::Region("europe-west4".to_owned())));
    assert_eq!(at("s3://marin-us-east-02a/x"), Some(Place::Cluster("cw-us-east-02a".to_owned())));
    assert_eq!(at("gs://marin-eu-west4-other/x"), None);
    let launcher = &cluster.launcher;
    assert_eq!(
        (launcher.cluster.as_str(), launcher.priority.as_str(), launcher.preemptible),
        ("marin", "batch", false)
    );
    assert_eq!((launcher.cpu, launcher.ram.0, launcher.disk.0), (1.0, 2 << 30, 5 << 30));
    assert_eq!((launcher.retries.preemption, launcher.retries.failure), (1000, 0));
    assert_eq!((launcher.run_tag.chars.len(), launcher.run_tag.length), (36, 12));
    assert_eq!(launcher.env.len(), 3);
    let paths = |scripts: &[Script]| scripts.iter().map(|s| s.path.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(paths(&launcher.setup.scripts), "setup/uv-sync.sh");
    assert_eq!(paths(&launcher.setup.commands), "setup/uv-sync.sh setup/runtime.sh");
    assert!(launcher.setup.scripts[0].text.contains("uv sync $frozen"));
    let ids: Vec<&str> = cluster.generations.iter().map(|g| g.id.as_str()).collect();
    assert_eq!(ids, ["target", "range"]);
    let metrics = &cluster.metrics;
    assert_eq!((metrics.namespace.as_str(), metrics.required.len()), ("zephyr.stage", 9));
    assert_eq!(metrics.executions, ["zephyr.execution", "logs"]);
    let line = metrics.log_line.as_ref().unwrap().captures("x Starting shared Zephyr pipeline exact-a-1 now").unwrap();
    assert_eq!(&line["id"], "exact-a-1");
    assert_eq!((metrics.late_rows.every, metrics.late_rows.times), (Duration(20_000), 6));
    let rows = &cluster.rows;
    assert_eq!(rows.step_of("minhash-web-20261129-202850-8d10c1b5"), Some("minhash"));
    assert_eq!(rows.step_of("other-20261129-202850-8d10c1b5"), None);
    assert!(rows.by_plan && rows.is_paths_only("stage3-Map → Write") && !rows.is_paths_only("stage3-Map → Write x"));
}

#[test]
fn policies_of_zephyr() {
    let suite = zephyr();
    let harness = suite.harness.as_ref().unwrap();
    assert_eq!((harness.paths.len(), harness.policy), (3, HarnessPolicy::Control));
    let limits = &suite.limits;
    assert_eq!((limits.confirm_above, limits.replaced_rounds), (Some(40.0), Some(3)));
    assert_eq!(
        (limits.per_pull_request.cpu_hours_per_day, limits.per_pull_request.runs_per_day),
        (Some(400.0), Some(6))
    );
    assert_eq!(limits.per_person.cpu_hours_per_day, Some(800.0));
    assert_eq!(limits.per_repository.cpu_hours_per_day, Some(2000.0));
    let shards = limits.shards_per_worker.as_ref().unwrap();
    assert_eq!((shards.least, shards.shards.as_str(), shards.workers.as_str()), (1.0, "parallelism", "pool_workers"));
    let rerun = &suite.rerun;
    assert_eq!((rerun.on_push, rerun.debounce), (OnPush::Auto, Duration(600_000)));
    assert_eq!((rerun.notify, rerun.require_checks.len(), rerun.env_allowed.len()), (Notify::Reply, 0, 0));
    let judging = &suite.judging;
    assert_eq!(
        (judging.cpu, judging.elapsed, judging.total_cpu, judging.total_elapsed),
        (Some(0.05), Some(0.1), Some(0.03), Some(0.07))
    );
    assert_eq!((judging.floor_cpu, judging.floor_elapsed, judging.floor_share), (Some(10.0), Some(5.0), Some(0.005)));
    assert_eq!(judging.memory_limit, Some(MemoryLimit::Parameter("pool_ram".to_owned())));
    assert_eq!((judging.host_class, judging.rounds_mode), (HostClass::Equal, RoundMode::Together));
    assert_eq!((judging.max_lost_attempts, judging.uncounted_ok), (Some(0.02), false));
    let factors = ["pool_workers", "pool_cpu"].map(|name| Factor::Parameter(name.to_owned()));
    assert_eq!(judging.pool_cores, factors);
}

#[test]
fn scope_of_zephyr() {
    let suite = zephyr();
    let needed = |paths: &[&str]| suite.scope.of(paths.iter().copied());
    let stages = |paths: &[&str]| needed(paths).stages.map(|wanted| wanted.value.to_string());
    let class = |paths: &[&str]| needed(paths).classes.classes[0].class;
    assert!(needed(&["README.md", "docs/a/b.txt", "lib/x/tests/a.py", "a_test.py"]).is_trivial());
    assert!(needed(&[]).is_trivial());
    assert_eq!(stages(&["lib/x/tokenize/a.py", "x.md"]).as_deref(), Some("tokenize..tokenize"));
    assert_eq!(stages(&["a/tokenize/a.py", "a/deduplication/fuzzy_minhash.py"]).as_deref(), Some("tokenize..minhash"));
    let pool = needed(&["lib/zephyr/src/zephyr/coordinator.py"]);
    assert_eq!((pool.classes.classes[0].class, pool.concurrency.unwrap().value), (Class::Topology, 8));
    assert_eq!(pool.sources.unwrap().value, 8);
    let shuffle = needed(&["lib/zephyr/src/zephyr/spill_merge.py"]);
    assert_eq!(shuffle.classes.classes[0].class, Class::Shuffle);
    assert!(shuffle.classes.classes[0].why[0].contains("skewed"));
    let deeper = needed(&["lib/zephyr/src/zephyr/pool/x.py"]);
    assert_eq!((deeper.classes.classes[0].class, deeper.concurrency), (Class::Shuffle, None), "* stays inside a name");
    assert_eq!(class(&["experiments/datakit/zephyr_benchmark.py"]), Class::Benchmark);
    let other = needed(&["setup.cfg", "a/tokenize/b.py"]);
    assert_eq!((other.unmatched, other.is_trivial()), (1, false));
    let trivial = needed(&["lib/zephyr/LICENSE", "x.md"]);
    assert_eq!((trivial.ignored, trivial.is_trivial()), (2, true));
    assert_eq!(trivial.why_trivial().as_deref(), Some("nothing reads it at run time"));
    assert_eq!((suite.scope.rank("light"), suite.scope.rank("full"), suite.scope.rank("range")), (0, 1, 2));
}

#[test]
fn the_suites_of_the_program_and_those_of_a_folder() {
    let demo = suite::load(&"demo".into(), None).unwrap();
    assert_eq!((demo.name.as_str(), demo.backend.word()), ("demo", "local"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.toml"), crate::LOCAL).unwrap();
    std::fs::write(folder.path().join("demo.toml"), demo.text.replace("Demo A/B test", "Another")).unwrap();
    std::fs::write(folder.path().join("wrong.toml"), crate::LOCAL).unwrap();
    let load = |text: &str| suite::load(&text.into(), Some(folder.path()));
    assert_eq!(load("demo").unwrap().title, "Another");
    assert_eq!(load("words").unwrap().name.as_str(), "words");
    let path = folder.path().join("wrong.toml").display().to_string();
    assert_eq!(load(&path).unwrap().name.as_str(), "words", "a path may have any name");
    assert!(load("wrong").unwrap_err().to_string().ends_with("has the name of its suite"));
    assert_eq!(
        load("wrods").unwrap_err().to_string(),
        "there is no suite \"wrods\"; known are demo, rig, words, wrong, zephyr; nearest: words; a path must end in .toml"
    );
    assert!(load("../words").is_err());
    assert!(load("absent.toml").unwrap_err().to_string().starts_with("absent.toml: cannot be read"));
}
