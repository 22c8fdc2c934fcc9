//! How the answers of a cluster become rows and what makes them void, as it stands in the plan.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use suite::cluster::Cluster;
use suite::judging::HostClass;

/// The one table of stage records that there are queries for.
pub const STAGES: &str = "zephyr.stage";
/// The one table of executions that there are queries for.
pub const EXECUTIONS: &str = "zephyr.execution";
/// Executions from the log.
pub const LOGS: &str = "logs";

/// The rules of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Columns that a stage record must have.
    pub required: Vec<String>,
    /// Where executions are found: [`EXECUTIONS`], [`LOGS`]; the first that answers wins.
    pub executions: Vec<String>,
    /// The line of the log that names an execution; each named group is an id.
    pub log_line: Option<String>,
    /// The step in an execution's id.
    pub step: Option<String>,
    /// Whether the planned stages tell the step where the id does not.
    pub by_plan: bool,
    /// Stages whose items and bytes count output paths; `*` stands for any text.
    pub paths_only: Vec<String>,
    /// Whether arms must have run on equal kinds of machines.
    pub hosts: Hosts,
    /// The share of an arm's worker attempts that may be lost before its CPU time is void as well.
    pub max_lost: f64,
    /// The kind of machine that the calibration is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated_host: Option<String>,
}

/// What is done where arms ran on different kinds of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hosts {
    /// They must be equal in every round.
    Equal,
    /// Rounds with unequal ones do not count.
    Stratify,
    /// Nothing.
    Ignore,
}

/// Memory that a compiled pattern may take, bytes.
const PATTERN_BYTES: usize = 1 << 20;

fn compiled(pattern: Option<&String>) -> Result<Option<Regex>, String> {
    let compile = |text: &String| RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
    pattern.map(compile).transpose().map_err(|why| why.to_string())
}

impl Rules {
    /// The rules of a suite's cluster.
    ///
    /// # Errors
    /// A table that this version has no query for.
    pub fn of(cluster: &Cluster, hosts: HostClass, max_lost: Option<f64>) -> Result<Self, String> {
        let metrics = &cluster.metrics;
        if metrics.namespace != STAGES {
            return Err(format!(
                "metrics.stage.namespace is {:?}; this version reads {STAGES} only",
                metrics.namespace
            ));
        }
        if let Some(other) = metrics.executions.iter().find(|source| ![EXECUTIONS, LOGS].contains(&source.as_str())) {
            return Err(format!("metrics.executions has {other:?}; allowed: {EXECUTIONS}, {LOGS}"));
        }
        Ok(Self {
            required: metrics.required.clone(),
            executions: metrics.executions.clone(),
            log_line: metrics.log_line.as_ref().map(|pattern| pattern.as_str().to_owned()),
            step: cluster.rows.step.as_ref().map(|pattern| pattern.as_str().to_owned()),
            by_plan: cluster.rows.by_plan,
            paths_only: cluster.rows.paths_only_texts().to_vec(),
            hosts: match hosts {
                HostClass::Equal => Hosts::Equal,
                HostClass::Stratify => Hosts::Stratify,
                HostClass::Ignore => Hosts::Ignore,
            },
            max_lost: max_lost.unwrap_or(0.0),
            calibrated_host: None,
        })
    }

    /// Whether executions are looked up in the table of executions.
    #[must_use]
    pub fn asks_table(&self) -> bool {
        self.executions.iter().any(|source| source == EXECUTIONS)
    }

    /// Whether executions are looked up in the log.
    #[must_use]
    pub fn asks_logs(&self) -> bool {
        self.executions.iter().any(|source| source == LOGS)
    }

    /// The pattern of the line that names an execution.
    ///
    /// # Errors
    /// It is no pattern.
    pub fn line_pattern(&self) -> Result<Option<Regex>, String> {
        compiled(self.log_line.as_ref())
    }

    /// The pattern of the step in an execution's id.
    ///
    /// # Errors
    /// It is no pattern.
    pub fn step_pattern(&self) -> Result<Option<Regex>, String> {
        compiled(self.step.as_ref())
    }

    /// Whether items and bytes of a stage count output paths.
    #[must_use]
    pub fn is_paths_only(&self, stage: &str) -> bool {
        self.paths_only.iter().any(|pattern| fits(pattern, stage))
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("* → Write", "stage0-Map → Write", true),
            ("* → Write", "stage0-Map → Scatter", false),
            ("* → Write", " → Write", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
