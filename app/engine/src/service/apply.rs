//! What happens to a pull request, in one transaction with what follows.

use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::desk::{RunRow, Settle, Settled, Want};
use domain::ports::forge::{PullId, Reaction};
use domain::ports::{Clock, Desk, Forge, Lab, Planner, Subject, Write};
use domain::pull::{Approval, Asked, Event, Over, PullState, Said, Stage, What, step};
use domain::time::{MINUTE, Ms};
use domain::view::Answer;

use super::saying::{REPLY, Saying, check_target, reply_target};
use super::{Archive, Service, answers, checks};
use crate::engine::{Engine, EngineError};

/// How often a transaction is tried again that somebody was faster than.
const TRIES: usize = 100;
/// Until what is begun by itself is tried again that another run stood in the way of, milliseconds.
const IN_THE_WAY: u64 = MINUTE;

/// What came of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The state now.
    pub state: PullState,
    /// What was said to each event, in their order.
    pub said: Vec<Said>,
    /// Runs that are over by them, and how.
    pub ended: Vec<(RunId, Over)>,
}

pub(super) fn stored(what: &What) -> Result<(String, String), EngineError> {
    let key = what.key();
    match serde_json::to_string(what) {
        Ok(body) => Ok((key, body)),
        Err(error) => Err(EngineError::Stored { what: "the effect", key, why: error.to_string() }),
    }
}

/// The row of a run that begins.
fn row(asked: &Asked) -> RunRow {
    RunRow {
        id: asked.run.clone(),
        repo: asked.pull.repo.id,
        number: asked.pull.number,
        person: asked.by.id,
        suite: asked.suite.clone(),
        request: asked.key(),
        head: asked.head.to_string(),
        ledger: None,
        active: true,
        outcome: None,
        evidence: None,
        created: asked.at,
        ended: None,
    }
}

/// The word for how a run ended, for its row.
fn outcome(over: &Over) -> String {
    match (&over.verdict, &over.ended) {
        (Some(verdict), _) => verdict.word().to_owned(),
        (None, Some((how, _))) => how.key().to_owned(),
        (None, None) => "over".to_owned(),
    }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Steps a pull request with events and writes down what follows, together with what `with` holds (a delivery that
    /// is handled by it, lines for the audit log). Whoever else writes meanwhile is faster or slower, never lost.
    ///
    /// # Errors
    /// A failing store, or a state that cannot be read.
    pub async fn apply(&self, id: &PullId, events: &[Event], with: &Settle) -> Result<Option<Applied>, EngineError> {
        self.applied(id, events, with, &[]).await
    }

    /// The same, and the effect `finished` is done.
    pub(super) async fn applied(
        &self,
        id: &PullId,
        events: &[Event],
        with: &Settle,
        finished: &[String],
    ) -> Result<Option<Applied>, EngineError> {
        let key = id.key();
        let mut events = events.to_vec();
        for _ in 0..TRIES {
            let now = self.now();
            let Some(subject) = self.desk().read(&key).await? else {
                self.made(id, now).await?;
                continue;
            };
            let before = PullState::from_json(&subject.state)?;
            let (applied, effects) = steps(&before, &events, now);
            let mut settle = with.clone();
            settle.at = now;
            // A plan that comes when its run is over already starts nothing.
            let runs = |run: &RunId| applied.state.of_run(run).is_some_and(|shown| shown.stage == Stage::Running);
            if with.planned.iter().any(|(run, _)| !runs(run)) {
                (settle.create, settle.planned) = (Vec::new(), Vec::new());
            }
            let (mut queued, mut over) = (Vec::new(), Vec::new());
            for what in &effects {
                if let What::Plan { run } = what {
                    queued.extend(applied.state.of_run(run).map(|shown| shown.asked.clone()));
                }
            }
            for (run, how) in &applied.ended {
                settle.over.push((run.clone(), outcome(how), how.evidence.clone()));
                over.extend(before.of_run(run).map(|shown| (shown.asked.clone(), how.clone())));
            }
            settle.begin.extend(queued.iter().map(row));
            settle.wants.extend(self.left(&before, &applied, now).await?);
            settle.wants.extend(self.announced((&before, &applied.state), &queued, &over, now).await?);
            for said in &applied.said {
                let link = match said {
                    // Until the comment of the run is there, the one that asked for it is.
                    Said::Running(asked)
                    | Said::Decided(asked, _)
                    | Said::NotPlanned(asked, _)
                    | Said::NotSkipped(asked, _) => {
                        let link = self.link(id, &asked.suite).await?;
                        Some(link.unwrap_or_else(|| self.address(id, asked.comment)))
                    }
                    _ => None,
                };
                let Some(answer) = answers::of(said, link.as_deref()) else { continue };
                settle.wants.push(self.reply(id, &answer, now)?);
            }
            let changed = applied.state != before || !effects.is_empty() || !finished.is_empty();
            if changed {
                let effects = effects.iter().map(|what| stored(what).map(|(key, body)| (key, body, what.due(now))));
                settle.writes.push(Write {
                    subject: key.clone(),
                    version: subject.version,
                    fence: subject.fence,
                    state: applied.state.to_json()?,
                    due: Some(now),
                    finished: finished.to_vec(),
                    effects: effects.collect::<Result<_, _>>()?,
                    look: None,
                    at: now,
                });
            }
            match self.desk().settle(settle).await? {
                Settled::Done => return Ok(Some(applied)),
                Settled::Busy => refuse(&mut events, now),
                Settled::Outdated | Settled::LookTaken => {
                    if let Some((guid, version, _)) = &with.delivery
                        && !self.desk().is_open(guid, *version).await?
                    {
                        return Ok(None);
                    }
                    if with.create.iter().any(|made| made.key.starts_with("run:")) && self.exists(with).await? {
                        return Ok(None);
                    }
                }
            }
        }
        Err(EngineError::Stored { what: "the state", key, why: "others write it all the time".to_owned() })
    }

    /// The checks of runs and of approvals that are not shown any more, saying how they ended: nobody looks at them again.
    async fn left(&self, before: &PullState, applied: &Applied, now: Ms) -> Result<Vec<Want>, EngineError> {
        let mut wants = Vec::new();
        for (suite, of) in &before.approvals {
            if applied.state.approvals.get(suite).is_none_or(|now| now.head != of.head) {
                let over = of.over.clone().or_else(|| Some("the head has moved".to_owned()));
                wants.push(checks::approval(before, suite, &Approval { over, ..of.clone() }, now)?);
            }
        }
        for shown in before.shown.values().filter(|shown| applied.state.of_run(&shown.asked.run).is_none()) {
            let run = &shown.asked.run;
            let mut shown = shown.clone();
            if let Some((_, over)) = applied.ended.iter().find(|(ended, _)| ended == run) {
                shown.stage = Stage::Over(over.clone());
            }
            let over = matches!(shown.stage, Stage::Over(_));
            if !over || self.desk().wanted(&check_target(run)).await?.is_none() {
                continue;
            }
            match self.wants(&applied.state, &shown, now).await {
                Ok(all) => wants.extend(all.into_iter().filter(|want| want.target.starts_with("check:"))),
                Err(error) => tracing::warn!(%run, %error, "its check keeps what it says"),
            }
        }
        Ok(wants)
    }

    async fn made(&self, id: &PullId, now: Ms) -> Result<(), EngineError> {
        let state = PullState::new(id.clone()).to_json()?;
        let body = serde_json::to_string(id).unwrap_or_default();
        let subject = Subject { key: id.key(), body, state, version: 0, fence: 0, due: Some(now) };
        self.desk().create(subject).await?;
        Ok(())
    }

    async fn exists(&self, with: &Settle) -> Result<bool, EngineError> {
        for made in &with.create {
            if self.desk().read(&made.key).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The one further comment, saying this.
    ///
    /// # Errors
    /// Templates that do not fit.
    pub fn reply(&self, id: &PullId, answer: &Answer, now: Ms) -> Result<Want, EngineError> {
        let rendered = self.templates.renderer().reply(answer);
        let body = rendered
            .map_err(|error| EngineError::Stored { what: "the reply", key: id.key(), why: error.to_string() })?
            .body;
        let comment = domain::ports::forge::CommentWanted { pull: id.clone(), marker: REPLY.to_owned(), body };
        Saying::Reply { comment }.want(reply_target(id), now)
    }

    /// What is written with a plan: the subject of its run.
    pub(super) fn with_plan(&self, plan: &Plan) -> Result<Settle, EngineError> {
        let subject = Engine::<D, L, R, C>::subject(plan, self.now())?;
        Ok(Settle {
            create: vec![subject],
            planned: vec![(plan.run.clone(), plan.ledger.clone())],
            ..Settle::default()
        })
    }
}

fn steps(before: &PullState, events: &[Event], now: Ms) -> (Applied, Vec<What>) {
    let mut applied = Applied { state: before.clone(), said: Vec::new(), ended: Vec::new() };
    let mut effects = Vec::new();
    for event in events {
        let stepped = step(&applied.state, event.clone(), now);
        applied.state = stepped.state;
        applied.said.push(stepped.said);
        applied.ended.extend(stepped.ended);
        effects.extend(stepped.effects);
    }
    (applied, effects)
}

/// The store knows of a run that the state does not: nothing is started.
fn refuse(events: &mut [Event], now: Ms) {
    for event in events {
        let comment = match event {
            Event::Ask(asked) => Some(asked.comment),
            Event::Retry { comment, .. } => *comment,
            Event::Due => None,
            _ => continue,
        };
        tracing::warn!(comment, "a run is in the way of this one");
        *event = match comment {
            Some(comment) => Event::Answered { comment, with: Reaction::Confused },
            None => Event::Later(now.plus(IN_THE_WAY)),
        };
    }
}
