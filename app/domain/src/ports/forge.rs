//! Where pull requests live.

use serde::{Deserialize, Serialize};

use crate::ids::CommitSha;
use crate::time::Ms;

/// A repository as it is reached: by its number, which outlives renames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Repo {
    /// The number that the forge gave it.
    pub id: u64,
    /// `owner/name` as it was last seen. Only a hint: the number decides.
    pub name: String,
    /// Through which installation of the app it is reached.
    pub installation: u64,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PullId {
    /// The repository that it is to be merged into.
    pub repo: Repo,
    /// Its number there.
    pub number: u64,
}

impl PullId {
    /// `pull:<repository id>:<number>`: the key of its subject.
    #[must_use]
    pub fn key(&self) -> String {
        format!("pull:{}:{}", self.repo.id, self.number)
    }
}

/// Somebody with an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The number of the account, which outlives renames.
    pub id: u64,
    /// The name at the time.
    pub login: String,
}

/// A pull request as the forge shows it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// Which one, with the name that the repository has now.
    pub id: PullId,
    /// The newest commit of the branch that is to be merged.
    pub head: CommitSha,
    /// The name of that branch. Foreign text.
    pub head_ref: String,
    /// The repository of that branch; `None` where it was deleted.
    pub head_repo: Option<u64>,
    /// The branch that it is to be merged into. Foreign text.
    pub base_ref: String,
    /// The newest commit of that branch when the pull request was last updated.
    pub base: CommitSha,
    /// Whether it is open.
    pub open: bool,
    /// Whether it was merged.
    pub merged: bool,
    /// Whether it is a draft.
    pub draft: bool,
}

impl Pull {
    /// Whether the head comes from another repository, or from one that is gone: whoever pushes there need not have
    /// the right to push here.
    #[must_use]
    pub fn is_fork(&self) -> bool {
        self.head_repo != Some(self.id.repo.id)
    }
}

/// What somebody may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Nothing beyond what everybody may.
    None,
    /// Read.
    Read,
    /// Push.
    Write,
    /// Administer.
    Admin,
}

/// A reaction to a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// Seen and accepted.
    Eyes,
    /// Started.
    Rocket,
    /// Not understood, or not allowed.
    Confused,
}

impl Reaction {
    /// The word of the forge.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::Rocket => "rocket",
            Self::Confused => "confused",
        }
    }
}

/// A comment as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentWanted {
    /// The pull request.
    pub pull: PullId,
    /// The first line of the body, by which the comment is found again.
    pub marker: String,
    /// The whole body.
    pub body: String,
}

/// A comment as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFound {
    /// Its number; `None` where it was deleted and is not made again.
    pub id: Option<u64>,
    /// Its page.
    pub url: Option<String>,
    /// Somebody else's comment begins with the marker: its number. It is never edited.
    pub foreign: Option<u64>,
    /// The one that was known is gone, and another one was made.
    pub recreated: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Nothing stands against the change.
    Success,
    /// Something does.
    Failure,
    /// Nothing is said.
    Neutral,
    /// It was stopped.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// Somebody has to do something.
    ActionRequired,
}

impl Conclusion {
    /// The word of the forge.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::ActionRequired => "action_required",
        }
    }
}

/// A button of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What is written on it, at most 20 characters.
    pub label: String,
    /// What it does, at most 40 characters.
    pub description: String,
    /// What is sent when it is pressed, at most 20 characters.
    pub identifier: String,
}

/// A check as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckWanted {
    /// The repository.
    pub repo: Repo,
    /// The commit that it stands at.
    pub head: CommitSha,
    /// What it is called, such as `zephyr-ab / zephyr`.
    pub name: String,
    /// What it is found again by: the run.
    pub external: String,
    /// How it ended; `None` while it goes on.
    pub conclusion: Option<Conclusion>,
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// Markdown, at most 65,535 characters.
    pub text: String,
    /// A page with more.
    pub details: Option<String>,
    /// At most three. They are there as long as the check says so, also after it ended.
    pub buttons: Vec<Button>,
    /// When it began; 0 where nothing did.
    pub started: Ms,
    /// When it ended.
    pub ended: Option<Ms>,
}

/// How far a check of a commit is, whoever runs it.
///
/// In the order of what decides where one name stands for several: a red one beats one that goes on, which beats a green one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Nothing of this name was ever said of the commit.
    Missing,
    /// It ended, and nothing stands against the change.
    Green,
    /// It goes on, or waits.
    Pending,
    /// It ended otherwise, or in a way that is not known.
    Red,
}

/// A check of a commit as it is, whoever runs it: a check run or a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFound {
    /// Its name, as it was asked for. Foreign text.
    pub name: String,
    /// How far it is.
    pub state: CheckState,
}

/// One delivery as the forge has logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDelivery {
    /// Its number in the log, by which it is fetched.
    pub id: u64,
    /// Its id, equal for every attempt.
    pub guid: String,
    /// When this attempt was made.
    pub at: Ms,
    /// Whether it was answered with success.
    pub ok: bool,
    /// The event.
    pub event: String,
}

/// A delivery with what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentDelivery {
    /// The headers of the request.
    pub headers: Vec<(String, String)>,
    /// The event.
    pub event: String,
    /// The id.
    pub guid: String,
    /// The payload, as JSON.
    pub payload: String,
}

/// How git reaches a repository.
pub struct GitAccess {
    /// Its address; no secret is in it.
    pub url: String,
    /// `Authorization` of the requests; `None` where none is wanted. Never in an argument list or a log.
    pub authorization: Option<String>,
}

impl std::fmt::Debug for GitAccess {
    /// Never the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitAccess({})", self.url)
    }
}

/// Why the forge did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// It did not answer, or answered with a failure of its own: asking again may help.
    #[error("{0}")]
    Unavailable(String),
    /// It wants to be left alone until then.
    #[error("asked too often; again at {until}: {why}")]
    Limited {
        /// When it may be asked again.
        until: Ms,
        /// What it said.
        why: String,
    },
    /// We may not: asking again does not help until somebody changes that.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// What was asked for is not there, or no longer.
    #[error("not there: {0}")]
    Gone(String),
    /// It will not do this, however often it is asked.
    #[error("refused: {0}")]
    Refused(String),
}

/// The forge. Every call may be repeated: what is not idempotent by itself looks before it repeats.
pub trait Forge: Send + Sync {
    /// The pull request now.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn pull(&self, id: &PullId) -> impl Future<Output = Result<Pull, ForgeError>> + Send;

    /// What somebody may do, decided by the number of the account. At most 60 s old.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn permission(&self, repo: &Repo, who: &Account) -> impl Future<Output = Result<Permission, ForgeError>> + Send;

    /// Makes our comment with this marker read so: finds it over all pages by author and first line, keeps the oldest
    /// of several and removes the others, creates it where there is none. `known` is its number where one is known.
    /// A known one that is gone is made again only with `recreate`.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn comment(
        &self,
        wanted: &CommentWanted,
        known: Option<u64>,
        recreate: bool,
    ) -> impl Future<Output = Result<CommentFound, ForgeError>> + Send;

    /// Reacts to a comment.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn react(&self, repo: &Repo, comment: u64, with: Reaction) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// Makes our check of this commit and external id be so. Returns its number.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn check(&self, wanted: &CheckWanted, known: Option<u64>) -> impl Future<Output = Result<u64, ForgeError>> + Send;

    /// How far the checks of these names are at a commit, one for each name in the same order. Check runs and statuses count
    /// alike. Of one name and one app the newest counts; of several apps, or of a run and a status, the worst.
    ///
    /// # Errors
    /// See [`ForgeError`]; [`ForgeError::Forbidden`] where one of the two kinds may not be read: half of the answer is none.
    fn checks(
        &self,
        repo: &Repo,
        head: &CommitSha,
        names: &[String],
    ) -> impl Future<Output = Result<Vec<CheckFound>, ForgeError>> + Send;

    /// Folds a comment of ours as outdated. One that is folded, or gone, is left as it is.
    ///
    /// # Errors
    /// See [`ForgeError`]; [`ForgeError::Refused`] for somebody else's comment.
    fn minimise(&self, repo: &Repo, comment: u64) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// Deletes a comment of ours. One that is gone is left so.
    ///
    /// # Errors
    /// See [`ForgeError`]; [`ForgeError::Refused`] for somebody else's comment.
    fn delete(&self, repo: &Repo, comment: u64) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// Puts labels on a pull request and takes others off; a label that is in both lists is put on. Labels that nobody has made
    /// yet are made. Small and capital letters are the same.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn labels(
        &self,
        pull: &PullId,
        add: &[String],
        remove: &[String],
    ) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// A file of a commit, or of the branch that is shown first; `None` where there is none. `path` is relative to the root.
    ///
    /// # Errors
    /// See [`ForgeError`]; [`ForgeError::Refused`] for more than 1 MiB, for what is no file, and for a path that leads elsewhere;
    /// [`ForgeError::Gone`] for a commit or a repository that is not there.
    fn file(
        &self,
        repo: &Repo,
        path: &str,
        at: Option<&CommitSha>,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, ForgeError>> + Send;

    /// How git reaches the repository, with a token that may only read its contents.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn git(&self, repo: &Repo) -> impl Future<Output = Result<GitAccess, ForgeError>> + Send;

    /// The log of deliveries back to `since`, newest first, every attempt.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn deliveries(&self, since: Ms) -> impl Future<Output = Result<Vec<LoggedDelivery>, ForgeError>> + Send;

    /// A delivery of the log with what was sent.
    ///
    /// # Errors
    /// See [`ForgeError`].
    fn delivery(&self, id: u64) -> impl Future<Output = Result<SentDelivery, ForgeError>> + Send;
}
