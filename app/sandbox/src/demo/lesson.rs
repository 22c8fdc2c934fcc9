//! The benchmark of the demo, and what its branches change.

const BENCH: &str = include_str!("bench.sh");
/// What stands beside the benchmark on the usual branch.
pub const README: &str = "# A small benchmark\n\n`sh bench.sh load|join|store` turns a loop and says how often.\n";
const JOIN: &str = "  join) fetch; turn \"$loops\" ;;";
const JOIN_TWICE: &str = "  join) fetch; turn \"$loops\"; turn \"$loops\" ;;";

/// A benchmark in plain shell: three steps, each of which waits for its data and then turns a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bench {
    /// How often a step turns its loop.
    pub loops: u64,
    /// How long a step waits for its data, seconds as `sleep` knows them.
    pub wait: &'static str,
}

impl Bench {
    /// What its commit is called.
    pub const TITLE: &str = "A benchmark in three steps";

    /// The text of the benchmark.
    #[must_use]
    pub fn text(&self) -> String {
        BENCH.replace("@LOOPS@", &self.loops.to_string()).replace("@WAIT@", self.wait)
    }
}

/// What a branch changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// One step needs more CPU time for the same work.
    Slower,
    /// Only a comment and the README.
    Same,
    /// Every step works while it waits for its data: faster, and dearer.
    Dearer,
    /// The steps do only half of the work.
    Different,
}

impl Lesson {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Slower, Self::Same, Self::Dearer, Self::Different];

    /// The name of the branch.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Dearer => "dearer",
            Self::Different => "different",
        }
    }

    /// What its commit is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Slower => "Check every row twice",
            Self::Same => "Say more in a comment",
            Self::Dearer => "Work while waiting for the data",
            Self::Different => "Skip half of the data",
        }
    }

    /// The benchmark after the change.
    #[must_use]
    pub fn changed(self, main: &str) -> String {
        let step = |name: &str| format!("  {name}) fetch; turn \"$loops\" ;;");
        match self {
            Self::Slower => main.replace(JOIN, JOIN_TWICE),
            Self::Same => main.replace("# turn N: the work", "# turn N: all of the work"),
            Self::Dearer => {
                // 30 % more work, but none of it waits for the data.
                let both = "fetch & turn \"$(( loops * 13 / 10 ))\"; wait";
                let with = |text: String, name: &str| text.replace(&step(name), &format!("  {name}) {both} ;;"));
                ["load", "join", "store"].into_iter().fold(main.to_owned(), with)
            }
            Self::Different => {
                let half = |line: &str| line.replace("loops=", "loops=$(( ") + " / 2 ))";
                let line = |line: &str| if line.starts_with("loops=") { half(line) } else { line.to_owned() };
                main.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
            }
        }
    }

    /// The README after the change.
    #[must_use]
    pub fn readme(self) -> String {
        let more = match self {
            Self::Slower => "The second step does its work twice.",
            Self::Same => "Nothing else changes.",
            Self::Dearer => "Every step works while it waits for its data, which costs something.",
            Self::Different => "Only half of the data is processed.",
        };
        format!("{README}\n{more}\n")
    }
}

/// The change that is pushed next to a branch, and what its commit is called. `None` where the benchmark is another one.
pub(super) fn next(bench: &str) -> Option<(String, &'static str)> {
    if bench.contains(JOIN_TWICE) {
        return Some((bench.replace(JOIN_TWICE, JOIN), "Check every row once"));
    }
    bench.contains(JOIN).then(|| (bench.replace(JOIN, JOIN_TWICE), Lesson::Slower.title()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lesson_changes_the_benchmark() {
        let main = Bench { loops: 1000, wait: "0.5" }.text();
        assert!(main.contains("\nloops=1000\n") && main.contains("sleep 0.5\n") && !main.contains('@'), "{main}");
        for lesson in Lesson::ALL {
            assert_ne!(lesson.changed(&main), main, "{lesson:?}");
        }
        assert!(Lesson::Slower.changed(&main).contains("join) fetch; turn \"$loops\"; turn \"$loops\" ;;"));
        assert_eq!(Lesson::Dearer.changed(&main).matches("fetch & turn").count(), 3);
        assert!(Lesson::Different.changed(&main).contains("\nloops=$(( 1000 / 2 ))\n"));
    }

    #[test]
    fn what_is_pushed_next() {
        let main = Bench { loops: 1000, wait: "0.5" }.text();
        let (twice, title) = next(&main).unwrap();
        assert_eq!((&twice, title), (&Lesson::Slower.changed(&main), "Check every row twice"));
        assert_eq!(next(&twice), Some((main.clone(), "Check every row once")));
        assert_eq!(next(&Lesson::Dearer.changed(&main)), None);
    }
}
