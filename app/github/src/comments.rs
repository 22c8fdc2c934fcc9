//! Our comment under a pull request: one, whatever happens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::forge::{CommentFound, CommentWanted, ForgeError, PullId, Reaction, Repo};
use http::Method;
use serde_json::{Value, json};

use crate::asking::{Answer, Ask, Hub, plain};
use crate::objects::Comment;
use crate::verdict;

/// GitHub's limit, in characters. Counted in UTF-16, which is never less.
const LONGEST: usize = 65_536;
/// What GitHub is doing when it answers 502 takes a moment.
pub(crate) const LOOK_AFTER_MS: u64 = 1_000;
/// With more turns than this, those that nobody has are forgotten.
const TURNS: usize = 256;

/// Whose turn it is with one thing: two who look and then make would make two.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// The turn with `what`; over when it is dropped.
    pub(crate) async fn take(&self, what: String) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() > TURNS {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            turns.entry(what).or_default().clone()
        };
        turn.lock_owned().await
    }
}

/// The comments that begin with the marker.
#[derive(Default)]
struct Search {
    /// Oldest first.
    ours: Vec<Comment>,
    foreign: Option<u64>,
}

impl Hub {
    pub(crate) async fn comment(
        &self,
        wanted: &CommentWanted,
        known: Option<u64>,
        recreate: bool,
    ) -> Result<CommentFound, ForgeError> {
        if wanted.body.encode_utf16().count() > LONGEST {
            return Err(ForgeError::Refused(format!("a comment of more than {LONGEST} characters")));
        }
        if first_line(&wanted.body) != wanted.marker {
            return Err(ForgeError::Refused("a comment that does not begin with its marker".into()));
        }
        let _turn = self.turns.take(wanted.pull.key()).await;
        let mut recreated = false;
        if let Some(id) = known {
            match self.comment_by_id(&wanted.pull.repo, id).await? {
                Some(found) if self.is_ours(&found).await? => {
                    if let Some(edited) = self.edit(wanted, found).await? {
                        return Ok(edited);
                    }
                    recreated = true;
                }
                // The number of somebody else's: as if none were known.
                Some(_) => {}
                None => recreated = true,
            }
            if recreated && !recreate {
                return Ok(CommentFound::default());
            }
        }
        let search = self.search(wanted).await?;
        let foreign = search.foreign;
        let found = match self.settle(wanted, search.ours).await? {
            Some(found) => found,
            None => self.create(wanted).await?,
        };
        Ok(CommentFound { foreign, recreated, ..found })
    }

    pub(crate) async fn react(&self, repo: &Repo, comment: u64, with: Reaction) -> Result<(), ForgeError> {
        let tail = format!("/issues/comments/{comment}/reactions");
        let body = json!({ "content": with.word() });
        self.ask(&Ask::write(repo, Method::POST, tail, Some(body))).await?.there().map(|_| ())
    }

    async fn comment_by_id(&self, repo: &Repo, id: u64) -> Result<Option<Comment>, ForgeError> {
        match self.ask(&Ask::get(repo, format!("/issues/comments/{id}"))).await? {
            Answer::Missing(_) => Ok(None),
            Answer::Is(reply) => reply.json().map(Some).ok_or_else(|| verdict::unreadable(&reply)),
        }
    }

    /// Looks through all pages: a busy pull request puts ours past the first.
    async fn search(&self, wanted: &CommentWanted) -> Result<Search, ForgeError> {
        let PullId { repo, number } = &wanted.pull;
        let tail = format!("/issues/{number}/comments?per_page=100");
        let all: Vec<Comment> = self
            .list(repo, tail, plain)
            .await?
            .ok_or_else(|| ForgeError::Gone(format!("pull request {number} of repository {}", repo.id)))?;
        let mut search = Search::default();
        for comment in all {
            if comment.body.as_deref().map(first_line) != Some(wanted.marker.as_str()) {
                continue;
            }
            if self.is_ours(&comment).await? {
                search.ours.push(comment);
            } else {
                search.foreign = search.foreign.or(comment.id);
            }
        }
        search.ours.sort_by_key(|comment| comment.id);
        Ok(search)
    }

    /// By our bot, or by us in some other way that GitHub vouches for.
    async fn is_ours(&self, comment: &Comment) -> Result<bool, ForgeError> {
        if comment.performed_via_github_app.as_ref().and_then(|app| app.id) == Some(self.app_id) {
            return Ok(true);
        }
        let Some(user) = comment.user.as_ref().filter(|user| user.kind.as_deref() == Some("Bot")) else {
            return Ok(false);
        };
        let bot = self.bot().await?;
        Ok(user.login.as_deref().is_some_and(|login| login.eq_ignore_ascii_case(&bot)))
    }

    /// Makes the oldest of ours be so and removes the others. `None` where there is none (any more).
    async fn settle(&self, wanted: &CommentWanted, ours: Vec<Comment>) -> Result<Option<CommentFound>, ForgeError> {
        let mut ours = ours.into_iter();
        while let Some(oldest) = ours.next() {
            let Some(found) = self.edit(wanted, oldest).await? else { continue };
            for double in ours {
                self.remove(&wanted.pull.repo, &double).await?;
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// Makes this comment be so; `None` where it is gone. Hidden ones stay hidden.
    async fn edit(&self, wanted: &CommentWanted, comment: Comment) -> Result<Option<CommentFound>, ForgeError> {
        let Some(id) = comment.id else { return Ok(None) };
        if comment.body.as_deref().is_some_and(|body| same(body, &wanted.body)) {
            return Ok(Some(CommentFound { id: Some(id), url: comment.html_url, ..CommentFound::default() }));
        }
        let tail = format!("/issues/comments/{id}");
        let body = json!({ "body": wanted.body });
        match self.ask(&Ask::write(&wanted.pull.repo, Method::PATCH, tail, Some(body))).await? {
            Answer::Missing(_) => Ok(None),
            Answer::Is(reply) => {
                let url = reply.json::<Comment>().and_then(|now| now.html_url).or(comment.html_url);
                Ok(Some(CommentFound { id: Some(id), url, ..CommentFound::default() }))
            }
        }
    }

    /// Creates the comment. A lost answer may have been a yes: looks before it creates once more.
    async fn create(&self, wanted: &CommentWanted) -> Result<CommentFound, ForgeError> {
        match self.create_once(wanted).await {
            Err(ForgeError::Unavailable(why)) => {
                tracing::debug!(why, "no answer to a new comment; looking for it");
                self.clock.sleep(LOOK_AFTER_MS).await;
                let search = self.search(wanted).await?;
                match self.settle(wanted, search.ours).await? {
                    Some(found) => Ok(found),
                    None => self.create_once(wanted).await,
                }
            }
            other => other,
        }
    }

    async fn create_once(&self, wanted: &CommentWanted) -> Result<CommentFound, ForgeError> {
        let PullId { repo, number } = &wanted.pull;
        let ask = Ask::make(repo, format!("/issues/{number}/comments"), json!({ "body": wanted.body }));
        let reply = self.ask(&ask).await?.there()?;
        let made: Comment = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let id = made.id.ok_or_else(|| verdict::unreadable(&reply))?;
        Ok(CommentFound { id: Some(id), url: made.html_url, ..CommentFound::default() })
    }

    /// Removes one of ours that is too many; hides it where that is forbidden, leaves it where that is too.
    async fn remove(&self, repo: &Repo, comment: &Comment) -> Result<(), ForgeError> {
        let Some(id) = comment.id else { return Ok(()) };
        let ask = Ask::write(repo, Method::DELETE, format!("/issues/comments/{id}"), None);
        match self.ask(&ask).await {
            Err(ForgeError::Forbidden(_) | ForgeError::Refused(_)) => {}
            other => return other.map(|_| ()),
        }
        match self.fold(repo, comment).await {
            Err(ForgeError::Forbidden(why) | ForgeError::Refused(why) | ForgeError::Gone(why)) => {
                tracing::debug!(why, comment = id, "a comment too many is left");
                Ok(())
            }
            other => other,
        }
    }

    pub(crate) async fn minimise(&self, repo: &Repo, comment: u64) -> Result<(), ForgeError> {
        let Some(found) = self.comment_by_id(repo, comment).await? else { return Ok(()) };
        if !self.is_ours(&found).await? {
            return Err(ForgeError::Refused(format!("comment {comment} is somebody else's")));
        }
        self.fold(repo, &found).await
    }

    pub(crate) async fn delete(&self, repo: &Repo, comment: u64) -> Result<(), ForgeError> {
        let Some(found) = self.comment_by_id(repo, comment).await? else { return Ok(()) };
        if !self.is_ours(&found).await? {
            return Err(ForgeError::Refused(format!("comment {comment} is somebody else's")));
        }
        let ask = Ask::write(repo, Method::DELETE, format!("/issues/comments/{comment}"), None);
        // Whoever was faster did the same.
        self.ask(&ask).await.map(|_| ())
    }

    /// Folds a comment as outdated, where it is not folded yet.
    async fn fold(&self, repo: &Repo, comment: &Comment) -> Result<(), ForgeError> {
        let folded = comment.minimized.as_ref().is_some_and(|how| !matches!(how, Value::Null | Value::Bool(false)));
        let Some(node) = comment.node_id.as_deref().filter(|_| !folded) else { return Ok(()) };
        let query = json!({
            "query": "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) \
                      { minimizedComment { isMinimized } } }",
            "variables": { "id": node },
        });
        self.graphql(repo, &query).await
    }
}

/// Comments that were edited in a browser have CRLF.
fn first_line(body: &str) -> &str {
    let line = body.split('\n').next().unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// Whether two bodies read the same.
fn same(one: &str, other: &str) -> bool {
    let plain = |body: &str| body.replace("\r\n", "\n").trim_end().to_owned();
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        for (body, line) in [
            ("<!-- m -->\r\nx", "<!-- m -->"),
            ("<!-- m -->\nx", "<!-- m -->"),
            ("<!-- m -->", "<!-- m -->"),
            ("> <!-- m -->\n", "> <!-- m -->"),
            ("\n<!-- m -->", ""),
            ("", ""),
        ] {
            assert_eq!(first_line(body), line);
        }
    }

    #[test]
    fn bodies_that_read_the_same() {
        assert!(same("a\r\nb\r\n", "a\nb"));
        assert!(!same("a\n\nb", "a\nb"));
        assert!(!same(" a", "a"));
    }
}
