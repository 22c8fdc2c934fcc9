//! Where subjects, effects and looks are written down.

use serde::{Deserialize, Serialize};

use crate::ids::{Digest, RunId};
use crate::ports::{Judged, LookKind};
use crate::time::Ms;

/// The store did not do what it was asked; nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store: {0}")]
pub struct StoreError(pub String);

/// Something that has a state and moves: a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `run:<id>`.
    pub key: String,
    /// What never changes: the plan, as JSON.
    pub body: String,
    /// The state, as JSON with its schema number.
    pub state: String,
    /// Grows by one with each change of the state.
    pub version: u64,
    /// Grows by one with each claim: what was claimed earlier can no longer write.
    pub fence: u64,
    /// When something is to be done; `None` when nothing is.
    pub due: Option<Ms>,
}

/// An effect that is written down and not done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEffect {
    /// Its key.
    pub key: String,
    /// The effect, as JSON.
    pub body: String,
    /// Somebody began to perform it: it may have happened.
    pub begun: bool,
    /// How often somebody began.
    pub attempts: u32,
    /// When it is to be performed.
    pub due: Ms,
}

/// The key of a look at one treatment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LookKey {
    /// The ledger.
    pub ledger: Digest,
    /// The episode.
    pub episode: u64,
    /// Which of the looks, from 0.
    pub look: u32,
}

/// A look that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookRow {
    /// Its key.
    pub key: LookKey,
    /// The run that took it.
    pub run: RunId,
    /// What it came to, per treatment.
    pub judged: Judged,
    /// When.
    pub at: Ms,
}

impl LookKey {
    /// The key of a look, where it is one that spends.
    #[must_use]
    pub fn of(look: &crate::ports::Look) -> Option<Self> {
        match look.kind {
            LookKind::Declared { index } => {
                Some(Self { ledger: look.ledger.clone(), episode: look.episode, look: index })
            }
            LookKind::Guardrail | LookKind::Blocked(_) => None,
        }
    }
}

/// One transaction: all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The subject.
    pub subject: String,
    /// The version that was read.
    pub version: u64,
    /// The fence under which it was read.
    pub fence: u64,
    /// The new state.
    pub state: String,
    /// When something is to be done again.
    pub due: Option<Ms>,
    /// Effects that are done or no longer wanted.
    pub finished: Vec<String>,
    /// New effects, in the order in which they are to be performed: key, body, due. A key that is there stays as it is.
    pub effects: Vec<(String, String, Ms)>,
    /// A look that was taken.
    pub look: Option<LookRow>,
    /// When.
    pub at: Ms,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is done; the version of the subject now.
    Done(u64),
    /// Somebody else was faster, or the fence has moved: nothing was done, drop everything.
    Outdated,
    /// The look was taken before: nothing was done, and that result stands.
    LookTaken,
}

/// Transactions with versions, leases and fences. Whatever returned is on stable storage.
pub trait Store: Send + Sync {
    /// Adds a subject (version and fence as given); `false` where there is one of this key, which stays as it is.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn create(&self, subject: Subject) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Reads a subject.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn read(&self, key: &str) -> impl Future<Output = Result<Option<Subject>, StoreError>> + Send;

    /// Claims up to `limit` subjects that are due and under no lease, until `until`, each under a new fence, those
    /// first that are due first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim(
        &self,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Subject>, StoreError>> + Send;

    /// Gives a claimed subject back. Its due time is set where the version is still that one: who wrote in between knows
    /// better. Nothing happens where the fence has moved.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn release(
        &self,
        key: &str,
        fence: u64,
        version: u64,
        due: Option<Ms>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whether a waiting subject may start, where at most `at_once` may have started and not ended. Who goes first is said
    /// by [`crate::budget::line`]; one that may start keeps that. Everything may start in a store of one run.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn grant(&self, key: &str, at_once: u32, now: Ms) -> impl Future<Output = Result<bool, StoreError>> + Send {
        let _ = (key, at_once, now);
        async { Ok(true) }
    }

    /// When the next subject is due or its lease ends, whichever is later.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn next_due(&self) -> impl Future<Output = Result<Option<Ms>, StoreError>> + Send;

    /// Writes one transaction.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn commit(&self, write: Write) -> impl Future<Output = Result<Committed, StoreError>> + Send;

    /// The effects of a subject that are not done, in the order in which they were written down.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn effects(&self, subject: &str) -> impl Future<Output = Result<Vec<StoredEffect>, StoreError>> + Send;

    /// Writes down that an effect is being performed. `false` where the fence has moved or the effect is gone: then it
    /// must not be performed.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn begin(&self, subject: &str, effect: &str, fence: u64) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Puts an effect off: it is performed (again) at `due`. Nothing happens where the fence has moved.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn defer(
        &self,
        subject: &str,
        effect: &str,
        fence: u64,
        due: Ms,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// A look that was taken.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn look(&self, key: &LookKey) -> impl Future<Output = Result<Option<LookRow>, StoreError>> + Send;
}
