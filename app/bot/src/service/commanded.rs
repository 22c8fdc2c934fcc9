//! What a command on a pull request leads to.

use domain::command::{Command, CommandError, VerbKind, Who, help, refusal};
use domain::ids::RunId;
use domain::ports::forge::{Account, Permission, Pull, Reaction};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Approval, Asked, Auto, Cause, Denied, Event, PullState, at_least, head_meant, may};
use domain::time::{Ms, utc};
use domain::view::{Answer, Decided, Decision};
use engine::service::{Archive, answers};
use sha2::{Digest as _, Sha256};

use super::inbox::{Inbox, Stopped, asked};
use super::payload::Comment;
use super::repository::{Configuration, unreadable};
use crate::command::parse;

/// What a command leads to.
pub(super) struct Reaching {
    pub(super) events: Vec<Event>,
    pub(super) answer: Option<Answer>,
    pub(super) audit: (&'static str, String),
}

fn reacted(comment: &Comment, with: Reaction) -> Event {
    Event::Answered { comment: comment.id, with }
}

pub(super) fn not_understood(comment: &Comment, error: &CommandError) -> Reaching {
    Reaching {
        events: vec![reacted(comment, Reaction::Confused)],
        answer: Some(refusal(error)),
        audit: ("refused", format!("{}: {error}", error.code.as_str())),
    }
}

fn refused(comment: &Comment, answer: Answer, why: String) -> Reaching {
    Reaching { events: vec![reacted(comment, Reaction::Confused)], answer: Some(answer), audit: ("denied", why) }
}

fn not_built(comment: &Comment, verb: &str) -> Reaching {
    refused(comment, answers::not_built(verb), format!("{verb} is not built"))
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Inbox<'_, D, F, P, L, R, C> {
    pub(super) async fn commanded(
        &self,
        comment: &Comment,
        author: &Account,
        command: &Command,
        found: &Configuration,
        now: Ms,
    ) -> Result<Result<Reaching, String>, Stopped> {
        let verb = command.verb;
        let suite = command.suite.as_ref().map(ToString::to_string);
        if !self.shared.serves(&comment.pull.repo.name) {
            let answer = answers::not_served(&comment.pull.repo.name);
            return Ok(Ok(refused(comment, answer, "the repository is not served".to_owned())));
        }
        if !verb.built {
            return Ok(Ok(not_built(comment, verb.name)));
        }
        let state = self.state(&comment.pull).await?;
        let running = state.as_ref().and_then(PullState::running);
        let requester = running.is_some_and(|shown| shown.asked.by.id == author.id);
        match self.not_allowed(comment, author, command, found, requester, now).await? {
            Ok(None) => {}
            Ok(Some(refused)) => return Ok(Ok(refused)),
            Err(why) => return Ok(Err(why)),
        }
        let named = suite.clone().unwrap_or_default();
        let seen = |answer| Reaching {
            events: vec![reacted(comment, Reaction::Eyes)],
            answer: Some(answer),
            audit: (verb.name, named.clone()),
        };
        let Some(suite) = suite else {
            return Ok(Ok(seen(if verb.kind == VerbKind::Status {
                self.service.status(&comment.pull, None).await?
            } else {
                self.help(found)
            })));
        };
        let mut pull = None;
        if needs_look(verb.kind) {
            pull = match asked(self.service.forge.pull(&comment.pull).await, now)? {
                Ok(pull) => Some(pull),
                Err(why) => return Ok(Err(why)),
            };
        }
        let look = |pull: &Option<Pull>| pull.clone().map(|pull| Event::Observed(Box::new(pull), now));
        let reaching = |event, detail: String| Reaching {
            events: look(&pull).into_iter().chain([event]).collect(),
            answer: None,
            audit: (verb.name, detail),
        };
        let by = || author.login.clone();
        let reason = || command.reason.clone().unwrap_or_default();
        Ok(Ok(match verb.kind {
            VerbKind::Help => seen(self.help(found)),
            VerbKind::Status => seen(self.service.status(&comment.pull, Some(&suite)).await?),
            VerbKind::Explain => {
                let row = command.row.as_deref().unwrap_or_default();
                seen(self.service.explain(&comment.pull, &suite, row).await?)
            }
            VerbKind::Cancel => {
                let cancel = Event::Cancel { suite: suite.clone(), by: by(), comment: Some(comment.id) };
                reaching(cancel, suite)
            }
            VerbKind::Confirm => {
                // What was shown is started only if it is what would be merged.
                let digest = command.digest.clone();
                reaching(Event::Confirm { suite: suite.clone(), digest, comment: comment.id }, suite)
            }
            VerbKind::Retry => {
                let Some(run) = run_id(comment) else { return Ok(Ok(no_time(comment))) };
                let (by, comment) = (author.clone(), Some(comment.id));
                reaching(Event::Retry { suite: suite.clone(), run, by, comment }, suite)
            }
            VerbKind::Accept => {
                let decision = Decision { what: Decided::Accepted, by: by(), why: reason(), at: Some(utc(now)) };
                let detail = format!("{suite}: {}", reason());
                reaching(Event::Accept { suite, decision, comment: comment.id, written: comment.written }, detail)
            }
            VerbKind::Auto => {
                let on = command.state.unwrap_or_default();
                let auto = Auto { on, by: author.clone(), comment: comment.id, at: now, head: None };
                let detail = format!("{suite} {}", if on { "on" } else { "off" });
                reaching(Event::Auto { suite, auto }, detail)
            }
            VerbKind::Run | VerbKind::Plan | VerbKind::Skip | VerbKind::Compare => {
                let Some(pull) = pull.clone() else { return Ok(Err("the pull request was not looked at".to_owned())) };
                let pushes = state.as_ref().map(|state| state.pushes.clone()).unwrap_or_default();
                match asking(comment, author, command, &suite, pull, &pushes, now) {
                    Err(reaching) => reaching,
                    Ok(asked) => {
                        let (event, detail) = begun(verb.kind, asked, reason());
                        reaching(event, detail)
                    }
                }
            }
            VerbKind::Calibrate | VerbKind::Aa => not_built(comment, verb.name),
        }))
    }

    /// The refusal of somebody who may not; `None` where they may.
    async fn not_allowed(
        &self,
        comment: &Comment,
        author: &Account,
        command: &Command,
        found: &Configuration,
        requester: bool,
        now: Ms,
    ) -> Result<Result<Option<Reaching>, String>, Stopped> {
        let verb = command.verb;
        let needed = verb.who;
        let least = command.suite.as_ref().and_then(|suite| found.least(suite.as_str(), verb.kind));
        let permission = match needed {
            Who::Anyone => Permission::None,
            Who::RequesterOrWrite if requester && least.is_none() => Permission::None,
            _ => match asked(self.service.forge.permission(&comment.pull.repo, author).await, now)? {
                Ok(permission) => permission,
                Err(why) => return Ok(Err(why)),
            },
        };
        let may =
            may(needed, permission, requester, &author.login).and_then(|()| at_least(least, permission, &author.login));
        if let Err(denied) = may {
            let why = denied.to_string();
            return Ok(Ok(Some(refused(comment, answers::denied(&denied, ""), why))));
        }
        if let Configuration::Broken { why, .. } = found
            && !matches!(needed, Who::Anyone | Who::Read | Who::RequesterOrWrite)
            && !is_planned(verb.kind)
        {
            // Who may is not known; a plan is refused with the same words when it is made.
            let why = unreadable(why);
            return Ok(Ok(Some(refused(comment, answers::unreadable(&why), why))));
        }
        Ok(Ok(None))
    }

    fn help(&self, found: &Configuration) -> Answer {
        help(&parse::known(&found.suites(self.shared)))
    }
}

/// What is asked for, at the head that is meant.
#[allow(clippy::too_many_arguments)] // Each is one fact of a command, used once.
fn asking(
    comment: &Comment,
    author: &Account,
    command: &Command,
    suite: &str,
    pull: Pull,
    pushes: &[domain::pull::Push],
    now: Ms,
) -> Result<Asked, Reaching> {
    let pairs = command.request.pairs.clone();
    // Whoever looks, puts away or names jobs that had run runs nothing: any head will do.
    let starts = command.verb.kind == VerbKind::Run;
    let named = pairs.iter().find(|(key, _)| key == "sha").map(|(_, value)| value.clone());
    let head = match head_meant(&pull, named.as_deref(), pushes, comment.written) {
        Ok(head) => head,
        Err(Denied::NeedsSha { head }) if !starts => head,
        Err(denied) => return Err(no_head(comment, author, suite, &pairs, pull, &denied, now)),
    };
    let Some(run) = run_id(comment) else { return Err(no_time(comment)) };
    Ok(Asked {
        run,
        pull: pull.id.clone(),
        suite: suite.to_owned(),
        pairs,
        head,
        base_ref: pull.base_ref.clone(),
        base: pull.base.clone(),
        fork: pull.is_fork(),
        by: author.clone(),
        comment: comment.id,
        at: now,
        continues: None,
        retries: None,
        cause: Cause::Command,
        jobs: command.verb.kind == VerbKind::Compare,
    })
}

/// Why no head is meant; a fork's can be approved with a button.
#[allow(clippy::too_many_arguments)] // Each is one fact of a command, used once.
fn no_head(
    comment: &Comment,
    author: &Account,
    suite: &str,
    pairs: &[(String, String)],
    pull: Pull,
    denied: &Denied,
    now: Ms,
) -> Reaching {
    let line = answers::without_sha(suite, pairs);
    let mut reaching = refused(comment, answers::denied(denied, &line), denied.to_string());
    if let Denied::NeedsSha { head } = denied {
        let pairs = pairs.iter().filter(|(key, _)| key != "sha").cloned().collect();
        let (head, by) = (head.clone(), author.clone());
        let approval = Approval { head, pairs, by, comment: comment.id, at: now, over: None };
        reaching.events = vec![Event::NeedsApproval { suite: suite.to_owned(), approval }];
    }
    reaching.events.insert(0, Event::Observed(Box::new(pull), now));
    reaching
}

/// What happens with what is asked for, and a line for the audit log.
fn begun(verb: VerbKind, asked: Asked, why: String) -> (Event, String) {
    let suite = asked.suite.clone();
    match verb {
        VerbKind::Plan => (Event::Preview(Box::new(asked)), suite),
        VerbKind::Skip => {
            let detail = format!("{suite}: {why}");
            (Event::Skip { asked: Box::new(asked), why }, detail)
        }
        _ => {
            let detail = format!("{suite} at {}", asked.head);
            (Event::Ask(Box::new(asked)), detail)
        }
    }
}

/// Whether a plan is made, which is refused where what the repository says cannot be read.
fn is_planned(verb: VerbKind) -> bool {
    matches!(verb, VerbKind::Run | VerbKind::Plan | VerbKind::Compare | VerbKind::Retry)
}

/// Whether the pull request is looked at first: what is done depends on its head.
fn needs_look(verb: VerbKind) -> bool {
    use VerbKind::{
        Aa, Accept, Auto, Calibrate, Cancel, Compare, Confirm, Explain, Help, Plan, Retry, Run, Skip, Status,
    };
    match verb {
        Run | Plan | Skip | Compare | Confirm | Retry | Accept | Auto => true,
        Status | Cancel | Explain | Help | Calibrate | Aa => false,
    }
}

fn no_time(comment: &Comment) -> Reaching {
    refused(comment, answers::not_built("this comment"), "the comment has no time".to_owned())
}

/// The id of the run that a comment asks for: it follows from the comment, so that handling it twice makes one run.
fn run_id(comment: &Comment) -> Option<RunId> {
    let text = format!("{}:{}:{}", comment.pull.repo.id, comment.pull.number, comment.id);
    let digest = Sha256::digest(text.as_bytes());
    let random = digest.iter().take(4).fold(0u32, |all, byte| all << 8 | u32::from(*byte));
    RunId::new(comment.written.unwrap_or_default().seconds(), random).ok()
}
