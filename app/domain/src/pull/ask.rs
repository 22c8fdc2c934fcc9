//! What commands do to a pull request.

use super::asked::{Asked, Cause};
use super::push::{Auto, lasting};
use super::state::{Approval, Over, Shown, Stage};
use super::step::{Said, Stepped, What};
use crate::ids::RunId;
use crate::ports::forge::{Account, Reaction};
use crate::time::{Ms, SECOND, utc};
use crate::view::{Decided, Decision, Earlier, Ending, Verdict};

/// Comments whose commands are remembered as handled.
const COMMENTS: usize = 100;
/// Earlier verdicts that are shown.
const HISTORY: usize = 10;

impl Stepped {
    /// Remembers the comment of a command. `false` where it was handled before.
    pub(super) fn is_new(&mut self, comment: u64) -> bool {
        if self.state.comments.contains(&comment) {
            self.said = Said::Handled;
            return false;
        }
        self.state.comments.push(comment);
        let surplus = self.state.comments.len().saturating_sub(COMMENTS);
        self.state.comments.drain(..surplus);
        true
    }

    fn reacted(&mut self, comment: u64, with: Reaction) {
        self.effects.push(What::React { comment, with });
    }

    /// Somebody who may asks for a comparison.
    pub(super) fn asked(&mut self, mut asked: Asked) {
        let typed = asked.cause == Cause::Command;
        if typed && !self.is_new(asked.comment) {
            return;
        }
        let answered = |this: &mut Self, said, with| {
            this.said = said;
            if typed {
                this.reacted(asked.comment, with);
            }
        };
        if let Some(running) = self.state.running() {
            let running = Box::new(running.asked.clone());
            return answered(self, Said::Running(running), Reaction::Confused);
        }
        if self.state.is_closed() {
            return answered(self, Said::Closed, Reaction::Confused);
        }
        let decided = self.state.shown.get(&asked.suite).and_then(Shown::decided);
        if asked.more_rounds() {
            // Rounds against another branch are another comparison, and whoever named jobs names more of them: none is launched
            // to go with them.
            let same = |(earlier, _): &(&Asked, &Over)| {
                (&earlier.head, &earlier.base_ref) == (&asked.head, &asked.base_ref) && !earlier.jobs
            };
            let Some((earlier, _)) = decided.filter(same) else {
                return answered(self, Said::NothingToContinue, Reaction::Confused);
            };
            asked.continues = Some(earlier.run.clone());
        } else if let Some((earlier, over)) = decided
            && asked.retries.is_none()
            && over.verdict != Some(Verdict::Inconclusive)
            && earlier.jobs == asked.jobs
            && (&earlier.head, &earlier.base_ref, &earlier.pairs) == (&asked.head, &asked.base_ref, &asked.pairs)
        {
            let said = Said::Decided(Box::new(earlier.clone()), over.clone());
            self.approved(&asked);
            return answered(self, said, Reaction::Eyes);
        }
        if typed {
            self.reacted(asked.comment, Reaction::Eyes);
        }
        self.begin(asked);
    }

    /// Nobody has to approve any more.
    fn approved(&mut self, asked: &Asked) {
        if let Some(approval) = self.state.approvals.get_mut(&asked.suite).filter(|approval| approval.over.is_none()) {
            approval.over = Some(if approval.head == asked.head {
                format!("approved by {}", asked.by.login)
            } else {
                "another commit was asked for".to_owned()
            });
        }
    }

    /// Begins a run. What was decided before it is kept.
    pub(super) fn begin(&mut self, asked: Asked) {
        let suite = asked.suite.clone();
        self.state.next.remove(&suite);
        self.approved(&asked);
        let before = self.state.shown.get(&suite);
        let decided = before.and_then(Shown::decided);
        if asked.cause == Cause::Push
            && let Some((earlier, over)) = decided
            && over.verdict != Some(Verdict::Inconclusive)
            && earlier.jobs == asked.jobs
            && (&earlier.head, &earlier.base_ref) == (&asked.head, &asked.base_ref)
            && lasting(&earlier.pairs) == lasting(&asked.pairs)
        {
            // The head is one that has a verdict: it stands again.
            let (earlier, over) = (earlier.clone(), over.clone());
            if let Some(shown) = self.state.shown.get_mut(&suite).filter(|shown| shown.asked.run != earlier.run) {
                shown.restore(earlier, over);
            }
            return;
        }
        let mut history = before.map(|shown| shown.history.clone()).unwrap_or_default();
        let last = decided.map(|(asked, over)| (asked.clone(), over.clone()));
        if let Some((asked, over)) = &last
            && before.is_some_and(|shown| shown.asked.run == asked.run)
        {
            history.insert(0, earlier(asked, over));
            history.truncate(HISTORY);
        }
        let before_decision = before.and_then(|shown| match &last {
            Some((asked, _)) if shown.asked.run != asked.run => shown.before_decision.clone(),
            _ => shown.decision.clone(),
        });
        // What a retry takes over from is there still where the retry comes to nothing.
        let taken_over = before.and_then(|shown| match &shown.stage {
            Stage::Over(over) if asked.retries.as_ref() == Some(&shown.asked.run) => {
                Some((shown.asked.clone(), over.clone()))
            }
            _ => None,
        });
        let before = taken_over.or(last).map(Box::new);
        self.effects.push(What::Plan { run: asked.run.clone() });
        self.state.active = Some(suite.clone());
        let stage = Stage::Planning;
        let (waits, newer, decision) = (None, None, None);
        let shown = Shown { asked, stage, history, before, before_decision, waits, newer, decision };
        self.state.shown.insert(suite, shown);
        self.heads();
    }

    /// Somebody who may wants measured what the last run did not.
    pub(super) fn retried(&mut self, suite: &str, run: RunId, by: Account, comment: Option<u64>, now: Ms) {
        let answered = |this: &mut Self, said, with| {
            this.said = said;
            if let Some(comment) = comment {
                this.reacted(comment, with);
            }
        };
        if let Some(running) = self.state.running() {
            let running = Box::new(running.asked.clone());
            return answered(self, Said::Running(running), Reaction::Confused);
        }
        if self.state.is_closed() {
            return answered(self, Said::Closed, Reaction::Confused);
        }
        let last = self.state.shown.get(suite).and_then(|shown| match &shown.stage {
            Stage::Over(over) if matches!(over.verdict, None | Some(Verdict::Inconclusive)) => Some((shown, over)),
            _ => None,
        });
        // What was put away may be a head that nobody asked to have measured, such as one of a fork that nobody approved.
        let put_away = |over: &Over| matches!(over.ended, Some((Ending::Skipped, _)));
        let last = last.filter(|(_, over)| !put_away(over));
        let Some((shown, over)) = last else {
            return answered(self, Said::NothingToRetry, Reaction::Confused);
        };
        let mut asked = shown.asked.clone();
        // Without a folder nothing was measured, and jobs that had run are there still: the same is asked for again.
        let measured = over.evidence.as_ref().map(|_| asked.run.clone());
        asked.retries = measured.or_else(|| asked.retries.take()).filter(|_| !asked.jobs);
        asked.continues = asked.continues.filter(|_| asked.retries.is_none());
        (asked.run, asked.by, asked.at) = (run, by, now);
        asked.cause = if comment.is_some() { Cause::Command } else { Cause::Button };
        asked.comment = comment.unwrap_or(asked.comment);
        answered(self, Said::Nothing, Reaction::Eyes);
        self.begin(asked);
    }

    /// `why` is the rest of a sentence that begins with "cancelled".
    pub(super) fn cancelled(&mut self, suite: &str, why: &str, comment: Option<u64>, now: Ms) {
        let running = self.state.running().filter(|shown| shown.asked.suite == suite);
        let run = running.map(|shown| shown.asked.run.clone());
        // What would begin by itself does not either.
        let waited = self.state.next.remove(suite).is_some();
        if waited && let Some(shown) = self.state.shown.get_mut(suite) {
            let why = super::push::NotAgain::Ended;
            shown.newer.iter_mut().for_each(|newer| newer.fate = super::push::NewerFate::Not { why: why.clone() });
        }
        if let Some(comment) = comment {
            let with = if run.is_some() || waited { Reaction::Eyes } else { Reaction::Confused };
            self.reacted(comment, with);
        }
        match run {
            Some(run) => self.end(&run, Ending::Cancelled, why, now),
            None if !waited => self.said = Said::NothingRuns,
            None => {}
        }
    }

    /// Ends a run: at once where it has no subject of its own yet.
    pub(super) fn end(&mut self, run: &RunId, how: Ending, by: &str, now: Ms) {
        let Some(shown) = self.state.of_run(run) else { return };
        if shown.stage == Stage::Planning {
            // Nothing was started: it is over at once, and a plan that is still being made is dropped.
            let ended = Some((how, Some(by.to_owned())));
            let said = how.key().to_owned();
            let over = Over { verdict: None, ended, said, evidence: None, alive: Vec::new(), at: now };
            self.unplanned(run, over, now);
        } else {
            self.effects.push(What::Cancel { run: run.clone(), by: by.to_owned(), how });
        }
    }

    pub(super) fn confirmed(&mut self, suite: &str, digest: Option<String>, comment: u64) {
        let running = self.state.running().filter(|shown| shown.asked.suite == suite && shown.stage == Stage::Running);
        let run = running.map(|shown| shown.asked.run.clone());
        self.reacted(comment, if run.is_some() { Reaction::Eyes } else { Reaction::Confused });
        match run {
            Some(run) => self.effects.push(What::Confirm { run, digest }),
            None => self.said = Said::NothingWaits,
        }
    }

    /// No benchmark is needed, somebody says.
    pub(super) fn skip(&mut self, asked: Asked, why: String, now: Ms) {
        let comment = asked.comment;
        let decision = Decision { what: Decided::Skipped, by: asked.by.login.clone(), why, at: Some(utc(now)) };
        if let Some(running) = self.state.running() {
            if running.asked.suite != asked.suite {
                self.said = Said::Running(Box::new(running.asked.clone()));
                return self.reacted(comment, Reaction::Confused);
            }
            let (running, planning) = (running.asked.clone(), running.stage == Stage::Planning);
            self.reacted(comment, Reaction::Eyes);
            if !planning {
                return self.effects.push(What::Skip { run: running.run, decision });
            }
            self.state.active = None;
            self.ended.push((running.run, skipped(&decision, now)));
        } else if let Some((earlier, over)) = self.state.shown.get(&asked.suite).and_then(Shown::decided)
            && earlier.head == asked.head
        {
            self.said = Said::NotSkipped(Box::new(earlier.clone()), over.clone());
            return self.reacted(comment, Reaction::Confused);
        } else {
            self.reacted(comment, Reaction::Eyes);
        }
        self.put_away(asked, decision, now);
        self.begin_due(now);
    }

    /// Shows that the head is not measured.
    fn put_away(&mut self, asked: Asked, decision: Decision, now: Ms) {
        let suite = asked.suite.clone();
        self.state.next.remove(&suite);
        let stage = Stage::Over(skipped(&decision, now));
        let shown = self.state.shown.get(&suite);
        let mut history = shown.map(|shown| shown.history.clone()).unwrap_or_default();
        if let Some((asked, over)) = shown.and_then(Shown::decided) {
            history.insert(0, earlier(asked, over));
            history.truncate(HISTORY);
        }
        let decision = Some(decision);
        let (before, before_decision, waits, newer) = (None, None, None, None);
        let shown = Shown { asked, stage, history, before, before_decision, waits, newer, decision };
        self.state.shown.insert(suite, shown);
        self.heads();
    }

    /// The plan that waited was put away.
    pub(super) fn skipped(&mut self, run: &RunId, decision: Decision) {
        if let Some(shown) = self.state.shown.values_mut().find(|shown| shown.asked.run == *run) {
            shown.decision = Some(decision);
        }
    }

    /// A verdict that is none to like is accepted.
    pub(super) fn accepted(&mut self, suite: &str, decision: Decision, comment: u64, written: Option<Ms>) {
        // The forge cuts the time of a comment off to the second.
        let newer = |over: &Over| written.is_some_and(|written| over.at > written.plus(SECOND));
        if let Some(Stage::Over(over)) = self.state.shown.get(suite).map(|shown| &shown.stage)
            && over.verdict.is_some()
            && newer(over)
        {
            // What was read before is another verdict.
            self.said = Said::NewerVerdict(suite.to_owned());
            return self.reacted(comment, Reaction::Confused);
        }
        let verdict = self.state.shown.get_mut(suite).filter(|shown| match &shown.stage {
            Stage::Over(over) => over.verdict.is_some_and(|verdict| verdict != Verdict::Pass),
            Stage::Planning | Stage::Running => false,
        });
        let with = if let Some(shown) = verdict {
            shown.decision = Some(decision);
            Reaction::Eyes
        } else {
            self.said = Said::NothingToAccept(suite.to_owned());
            Reaction::Confused
        };
        self.reacted(comment, with);
    }

    /// Pushes run the suite again, or no longer.
    pub(super) fn switched(&mut self, suite: String, auto: Auto) {
        self.reacted(auto.comment, Reaction::Eyes);
        self.said = Said::Auto(suite.clone(), auto.on);
        if !auto.on
            && self.state.next.remove(&suite).is_some()
            && let Some(newer) = self.state.shown.get_mut(&suite).and_then(|shown| shown.newer.as_mut())
        {
            let why = super::push::NotAgain::SwitchedOff { by: auto.by.login.clone() };
            newer.fate = super::push::NewerFate::Not { why };
        }
        let head = self.state.seen.as_ref().map(|pull| pull.head.clone());
        self.state.auto.insert(suite, Auto { head, ..auto });
    }

    /// The head of a fork waits for somebody who approves it.
    pub(super) fn needs_approval(&mut self, suite: String, approval: Approval) {
        self.reacted(approval.comment, Reaction::Confused);
        // A head that is being measured, or was, was approved.
        let known = self.state.shown.get(&suite).is_some_and(|shown| {
            let measured = match &shown.stage {
                Stage::Over(over) => over.verdict.is_some(),
                Stage::Planning | Stage::Running => true,
            };
            shown.asked.head == approval.head && measured
        });
        if !known {
            self.state.approvals.insert(suite, approval);
        }
    }
}

/// The end of what is not measured, such as `mona: only documentation`.
fn skipped(decision: &Decision, now: Ms) -> Over {
    let ended = Some((Ending::Skipped, Some(format!("{}: {}", decision.by, decision.why))));
    let said = Ending::Skipped.key().to_owned();
    Over { verdict: None, ended, said, evidence: None, alive: Vec::new(), at: now }
}

fn earlier(asked: &Asked, over: &Over) -> Earlier {
    Earlier {
        head: asked.head.to_string(),
        verdict: over.verdict.unwrap_or(Verdict::Inconclusive),
        said: Some(over.said.clone()).filter(|said| !said.is_empty()),
        at: Some(utc(over.at)),
        url: None,
    }
}
