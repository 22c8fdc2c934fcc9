//! A store that crashes: at one of its writes, before it is done or before its answer arrives. After that it does nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::budget::{Learnt, OverBudget, Place, Promise};
use domain::ids::{Digest, RunId};
use domain::ports::desk::{AuditLine, ClaimedWant, Counts, Delivery, OpenDelivery, RunRow, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Committed, Desk, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
use domain::time::Ms;
use store::SqlStore;

/// When a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing of it is done.
    Before,
    /// It is done, and nobody hears of it.
    After,
}

/// Where it crashes: which write, from 1, and when.
pub(crate) type Point = (usize, Mode);

/// A store that crashes. A clone is the same store.
#[derive(Clone)]
pub(crate) struct Crashing {
    inner: SqlStore,
    shared: Arc<Shared>,
}

struct Shared {
    at: Option<Point>,
    dead: AtomicBool,
    /// The writes so far.
    writes: Mutex<Vec<&'static str>>,
}

/// Whether it was done before this is known: what is claimed is known afterwards only, and an empty claim is no write.
pub(crate) fn is_claim(write: &str) -> bool {
    write.starts_with("claim")
}

impl Crashing {
    pub(crate) fn new(inner: SqlStore, at: Option<Point>) -> Self {
        Self { inner, shared: Arc::new(Shared { at, dead: AtomicBool::default(), writes: Mutex::default() }) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.shared.dead.load(Ordering::SeqCst)
    }

    /// The writes so far.
    pub(crate) fn writes(&self) -> Vec<&'static str> {
        self.shared.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn died<T>(&self) -> Result<T, StoreError> {
        self.shared.dead.store(true, Ordering::SeqCst);
        Err(StoreError("it crashed".to_owned()))
    }

    /// Counts a write. Whether it is the one.
    fn is_it(&self, name: &'static str, mode: Mode) -> bool {
        let mut writes = self.shared.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if mode == Mode::Before {
            writes.push(name);
        }
        self.shared.at == Some((writes.len(), mode))
    }

    fn alive_here(&self) -> Result<&SqlStore, StoreError> {
        if self.is_dead() { self.died() } else { Ok(&self.inner) }
    }

    async fn write<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.alive_here()?;
        if self.is_it(name, Mode::Before) {
            return self.died();
        }
        let answer = call.await?;
        if self.is_it(name, Mode::After) { self.died() } else { Ok(answer) }
    }

    async fn claimed<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<Vec<T>, StoreError>> + Send,
    ) -> Result<Vec<T>, StoreError> {
        self.alive_here()?;
        let claimed = call.await?;
        if claimed.is_empty() {
            return Ok(claimed);
        }
        // It is done: before and after are one.
        let before = self.is_it(name, Mode::Before);
        if before || self.is_it(name, Mode::After) { self.died() } else { Ok(claimed) }
    }
}

impl Store for Crashing {
    async fn create(&self, subject: Subject) -> Result<bool, StoreError> {
        self.write("create", self.inner.create(subject)).await
    }

    async fn read(&self, key: &str) -> Result<Option<Subject>, StoreError> {
        self.alive_here()?.read(key).await
    }

    async fn claim(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<Subject>, StoreError> {
        self.claimed("claim a run", self.inner.claim(owner, now, until, limit)).await
    }

    async fn release(&self, key: &str, fence: u64, version: u64, due: Option<Ms>) -> Result<(), StoreError> {
        self.write("release", self.inner.release(key, fence, version, due)).await
    }

    async fn grant(&self, key: &str, at_once: u32, now: Ms) -> Result<bool, StoreError> {
        self.write("grant", self.inner.grant(key, at_once, now)).await
    }

    async fn next_due(&self) -> Result<Option<Ms>, StoreError> {
        self.alive_here()?.next_due().await
    }

    async fn commit(&self, write: Write) -> Result<Committed, StoreError> {
        self.write("commit", self.inner.commit(write)).await
    }

    async fn effects(&self, subject: &str) -> Result<Vec<StoredEffect>, StoreError> {
        self.alive_here()?.effects(subject).await
    }

    async fn begin(&self, subject: &str, effect: &str, fence: u64) -> Result<bool, StoreError> {
        self.write("begin", self.inner.begin(subject, effect, fence)).await
    }

    async fn defer(&self, subject: &str, effect: &str, fence: u64, due: Ms) -> Result<(), StoreError> {
        self.write("defer", self.inner.defer(subject, effect, fence, due)).await
    }

    async fn look(&self, key: &LookKey) -> Result<Option<LookRow>, StoreError> {
        self.alive_here()?.look(key).await
    }
}

impl Desk for Crashing {
    async fn receive(&self, delivery: Delivery) -> Result<bool, StoreError> {
        self.write("receive", self.inner.receive(delivery)).await
    }

    async fn open_deliveries(&self, handler: u32, now: Ms, limit: usize) -> Result<Vec<OpenDelivery>, StoreError> {
        self.alive_here()?.open_deliveries(handler, now, limit).await
    }

    async fn is_open(&self, guid: &str, handler: u32) -> Result<bool, StoreError> {
        self.alive_here()?.is_open(guid, handler).await
    }

    async fn defer_delivery(&self, guid: &str, until: Ms) -> Result<(), StoreError> {
        self.write("defer a delivery", self.inner.defer_delivery(guid, until)).await
    }

    async fn known_deliveries(&self, guids: &[String]) -> Result<Vec<String>, StoreError> {
        self.alive_here()?.known_deliveries(guids).await
    }

    async fn settle(&self, settle: Settle) -> Result<Settled, StoreError> {
        self.write("settle", self.inner.settle(settle)).await
    }

    async fn claim_of(
        &self,
        prefix: &'static str,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> Result<Vec<Subject>, StoreError> {
        self.claimed("claim a pull request", self.inner.claim_of(prefix, owner, now, until, limit)).await
    }

    async fn unsaid(&self, limit: usize) -> Result<Vec<Subject>, StoreError> {
        self.alive_here()?.unsaid(limit).await
    }

    async fn claim_wants(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<ClaimedWant>, StoreError> {
        self.claimed("claim what to say", self.inner.claim_wants(owner, now, until, limit)).await
    }

    async fn claim_announcements(
        &self,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> Result<Vec<ClaimedWant>, StoreError> {
        self.claimed("claim announcements", self.inner.claim_announcements(owner, now, until, limit)).await
    }

    async fn said(
        &self,
        target: &str,
        fence: u64,
        hash: &Digest,
        remote: Option<u64>,
        gone: bool,
    ) -> Result<(), StoreError> {
        self.write("said", self.inner.said(target, fence, hash, remote, gone)).await
    }

    async fn unsaid_yet(&self, target: &str, fence: u64, due: Ms, why: &str) -> Result<(), StoreError> {
        self.write("unsaid yet", self.inner.unsaid_yet(target, fence, due, why)).await
    }

    async fn say_again(&self, target: &str, due: Ms) -> Result<(), StoreError> {
        self.write("say again", self.inner.say_again(target, due)).await
    }

    async fn say_refused(&self, due: Ms) -> Result<(), StoreError> {
        self.write("say refused", self.inner.say_refused(due)).await
    }

    async fn wanted(&self, target: &str) -> Result<Option<ClaimedWant>, StoreError> {
        self.alive_here()?.wanted(target).await
    }

    async fn run(&self, id: &RunId) -> Result<Option<RunRow>, StoreError> {
        self.alive_here()?.run(id).await
    }

    async fn runs(&self, repo: u64, number: u64) -> Result<Vec<RunRow>, StoreError> {
        self.alive_here()?.runs(repo, number).await
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.alive_here()?.active_runs().await
    }

    async fn promise(&self, promise: Promise) -> Result<Result<(), OverBudget>, StoreError> {
        self.write("promise", self.inner.promise(promise)).await
    }

    async fn learnt(
        &self,
        suite: &str,
        preset: Option<&str>,
        fingerprint: Option<&Digest>,
        limit: usize,
    ) -> Result<Vec<Learnt>, StoreError> {
        self.alive_here()?.learnt(suite, preset, fingerprint, limit).await
    }

    async fn places(&self, now: Ms) -> Result<Vec<Place>, StoreError> {
        self.alive_here()?.places(now).await
    }

    async fn last_episode(&self, ledger: &Digest) -> Result<u64, StoreError> {
        self.alive_here()?.last_episode(ledger).await
    }

    async fn repo(&self, id: u64) -> Result<Option<Repo>, StoreError> {
        self.alive_here()?.repo(id).await
    }

    async fn audit(&self, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.alive_here()?.audit(limit).await
    }

    async fn free_leases(&self, owner: &str) -> Result<(), StoreError> {
        self.write("free leases", self.inner.free_leases(owner)).await
    }

    async fn counts(&self, handler: u32) -> Result<Counts, StoreError> {
        self.alive_here()?.counts(handler).await
    }

    async fn prune(&self, before: Ms) -> Result<u64, StoreError> {
        self.write("prune", self.inner.prune(before)).await
    }

    async fn alive(&self) -> Result<(), StoreError> {
        self.alive_here()?.alive().await
    }
}
