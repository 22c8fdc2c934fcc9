//! What a sandbox remembers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

/// Permissions of an app or a token: `issues` -> `write`.
pub type Permissions = BTreeMap<String, String>;

/// What an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// A person.
    User,
    /// An app as the author of its comments.
    Bot,
    /// A group of people.
    Organization,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// An account.
#[derive(Clone, Debug, Serialize)]
pub struct User {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub login: String,
    /// What it is.
    pub kind: Kind,
}

/// The app.
#[derive(Clone, Debug, Serialize)]
pub struct App {
    /// Its number.
    pub id: u64,
    /// Its name in addresses.
    pub slug: String,
    /// What it may at most.
    pub permissions: Permissions,
    /// What it is told of, besides its installations.
    pub events: Vec<String>,
    /// The keys that its JWTs are checked with, in PEM. All of them are in force.
    pub public_keys: Vec<String>,
    /// Where deliveries go; nowhere while it is `None`.
    pub webhook: Option<String>,
    /// What deliveries are signed with.
    pub secret: String,
    /// When it was made.
    pub created_ms: u64,
}

/// The app at an account.
#[derive(Clone, Debug, Serialize)]
pub struct Installation {
    /// Its number.
    pub id: u64,
    /// The account.
    pub account: String,
    /// The repositories that it reaches.
    pub repositories: BTreeSet<u64>,
    /// What it may.
    pub permissions: Permissions,
    /// Since when it is suspended.
    pub suspended_ms: Option<u64>,
    /// When it was made.
    pub created_ms: u64,
}

/// The right to act as an installation for an hour.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its number.
    pub id: u64,
    /// The installation.
    pub installation: u64,
    /// The repositories that it reaches.
    pub repositories: BTreeSet<u64>,
    /// Whether it was narrowed to these repositories.
    pub narrowed: bool,
    /// What it may.
    pub permissions: Permissions,
    /// Until when.
    pub expires_ms: u64,
}

/// A repository.
#[derive(Clone, Debug, Serialize)]
pub struct Repository {
    /// Its number, which outlives renames.
    pub id: u64,
    /// The account that it belongs to.
    pub owner: String,
    /// Its name there.
    pub name: String,
    /// Whether only collaborators see it.
    pub private: bool,
    /// What it was forked from.
    pub parent: Option<u64>,
    /// The bare repository on this machine.
    pub folder: PathBuf,
    /// The branch that is shown first.
    pub default_branch: String,
    /// Roles by login: `read`, `triage`, `write`, `maintain`, `admin`, or one of its own.
    pub roles: BTreeMap<String, String>,
    /// Labels in the order in which they were made.
    pub labels: Vec<Label>,
    /// Issues and pull requests by number.
    pub issues: BTreeMap<u64, Issue>,
    /// Whether it was given to another owner: installations that do not reach it are answered 404.
    pub transferred: bool,
    /// When it was made.
    pub created_ms: u64,
}

impl Repository {
    /// `owner/name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// A label of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Its number.
    pub id: u64,
    /// What it is called. Other letters of the same name are the same label.
    pub name: String,
}

/// An issue, which is a pull request where it has [`Issue::pull`].
#[derive(Clone, Debug, Serialize)]
pub struct Issue {
    /// Its number among all issues of the sandbox.
    pub id: u64,
    /// Its number in the repository.
    pub number: u64,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Who wrote it.
    pub author: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// Whether it is open.
    pub open: bool,
    /// Whether only people with the right to push may comment.
    pub locked: bool,
    /// What makes it a pull request.
    pub pull: Option<Pull>,
    /// When it was made.
    pub created_ms: u64,
    /// When anything of it changed last.
    pub updated_ms: u64,
    /// When it was closed.
    pub closed_ms: Option<u64>,
}

/// What a pull request is more than an issue.
#[derive(Clone, Debug, Serialize)]
pub struct Pull {
    /// Its number among all pull requests of the sandbox.
    pub id: u64,
    /// The branch that is to be merged.
    pub head_ref: String,
    /// The repository of that branch; `None` where it was deleted.
    pub head_repo: Option<u64>,
    /// The owner of that repository, who is remembered when it is gone.
    pub head_owner: String,
    /// The newest commit of that branch.
    pub head_sha: String,
    /// The branch that it is to be merged into.
    pub base_ref: String,
    /// The newest commit of that branch when the pull request was last updated.
    pub base_sha: String,
    /// Whether it is not to be merged yet.
    pub draft: bool,
    /// Who merged it, and the commit that did.
    pub merged: Option<(String, String)>,
}

/// Something that happened to a pull request, as its conversation tells it.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// The repository.
    pub repo: u64,
    /// The pull request.
    pub number: u64,
    /// When.
    pub at_ms: u64,
    /// Who did it.
    pub by: String,
    /// What it was.
    pub what: What,
}

/// What happened to a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum What {
    /// It was opened with this head.
    Opened(String),
    /// Its head moved from a commit to another one.
    Pushed(String, String),
    /// It was closed.
    Closed,
    /// It was merged as this commit.
    Merged(String),
    /// It was opened again.
    Reopened,
    /// It is to be merged into another branch: from, to.
    Retargeted(String, String),
    /// It became a draft.
    Drafted,
    /// It became ready.
    Ready,
}

/// A comment on an issue.
#[derive(Clone, Debug, Serialize)]
pub struct Comment {
    /// Its number, ascending over the whole sandbox.
    pub id: u64,
    /// The repository.
    pub repo: u64,
    /// The issue.
    pub number: u64,
    /// Who wrote it; `None` where the account is gone.
    pub author: Option<String>,
    /// Whether it was written through the app.
    pub via_app: bool,
    /// Markdown.
    pub body: String,
    /// Why it is folded, such as `outdated`.
    pub minimized: Option<String>,
    /// When it was written.
    pub created_ms: u64,
    /// When it was edited.
    pub updated_ms: u64,
}

/// What a reaction is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Subject {
    /// A comment.
    Comment(u64),
    /// An issue: repository and number.
    Issue(u64, u64),
}

/// A reaction.
#[derive(Clone, Debug, Serialize)]
pub struct Reaction {
    /// Its number.
    pub id: u64,
    /// What it is to.
    pub subject: Subject,
    /// Whose.
    pub user: String,
    /// `+1`, `-1`, `laugh`, `confused`, `heart`, `hooray`, `rocket` or `eyes`.
    pub content: String,
    /// When.
    pub created_ms: u64,
}

/// A check run.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Its number.
    pub id: u64,
    /// The repository.
    pub repo: u64,
    /// The suite that it belongs to.
    pub suite: u64,
    /// What it is called.
    pub name: String,
    /// The commit.
    pub head_sha: String,
    /// The app that made it: number and name in addresses.
    pub app: (u64, String),
    /// What the app knows it by.
    pub external_id: String,
    /// Its page.
    pub details_url: Option<String>,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// How it ended.
    pub conclusion: Option<String>,
    /// `title`, `summary`, `text`.
    pub output: BTreeMap<String, String>,
    /// Its buttons.
    pub actions: Vec<Action>,
    /// When it began.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub completed_ms: Option<u64>,
}

/// A button of a check run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Action {
    /// What is written on it.
    pub label: String,
    /// What it does.
    pub description: String,
    /// What is sent when it is pressed.
    pub identifier: String,
}

/// The state of a commit as something else than a check run says it.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its number.
    pub id: u64,
    /// The repository.
    pub repo: u64,
    /// The commit.
    pub sha: String,
    /// Who says it.
    pub context: String,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// When.
    pub created_ms: u64,
}

/// A delivery to the webhook.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    /// Its number in the log.
    pub id: u64,
    /// What it has in common with its repetitions.
    pub guid: String,
    /// `issue_comment` and so on.
    pub event: String,
    /// `created` and so on.
    pub action: Option<String>,
    /// The installation.
    pub installation: Option<u64>,
    /// The repository.
    pub repository: Option<u64>,
    /// Whether somebody asked for it again.
    pub redelivery: bool,
    /// The payload.
    pub payload: Value,
    /// The headers that it was sent with.
    pub headers: BTreeMap<String, String>,
    /// `OK`, or what went wrong; `None` while it is on its way.
    pub status: Option<String>,
    /// The status of the answer; 0 where there was none.
    pub status_code: u16,
    /// What was answered.
    pub answer: String,
    /// How long it took, seconds.
    pub duration: f64,
    /// When it was sent.
    pub delivered_ms: u64,
}
