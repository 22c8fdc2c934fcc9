//! What a local trial runs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The steps of one arm, resolved: what a plan carries for this backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The steps in their order.
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name, which is the name of its row.
    pub name: String,
    /// Program and arguments; never split and never given to a shell. A program with a `/` is looked up in the checkout,
    /// every other one in `PATH`.
    pub argv: Vec<String>,
    /// Its environment beside `PATH`, `HOME`, `TMPDIR` and `LANG`, which it may set too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After how many milliseconds it is killed; at the limit of the trial where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<u64>,
    /// Runs at the same time as the step before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
}

/// Why steps cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// There is none.
    #[error("there is no step to run")]
    NoStep,
    /// More than are named in a trial's folder.
    #[error("there are {0} steps; allowed: at most 99")]
    TooMany(usize),
    /// A name that no row can have, or that two have.
    #[error(
        "a step is named {0:?}; needed: a name of its own, 1 to 100 characters, none of them a control character, and not TOTAL"
    )]
    Name(String),
    /// A step without a program, with a limit of 0, with text that no process can be given, or beside nothing.
    #[error("step {step:?} {problem}")]
    Step {
        /// The step.
        step: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Launch {
    /// Checks what the types do not say.
    ///
    /// # Errors
    /// See [`LaunchError`].
    pub fn check(&self) -> Result<(), LaunchError> {
        if self.steps.is_empty() {
            return Err(LaunchError::NoStep);
        }
        if self.steps.len() > 99 {
            return Err(LaunchError::TooMany(self.steps.len()));
        }
        for (index, step) in self.steps.iter().enumerate() {
            let name = &step.name;
            let taken = self.steps[..index].iter().any(|other| other.name == *name);
            let fits = (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control);
            if taken || !fits || name == domain::stats::output::TOTAL {
                return Err(LaunchError::Name(name.chars().take(100).collect()));
            }
            let bad_variable =
                |(key, value): (&String, &String)| key.is_empty() || key.contains(['=', '\0']) || value.contains('\0');
            let problem = if step.argv.first().is_none_or(String::is_empty) {
                Some("has no program")
            } else if step.argv.iter().any(|argument| argument.contains('\0')) {
                Some("has an argument with a NUL character")
            } else if step.env.iter().any(bad_variable) {
                Some("has an environment variable without a name, with = in its name, or with a NUL character")
            } else if step.limit_ms == Some(0) {
                Some("has a limit of 0 ms")
            } else if step.parallel && index == 0 {
                Some("is parallel to a step before it, and there is none")
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(LaunchError::Step { step: name.clone(), problem });
            }
        }
        Ok(())
    }

    /// The steps that run at the same time, group by group.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if step.parallel => group.end = index + 1,
                _ => groups.push(index..index + 1),
            }
        }
        groups
    }
}

/// The beginning of the names of a step's files: its number from 1 and what of its name fits in a file name.
pub(super) fn file_name(index: usize, name: &str) -> String {
    let fits = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }
    };
    let name: String = name.chars().take(60).map(fits).collect();
    format!("{:02}-{name}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, parallel: bool) -> Step {
        let argv = vec!["true".to_owned()];
        Step { name: name.to_owned(), argv, env: BTreeMap::new(), limit_ms: None, parallel }
    }

    #[test]
    fn groups_of_steps() {
        let launch = |parallel: &[bool]| Launch {
            steps: parallel.iter().enumerate().map(|(n, parallel)| step(&n.to_string(), *parallel)).collect(),
        };
        assert_eq!(launch(&[false, false]).groups(), [0..1, 1..2]);
        assert_eq!(launch(&[false, true, true, false, true]).groups(), [0..3, 3..5]);
    }

    #[test]
    fn checked() {
        let ok = Launch { steps: vec![step("exact · map", false), step("b", true)] };
        assert_eq!(ok.check(), Ok(()));
        let error = |change: fn(&mut Launch)| {
            let mut launch = ok.clone();
            change(&mut launch);
            launch.check().unwrap_err().to_string()
        };
        for (found, expected) in [
            (error(|launch| launch.steps.clear()), "there is no step to run"),
            (error(|launch| launch.steps[1].argv.clear()), "step \"b\" has no program"),
            (
                error(|launch| launch.steps[1].argv.push("\0".to_owned())),
                "step \"b\" has an argument with a NUL character",
            ),
            (error(|launch| launch.steps[1].limit_ms = Some(0)), "step \"b\" has a limit of 0 ms"),
            (
                error(|launch| launch.steps[0].parallel = true),
                "step \"exact · map\" is parallel to a step before it, and there is none",
            ),
        ] {
            assert_eq!(found, expected);
        }
        for name in ["", "exact · map", "TOTAL", "a\nb"] {
            let mut launch = ok.clone();
            name.clone_into(&mut launch.steps[1].name);
            assert_eq!(launch.check(), Err(LaunchError::Name(name.to_owned())));
        }
        let many = Launch { steps: (0..100).map(|n| step(&n.to_string(), false)).collect() };
        assert_eq!(many.check(), Err(LaunchError::TooMany(100)));
    }

    #[test]
    fn json() {
        let text = r#"{"steps":[{"name":"a","argv":["x","y"]}]}"#;
        let launch: Launch = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&launch).unwrap(), text);
        assert!(serde_json::from_str::<Launch>(r#"{"steps":[{"name":"a","argv":"x y"}]}"#).is_err());
    }

    #[test]
    fn file_names() {
        assert_eq!(file_name(0, "Exact · map/../x"), "01-exact---map----x");
        assert_eq!(file_name(98, &"x".repeat(500)).len(), 63);
    }
}
