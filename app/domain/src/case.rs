//! From counted trials to what `stats::judge` takes.

use stats::{Arm, Calibration, Case, Config, Control, Round, Trial};

use crate::ids::ArmName;

/// One counted round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedRound {
    /// The control trial.
    pub control: Trial,
    /// The treatments' trials in the order of declaration; `None` for one that was decided before this round.
    pub treatments: Vec<Option<Trial>>,
}

/// The trials that count.
#[derive(Clone, Debug, PartialEq)]
pub enum Trials {
    /// Rounds: trials side by side in time.
    Paired(Vec<CountedRound>),
    /// Control and treatment trials of different minutes.
    Unpaired {
        /// The control trials, shared by all treatments.
        control: Vec<Trial>,
        /// The trials of each treatment in the order of declaration.
        treatments: Vec<Vec<Trial>>,
    },
}

/// Why trials are not a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// There is nothing to judge.
    #[error("a case needs at least one treatment")]
    NoTreatment,
    /// Two treatments of one name.
    #[error("two treatments are named {0}")]
    SameName(ArmName),
    /// A round, or an unpaired comparison, has trials for another number of treatments.
    #[error("{place} has {found} treatments where {expected} are declared")]
    Treatments {
        /// The round, counted from 1, or the comparison.
        place: String,
        /// Treatments found.
        found: usize,
        /// Treatments declared.
        expected: usize,
    },
}

/// The case of a comparison. `treatments` are the declared ones in their order, with everything that is known of them
/// besides their trials; rounds and trials that stand there are replaced. One treatment has its own control trial in
/// each round; several share it by index. `config.paired` is set by the kind of `trials`.
///
/// # Errors
/// See [`CaseError`].
pub fn case(
    mut config: Config,
    calibration: Calibration,
    treatments: Vec<(ArmName, Arm)>,
    trials: Trials,
) -> Result<Case, CaseError> {
    if treatments.is_empty() {
        return Err(CaseError::NoTreatment);
    }
    for (index, (name, _)) in treatments.iter().enumerate() {
        if treatments[..index].iter().any(|(other, _)| other == name) {
            return Err(CaseError::SameName(name.clone()));
        }
    }
    let expected = treatments.len();
    let several = expected > 1;
    let mut arms: Vec<(String, Arm)> = treatments
        .into_iter()
        .map(|(name, arm)| (String::from(name), Arm { rounds: Vec::new(), trials: Vec::new(), ..arm }))
        .collect();
    config.paired = matches!(trials, Trials::Paired(_));
    let mut shared = Vec::new();
    match trials {
        Trials::Paired(rounds) => {
            for (index, round) in rounds.into_iter().enumerate() {
                let found = round.treatments.len();
                if found != expected {
                    return Err(CaseError::Treatments { place: format!("round {}", index + 1), found, expected });
                }
                let mut own = Some(round.control);
                if several {
                    shared.extend(own.take());
                }
                for ((_, arm), trial) in arms.iter_mut().zip(round.treatments) {
                    let Some(treatment) = trial else { continue };
                    let control = own.take().map_or(Control::Shared(index), Control::Own);
                    arm.rounds.push(Round { control, treatment });
                }
            }
        }
        Trials::Unpaired { control, treatments } => {
            let found = treatments.len();
            if found != expected {
                return Err(CaseError::Treatments { place: "the comparison".to_owned(), found, expected });
            }
            shared = control;
            for ((_, arm), trials) in arms.iter_mut().zip(treatments) {
                arm.trials = trials;
            }
        }
    }
    Ok(Case { config, calibration, control: shared, arms, several })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(executions: u64) -> Trial {
        Trial { executions: Some(executions), ..Trial::default() }
    }

    fn declared(names: &[&str]) -> Vec<(ArmName, Arm)> {
        names.iter().map(|name| (name.parse().unwrap(), Arm::default())).collect()
    }

    fn build(names: &[&str], trials: Trials) -> Result<Case, CaseError> {
        case(Config::default(), Calibration::default(), declared(names), trials)
    }

    #[test]
    fn one_treatment_owns_its_controls() {
        let rounds =
            (0..2).map(|n| CountedRound { control: trial(n), treatments: vec![Some(trial(10 + n))] }).collect();
        let case = build(&["head"], Trials::Paired(rounds)).unwrap();
        assert!(case.config.paired && !case.several && case.control.is_empty());
        let expected = (0..2).map(|n| Round { control: Control::Own(trial(n)), treatment: trial(10 + n) });
        assert_eq!(case.arms[0].1.rounds, expected.collect::<Vec<_>>());
    }

    #[test]
    fn several_treatments_share_controls_by_index() {
        let rounds = vec![
            CountedRound { control: trial(0), treatments: vec![Some(trial(10)), Some(trial(20))] },
            CountedRound { control: trial(1), treatments: vec![None, Some(trial(21))] },
        ];
        let case = build(&["a", "b"], Trials::Paired(rounds)).unwrap();
        assert!(case.several);
        assert_eq!(case.control, [trial(0), trial(1)]);
        let of = |arm: usize| case.arms[arm].1.rounds.clone();
        assert_eq!(of(0), [Round { control: Control::Shared(0), treatment: trial(10) }]);
        assert_eq!(of(1)[1], Round { control: Control::Shared(1), treatment: trial(21) });
    }

    #[test]
    fn unpaired() {
        let trials = Trials::Unpaired { control: vec![trial(1); 3], treatments: vec![vec![trial(2)]] };
        let case = build(&["head"], trials).unwrap();
        assert!(!case.config.paired);
        assert_eq!((case.control.len(), case.arms[0].1.trials.len()), (3, 1));
    }

    #[test]
    fn refused() {
        assert_eq!(build(&[], Trials::Paired(vec![])).unwrap_err(), CaseError::NoTreatment);
        assert!(matches!(build(&["a", "a"], Trials::Paired(vec![])), Err(CaseError::SameName(_))));
        let short = CountedRound { control: trial(0), treatments: vec![] };
        let error = build(&["a"], Trials::Paired(vec![short])).unwrap_err();
        assert_eq!(error.to_string(), "round 1 has 0 treatments where 1 are declared");
    }
}
