//! Jobs of the first run, judged again without launching anything.

use super::rig::{Folder, Rig};

pub(super) fn from_the_same_jobs(rig: &Rig) {
    let first = rig.first.get().expect("the first run");
    let before = rig.proxy.launched();
    let (control, treatment) = (format!("control={}", first.control), format!("treatment=pr@{}", first.treatment));

    let again = rig.compare("rig", "again", &[&control, &treatment]);
    assert_eq!(again.evidence["case"], first.folder.evidence["case"], "the same jobs make the same case");
    // What a request says besides is a condition of jobs that somebody launched; a run makes its requests itself.
    let conditions = |folder: &Folder| {
        let fields = folder.evidence["view"]["fingerprint"]["fields"].as_array().cloned().unwrap_or_default();
        fields.into_iter().filter(|field| field[0] != "request_rest").collect::<Vec<_>>()
    };
    assert_eq!(conditions(&again), conditions(&first.folder), "the same conditions are read back");

    let logs = rig.suite("logs", r#"executions = ["zephyr.execution", "logs"]"#, r#"executions = ["logs"]"#);
    let logs = rig.compare(&logs, "logs", &[&control, &treatment]);
    assert_eq!(logs.rounds(), again.rounds(), "found by their log alone");
    for trial in ["control-1.0-1", "pr-1.0-2"] {
        assert_eq!(logs.answer(trial, "stages.json"), again.answer(trial, "stages.json"), "{trial}");
        let asked = logs.path.join("arms").join(trial).join("executions.json");
        assert!(!super::rig::exists(&asked), "the table of executions was asked for");
    }

    let named = |trial: &str| {
        let table = again.answer(trial, "executions.json");
        let rows = table["rows"].as_array().expect("rows").iter();
        rows.map(|row| row[1].as_str().expect("an id").to_owned()).collect::<Vec<_>>().join(",")
    };
    let pairs = [format!("control={}", named("control-1.0-1")), format!("treatment=pr@{}", named("pr-1.0-2"))];
    let by_hand = rig.compare("rig", "by-hand", &[&pairs[0], &pairs[1]]);
    assert_eq!(by_hand.evidence["outcome"]["reason"], "FINGERPRINT_UNKNOWN");
    for arm in ["control", "treatment"] {
        assert_eq!(by_hand.rounds()[0][arm]["stages"], again.rounds()[0][arm]["stages"], "{arm}");
    }
    assert_eq!(rig.proxy.launched(), before, "nothing is launched");
}
