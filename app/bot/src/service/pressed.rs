//! What a button of a check leads to: nothing that a command of the same person would not.

use domain::command::{VerbKind, Who};
use domain::ids::RunId;
use domain::ports::forge::{Account, Permission, Pull, PullId};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Asked, Cause, Event, PullState, Shown, Stage, at_least, may};
use domain::time::Ms;
use engine::service::Archive;
use engine::service::checks::{APPROVE, About, CANCEL, RERUN};
use sha2::{Digest as _, Sha256};

use super::inbox::{Inbox, Stopped, asked};
use super::payload::{Button, ButtonKind};

/// What pressing it leads to.
pub(super) enum Pressed {
    /// This happens to the pull request; in words.
    Done(PullId, Vec<Event>, String),
    /// Nothing but that the pull request was looked at: why. What a check says may be outdated by that.
    Refused(PullId, Box<Pull>, String),
    /// Whoever pressed it may not: why.
    Denied(PullId, String),
    /// Nothing at all: why.
    Nothing(String),
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Inbox<'_, D, F, P, L, R, C> {
    /// A button was pressed. Only the external id leads to the pull request: for forks the forge names none.
    pub(super) async fn pressed(&self, button: &Button, guid: &str, now: Ms) -> Result<Pressed, Stopped> {
        let no = |why: &str| Ok(Pressed::Nothing(why.to_owned()));
        if button.bot {
            return no("a program pressed it");
        }
        if button.app_id != Some(self.shared.config.github.app_id) {
            return no("a check of another app");
        }
        if !self.shared.serves(&button.repo.name) {
            return no("the repository is not served");
        }
        let Some(about) = About::read(&button.external) else { return no("a check of which nothing is known") };
        let number = match &about {
            About::Head { number, .. } => Some(*number),
            About::Run(run) => self.service.pull_of(run, button.repo.id).await?,
        };
        let Some(number) = number else { return no("a check of a run that is not known") };
        let id = PullId { repo: button.repo.clone(), number };
        let Some(state) = self.state(&id).await? else { return no("a pull request that is not known") };
        let name = match &button.identifier {
            ButtonKind::Rerun => RERUN,
            ButtonKind::Named(name) => name.as_str(),
        };
        let running = state.running();
        let requester = running.is_some_and(|shown| shown.asked.by.id == button.sender.id);
        let who = if name == CANCEL { Who::RequesterOrWrite } else { Who::Write };
        let found = match asked(self.shared.configuration(&self.service.forge, &id.repo).await, now)? {
            Ok(found) => found,
            Err(why) => return Ok(Pressed::Nothing(why)),
        };
        let suite = match &about {
            About::Head { suite, .. } => Some(suite.as_str()),
            About::Run(run) => state.of_run(run).map(|shown| shown.asked.suite.as_str()),
        };
        let least = suite.and_then(|suite| found.least(suite, as_verb(name, &about, &state)));
        let permission = if who == Who::RequesterOrWrite && requester && least.is_none() {
            Permission::None
        } else {
            match asked(self.service.forge.permission(&id.repo, &button.sender).await, now)? {
                Ok(permission) => permission,
                Err(why) => return Ok(Pressed::Nothing(why)),
            }
        };
        let login = &button.sender.login;
        if let Err(denied) = may(who, permission, requester, login).and_then(|()| at_least(least, permission, login)) {
            return Ok(Pressed::Denied(id, format!("denied: {denied}")));
        }
        let pull = match asked(self.service.forge.pull(&id).await, now)? {
            Ok(pull) => pull,
            Err(why) => return Ok(Pressed::Nothing(why)),
        };
        let Some(run) = run_id(guid, now) else { return no("no run can be made of this") };
        let new = New { run, by: button.sender.clone(), now };
        let refused = |why: &str| Ok(Pressed::Refused(id.clone(), Box::new(pull.clone()), why.to_owned()));
        let event = match (name, &about) {
            (CANCEL, About::Run(run)) => match state.of_run(run) {
                Some(shown) => {
                    let suite = shown.asked.suite.clone();
                    Event::Cancel { suite, by: button.sender.login.clone(), comment: None }
                }
                None => return refused("that run is not shown any more"),
            },
            (RERUN, About::Run(run)) => match state.of_run(run) {
                Some(shown) => again(shown, &pull, new),
                None => return refused("that run is not shown any more"),
            },
            (RERUN, About::Head { suite, head, .. }) if pull.head == *head && !pull.is_fork() => {
                Event::Ask(Box::new(of_head(&pull, suite, Vec::new(), 0, new)))
            }
            (APPROVE, About::Head { suite, head, .. }) => match approved(&state, suite, head, &pull, new) {
                Ok(event) => event,
                Err(why) => return refused(why),
            },
            _ => return refused("a button that is not known"),
        };
        let detail = format!("{name} of check {}", button.check);
        Ok(Pressed::Done(id, vec![Event::Observed(Box::new(pull), now), event], detail))
    }
}

/// The verb that pressing a button is as good as.
fn as_verb(name: &str, about: &About, state: &PullState) -> VerbKind {
    let shown = match about {
        About::Run(run) => state.of_run(run),
        About::Head { .. } => None,
    };
    match (name, shown) {
        (CANCEL, _) => VerbKind::Cancel,
        (RERUN, Some(shown)) if !is_decided(shown) => VerbKind::Retry,
        _ => VerbKind::Run,
    }
}

fn is_decided(shown: &Shown) -> bool {
    matches!(&shown.stage, Stage::Over(over) if over.verdict.is_some())
}

/// Who asks for a run, and which.
struct New {
    run: RunId,
    by: Account,
    now: Ms,
}

/// The same once more: what is missing where there is no verdict, the same request where there is one.
fn again(shown: &Shown, pull: &Pull, new: New) -> Event {
    if !is_decided(shown) {
        let suite = shown.asked.suite.clone();
        return Event::Retry { suite, run: new.run, by: new.by, comment: None };
    }
    let New { run, by, now } = new;
    // A fork's head was approved; another one is not.
    let head = if pull.is_fork() { shown.asked.head.clone() } else { pull.head.clone() };
    let (base_ref, base, cause) = (pull.base_ref.clone(), pull.base.clone(), Cause::Button);
    // The rounds that were added to it are in it already.
    let added = |(key, value): &(String, String)| key == "rounds" && value.starts_with('+');
    let pairs = shown.asked.pairs.iter().filter(|pair| !added(pair)).cloned().collect();
    let asked = Asked {
        run,
        by,
        head,
        base_ref,
        base,
        at: now,
        cause,
        continues: None,
        retries: None,
        pairs,
        ..shown.asked.clone()
    };
    Event::Ask(Box::new(asked))
}

/// Somebody who may has read the head of a fork.
fn approved(
    state: &PullState,
    suite: &str,
    head: &domain::ids::CommitSha,
    pull: &Pull,
    new: New,
) -> Result<Event, &'static str> {
    let waits = state.approvals.get(suite).filter(|approval| approval.head == *head && approval.over.is_none());
    let Some(waits) = waits else { return Err("nothing waits for this approval any more") };
    if pull.head != *head {
        return Err("the head has moved: what was approved is not what would run");
    }
    if !pull.open {
        return Err("the pull request is closed");
    }
    let mut pairs = waits.pairs.clone();
    pairs.push(("sha".to_owned(), head.to_string()));
    Ok(Event::Ask(Box::new(of_head(pull, suite, pairs, waits.comment, new))))
}

fn of_head(pull: &Pull, suite: &str, pairs: Vec<(String, String)>, comment: u64, new: New) -> Asked {
    Asked {
        run: new.run,
        pull: pull.id.clone(),
        suite: suite.to_owned(),
        pairs,
        head: pull.head.clone(),
        base_ref: pull.base_ref.clone(),
        base: pull.base.clone(),
        fork: pull.is_fork(),
        by: new.by,
        comment,
        at: new.now,
        continues: None,
        retries: None,
        cause: Cause::Button,
        jobs: false,
    }
}

/// The id of the run that a delivery asks for: it follows from the delivery, so that handling it twice makes one run.
fn run_id(guid: &str, now: Ms) -> Option<RunId> {
    let digest = Sha256::digest(guid.as_bytes());
    let random = digest.iter().take(4).fold(0u32, |all, byte| all << 8 | u32::from(*byte));
    RunId::new(now.seconds(), random).ok()
}
