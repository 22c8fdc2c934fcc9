//! What of GitHub's answers is read. Every field is optional: older and newer servers lack some, and
//! whatever a person has deleted is null.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Why not.
#[derive(Deserialize)]
pub(crate) struct Failure {
    pub(crate) message: Option<String>,
    pub(crate) errors: Option<Value>,
}

/// `POST /app/installations/{id}/access_tokens`.
#[derive(Deserialize)]
pub(crate) struct NewToken {
    pub(crate) token: Option<String>,
    pub(crate) expires_at: Option<String>,
}

/// Somebody with an account.
#[derive(Deserialize)]
pub(crate) struct User {
    pub(crate) id: Option<u64>,
    pub(crate) login: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

/// An app, where it is named beside something of it.
#[derive(Deserialize)]
pub(crate) struct AppRef {
    pub(crate) id: Option<u64>,
}

/// A repository.
#[derive(Deserialize)]
pub(crate) struct Repository {
    pub(crate) id: Option<u64>,
    pub(crate) full_name: Option<String>,
}

/// An end of a pull request.
#[derive(Deserialize)]
pub(crate) struct Branch {
    #[serde(rename = "ref")]
    pub(crate) name: Option<String>,
    pub(crate) sha: Option<String>,
    pub(crate) repo: Option<Repository>,
}

/// A pull request.
#[derive(Deserialize)]
pub(crate) struct PullRequest {
    pub(crate) state: Option<String>,
    pub(crate) draft: Option<bool>,
    pub(crate) merged: Option<bool>,
    pub(crate) merged_at: Option<String>,
    pub(crate) head: Option<Branch>,
    pub(crate) base: Option<Branch>,
}

/// `GET /repos/{o}/{r}/collaborators/{login}/permission`.
#[derive(Deserialize)]
pub(crate) struct Permitted {
    pub(crate) permission: Option<String>,
    pub(crate) role_name: Option<String>,
    pub(crate) user: Option<User>,
}

/// A comment of an issue or a pull request.
#[derive(Deserialize)]
pub(crate) struct Comment {
    pub(crate) id: Option<u64>,
    pub(crate) node_id: Option<String>,
    pub(crate) html_url: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) user: Option<User>,
    pub(crate) performed_via_github_app: Option<AppRef>,
    /// How it was hidden; null where it is not.
    pub(crate) minimized: Option<Value>,
}

/// A check run.
#[derive(Deserialize)]
pub(crate) struct CheckRun {
    pub(crate) id: Option<u64>,
    pub(crate) external_id: Option<String>,
    pub(crate) app: Option<AppRef>,
}

/// A page of check runs.
#[derive(Deserialize)]
pub(crate) struct CheckRuns {
    pub(crate) check_runs: Option<Vec<Value>>,
}

/// `GET /app`.
#[derive(Deserialize)]
pub(crate) struct App {
    pub(crate) id: Option<u64>,
    pub(crate) slug: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) permissions: Option<BTreeMap<String, Option<String>>>,
    pub(crate) events: Option<Vec<String>>,
    pub(crate) installations_count: Option<u64>,
}

/// `GET /app/hook/config`.
#[derive(Deserialize)]
pub(crate) struct HookConfig {
    pub(crate) url: Option<String>,
    pub(crate) content_type: Option<String>,
    /// A text or a number.
    pub(crate) insecure_ssl: Option<Value>,
    /// Stars, where there is one.
    pub(crate) secret: Option<String>,
}

/// An installation of the app.
#[derive(Deserialize)]
pub(crate) struct Installed {
    pub(crate) id: Option<u64>,
    pub(crate) account: Option<User>,
    pub(crate) suspended_at: Option<String>,
    pub(crate) permissions: Option<BTreeMap<String, Option<String>>>,
}

/// A line of the log of deliveries.
#[derive(Deserialize)]
pub(crate) struct Delivered {
    pub(crate) id: Option<u64>,
    pub(crate) guid: Option<String>,
    #[serde(rename = "delivered_at")]
    pub(crate) at: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) event: Option<String>,
}

/// A delivery with what was sent.
#[derive(Deserialize)]
pub(crate) struct DeliveredWhole {
    pub(crate) guid: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) request: Option<Sent>,
}

/// What was sent.
#[derive(Deserialize)]
pub(crate) struct Sent {
    pub(crate) headers: Option<BTreeMap<String, Value>>,
    /// Kept as it is written: numbers lose nothing.
    pub(crate) payload: Option<Box<RawValue>>,
}
