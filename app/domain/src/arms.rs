//! What is compared: a control and treatments with their declared differences.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ArmName, CommitSha, IdError};

/// Which arm a trial belongs to. As text: `control`, or the name of the treatment, which never is that word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Role {
    /// The arm that treatments are compared with.
    Control,
    /// A treatment.
    Treatment(ArmName),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.pad(crate::ids::CONTROL),
            Self::Treatment(name) => name.fmt(f),
        }
    }
}

impl FromStr for Role {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == crate::ids::CONTROL { Ok(Self::Control) } else { text.parse().map(Self::Treatment) }
    }
}

impl TryFrom<String> for Role {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.to_string()
    }
}

/// What is wrong with a set of arms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmsError {
    /// There is nothing to compare.
    #[error("a comparison needs at least one treatment")]
    NoTreatment,
    /// Two treatments of one name.
    #[error("two treatments are named {0}; every treatment needs a name of its own")]
    SameName(ArmName),
    /// A key that no parameter and no environment variable can have.
    #[error("{key:?} is not the name of a {what}; allowed: {allowed}")]
    Key {
        /// Parameter or environment variable.
        what: &'static str,
        /// The first 40 characters of the key.
        key: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A key that is declared twice.
    #[error("{0} is declared twice")]
    SameKey(String),
    /// A value that nothing may have.
    #[error("the value of {key} {problem}; allowed: at most 1000 printable characters, not starting with -")]
    Value {
        /// The key.
        key: String,
        /// What is wrong.
        problem: &'static str,
    },
}

/// The differences that a treatment declares, in the order of their declaration, no key twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Pairs", into = "Pairs")]
pub struct Declared {
    parameters: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    environment: Vec<(String, String)>,
}

impl Declared {
    /// Adds a parameter.
    ///
    /// # Errors
    /// A key other than `[a-z][a-z0-9_]{0,39}`, one that is declared already, or an impossible value.
    pub fn parameter(&mut self, key: &str, value: &str) -> Result<(), ArmsError> {
        let ok = |index: usize, c: char| c.is_ascii_lowercase() || (index > 0 && (c.is_ascii_digit() || c == '_'));
        let allowed = "1 to 40 characters a-z, 0-9, _, the first a letter";
        push(&mut self.parameters, "parameter", allowed, (key, value), ok)
    }

    /// Adds an environment variable.
    ///
    /// # Errors
    /// A name other than `[A-Za-z_][A-Za-z0-9_]{0,39}`, one that is declared already, or an impossible value.
    pub fn variable(&mut self, name: &str, value: &str) -> Result<(), ArmsError> {
        let ok = |index: usize, c: char| c.is_ascii_alphabetic() || c == '_' || (index > 0 && c.is_ascii_digit());
        let allowed = "1 to 40 characters A-Z, a-z, 0-9, _, the first no digit";
        push(&mut self.environment, "environment variable", allowed, (name, value), ok)
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// The environment variables.
    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Every difference with its key in commands and in a workload: a parameter by its name, a variable as `env.NAME`.
    pub fn entries(&self) -> impl Iterator<Item = (String, &str)> {
        let parameters = self.parameters.iter().map(|(key, value)| (key.clone(), value.as_str()));
        parameters.chain(self.environment.iter().map(|(name, value)| (format!("env.{name}"), value.as_str())))
    }

    /// Nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty() && self.environment.is_empty()
    }

    /// The map that [`stats::Arm::declared`] echoes.
    #[must_use]
    pub fn to_stats(&self) -> Vec<(String, Value)> {
        self.entries().map(|(key, value)| (key, Value::from(value))).collect()
    }
}

fn push(
    list: &mut Vec<(String, String)>,
    what: &'static str,
    allowed: &'static str,
    (key, value): (&str, &str),
    ok: impl Fn(usize, char) -> bool,
) -> Result<(), ArmsError> {
    if !(1..=40).contains(&key.len()) || !key.chars().enumerate().all(|(index, c)| ok(index, c)) {
        return Err(ArmsError::Key { what, key: key.chars().take(40).collect(), allowed });
    }
    if list.iter().any(|(known, _)| known == key) {
        return Err(ArmsError::SameKey(key.to_owned()));
    }
    let problem = if value.chars().count() > 1000 {
        Some("is too long")
    } else if value.starts_with('-') {
        Some("starts with -")
    } else if value.chars().any(char::is_control) {
        Some("has a control character")
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(ArmsError::Value { key: key.to_owned(), problem });
    }
    list.push((key.to_owned(), value.to_owned()));
    Ok(())
}

impl TryFrom<Pairs> for Declared {
    type Error = ArmsError;
    fn try_from(pairs: Pairs) -> Result<Self, Self::Error> {
        let mut declared = Self::default();
        pairs.parameters.iter().try_for_each(|(key, value)| declared.parameter(key, value))?;
        pairs.environment.iter().try_for_each(|(name, value)| declared.variable(name, value))?;
        Ok(declared)
    }
}

impl From<Declared> for Pairs {
    fn from(declared: Declared) -> Self {
        Self { parameters: declared.parameters, environment: declared.environment }
    }
}

/// A treatment: a commit and what it declares to do differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Treatment {
    /// Its name.
    pub name: ArmName,
    /// Its commit.
    pub commit: CommitSha,
    /// Its declared differences.
    #[serde(default, skip_serializing_if = "Declared::is_empty")]
    pub declared: Declared,
}

/// The arms of a comparison: one control, and treatments in the order of their declaration, no name twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ArmsText", into = "ArmsText")]
pub struct Arms {
    control: CommitSha,
    treatments: Vec<Treatment>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmsText {
    control: CommitSha,
    treatments: Vec<Treatment>,
}

impl Arms {
    /// The arms of a comparison.
    ///
    /// # Errors
    /// No treatment, or two of one name. (That none is named control is the parser's care.)
    pub fn new(control: CommitSha, treatments: Vec<Treatment>) -> Result<Self, ArmsError> {
        if treatments.is_empty() {
            return Err(ArmsError::NoTreatment);
        }
        for (index, treatment) in treatments.iter().enumerate() {
            if treatments[..index].iter().any(|other| other.name == treatment.name) {
                return Err(ArmsError::SameName(treatment.name.clone()));
            }
        }
        Ok(Self { control, treatments })
    }

    /// The commit of the control.
    #[must_use]
    pub fn control(&self) -> &CommitSha {
        &self.control
    }

    /// The treatments.
    #[must_use]
    pub fn treatments(&self) -> &[Treatment] {
        &self.treatments
    }

    /// Every role, control first.
    #[must_use]
    pub fn roles(&self) -> Vec<Role> {
        let treatments = self.treatments.iter().map(|treatment| Role::Treatment(treatment.name.clone()));
        std::iter::once(Role::Control).chain(treatments).collect()
    }

    /// The commit of an arm; `None` where there is no such arm.
    #[must_use]
    pub fn commit(&self, role: &Role) -> Option<&CommitSha> {
        match role {
            Role::Control => Some(&self.control),
            Role::Treatment(name) => {
                self.treatments.iter().find(|treatment| treatment.name == *name).map(|treatment| &treatment.commit)
            }
        }
    }
}

impl TryFrom<ArmsText> for Arms {
    type Error = ArmsError;
    fn try_from(text: ArmsText) -> Result<Self, Self::Error> {
        Self::new(text.control, text.treatments)
    }
}

impl From<Arms> for ArmsText {
    fn from(arms: Arms) -> Self {
        Self { control: arms.control, treatments: arms.treatments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn treatment(name: &str) -> Treatment {
        Treatment { name: name.parse().unwrap(), commit: sha('b'), declared: Declared::default() }
    }

    #[test]
    fn names_must_differ_and_there_must_be_one() {
        assert_eq!(Arms::new(sha('a'), vec![]), Err(ArmsError::NoTreatment));
        let error = Arms::new(sha('a'), vec![treatment("x"), treatment("y"), treatment("x")]).unwrap_err();
        assert_eq!(error.to_string(), "two treatments are named x; every treatment needs a name of its own");
        assert!(Arms::new(sha('a'), vec![treatment("x"), treatment("y")]).is_ok());
    }

    #[test]
    fn json_is_checked_like_the_constructor() {
        let mut one = treatment("wide");
        one.declared.parameter("pool_workers", "80").unwrap();
        one.declared.variable("MALLOC", "jemalloc").unwrap();
        let arms = Arms::new(sha('a'), vec![one]).unwrap();
        let text = serde_json::to_string(&arms).unwrap();
        assert_eq!(serde_json::from_str::<Arms>(&text).unwrap(), arms);
        for (from, to) in [("wide", "control"), ("pool_workers", "--workers"), ("MALLOC", "A B"), ("jemalloc", "-x")] {
            assert!(serde_json::from_str::<Arms>(&text.replace(from, to)).is_err(), "{to}");
        }
        assert!(serde_json::from_str::<Arms>(&format!(r#"{{"control":"{}","treatments":[]}}"#, sha('a'))).is_err());
    }

    #[test]
    fn declared_differences_keep_their_order() {
        let mut declared = Declared::default();
        declared.variable("B", "1").unwrap();
        declared.parameter("z", "2").unwrap();
        declared.parameter("a", "3").unwrap();
        let pairs: Vec<String> = declared.to_stats().iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(pairs, ["z=\"2\"", "a=\"3\"", "env.B=\"1\""]);
        assert_eq!(declared.parameter("a", "4"), Err(ArmsError::SameKey("a".to_owned())));
        for (key, value) in [("", "1"), ("A", "1"), ("0a", "1"), ("x", "-1"), ("x", "a\nb"), (&"x".repeat(41), "1")] {
            assert!(declared.parameter(key, value).is_err(), "{key:?} {value:?}");
        }
    }

    #[test]
    fn roles_are_text() {
        assert_eq!("control".parse(), Ok(Role::Control));
        assert_eq!("head".parse(), Ok(Role::Treatment("head".parse().unwrap())));
        assert_eq!(serde_json::to_string(&Role::Control).unwrap(), "\"control\"");
    }
}
