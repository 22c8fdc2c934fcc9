//! Labels of a pull request.

use domain::ports::forge::{ForgeError, PullId};
use http::Method;
use serde_json::json;

use crate::asking::{Ask, Hub, plain};
use crate::objects::Label;
use crate::pages::escape;

impl Hub {
    /// Only what differs is asked for: a label that is put on again would be told to everybody who watches.
    pub(crate) async fn labels(&self, pull: &PullId, add: &[String], remove: &[String]) -> Result<(), ForgeError> {
        if add.is_empty() && remove.is_empty() {
            return Ok(());
        }
        let _turn = self.turns.take(format!("labels:{}", pull.key())).await;
        let PullId { repo, number } = pull;
        let there: Vec<Label> = self
            .list(repo, format!("/issues/{number}/labels?per_page=100"), plain)
            .await?
            .ok_or_else(|| ForgeError::Gone(format!("pull request {number} of repository {}", repo.id)))?;
        let there: Vec<String> = there.into_iter().filter_map(|label| label.name).collect();
        let is_in = |all: &[String], name: &str| all.iter().any(|one| same(one, name));
        let missing: Vec<&String> = add.iter().filter(|name| !is_in(&there, name)).collect();
        if !missing.is_empty() {
            let body = json!({ "labels": missing });
            self.ask(&Ask::write(repo, Method::POST, format!("/issues/{number}/labels"), Some(body))).await?.there()?;
        }
        for name in there.iter().filter(|name| is_in(remove, name) && !is_in(add, name)) {
            let tail = format!("/issues/{number}/labels/{}", escape(name));
            // Somebody else may have taken it off meanwhile.
            self.ask(&Ask::write(repo, Method::DELETE, tail, None)).await?;
        }
        Ok(())
    }
}

/// Whether two names are one label.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
