//! The machine: an event gives the next state, what is to be done, and what is answered.

use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::push::{Auto, Weighed};
use super::state::{Approval, Over, PullState, Push, Waits};
use crate::ids::{CommitSha, RunId};
use crate::ports::forge::{Account, Pull, Reaction};
use crate::time::Ms;
use crate::view::{Decision, Ending};

/// Pushes that are remembered.
const PUSHES: usize = 20;

/// What happens to a pull request.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It was looked at.
    Observed(Box<Pull>, Ms),
    /// A push was told of.
    Pushed(Push),
    /// A new head was held against what was measured.
    Weighed(Box<Weighed>),
    /// Something that is measured by itself may be due.
    Due,
    /// Something stands in the way of what is due: again then.
    Later(Ms),
    /// Somebody who may asks for a comparison.
    Ask(Box<Asked>),
    /// Somebody who may wants measured what the last run did not.
    Retry {
        /// The suite.
        suite: String,
        /// The run that this makes.
        run: RunId,
        /// Who.
        by: Account,
        /// The comment that asked; `None` for a button.
        comment: Option<u64>,
    },
    /// Somebody who may wants the run of a suite stopped.
    Cancel {
        /// The suite.
        suite: String,
        /// Who.
        by: String,
        /// The comment that asked; `None` for a button.
        comment: Option<u64>,
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
    /// Somebody who may says that the head needs no benchmark. What is asked is what would have been measured.
    Skip {
        /// What is not measured.
        asked: Box<Asked>,
        /// Why.
        why: String,
    },
    /// The plan that waited is put away: no benchmark is needed.
    Skipped {
        /// The run.
        run: RunId,
        /// Who decided that, and why.
        decision: Decision,
    },
    /// Somebody who may accepts a verdict that is none to like.
    Accept {
        /// The suite.
        suite: String,
        /// Who decided that, and why.
        decision: Decision,
        /// The comment that asked.
        comment: u64,
        /// When it was written, where that is known: it is not about a verdict that came later.
        written: Option<Ms>,
    },
    /// Somebody who may says whether pushes run a suite again.
    Auto {
        /// The suite.
        suite: String,
        /// What they say.
        auto: Auto,
    },
    /// Somebody who may wants the head of a fork measured without naming it.
    NeedsApproval {
        /// The suite.
        suite: String,
        /// What they want.
        approval: Approval,
    },
    /// What a command would lead to is to be found out; nothing starts.
    Preview(Box<Asked>),
    /// A command was answered and nothing else.
    Answered {
        /// Its comment.
        comment: u64,
        /// How it is reacted to.
        with: Reaction,
    },
    /// The app was removed from the repository.
    Removed,
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
        what: Waits,
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
    /// Make a plan and tell of it; nothing starts.
    Preview {
        /// What is asked for.
        asked: Box<Asked>,
    },
    /// Hold a new head against what was measured.
    Weigh {
        /// The suite.
        suite: String,
        /// The head.
        head: CommitSha,
        /// When it was seen, which tells one look from another.
        at: Ms,
    },
    /// Begin what is measured by itself.
    Begin {
        /// Not before.
        at: Ms,
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
        /// What that makes of it.
        #[serde(default = "cancelled")]
        how: Ending,
    },
    /// Let a run go no further than its next look.
    Finish {
        /// The run.
        run: RunId,
    },
    /// Put a plan away that waits: no benchmark is needed.
    Skip {
        /// The run.
        run: RunId,
        /// Who decided that, and why.
        decision: Decision,
    },
    /// Agree to the plan of a run.
    Confirm {
        /// The run.
        run: RunId,
        /// Its digest, as far as it was typed.
        digest: Option<String>,
    },
}

fn cancelled() -> Ending {
    Ending::Cancelled
}

impl What {
    /// The key: the same thing to do has the same key.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Plan { run } => format!("plan:{run}"),
            Self::Preview { asked } => format!("preview:{}", asked.run),
            Self::Weigh { suite, head, at } => format!("weigh:{suite}:{head}:{}", at.0),
            Self::Begin { at } => format!("begin:{}", at.0),
            Self::React { comment, with } => format!("react:{comment}:{}", with.word()),
            Self::Cancel { run, how, .. } => format!("cancel:{run}:{}", how.key()),
            Self::Finish { run } => format!("finish:{run}"),
            Self::Skip { run, .. } => format!("skip:{run}"),
            Self::Confirm { run, digest } => format!("confirm:{run}:{}", digest.as_deref().unwrap_or("any")),
        }
    }

    /// When it is due.
    #[must_use]
    pub fn due(&self, now: Ms) -> Ms {
        match self {
            Self::Begin { at } => now.max(*at),
            _ => now,
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
    /// There is no run whose measurements could be completed.
    NothingToRetry,
    /// It cannot be planned, and the verdict before it stands.
    NotPlanned(Box<Asked>, Over),
    /// It is not planned, and nobody asked for it just now: the comment says all there is to say.
    NotAgain(Box<Asked>, Over),
    /// There is nothing to stop.
    NothingRuns,
    /// There is nothing to agree to.
    NothingWaits,
    /// There is no verdict to accept.
    NothingToAccept(String),
    /// The verdict is newer than the comment that accepts one.
    NewerVerdict(String),
    /// The pull request is closed.
    Closed,
    /// The head has a verdict, which cannot be skipped any more.
    NotSkipped(Box<Asked>, Over),
    /// Pushes run it again from now on, or no longer.
    Auto(String, bool),
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
    /// Runs that are over by it, and how; what is shown may be the next one already.
    pub ended: Vec<(RunId, Over)>,
}

/// The next state of a pull request. An event that nothing names changes nothing.
#[must_use]
pub fn step(state: &PullState, event: Event, now: Ms) -> Stepped {
    let mut next = Stepped { state: state.clone(), effects: Vec::new(), said: Said::Nothing, ended: Vec::new() };
    next.react(event, now);
    next
}

/// The comment of a command that is taken once.
fn comment_of(event: &Event) -> Option<u64> {
    match event {
        Event::Confirm { comment, .. } | Event::Accept { comment, .. } | Event::Answered { comment, .. } => {
            Some(*comment)
        }
        Event::Cancel { comment, .. } | Event::Retry { comment, .. } => *comment,
        Event::Skip { asked, .. } | Event::Preview(asked) => Some(asked.comment),
        Event::Auto { auto, .. } => Some(auto.comment),
        Event::NeedsApproval { approval, .. } => Some(approval.comment),
        _ => None,
    }
}

impl Stepped {
    fn react(&mut self, event: Event, now: Ms) {
        if comment_of(&event).is_some_and(|comment| !self.is_new(comment)) {
            return;
        }
        match event {
            Event::Observed(pull, at) => self.observed(&pull, at),
            Event::Pushed(push) => self.pushed(push),
            Event::Weighed(weighed) => self.weighed(*weighed, now),
            Event::Due => self.begin_due(now),
            Event::Later(at) => self.effects.push(What::Begin { at }),
            Event::Ask(asked) => self.asked(*asked),
            Event::Retry { suite, run, by, comment } => self.retried(&suite, run, by, comment, now),
            Event::Cancel { suite, by, comment } => {
                self.cancelled(&suite, &format!("asked by {by}"), comment, now);
            }
            Event::Confirm { suite, digest, comment } => self.confirmed(&suite, digest, comment),
            Event::Skip { asked, why } => self.skip(*asked, why, now),
            Event::Skipped { run, decision } => self.skipped(&run, decision),
            Event::Accept { suite, decision, comment, written } => self.accepted(&suite, decision, comment, written),
            Event::Auto { suite, auto } => self.switched(suite, auto),
            Event::NeedsApproval { suite, approval } => self.needs_approval(suite, approval),
            Event::Preview(asked) => {
                self.effects.push(What::React { comment: asked.comment, with: Reaction::Eyes });
                self.effects.push(What::Preview { asked });
            }
            Event::Answered { comment, with } => self.effects.push(What::React { comment, with }),
            Event::Removed => {
                self.state.next.clear();
                if let Some(suite) = self.state.active.clone() {
                    self.cancelled(&suite, "the app was removed", None, now);
                }
            }
            Event::Planned(run) => self.planned(&run),
            Event::NotPlanned { run, how, why } => self.not_planned(&run, how, why, now),
            Event::Waits { run, what } => self.waits(&run, what),
            Event::RunOver(run, over) => self.over(&run, over, now),
            Event::Foreign(comment) => {
                if self.state.foreign.insert(comment) {
                    self.said = Said::Foreign(comment);
                }
            }
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
}
