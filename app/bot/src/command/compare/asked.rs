//! What is compared, as it was typed.

use std::collections::BTreeSet;

use domain::arms::Declared;
use domain::ids::{ArmName, ExecutionId, JobId};
use lab::iris::existing::Ran;

use crate::failure::Failure;

/// One arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArmAsked {
    /// Its trials in the order of the rounds.
    pub(super) trials: Vec<Ran>,
    /// What it declares to have done differently.
    pub(super) declared: Declared,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) control: ArmAsked,
    pub(super) treatments: Vec<(ArmName, ArmAsked)>,
}

const FORM: &str = "control=JOB[,JOB] and treatment=NAME@JOB[,JOB][,key=value]; a job is /user/name, and instead of jobs an \
                    arm may have execution ids";

fn usage(problem: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{problem}; needed: {FORM}"))
}

impl Asked {
    /// Reads the pairs.
    pub(super) fn parse(pairs: &[String]) -> Result<Self, Failure> {
        let (mut control, mut treatments) = (None, Vec::new());
        for pair in pairs {
            let shown: String = pair.chars().take(80).collect();
            match pair.split_once('=') {
                Some(("control", value)) if control.is_none() => control = Some(arm(value)?),
                Some(("control", _)) => return Err(usage("control is given twice")),
                Some(("treatment", value)) => {
                    let (name, value) =
                        value.split_once('@').ok_or_else(|| usage(format!("{shown:?} does not name the treatment")))?;
                    let name: ArmName = name.parse().map_err(usage)?;
                    if treatments.iter().any(|(known, _)| *known == name) {
                        return Err(usage(format!("two treatments are named {name}")));
                    }
                    treatments.push((name, arm(value)?));
                }
                _ => return Err(usage(format!("{shown:?} is neither control=... nor treatment=..."))),
            }
        }
        let control = control.ok_or_else(|| usage("there is no control"))?;
        if treatments.is_empty() {
            return Err(usage("there is no treatment"));
        }
        if !control.declared.is_empty() {
            return Err(usage("only a treatment declares differences"));
        }
        let asked = Self { control, treatments };
        asked.check()?;
        Ok(asked)
    }

    /// The number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.control.trials.len()
    }

    fn check(&self) -> Result<(), Failure> {
        let rounds = self.rounds();
        for (name, arm) in &self.treatments {
            if arm.trials.len() != rounds {
                return Err(usage(format!(
                    "control has {rounds} jobs and {name} has {}: they are paired in their order, so that every arm needs \
                     as many",
                    arm.trials.len()
                )));
            }
        }
        let mut seen = BTreeSet::new();
        let arms = std::iter::once(&self.control).chain(self.treatments.iter().map(|(_, arm)| arm));
        let all = arms.flat_map(|arm| &arm.trials).flat_map(|ran| match ran {
            Ran::Job(job) => vec![job.to_string()],
            Ran::Executions(ids) => ids.iter().map(ToString::to_string).collect(),
        });
        for one in all {
            if !seen.insert(one.clone()) {
                return Err(usage(format!("{one} is named twice: a trial is compared once")));
            }
        }
        Ok(())
    }
}

/// Jobs or executions, and what is declared.
fn arm(text: &str) -> Result<ArmAsked, Failure> {
    let (mut jobs, mut ids, mut declared) = (Vec::new(), Vec::new(), Declared::default());
    for item in text.split(',') {
        if let Some((key, value)) = item.split_once('=') {
            let added = match key.strip_prefix("env.") {
                Some(name) => declared.variable(name, value),
                None => declared.parameter(key, value),
            };
            added.map_err(usage)?;
        } else if item.starts_with('/') {
            jobs.push(Ran::Job(item.parse::<JobId>().map_err(usage)?));
        } else {
            ids.push(item.parse::<ExecutionId>().map_err(usage)?);
        }
    }
    let trials = match (jobs.is_empty(), ids.is_empty()) {
        (false, true) => jobs,
        (true, false) => vec![Ran::Executions(ids)],
        (false, false) => return Err(usage("an arm has jobs or execution ids, not both")),
        (true, true) => return Err(usage("an arm has neither jobs nor execution ids")),
    };
    Ok(ArmAsked { trials, declared })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Asked, String> {
        let pairs: Vec<String> = words.split(' ').map(str::to_owned).collect();
        Asked::parse(&pairs).map_err(|failure| failure.to_string())
    }

    #[test]
    fn jobs_are_paired_in_their_order() {
        let asked =
            parse("control=/me/a,/me/b treatment=head@/me/c,/me/d treatment=wide@/me/e,/me/f,pool_workers=80").unwrap();
        assert_eq!(asked.rounds(), 2);
        assert_eq!(asked.control.trials[1], Ran::Job("/me/b".parse().unwrap()));
        let wide: Vec<(String, &str)> = asked.treatments[1].1.declared.entries().collect();
        assert_eq!(wide, [("pool_workers".to_owned(), "80")]);
    }

    #[test]
    fn executions_of_an_arm_are_one_trial() {
        let asked =
            parse("control=20261129-202850-8d10c1b5,a-20261129-202851-8d10c1b5 treatment=x@b-20261129-202850-8d10c1b6")
                .unwrap();
        assert!(matches!(&asked.control.trials[..], [Ran::Executions(ids)] if ids.len() == 2));
    }

    #[test]
    fn refused() {
        for (words, message) in [
            ("control=/me/a,/me/b treatment=x@/me/c", "control has 2 jobs and x has 1: "),
            ("control=/me/a treatment=x@/me/a", "/me/a is named twice: "),
            ("control=/me/a", "there is no treatment; "),
            ("treatment=x@/me/a", "there is no control; "),
            ("control=/me/a control=/me/b treatment=x@/me/c", "control is given twice; "),
            ("control=/me/a treatment=/me/b", "\"treatment=/me/b\" does not name the treatment; "),
            ("control=/me/a treatment=control@/me/b", "a treatment's name "),
            ("control=/me/a treatment=x@/me/b treatment=x@/me/c", "two treatments are named x; "),
            ("control=/me/a,k=v treatment=x@/me/b", "only a treatment declares differences; "),
            (
                "control=/me/a,20261129-202850-8d10c1b5 treatment=x@/me/b",
                "an arm has jobs or execution ids, not both; ",
            ),
            ("control=/me/../a treatment=x@/me/b", "a job id "),
            ("control='OR1=1 treatment=x@/me/b", "\"'OR1\" is not the name of a parameter; "),
            ("base=/me/a treatment=x@/me/b", "\"base=/me/a\" is neither control=... nor treatment=...; "),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.starts_with(message), "{words}: {error}");
        }
    }
}
