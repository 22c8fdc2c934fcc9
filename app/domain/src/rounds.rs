//! In which order the trials of a round run, and what their jobs are called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::arms::Role;
use crate::ids::{ArmName, RunId};

/// How the trials of a round lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundMode {
    /// All submitted in the same minutes, in alternating order. The default on clusters.
    Together,
    /// One after the other, in ABBA order. The default on one machine.
    InTurn,
}

/// A word that is not a round mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a round mode; allowed: together, in-turn")]
pub struct RoundModeError(String);

impl RoundMode {
    /// The word in suites and commands.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::InTurn => "in-turn",
        }
    }

    /// How many of the `places` of a round may be under way at once.
    #[must_use]
    pub fn in_flight(self, places: usize) -> usize {
        match self {
            Self::Together => places,
            Self::InTurn => places.min(1),
        }
    }
}

impl FromStr for RoundMode {
    type Err = RoundModeError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Together, Self::InTurn]
            .into_iter()
            .find(|mode| mode.word() == text)
            .ok_or_else(|| RoundModeError(text.chars().take(40).collect()))
    }
}

/// The places of a round, first submitted first: control, then the treatments in the order of their declaration;
/// reversed in even rounds. With one treatment that is ABBA, so that over an even number of rounds a linear drift
/// cancels and neither arm is always first; it is the order of both modes, which differ in what is under way at once.
///
/// `treatments` are those not yet decided; the control has a place as long as there is one. A replaced round has the
/// order of the round that it replaces. `round` is counted from 1.
#[must_use]
pub fn order(round: u32, treatments: &[ArmName]) -> Vec<Role> {
    if treatments.is_empty() {
        return Vec::new();
    }
    let mut places: Vec<Role> = treatments.iter().cloned().map(Role::Treatment).collect();
    places.insert(0, Role::Control);
    if round.is_multiple_of(2) {
        places.reverse();
    }
    places
}

/// One trial of a run. Its text is the name of its job, `zab-<run>-r<round>.<replacement>-<place>`: a function of the
/// trial only, never of the attempt to submit it, so that a job can be found again by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrialName {
    /// The run.
    pub run: RunId,
    /// The round, from 1.
    pub round: u32,
    /// How often the round was replaced.
    pub replacement: u32,
    /// The place in the round's order, from 1.
    pub place: u32,
}

/// A text that is not the name of a trial's job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a trial's job; allowed: zab-<run>-r<round>.<replacement>-<place>, round and place from 1")]
pub struct TrialNameError;

impl fmt::Display for TrialName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zab-{}-r{}.{}-{}", self.run, self.round, self.replacement, self.place)
    }
}

impl FromStr for TrialName {
    type Err = TrialNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (run, trial) = text.strip_prefix("zab-")?.split_once("-r")?;
            let (round, rest) = trial.split_once('.')?;
            let (replacement, place) = rest.split_once('-')?;
            let number = |digits: &str, least: u32| digits.parse().ok().filter(|n| *n >= least);
            Some(Self {
                run: run.parse().ok()?,
                round: number(round, 1)?,
                replacement: number(replacement, 0)?,
                place: number(place, 1)?,
            })
        };
        // One trial has one name: `+1` and `01` are numbers to the standard library, but not ours.
        parse().filter(|name| name.to_string() == text).ok_or(TrialNameError)
    }
}

impl TryFrom<String> for TrialName {
    type Error = TrialNameError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<TrialName> for String {
    fn from(name: TrialName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(round: u32, names: &[&str]) -> String {
        let treatments: Vec<ArmName> = names.iter().map(|name| name.parse().unwrap()).collect();
        order(round, &treatments).iter().map(Role::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_treatment_is_abba() {
        let four: Vec<String> = (1..=4).map(|round| places(round, &["head"])).collect();
        assert_eq!(four.join(" | "), "control head | head control | control head | head control");
    }

    #[test]
    fn several_treatments_turn_round() {
        assert_eq!(places(1, &["a", "b", "c"]), "control a b c");
        assert_eq!(places(2, &["a", "b", "c"]), "c b a control");
        assert_eq!(places(3, &["b"]), "control b");
        assert_eq!(places(3, &[]), "");
    }

    #[test]
    fn linear_drift_cancels_over_two_rounds() {
        let names: Vec<ArmName> = ["a", "b", "c"].iter().map(|name| name.parse().unwrap()).collect();
        let timeline: Vec<Role> = (1..=2).flat_map(|round| order(round, &names)).collect();
        let when = |role: &Role| -> usize {
            timeline.iter().enumerate().filter(|(_, other)| *other == role).map(|(at, _)| at).sum()
        };
        assert!(names.iter().all(|name| when(&Role::Treatment(name.clone())) == when(&Role::Control)));
    }

    #[test]
    fn modes() {
        assert_eq!("in-turn".parse(), Ok(RoundMode::InTurn));
        assert_eq!((RoundMode::Together.in_flight(4), RoundMode::InTurn.in_flight(4)), (4, 1));
        assert!("In-turn".parse::<RoundMode>().is_err());
        for mode in [RoundMode::Together, RoundMode::InTurn] {
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("{:?}", mode.word()));
        }
    }

    #[test]
    fn trial_names() {
        let text = "zab-20261129T202850Z-8d10c1b5-r2.1-3";
        let name: TrialName = text.parse().unwrap();
        assert_eq!((name.round, name.replacement, name.place), (2, 1, 3));
        assert_eq!(name.to_string(), text);
        assert!(format!("/bot/{text}").parse::<crate::ids::JobId>().is_ok());
        for bad in ["r0.1-3", "r2.1-0", "r02.1-3", "r+2.1-3", "r2.1", "r2-1-3", "r2.1-3-4", "r99999999999.1-1", ""] {
            let text = format!("zab-20261129T202850Z-8d10c1b5-{bad}");
            assert_eq!(text.parse::<TrialName>(), Err(TrialNameError), "{text}");
        }
    }
}
