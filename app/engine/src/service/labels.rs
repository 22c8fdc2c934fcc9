//! Labels of a pull request: the one that says how things are with its newest run.

use domain::ports::desk::Want;
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{PullState, Stage};
use domain::time::Ms;
use domain::view::Verdict;

use super::saying::{Saying, labels_target};
use super::{Archive, Service};
use crate::engine::EngineError;

/// The labels of the states of a run; `None` where a state has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Nothing got worse.
    pub pass: Option<String>,
    /// Proven to cost more than is tolerated.
    pub regression: Option<String>,
    /// One of CPU and elapsed time got better, the other worse.
    pub tradeoff: Option<String>,
    /// Nothing is proven.
    pub inconclusive: Option<String>,
    /// Being planned, waiting or running.
    pub running: Option<String>,
}

impl Labels {
    /// Those that there are. States may share one.
    fn all(&self) -> Vec<&String> {
        let all = [&self.pass, &self.regression, &self.tradeoff, &self.inconclusive, &self.running];
        all.into_iter().flatten().collect()
    }

    /// The label of a pull request: of its newest run, whatever the suite. A verdict that no longer speaks of what would be
    /// merged has none, and neither has a run that ended without one.
    fn of(&self, state: &PullState) -> Option<&String> {
        let newest = state.shown.values().max_by_key(|shown| (shown.asked.at, &shown.asked.run))?;
        match &newest.stage {
            Stage::Planning | Stage::Running => self.running.as_ref(),
            // Jobs that somebody named may be of anything.
            Stage::Over(_) if newest.asked.jobs => None,
            Stage::Over(over) if state.stale(newest).is_none() => match over.verdict? {
                Verdict::Pass => self.pass.as_ref(),
                Verdict::Regression => self.regression.as_ref(),
                Verdict::Tradeoff => self.tradeoff.as_ref(),
                Verdict::Inconclusive => self.inconclusive.as_ref(),
            },
            Stage::Over(_) => None,
        }
    }

    /// What is put on a pull request, and what is taken off it.
    fn wanted(&self, state: &PullState) -> (Vec<String>, Vec<String>) {
        let add = self.of(state);
        let mut remove: Vec<String> = Vec::new();
        for label in self.all() {
            let is = |other: &String| other.to_lowercase() == label.to_lowercase();
            if !add.is_some_and(is) && !remove.iter().any(is) {
                remove.push(label.clone());
            }
        }
        (add.cloned().into_iter().collect(), remove)
    }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// The labels that a pull request should have, where it should have any, or has had one.
    pub(super) async fn labels(&self, state: &PullState, now: Ms) -> Result<Option<Want>, EngineError> {
        let (add, remove) = self.settings.labels.wanted(state);
        if add.is_empty() && remove.is_empty() {
            return Ok(None);
        }
        let target = labels_target(&state.id);
        if add.is_empty() && self.desk().wanted(&target).await?.is_none() {
            return Ok(None);
        }
        Saying::Labels { pull: state.id.clone(), add, remove }.want(target, now).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::{CommitSha, RunId};
    use domain::ports::forge::{Account, Pull, PullId, Repo};
    use domain::pull::{Asked, Cause, Over, Shown};
    use domain::view::Ending;

    use super::*;

    fn sha(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn shown(suite: &str, at: u64, stage: Stage) -> (String, Shown) {
        let repo = Repo { id: 1, name: "octo/demo".to_owned(), installation: 1 };
        let asked = Asked {
            run: RunId::new(at, 1).unwrap(),
            pull: PullId { repo, number: 2 },
            suite: suite.to_owned(),
            pairs: Vec::new(),
            head: sha('a'),
            base_ref: "main".to_owned(),
            base: sha('b'),
            fork: false,
            by: Account { id: 3, login: "mona".to_owned() },
            comment: 4,
            at: Ms(at),
            continues: None,
            retries: None,
            cause: Cause::Command,
            jobs: false,
        };
        let shown = Shown {
            asked,
            stage,
            history: Vec::new(),
            before: None,
            before_decision: None,
            waits: None,
            newer: None,
            decision: None,
        };
        (suite.to_owned(), shown)
    }

    fn over(verdict: Option<Verdict>) -> Stage {
        let ended = verdict.is_none().then_some((Ending::Cancelled, None));
        Stage::Over(Over { verdict, ended, said: String::new(), evidence: None, alive: Vec::new(), at: Ms(9) })
    }

    fn pull(head: char, shown: Vec<(String, Shown)>) -> PullState {
        let id = shown[0].1.asked.pull.clone();
        let seen = Pull {
            id: id.clone(),
            head: sha(head),
            head_ref: "topic".to_owned(),
            head_repo: Some(1),
            base_ref: "main".to_owned(),
            base: sha('b'),
            open: true,
            merged: false,
            draft: false,
        };
        PullState { shown: shown.into_iter().collect(), seen: Some(seen), ..PullState::new(id) }
    }

    #[test]
    fn one_label_at_most_and_the_others_of_ours_are_taken_off() {
        let some = |name: &str| Some(name.to_owned());
        let labels = Labels {
            pass: some("ab: pass"),
            regression: some("ab: bad"),
            tradeoff: some("AB: Bad"),
            inconclusive: None,
            running: some("ab: running"),
        };
        let all = ["ab: pass", "ab: bad", "ab: running"];
        let cases = [
            (Stage::Planning, 'a', some("ab: running")),
            (Stage::Running, 'c', some("ab: running")),
            (over(Some(Verdict::Pass)), 'a', some("ab: pass")),
            (over(Some(Verdict::Regression)), 'a', some("ab: bad")),
            // Two states with one name, however it is written.
            (over(Some(Verdict::Tradeoff)), 'a', some("AB: Bad")),
            (over(Some(Verdict::Inconclusive)), 'a', None),
            (over(None), 'a', None),
            // What was measured is no longer what would be merged.
            (over(Some(Verdict::Pass)), 'c', None),
        ];
        for (stage, head, expected) in cases {
            let (add, remove) = labels.wanted(&pull(head, vec![shown("tiny", 5, stage.clone())]));
            assert_eq!(add.first(), expected.as_ref(), "{stage:?}");
            let others = all.iter().filter(|name| !add.iter().any(|add| add.eq_ignore_ascii_case(name)));
            assert_eq!(remove, others.copied().collect::<Vec<_>>(), "{stage:?}");
        }
        let two = vec![shown("new", 7, over(Some(Verdict::Pass))), shown("old", 5, Stage::Running)];
        assert_eq!(labels.wanted(&pull('a', two)).0, ["ab: pass"]);
        assert_eq!(Labels::default().wanted(&pull('a', vec![shown("a", 5, Stage::Running)])), (Vec::new(), Vec::new()));
    }
}
