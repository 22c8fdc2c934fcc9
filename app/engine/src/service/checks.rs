//! Checks of heads that no run is about: those that wait for an approval, and those that nobody asked anything about.
//! And the buttons of all checks, with what pressing one means.

use domain::ids::{CommitSha, RunId};
use domain::ports::desk::Want;
use domain::ports::forge::{Button, CheckWanted, Conclusion, PullId};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Approval, NewerFate, Over, PullState};
use domain::time::Ms;
use domain::view::Ending;
use evidence::prose;

use super::saying::{Saying, configuration_target, standing_target};
use super::{Archive, Service};
use crate::engine::EngineError;

/// What is sent when the button of a running check is pressed.
pub const CANCEL: &str = "cancel";
/// What is sent when the button of a check that is over is pressed.
pub const RERUN: &str = "rerun";
/// What is sent when the button of a check is pressed that waits for an approval.
pub const APPROVE: &str = "approve";

/// The name of the check of a suite.
#[must_use]
pub fn check_name(suite: &str) -> String {
    format!("zephyr-ab / {suite}")
}

/// Longest title that the forge takes, in characters.
const TITLE: usize = 255;

fn button(label: &str, description: &str, identifier: &str) -> Button {
    Button { label: label.to_owned(), description: description.to_owned(), identifier: identifier.to_owned() }
}

fn cancel() -> Button {
    button("Cancel", "Stop the run and its jobs", CANCEL)
}

fn rerun() -> Button {
    button("Re-run", "Ask for the same comparison again", RERUN)
}

/// What can be pressed at the check of a run that is over, or goes on where there is no end. Of what was put away there is
/// nothing to run again.
pub(super) fn buttons(over: Option<&Over>) -> Vec<Button> {
    match over {
        None => vec![cancel()],
        Some(over) if matches!(over.ended, Some((Ending::Skipped, _))) => Vec::new(),
        Some(_) => vec![rerun()],
    }
}

/// The check of a verdict about another branch than the one that the head goes into now: neither for it nor against it.
pub(super) fn of_another_base(check: CheckWanted) -> CheckWanted {
    let title = format!("compared with another branch: {}", check.title).chars().take(TITLE).collect();
    CheckWanted { conclusion: Some(Conclusion::Neutral), title, ..check }
}

fn approve() -> Button {
    button("Approve", "Run this code on the cluster", APPROVE)
}

/// What a check is about, by its external id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A run.
    Run(RunId),
    /// A head that waits for an approval, or that nobody asked anything about.
    Head {
        /// The number of the pull request.
        number: u64,
        /// The suite.
        suite: String,
        /// The head.
        head: CommitSha,
    },
}

impl About {
    /// Reads an external id; `None` where it is none of ours.
    #[must_use]
    pub fn read(external: &str) -> Option<Self> {
        if let Ok(run) = external.parse() {
            return Some(Self::Run(run));
        }
        let mut parts = external.strip_prefix("head:")?.split(':');
        let (number, suite, head) = (parts.next()?, parts.next()?, parts.next()?);
        let none = parts.next().is_none();
        none.then_some(Self::Head { number: number.parse().ok()?, suite: suite.to_owned(), head: head.parse().ok()? })
    }

    fn external(number: u64, suite: &str, head: &CommitSha) -> String {
        format!("head:{number}:{suite}:{head}")
    }
}

/// What a head would have the repository say of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Configured {
    /// Nothing any more.
    Absent,
    /// This: names of suites, with a line for each thing. Foreign text.
    Says(Vec<(String, Vec<String>)>),
    /// Something that cannot be read: where and why. Foreign text.
    Broken(String),
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// The check of a head that changes what the repository says of itself.
    ///
    /// # Errors
    /// Never in practice: a check can be written.
    pub fn configuration_check(
        &self,
        pull: &PullId,
        head: &CommitSha,
        said: &Configured,
        now: Ms,
    ) -> Result<Want, EngineError> {
        let (conclusion, title, summary) = configured(said);
        let check = CheckWanted {
            repo: pull.repo.clone(),
            head: head.clone(),
            name: check_name("configuration"),
            external: format!("config:{}:{head}", pull.number),
            conclusion: Some(conclusion),
            title: title.to_owned(),
            summary,
            text: String::new(),
            details: None,
            buttons: Vec::new(),
            started: Ms(0),
            ended: None,
        };
        Saying::Check { check }.want(configuration_target(pull, head), now)
    }

    /// The checks of heads that no run is about.
    pub(super) fn standing_checks(&self, state: &PullState, now: Ms) -> Result<Vec<Want>, EngineError> {
        let mut wants = Vec::new();
        for (suite, of) in &state.approvals {
            wants.push(approval(state, suite, of, now)?);
        }
        let Some(seen) = &state.seen else { return Ok(wants) };
        for suite in &self.settings.always {
            let shown = state.shown.get(suite);
            let spoken_for = shown.is_some_and(|shown| shown.speaks_for(&seen.head));
            let approval = state.approvals.get(suite).is_some_and(|approval| approval.head == seen.head);
            if spoken_for || approval || !seen.open {
                continue;
            }
            let soon = shown.and_then(|shown| shown.newer.as_ref()).is_some_and(|newer| {
                newer.head == seen.head && matches!(newer.fate, NewerFate::Weighing | NewerFate::Next { .. })
            });
            let (conclusion, title, summary) = if soon {
                (None, "this head is measured next", "The comparison of it has not begun yet.")
            } else {
                (Some(Conclusion::Neutral), "no comparison of this head", "Nobody asked for one.")
            };
            let summary = format!("{summary} `/ab-test {suite}` in a comment asks for one.");
            wants.push(standing(&state.id, suite, &seen.head, conclusion, (title, &summary), Vec::new(), now)?);
        }
        Ok(wants)
    }

    /// The checks of heads that were to be measured next, and never will be: another one was pushed, a comparison speaks of
    /// them, or the pull request is closed. Without an end they would go on for ever.
    pub(super) async fn left_checks(&self, state: &PullState, now: Ms) -> Result<Vec<Want>, EngineError> {
        let mut wants = Vec::new();
        let Some(seen) = &state.seen else { return Ok(wants) };
        for suite in &self.settings.always {
            let waits = |head: &CommitSha| state.approvals.get(suite).is_some_and(|approval| approval.head == *head);
            let spoken_for = state.shown.get(suite).is_some_and(|shown| shown.speaks_for(&seen.head));
            let stands = |head: &CommitSha| (seen.open && !spoken_for && *head == seen.head) || waits(head);
            for head in state.heads().into_iter().filter(|head| !stands(head)) {
                let target = standing_target(&state.id, suite, &head);
                let Some(wanted) = self.desk().wanted(&target).await? else { continue };
                if wanted.fence == 0 {
                    // Nobody tried to say it yet; said now, it would stand before the check that speaks of the head.
                    wants.push(Saying::Withdrawn.want(target, now)?);
                    continue;
                }
                let title = if spoken_for && head == seen.head {
                    ("a comparison speaks of this head", "A check of its own says what it came to.")
                } else {
                    ("no comparison of this head", "It is not the head any more, or the pull request is closed.")
                };
                wants.push(standing(&state.id, suite, &head, Some(Conclusion::Neutral), title, Vec::new(), now)?);
            }
        }
        Ok(wants)
    }
}

/// The check of a head that waits for an approval, or waited.
pub(super) fn approval(state: &PullState, suite: &str, approval: &Approval, now: Ms) -> Result<Want, EngineError> {
    let head = &approval.head;
    let (conclusion, title, summary, buttons) = match &approval.over {
        Some(over) => (Conclusion::Neutral, over.as_str(), "It waits for nobody any more.".to_owned(), Vec::new()),
        None => (
            Conclusion::ActionRequired,
            "this commit of a fork waits for an approval",
            format!(
                "Approving runs the code of `{head}` with the credentials of the cluster. Somebody who may push to this \
                 repository has to have read it. The button approves this commit only; `{} sha={head}` in a comment \
                 does the same.",
                super::answers::without_sha(suite, &approval.pairs),
            ),
            vec![approve()],
        ),
    };
    standing(&state.id, suite, head, Some(conclusion), (title, &summary), buttons, now)
}

/// Lines that are shown of a suite, and characters of each.
const SHOWN: (usize, usize) = (40, 300);

/// How the check ends, its title and its summary.
fn configured(said: &Configured) -> (Conclusion, &'static str, String) {
    let counts = "It counts as soon as it is on the default branch; what pull requests have of it never does.";
    match said {
        Configured::Absent => (
            Conclusion::Success,
            "the repository says nothing any more",
            format!("`.github/zephyr-ab.toml` is not there: what the operator of the service says counts. {counts}"),
        ),
        Configured::Broken(why) => (
            Conclusion::Failure,
            "it cannot be read",
            format!("{}\n\nOn the default branch this would refuse every run. {counts}", prose(why, 600)),
        ),
        Configured::Says(suites) => {
            let mut text = format!("`.github/zephyr-ab.toml` can be read. {counts}\n");
            for (suite, lines) in suites {
                let shown: Vec<String> = lines.iter().take(SHOWN.0).map(|line| prose(line, SHOWN.1)).collect();
                let shown = if shown.is_empty() { "nothing".to_owned() } else { shown.join("\n- ") };
                text.extend(["\n**", &prose(suite, 80), "** sets\n- ", &shown, "\n"]);
            }
            (Conclusion::Success, "it can be read", text)
        }
    }
}

fn standing(
    pull: &PullId,
    suite: &str,
    head: &CommitSha,
    conclusion: Option<Conclusion>,
    (title, summary): (&str, &str),
    buttons: Vec<Button>,
    now: Ms,
) -> Result<Want, EngineError> {
    let check = CheckWanted {
        repo: pull.repo.clone(),
        head: head.clone(),
        name: check_name(suite),
        external: About::external(pull.number, suite, head),
        conclusion,
        title: title.to_owned(),
        summary: summary.to_owned(),
        text: String::new(),
        details: None,
        buttons,
        // No time of a look: what is wanted must not differ from one to the next.
        started: Ms(0),
        ended: None,
    };
    Saying::Check { check }.want(standing_target(pull, suite, head), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_check_is_about() {
        let head: CommitSha = "8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99".parse().unwrap();
        let about = About::Head { number: 42, suite: "zephyr".to_owned(), head: head.clone() };
        assert_eq!(About::read(&About::external(42, "zephyr", &head)), Some(about));
        let run = RunId::new(1_795_984_130, 7).unwrap();
        assert_eq!(About::read(run.as_str()), Some(About::Run(run)));
        for foreign in
            ["", "head", "head:42", "head:42:zephyr:8ae7a94", "head:x:zephyr:8ae7a94f0c21d3b4a5968778695a4b3c2d1e0f99"]
        {
            assert_eq!(About::read(foreign), None, "{foreign}");
        }
        let more = format!("{}:more", About::external(42, "zephyr", &head));
        assert_eq!(About::read(&more), None);
    }
}
