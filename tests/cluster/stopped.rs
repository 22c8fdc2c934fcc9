//! Ctrl-C while a job runs.

use super::rig::Rig;
use crate::support::world::read_json;

/// States of a job that has ended.
const ENDED: [&str; 5] = [
    "JOB_STATE_SUCCEEDED",
    "JOB_STATE_FAILED",
    "JOB_STATE_KILLED",
    "JOB_STATE_WORKER_FAILED",
    "JOB_STATE_UNSCHEDULABLE",
];

pub(super) fn interrupted(rig: &Rig) {
    let before = rig.proxy.launched();
    let args = Rig::run_args("rig", "stopped", &["rounds=2", "--head", "aa", "--yes"]);
    let mut run = rig.world.begin(&args);
    run.until_so("a job that runs", || {
        let new = rig.proxy.launched();
        let mut new = new.difference(&before);
        new.next().is_some_and(|job| rig.jobs(job).iter().any(|(id, state)| id == job && state == "JOB_STATE_RUNNING"))
    });
    run.signal("INT", true);
    let ran = run.wait();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("no verdict: "), "{}", ran.stderr);
    rig.world.check();
    let folder = rig.folder("stopped");
    let ending = read_json(&folder.path.join("ending.json"));
    assert!(ending["how"].to_string().contains("cancelled"), "{ending}");
    let jobs = rig.jobs(&format!("/{}/zab-{}", super::rig::USER, folder.run()));
    assert!(!jobs.is_empty());
    for (id, state) in jobs {
        assert!(ENDED.contains(&state.as_str()), "{id} is {state}");
    }
}
