//! Telling who asked that a run is over: an edit of the verdict comment tells nobody.
//!
//! By a short comment, or by posting the verdict anew. For the latter the old comment is deleted before the new one is made, and its
//! number is written down with the wish: a crash in between leads to the new one, and at no time there are two.

use domain::ids::RunId;
use domain::ports::desk::{ClaimedWant, Want};
use domain::ports::forge::{CommentWanted, ForgeError, PullId};
use domain::ports::{Clock, Desk, Forge, Lab, Notify, Planner};
use domain::pull::{Over, Shown};
use domain::time::Ms;

use super::saying::{Saying, notify_target, verdict_target};
use super::{Archive, Service};
use crate::engine::EngineError;

/// How many earlier notifications are looked at.
const EARLIER: usize = 20;
/// How often it is tried to fold them.
const FOLDED: u32 = 5;

/// Whether somebody is told that a run is over: it took long, or came to another verdict than the last one.
fn is_told(shown: &Shown, over: &Over, now: Ms, after_ms: u64) -> bool {
    over.verdict.is_some_and(|verdict| {
        let flipped = shown.history.first().is_some_and(|earlier| earlier.verdict != verdict);
        flipped || now.since(shown.asked.at) > after_ms
    })
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// How somebody is told of a run that is over just now.
    pub(super) async fn told(&self, shown: &Shown, over: &Over, now: Ms) -> Result<Option<Want>, EngineError> {
        if !is_told(shown, over, now, self.settings.notify_after_ms) {
            return Ok(None);
        }
        let asked = &shown.asked;
        let notify = match self.planner.manners(&asked.pull.repo, &asked.suite).await {
            Ok(manners) => manners.notify,
            // A verdict does not wait for that.
            Err(why) => {
                tracing::warn!(suite = asked.suite, %why, "how to tell of a verdict cannot be read: as usual");
                Notify::default()
            }
        };
        let saying = match notify {
            Notify::None => return Ok(None),
            Notify::Reply => {
                let marker = format!("<!-- zephyr-ab-notify:{} -->", asked.run);
                let link = self.link(&asked.pull, &asked.suite).await?;
                let text = self.templates.renderer().notification(&asked.by.login, &over.said, link.as_deref());
                let body = format!("{marker}\n{text}");
                let comment = CommentWanted { pull: asked.pull.clone(), marker, body };
                Saying::Notification { comment, suite: asked.suite.clone(), run: asked.run.clone() }
            }
            Notify::Repost => {
                let wanted = self.desk().wanted(&verdict_target(&asked.pull, &asked.suite)).await?;
                let old = wanted.and_then(|wanted| wanted.remote);
                Saying::Repost { pull: asked.pull.clone(), suite: asked.suite.clone(), run: asked.run.clone(), old }
            }
        };
        saying.want(notify_target(&asked.run), now).map(Some)
    }

    /// The number of the verdict comment that is to be edited, where there is one. One that is to be posted anew is deleted.
    pub(super) async fn standing(
        &self,
        pull: &PullId,
        run: &RunId,
        want: &ClaimedWant,
    ) -> Result<Result<Option<u64>, ForgeError>, EngineError> {
        let Some(known) = want.remote else { return Ok(Ok(None)) };
        let told = self.desk().wanted(&notify_target(run)).await?;
        let saying = told.and_then(|told| serde_json::from_str::<Saying>(&told.wanted).ok());
        if !matches!(saying, Some(Saying::Repost { old: Some(old), .. }) if old == known) {
            return Ok(Ok(Some(known)));
        }
        Ok(match self.forge.delete(&pull.repo, known).await {
            Ok(()) | Err(ForgeError::Gone(_)) => Ok(None),
            // Better where it stands than twice.
            Err(error @ (ForgeError::Forbidden(_) | ForgeError::Refused(_))) => {
                tracing::warn!(comment = known, %error, "the comment cannot be posted anew");
                Ok(Some(known))
            }
            Err(error) => Err(error),
        })
    }

    /// Folds the notifications of earlier runs of the suite. Best effort, and the same as often as it is done.
    pub(super) async fn fold_earlier(
        &self,
        pull: &PullId,
        suite: &str,
        run: &RunId,
        attempts: u32,
    ) -> Result<Result<(), ForgeError>, EngineError> {
        let runs = self.desk().runs(pull.repo.id, pull.number).await?;
        let earlier = runs.iter().skip_while(|row| row.id != *run).skip(1).filter(|row| row.suite == suite);
        for row in earlier.take(EARLIER) {
            let told = self.desk().wanted(&notify_target(&row.id)).await?;
            let Some(comment) = told.and_then(|told| told.remote) else { continue };
            match self.forge.minimise(&pull.repo, comment).await {
                Ok(()) => {}
                Err(error @ (ForgeError::Unavailable(_) | ForgeError::Limited { .. })) if attempts < FOLDED => {
                    return Ok(Err(error));
                }
                Err(error) => tracing::warn!(comment, %error, "an earlier notification is not folded"),
            }
        }
        Ok(Ok(()))
    }
}
