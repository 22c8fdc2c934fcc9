//! What is simulated: the truth, the noise, the plan of measurement, and how it is judged.

use serde::{Serialize, Serializer};
use thiserror::Error;

/// A word that is none of those that are known.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{word}` is no {what}; known are {known}{}", nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// What it was meant to name.
    pub what: &'static str,
    /// All words.
    pub known: String,
    /// The nearest of them, where one is near.
    pub nearest: Option<String>,
}

impl UnknownWord {
    /// The error for `word`, which should have been one of `known`.
    #[must_use]
    pub fn new(word: &str, what: &'static str, known: &[&str]) -> Self {
        let near = known.iter().map(|k| (edits(word, k), *k)).min().filter(|(d, k)| *d <= 2.max(k.len() / 3));
        Self {
            word: word.chars().take(60).collect(),
            what,
            known: known.join(", "),
            nearest: near.map(|(_, k)| k.to_owned()),
        }
    }
}

/// Insertions, deletions and replacements between two words (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut line: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(60).enumerate() {
        let mut before = line[0];
        line[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != *y);
            before = line[j + 1];
            line[j + 1] = replaced.min(before + 1).min(line[j] + 1);
        }
    }
    line[b.len()]
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$each:meta])* $variant:ident $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub enum $name { $($(#[$each])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its word on the command line.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|x| x.word() == word)
                    .ok_or_else(|| UnknownWord::new(word, $what, &[$($word,)*]))
            }
        }
    };
}

words! {
    /// How the logarithm of a run's time varies about the truth, per row unless said otherwise.
    Noise, "kind of noise":
    /// Normal with standard deviation cv.
    Lognormal "lognormal",
    /// Student's t with 3 degrees of freedom, scaled to standard deviation cv.
    T3 "t3",
    /// Normal, and with probability 3 % slower by 15 to 40 %.
    Outliers "outliers",
    /// Normal with half of cv, and with probability 30 % slower by 6 %.
    Bimodal "bimodal",
    /// Normal, and all rows follow one random walk over the runs with steps of 1.5 %.
    Drift "drift",
    /// Normal, and all rows of a run share an effect with standard deviation 2 %.
    Common "common",
    /// Normal with cv from 0.5 % in the first row to 4 % in the last, in geometric steps.
    Mixed "mixed",
}

words! {
    /// The order of the runs.
    Order, "order":
    /// Control and treatment in turn, the order reversed in every other round.
    Abba "abba",
    /// All control runs, then all treatment runs.
    Sequential "sequential",
}

words! {
    /// How the total is divided over the rows.
    Sizes, "division of sizes":
    /// Equally.
    Equal "equal",
    /// Share of row i proportional to i^-1.1; smaller rows are noisier, cv·(share of the first/share)^0.25.
    Zipf "zipf",
}

words! {
    /// The tolerance of a row.
    Margins, "kind of margins":
    /// The margin.
    Flat "flat",
    /// The margin, stretched where the share is small.
    Impact "impact",
}

words! {
    /// What judges.
    Method, "method":
    /// The procedure.
    Abv1 "abv1",
    /// Any row slower by Welch's t test at a two-sided 5 %.
    Welch "welch",
    /// Any row slower by the Mann-Whitney test at a two-sided 5 %.
    MannWhitney "mwu",
    /// Any row whose 95 % bootstrap interval of the ratio of the means lies above 1.
    Bootstrap "bootstrap",
    /// Any row whose ratio of the means exceeds 1.05.
    Threshold "threshold",
}

/// Which metrics are judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metrics {
    /// The family of CPU rows alone with its own budget: no floors, no TOTAL, no alarm.
    Cpu,
    /// A whole case with both metrics and TOTAL, as it is judged.
    Both {
        /// Standard deviation of one run's elapsed time, as a share.
        elapsed_cv: f64,
    },
}

/// Which rows an effect changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Affected {
    /// The first so many.
    First(usize),
    /// All.
    All,
    /// The one with the largest share.
    Largest,
    /// The one whose share of the total is nearest to this.
    Share(f64),
}

impl std::fmt::Display for Affected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::First(count) => write!(f, "{count}"),
            Self::All => f.write_str("all"),
            Self::Largest => f.write_str("largest"),
            Self::Share(share) => write!(f, "share={share}"),
        }
    }
}

impl Serialize for Affected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::str::FromStr for Affected {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord::new(word, "set of rows", &["all", "largest", "share=0.03", "a number of rows"]);
        match word {
            "all" => Ok(Self::All),
            "largest" => Ok(Self::Largest),
            _ => match word.strip_prefix("share=") {
                Some(share) => share.parse().map(Self::Share).map_err(|_| unknown()),
                None => word.parse().map(Self::First).map_err(|_| unknown()),
            },
        }
    }
}

/// When is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Once, after each of these numbers of rounds; every number is an experiment of its own.
    Rounds(Vec<u64>),
    /// At each of these numbers of rounds with a spending of the budgets, until something is decided.
    Looks {
        /// The declared looks, ascending.
        looks: Vec<u64>,
        /// Extensions by one round after the last look. With any, every look counts and nothing stops.
        extensions: u64,
    },
}

/// Everything that a simulation depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Stage rows.
    pub stages: usize,
    /// Standard deviation of one run's CPU time, as a share.
    pub cv: f64,
    /// The kind of noise.
    pub noise: Noise,
    /// Change of the treatment's true CPU time in the affected rows, as a share.
    pub effect: f64,
    /// Change of the treatment's true elapsed time in the affected rows, as a share.
    pub elapsed_effect: f64,
    /// The affected rows.
    pub affected: Affected,
    /// When is judged.
    pub schedule: Schedule,
    /// Same-code pairs that calibrate.
    pub calibration: usize,
    /// The order of the runs.
    pub order: Order,
    /// Simulated comparisons.
    pub trials: u64,
    /// The seed.
    pub seed: u64,
    /// What is judged.
    pub metrics: Metrics,
    /// How the total is divided over the rows.
    pub sizes: Sizes,
    /// The tolerance of a row.
    pub margins: Margins,
    /// Treatments that share the control; the effect is on the first alone.
    pub treatments: usize,
    /// Control runs of an unpaired comparison, from other minutes.
    pub unpaired: Option<usize>,
    /// What judges.
    pub method: Method,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stages: 20,
            cv: 0.01,
            noise: Noise::Lognormal,
            effect: 0.0,
            elapsed_effect: 0.0,
            affected: Affected::First(1),
            schedule: Schedule::Rounds(vec![3]),
            calibration: 10,
            order: Order::Abba,
            trials: 4000,
            seed: 1,
            metrics: Metrics::Cpu,
            sizes: Sizes::Equal,
            margins: Margins::Flat,
            treatments: 1,
            unpaired: None,
            method: Method::Abv1,
        }
    }
}

/// A setting that is outside its range, or does not go with another.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{setting}: {expected}")]
pub struct OutOfRange {
    /// The setting.
    pub setting: &'static str,
    /// What is allowed, and what was given.
    pub expected: String,
}

pub(crate) fn within<T: Copy + PartialOrd + std::fmt::Display>(
    setting: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), OutOfRange> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(OutOfRange { setting, expected: format!("expected {low} to {high}, got {value}") })
}

pub(crate) fn ascending(setting: &'static str, rounds: &[u64]) -> Result<(), OutOfRange> {
    if rounds.is_empty() || rounds.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(OutOfRange { setting, expected: "expected an ascending list such as 1,2,3,5".to_owned() });
    }
    rounds.iter().try_for_each(|n| within(setting, *n, 1, 1000))
}

impl Settings {
    /// Whether nothing was changed by the treatment.
    #[must_use]
    pub fn without_effect(&self) -> bool {
        self.effect == 0.0 && self.elapsed_effect == 0.0
    }

    /// Whether every setting is in its range and goes with the others.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within("stages", self.stages, 1, 1000)?;
        within("cv", self.cv, 1e-6, 1.0)?;
        within("effect", self.effect, -0.95, 10.0)?;
        within("elapsed-effect", self.elapsed_effect, -0.95, 10.0)?;
        match self.affected {
            Affected::First(count) => within("affected", count, 1, self.stages)?,
            Affected::Share(share) => within("affected", share, 1e-6, 1.0)?,
            Affected::All | Affected::Largest => {}
        }
        match &self.schedule {
            Schedule::Rounds(rounds) => ascending("rounds", rounds)?,
            Schedule::Looks { looks, extensions } => {
                ascending("looks", looks)?;
                within("extensions", *extensions, 0, 1000)?;
            }
        }
        within("calibration", self.calibration, 0, 1000)?;
        within("trials", self.trials, 1, 1_000_000_000)?;
        if let Metrics::Both { elapsed_cv } = self.metrics {
            within("elapsed-cv", elapsed_cv, 1e-6, 1.0)?;
        }
        within("treatments", self.treatments, 1, 20)?;
        if let Some(controls) = self.unpaired {
            within("unpaired", controls, 1, 1000)?;
        }
        let conflict = |setting, expected: &str| Err(OutOfRange { setting, expected: expected.to_owned() });
        if self.elapsed_effect != 0.0 && self.metrics == Metrics::Cpu {
            return conflict("elapsed-effect", "elapsed time is simulated with --metrics both only");
        }
        if self.method != Method::Abv1 {
            if self.metrics != Metrics::Cpu {
                return conflict("method", "other methods judge CPU time only: use --metrics cpu");
            }
            if matches!(self.schedule, Schedule::Looks { .. }) || self.treatments > 1 {
                return conflict("method", "other methods know neither looks nor several treatments: use --rounds");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_the_nearest_is_named() {
        for noise in Noise::ALL {
            assert_eq!(noise.word().parse(), Ok(*noise));
        }
        let error = "lognorma".parse::<Noise>().unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("lognormal"));
        assert!(error.to_string().contains("did you mean `lognormal`"), "{error}");
        assert_eq!("zzzzzzzzzzzz".parse::<Order>().unwrap_err().nearest, None);
    }

    #[test]
    fn affected_rows() {
        assert_eq!("3".parse(), Ok(Affected::First(3)));
        assert_eq!("share=0.03".parse(), Ok(Affected::Share(0.03)));
        assert!("share=x".parse::<Affected>().is_err());
        assert!("-1".parse::<Affected>().is_err());
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let refused = |settings: Settings| settings.check().unwrap_err().setting;
        let d = Settings::default;
        assert_eq!(d().check(), Ok(()));
        assert_eq!(refused(Settings { stages: 0, ..d() }), "stages");
        assert_eq!(refused(Settings { cv: f64::NAN, ..d() }), "cv");
        assert_eq!(refused(Settings { effect: -1.0, ..d() }), "effect");
        assert_eq!(refused(Settings { affected: Affected::First(21), ..d() }), "affected");
        assert_eq!(refused(Settings { schedule: Schedule::Rounds(vec![3, 2]), ..d() }), "rounds");
        assert_eq!(refused(Settings { elapsed_effect: 0.1, ..d() }), "elapsed-effect");
        assert_eq!(refused(Settings { method: Method::Welch, treatments: 2, ..d() }), "method");
    }
}
