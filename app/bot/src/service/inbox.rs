//! Handles deliveries, one after the other.
//!
//! Everything that has to be asked is asked first; then one transaction writes down that the delivery is handled together
//! with everything that follows. What cannot be asked now puts the delivery off, and nothing is lost.

use std::sync::Arc;

use domain::ids::CommitSha;
use domain::ports::desk::{AuditLine, OpenDelivery, Settle};
use domain::ports::forge::{Account, ForgeError, PullId, Repo};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Event, PullState};
use domain::time::{MINUTE, Ms, SECOND};
use engine::EngineError;
use engine::service::{Archive, Service};
use suite::Suite;

use super::commanded::not_understood;
use super::payload::{Button, Comment, Happened, Reach, Told, read};
use super::pressed::Pressed;
use super::repository::Configuration;
use super::shared::Shared;
use crate::command::parse;

/// The version of what is made of deliveries. Raised when older deliveries are to be handled again.
pub const HANDLER: u32 = 1;
/// Longest time until a delivery that could not be handled is tried again, milliseconds.
const LONGEST_WAIT: u64 = 10 * MINUTE;
/// How often a delivery is tried: about a day and a half.
const TRIES: u32 = 200;

/// What handling a delivery came to.
enum Handled {
    /// Events for a pull request, what is written down with them, and what came of it in words.
    Events(PullId, Vec<Event>, Box<Settle>, String),
    /// Nothing happens: why.
    Nothing(Box<Settle>, String),
}

/// It has to wait: at least until then, where that is known.
pub(super) struct Wait {
    until: Option<Ms>,
    why: String,
}

/// Why a delivery was not handled.
pub(super) enum Stopped {
    Wait(Wait),
    Engine(EngineError),
}

impl Wait {
    pub(super) fn new(until: Option<Ms>, why: String) -> Self {
        Self { until, why }
    }
}

impl From<EngineError> for Stopped {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// The inbox of a service, for as long as it handles what is open.
pub(super) struct Inbox<'a, D, F, P, L, R, C> {
    pub(super) service: &'a Service<D, F, P, L, R, C>,
    pub(super) shared: &'a Shared,
}

/// Handles everything that is open and due. Returns how much that was.
///
/// # Errors
/// A failing store, or something stored that cannot be read.
pub async fn handle<D, F, P, L, R, C>(
    service: &Service<D, F, P, L, R, C>,
    shared: &Shared,
    now: Ms,
) -> Result<usize, EngineError>
where
    D: Desk,
    F: Forge,
    P: Planner,
    L: Lab,
    R: Archive,
    C: Clock,
{
    let inbox = Inbox { service, shared };
    let open = service.desk().open_deliveries(HANDLER, now, 8).await?;
    let count = open.len();
    for delivery in open {
        inbox.one(&delivery, now).await?;
    }
    Ok(count)
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Inbox<'_, D, F, P, L, R, C> {
    async fn one(&self, open: &OpenDelivery, now: Ms) -> Result<(), EngineError> {
        let delivery = &open.delivery;
        let told = self.reachable(read(&delivery.event, &delivery.payload)).await?;
        // What was said first on a pull request is done first: a cancel must not overtake its run.
        let line = match &told {
            Told::Comment(comment) => Some(format!("inbox {}", comment.pull.key())),
            _ => None,
        };
        if let Some(until) =
            line.as_ref().filter(|line| self.service.put_off.is(line, now)).and_then(|l| self.service.put_off.when(l))
        {
            return Ok(self.service.desk().defer_delivery(&delivery.guid, until.plus(1)).await?);
        }
        let handled = match told {
            Told::Nothing(why) => Ok(Handled::Nothing(Box::default(), why)),
            Told::Button(button) => self.button(&button, &delivery.guid, now).await,
            Told::Installation { installation, what, whole, repos } => {
                self.installation(installation, what, whole, repos, now).await
            }
            Told::Repo(repo) => {
                let repos = Some(repo).filter(|repo| repo.installation != 0).into_iter().collect();
                let settle = Settle { repos, ..Settle::default() };
                Ok(Handled::Nothing(Box::new(settle), "a repository changed".to_owned()))
            }
            Told::Pull { id, push, head } => self.looked(id, push, head, now).await,
            Told::Comment(comment) => self.commented(&comment, now).await,
        };
        let done = match handled {
            Ok(Handled::Events(id, events, mut settle, outcome)) => {
                settle.delivery = Some((delivery.guid.clone(), HANDLER, outcome.clone()));
                settle.repos.push(id.repo.clone());
                let applied = self.service.apply(&id, &events, &settle).await;
                applied.map(|applied| (applied.is_some(), outcome)).map_err(Stopped::Engine)
            }
            Ok(Handled::Nothing(mut settle, outcome)) => {
                settle.delivery = Some((delivery.guid.clone(), HANDLER, outcome.clone()));
                settle.at = now;
                self.service.desk().settle(*settle).await?;
                Ok((true, outcome))
            }
            Err(stopped) => Err(stopped),
        };
        let (done, outcome) = match done {
            Ok(done) => done,
            // A store that fails does so for all of them.
            Err(Stopped::Engine(EngineError::Store(error))) => return Err(error.into()),
            Err(Stopped::Wait(wait)) => return self.put_off(open, line.as_deref(), &wait, now).await,
            Err(Stopped::Engine(error)) => {
                let wait = Wait { until: None, why: error.to_string() };
                return self.put_off(open, line.as_deref(), &wait, now).await;
            }
        };
        tracing::info!(guid = delivery.guid, event = delivery.event, done, outcome, "delivery");
        Ok(())
    }

    /// Tries a delivery again later, and what follows it on the same pull request after it.
    async fn put_off(&self, open: &OpenDelivery, line: Option<&str>, wait: &Wait, now: Ms) -> Result<(), EngineError> {
        if open.attempts >= TRIES {
            return self.given_up(open, &wait.why, now).await;
        }
        let guid = &open.delivery.guid;
        let soonest = now.plus((5 * SECOND).saturating_mul(1 << open.attempts.min(10)).min(LONGEST_WAIT));
        let until = wait.until.unwrap_or_default().max(soonest).min(now.plus(LONGEST_WAIT));
        self.service.desk().defer_delivery(guid, until).await?;
        if let Some(line) = line {
            self.service.put_off.until(line, until);
        }
        let outcome = format!("put off: {}", wait.why);
        tracing::info!(guid, event = open.delivery.event, done = false, outcome, "delivery");
        Ok(())
    }

    /// A delivery that cannot be handled for more than a day: it is written down that it was not.
    async fn given_up(&self, open: &OpenDelivery, why: &str, now: Ms) -> Result<(), EngineError> {
        let guid = &open.delivery.guid;
        tracing::error!(guid, why, "a delivery is given up");
        let line = AuditLine {
            at: now,
            actor: "the service".to_owned(),
            action: "gave up".to_owned(),
            subject: format!("delivery:{guid}"),
            detail: why.to_owned(),
        };
        let delivery = Some((guid.clone(), HANDLER, format!("given up: {why}")));
        self.service.desk().settle(Settle { delivery, audit: vec![line], at: now, ..Settle::default() }).await?;
        Ok(())
    }

    /// A delivery by a hook of a repository names no installation: the one that was seen before is taken.
    async fn reachable(&self, told: Told) -> Result<Told, EngineError> {
        let repo = match &told {
            Told::Comment(comment) => &comment.pull.repo,
            Told::Pull { id, .. } => &id.repo,
            Told::Button(button) => &button.repo,
            Told::Repo(_) | Told::Installation { .. } | Told::Nothing(_) => return Ok(told),
        };
        if repo.installation != 0 {
            return Ok(told);
        }
        let Some(known) = self.service.desk().repo(repo.id).await?.filter(|known| known.installation != 0) else {
            return Ok(Told::Nothing("no installation of the app is named, and none is known".to_owned()));
        };
        Ok(match told {
            Told::Comment(mut comment) => {
                comment.pull.repo.installation = known.installation;
                Told::Comment(comment)
            }
            Told::Pull { mut id, push, head } => {
                id.repo.installation = known.installation;
                Told::Pull { id, push, head }
            }
            Told::Button(mut button) => {
                button.repo.installation = known.installation;
                Told::Button(button)
            }
            told => told,
        })
    }

    async fn button(&self, button: &Button, guid: &str, now: Ms) -> Result<Handled, Stopped> {
        let audit = |action: &str, id: Option<&PullId>, detail: &str| {
            let line = AuditLine {
                at: now,
                actor: actor(&button.sender),
                action: action.to_owned(),
                subject: id.map_or_else(|| format!("check:{}", button.check), PullId::key),
                detail: detail.to_owned(),
            };
            Box::new(Settle { audit: vec![line], ..Settle::default() })
        };
        Ok(match self.pressed(button, guid, now).await? {
            Pressed::Done(id, events, detail) => {
                let settle = audit("pressed", Some(&id), &detail);
                Handled::Events(id, events, settle, detail)
            }
            Pressed::Refused(id, pull, why) => {
                let settle = audit("refused", Some(&id), &why);
                Handled::Events(id, vec![Event::Observed(pull, now)], settle, why)
            }
            Pressed::Denied(id, why) => Handled::Nothing(audit("denied", Some(&id), &why), why),
            Pressed::Nothing(why) => Handled::Nothing(audit("refused", None, &why), why),
        })
    }

    /// The app was installed, removed, or may do nothing for a while. Removed, nothing it runs goes on; suspended, it does:
    /// that may be over soon.
    async fn installation(
        &self,
        installation: u64,
        what: Reach,
        whole: bool,
        repos: Vec<Repo>,
        now: Ms,
    ) -> Result<Handled, Stopped> {
        let outcome = format!("installation {installation}: {what:?}");
        if what == Reach::Back {
            // What was refused meanwhile would wait for a day.
            self.service.desk().say_refused(now).await.map_err(EngineError::from)?;
            let settle = Settle { repos, ..Settle::default() };
            return Ok(Handled::Nothing(Box::new(settle), outcome));
        }
        if what != Reach::Gone {
            return Ok(Handled::Nothing(Box::default(), outcome));
        }
        let active = self.service.desk().active_runs().await.map_err(EngineError::from)?;
        for row in active {
            let key = format!("pull:{}:{}", row.repo, row.number);
            let Some(subject) = self.service.desk().read(&key).await.map_err(EngineError::from)? else { continue };
            let id = PullState::from_json(&subject.state).map_err(EngineError::from)?.id;
            let named = repos.iter().any(|repo| repo.id == id.repo.id);
            if id.repo.installation == installation && (whole || named) {
                self.service.apply(&id, &[Event::Removed], &Settle::default()).await?;
            }
        }
        Ok(Handled::Nothing(Box::default(), outcome))
    }

    /// A pull request is to be looked at. One that nobody ever asked for anything on is not: only its pushes are remembered,
    /// because a command may have been written before them.
    async fn looked(
        &self,
        id: PullId,
        push: Option<domain::pull::Push>,
        head: Option<CommitSha>,
        now: Ms,
    ) -> Result<Handled, Stopped> {
        if !self.shared.serves(&id.repo.name) {
            return Ok(Handled::Nothing(Box::default(), "the repository is not served".to_owned()));
        }
        let state = self.state(&id).await?;
        let mut events: Vec<Event> = push.into_iter().map(Event::Pushed).collect();
        let mut settle = Settle::default();
        if let Some(head) = &head {
            match self.configured(&id, head, now).await {
                Ok(want) => settle.wants.extend(want),
                Err(stopped) => {
                    // What has to wait is the check. A push is remembered at once: a command may come before it is looked at.
                    if !events.is_empty() {
                        self.service.apply(&id, &events, &Settle::default()).await?;
                    }
                    return Err(stopped);
                }
            }
        }
        if state.is_some_and(|state| state.matters()) || !self.service.settings.always.is_empty() {
            match asked(self.service.forge.pull(&id).await, now)? {
                Ok(pull) => events.push(Event::Observed(Box::new(pull), now)),
                Err(why) => return Ok(Handled::Events(id, events, Box::new(settle), why)),
            }
        }
        if events.is_empty() {
            return Ok(Handled::Nothing(Box::new(settle), "nobody asked for anything here".to_owned()));
        }
        Ok(Handled::Events(id, events, Box::new(settle), "looked at".to_owned()))
    }

    pub(super) async fn state(&self, id: &PullId) -> Result<Option<PullState>, EngineError> {
        let subject = self.service.desk().read(&id.key()).await?;
        Ok(subject.map(|subject| PullState::from_json(&subject.state)).transpose()?)
    }

    async fn commented(&self, comment: &Comment, now: Ms) -> Result<Handled, Stopped> {
        let nothing = |why: &str| Ok(Handled::Nothing(Box::default(), why.to_owned()));
        if comment.bot {
            return nothing("a program's comment");
        }
        let suites: Vec<Suite> = self.shared.suites.values().cloned().collect();
        if matches!(parse::understand(&comment.body, &suites), Ok(None)) {
            return nothing("no command");
        }
        let audit = |action: &str, detail: String| AuditLine {
            at: now,
            actor: actor(&comment.sender),
            action: action.to_owned(),
            subject: comment.pull.key(),
            detail,
        };
        if comment.happened != Happened::Created {
            // A command counts as it was written first: whoever edits it need not be who wrote it.
            let line = audit("ignored", format!("comment {} was edited or deleted and holds a command", comment.id));
            let settle = Settle { audit: vec![line], ..Settle::default() };
            return Ok(Handled::Nothing(Box::new(settle), "an edited or deleted command".to_owned()));
        }
        // What is meant depends on what the repository says: it may have presets of its own.
        let mut found = Arc::new(Configuration::None);
        if self.shared.serves(&comment.pull.repo.name) {
            found = match asked(self.shared.configuration(&self.service.forge, &comment.pull.repo).await, now)? {
                Ok(found) => found,
                Err(why) => Arc::new(Configuration::Broken { why, digest: None }),
            };
        }
        let suites = found.suites(self.shared);
        let understood = parse::understand(&comment.body, &suites);
        let author = comment.author.clone().unwrap_or_else(|| comment.sender.clone());
        let reaching = match understood {
            Ok(Some(command)) => match self.commanded(comment, &author, &command, &found, now).await? {
                Ok(reaching) => reaching,
                Err(why) => {
                    let settle = Settle { audit: vec![audit("failed", why.clone())], ..Settle::default() };
                    return Ok(Handled::Nothing(Box::new(settle), why));
                }
            },
            Ok(None) => return nothing("no command"),
            Err(error) => not_understood(comment, &error),
        };
        let mut settle = Settle { audit: vec![audit(reaching.audit.0, reaching.audit.1.clone())], ..Settle::default() };
        if let Some(answer) = &reaching.answer {
            settle.wants.push(self.service.reply(&comment.pull, answer, now)?);
        }
        let outcome = format!("{}: {}", reaching.audit.0, reaching.audit.1);
        Ok(Handled::Events(comment.pull.clone(), reaching.events, Box::new(settle), outcome))
    }
}

/// What the forge says, or that the delivery has to wait, or words for why nothing can be done.
pub(super) fn asked<T>(answer: Result<T, ForgeError>, now: Ms) -> Result<Result<T, String>, Stopped> {
    let wait = |until, why| Err(Stopped::Wait(Wait { until, why }));
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(ForgeError::Unavailable(why)) => wait(None, why),
        Err(ForgeError::Limited { until, why }) => wait(Some(until), why),
        // A key that is being replaced, an installation that is suspended: what was asked for meanwhile is not lost.
        Err(ForgeError::Forbidden(why)) => wait(Some(now.plus(LONGEST_WAIT)), why),
        Err(error) => {
            tracing::warn!(%error, "the forge does not answer this");
            Ok(Err(error.to_string()))
        }
    }
}

fn actor(account: &Account) -> String {
    format!("github:{} {}", account.id, account.login)
}
