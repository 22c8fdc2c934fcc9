//! Whether the two trials of a round ran under equal conditions on a cluster: what is only known afterwards.

use lab::assemble::cluster::Facts;
use lab::iris::rules::{Hosts, Rules};
use stats::Reason;

/// Conditions that are not equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The comparison cannot be judged: the reason, and what was found.
    Unequal(Reason, String),
    /// This round does not count, and what was found.
    Apart(String),
}

/// What is unequal between two trials of a round; `None` where nothing is.
pub(crate) fn condition(rules: &Rules, control: &Facts, treatment: &Facts) -> Option<Condition> {
    match (&control.priority, &treatment.priority) {
        (Some(one), Some(other)) if one == other => {}
        (Some(one), Some(other)) => {
            let found = format!("priority {one} in control, {other} in treatment");
            return Some(Condition::Unequal(Reason::PriorityDiffers, found));
        }
        _ => {
            let found = "the priority in force is not known".to_owned();
            return Some(Condition::Unequal(Reason::FingerprintUnknown, found));
        }
    }
    if rules.hosts == Hosts::Ignore {
        return None;
    }
    if control.hosts.is_empty() || treatment.hosts.is_empty() {
        let found = "the kind of machine is not known".to_owned();
        return Some(Condition::Unequal(Reason::FingerprintUnknown, found));
    }
    if control.hosts == treatment.hosts {
        return None;
    }
    let listed = |facts: &Facts| {
        let all: Vec<String> =
            facts.hosts.iter().map(|(host, workers)| format!("{host} ({workers} workers)")).collect();
        all.join(" and ")
    };
    let found = format!("ran on {} in control, on {} in treatment", listed(control), listed(treatment));
    Some(match rules.hosts {
        Hosts::Stratify => Condition::Apart(found),
        _ => Condition::Unequal(Reason::HostMix, found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(hosts: Hosts) -> Rules {
        Rules {
            required: Vec::new(),
            executions: Vec::new(),
            log_line: None,
            step: None,
            by_plan: false,
            paths_only: Vec::new(),
            hosts,
            max_lost: 0.0,
            calibrated_host: None,
        }
    }

    fn facts(priority: Option<&str>, hosts: &[&str]) -> Facts {
        Facts {
            priority: priority.map(str::to_owned),
            hosts: hosts.iter().map(|host| ((*host).to_owned(), 1)).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn unknown_is_never_equal() {
        let reason = |hosts, control: &Facts, treatment: &Facts| match condition(&rules(hosts), control, treatment) {
            Some(Condition::Unequal(reason, _)) => reason.code(),
            Some(Condition::Apart(_)) => "apart",
            None => "equal",
        };
        let batch = Some("batch");
        let v5e = facts(batch, &["tpu v5e"]);
        for (control, treatment, equal, stratify, ignore) in [
            (v5e.clone(), v5e.clone(), "equal", "equal", "equal"),
            (v5e.clone(), facts(batch, &["tpu v6e"]), "HOST_MIX", "apart", "equal"),
            (
                v5e.clone(),
                Facts { hosts: [("tpu v5e".to_owned(), 2)].into(), ..v5e.clone() },
                "HOST_MIX",
                "apart",
                "equal",
            ),
            (v5e.clone(), facts(batch, &["tpu v5e", "tpu v6e"]), "HOST_MIX", "apart", "equal"),
            (v5e.clone(), facts(batch, &[]), "FINGERPRINT_UNKNOWN", "FINGERPRINT_UNKNOWN", "equal"),
            (
                v5e.clone(),
                facts(Some("interactive"), &["tpu v5e"]),
                "PRIORITY_DIFFERS",
                "PRIORITY_DIFFERS",
                "PRIORITY_DIFFERS",
            ),
            (
                facts(None, &["tpu v5e"]),
                facts(None, &["tpu v5e"]),
                "FINGERPRINT_UNKNOWN",
                "FINGERPRINT_UNKNOWN",
                "FINGERPRINT_UNKNOWN",
            ),
        ] {
            let found = [Hosts::Equal, Hosts::Stratify, Hosts::Ignore].map(|hosts| reason(hosts, &control, &treatment));
            assert_eq!(found, [equal, stratify, ignore], "{control:?} {treatment:?}");
        }
    }
}
