//! What requests of the example files come to.

use std::collections::BTreeMap;

use domain::ids::CommitSha;
use domain::request::{Request, Rounds};
use domain::view::Grade;
use domain::workload::{Field, Known};
use suite::cluster::Place;
use suite::generation::{ArmAt, command_lines, detect};
use suite::{Backend, ResolveError, Resolved, Suite, resolve};

use crate::{local, zephyr};

fn ask(suite: &Suite, words: &str) -> Result<Resolved, ResolveError> {
    resolve(suite, &Request::new("x", words.split_whitespace()).unwrap().options().unwrap())
}

fn shown(resolved: &Resolved, name: &str) -> String {
    resolved.control.values.get(name).map_or("-".to_owned(), ToString::to_string)
}

#[test]
fn requests_go_before_presets_and_those_before_defaults() {
    let suite = zephyr();
    let plain = ask(&suite, "").unwrap();
    assert_eq!(plain.preset.as_deref(), Some("light"));
    assert_eq!((shown(&plain, "sources").as_str(), shown(&plain, "source_fraction").as_str()), ("-", "0.1"));
    let named = ask(&suite, "sources=a,b").unwrap();
    assert_eq!((shown(&named, "sources").as_str(), shown(&named, "source_fraction").as_str()), ("a,b", "-"));
    let full = ask(&suite, "preset=full pool_ram=1.5GiB pool_cpu=0.5").unwrap();
    assert_eq!(
        ["sources", "pool_ram", "pool_cpu", "parallelism"].map(|name| shown(&full, name)),
        ["all", "1536MiB", "0.5", "1000"]
    );
    for (words, span) in [
        ("stages=minhash..fuzzy", "minhash..fuzzy"),
        ("stages=minhash", "minhash..minhash"),
        ("first-stage=minhash", "minhash..fuzzy"),
        ("last-stage=tokenize first-stage=exact", "exact..tokenize"),
        ("target=all", "exact..fuzzy"),
        ("target=fuzzy", "fuzzy..fuzzy"),
    ] {
        assert_eq!(shown(&ask(&suite, words).unwrap(), "stages"), span, "{words}");
    }
}

#[test]
fn refusals_say_what_is_allowed() {
    let suite = zephyr();
    let long = "1".repeat(40);
    let lines: Vec<String> = [
        "preset=lihgt",
        "presett=light",
        "pool_workrs=3",
        "pool_workers=0",
        "pool_workers=4.5",
        &format!("pool_workers={long}"),
        "pool_ram=16",
        "pool_ram=16g",
        "source_fraction=1e-1",
        "source_fraction=0.5 sources=a",
        "sources=a,,b",
        "sources=a,a",
        "stages=fuzzy..exact",
        "stages=minhsh",
        "stages=exact..fuzzy target=all",
        "first-stage=fuzzy last-stage=exact",
        "target=everything",
        "sample=gs://elsewhere/x",
        "treatment=a@head,env.LD_PRELOAD=x",
        "treatment=a@head,pool_workrs=3",
        "treatment=a@head,sample=gs://marin-us-central1/x",
        "pool_workers=768",
    ]
    .iter()
    .map(|words| format!("{words}\n    {}", ask(&suite, words).unwrap_err()))
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(
        ask(&local(), "priority=batch").unwrap_err().to_string(),
        "priority means nothing for a suite that runs on this machine"
    );
    let several = crate::LOCAL.replace("default = true\n", "");
    let several = Suite::parse("words.toml", &several).unwrap();
    assert_eq!(
        ask(&several, "").unwrap_err().to_string(),
        "this suite has no default preset; say one of preset=small, preset=large"
    );
}

#[test]
fn workloads_differ_by_what_is_declared_and_by_nothing_else() {
    let suite = zephyr();
    let resolved = ask(&suite, "treatment=wide@head,pool_workers=96 treatment=plain@0123456").unwrap();
    let [wide, plain] = &resolved.treatments[..] else { panic!() };
    assert!(wide.arm.topology && !plain.arm.topology);
    assert_eq!(plain.arm.workload, resolved.control.workload);
    let unread = ["controller", "priority"];
    assert_eq!(resolved.control.workload.unknown(&[]), unread, "the cluster tells these");
    let print = |workload: &domain::workload::Workload, declared: &[&str]| {
        workload.fingerprint(&[&unread[..], declared].concat()).unwrap()
    };
    assert_ne!(print(&wide.arm.workload, &[]), print(&resolved.control.workload, &[]));
    assert_eq!(print(&wide.arm.workload, &["pool_workers"]), print(&resolved.control.workload, &["pool_workers"]));
    let control = &resolved.control.workload;
    assert_eq!(*control.get("launcher_ram"), Known::Set(domain::setting::Setting::size("2GiB".parse().unwrap())));
    assert_eq!(*control.get("locality"), Known::Set(domain::setting::Setting::text("europe-west4")));
    assert_eq!(*control.get(Field::MapTaskCpu.name()), Known::Unset);
    assert_eq!(resolved.place, Some(Place::Region("europe-west4".to_owned())));
    assert_eq!(resolved.priority.as_deref(), Some("batch"));
    assert_eq!(ask(&suite, "priority=interactive").unwrap().priority.as_deref(), Some("interactive"));
    assert!(!resolved.other_sample);
    assert!(ask(&suite, "sample=gs://marin-us-central1/x").unwrap().other_sample);
}

#[test]
fn a_local_workload_has_suite_parameters_and_steps() {
    let suite = local();
    let resolved = ask(&suite, "treatment=a@head,size=7,env.MALLOC_ARENA_MAX=1").unwrap();
    let control = &resolved.control.workload;
    assert!(control.unknown(&[]).is_empty());
    for field in Field::ALL.iter().filter(|field| **field != Field::Suite) {
        assert_eq!(*control.get(field.name()), Known::Unset, "{}", field.name());
    }
    // Comments and margins may change without making it another workload; the file's digest stands in the plan.
    assert_eq!(*control.get("suite_digest"), Known::Unset);
    insta::assert_snapshot!(control.canonical(&[]).unwrap());
    let treatment = &resolved.treatments[0].arm;
    let declared = ["size", "env.MALLOC_ARENA_MAX"];
    assert_eq!(treatment.workload.fingerprint(&declared).unwrap(), control.fingerprint(&declared).unwrap());
    assert_ne!(treatment.workload.fingerprint(&[]).unwrap(), control.fingerprint(&[]).unwrap());
    let commands = suite.commands(treatment).unwrap();
    assert_eq!(commands[0].argv, ["make", "-j2", "SIZE=7"], "a group without its value is left out");
    let env: BTreeMap<&str, &str> = commands[0].env.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(env, BTreeMap::from([("BRACES", "{}"), ("MALLOC_ARENA_MAX", "1"), ("SCALE", "1")]));
    assert_eq!(commands[1].argv, ["./read me", "a.txt,b.txt"], "nothing is split at spaces");
    assert_eq!((commands[0].parallel, commands[1].parallel), (false, true));
    assert_eq!((commands[0].limit.unwrap().0, commands[1].limit), (90_000, None));
    let large = ask(&suite, "preset=large").unwrap();
    assert_eq!(suite.commands(&large.control).unwrap()[0].argv, ["make", "-j2", "SIZE=500", "--level", "high"]);
    assert_eq!(large.limit.0, 90 * 60_000);
}

#[test]
fn rounds_that_were_asked_for_are_looked_at_once() {
    let suite = zephyr();
    assert_eq!(ask(&suite, "").unwrap().looks(Grade::A, 13), [1, 2, 3, 5]);
    let four = ask(&suite, "rounds=4").unwrap();
    assert_eq!((four.looks(Grade::A, 13), four.rounds), (vec![4], Some(Rounds::Exactly(4))));
    assert_eq!(ask(&suite, "rounds=+2").unwrap().rounds, Some(Rounds::More(2)));
}

#[test]
fn the_procedure_reads_every_configuration() {
    let cases = [
        (
            zephyr(),
            vec!["", "preset=full normalize=item", "pool_ram=1GiB treatment=a@head,pool_ram=2GiB,pool_workers=96"],
        ),
        (local(), vec!["", "preset=large normalize=none", "scale=0.5"]),
        (suite::load(&"demo".into(), None).unwrap(), vec![""]),
    ];
    let mut shown = Vec::new();
    for (suite, requests) in cases {
        for words in requests {
            let config = ask(&suite, words).unwrap().judging;
            let case = serde_json::json!({ "rounds": [], "config": config }).to_string();
            let case = stats::input::parse(&case).unwrap_or_else(|error| panic!("{words}: {error}"));
            assert_eq!(case.config.margin.cpu, suite.judging.cpu.unwrap());
            shown.push(format!("{} {words}\n    {config}", suite.name));
        }
    }
    insta::assert_snapshot!(shown.join("\n"));
}

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

#[test]
fn a_generation_is_the_first_that_fits_the_file() {
    let suite = zephyr();
    let Backend::Iris(cluster) = &suite.backend else { panic!() };
    let found = |text: Option<&str>| {
        let mut asked = Vec::new();
        let found = detect::<()>(&cluster.generations, |file| {
            asked.push(file.to_owned());
            Ok(text.map(str::to_owned))
        });
        assert_eq!(asked, ["experiments/datakit/zephyr_benchmark.py"], "each file is read once");
        found.unwrap().map(|generation| generation.id.clone())
    };
    assert_eq!(found(Some(r#"add("--target") add("--dedup-cc-max-iterations")"#)).as_deref(), Some("target"));
    assert_eq!(found(Some(r#""--first-stage" "--last-stage""#)).as_deref(), Some("range"));
    assert_eq!(found(Some(r#""--target" "--first-stage" "--last-stage""#)).as_deref(), Some("range"));
    assert_eq!((found(Some("nothing")), found(None)), (None, None));
    assert_eq!(detect(&cluster.generations, |_| Err("gone")), Err("gone"));
}

#[test]
fn command_lines_of_both_generations() {
    let suite = zephyr();
    let Backend::Iris(cluster) = &suite.backend else { panic!() };
    let [target, range] = &cluster.generations[..] else { panic!() };
    let light = ask(&suite, "").unwrap();
    let full = ask(&suite, "preset=full stages=minhash..fuzzy").unwrap();
    let line = |generation: &suite::generation::Generation, resolved: &Resolved| {
        generation.argv(&resolved.control.values, "abc123").map_or_else(|e| e.to_string(), |argv| argv.join(" "))
    };
    let without = ask(&suite, "preset=full").unwrap();
    insta::assert_snapshot!(
        [line(target, &light), line(range, &light), line(target, &full), line(range, &full), line(target, &without)]
            .join("\n")
    );
    let arm = |role: &str, digit, generation, values| ArmAt {
        role: role.parse().unwrap(),
        commit: sha(digit),
        generation,
        values,
        run_tag: "abc123".parse().unwrap(),
    };
    let arms =
        [arm("control", 'a', range, &light.control.values), arm("head", 'b', target, &light.treatments[0].arm.values)];
    let refusal = command_lines(&arms).unwrap_err().to_string();
    assert_eq!(
        refusal,
        format!(
            "the command line \"range\" of control at {} cannot express source_fraction=0.1; head at {} has \"target\"",
            sha('a'),
            sha('b')
        )
    );
    let arms = [arm("control", 'a', target, &light.control.values), arm("head", 'b', target, &light.control.values)];
    let lines = command_lines(&arms).unwrap();
    assert_eq!(lines[0], lines[1]);
}
