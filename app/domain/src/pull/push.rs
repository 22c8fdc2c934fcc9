//! What a push does: to a run that goes on, to a verdict that stands, and what is measured next by itself.

use serde::{Deserialize, Serialize};

use super::asked::{Asked, Cause};
use super::state::{PullState, Shown, Stage};
use super::step::{Stepped, What};
use crate::ids::{CommitSha, Digest, RunId};
use crate::ports::forge::Pull;
use crate::time::Ms;
use crate::view::Ending;

/// From this share of the estimated cost on, in percent, a run is finished rather than begun anew.
pub const WORTH_FINISHING: u32 = 50;

/// What a push does to a run under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPush {
    /// Finish a run that is more than half done, else begin anew.
    Auto,
    /// Begin anew.
    Supersede,
    /// Finish, then measure the new head.
    Finish,
    /// Nothing; the verdict becomes stale.
    Off,
}

/// Whether what was measured is what would be measured now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Compared {
    /// It is: why, such as `the files that matter are the same`.
    Same {
        /// Why.
        why: String,
    },
    /// It is not: what differs.
    Changed {
        /// What differs, in words; may hold names of files.
        why: String,
    },
}

/// A new head, held against what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// The suite.
    pub suite: String,
    /// The run that it is held against; `None` where nothing was asked for yet.
    pub run: Option<RunId>,
    /// The new head.
    pub head: CommitSha,
    /// Whether that makes a difference.
    pub compared: Compared,
    /// What the suite wants done.
    pub on_push: OnPush,
    /// How long a head must stand before it is measured, milliseconds.
    pub debounce_ms: u64,
    /// How much of the estimated cost of the run is spent, in percent; `None` where no trial was started.
    pub spent: Option<u32>,
}

/// Why a new head is not measured by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "not")]
pub enum NotAgain {
    /// It comes from a fork: nobody has read it.
    Fork,
    /// The pull request is a draft.
    Draft,
    /// The suite does not want that.
    Off,
    /// Somebody switched it off here.
    SwitchedOff {
        /// Who.
        by: String,
    },
    /// The last run was ended by a person, or could not be run at all.
    Ended,
    /// It was pushed while the pull request was closed.
    Reopened,
    /// It was tried, and could not be planned.
    Refused {
        /// Why.
        why: String,
    },
}

/// What becomes of a head that is not the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Newer {
    /// The head.
    pub head: CommitSha,
    /// What becomes of it.
    pub fate: NewerFate,
}

/// See [`Newer`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum NewerFate {
    /// It is being held against what was measured.
    Weighing,
    /// What was measured speaks for it as well.
    Carried {
        /// Why.
        why: String,
    },
    /// It is measured next.
    Next {
        /// Whether the run that goes on is finished first, rather than stopped.
        finishing: bool,
        /// What differs.
        why: String,
    },
    /// It is not, until somebody asks.
    Not {
        /// Why.
        why: NotAgain,
    },
}

/// What is measured next by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// What is asked for.
    pub asked: Asked,
    /// Not before.
    pub due: Ms,
}

/// Whether pushes run a suite again, as somebody said on the pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auto {
    /// Whether they do.
    pub on: bool,
    /// Who said so.
    pub by: crate::ports::forge::Account,
    /// In which comment.
    pub comment: u64,
    /// When.
    pub at: Ms,
    /// The newest head that was considered, as long as nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
}

/// Keys and values that say something about every head: which one was meant, and how many rounds more of it, do not.
pub(super) fn lasting(pairs: &[(String, String)]) -> Vec<(String, String)> {
    let lasts = |(key, value): &&(String, String)| key != "sha" && !(key == "rounds" && value.starts_with('+'));
    pairs.iter().filter(lasts).cloned().collect()
}

impl Shown {
    /// Whether a person, or the request itself, put an end to it: then a push begins nothing by itself.
    fn is_put_away(&self) -> bool {
        if self.asked.jobs {
            return true;
        }
        let Stage::Over(over) = &self.stage else { return false };
        match over.ended.as_ref().map(|(how, _)| *how) {
            None | Some(Ending::Failed | Ending::Superseded | Ending::ChecksFailed) => false,
            Some(Ending::Cancelled | Ending::Expired | Ending::HeadMoved | Ending::Refused | Ending::Skipped) => true,
        }
    }
}

impl PullState {
    fn auto_on(&self, suite: &str) -> bool {
        self.auto.get(suite).is_some_and(|auto| auto.on)
    }

    /// What a push is to do for a suite, or why nothing.
    fn again(&self, suite: &str, pull: &Pull, wanted: OnPush) -> Result<OnPush, NotAgain> {
        let auto = self.auto.get(suite);
        if pull.is_fork() {
            return Err(NotAgain::Fork);
        }
        if pull.draft {
            return Err(NotAgain::Draft);
        }
        if let Some(auto) = auto.filter(|auto| !auto.on) {
            return Err(NotAgain::SwitchedOff { by: auto.by.login.clone() });
        }
        match (wanted, auto) {
            (OnPush::Off, None) => Err(NotAgain::Off),
            (_, None) if self.shown.get(suite).is_some_and(Shown::is_put_away) => Err(NotAgain::Ended),
            (OnPush::Off, Some(_)) => Ok(OnPush::Auto),
            (wanted, _) => Ok(wanted),
        }
    }

    /// The same request on the head of `pull`; what `auto on` asks for where nothing was asked for yet.
    fn same_on(&self, suite: &str, pull: &Pull, now: Ms) -> Option<Asked> {
        let text = format!("push:{}:{suite}:{}:{}", pull.id.key(), pull.head, now.0);
        let digest = Digest::of(text.as_bytes());
        let random = digest.as_str().get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok())?;
        let run = RunId::new(now.seconds(), random).ok()?;
        let (pairs, by, comment) = match (self.shown.get(suite), self.auto.get(suite)) {
            // Jobs that somebody named are none of another head.
            (Some(shown), _) => {
                let pairs = if shown.asked.jobs { Vec::new() } else { shown.asked.pairs.clone() };
                (pairs, shown.asked.by.clone(), shown.asked.comment)
            }
            (None, Some(auto)) => (Vec::new(), auto.by.clone(), auto.comment),
            (None, None) => return None,
        };
        Some(Asked {
            run,
            pull: pull.id.clone(),
            suite: suite.to_owned(),
            pairs: lasting(&pairs),
            head: pull.head.clone(),
            base_ref: pull.base_ref.clone(),
            base: pull.base.clone(),
            fork: pull.is_fork(),
            by,
            comment,
            at: now,
            continues: None,
            retries: None,
            cause: Cause::Push,
            jobs: false,
        })
    }

    /// Suites that a push may matter to.
    fn suites(&self) -> Vec<String> {
        let on = self.auto.iter().filter(|(_, auto)| auto.on).map(|(suite, _)| suite);
        let mut all: Vec<String> = self.shown.keys().chain(on).cloned().collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Stepped {
    /// The pull request was looked at.
    pub(super) fn observed(&mut self, pull: &Pull, at: Ms) {
        // Two looks may come back in the other order.
        if at < self.state.seen_at {
            return;
        }
        let before = self.state.seen.replace(pull.clone());
        self.state.seen_at = at;
        self.state.id.clone_from(&pull.id);
        for approval in self.state.approvals.values_mut() {
            let why = match (pull.open, approval.head == pull.head) {
                (_, false) => "the head has moved",
                (false, true) => "the pull request was closed",
                (true, true) => continue,
            };
            approval.over.get_or_insert_with(|| why.to_owned());
        }
        if !pull.open && !pull.merged {
            self.state.next.clear();
            for shown in self.state.shown.values_mut() {
                shown.newer = None;
            }
            if let Some(suite) = self.state.active.clone() {
                self.cancelled(&suite, "the pull request was closed", None, at);
            }
            return;
        }
        if before.as_ref().is_some_and(|before| before.base_ref != pull.base_ref) {
            // What would be merged into another branch is another question: a person asks it. Back at the branch that was
            // measured, what becomes of a newer head is asked anew.
            self.state.next.clear();
            let stays = |newer: &Newer| matches!(newer.fate, NewerFate::Not { .. });
            for shown in self.state.shown.values_mut() {
                shown.newer = shown.newer.take().filter(stays);
            }
        }
        if pull.draft {
            for (suite, next) in std::mem::take(&mut self.state.next) {
                self.newer(&suite, &next.asked.head, NewerFate::Not { why: NotAgain::Draft });
            }
        }
        if before.is_some_and(|before| !before.open && !before.merged) {
            // Reopening starts nothing: whoever reopens it may not want that.
            self.state.auto.values_mut().for_each(|auto| auto.head = Some(pull.head.clone()));
            for shown in self.state.shown.values_mut().filter(|shown| shown.asked.head != pull.head) {
                let fate = NewerFate::Not { why: NotAgain::Reopened };
                shown.newer = Some(Newer { head: pull.head.clone(), fate });
            }
        }
        self.heads();
        let runs: Vec<RunId> = self.state.shown.values().map(|shown| shown.asked.run.clone()).collect();
        for run in runs {
            self.measured_after_all(&run, at);
        }
    }

    /// Has every head weighed that is not the one that was asked for, once. That depends on what is known only, not on the
    /// order in which it became known.
    pub(super) fn heads(&mut self) {
        let Some(pull) = self.state.seen.clone().filter(|pull| pull.open || pull.merged) else { return };
        for suite in self.state.suites() {
            // What an earlier run is held against is another question, which may be asked right now.
            let asked = self.state.shown.get(&suite).map_or(Ms(0), |shown| shown.asked.at);
            let at = self.state.seen_at.max(asked);
            let weighed = match (self.state.shown.get_mut(&suite), self.state.auto.get_mut(&suite)) {
                (Some(shown), _) => {
                    let known = shown.newer.as_ref().is_some_and(|newer| newer.head == pull.head);
                    if shown.asked.base_ref != pull.base_ref || known {
                        continue;
                    }
                    shown.newer = None;
                    let same = shown.asked.head == pull.head;
                    if !same {
                        shown.newer = Some(Newer { head: pull.head.clone(), fate: NewerFate::Weighing });
                    }
                    same
                }
                // Nothing was measured yet: the head of the moment when pushes were switched on is not a push.
                (None, Some(auto)) => auto.head.replace(pull.head.clone()).is_none_or(|head| head == pull.head),
                (None, None) => true,
            };
            if self.state.next.get(&suite).is_some_and(|next| next.asked.head != pull.head) {
                self.state.next.remove(&suite);
            }
            if !weighed {
                self.effects.push(What::Weigh { suite, head: pull.head.clone(), at });
            }
        }
    }

    /// A new head was held against what was measured.
    pub(super) fn weighed(&mut self, weighed: Weighed, now: Ms) {
        let Some(pull) = self.state.seen.clone() else { return };
        let suite = weighed.suite.as_str();
        let shown = self.state.shown.get(suite);
        let current = pull.head == weighed.head
            && (pull.open || pull.merged)
            && shown.map(|shown| &shown.asked.run) == weighed.run.as_ref()
            && shown.is_none_or(|shown| shown.asked.base_ref == pull.base_ref && shown.asked.head != pull.head);
        // What was decided about the head meanwhile stays: it was reopened with it, or somebody cancelled.
        let asked_for =
            shown.is_none_or(|shown| shown.newer.as_ref().is_some_and(|newer| newer.fate == NewerFate::Weighing));
        if !current || !asked_for || (shown.is_none() && !self.state.auto_on(suite)) {
            return;
        }
        let unsaid = |shown: &Shown| matches!(&shown.stage, Stage::Over(over) if over.verdict.is_none());
        let why = match weighed.compared {
            // What came to nothing speaks for nothing.
            Compared::Same { .. } if shown.is_some_and(unsaid) => "the comparison before it has no verdict".to_owned(),
            Compared::Same { why } => {
                self.state.next.remove(suite);
                return self.newer(suite, &pull.head, NewerFate::Carried { why });
            }
            Compared::Changed { why } => why,
        };
        let on_push = match self.state.again(suite, &pull, weighed.on_push) {
            Ok(on_push) => on_push,
            Err(why) => return self.newer(suite, &pull.head, NewerFate::Not { why }),
        };
        let Some(asked) = self.state.same_on(suite, &pull, now) else { return };
        let running =
            self.state.running().filter(|shown| shown.asked.suite == suite).map(|shown| shown.asked.run.clone());
        let finishing = match (on_push, weighed.spent) {
            (_, None) | (OnPush::Supersede, _) => false,
            (OnPush::Finish, Some(_)) => true,
            (OnPush::Auto | OnPush::Off, Some(spent)) => spent > WORTH_FINISHING,
        };
        if let Some(run) = running {
            if finishing {
                self.effects.push(What::Finish { run });
            } else {
                self.superseded(&run, &pull.head, now);
            }
        }
        let due = now.plus(weighed.debounce_ms);
        self.newer(suite, &pull.head, NewerFate::Next { finishing, why });
        self.effects.push(What::Begin { at: due });
        self.state.next.insert(suite.to_owned(), Next { asked, due });
    }

    fn newer(&mut self, suite: &str, head: &CommitSha, fate: NewerFate) {
        if let Some(shown) = self.state.shown.get_mut(suite) {
            shown.newer = Some(Newer { head: head.clone(), fate });
        }
    }

    fn superseded(&mut self, run: &RunId, head: &CommitSha, now: Ms) {
        let by = format!("by {}", head.short());
        self.end(run, Ending::Superseded, &by, now);
    }

    /// Has the head measured that is there, as soon as nothing else is in the way.
    pub(super) fn begin_again(&mut self, suite: &str, pull: &Pull, now: Ms) {
        if self.state.next.contains_key(suite) || self.state.again(suite, pull, OnPush::Supersede).is_err() {
            return;
        }
        let Some(asked) = self.state.same_on(suite, pull, now) else { return };
        self.effects.push(What::Begin { at: now });
        self.state.next.insert(suite.to_owned(), Next { asked, due: now });
    }

    /// Begins what is due, one at a time.
    pub(super) fn begin_due(&mut self, now: Ms) {
        let Some(seen) = self.state.seen.clone() else { return };
        // What turns out to need no run is not in the way of the others.
        while self.state.active.is_none() {
            let due = self.state.next.iter().filter(|(_, next)| next.due <= now).min_by_key(|(_, next)| next.due);
            let Some(suite) = due.map(|(suite, _)| suite.clone()) else { return };
            let Some(Next { mut asked, .. }) = self.state.next.remove(&suite) else { return };
            if asked.head == seen.head && asked.base_ref == seen.base_ref && (seen.open || seen.merged) {
                asked.at = now;
                self.begin(asked);
            }
        }
    }
}
