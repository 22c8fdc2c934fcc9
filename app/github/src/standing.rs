//! How far the checks of a commit are, whoever runs them: check runs, and the older statuses.

use std::collections::BTreeMap;

use domain::ids::CommitSha;
use domain::ports::forge::{CheckFound, CheckState, ForgeError, Repo};
use serde_json::Value;

use crate::asking::Hub;
use crate::checks::runs;
use crate::objects::Statuses;
use crate::tokens::Need;
use crate::wire::Reply;

impl Hub {
    pub(crate) async fn checks(
        &self,
        repo: &Repo,
        head: &CommitSha,
        names: &[String],
    ) -> Result<Vec<CheckFound>, ForgeError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let commit = format!("/commits/{}", head.as_str());
        let gone = || ForgeError::Gone(format!("commit {head} in repository {}", repo.id));
        // Items as they are: one that cannot be read in part still stands for what it is called.
        let tail = format!("{commit}/check-runs?filter=latest&per_page=100");
        let found: Vec<Value> = self.list(repo, tail, runs).await?.ok_or_else(gone)?;
        let said = self.statuses(repo, &format!("{commit}/status?per_page=100")).await?.ok_or_else(gone)?;
        let states: Vec<(&str, CheckState)> =
            newest(&found).into_iter().chain(said.iter().filter_map(status)).collect();
        let state = |name: &String| {
            let of = states.iter().filter(|(known, _)| known == name).map(|(_, state)| *state);
            CheckFound { name: name.clone(), state: of.max().unwrap_or(CheckState::Missing) }
        };
        Ok(names.iter().map(state).collect())
    }

    /// The newest status of each name.
    async fn statuses(&self, repo: &Repo, tail: &str) -> Result<Option<Vec<Value>>, ForgeError> {
        match self.list_for(Need::Statuses, repo, tail.to_owned(), statuses).await {
            // Nobody has granted it. What everybody may read is read without.
            Err(ForgeError::Forbidden(why)) => match self.list(repo, tail.to_owned(), statuses).await {
                Err(ForgeError::Forbidden(_)) => {
                    Err(ForgeError::Forbidden(format!("statuses of commits (permission statuses: read): {why}")))
                }
                other => other,
            },
            other => other,
        }
    }
}

fn statuses(reply: &Reply) -> Option<Vec<Value>> {
    reply.json::<Statuses>()?.statuses
}

/// The newest check run of each name and app.
fn newest(runs: &[Value]) -> Vec<(&str, CheckState)> {
    let mut newest: BTreeMap<(&str, Option<u64>), (u64, CheckState)> = BTreeMap::new();
    for run in runs {
        let Some(name) = run["name"].as_str() else { continue };
        let this = (run["id"].as_u64().unwrap_or(u64::MAX), self::run(run));
        let known = newest.entry((name, run["app"]["id"].as_u64())).or_insert(this);
        *known = this.max(*known);
    }
    newest.into_iter().map(|((name, _), (_, state))| (name, state)).collect()
}

/// How far a check run is. What is not known is no pass.
fn run(run: &Value) -> CheckState {
    match (run["status"].as_str(), run["conclusion"].as_str()) {
        (Some("completed"), Some("success" | "neutral" | "skipped")) => CheckState::Green,
        (Some("completed"), _) => CheckState::Red,
        _ => CheckState::Pending,
    }
}

/// What a status says, and under which name.
fn status(status: &Value) -> Option<(&str, CheckState)> {
    let state = match status["state"].as_str() {
        Some("success") => CheckState::Green,
        Some("pending") => CheckState::Pending,
        _ => CheckState::Red,
    };
    Some((status["context"].as_str()?, state))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_and_statuses() {
        for (state, conclusion, is) in [
            ("completed", Some("success"), CheckState::Green),
            ("completed", Some("neutral"), CheckState::Green),
            ("completed", Some("skipped"), CheckState::Green),
            ("completed", Some("failure"), CheckState::Red),
            ("completed", Some("timed_out"), CheckState::Red),
            ("completed", Some("cancelled"), CheckState::Red),
            ("completed", Some("action_required"), CheckState::Red),
            ("completed", Some("startup_failure"), CheckState::Red),
            ("completed", Some("stale"), CheckState::Red),
            ("completed", Some("of the future"), CheckState::Red),
            ("completed", None, CheckState::Red),
            ("queued", None, CheckState::Pending),
            ("in_progress", None, CheckState::Pending),
            ("waiting", None, CheckState::Pending),
            ("of the future", Some("success"), CheckState::Pending),
        ] {
            assert_eq!(run(&json!({ "status": state, "conclusion": conclusion })), is, "{state} {conclusion:?}");
        }
        for (word, is) in [
            (json!("success"), CheckState::Green),
            (json!("pending"), CheckState::Pending),
            (json!("failure"), CheckState::Red),
            (json!("error"), CheckState::Red),
            (Value::Null, CheckState::Red),
        ] {
            assert_eq!(status(&json!({ "context": "ci", "state": word })), Some(("ci", is)), "{word}");
        }
        assert_eq!(status(&json!({ "state": "failure" })), None);
    }

    #[test]
    fn the_newest_of_each_app() {
        let one = |id: u64, app: u64, conclusion: &str| json!({ "id": id, "name": "ci", "app": { "id": app }, "status": "completed", "conclusion": conclusion });
        let all = [one(1, 7, "failure"), one(3, 7, "success"), one(2, 7, "failure"), one(4, 8, "failure")];
        assert_eq!(newest(&all), [("ci", CheckState::Green), ("ci", CheckState::Red)]);
    }
}
