//! Making the forge say what is wanted.

use domain::ports::desk::{ClaimedWant, Settle};
use domain::ports::forge::{CommentFound, CommentWanted, ForgeError};
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::Event;
use domain::time::{DAY, Ms};

use super::pulls::again;
use super::saying::Saying;
use super::{Archive, SAY_LEASE, Service};
use crate::engine::EngineError;

/// How much is claimed at once.
const BATCH: usize = 16;
/// Until what the forge will not say is tried again, milliseconds: somebody has to change something first. What is
/// wanted anew is said at once.
const HOPELESS: u64 = DAY;

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Says what is due. Returns how much was tried.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read.
    pub async fn flush(&self, now: Ms) -> Result<usize, EngineError> {
        let owner = &self.engine.settings.owner;
        let claimed = self.desk().claim_wants(owner, now, now.plus(SAY_LEASE), BATCH).await?;
        let count = claimed.len();
        let mut failed = None;
        for want in claimed {
            // One that cannot be said must not keep the others from it.
            if let Err(error) = self.say(&want).await {
                let due = again(want.attempts, self.now());
                self.desk().unsaid_yet(&want.target, want.fence, due, &error.to_string()).await?;
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(count), Err)
    }

    async fn say(&self, want: &ClaimedWant) -> Result<(), EngineError> {
        let saying: Saying = serde_json::from_str(&want.wanted).map_err(|error| EngineError::Stored {
            what: "what is to be said",
            key: want.target.clone(),
            why: error.to_string(),
        })?;
        let said = match &saying {
            Saying::Verdict { comment, run, over } => {
                // A person who deletes the comment of a run sees it once more, and not again.
                let runs = self.desk().runs(comment.pull.repo.id, comment.pull.number).await?;
                let recreate = (want.gone as usize) < runs.len().max(1);
                if want.gone > 0 && want.remote.is_none() && !recreate {
                    Ok((None, CommentFound::default()))
                } else {
                    let known = if *over { self.standing(&comment.pull, run, want).await? } else { Ok(want.remote) };
                    match known {
                        Ok(known) => self.comment(comment, known, recreate).await,
                        Err(error) => Err(error),
                    }
                }
            }
            Saying::Reply { comment } => self.comment(comment, want.remote, true).await,
            Saying::Notification { comment, suite, run } => match self.comment(comment, want.remote, true).await {
                Ok(said) => self.fold_earlier(&comment.pull, suite, run, want.attempts).await?.map(|()| said),
                Err(error) => Err(error),
            },
            Saying::Repost { pull, suite, run, .. } => {
                let folded = self.fold_earlier(pull, suite, run, want.attempts).await?;
                folded.map(|()| (None, CommentFound::default()))
            }
            Saying::Labels { pull, add, remove } => {
                self.forge.labels(pull, add, remove).await.map(|()| (None, CommentFound::default()))
            }
            Saying::Withdrawn => Ok((want.remote, CommentFound::default())),
            Saying::Check { check } => {
                self.forge.check(check, want.remote).await.map(|id| (Some(id), CommentFound::default()))
            }
        };
        match said {
            Ok((remote, found)) => {
                let gone = found.recreated || (want.remote.is_some() && remote.is_none());
                self.desk().said(&want.target, want.fence, &want.hash, remote, gone).await?;
                if let (Some(foreign), Saying::Verdict { comment, .. }) = (found.foreign, &saying) {
                    self.apply(&comment.pull, &[Event::Foreign(foreign)], &Settle::default()).await?;
                }
            }
            Err(error) => {
                tracing::warn!(about = want.target, %error, "not said");
                let now = self.now();
                let due = match &error {
                    ForgeError::Unavailable(_) => again(want.attempts, now),
                    ForgeError::Limited { until, .. } => *until,
                    ForgeError::Forbidden(_) | ForgeError::Gone(_) | ForgeError::Refused(_) => now.plus(HOPELESS),
                };
                self.desk().unsaid_yet(&want.target, want.fence, due, &error.to_string()).await?;
                // What is wanted since then has not been refused.
                if self.desk().wanted(&want.target).await?.is_some_and(|now| now.hash != want.hash) {
                    self.desk().say_again(&want.target, self.now()).await?;
                }
            }
        }
        Ok(())
    }

    async fn comment(
        &self,
        comment: &CommentWanted,
        known: Option<u64>,
        recreate: bool,
    ) -> Result<(Option<u64>, CommentFound), ForgeError> {
        let found = self.forge.comment(comment, known, recreate).await?;
        Ok((found.id, found))
    }
}
