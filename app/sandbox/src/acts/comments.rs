//! Comments.

use serde_json::{Value, json};

use crate::Error;
use crate::hooks::About;
use crate::model::{Comment, Subject};
use crate::state::State;

impl State {
    /// Writes a comment.
    pub(crate) fn write_comment(
        &mut self,
        repo: u64,
        number: u64,
        by: &str,
        body: &str,
        via_app: bool,
    ) -> Result<u64, Error> {
        if !self.users.contains_key(by) {
            return Err(Error::Unknown(format!("user {by}")));
        }
        let now = self.now();
        self.issue_mut(repo, number)?.updated_ms = now;
        let comment = Comment {
            id: self.id(),
            repo,
            number,
            author: Some(by.to_owned()),
            via_app,
            body: body.to_owned(),
            minimized: None,
            created_ms: now,
            updated_ms: now,
        };
        let id = comment.id;
        self.comments.insert(id, comment);
        self.tell_of_comment(id, "created", by, Value::Null)?;
        Ok(id)
    }

    /// Replaces the text of a comment.
    pub(crate) fn rewrite_comment(&mut self, id: u64, by: &str, body: &str) -> Result<(), Error> {
        let now = self.now();
        let comment = self.comments.get_mut(&id).ok_or_else(|| Error::Unknown(format!("comment {id}")))?;
        let before = std::mem::replace(&mut comment.body, body.to_owned());
        if before == body {
            return Ok(());
        }
        comment.updated_ms = now;
        self.tell_of_comment(id, "edited", by, json!({ "body": { "from": before } }))
    }

    /// Folds a comment for a reason, or unfolds it.
    pub(crate) fn fold_comment(&mut self, id: u64, reason: Option<&str>) -> Result<(), Error> {
        let comment = self.comments.get_mut(&id).ok_or_else(|| Error::Unknown(format!("comment {id}")))?;
        comment.minimized = reason.map(str::to_owned);
        Ok(())
    }

    /// Removes a comment and the reactions to it.
    pub(crate) fn remove_comment(&mut self, id: u64, by: &str) -> Result<(), Error> {
        if !self.comments.contains_key(&id) {
            return Err(Error::Unknown(format!("comment {id}")));
        }
        self.tell_of_comment(id, "deleted", by, Value::Null)?;
        self.comments.remove(&id);
        self.reactions.retain(|_, reaction| reaction.subject != Subject::Comment(id));
        Ok(())
    }

    fn tell_of_comment(&mut self, id: u64, action: &str, by: &str, changes: Value) -> Result<(), Error> {
        let comment = self.comments.get(&id).ok_or_else(|| Error::Unknown(format!("comment {id}")))?;
        let (repo, number) = (comment.repo, comment.number);
        let issue = self.issue_json(self.repo(repo)?, self.issue(repo, number)?);
        let mut payload = json!({ "issue": issue, "comment": self.comment_json(comment) });
        if !changes.is_null() {
            payload["changes"] = changes;
        }
        self.raise("issue_comment", Some(action), &About::Repository(repo), by, payload);
        Ok(())
    }
}
