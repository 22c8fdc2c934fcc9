//! Effects of pull requests.

use domain::ids::{CommitSha, Digest, RunId};
use domain::machine::State;
use domain::ports::desk::Settle;
use domain::ports::forge::ForgeError;
use domain::ports::{Clock, Desk, Forge, Lab, Manners, NoPlan, Planner, StoredEffect, Subject};
use domain::pull::{Compared, Event, OnPush, PullState, Stage, Waits, Weighed, What};
use domain::time::{HOUR, MINUTE, Ms, SECOND};
use domain::view::{Answer, Decision, Ending};

use super::pushes::Checked;
use super::{Archive, PULL_LEASE, Service, answers};
use crate::engine::EngineError;

/// How long a plan is tried for that something stands in the way of.
const PLAN_FOR: u64 = 2 * HOUR;
/// How long it is tried to find out what a push changes.
const WEIGH_FOR: u64 = 6 * HOUR;
/// How often at least.
const WEIGH_TRIES: u32 = 20;
/// How often required checks are looked at, milliseconds.
const CHECKS_EVERY: u64 = MINUTE;
/// Until a pull request is looked at again whose state or effects cannot be read or written.
const AFTER_FAILURE: u64 = MINUTE;

/// What came of an effect.
enum Done {
    /// It is done, with these events.
    With(Vec<Event>, Box<Settle>),
    /// It is tried again then.
    Later(Ms),
}

impl Done {
    fn nothing() -> Self {
        Self::With(Vec::new(), Box::default())
    }
}

/// What is done first: a plan is made after what costs nothing, and a plan that is only looked at after that.
fn rank(key: &str) -> u8 {
    match key.split(':').next() {
        Some("preview") => 2,
        Some("plan") => 1,
        _ => 0,
    }
}

/// Until something is tried again: 5 s, doubled each time, at most 10 minutes.
pub(super) fn again(attempts: u32, now: Ms) -> Ms {
    now.plus((5 * SECOND).saturating_mul(1 << attempts.min(10)).min(600 * SECOND))
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Does what is due for one pull request. Returns how many effects were performed.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read.
    pub async fn tick_pulls(&self, now: Ms) -> Result<usize, EngineError> {
        let owner = &self.engine.settings.owner;
        // One at a time: making a plan takes minutes, and whoever else calls this meanwhile takes the next one.
        let claimed = self.desk().claim_of("pull:", owner, now, now.plus(PULL_LEASE), 1).await?;
        let Some(subject) = claimed.first() else { return Ok(0) };
        match self.work_pull(subject).await {
            Ok(performed) => Ok(performed),
            Err(error) => {
                if let Some(current) = self.desk().read(&subject.key).await? {
                    let due = Some(self.now().plus(AFTER_FAILURE));
                    self.desk().release(&subject.key, subject.fence, current.version, due).await?;
                }
                Err(error)
            }
        }
    }

    async fn work_pull(&self, subject: &Subject) -> Result<usize, EngineError> {
        let mut performed = 0;
        let began = self.now();
        loop {
            let Some(current) = self.desk().read(&subject.key).await? else { return Ok(performed) };
            if current.fence != subject.fence {
                return Ok(performed);
            }
            let now = self.now();
            let effects = self.desk().effects(&subject.key).await?;
            // What takes minutes keeps nobody from stopping it.
            let rank = |effect: &&StoredEffect| (rank(&effect.key), effect.due);
            let late = now.since(began) > PULL_LEASE / 2;
            let Some(next) = effects.iter().filter(|effect| effect.due <= now && !late).min_by_key(rank) else {
                let due = effects.iter().map(|effect| effect.due).min();
                self.desk().release(&subject.key, subject.fence, current.version, due).await?;
                return Ok(performed);
            };
            performed += 1;
            if !self.desk().begin(&subject.key, &next.key, subject.fence).await? {
                return Ok(performed);
            }
            let state = PullState::from_json(&current.state)?;
            match self.perform_pull(&state, next, now).await? {
                Done::With(events, settle) => {
                    let finished = std::slice::from_ref(&next.key);
                    if self.applied(&state.id, &events, &settle, finished).await?.is_none() {
                        // The run has its subject already: only that is remembered.
                        self.applied(&state.id, &events, &Settle::default(), finished).await?;
                    }
                }
                Done::Later(at) => self.desk().defer(&subject.key, &next.key, subject.fence, at).await?,
            }
        }
    }

    async fn perform_pull(&self, state: &PullState, effect: &StoredEffect, now: Ms) -> Result<Done, EngineError> {
        let what: What = serde_json::from_str(&effect.body).map_err(|error| EngineError::Stored {
            what: "the effect",
            key: effect.key.clone(),
            why: error.to_string(),
        })?;
        Ok(match what {
            What::Plan { run } => self.plan(state, run, effect.attempts, now).await?,
            What::Preview { asked } => match self.planner.preview(&asked).await {
                Ok(answer) => self.answered(state, &answer)?,
                Err(NoPlan::NotNow(why)) if now.since(asked.at) < PLAN_FOR => {
                    tracing::warn!(why, "the preview has to wait");
                    Done::Later(again(effect.attempts, now))
                }
                Err(NoPlan::NotNow(why) | NoPlan::Never { why, .. }) => {
                    self.answered(state, &answers::no_plan(&asked, &why))?
                }
            },
            What::Weigh { suite, head, at } => match self.weigh(state, &suite, &head, now).await? {
                None => Done::nothing(),
                Some(Ok(weighed)) => Done::With(vec![Event::Weighed(Box::new(weighed))], Box::default()),
                // Time in which nobody tried, such as that of a service that was away, does not count.
                Some(Err(why)) if now.since(at) < WEIGH_FOR || effect.attempts < WEIGH_TRIES => {
                    tracing::info!(suite, why, "a push has to wait");
                    Done::Later(again(effect.attempts, now))
                }
                // Nobody knows whether it is the same: then it is not.
                Some(Err(why)) => {
                    Done::With(vec![Event::Weighed(Box::new(unknown(state, &suite, &head, why)))], Box::default())
                }
            },
            What::Begin { .. } => Done::With(vec![Event::Due], Box::default()),
            What::Finish { run } => match self.engine.finish(&run).await {
                Ok(()) | Err(EngineError::NoRun(_)) => Done::nothing(),
                Err(error) => return Err(error),
            },
            What::Skip { run, decision } => self.skip(state, &run, decision).await?,
            What::React { comment, with } => match self.forge.react(&state.id.repo, comment, with).await {
                Ok(()) => Done::nothing(),
                Err(ForgeError::Unavailable(_)) => Done::Later(again(effect.attempts, now)),
                Err(ForgeError::Limited { until, .. }) => Done::Later(until),
                Err(error) => {
                    tracing::warn!(comment, %error, "no reaction");
                    Done::nothing()
                }
            },
            What::Cancel { run, by, how } => {
                match self.engine.end(&run, how, &by).await {
                    Ok(()) | Err(EngineError::NoRun(_)) => {}
                    Err(error) => return Err(error),
                }
                Done::nothing()
            }
            What::Confirm { run, digest } => self.confirm(state, &run, digest.as_deref()).await?,
        })
    }

    async fn plan(&self, state: &PullState, run: RunId, attempts: u32, now: Ms) -> Result<Done, EngineError> {
        let shown = state.of_run(&run).filter(|shown| shown.stage == Stage::Planning);
        let Some(shown) = shown else { return Ok(Done::nothing()) };
        let ended =
            |how, why: String| Done::With(vec![Event::NotPlanned { run: run.clone(), how, why }], Box::default());
        let waits = |what| [Event::Waits { run: run.clone(), what }];
        // Nothing is fetched, planned or launched of a head that its own checks refuse.
        let checked = self.checked(shown, now).await;
        let planned = match checked {
            Ok(Checked::Green) => self.planner.plan(&shown.asked).await,
            Ok(Checked::Failed(why)) => return Ok(ended(Ending::ChecksFailed, why)),
            Ok(Checked::Wait(what)) => {
                self.apply(&state.id, &waits(what), &Settle::default()).await?;
                return Ok(Done::Later(again(attempts, now).min(now.plus(CHECKS_EVERY))));
            }
            Err(why) => Err(NoPlan::NotNow(why)),
        };
        Ok(match planned {
            Ok(plan) => Done::With(vec![Event::Planned(run)], Box::new(self.with_plan(&plan)?)),
            Err(NoPlan::NotNow(why)) if now.since(shown.asked.at) < PLAN_FOR => {
                tracing::warn!(%run, why, "the plan has to wait");
                self.apply(&state.id, &waits(Waits::Again { why }), &Settle::default()).await?;
                Done::Later(again(attempts, self.now()))
            }
            Err(NoPlan::NotNow(why)) => ended(Ending::Failed, why),
            Err(NoPlan::Never { how, why }) => ended(how, why),
        })
    }

    /// Puts a plan away that waits for a person or for its turn.
    async fn skip(&self, state: &PullState, run: &RunId, decision: Decision) -> Result<Done, EngineError> {
        let found = self.engine.read(run).await?;
        if found.trials.is_empty() && !found.state.is_over() {
            let by = format!("{}: {}", decision.by, decision.why);
            self.engine.end(run, Ending::Skipped, &by).await?;
        } else if !matches!(found.state, State::Ended { how: Ending::Skipped, .. }) {
            return self.answered(state, &answers::too_late_to_skip());
        }
        Ok(Done::With(vec![Event::Skipped { run: run.clone(), decision }], Box::default()))
    }

    /// Says something in the one further comment.
    fn answered(&self, state: &PullState, answer: &Answer) -> Result<Done, EngineError> {
        let want = self.reply(&state.id, answer, self.now())?;
        Ok(Done::With(Vec::new(), Box::new(Settle { wants: vec![want], ..Settle::default() })))
    }

    async fn confirm(
        &self,
        state: &PullState,
        run: &domain::ids::RunId,
        typed: Option<&str>,
    ) -> Result<Done, EngineError> {
        let found = self.engine.read(run).await?;
        let plan: Option<Digest> = match found.state {
            State::AwaitingConfirmation { plan, .. } => Some(plan),
            _ => None,
        };
        let stale = state.of_run(run).and_then(|shown| state.stale(shown));
        let answer = match (plan, stale) {
            (Some(_), Some(why)) => {
                // What was shown to a person is not what would run by now.
                self.engine.cancel(run, "a change after the plan was made").await?;
                answers::outdated(&why)
            }
            (plan, _) => match plan {
                None => answers::nothing_waits(),
                Some(plan) if typed.is_none_or(|typed| plan.as_str().starts_with(typed)) => {
                    self.engine.confirm(run, &plan).await?;
                    return Ok(Done::nothing());
                }
                Some(plan) => answers::another_plan(&plan),
            },
        };
        self.answered(state, &answer)
    }
}

/// A head of which nobody could find out what it changes.
fn unknown(state: &PullState, suite: &str, head: &CommitSha, why: String) -> Weighed {
    let manners = Manners::default();
    Weighed {
        suite: suite.to_owned(),
        run: state.shown.get(suite).map(|shown| shown.asked.run.clone()),
        head: head.clone(),
        compared: Compared::Changed { why },
        // Without its rules nothing is stopped or started: the verdict is stale until somebody asks.
        on_push: OnPush::Off,
        debounce_ms: manners.debounce_ms,
        spent: None,
    }
}
