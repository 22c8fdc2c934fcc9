//! Comparisons of jobs that had run before: what they may say of the head that they are shown at.

use domain::plan::{Doubt, Plan};
use domain::ports::forge::{CheckWanted, Conclusion};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Asked, Shown, Stage};

use super::{Archive, Service};
use crate::engine::{EngineError, key_of, plan_of};

/// Why a comparison is no word about its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Why {
    /// In a few words.
    short: &'static str,
    /// In a sentence without its end.
    words: String,
}

impl From<Doubt> for Why {
    fn from(doubt: Doubt) -> Self {
        Self { short: doubt.short(), words: doubt.words() }
    }
}

/// Why what was asked for is no word about its head, by its plan where there is one.
fn of(asked: &Asked, plan: Option<&Plan>) -> Option<Why> {
    match plan {
        Some(plan) => plan.doubt(&asked.head).map(Why::from),
        None if asked.jobs => Some(Why {
            short: "jobs of unknown commits were compared",
            words: format!(
                "what the jobs were made of cannot be read any more; so this says nothing of the head {}",
                asked.head.short()
            ),
        }),
        None => None,
    }
}

impl Why {
    /// What a comparison came to, so that nobody takes it for a word about the head.
    fn before(&self, said: &str) -> String {
        format!("{}: {said}", self.short)
    }
}

/// What a run came to, as it is told later: `said` where it is about the head.
pub(super) fn said(asked: &Asked, plan: &Plan, said: String) -> String {
    of(asked, Some(plan)).map_or_else(|| said.clone(), |why| why.before(&said))
}

/// The check of a comparison that is no word about its head: neither for it nor against it.
pub(super) fn neither(check: CheckWanted, why: &Why) -> CheckWanted {
    CheckWanted {
        conclusion: Some(Conclusion::Neutral),
        title: why.before(&check.title),
        summary: format!("Existing jobs were compared, and {}.\n\n{}", why.words, check.summary),
        ..check
    }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Why the verdict that is shown is no word about its head; `None` where it is one, and where there is none.
    pub(super) async fn doubt(&self, shown: &Shown) -> Result<Option<Why>, EngineError> {
        let decided = matches!(&shown.stage, Stage::Over(over) if over.verdict.is_some());
        if !decided || !shown.asked.jobs {
            return Ok(None);
        }
        let subject = self.desk().read(&key_of(&shown.asked.run)).await?;
        let plan = subject.as_ref().map(plan_of).transpose()?;
        Ok(of(&shown.asked, plan.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::CommitSha;
    use domain::ports::forge::{Account, PullId, Repo};
    use domain::pull::Cause;
    use domain::time::Ms;

    fn asked(jobs: bool) -> Asked {
        let head: CommitSha = "a".repeat(40).parse().unwrap();
        Asked {
            run: domain::ids::RunId::new(1_795_984_130, 7).unwrap(),
            pull: PullId { repo: Repo { id: 1, name: "octo/bench".to_owned(), installation: 1 }, number: 42 },
            suite: "rig".to_owned(),
            pairs: Vec::new(),
            base: head.clone(),
            head,
            base_ref: "main".to_owned(),
            fork: false,
            by: Account { id: 1, login: "mona".to_owned() },
            comment: 1,
            at: Ms(0),
            continues: None,
            retries: None,
            cause: Cause::Command,
            jobs,
        }
    }

    #[test]
    fn jobs_without_a_plan_never_pass_and_never_fail() {
        assert_eq!(of(&asked(false), None), None);
        let why = of(&asked(true), None).unwrap();
        for conclusion in [Conclusion::Success, Conclusion::Failure, Conclusion::ActionRequired] {
            let check = CheckWanted {
                repo: asked(true).pull.repo,
                head: asked(true).head,
                name: "zephyr-ab / rig".to_owned(),
                external: String::new(),
                conclusion: Some(conclusion),
                title: "no regression".to_owned(),
                summary: "All is well.".to_owned(),
                text: String::new(),
                details: None,
                buttons: Vec::new(),
                started: Ms(0),
                ended: None,
            };
            let told = neither(check, &why);
            assert_eq!(told.conclusion, Some(Conclusion::Neutral));
            assert_eq!(told.title, "jobs of unknown commits were compared: no regression");
            assert_eq!(
                told.summary,
                "Existing jobs were compared, and what the jobs were made of cannot be read any more; so this says \
                 nothing of the head aaaaaaa.\n\nAll is well."
            );
        }
    }
}
