//! What a command on a pull request leads to.

use domain::command::{Command, CommandError, VerbKind, Who, help, refusal};
use domain::ids::RunId;
use domain::ports::forge::{Account, Permission, Pull, Reaction};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{Asked, Denied, Event, PullState, head_meant, may};
use domain::time::Ms;
use domain::view::Answer;
use engine::service::{Archive, answers};
use sha2::{Digest as _, Sha256};
use suite::Suite;

use super::inbox::{Inbox, Stopped, asked};
use super::payload::Comment;
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

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Inbox<'_, D, F, P, L, R, C> {
    pub(super) async fn commanded(
        &self,
        comment: &Comment,
        author: &Account,
        command: &Command,
        now: Ms,
    ) -> Result<Result<Reaching, String>, Stopped> {
        let verb = command.verb;
        let suite = command.suite.as_ref().map(ToString::to_string);
        if !self.shared.serves(&comment.pull.repo.name) {
            let answer = answers::not_served(&comment.pull.repo.name);
            return Ok(Ok(refused(comment, answer, "the repository is not served".to_owned())));
        }
        if !verb.built {
            let answer = answers::not_built(verb.name);
            return Ok(Ok(refused(comment, answer, format!("{} is not built", verb.name))));
        }
        let state = self.state(&comment.pull).await?;
        let running = state.as_ref().and_then(PullState::running);
        let requester = running.is_some_and(|shown| shown.asked.by.id == author.id);
        let needed = verb.who;
        let permission = match needed {
            Who::Anyone => Permission::None,
            Who::RequesterOrWrite if requester => Permission::None,
            _ => match asked(self.service.forge.permission(&comment.pull.repo, author).await, now)? {
                Ok(permission) => permission,
                Err(why) => return Ok(Err(why)),
            },
        };
        if let Err(denied) = may(needed, permission, requester, &author.login) {
            let why = denied.to_string();
            return Ok(Ok(refused(comment, answers::denied(&denied, ""), why)));
        }
        let seen = |answer| Reaching {
            events: vec![reacted(comment, Reaction::Eyes)],
            answer: Some(answer),
            audit: (verb.name, suite.clone().unwrap_or_default()),
        };
        Ok(Ok(match (verb.kind, &suite) {
            (VerbKind::Help, _) => {
                let suites: Vec<Suite> = self.shared.suites.values().cloned().collect();
                seen(help(&parse::known(&suites)))
            }
            (VerbKind::Status, _) => seen(self.service.status(&comment.pull, suite.as_deref()).await?),
            (VerbKind::Cancel, Some(suite)) => Reaching {
                events: vec![Event::Cancel { suite: suite.clone(), by: author.login.clone(), comment: comment.id }],
                answer: None,
                audit: ("cancel", suite.clone()),
            },
            (VerbKind::Confirm, Some(suite)) => {
                // What was shown is started only if it is what would be merged.
                let pull = match asked(self.service.forge.pull(&comment.pull).await, now)? {
                    Ok(pull) => pull,
                    Err(why) => return Ok(Err(why)),
                };
                let (suite, digest) = (suite.clone(), command.digest.clone());
                let audit = ("confirm", suite.clone());
                let confirm = Event::Confirm { suite, digest, comment: comment.id };
                Reaching { events: vec![Event::Observed(Box::new(pull), now), confirm], answer: None, audit }
            }
            (VerbKind::Run, Some(suite)) => {
                let pull = match asked(self.service.forge.pull(&comment.pull).await, now)? {
                    Ok(pull) => pull,
                    Err(why) => return Ok(Err(why)),
                };
                let pushes = state.as_ref().map(|state| state.pushes.clone()).unwrap_or_default();
                run(comment, author, command, suite, pull, &pushes, now)
            }
            _ => refused(comment, answers::not_built(verb.name), format!("{} is not built", verb.name)),
        }))
    }
}

fn run(
    comment: &Comment,
    author: &Account,
    command: &Command,
    suite: &str,
    pull: Pull,
    pushes: &[domain::pull::Push],
    now: Ms,
) -> Reaching {
    let pairs = command.request.pairs.clone();
    let named = pairs.iter().find(|(key, _)| key == "sha").map(|(_, value)| value.clone());
    let head = match head_meant(&pull, named.as_deref(), pushes, comment.written) {
        Ok(head) => head,
        Err(denied) => {
            let line = answers::without_sha(suite, &pairs);
            let mut reaching = refused(comment, answers::denied(&denied, &line), denied.to_string());
            if !matches!(denied, Denied::Permission { .. }) {
                reaching.events.insert(0, Event::Observed(Box::new(pull), now));
            }
            return reaching;
        }
    };
    let Some(run) = run_id(comment) else {
        return refused(comment, answers::not_built("this comment"), "the comment has no time".to_owned());
    };
    let asked = Asked {
        run,
        pull: pull.id.clone(),
        suite: suite.to_owned(),
        pairs,
        head: head.clone(),
        base_ref: pull.base_ref.clone(),
        base: pull.base.clone(),
        fork: pull.is_fork(),
        by: author.clone(),
        comment: comment.id,
        at: now,
        continues: None,
    };
    Reaching {
        audit: ("run", format!("{suite} at {head}")),
        events: vec![Event::Observed(Box::new(pull), now), Event::Ask(Box::new(asked))],
        answer: None,
    }
}

/// The id of the run that a comment asks for: it follows from the comment, so that handling it twice makes one run.
fn run_id(comment: &Comment) -> Option<RunId> {
    let text = format!("{}:{}:{}", comment.pull.repo.id, comment.pull.number, comment.id);
    let digest = Sha256::digest(text.as_bytes());
    let random = digest.iter().take(4).fold(0u32, |all, byte| all << 8 | u32::from(*byte));
    RunId::new(comment.written.unwrap_or_default().seconds(), random).ok()
}
