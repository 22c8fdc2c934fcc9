//! Who is told of what happens, beside the pull request itself: a chat, or a CI system.

use serde::{Deserialize, Serialize};

use crate::ids::{CommitSha, Digest, RunId};
use crate::view::Verdict;

/// The schema of [`Announcement`].
pub const ANNOUNCEMENT_SCHEMA: u32 = 1;

/// Something that happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// It was accepted: a plan of it is made.
    Queued,
    /// Its first trial was launched.
    Started,
    /// It is over with a verdict.
    Verdict,
    /// It is over without one.
    Ended,
    /// A newer head took its place.
    Superseded,
    /// It waits for a person, or for checks of others.
    Waiting,
}

impl Happening {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Started, Self::Verdict, Self::Ended, Self::Superseded, Self::Waiting];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Started => "started",
            Self::Verdict => "verdict",
            Self::Ended => "ended",
            Self::Superseded => "superseded",
            Self::Waiting => "waiting",
        }
    }
}

/// A pull request, for somebody outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedPull {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
}

/// What somebody outside is told of something that happened. Every field is always there; what is not known is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// [`ANNOUNCEMENT_SCHEMA`].
    pub schema: u32,
    /// What happened.
    pub event: Happening,
    /// The same each time that it is sent, and of nothing else.
    pub id: String,
    /// When it happened, RFC 3339.
    pub at: String,
    /// `owner/name` as it was last seen.
    pub repository: String,
    /// The pull request.
    pub pull_request: AnnouncedPull,
    /// The suite.
    pub suite: String,
    /// The run.
    pub run: RunId,
    /// The head that is measured.
    pub head: CommitSha,
    /// What it is compared with, once there is a plan.
    pub control: Option<CommitSha>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// How it ended without one, in a word such as `cancelled`.
    pub ended: Option<String>,
    /// What it came to in a few words, such as `pass · CPU −1.2 %`.
    pub said: Option<String>,
    /// The reason of the verdict, why it ended without one, or what it waits for. Foreign text.
    pub reason: Option<String>,
    /// The verdict comment, where it is there already.
    pub comment_url: Option<String>,
    /// The evidence digest, once the folder is sealed.
    pub evidence: Option<Digest>,
}

/// Where announcements go. Sending one twice is fine: it has an id.
pub trait Announcer: Send + Sync {
    /// Sends `body`, the announcement `id` of the event `event` as JSON. Returns when it was taken.
    ///
    /// # Errors
    /// It was not taken, or nobody knows: why, without a secret in it.
    fn send(&self, id: &str, event: Happening, body: &str) -> impl Future<Output = Result<(), String>> + Send;
}
