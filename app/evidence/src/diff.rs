//! In what two folders differ.

use std::collections::{BTreeMap, BTreeSet};

use domain::ports::Fate;
use serde_json::{Value, json};

use crate::bundle::Bundle;
use crate::compose::Composed;
use crate::trials::seen;

/// One fact that two folders do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is compared: plan, workload, trials, rows or verdict.
    pub part: &'static str,
    /// The fact.
    pub fact: String,
    /// In the first folder, where it has one.
    pub one: Option<String>,
    /// In the second.
    pub other: Option<String>,
}

/// Facts by their names.
type Facts = BTreeMap<String, String>;

/// Every fact in which two folders differ: the plan first, then the workload, the trials, their rows and the verdict.
/// Ids of runs and jobs and points in time always differ and are not compared.
#[must_use]
pub fn diff(one: (&Bundle, &Composed), other: (&Bundle, &Composed)) -> Vec<Difference> {
    let mut all = Vec::new();
    for (part, facts) in PARTS {
        let (a, b) = (facts(one.0, one.1), facts(other.0, other.1));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for name in names.into_iter().filter(|name| a.get(*name) != b.get(*name)) {
            all.push(Difference { part, fact: name.clone(), one: a.get(name).cloned(), other: b.get(name).cloned() });
        }
    }
    all
}

type Part = fn(&Bundle, &Composed) -> Facts;

const PARTS: [(&str, Part); 5] =
    [("plan", plan), ("workload", workload), ("trials", trials), ("rows", rows), ("verdict", verdict)];

/// Fields of a plan that name this run only, and those that are compared as the workload.
const NOT_COMPARED: [&str; 4] = ["run", "workloads", "launches", "continues"];

fn plan(bundle: &Bundle, _: &Composed) -> Facts {
    let mut value = serde_json::to_value(&bundle.plan).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !NOT_COMPARED.contains(&name.as_str()));
        if let Some(Value::Object(retry)) = fields.get_mut("retry") {
            retry.remove("adopts");
        }
    }
    let mut facts = Facts::new();
    flatten("", &value, &mut facts);
    facts
}

fn workload(bundle: &Bundle, _: &Composed) -> Facts {
    let mut facts = Facts::new();
    flatten("", &serde_json::to_value(&bundle.plan.workloads).unwrap_or_default(), &mut facts);
    facts
}

fn place(name: &domain::rounds::TrialName, role: &domain::arms::Role) -> String {
    format!("{role} round {}.{}", name.round, name.replacement)
}

fn trials(bundle: &Bundle, _: &Composed) -> Facts {
    let of = |fate: &domain::ports::TrialFate| {
        let said = match &fate.fate {
            Fate::Counted => "counted".to_owned(),
            Fate::Discarded(why) => format!("discarded: {}", json!(why)),
            Fate::Failed(failure) => {
                format!("failed{}: {}", if failure.oom { ", out of memory" } else { "" }, failure.text)
            }
        };
        (place(&fate.name, &fate.role), said)
    };
    bundle.fates.iter().map(of).collect()
}

fn rows(bundle: &Bundle, _: &Composed) -> Facts {
    let mut facts = Facts::new();
    for seen in seen(bundle) {
        let at = place(&seen.fate.name, &seen.fate.role);
        match seen.trial() {
            Some(Ok(trial)) => {
                for (row, stage) in trial.stages {
                    let mut put = |what: &str, reading: stats::Reading| {
                        let text = match reading {
                            stats::Reading::Missing => return,
                            stats::Reading::Bad => "not a usable number".to_owned(),
                            stats::Reading::Value(x) => stats::digits::twelve(x).to_string(),
                        };
                        facts.insert(format!("{at} · {row} · {what}"), text);
                    };
                    put("CPU s", stage.cpu_time_total);
                    put("elapsed s", stage.elapsed);
                    put("items", stage.items);
                    put("bytes", stage.bytes_processed);
                    put("peak memory", stage.mem_peak_bytes_max);
                    put("shards", stage.total_shards);
                    if let Some(status) = stage.not_ended {
                        facts.insert(format!("{at} · {row} · status"), status);
                    }
                }
            }
            Some(Err(broken)) => {
                facts.insert(at, broken.problem.clone());
            }
            None => {}
        }
    }
    facts
}

fn verdict(_: &Bundle, composed: &Composed) -> Facts {
    match &composed.judged {
        Some(judged) => {
            let of = |of: &domain::ports::Decided| {
                (of.treatment.to_string(), format!("{} {}", of.verdict.word(), of.reason.code()))
            };
            judged.treatments.iter().map(of).collect()
        }
        None => [("run".to_owned(), "ended without a verdict".to_owned())].into(),
    }
}

/// Every leaf of a value by its path.
fn flatten(path: &str, value: &Value, facts: &mut Facts) {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&at(key), value, facts)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| flatten(&at(&i.to_string()), item, facts)),
        Value::Null => {}
        Value::String(text) => drop(facts.insert(path.to_owned(), text.clone())),
        other => drop(facts.insert(path.to_owned(), other.to_string())),
    }
}
