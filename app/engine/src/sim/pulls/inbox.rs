//! What is made of deliveries, as the service does it: everything is asked first, then one transaction.

use std::sync::Arc;

use domain::command::Who;
use domain::ids::{Digest, RunId};
use domain::ports::desk::Settle;
use domain::ports::forge::{Account, ForgeError, Permission, Pull, PullId, Reaction};
use domain::ports::{Desk, Forge};
use domain::pull::{Approval, Asked, Auto, Cause, Denied, Event, PullState, Shown, Stage, head_meant, may};
use domain::time::{MINUTE, Ms, SECOND, utc};
use domain::view::{Decided, Decision};

use super::acts::Verb;
use super::habit::Habit;
use super::hub::{Delivery, Told, Town, Typed, id};
use super::stage::SimService;
use crate::engine::EngineError;
use crate::service::answers;
use crate::service::checks::{APPROVE, About, CANCEL, RERUN};

/// What a delivery leads to.
type Leads = (PullId, Vec<Event>, Settle);

enum Stop {
    Wait(Option<Ms>),
    /// It cannot be done, however often it is tried.
    Never,
    Engine(EngineError),
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

fn asked<T>(answer: Result<T, ForgeError>, now: Ms) -> Result<T, Stop> {
    answer.map_err(|error| match error {
        ForgeError::Unavailable(_) => Stop::Wait(None),
        ForgeError::Limited { until, .. } => Stop::Wait(Some(until)),
        ForgeError::Forbidden(_) => Stop::Wait(Some(now.plus(10 * MINUTE))),
        ForgeError::Gone(_) | ForgeError::Refused(_) => Stop::Never,
    })
}

fn run_id(at: Ms, what: &str) -> Option<RunId> {
    let digits = Digest::of(what.as_bytes());
    let random = digits.as_str().get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok())?;
    RunId::new(at.seconds(), random).ok()
}

/// Handles one delivery, or puts it off.
pub(super) async fn handle(service: Arc<SimService>, town: Town, delivery: Delivery) -> Result<usize, EngineError> {
    let inbox = Inbox { service: &service, town: &town, now: town.now() };
    let leads = match &delivery.told {
        Told::Pull { number, push } => inbox.looked(*number, push.clone()).await,
        Told::Typed(typed) => inbox.typed(typed).await,
        Told::Pressed { check, by, button } => inbox.pressed(*check, *by, button, &delivery.guid).await,
        Told::Removed => inbox.removed().await,
    };
    let guid = delivery.guid.clone();
    let done = match leads {
        Ok(Some((id, events, mut settle))) => {
            settle.delivery = Some((guid.clone(), 1, String::new()));
            service.apply(&id, &events, &settle).await.map(|_| true)
        }
        Ok(None) | Err(Stop::Never) => Ok(true),
        Err(Stop::Engine(error)) => Err(error),
        Err(Stop::Wait(until)) => {
            let now = town.now();
            let soonest = now.plus((5 * SECOND) << delivery.attempts.min(7));
            let due = until.unwrap_or_default().max(soonest).min(now.plus(10 * MINUTE));
            if let Some(open) = town.hub().open.iter_mut().find(|open| open.guid == guid) {
                (open.due, open.attempts) = (due, delivery.attempts + 1);
            }
            Ok(false)
        }
    }?;
    if done {
        town.hub().open.retain(|open| open.guid != guid);
    }
    Ok(1)
}

struct Inbox<'a> {
    service: &'a SimService,
    town: &'a Town,
    now: Ms,
}

impl Inbox<'_> {
    async fn state(&self, id: &PullId) -> Result<Option<PullState>, Stop> {
        let subject = domain::ports::Store::read(self.service.desk(), &id.key()).await.map_err(EngineError::from)?;
        Ok(subject.map(|subject| PullState::from_json(&subject.state)).transpose().map_err(EngineError::from)?)
    }

    async fn looked(&self, number: u64, push: Option<domain::pull::Push>) -> Result<Option<Leads>, Stop> {
        let id = id(number);
        let state = self.state(&id).await?;
        let mut events: Vec<Event> = push.into_iter().map(Event::Pushed).collect();
        let matters = state.is_some_and(|state| state.matters()) || !self.service.settings.always.is_empty();
        if matters && self.town.habit != Habit::LooksAway {
            let pull = asked(self.service.forge.pull(&id).await, self.now)?;
            events.push(Event::Observed(Box::new(pull), self.now));
        }
        Ok(Some((id, events, Settle::default())).filter(|(_, events, _)| !events.is_empty()))
    }

    async fn removed(&self) -> Result<Option<Leads>, Stop> {
        for row in self.service.desk().active_runs().await.map_err(EngineError::from)? {
            self.service.apply(&id(row.number), &[Event::Removed], &Settle::default()).await?;
        }
        Ok(None)
    }

    /// People decide something about the newest head, which they may have written before it was pushed.
    fn by_people(&self, number: u64) {
        if let Some(since) = self.town.hub().since.get_mut(&number) {
            since.people = true;
        }
    }

    fn who(&self, by: usize) -> Account {
        let hub = self.town.hub();
        hub.people[by % hub.people.len()].0.clone()
    }

    async fn allowed(&self, who: Who, requester: bool, by: &Account) -> Result<Result<(), Denied>, Stop> {
        let permission = match who {
            Who::RequesterOrWrite if requester => Permission::None,
            _ => asked(self.service.forge.permission(&id(1).repo, by).await, self.now)?,
        };
        Ok(may(who, permission, requester, &by.login))
    }

    fn refused(&self, typed: &Typed, denied: &Denied, line: &str) -> Result<Leads, Stop> {
        let id = id(typed.pull);
        let reply = self.service.reply(&id, &answers::denied(denied, line), self.now)?;
        let event = Event::Answered { comment: typed.comment, with: Reaction::Confused };
        Ok((id, vec![event], Settle { wants: vec![reply], ..Settle::default() }))
    }

    async fn typed(&self, typed: &Typed) -> Result<Option<Leads>, Stop> {
        let (id, now, comment) = (id(typed.pull), self.now, typed.comment);
        let state = self.state(&id).await?;
        let by = self.who(typed.by);
        let requester = state.as_ref().and_then(PullState::running).is_some_and(|shown| shown.asked.by.id == by.id);
        let who = match typed.verb {
            Verb::Plan => Who::Read,
            Verb::Cancel => Who::RequesterOrWrite,
            _ => Who::Write,
        };
        if let Err(denied) = self.allowed(who, requester, &by).await? {
            self.town.hub().refused.insert(comment);
            if self.town.habit != Habit::AsksNobody {
                return self.refused(typed, &denied, "").map(Some);
            }
        } else {
            self.town.hub().allowed.insert(comment);
        }
        if !matches!(typed.verb, Verb::Run | Verb::RunNamed) {
            self.by_people(typed.pull);
        }
        let suite = typed.suite.to_owned();
        if typed.verb == Verb::Cancel {
            let cancel = Event::Cancel { suite, by: by.login, comment: Some(comment) };
            return Ok(Some((id, vec![cancel], Settle::default())));
        }
        let pull = asked(self.service.forge.pull(&id).await, now)?;
        let look = Event::Observed(Box::new(pull.clone()), now);
        let one = |event| Ok(Some((id.clone(), vec![look.clone(), event], Settle::default())));
        let Some(run) = run_id(typed.at, &format!("{comment}")) else { return Err(Stop::Never) };
        match typed.verb {
            Verb::Confirm => one(Event::Confirm { suite, digest: None, comment }),
            Verb::Retry => one(Event::Retry { suite, run, by, comment: Some(comment) }),
            Verb::Accept => {
                let (what, why) = (Decided::Accepted, "we need it".to_owned());
                let decision = Decision { what, by: by.login, why, at: Some(utc(now)) };
                one(Event::Accept { suite, decision, comment, written: Some(typed.at) })
            }
            Verb::AutoOn | Verb::AutoOff => {
                let on = typed.verb == Verb::AutoOn;
                one(Event::Auto { suite, auto: Auto { on, by, comment, at: now, head: None } })
            }
            _ => {
                let pushes = state.map(|state| state.pushes).unwrap_or_default();
                self.asking(typed, by, run, &pull, &pushes).map(Some)
            }
        }
    }

    fn asking(
        &self,
        typed: &Typed,
        by: Account,
        run: RunId,
        pull: &Pull,
        pushes: &[domain::pull::Push],
    ) -> Result<Leads, Stop> {
        let (id, now) = (id(typed.pull), self.now);
        let mut pairs = Vec::new();
        if typed.verb == Verb::More {
            pairs.push(("rounds".to_owned(), "+1".to_owned()));
        }
        pairs.extend(typed.sha.as_ref().map(|sha| ("sha".to_owned(), sha.to_string())));
        let starts = matches!(typed.verb, Verb::Run | Verb::RunNamed | Verb::More);
        let named = typed.sha.as_ref().map(ToString::to_string);
        let look = Event::Observed(Box::new(pull.clone()), now);
        let head = match head_meant(pull, named.as_deref(), pushes, Some(typed.at)) {
            Ok(head) => {
                if pull.is_fork() && starts {
                    self.town.hub().approved.insert((typed.pull, head.clone()));
                }
                head
            }
            Err(Denied::NeedsSha { head }) if !starts || self.town.habit == Habit::ApprovesForks => head,
            Err(denied) => {
                let line = answers::without_sha(typed.suite, &pairs);
                let mut leads = self.refused(typed, &denied, &line)?;
                if let Denied::NeedsSha { head } = denied {
                    let approval = Approval { head, pairs, by, comment: typed.comment, at: now, over: None };
                    leads.1 = vec![Event::NeedsApproval { suite: typed.suite.to_owned(), approval }];
                }
                leads.1.insert(0, look);
                return Ok(leads);
            }
        };
        let new = New { run, by, now, comment: typed.comment, cause: Cause::Command };
        let asked = of_head(pull, typed.suite, head, pairs, new);
        let event = match typed.verb {
            Verb::Plan => Event::Preview(Box::new(asked)),
            Verb::Skip => Event::Skip { asked: Box::new(asked), why: "only documentation".to_owned() },
            _ => Event::Ask(Box::new(asked)),
        };
        Ok((id, vec![look, event], Settle::default()))
    }

    async fn pressed(&self, check: u64, by: usize, button: &str, guid: &str) -> Result<Option<Leads>, Stop> {
        let external = self.town.hub().checks.iter().find(|(id, _)| *id == check).map(|(_, of)| of.external.clone());
        let Some(about) = external.and_then(|external| About::read(&external)) else { return Ok(None) };
        let number = match &about {
            About::Head { number, .. } => Some(*number),
            About::Run(run) => self.service.pull_of(run, 7).await?,
        };
        let Some(number) = number else { return Ok(None) };
        let id = id(number);
        let Some(state) = self.state(&id).await? else { return Ok(None) };
        self.by_people(number);
        let by = self.who(by);
        let requester = state.running().is_some_and(|shown| shown.asked.by.id == by.id);
        let who = if button == CANCEL { Who::RequesterOrWrite } else { Who::Write };
        if self.allowed(who, requester, &by).await?.is_err() {
            return Ok(None);
        }
        let pull = asked(self.service.forge.pull(&id).await, self.now)?;
        let Some(run) = run_id(self.now, guid) else { return Ok(None) };
        let new = New { run, by: by.clone(), now: self.now, comment: 0, cause: Cause::Button };
        let event = match (button, &about) {
            (CANCEL, About::Run(run)) => state.of_run(run).map(|shown| Event::Cancel {
                suite: shown.asked.suite.clone(),
                by: by.login,
                comment: None,
            }),
            (RERUN, About::Run(run)) => state.of_run(run).map(|shown| again(shown, &pull, new)),
            (RERUN, About::Head { suite, head, .. }) if pull.head == *head && !pull.is_fork() => {
                Some(Event::Ask(Box::new(of_head(&pull, suite, head.clone(), Vec::new(), new))))
            }
            (APPROVE, About::Head { suite, head, .. }) => self.approved(&state, suite, head, &pull, new),
            _ => None,
        };
        let look = Event::Observed(Box::new(pull), self.now);
        Ok(event.map(|event| (id, vec![look, event], Settle::default())))
    }

    fn approved(
        &self,
        state: &PullState,
        suite: &str,
        head: &domain::ids::CommitSha,
        pull: &Pull,
        new: New,
    ) -> Option<Event> {
        let waits = state.approvals.get(suite).filter(|approval| approval.head == *head && approval.over.is_none())?;
        if pull.head != *head || !pull.open {
            return None;
        }
        self.town.hub().approved.insert((pull.id.number, head.clone()));
        let mut pairs = waits.pairs.clone();
        pairs.push(("sha".to_owned(), head.to_string()));
        let new = New { comment: waits.comment, ..new };
        Some(Event::Ask(Box::new(of_head(pull, suite, head.clone(), pairs, new))))
    }
}

/// Who asks for a run, and which.
struct New {
    run: RunId,
    by: Account,
    now: Ms,
    comment: u64,
    cause: Cause,
}

/// The same once more: what is missing where there is no verdict, the same request where there is one.
fn again(shown: &Shown, pull: &Pull, new: New) -> Event {
    let New { run, by, now, cause, .. } = new;
    if !matches!(&shown.stage, Stage::Over(over) if over.verdict.is_some()) {
        return Event::Retry { suite: shown.asked.suite.clone(), run, by, comment: None };
    }
    let head = if pull.is_fork() { shown.asked.head.clone() } else { pull.head.clone() };
    let (base_ref, base) = (pull.base_ref.clone(), pull.base.clone());
    let (continues, retries) = (None, None);
    let asked = Asked { run, by, head, base_ref, base, at: now, cause, continues, retries, ..shown.asked.clone() };
    Event::Ask(Box::new(asked))
}

fn of_head(pull: &Pull, suite: &str, head: domain::ids::CommitSha, pairs: Vec<(String, String)>, new: New) -> Asked {
    Asked {
        run: new.run,
        pull: pull.id.clone(),
        suite: suite.to_owned(),
        pairs,
        head,
        base_ref: pull.base_ref.clone(),
        base: pull.base.clone(),
        fork: pull.is_fork(),
        by: new.by,
        comment: new.comment,
        at: new.now,
        continues: None,
        retries: None,
        cause: new.cause,
        jobs: false,
    }
}
