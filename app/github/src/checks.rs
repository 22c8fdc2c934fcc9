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
        if let Some(why) = wrong(&wanted.buttons) {
            return Err(ForgeError::Refused(why));
        }
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

pub(crate) fn runs(reply: &Reply) -> Option<Vec<Value>> {
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
    if wanted.started.0 > 0 {
        body.insert("started_at".into(), times::to_rfc3339(wanted.started.0).into());
    }
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

/// So many buttons a check may have.
const BUTTONS: usize = 3;
/// The longest identifier and label, and the longest description of a button, characters. Counted in UTF-16.
const WORD: usize = 20;
const SENTENCE: usize = 40;

/// Why GitHub would not take these buttons, however their texts are shortened: what is sent when one is pressed has to
/// come back as it is.
fn wrong(buttons: &[Button]) -> Option<String> {
    if buttons.len() > BUTTONS {
        return Some(format!("a check with {} buttons; {BUTTONS} are possible", buttons.len()));
    }
    let fits = |button: &&Button| (1..=WORD).contains(&button.identifier.encode_utf16().count());
    let odd = buttons.iter().find(|button| !fits(button))?;
    Some(format!("a button with the identifier {:?}; 1 to {WORD} characters are possible", odd.identifier))
}

fn button(button: &Button) -> Value {
    json!({
        "label": shortened(&button.label, WORD),
        "description": shortened(&button.description, SENTENCE),
        "identifier": button.identifier,
    })
}

/// At most `most` characters, with dots where there were more.
fn shortened(text: &str, most: usize) -> String {
    if text.encode_utf16().count() <= most {
        return text.to_owned();
    }
    let mut left = most - 1;
    let kept = text.chars().take_while(|c| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_buttons() {
        for (text, most, kept) in [
            ("Measure longer", 20, "Measure longer"),
            ("exactly twenty chars", 20, "exactly twenty chars"),
            ("more than twenty chars", 20, "more than twenty ch…"),
            ("🐢🐢🐢", 6, "🐢🐢🐢"),
            ("🐢🐢🐢", 5, "🐢🐢…"),
            ("a🐢b", 3, "a…"),
            ("", 20, ""),
        ] {
            let found = shortened(text, most);
            assert_eq!(found, kept);
            assert!(found.encode_utf16().count() <= most);
        }
    }

    #[test]
    fn buttons_that_cannot_be() {
        let named =
            |identifier: &str| Button { label: "L".into(), description: "D".into(), identifier: identifier.into() };
        assert_eq!(wrong(&[]), None);
        assert_eq!(wrong(&[named("a"), named("b"), named(&"c".repeat(20))]), None);
        assert!(wrong(&[named("a"), named("b"), named("c"), named("d")]).is_some());
        assert!(wrong(&[named(&"c".repeat(21))]).is_some());
        assert!(wrong(&[named("")]).is_some());
    }
}
