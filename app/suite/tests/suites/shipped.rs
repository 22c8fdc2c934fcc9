//! The suites that the program brings along, and what their comments say.

use domain::rounds::RoundMode;
use suite::cluster::Cluster;
use suite::generation::detect;
use suite::parameter::Value;
use suite::{Backend, ResolveError, Resolved, Suite, resolve};

fn load(name: &str) -> Suite {
    suite::load(&name.into(), None).unwrap()
}

fn cluster(suite: &Suite) -> &Cluster {
    let Backend::Iris(cluster) = &suite.backend else { panic!("not a cluster") };
    cluster
}

fn ask(suite: &Suite, words: &str) -> Result<Resolved, ResolveError> {
    resolve(suite, &domain::request::Request::new("x", words.split_whitespace()).unwrap().options().unwrap())
}

/// The command line of a generation.
fn line(suite: &Suite, id: &str, words: &str) -> String {
    let resolved = ask(suite, words).unwrap();
    let generation = cluster(suite).generations.iter().find(|generation| generation.id == id).unwrap();
    generation.argv(&resolved.control.values, "x").map_or_else(|e| e.to_string(), |argv| argv.join(" "))
}

/// The generation of a file that has these options.
fn found(suite: &Suite, options: &[&str]) -> Option<String> {
    let lines: Vec<String> = options.iter().map(|option| format!("parser.add_argument(\"{option}\")")).collect();
    let text = lines.join("\n");
    detect::<()>(&cluster(suite).generations, |_| Ok(Some(text.clone()))).unwrap().map(|g| g.id.clone())
}

#[test]
fn every_preset_makes_sense_and_some_generation_can_run_it() {
    for name in suite::names(None).unwrap() {
        let suite = load(&name);
        assert_eq!(suite.name.as_str(), name);
        for preset in &suite.presets {
            let resolved = ask(&suite, &format!("preset={}", preset.name)).unwrap();
            assert!(!resolved.other_sample);
            if let Backend::Iris(cluster) = &suite.backend {
                let can = |g: &suite::generation::Generation| g.argv(&resolved.control.values, "x").is_ok();
                assert!(cluster.generations.iter().any(can), "{name} {}", preset.name);
            }
        }
    }
}

#[test]
fn the_files_say_the_same_as_what_is_embedded() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/suites"));
    for name in suite::names(Some(folder)).unwrap() {
        let (file, embedded) = (suite::load(&name.as_str().into(), Some(folder)).unwrap(), load(&name));
        assert_eq!(file.digest, embedded.digest, "{name}");
        if let (Backend::Iris(file), Backend::Iris(embedded)) = (&file.backend, &embedded.backend) {
            assert_eq!(file.launcher, embedded.launcher, "{name}");
        }
    }
}

#[test]
fn what_the_comments_of_zephyr_say_about_its_command_lines() {
    let suite = load("zephyr");
    assert!(
        line(&suite, "target", "").contains(" --source-fraction 0.1 ")
            && !line(&suite, "target", "").contains("--sources")
    );
    assert!(line(&suite, "target", "stages=tokenize..minhash").contains(" --target map "));
    assert!(line(&suite, "range", "preset=range").ends_with("--max-concurrent 4 --dedup-max-parallelism 4096"));
    assert_eq!(line(&suite, "target", "preset=range"), "needs a value for cc_iterations");
    assert_eq!(line(&suite, "range", "preset=full"), "cannot express cc_iterations=3");
    let all = ["--target", "--dedup-cc-max-iterations", "--map-task-cpu"];
    assert_eq!(found(&suite, &all).as_deref(), Some("target"));
    assert_eq!(found(&suite, &[&all[..], &["--shuffle-input-run-tag"]].concat()), None, "left out on purpose");
    assert_eq!(found(&suite, &["--first-stage", "--last-stage"]).as_deref(), Some("range"));
    assert_eq!(
        ask(&suite, "sources=a source_fraction=0.5").unwrap_err().to_string(),
        "sources and source_fraction exclude each other"
    );
    // A worker without a shard only costs: of the input, or of what was asked for.
    let workers = |words: &str| ask(&suite, words).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(workers("pool_workers=165"), Ok(()));
    assert_eq!(
        workers("pool_workers=166 pool_cpu=1").unwrap_err(),
        "the 165 shards of preset=light and pool_workers=166: 0.99 shards per worker, fewer than 1; say pool_workers=165 \
         at most or another preset"
    );
    assert_eq!(workers("pool_workers=166 source_fraction=0.5"), Ok(()), "nobody knows how many shards that has");
    assert_eq!(workers("preset=full pool_workers=768"), Ok(()));
    assert_eq!(
        workers("parallelism=12").unwrap_err(),
        "parallelism=12 and pool_workers=48: 0.25 shards per worker, fewer than 1; say pool_workers=12 at most or \
         parallelism=48 at least"
    );
    assert_eq!(
        workers("treatment=wide@head,pool_workers=200").unwrap_err(),
        "the 165 shards of preset=light and pool_workers=200: 0.82 shards per worker, fewer than 1; say pool_workers=165 \
         at most or another preset"
    );
}

#[test]
fn what_the_comments_of_zephyr_say_about_the_rest() {
    let suite = load("zephyr");
    let refusal = ask(&suite, "sample=gs://marin-eu-west40/x").unwrap_err().to_string();
    assert_eq!(
        refusal,
        "no locality is known for the sample gs://marin-eu-west40/x; allowed beginnings: gs://marin-eu-west4/, \
         gs://marin-us-central1/, s3://marin-us-east-02a/"
    );
    let late = cluster(&suite).metrics.late_rows;
    let waits: f64 = (0..late.times).map(|n| late.every.seconds() * late.factor.powi(n.cast_signed())).sum();
    assert!((390.0..420.0).contains(&waits), "almost 7 minutes, not {waits} s");
    let cost = |preset: &str| suite.preset(preset).unwrap().expect.cpu_hours.unwrap() * 2.0;
    let bound = suite.limits.confirm_above.unwrap();
    assert!(cost("light") < bound && bound < cost("full"));
    // A path of every rule. Whatever rule fits, the newest command line has a word for its span.
    let newest = cluster(&suite).generations[0].map["stages"].clone();
    for path in [
        "lib/zephyr/src/zephyr/shuffle.py",
        "lib/zephyr/src/zephyr/coordinator.py",
        "lib/marin/src/marin/processing/tokenize/attributes.py",
        "lib/marin/src/marin/processing/classification/deduplication/fuzzy_minhash.py",
        "lib/marin/src/marin/processing/classification/deduplication/fuzzy_dups.py",
        "lib/iris/src/iris/x.py",
    ] {
        let needed = suite.scope.of([path]);
        let span = needed.stages.unwrap_or_else(|| panic!("no rule for {path}")).value.to_string();
        assert!(newest.contains_key(&span), "{path}: {span}");
    }
}

#[test]
fn what_the_comments_of_rig_say() {
    let (rig, zephyr) = (load("rig"), load("zephyr"));
    let (small, large) = (cluster(&rig), cluster(&zephyr));
    assert_eq!(small.launcher.cluster, "rig");
    assert!(small.launcher.setup.is_empty());
    assert_eq!(
        (&small.launcher.priority, small.launcher.preemptible, small.launcher.retries, &small.launcher.run_tag),
        (&large.launcher.priority, large.launcher.preemptible, large.launcher.retries, &large.launcher.run_tag)
    );
    assert_eq!(small.metrics.required, large.metrics.required);
    assert_eq!(small.metrics.log_line.as_ref().unwrap().as_str(), large.metrics.log_line.as_ref().unwrap().as_str());
    assert_eq!(small.rows.step.as_ref().unwrap().as_str(), large.rows.step.as_ref().unwrap().as_str());
    assert_eq!((rig.judging.rounds_mode, zephyr.judging.rounds_mode), (RoundMode::InTurn, RoundMode::Together));
    assert!(rig.judging.memory_limit.is_none() && rig.judging.pool_cores.is_empty());
    let sample = |words: &str| ask(&rig, words).unwrap().control.values.get("sample").cloned();
    assert_eq!(sample(""), Some(Value::Text("file:///var/tmp/zephyr-ab-rig/sample/d1500".to_owned())));
    assert_eq!(sample("preset=small"), Some(Value::Text("file:///var/tmp/zephyr-ab-rig/sample/d150".to_owned())));
    assert_eq!(ask(&rig, "").unwrap().place.unwrap().name(), "europe-west4");
    assert_eq!(
        ask(&rig, "sample=gs://marin-eu-west4/x").unwrap_err().to_string(),
        "no locality is known for the sample gs://marin-eu-west4/x; allowed beginnings: file:///"
    );
    assert!(ask(&rig, "treatment=a@head,env.BENCH_RUNNER=subprocess").is_ok());
    assert!(ask(&rig, "treatment=a@head,env.PYTHONPATH=x").is_err());
}

#[test]
fn the_benchmark_of_the_rig_takes_the_command_line() {
    let rig = load("rig");
    let bench = include_str!("../../../../tests/rig/bench/experiments/datakit/zephyr_benchmark.py");
    let generation = detect::<()>(&cluster(&rig).generations, |_| Ok(Some(bench.to_owned()))).unwrap().unwrap();
    assert_eq!(generation.id, "range");
    let values = ask(&rig, "").unwrap().control.values;
    for option in generation.argv(&values, "x").unwrap().iter().filter(|word| word.starts_with("--")) {
        assert!(bench.contains(&format!("add_argument(\"{option}\"")), "{option}");
    }
    // Another file for the other side of a change of the command line.
    let other = bench.replace("\"--first-stage\"", "\"--target\"");
    assert_eq!(detect::<()>(&cluster(&rig).generations, |_| Ok(Some(other.clone()))).unwrap().unwrap().id, "target");
}
