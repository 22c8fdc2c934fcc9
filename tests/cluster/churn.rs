//! A job that the cluster takes away and starts again, in a run whose ids have no step and whose change alters the
//! benchmark too.

use std::io::Read as _;

use serde_json::json;

use super::http::ask;
use super::rig::{BENCHMARK, Rig};

pub(super) fn preempted(rig: &Rig) {
    // By its own benchmark the treatment would fail.
    rig.branch("altered", "aa", |text| {
        text.replace("def main() -> None:\n", "def main() -> None:\n    raise SystemExit(7)\n")
    });
    let suite = rig.suite(
        "unnamed",
        r#"env         = { PYTHONPATH = ".","#,
        r#"env         = { BENCH_NAMED_EXECUTIONS = "0", PYTHONPATH = ".","#,
    );
    let before = rig.proxy.launched();
    let args = Rig::run_args(&suite, "churn", &["rounds=1", "--head", "altered"]);
    let mut run = rig.world.begin(&args);
    let mut job = String::new();
    run.until_so("the treatment at work", || {
        let new = rig.proxy.launched();
        let Some(treatment) = new.difference(&before).find(|name| name.ends_with("-2")) else { return false };
        job.clone_from(treatment);
        let sql = format!(r#"SELECT execution_id FROM "zephyr.execution" WHERE root_job_id = '{job}'"#);
        !rig.query(&sql).rows.is_empty()
    });
    let kick = json!({ "targets": [format!("{job}/0")], "desiredState": "TASK_STATE_PREEMPTED", "reason": "a test" });
    let kicked = rig.controller("KickTasks", &kick);
    assert_eq!(kicked["results"][0]["queued"], true, "{kicked}");
    let ran = run.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    rig.world.check();
    let folder = rig.folder("churn");

    let trials = rig.proxy.launched().difference(&before).count();
    assert_eq!(trials, 4, "one round, and the same once more: {}", ran.stderr);
    assert!(ran.stderr.contains("measured anew (head before: the job was preempted)"), "{}", ran.stderr);
    let comment = folder.comment();
    assert!(comment.contains("the job was preempted") && comment.contains("1 round replaced"), "{comment}");
    // Too few rounds, or too short on a quick machine; in no case a failure of the change.
    let reason = folder.evidence["outcome"]["reason"].as_str().expect("a reason");
    assert!(["NO_CALIBRATION", "BELOW_FLOOR"].contains(&reason), "{reason}\n{comment}");

    let rows = folder.rows("treatment");
    assert_eq!(rows.len(), 5, "{rows:?}");
    let shared = |row: &&String| row.contains("minhash") || row.contains("tokenize");
    assert_eq!(rows.iter().find(shared), None, "no id says which it was");
    assert!(comment.contains("do not tell their step, so that steps with the same stages share a row"), "{comment}");
    ran_by_the_controls_benchmark(rig, &folder.job("1.1", 2));
}

/// What the controller has as the files of a job.
fn ran_by_the_controls_benchmark(rig: &Rig, job: &str) {
    let said = rig.controller("GetJobStatus", &json!({ "jobId": job }));
    let id = said["request"]["bundleId"].as_str().unwrap_or_else(|| panic!("{said}"));
    let (answer, _) = ask(&rig.iris, "GET", &format!("/bundles/{id}.zip"), b"").expect("a bundle");
    let mut files = zip::ZipArchive::new(std::io::Cursor::new(answer.body)).expect("a zip");
    let mut text = |name: &str| {
        let mut text = String::new();
        files.by_name(name).expect("a file").read_to_string(&mut text).expect("text");
        text
    };
    let of = |commit: &str, path: &str| rig.repository.git(&["show", &format!("{commit}:{path}")]);
    assert_eq!(text(BENCHMARK).trim(), of("main", BENCHMARK));
    let kernels = "experiments/datakit/kernels.py";
    assert_eq!(text(kernels).trim(), of("altered", kernels));
    assert_ne!(of("altered", kernels), of("main", kernels));
}
