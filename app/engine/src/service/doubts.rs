//! Comparisons of jobs that had run before: what they may say of the head that they are shown at.

use domain::plan::{Doubt, Plan};
use domain::ports::forge::{CheckWanted, Conclusion};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Asked, Shown, Stage};
use domain::view::Span;

use super::answers::words;
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
                "what the jobs were made of cannot be read any more: this says nothing of the head {}",
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
    match of(asked, Some(plan)) {
        Some(why) => why.before(&said),
        None => said,
    }
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

/// What a comparison of jobs that somebody named needs to have said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// What the comment says first; nothing of a run that launches its jobs.
    pub(super) remark: Option<Vec<Span>>,
    /// Why its verdict is no word about its head; `None` where it is one, and where there is none.
    pub(super) doubt: Option<Why>,
}

/// What is said of named jobs, by the plan where there is one.
fn named(shown: &Shown, plan: Option<&Plan>) -> Named {
    if !shown.asked.jobs {
        return Named::default();
    }
    let (planned, decided) = match &shown.stage {
        Stage::Planning => (false, false),
        Stage::Running => (true, false),
        Stage::Over(over) => (over.verdict.is_some(), over.verdict.is_some()),
    };
    let why = planned.then(|| of(&shown.asked, plan)).flatten();
    let rest = match (&why, planned) {
        (Some(why), _) => format!(" It is not about this pull request as it is: {}.", why.words),
        (None, true) => " They say that they were made of the merge base and the head of this pull request.".to_owned(),
        (None, false) => String::new(),
    };
    let remark = vec![words(format!("Existing jobs are compared here, and nothing was launched.{rest}"))];
    Named { remark: Some(remark), doubt: why.filter(|_| decided) }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// What is said of the jobs that are compared.
    ///
    /// # Errors
    /// A failing store, or a plan that cannot be read.
    pub(super) async fn named(&self, shown: &Shown) -> Result<Named, EngineError> {
        let subject = if shown.asked.jobs { self.desk().read(&key_of(&shown.asked.run)).await? } else { None };
        let plan = subject.as_ref().map(plan_of).transpose()?;
        Ok(named(shown, plan.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::CommitSha;
    use domain::ports::forge::{Account, PullId, Repo};
    use domain::pull::{Cause, Over};
    use domain::time::Ms;
    use domain::view::Verdict;

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
                "Existing jobs were compared, and what the jobs were made of cannot be read any more: this says \
                 nothing of the head aaaaaaa.\n\nAll is well."
            );
        }
    }

    #[test]
    fn a_comment_says_that_existing_jobs_were_compared() {
        let shown = |jobs, stage| Shown {
            asked: asked(jobs),
            stage,
            history: Vec::new(),
            before: None,
            before_decision: None,
            waits: None,
            newer: None,
            decision: None,
        };
        assert_eq!(named(&shown(false, Stage::Running), None), Named::default());
        let planning = named(&shown(true, Stage::Planning), None);
        assert_eq!(planning.remark, Some(vec![words("Existing jobs are compared here, and nothing was launched.")]));
        assert_eq!(planning.doubt, None);
        let running = named(&shown(true, Stage::Running), None);
        let unread = "Existing jobs are compared here, and nothing was launched. It is not about this pull request as it is: what \
                      the jobs were made of cannot be read any more: this says nothing of the head aaaaaaa.";
        assert_eq!(running.remark, Some(vec![words(unread)]));
        assert_eq!(running.doubt, None);
        let over =
            |verdict| Over { verdict, ended: None, said: String::new(), evidence: None, alive: Vec::new(), at: Ms(1) };
        let passed = named(&shown(true, Stage::Over(over(Some(Verdict::Pass)))), None);
        assert_eq!(passed.doubt, of(&asked(true), None));
        assert_eq!(named(&shown(true, Stage::Over(over(None))), None), planning);
    }
}
