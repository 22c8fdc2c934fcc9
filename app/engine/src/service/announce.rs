//! Telling others of what happens: a chat, or a CI system.
//!
//! What is to be sent is written down in the transaction of what caused it, and sent by a flusher of its own until it was taken:
//! whoever is slow, or not there, keeps no comment waiting.

use domain::machine::{Run, State};
use domain::ports::announce::{ANNOUNCEMENT_SCHEMA, AnnouncedPull, Announcement, Announcer, Happening};
use domain::ports::desk::{AuditLine, ClaimedWant, Settle, Want};
use domain::ports::{Clock, Desk, Forge, Lab, Planner, Subject};
use domain::pull::{Asked, Over, PullState, Waits};
use domain::time::{DAY, Ms, rfc3339};
use domain::view::Ending;
use serde::{Deserialize, Serialize};

use super::pulls::again;
use super::{Archive, SAY_LEASE, Service};
use crate::engine::{EngineError, key_of, plan_of};

/// How much is claimed at once. All of it can be given up by a deadline of 10 s each before the lease ends.
const BATCH: usize = 16;
/// After this an announcement that nobody takes is given up, milliseconds.
const TRIED_FOR: u64 = DAY;
/// Who gives up, for the audit log.
const ACTOR: &str = "zephyr-ab";

/// What is to be sent, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    since: Ms,
    announcement: Announcement,
}

/// Something that happened to a run.
struct Happened<'a> {
    asked: &'a Asked,
    event: Happening,
    /// The event in full: one of a run happens once.
    key: &'static str,
    at: Ms,
    over: Option<&'a Over>,
    reason: Option<String>,
}

/// What the end of a run is called.
fn ending(over: &Over) -> Happening {
    match (&over.verdict, &over.ended) {
        (Some(_), _) => Happening::Verdict,
        (None, Some((Ending::Superseded, _))) => Happening::Superseded,
        (None, _) => Happening::Ended,
    }
}

fn stored(key: &str, error: &serde_json::Error) -> EngineError {
    EngineError::Stored { what: "an announcement", key: key.to_owned(), why: error.to_string() }
}

/// The reason of a verdict, as a word.
fn reason_of(run: &Run) -> Option<String> {
    let State::Done { judged, .. } = &run.state else { return None };
    let reason = serde_json::to_value(judged.headline()?.reason).ok()?;
    reason.as_str().map(ToOwned::to_owned)
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// What is to be announced of a step of a pull request: runs that were accepted, that wait for checks, that are over.
    pub(super) async fn announced(
        &self,
        (before, after): (&PullState, &PullState),
        queued: &[Asked],
        over: &[(Asked, Over)],
        now: Ms,
    ) -> Result<Vec<Want>, EngineError> {
        if self.settings.announce.is_empty() {
            return Ok(Vec::new());
        }
        let mut happened = Vec::new();
        for asked in queued {
            let at = asked.at;
            happened.push(Happened { asked, event: Happening::Queued, key: "queued", at, over: None, reason: None });
        }
        for shown in after.shown.values() {
            let Some(Waits::Checks { names, .. }) = &shown.waits else { continue };
            let waited = before.of_run(&shown.asked.run).and_then(|shown| shown.waits.as_ref());
            if !matches!(waited, Some(Waits::Checks { .. })) {
                happened.push(Happened {
                    asked: &shown.asked,
                    event: Happening::Waiting,
                    key: "waiting:checks",
                    at: now,
                    over: None,
                    reason: Some(format!("checks: {}", names.join(", "))),
                });
            }
        }
        for (asked, over) in over {
            let event = ending(over);
            let reason = over.ended.as_ref().and_then(|(_, why)| why.clone());
            happened.push(Happened { asked, event, key: event.word(), at: over.at, over: Some(over), reason });
        }
        let mut wants = Vec::new();
        for one in happened.into_iter().filter(|one| self.settings.announce.contains(&one.event)) {
            // It may wait, go on and wait again: that is told of once.
            if one.event == Happening::Waiting && self.desk().wanted(&target(one.asked, one.key)).await?.is_some() {
                continue;
            }
            let subject = self.desk().read(&key_of(&one.asked.run)).await?;
            wants.push(self.announcement(one, subject.as_ref(), now).await?);
        }
        Ok(wants)
    }

    /// What is to be announced of a run that has a subject of its own: that it waits for a person, that it has started.
    pub(super) async fn announced_of(
        &self,
        asked: &Asked,
        run: &Run,
        subject: &Subject,
        now: Ms,
    ) -> Result<Vec<Want>, EngineError> {
        let mut happened = Vec::new();
        if let Some(at) = run.trials.iter().filter_map(|trial| trial.submitted).min() {
            happened.push(Happened { asked, event: Happening::Started, key: "started", at, over: None, reason: None });
        }
        if matches!(run.state, State::AwaitingConfirmation { .. }) {
            let plan = plan_of(subject)?;
            let reason = plan.confirm.or_else(|| plan.skip.map(|reasons| reasons.join("; ")));
            let event = Happening::Waiting;
            happened.push(Happened { asked, event, key: "waiting", at: now, over: None, reason });
        }
        let mut wants = Vec::new();
        for one in happened.into_iter().filter(|one| self.settings.announce.contains(&one.event)) {
            // A run changes often; this happens to it once.
            if self.desk().wanted(&target(asked, one.key)).await?.is_none() {
                wants.push(self.announcement(one, Some(subject), now).await?);
            }
        }
        Ok(wants)
    }

    async fn announcement(&self, one: Happened<'_>, subject: Option<&Subject>, now: Ms) -> Result<Want, EngineError> {
        let asked = one.asked;
        let pull = &asked.pull;
        // What cannot be read is said of the run itself; who listens is told what is known.
        let run = subject.and_then(|subject| Run::from_json(&subject.state).ok());
        let comment_url = self.link(pull, &asked.suite).await?;
        let announcement = Announcement {
            schema: ANNOUNCEMENT_SCHEMA,
            event: one.event,
            id: format!("{}:{}", asked.run, one.key),
            at: rfc3339(one.at),
            repository: pull.repo.name.clone(),
            pull_request: AnnouncedPull {
                number: pull.number,
                url: format!("{}/{}/pull/{}", self.settings.web, pull.repo.name, pull.number),
            },
            suite: asked.suite.clone(),
            run: asked.run.clone(),
            head: asked.head.clone(),
            control: subject.and_then(|subject| plan_of(subject).ok()).map(|plan| plan.arms.control().clone()),
            verdict: one.over.and_then(|over| over.verdict),
            ended: one.over.and_then(|over| over.ended.as_ref()).map(|(how, _)| how.key().to_owned()),
            said: one.over.map(|over| over.said.clone()),
            reason: one.reason.or_else(|| run.as_ref().and_then(reason_of)),
            comment_url,
            evidence: one.over.and_then(|over| over.evidence.clone()),
        };
        let target = target(asked, one.key);
        let kept = Kept { since: now, announcement };
        let wanted = serde_json::to_string(&kept).map_err(|error| stored(&target, &error))?;
        Ok(Want { target, wanted, due: now })
    }

    /// Sends what is due. Without anybody to send it to, what is there already is dropped. Returns how much was tried.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read.
    pub async fn announce<A: Announcer>(&self, to: Option<&A>, now: Ms) -> Result<usize, EngineError> {
        let owner = &self.engine.settings.owner;
        let claimed = self.desk().claim_announcements(owner, now, now.plus(SAY_LEASE), BATCH).await?;
        let count = claimed.len();
        let mut failed = None;
        for want in claimed {
            // One that cannot be read must not keep the others from being sent.
            if let Err(error) = self.send(to, &want).await {
                let due = again(want.attempts, self.now());
                self.desk().unsaid_yet(&want.target, want.fence, due, &error.to_string()).await?;
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(count), Err)
    }

    async fn send<A: Announcer>(&self, to: Option<&A>, want: &ClaimedWant) -> Result<(), EngineError> {
        let kept: Kept = serde_json::from_str(&want.wanted).map_err(|error| stored(&want.target, &error))?;
        let announcement = &kept.announcement;
        let body = serde_json::to_string(announcement).map_err(|error| stored(&want.target, &error))?;
        let sent = if let Some(to) = to {
            to.send(&announcement.id, announcement.event, &body).await
        } else {
            tracing::info!(about = want.target, "nobody is to be told any more");
            Ok(())
        };
        let now = self.now();
        match sent {
            Ok(()) => {}
            Err(why) if now.since(kept.since) < TRIED_FOR => {
                tracing::warn!(about = want.target, why, "not announced");
                self.desk().unsaid_yet(&want.target, want.fence, again(want.attempts, now), &why).await?;
                return Ok(());
            }
            Err(why) => {
                tracing::error!(about = want.target, why, "given up: nobody took it for a day");
                let line = AuditLine {
                    at: now,
                    actor: ACTOR.to_owned(),
                    action: "announcement given up".to_owned(),
                    subject: want.target.clone(),
                    detail: why,
                };
                self.desk().settle(Settle { audit: vec![line], at: now, ..Settle::default() }).await?;
            }
        }
        self.desk().said(&want.target, want.fence, &want.hash, None, false).await?;
        Ok(())
    }
}

fn target(asked: &Asked, key: &str) -> String {
    format!("announce:{}:{key}", asked.run)
}

#[cfg(test)]
mod tests {
    use domain::view::Verdict;

    use super::*;

    #[test]
    fn what_ends_are_called() {
        let over = |verdict, how: Option<Ending>| Over {
            verdict,
            ended: how.map(|how| (how, None)),
            said: String::new(),
            evidence: None,
            alive: Vec::new(),
            at: Ms(1),
        };
        for how in Ending::ALL {
            let expected = if how == Ending::Superseded { Happening::Superseded } else { Happening::Ended };
            assert_eq!(ending(&over(None, Some(how))), expected, "{how:?}");
        }
        for verdict in [Verdict::Pass, Verdict::Regression, Verdict::Tradeoff, Verdict::Inconclusive] {
            assert_eq!(ending(&over(Some(verdict), None)), Happening::Verdict);
        }
    }

    #[test]
    fn words_are_those_of_json() {
        for one in Happening::ALL {
            assert_eq!(serde_json::to_value(one).unwrap(), one.word());
        }
    }
}
