//! What a service writes down besides its runs: deliveries, pull requests, what is to be said, who did what.

use crate::budget::{Learnt, OverBudget, Place, Promise, Used};
use crate::ids::{Digest, RunId};
use crate::ports::forge::Repo;
use crate::ports::store::{Committed, Store, StoreError, Subject, Write};
use crate::time::Ms;

/// A delivery as it was received, after its signature was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, equal when it is delivered again.
    pub guid: String,
    /// The event.
    pub event: String,
    /// Headers that may be needed to handle it again, as a JSON object. No signature.
    pub headers: String,
    /// The payload as it was sent.
    pub payload: String,
    /// When it was received.
    pub received: Ms,
}

/// A delivery that is to be handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDelivery {
    /// The delivery.
    pub delivery: Delivery,
    /// How often handling it was begun and put off.
    pub attempts: u32,
}

/// Something that is to be said, as a wanted state: the newest replaces what was not said yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// `comment:<repository>:<number>:<suite>`, `reply:<repository>:<number>`, `check:<run>`, `notify:<run>`,
    /// `labels:<repository>:<number>` or `announce:<run>:<event>`.
    pub target: String,
    /// What is wanted, as JSON.
    pub wanted: String,
    /// When it is to be said.
    pub due: Ms,
}

/// Something that is to be said, claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedWant {
    /// See [`Want::target`].
    pub target: String,
    /// What is wanted, as JSON.
    pub wanted: String,
    /// SHA-256 of it.
    pub hash: Digest,
    /// The number that the forge gave it, once said.
    pub remote: Option<u64>,
    /// How often it was said to have been deleted there.
    pub gone: u32,
    /// How often saying it failed in a row.
    pub attempts: u32,
    /// Grows by one with each claim.
    pub fence: u64,
}

/// A run of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The repository.
    pub repo: u64,
    /// The number of the pull request.
    pub number: u64,
    /// The account that asked for it; 0 where nobody knows.
    pub person: u64,
    /// The suite.
    pub suite: String,
    /// What asked for it: the same request never makes two runs.
    pub request: String,
    /// The commit that is measured.
    pub head: String,
    /// The ledger, once planned.
    pub ledger: Option<Digest>,
    /// Whether it still goes on.
    pub active: bool,
    /// How it ended, in a word.
    pub outcome: Option<String>,
    /// The evidence digest.
    pub evidence: Option<Digest>,
    /// When it was made.
    pub created: Ms,
    /// When it ended.
    pub ended: Option<Ms>,
}

/// How much is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Deliveries that are not handled.
    pub open_deliveries: i64,
    /// Things that are wanted and not said.
    pub unsaid: i64,
    /// Runs that go on.
    pub active_runs: i64,
}

/// Who did what, or what was not done and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// When.
    pub at: Ms,
    /// Who, such as `github:583231 octocat`.
    pub actor: String,
    /// What, such as `run`, `denied`.
    pub action: String,
    /// About what, such as `pull:1:42`.
    pub subject: String,
    /// More, in words.
    pub detail: String,
}

/// One transaction of a service: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settle {
    /// Subjects that are made: nothing is done ([`Committed::Outdated`]) where one of them is there.
    pub create: Vec<Subject>,
    /// Subjects that are written, each with its version and fence: nothing is done where one of them has moved.
    pub writes: Vec<Write>,
    /// The delivery that is handled by this: its id, the version of the handler, what came of it in words. Nothing is done
    /// ([`Committed::Outdated`]) where it is handled by that version already.
    pub delivery: Option<(String, u32, String)>,
    /// Runs that begin. [`Settled::Busy`] where their pull request has an active one or the request was made before.
    pub begin: Vec<RunRow>,
    /// Runs that are planned: the ledger.
    pub planned: Vec<(RunId, Digest)>,
    /// Runs that are over: how, in a word, and the evidence digest.
    pub over: Vec<(RunId, String, Option<Digest>)>,
    /// What runs have used.
    pub used: Vec<(RunId, Used)>,
    /// What is to be said. What is wanted already stays as it is; what is not said yet keeps the earlier of both times.
    pub wants: Vec<Want>,
    /// Subjects of which everything up to this version is said or wanted.
    pub said: Vec<(String, u64)>,
    /// Repositories as they were seen.
    pub repos: Vec<Repo>,
    /// For the audit log.
    pub audit: Vec<AuditLine>,
    /// When.
    pub at: Ms,
}

/// What became of a transaction of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is done.
    Done,
    /// Something has moved, or is handled already: nothing was done.
    Outdated,
    /// The pull request has an active run, or the request was made before: nothing was done.
    Busy,
    /// As [`Committed::LookTaken`].
    LookTaken,
}

impl From<Settled> for Committed {
    /// For a transaction of one write at `version`.
    fn from(settled: Settled) -> Self {
        match settled {
            Settled::Done => Self::Done(0),
            Settled::Outdated | Settled::Busy => Self::Outdated,
            Settled::LookTaken => Self::LookTaken,
        }
    }
}

/// The store of a service. Whatever returned is on stable storage.
pub trait Desk: Store {
    /// Stores a delivery. `false` where it is known: then nothing changes.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn receive(&self, delivery: Delivery) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Deliveries that no handler of this version or a newer one has handled and that are due, the oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn open_deliveries(
        &self,
        handler: u32,
        now: Ms,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<OpenDelivery>, StoreError>> + Send;

    /// Whether a delivery is known and no handler of this version or a newer one has handled it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn is_open(&self, guid: &str, handler: u32) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Puts a delivery off.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn defer_delivery(&self, guid: &str, until: Ms) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Which of these deliveries are known.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn known_deliveries(&self, guids: &[String]) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Writes one transaction.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn settle(&self, settle: Settle) -> impl Future<Output = Result<Settled, StoreError>> + Send;

    /// As [`Store::claim`], for subjects whose key begins with `prefix` only. [`Store::claim`] itself claims runs:
    /// `run:`.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim_of(
        &self,
        prefix: &'static str,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Subject>, StoreError>> + Send;

    /// Subjects that changed since they were last said, the longest unsaid first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn unsaid(&self, limit: usize) -> impl Future<Output = Result<Vec<Subject>, StoreError>> + Send;

    /// Claims things to be said on the forge that are due, differ from what was said, and are under no lease: everything but
    /// announcements. Until one is said, what was said before counts as unknown: an answer may be lost.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim_wants(
        &self,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<ClaimedWant>, StoreError>> + Send;

    /// As [`Desk::claim_wants`], for announcements only, whose target begins with `announce:`: whoever is slow to take them
    /// keeps nothing else waiting.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn claim_announcements(
        &self,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<ClaimedWant>, StoreError>> + Send;

    /// It was said: what, its number there, and whether it had been deleted. Nothing happens where the fence has moved.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn said(
        &self,
        target: &str,
        fence: u64,
        hash: &Digest,
        remote: Option<u64>,
        gone: bool,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// It could not be said: again then. Nothing happens where the fence has moved.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn unsaid_yet(
        &self,
        target: &str,
        fence: u64,
        due: Ms,
        why: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What was last said there is to be said again, as when the comment is found deleted or changed by reconciling.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn say_again(&self, target: &str, due: Ms) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whatever could not be said so far is due by then: what stood in the way may be gone.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn say_refused(&self, due: Ms) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What was wanted last, said or not, with the number that it has there.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn wanted(&self, target: &str) -> impl Future<Output = Result<Option<ClaimedWant>, StoreError>> + Send;

    /// The runs of a pull request, the newest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn runs(&self, repo: u64, number: u64) -> impl Future<Output = Result<Vec<RunRow>, StoreError>> + Send;

    /// A run.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn run(&self, id: &RunId) -> impl Future<Output = Result<Option<RunRow>, StoreError>> + Send;

    /// Runs that go on, the oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn active_runs(&self) -> impl Future<Output = Result<Vec<RunRow>, StoreError>> + Send;

    /// Promises a run what it is expected to cost, where that fits into the budgets: nobody else is promised the same
    /// meanwhile. Promising the same run again replaces what it was promised. A run that is over is promised nothing, and
    /// one that ends before it starts gives back what it was promised.
    ///
    /// # Errors
    /// See [`StoreError`]; within, that it does not fit.
    fn promise(&self, promise: Promise) -> impl Future<Output = Result<Result<(), OverBudget>, StoreError>> + Send;

    /// What the last `limit` finished runs of a suite and preset say of a trial, the newest first: of this workload, or of
    /// any where `fingerprint` is `None`.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn learnt(
        &self,
        suite: &str,
        preset: Option<&str>,
        fingerprint: Option<&Digest>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Learnt>, StoreError>> + Send;

    /// The runs that go on, as they stand in the line for a place.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn places(&self, now: Ms) -> impl Future<Output = Result<Vec<Place>, StoreError>> + Send;

    /// The last episode of a ledger in which a look was taken; 0 where there is none.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn last_episode(&self, ledger: &Digest) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// A repository as it was last seen.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn repo(&self, id: u64) -> impl Future<Output = Result<Option<Repo>, StoreError>> + Send;

    /// The audit log from its newest line backwards.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn audit(&self, limit: usize) -> impl Future<Output = Result<Vec<AuditLine>, StoreError>> + Send;

    /// Takes the leases of an owner back who is known to be gone: what it claimed can be claimed by others. What it still
    /// writes is refused by the fence as soon as somebody has.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn free_leases(&self, owner: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// How much is open.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn counts(&self, handler: u32) -> impl Future<Output = Result<Counts, StoreError>> + Send;

    /// Forgets the payloads of deliveries that were handled and received before that. That they were is remembered.
    /// Returns how many those were.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn prune(&self, before: Ms) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Whether the store answers and can be written to.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn alive(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}
