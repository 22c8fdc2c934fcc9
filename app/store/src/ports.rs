//! The ports: what reads goes to a reader, what changes something into the queue.

use domain::budget::{Learnt, OverBudget, Place, Promise};
use domain::ids::{Digest, RunId};
use domain::ports::desk::{AuditLine, ClaimedWant, Counts, Delivery, OpenDelivery, RunRow, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Committed, Desk, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
use domain::time::Ms;

use crate::open::SqlStore;
use crate::settle::Settling;
use crate::{delivery, effect, outbox, register, run, spend, subject};

impl Store for SqlStore {
    async fn create(&self, subject: Subject) -> Result<bool, StoreError> {
        self.write(subject::Create(subject)).await
    }

    async fn read(&self, key: &str) -> Result<Option<Subject>, StoreError> {
        subject::read(&self.readers, key).await.map_err(|fault| fault.of("read"))
    }

    async fn claim(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<Subject>, StoreError> {
        self.claim_of(subject::RUNS, owner, now, until, limit).await
    }

    async fn release(&self, key: &str, fence: u64, version: u64, due: Option<Ms>) -> Result<(), StoreError> {
        self.write(subject::Release { key: key.to_owned(), fence, version, due }).await
    }

    async fn grant(&self, key: &str, at_once: u32, now: Ms) -> Result<bool, StoreError> {
        self.write(run::Grant { key: key.to_owned(), at_once, now }).await
    }

    async fn next_due(&self) -> Result<Option<Ms>, StoreError> {
        subject::next_due(&self.readers).await.map_err(|fault| fault.of("next due"))
    }

    async fn commit(&self, write: Write) -> Result<Committed, StoreError> {
        self.write(effect::Commit(write)).await
    }

    async fn effects(&self, subject: &str) -> Result<Vec<StoredEffect>, StoreError> {
        effect::open(&self.readers, subject).await.map_err(|fault| fault.of("effects"))
    }

    async fn begin(&self, subject: &str, effect: &str, fence: u64) -> Result<bool, StoreError> {
        self.write(effect::Begin { subject: subject.to_owned(), effect: effect.to_owned(), fence }).await
    }

    async fn defer(&self, subject: &str, effect: &str, fence: u64, due: Ms) -> Result<(), StoreError> {
        self.write(effect::Defer { subject: subject.to_owned(), effect: effect.to_owned(), fence, due }).await
    }

    async fn look(&self, key: &LookKey) -> Result<Option<LookRow>, StoreError> {
        effect::look(&self.readers, key).await.map_err(|fault| fault.of("look"))
    }
}

impl Desk for SqlStore {
    async fn receive(&self, delivery: Delivery) -> Result<bool, StoreError> {
        self.write(delivery::Receive(delivery)).await
    }

    async fn open_deliveries(&self, handler: u32, now: Ms, limit: usize) -> Result<Vec<OpenDelivery>, StoreError> {
        delivery::open(&self.readers, handler, now, limit).await.map_err(|fault| fault.of("open deliveries"))
    }

    async fn defer_delivery(&self, guid: &str, until: Ms) -> Result<(), StoreError> {
        self.write(delivery::Defer { guid: guid.to_owned(), until }).await
    }

    async fn known_deliveries(&self, guids: &[String]) -> Result<Vec<String>, StoreError> {
        delivery::known(&self.readers, guids).await.map_err(|fault| fault.of("known deliveries"))
    }

    async fn settle(&self, settle: Settle) -> Result<Settled, StoreError> {
        self.write(Settling(settle)).await
    }

    async fn claim_of(
        &self,
        prefix: &'static str,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> Result<Vec<Subject>, StoreError> {
        self.write(subject::Claim { prefix, owner: owner.to_owned(), now, until, limit }).await
    }

    async fn unsaid(&self, limit: usize) -> Result<Vec<Subject>, StoreError> {
        subject::unsaid(&self.readers, limit).await.map_err(|fault| fault.of("unsaid"))
    }

    async fn claim_wants(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<ClaimedWant>, StoreError> {
        self.write(outbox::Claim { announcements: false, owner: owner.to_owned(), now, until, limit }).await
    }

    async fn claim_announcements(
        &self,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> Result<Vec<ClaimedWant>, StoreError> {
        self.write(outbox::Claim { announcements: true, owner: owner.to_owned(), now, until, limit }).await
    }

    async fn said(
        &self,
        target: &str,
        fence: u64,
        hash: &Digest,
        remote: Option<u64>,
        gone: bool,
    ) -> Result<(), StoreError> {
        self.write(outbox::Said { target: target.to_owned(), fence, hash: hash.clone(), remote, gone }).await
    }

    async fn unsaid_yet(&self, target: &str, fence: u64, due: Ms, why: &str) -> Result<(), StoreError> {
        self.write(outbox::UnsaidYet { target: target.to_owned(), fence, due, why: why.to_owned() }).await
    }

    async fn say_again(&self, target: &str, due: Ms) -> Result<(), StoreError> {
        self.write(outbox::SayAgain { target: target.to_owned(), due }).await
    }

    async fn say_refused(&self, due: Ms) -> Result<(), StoreError> {
        self.write(outbox::SayRefused { due }).await
    }

    async fn wanted(&self, target: &str) -> Result<Option<ClaimedWant>, StoreError> {
        outbox::wanted(&self.readers, target).await.map_err(|fault| fault.of("wanted"))
    }

    async fn run(&self, id: &RunId) -> Result<Option<RunRow>, StoreError> {
        run::of_id(&self.readers, id).await.map_err(|fault| fault.of("run"))
    }

    async fn runs(&self, repo: u64, number: u64) -> Result<Vec<RunRow>, StoreError> {
        run::of_pull(&self.readers, repo, number).await.map_err(|fault| fault.of("runs"))
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        run::active(&self.readers).await.map_err(|fault| fault.of("active runs"))
    }

    async fn promise(&self, promise: Promise) -> Result<Result<(), OverBudget>, StoreError> {
        self.write(spend::Promising(promise)).await
    }

    async fn learnt(
        &self,
        suite: &str,
        preset: Option<&str>,
        fingerprint: Option<&Digest>,
        limit: usize,
    ) -> Result<Vec<Learnt>, StoreError> {
        let learnt = spend::learnt(&self.readers, suite, preset, fingerprint, limit);
        learnt.await.map_err(|fault| fault.of("learnt"))
    }

    async fn places(&self, now: Ms) -> Result<Vec<Place>, StoreError> {
        spend::places(&self.readers, now).await.map_err(|fault| fault.of("places"))
    }

    async fn last_episode(&self, ledger: &Digest) -> Result<u64, StoreError> {
        effect::last_episode(&self.readers, ledger).await.map_err(|fault| fault.of("last episode"))
    }

    async fn repo(&self, id: u64) -> Result<Option<Repo>, StoreError> {
        register::repo(&self.readers, id).await.map_err(|fault| fault.of("repo"))
    }

    async fn audit(&self, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        register::audit(&self.readers, limit).await.map_err(|fault| fault.of("audit"))
    }

    async fn is_open(&self, guid: &str, handler: u32) -> Result<bool, StoreError> {
        delivery::is_open(&self.readers, guid, handler).await.map_err(|fault| fault.of("is open"))
    }

    async fn free_leases(&self, owner: &str) -> Result<(), StoreError> {
        self.write(register::FreeLeases(owner.to_owned())).await
    }

    async fn counts(&self, handler: u32) -> Result<Counts, StoreError> {
        register::counts(&self.readers, handler).await.map_err(|fault| fault.of("counts"))
    }

    async fn prune(&self, before: Ms) -> Result<u64, StoreError> {
        self.write(delivery::Prune(before)).await
    }

    async fn alive(&self) -> Result<(), StoreError> {
        self.write(register::Alive).await
    }
}
