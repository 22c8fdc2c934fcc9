//! What kind of change something is, and why it needs what it needs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It stays inside one stage.
    StageLocal,
    /// It moves data between stages: exchange, spilling, merging.
    Shuffle,
    /// It alters what runs where and how much at once: pools, scheduling, concurrency. What it gains is an exchange of
    /// latency and compute, never work per core.
    Topology,
    /// It alters the benchmark itself.
    Benchmark,
    /// It cannot alter what is measured.
    Trivial,
}

impl Class {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::StageLocal, Self::Shuffle, Self::Topology, Self::Benchmark, Self::Trivial];

    /// Its word in suites and comments.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::StageLocal => "stage-local",
            Self::Shuffle => "shuffle",
            Self::Topology => "topology",
            Self::Benchmark => "benchmark",
            Self::Trivial => "trivial",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A kind of change with the suite's reasons for what it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classified {
    /// The kind.
    pub class: Class,
    /// Why, each a sentence of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// The kinds of change that a comparison is about, by the rules of its suite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeOf {
    /// Each kind once, in the order of the rules.
    pub classes: Vec<Classified>,
}

impl ScopeOf {
    /// Whether a kind is among them.
    #[must_use]
    pub fn has(&self, class: Class) -> bool {
        self.classes.iter().any(|one| one.class == class)
    }

    /// Adds a kind with a reason.
    pub fn add(&mut self, class: Class, why: Option<&str>) {
        let at = self.classes.iter().position(|one| one.class == class).unwrap_or_else(|| {
            self.classes.push(Classified { class, why: Vec::new() });
            self.classes.len() - 1
        });
        let known = &mut self.classes[at].why;
        known.extend(why.filter(|why| !known.iter().any(|other| other == why)).map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_that_are_written_down() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.word());
        }
    }

    #[test]
    fn each_kind_and_each_reason_once() {
        let mut scope = ScopeOf::default();
        for (class, why) in [
            (Class::Shuffle, Some("a")),
            (Class::Topology, None),
            (Class::Shuffle, Some("b")),
            (Class::Shuffle, Some("a")),
        ] {
            scope.add(class, why);
        }
        let shown: Vec<(Class, usize)> = scope.classes.iter().map(|one| (one.class, one.why.len())).collect();
        assert_eq!(shown, [(Class::Shuffle, 2), (Class::Topology, 0)]);
        assert!(scope.has(Class::Topology) && !scope.has(Class::Trivial));
    }
}
