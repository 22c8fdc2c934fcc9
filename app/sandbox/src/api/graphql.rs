//! The one mutation of GraphQL that is known: `minimizeComment`.

use serde_json::{Value, json};

use super::call::Call;
use super::reply::{Answer, Reply};
use crate::state::State;

/// Why a comment may be folded.
const CLASSIFIERS: [&str; 6] = ["ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"];

pub(super) fn answer(state: &mut State, call: &Call) -> Answer {
    let query = call.needed("query")?;
    let variables = call.body.as_ref().map(|body| body["variables"].to_string()).unwrap_or_default();
    let wrong = |message: &str| Ok(Reply::new(200, json!({ "data": null, "errors": [{ "message": message }] })));
    if !query.contains("minimizeComment") {
        return wrong("Only minimizeComment is known here");
    }
    let writes =
        |what: &str| super::token(call).map(|token| token.permissions.get(what).is_some_and(|level| level != "read"));
    if !writes("issues")? && !writes("pull_requests")? {
        return wrong("Resource not accessible by integration");
    }
    let words = |text: &str| -> Vec<String> {
        let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        text.split(is_word).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let all: Vec<String> = words(&variables).into_iter().chain(words(query)).collect();
    let id = all.iter().find_map(|word| word.strip_prefix("IC_")?.parse::<u64>().ok());
    let reason = all.iter().find(|word| CLASSIFIERS.contains(&word.as_str()));
    let (Some(id), Some(reason)) = (id, reason) else { return wrong("subjectId and classifier are needed") };
    let reached = super::token(call)?.repositories.clone();
    if !state.comments.get(&id).is_some_and(|comment| reached.contains(&comment.repo)) {
        return wrong("Could not resolve to a node with the global id");
    }
    let reason = reason.to_lowercase().replace('_', "-");
    state.fold_comment(id, Some(&reason))?;
    let minimized = json!({ "isMinimized": true, "minimizedReason": reason });
    let data: Value = json!({ "minimizeComment": { "minimizedComment": minimized, "clientMutationId": null } });
    Ok(Reply::new(200, json!({ "data": data })))
}
