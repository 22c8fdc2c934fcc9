//! The command lines that repeat a comparison.

use domain::arms::Treatment;
use domain::plan::Plan;
use domain::setting::Setting;
use domain::workload::Field;
use serde_json::Value;

use crate::bundle::{CALIBRATION, REPOSITORY, SUITE};

/// Fields of a workload that no key of a request sets: they follow from the suite, the commit or the cluster.
const NO_KEYS: [&str; 15] = [
    "suite",
    "suite_digest",
    "steps",
    "controller",
    "locality",
    "priority",
    "preemptible",
    "launcher_cpu",
    "launcher_ram",
    "launcher_disk",
    "launcher_retries_preemption",
    "launcher_retries_failure",
    "request_rest",
    "files_of_the_arm",
    "env_of_other_names",
];

/// The treatment that runs the head as it is; a request cannot declare it.
const HEAD: &str = "head";

/// What every treatment declares where each arm runs its own benchmark: a key of the request, not of a treatment.
const HARNESS: &str = "harness";

/// What a workload has set, by the order of the names.
pub(crate) fn set(workload: &domain::workload::Workload) -> Vec<(String, Setting)> {
    let written = serde_json::to_value(workload).unwrap_or_default();
    let Some(Value::Object(fields)) = written.get("set").cloned() else { return Vec::new() };
    fields.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_value(value).ok()?))).collect()
}

/// The parameters of the control: what a request may set, by name.
pub(crate) fn parameters(plan: &Plan) -> Vec<(String, Setting)> {
    let control = plan.workloads.get("control").map(set).unwrap_or_default();
    let key = |name: &str| !NO_KEYS.contains(&name) && !name.starts_with("env.") && !name.starts_with("launcher_");
    control.into_iter().filter(|(name, _)| key(name)).collect()
}

/// The comparison again, with what the `repository` said of the suite where it did, and the same verdict again, both from inside the folder of the evidence: its suite is the one
/// that was measured, wherever it came from.
pub(crate) fn lines(plan: &Plan, repository: bool) -> Vec<String> {
    if !plan.origin.ran.is_empty() {
        return vec![compared(plan), "zephyr-ab evidence verify .".to_owned()];
    }
    if let (Some(_), Some(run)) = (&plan.retry, &plan.continues) {
        // Everything else is as it was there.
        let said = if repository { format!("--repository {REPOSITORY} ") } else { String::new() };
        let retried = format!("zephyr-ab run {SUITE} {said}--repo <repository> --out .. --retry <folder of {run}>");
        return vec![retried, "zephyr-ab evidence verify .".to_owned()];
    }
    let mut words = ["zephyr-ab", "run", SUITE].map(str::to_owned).to_vec();
    words.extend(plan.preset.iter().map(|preset| quoted(&format!("preset={preset}"))));
    words.extend(parameters(plan).iter().map(|(name, value)| quoted(&format!("{name}={}", value_of(value)))));
    let earlier = u64::from(plan.earlier_rounds);
    match (plan.looks.as_slice(), &plan.continues) {
        (looks, Some(_)) => {
            words.push(format!("rounds=+{}", looks.last().map_or(0, |last| last.saturating_sub(earlier))));
        }
        ([only], None) => words.push(format!("rounds={only}")),
        // Several looks are those of the suite: an exact number would be judged once.
        _ => {}
    }
    if let Some(Value::String(word)) = plan.judging.get("normalize").filter(|word| *word != "auto") {
        words.push(quoted(&format!("normalize={word}")));
    }
    if plan.arms.treatments().iter().any(|other| other.declared.entries().any(|(key, _)| key == HARNESS)) {
        words.push(format!("{HARNESS}=head"));
    }
    words.push(format!("control={}", plan.arms.control()));
    let as_it_is = |treatment: &&Treatment| treatment.name.as_str() == HEAD;
    words.extend(plan.arms.treatments().iter().filter(|other| !as_it_is(other)).map(treatment));
    if let Some(head) = plan.arms.treatments().iter().find(as_it_is) {
        words.extend(["--head".to_owned(), head.commit.to_string()]);
    }
    if plan.calibration.as_object().is_some_and(|known| !known.is_empty()) {
        words.extend(["--calibration", CALIBRATION].map(str::to_owned));
    }
    if repository {
        words.extend(["--repository", REPOSITORY].map(str::to_owned));
    }
    // Beside this folder: a file more inside it, and it would no longer verify.
    words.extend(["--repo", "<repository>", "--out", ".."].map(str::to_owned));
    words.extend(plan.continues.iter().flat_map(|run| ["--continue".to_owned(), format!("<folder of {run}>")]));
    vec![words.join(" "), "zephyr-ab evidence verify .".to_owned()]
}

/// The comparison of jobs that had run before.
fn compared(plan: &Plan) -> String {
    let of = |role: &str| plan.origin.ran.get(role).map(|ran| ran.join(",")).unwrap_or_default();
    let mut words = ["zephyr-ab", "compare", SUITE].map(str::to_owned).to_vec();
    words.push(quoted(&format!("control={}", of("control"))));
    for treatment in plan.arms.treatments() {
        let declared: Vec<String> =
            treatment.declared.entries().map(|(key, value)| format!(",{key}={value}")).collect();
        let name = &treatment.name;
        words.push(quoted(&format!("treatment={name}@{}{}", of(name.as_str()), declared.concat())));
    }
    if plan.calibration.as_object().is_some_and(|known| !known.is_empty()) {
        words.extend(["--calibration", CALIBRATION].map(str::to_owned));
    }
    words.extend(["--out", ".."].map(str::to_owned));
    words.join(" ")
}

fn treatment(treatment: &Treatment) -> String {
    let mut parts = vec![format!("treatment={}@{}", treatment.name, treatment.commit)];
    let declared = treatment.declared.entries().filter(|(key, _)| key != HARNESS);
    parts.extend(declared.map(|(key, value)| format!("{key}={value}")));
    quoted(&parts.join(","))
}

/// Sizes as they are typed, everything else as it is shown.
fn value_of(value: &Setting) -> String {
    match value {
        Setting::Flag(flag) => flag.to_string(),
        other => other.to_string(),
    }
}

/// One word of a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The workload in a few facts, with the notes of the plan at the end.
#[must_use]
pub fn facts(plan: &Plan) -> Vec<String> {
    let preset = plan.preset.iter().map(|preset| format!("preset {preset}"));
    let parameters = parameters(plan).into_iter().map(|(name, value)| {
        let known = Field::of(&name).is_some();
        if known { format!("{} {value}", name.replace('_', " ")) } else { format!("{name} {value}") }
    });
    preset.chain(parameters).chain(plan.notes.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        assert_eq!(quoted("a=b/c@d,e.f"), "a=b/c@d,e.f");
        assert_eq!(quoted("a=b c"), "'a=b c'");
        assert_eq!(quoted("a='$(x)'"), r"'a='\''$(x)'\'''");
        assert_eq!(quoted(""), "''");
    }
}
