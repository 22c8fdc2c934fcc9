//! Our check of a commit.

use domain::ports::forge::{Button, CheckWanted, ForgeError};
use http::Method;
use serde_json::{Map, Value, json};

use crate::asking::{Answer, Ask, Hub};
use crate::comments::LOOK_AFTER_MS;
use crate::objects::{CheckRun, CheckRuns};
use crate::pages::escape;
use crate::times;
use crate::verdict;
use crate::wire::Reply;

impl Hub {
    pub(crate) async fn check(&self, wanted: &CheckWanted, known: Option<u64>) -> Result<u64, ForgeError> {
        let _turn = self.turns.take(format!("check:{}:{}", wanted.repo.id, wanted.external)).await;
        if let Some(id) = known
            && self.change(wanted, id).await?
        {
            return Ok(id);
        }
        if let Some(id) = self.adopt(wanted, known).await? {
            return Ok(id);
        }
        match self.create_check(wanted).await {
            Err(ForgeError::Unavailable(why)) => {
                tracing::debug!(why, "no answer to a new check; looking for it");
                self.clock.sleep(LOOK_AFTER_MS).await;
                match self.adopt(wanted, known).await? {
                    Some(id) => Ok(id),
                    None => self.create_check(wanted).await,
                }
            }
            other => other,
        }
    }

    /// Finds ours and makes it be so; `None` where there is none but the one that is `gone`.
    async fn adopt(&self, wanted: &CheckWanted, gone: Option<u64>) -> Result<Option<u64>, ForgeError> {
        let tail = format!(
            "/commits/{}/check-runs?check_name={}&app_id={}&filter=all&per_page=100",
            wanted.head.as_str(),
            escape(&wanted.name),
            self.app_id,
        );
        let all: Vec<CheckRun> = self
            .list(&wanted.repo, tail, runs)
            .await?
            .ok_or_else(|| ForgeError::Gone(format!("commit {} in repository {}", wanted.head, wanted.repo.id)))?;
        let ours = |run: &CheckRun| {
            run.external_id.as_deref() == Some(wanted.external.as_str())
                && run.app.as_ref().and_then(|app| app.id).is_none_or(|app| app == self.app_id)
        };
        // Of several of one name people see the newest.
        let newest = all.iter().filter(|run| ours(run)).filter_map(|run| run.id).filter(|id| Some(*id) != gone).max();
        match newest {
            Some(id) => Ok(self.change(wanted, id).await?.then_some(id)),
            None => Ok(None),
        }
    }

    /// Makes this check be so; false where it is gone.
    async fn change(&self, wanted: &CheckWanted, id: u64) -> Result<bool, ForgeError> {
        let ask = Ask::write(&wanted.repo, Method::PATCH, format!("/check-runs/{id}"), Some(body(wanted).into()));
        Ok(matches!(self.ask(&ask).await?, Answer::Is(_)))
    }

    async fn create_check(&self, wanted: &CheckWanted) -> Result<u64, ForgeError> {
        let mut body = body(wanted);
        body.insert("head_sha".into(), wanted.head.as_str().into());
        let reply = self.ask(&Ask::make(&wanted.repo, "/check-runs".into(), body.into())).await?.there()?;
        reply.json::<CheckRun>().and_then(|run| run.id).ok_or_else(|| verdict::unreadable(&reply))
    }
}

fn runs(reply: &Reply) -> Option<Vec<Value>> {
    reply.json::<CheckRuns>()?.check_runs
}

/// What a check says, all but the commit.
fn body(wanted: &CheckWanted) -> Map<String, Value> {
    let mut output = Map::new();
    output.insert("title".into(), wanted.title.as_str().into());
    output.insert("summary".into(), wanted.summary.as_str().into());
    if !wanted.text.is_empty() {
        output.insert("text".into(), wanted.text.as_str().into());
    }
    let mut body = Map::new();
    body.insert("name".into(), wanted.name.as_str().into());
    body.insert("external_id".into(), wanted.external.as_str().into());
    body.insert("started_at".into(), times::to_rfc3339(wanted.started.0).into());
    body.insert("output".into(), output.into());
    // An empty list takes buttons away.
    body.insert("actions".into(), wanted.buttons.iter().map(button).collect());
    if let Some(details) = &wanted.details {
        body.insert("details_url".into(), details.as_str().into());
    }
    match wanted.conclusion {
        None => {
            body.insert("status".into(), "in_progress".into());
        }
        Some(conclusion) => {
            body.insert("status".into(), "completed".into());
            body.insert("conclusion".into(), conclusion.word().into());
            if let Some(ended) = wanted.ended {
                body.insert("completed_at".into(), times::to_rfc3339(ended.0).into());
            }
        }
    }
    body
}

fn button(button: &Button) -> Value {
    json!({ "label": button.label, "description": button.description, "identifier": button.identifier })
}
