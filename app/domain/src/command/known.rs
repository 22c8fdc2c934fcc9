//! What a command may name: suites, their presets and parameters.

use crate::ids::SuiteName;

/// The suite that a line to type instead names where any would do; the first one where there is no such suite.
const USUAL: &str = "zephyr";

/// All suites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The suites, in the order in which they are listed.
    pub suites: Vec<SuiteKeys>,
}

/// A suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteKeys {
    /// Its name.
    pub name: SuiteName,
    /// The names of its presets.
    pub presets: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<ParameterKeys>,
}

/// A parameter of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterKeys {
    /// Its name, which is its key.
    pub name: String,
    /// Further keys that belong to it.
    pub others: Vec<String>,
    /// The words that it takes; `None` where it takes other values, which the suite judges.
    pub allowed: Option<Vec<String>>,
}

impl Known {
    /// The suite of a name.
    #[must_use]
    pub fn suite(&self, name: &str) -> Option<&SuiteKeys> {
        self.suites.iter().find(|suite| suite.name.as_str() == name)
    }

    /// The name of the suite that is most likely meant where none is named.
    pub(super) fn usual(&self) -> Option<&SuiteName> {
        self.suite(USUAL).or(self.suites.first()).map(|suite| &suite.name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.suites.iter().map(|suite| suite.name.as_str()).collect()
    }
}

impl SuiteKeys {
    /// Every key that belongs to a parameter.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().flat_map(|p| std::iter::once(&p.name).chain(&p.others)).map(String::as_str)
    }
}
