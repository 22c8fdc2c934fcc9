//! The machine: an event gives the next state, what is to be done, and what is answered.

use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::state::{Over, PullState, Push, Shown, Stage};
use crate::ids::RunId;
use crate::ports::forge::{Pull, Reaction};
use crate::time::Ms;
use crate::view::{Earlier, Ending, Verdict};

/// Pushes that are remembered.
const PUSHES: usize = 20;
/// Comments whose commands are remembered as handled.
const COMMENTS: usize = 100;
/// Earlier verdicts that are shown.
const HISTORY: usize = 10;

/// What happens to a pull request.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It was looked at.
    Observed(Box<Pull>, Ms),
    /// A push was told of.
    Pushed(Push),
    /// Somebody who may asks for a comparison.
    Ask(Box<Asked>),
    /// Somebody who may wants the run of a suite stopped.
    Cancel {
        /// The suite.
        suite: String,
        /// Who.
        by: String,
        /// The comment that asked.
        comment: u64,
    },
    /// Somebody who may agrees to a plan, named by the beginning of its digest or not at all.
    Confirm {
        /// The suite.
        suite: String,
        /// The digest, as far as it was typed.
        digest: Option<String>,
        /// The comment that asked.
        comment: u64,
    },
    /// A command was answered and nothing else.
    Answered {
        /// Its comment.
        comment: u64,
        /// How it is reacted to.
        with: Reaction,
    },
    /// The run is planned and has a subject of its own.
    Planned(RunId),
    /// It cannot be planned.
    NotPlanned {
        /// The run.
        run: RunId,
        /// How that ends it.
        how: Ending,
        /// Why.
        why: String,
    },
    /// The plan of a run has to wait for something.
    Waits {
        /// The run.
        run: RunId,
        /// What for.
        why: String,
    },
    /// A run is over.
    RunOver(RunId, Over),
    /// A foreign comment begins with a marker of ours.
    Foreign(u64),
}

/// What is to be done for a pull request. All of it may be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum What {
    /// Make the plan of a run.
    Plan {
        /// The run.
        run: RunId,
    },
    /// React to a comment.
    React {
        /// The comment.
        comment: u64,
        /// How.
        with: Reaction,
    },
    /// Stop a run.
    Cancel {
        /// The run.
        run: RunId,
        /// Who wants it, or why: `asked by mona`.
        by: String,
    },
    /// Agree to the plan of a run.
    Confirm {
        /// The run.
        run: RunId,
        /// Its digest, as far as it was typed.
        digest: Option<String>,
    },
}

impl What {
    /// The key: the same thing to do has the same key.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Plan { run } => format!("plan:{run}"),
            Self::React { comment, with } => format!("react:{comment}:{}", with.word()),
            Self::Cancel { run, .. } => format!("cancel:{run}"),
            Self::Confirm { run, digest } => format!("confirm:{run}:{}", digest.as_deref().unwrap_or("any")),
        }
    }
}

/// What somebody is told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing beyond what the comments show.
    Nothing,
    /// This command was handled before.
    Handled,
    /// A run goes on already.
    Running(Box<Asked>),
    /// This head has a verdict already.
    Decided(Box<Asked>, Over),
    /// More rounds were asked for, and there is no comparison to go on with.
    NothingToContinue,
    /// It cannot be planned, and the verdict before it stands.
    NotPlanned(Box<Asked>, Over),
    /// There is nothing to stop.
    NothingRuns,
    /// There is nothing to agree to.
    NothingWaits,
    /// A foreign comment begins with our marker.
    Foreign(u64),
}

/// What an event leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The next state.
    pub state: PullState,
    /// What is to be done.
    pub effects: Vec<What>,
    /// What somebody is told.
    pub said: Said,
}

/// The next state of a pull request. An event that nothing names changes nothing.
#[must_use]
pub fn step(state: &PullState, event: Event, now: Ms) -> Stepped {
    let mut next = Stepped { state: state.clone(), effects: Vec::new(), said: Said::Nothing };
    next.react(event, now);
    next
}

impl Stepped {
    fn react(&mut self, event: Event, now: Ms) {
        if let Event::Cancel { comment, .. } | Event::Confirm { comment, .. } | Event::Answered { comment, .. } = &event
            && !self.is_new(*comment)
        {
            return;
        }
        match event {
            Event::Observed(pull, at) => self.observed(*pull, at),
            Event::Pushed(push) => self.pushed(push),
            Event::Ask(asked) => self.asked(*asked),
            Event::Cancel { suite, by, comment } => {
                self.cancelled(&suite, &format!("asked by {by}"), Some(comment), now);
            }
            Event::Confirm { suite, digest, comment } => self.confirmed(&suite, digest, comment),
            Event::Answered { comment, with } => self.effects.push(What::React { comment, with }),
            Event::Planned(run) => self.planned(&run),
            Event::NotPlanned { run, how, why } => {
                let said = why.lines().next().unwrap_or_default().to_owned();
                let ended = Some((how, Some(why)));
                let over = Over { verdict: None, ended, said, evidence: None, alive: Vec::new(), at: now };
                self.over(&run, over, true);
            }
            Event::Waits { run, why } => {
                let planning = |shown: &&mut Shown| shown.asked.run == run && shown.stage == Stage::Planning;
                if let Some(shown) = self.state.shown.values_mut().find(planning) {
                    shown.waits = Some(why);
                }
            }
            Event::RunOver(run, over) => self.over(&run, over, false),
            Event::Foreign(comment) => {
                if self.state.foreign.insert(comment) {
                    self.said = Said::Foreign(comment);
                }
            }
        }
    }

    /// Remembers the comment of a command. `false` where it was handled before.
    fn is_new(&mut self, comment: u64) -> bool {
        if self.state.comments.contains(&comment) {
            self.said = Said::Handled;
            return false;
        }
        self.state.comments.push(comment);
        let surplus = self.state.comments.len().saturating_sub(COMMENTS);
        self.state.comments.drain(..surplus);
        true
    }

    fn observed(&mut self, pull: Pull, at: Ms) {
        // Two looks may come back in the other order.
        if at < self.state.seen_at {
            return;
        }
        let closed = !pull.open && !pull.merged;
        self.state.id.clone_from(&pull.id);
        (self.state.seen, self.state.seen_at) = (Some(pull), at);
        if closed && let Some(suite) = self.state.active.clone() {
            self.cancelled(&suite, "the pull request was closed", None, at);
        }
    }

    fn pushed(&mut self, push: Push) {
        if self.state.pushes.contains(&push) {
            return;
        }
        self.state.pushes.push(push);
        self.state.pushes.sort_by(|one, other| (one.at, one.after.as_str()).cmp(&(other.at, other.after.as_str())));
        let surplus = self.state.pushes.len().saturating_sub(PUSHES);
        self.state.pushes.drain(..surplus);
    }

    fn asked(&mut self, mut asked: Asked) {
        if !self.is_new(asked.comment) {
            return;
        }
        let comment = asked.comment;
        let react = |with| What::React { comment, with };
        if let Some(running) = self.state.running() {
            self.said = Said::Running(Box::new(running.asked.clone()));
            self.effects.push(react(Reaction::Confused));
            return;
        }
        let before = self.state.shown.get(&asked.suite);
        let decided = before.and_then(Shown::decided);
        if asked.more_rounds() {
            if decided.is_none_or(|(earlier, _)| earlier.head != asked.head) {
                self.said = Said::NothingToContinue;
                self.effects.push(react(Reaction::Confused));
                return;
            }
            asked.continues = decided.map(|(earlier, _)| earlier.run.clone());
        } else if let Some((earlier, over)) = decided
            && over.verdict != Some(Verdict::Inconclusive)
            && (&earlier.head, &earlier.base_ref, &earlier.pairs) == (&asked.head, &asked.base_ref, &asked.pairs)
        {
            self.said = Said::Decided(Box::new(earlier.clone()), over.clone());
            self.effects.push(react(Reaction::Eyes));
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
        let before = last.map(Box::new);
        self.effects.push(react(Reaction::Eyes));
        self.effects.push(What::Plan { run: asked.run.clone() });
        self.state.active = Some(asked.suite.clone());
        self.state
            .shown
            .insert(asked.suite.clone(), Shown { asked, stage: Stage::Planning, history, before, waits: None });
    }

    /// `why` is the rest of a sentence that begins with "cancelled".
    fn cancelled(&mut self, suite: &str, why: &str, comment: Option<u64>, now: Ms) {
        let running = self.state.running().filter(|shown| shown.asked.suite == suite);
        let react = |with| comment.map(|comment| What::React { comment, with });
        let Some(shown) = running else {
            self.said = Said::NothingRuns;
            self.effects.extend(react(Reaction::Confused));
            return;
        };
        let run = shown.asked.run.clone();
        self.effects.extend(react(Reaction::Eyes));
        if shown.stage == Stage::Planning {
            // Nothing was started: it is over at once, and a plan that is still being made is dropped.
            let ended = Some((Ending::Cancelled, Some(why.to_owned())));
            let said = "cancelled".to_owned();
            let over = Over { verdict: None, ended, said, evidence: None, alive: Vec::new(), at: now };
            self.over(&run, over, true);
        } else {
            self.effects.push(What::Cancel { run, by: why.to_owned() });
        }
    }

    fn confirmed(&mut self, suite: &str, digest: Option<String>, comment: u64) {
        let running = self.state.running().filter(|shown| shown.asked.suite == suite && shown.stage == Stage::Running);
        let run = running.map(|shown| shown.asked.run.clone());
        let with = if run.is_some() { Reaction::Eyes } else { Reaction::Confused };
        self.effects.push(What::React { comment, with });
        match run {
            Some(run) => self.effects.push(What::Confirm { run, digest }),
            None => self.said = Said::NothingWaits,
        }
    }

    fn planned(&mut self, run: &RunId) {
        let Some(shown) = self.state.shown.values_mut().find(|shown| shown.asked.run == *run) else { return };
        if shown.stage == Stage::Planning {
            (shown.stage, shown.waits) = (Stage::Running, None);
            self.effects.push(What::React { comment: shown.asked.comment, with: Reaction::Rocket });
        }
    }

    /// `planning` is whether it ends before it has a subject of its own.
    fn over(&mut self, run: &RunId, over: Over, planning: bool) {
        let Some(shown) = self.state.shown.values_mut().find(|shown| shown.asked.run == *run) else { return };
        if matches!(shown.stage, Stage::Over(_)) || (shown.stage == Stage::Planning) != planning {
            return;
        }
        if self.state.active.as_ref() == Some(&shown.asked.suite) {
            self.state.active = None;
        }
        shown.waits = None;
        match shown.before.take_if(|_| planning) {
            // Nothing was measured: what was known before is still what is known.
            Some(before) => {
                let asked = std::mem::replace(&mut shown.asked, before.0);
                self.said = Said::NotPlanned(Box::new(asked), over);
                if shown.history.first().is_some_and(|first| first.head == shown.asked.head.as_str()) {
                    shown.history.remove(0);
                }
                shown.stage = Stage::Over(before.1);
            }
            None => shown.stage = Stage::Over(over),
        }
    }
}

fn earlier(asked: &Asked, over: &Over) -> Earlier {
    Earlier {
        head: asked.head.to_string(),
        verdict: over.verdict.unwrap_or(Verdict::Inconclusive),
        said: Some(over.said.clone()).filter(|said| !said.is_empty()),
        at: Some(crate::time::utc(over.at)),
        url: None,
    }
}
