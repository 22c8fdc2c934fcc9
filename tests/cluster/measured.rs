//! A run of two commits: what it launches, what it asks for, and that its numbers are those of the servers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use marin::finelog::Cell;
use serde_json::Value;

use super::proxy::{Call, Fault, Server};
use super::rig::{Folder, Rig, argv, exists, option};

/// The first run, whose jobs others look at.
#[derive(Debug)]
pub(super) struct First {
    pub(super) folder: Folder,
    pub(super) control: String,
    pub(super) treatment: String,
}

/// What a trial is asked for after its end, at most.
const MOST_OF_IRIS: usize = 4;
const MOST_OF_FINELOG: usize = 6;

pub(super) fn as_the_servers_say(rig: &Rig) {
    let settings = rig.repository.folder().join(".git/config");
    let before_traps = fs::read(&settings).expect("settings of the repository");
    let trace = traps(rig);
    // The controller makes the jobs of both launches, and the program hears of neither.
    rig.proxy.fail("LaunchJob", Fault::Broken);
    rig.proxy.fail("LaunchJob", Fault::Unavailable);
    let before = rig.proxy.calls().len();
    let folder = rig.run("rig", "first", &["rounds=1", "--head", "trapped", "--format", "json"]);
    let calls = rig.proxy.calls().split_off(before);
    assert!(!exists(&trace), "run on this machine: {}", fs::read_to_string(&trace).unwrap_or_default());

    // Other parts commit to this repository.
    fs::write(&settings, before_traps).expect("a file");
    fs::remove_dir_all(rig.repository.folder().join(".git/hooks")).expect("hooks");

    let (control, treatment) = (folder.job("1.0", 1), folder.job("1.0", 2));
    let first = First { folder, control, treatment };
    assert!(rig.first.set(first).is_ok(), "there is one first run");
    let First { folder, control, treatment } = rig.first.get().expect("just set");

    launched_once(rig, folder, &calls);
    for (arm, job) in [("control", control), ("treatment", treatment)] {
        equal_to_the_store(rig, folder, arm, job);
        asked_sparingly(&calls, job);
    }
    outputs_are_no_difference(folder);
}

/// Makes a commit and a repository that run something as soon as somebody lets them; the file in which that shows.
fn traps(rig: &Rig) -> PathBuf {
    let trace = rig.world.path("trace");
    let folder = rig.repository.folder();
    let fires = |name: &str| format!("#!/bin/sh\necho {name} >> '{}'\ncat\n", trace.display());
    let python = format!("open('{}', 'a').write(__file__)\n", trace.display());
    rig.repository.git(&["checkout", "--quiet", "-b", "trapped", "pr"]);
    fs::write(folder.join(".gitattributes"), "* filter=trap diff=trap\n").expect("a file");
    for name in ["setup.py", "hatch_build.py", "conftest.py"] {
        fs::write(folder.join(name), &python).expect("a file");
    }
    rig.repository.commit_all("trapped");
    rig.repository.git(&["checkout", "--quiet", "main"]);
    let program = |path: &Path, name: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, fires(name)).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path.display().to_string()
    };
    for hook in ["post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change", "pre-commit"] {
        program(&folder.join(".git/hooks").join(hook), hook);
    }
    for key in
        ["filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "diff.trap.textconv", "core.fsmonitor"]
    {
        let trap = program(&rig.world.path("traps").join(key), key);
        rig.repository.git(&["config", key, &trap]);
    }
    trace
}

/// One job for each trial, though each launch was asked for twice.
fn launched_once(rig: &Rig, folder: &Folder, calls: &[Call]) {
    // What a controller knows is learnt from a launch without a name, which it refuses.
    let launch = |call: &&Call| call.method == "LaunchJob" && call.request["name"].is_string();
    assert_eq!(calls.iter().filter(launch).count(), 4, "each launch lost its first answer");
    let jobs = rig.jobs(&format!("/{}/zab-{}", super::rig::USER, folder.run()));
    let mut roots: Vec<&str> =
        jobs.iter().map(|(id, _)| id.as_str()).filter(|id| id.matches('/').count() == 2).collect();
    roots.sort_unstable();
    assert_eq!(roots, [folder.job("1.0", 1), folder.job("1.0", 2)]);
}

/// Every row of an arm is what a query of our own sums up.
pub(super) fn equal_to_the_store(rig: &Rig, folder: &Folder, arm: &str, job: &str) {
    let table = rig.query(&format!(
        r#"SELECT split_part(execution_id, '-', 1) AS step, stage_name, SUM(cpu_time_total), SUM(elapsed), SUM(items),
             SUM(bytes_processed), MAX(mem_peak_bytes_max), SUM(total_shards), COUNT(*)
           FROM "zephyr.stage" WHERE execution_id IN
             (SELECT execution_id FROM "zephyr.execution" WHERE root_job_id = '{job}')
           GROUP BY step, stage_name"#
    ));
    let stages = &folder.rounds()[0][arm]["stages"];
    assert_eq!(table.rows.len(), stages.as_object().expect("rows").len(), "{arm}: {stages}");
    for row in &table.rows {
        let name = format!("{} · {}", text(&row[0]), text(&row[1]));
        let keys = [
            "cpu_time_total",
            "elapsed",
            "items",
            "bytes_processed",
            "mem_peak_bytes_max",
            "total_shards",
            "row_executions",
        ];
        for (key, cell) in keys.into_iter().zip(&row[2..]) {
            let (told, stored) = (stages[&name][key].as_f64(), number(cell));
            let told = told.unwrap_or_else(|| panic!("{arm} has no {key} of {name}: {stages}"));
            // Twelve digits are kept.
            assert!((told - stored).abs() <= 1e-11 * stored.abs(), "{arm} {name} {key}: {told} {stored}");
        }
    }
}

fn text(cell: &Cell) -> &str {
    if let Cell::Text(text) = cell { text } else { panic!("{cell:?}") }
}

#[allow(clippy::cast_precision_loss)] // counts of a small sample
fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Int(number) => *number as f64,
        Cell::Float(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// What is asked about a job after the controller has said that it is over. Only the question for that does not count.
fn asked_sparingly(calls: &[Call], job: &str) {
    let ended = |call: &Call| {
        let state = call.answer["states"][job].as_str().unwrap_or_default();
        ["SUCCEEDED", "FAILED", "KILLED"].iter().any(|end| state.ends_with(end))
    };
    let over = calls.iter().position(ended).unwrap_or_else(|| panic!("{job} was never seen to end"));
    // The next trial begins with the question whether its bundle is there.
    let after: Vec<&Call> =
        calls[over..].iter().take_while(|call| !call.method.starts_with("HEAD /bundles/")).collect();
    let of = |server: Server| {
        let counted = after.iter().filter(|call| call.server == server && call.method != "GetJobState");
        counted.map(|call| call.method.as_str()).collect::<Vec<_>>()
    };
    let (iris, finelog) = (of(Server::Iris), of(Server::Finelog));
    assert!(iris.len() <= MOST_OF_IRIS, "{job}: {iris:?}");
    assert!(finelog.len() <= MOST_OF_FINELOG, "{job}: {finelog:?}");
    // All of it once: it was whole at the first probe, and the second one only counted.
    let asks = |table: &str| {
        let sql = |call: &&&Call| call.request["sql"].as_str().is_some_and(|sql| sql.contains(table));
        after.iter().filter(sql).count()
    };
    assert_eq!((asks("\"iris.task\""), asks("SELECT * FROM \"zephyr.stage\"")), (1, 1), "{job}: {finelog:?}");
}

/// Outputs lie under the tag of the trial, and a stage that writes counts the characters of their paths: equal lengths
/// make that equal.
fn outputs_are_no_difference(folder: &Folder) {
    let (control, treatment) = (argv(folder, "control-1.0-1"), argv(folder, "head-1.0-2"));
    let tags = [&control, &treatment].map(|argv| option(argv, "--run-tag").expect("a tag"));
    assert!(tags[0] != tags[1] && tags[0].len() == tags[1].len(), "{tags:?}");
    let comment = folder.comment();
    let check = comment.lines().find(|line| line.starts_with("Data check: ")).expect("a data check");
    assert!(check.contains("Paths only, not compared: 4 stages.") && !check.contains("differ"), "{check}");
    let bytes =
        |arm: &str| folder.rounds()[0][arm]["stages"]["minhash · stage0-Map → Write"]["bytes_processed"].clone();
    assert!(bytes("control") == bytes("treatment") && bytes("control") != Value::Null, "{}", bytes("control"));
}
