//! The memory store, with a crash possible before and after each write.

use domain::ports::{Committed, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
use domain::time::Ms;

use super::world::Shared;
use crate::memory::MemoryStore;

#[derive(Clone, Debug)]
pub(super) struct SimStore {
    pub(super) world: Shared,
    pub(super) store: MemoryStore,
}

impl Store for SimStore {
    async fn create(&self, subject: Subject) -> Result<bool, StoreError> {
        self.world.point("before a run is created").await;
        let created = self.store.create(subject).await;
        self.world.point("after a run is created").await;
        created
    }

    async fn read(&self, key: &str) -> Result<Option<Subject>, StoreError> {
        self.store.read(key).await
    }

    async fn claim(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<Subject>, StoreError> {
        let claimed = self.store.claim(owner, now, until, limit).await?;
        if !claimed.is_empty() {
            self.world.point("after a claim").await;
        }
        Ok(claimed)
    }

    async fn release(&self, key: &str, fence: u64, version: u64, due: Option<Ms>) -> Result<(), StoreError> {
        self.world.point("before a release").await;
        self.store.release(key, fence, version, due).await
    }

    async fn next_due(&self) -> Result<Option<Ms>, StoreError> {
        self.store.next_due().await
    }

    async fn commit(&self, write: Write) -> Result<Committed, StoreError> {
        let what = write.finished.first().cloned().unwrap_or_default();
        self.world.point(&format!("before a commit {what}")).await;
        let committed = self.store.commit(write).await;
        self.world.point(&format!("after a commit {what}")).await;
        committed
    }

    async fn effects(&self, subject: &str) -> Result<Vec<StoredEffect>, StoreError> {
        self.store.effects(subject).await
    }

    async fn begin(&self, subject: &str, effect: &str, fence: u64) -> Result<bool, StoreError> {
        self.world.point("before a beginning").await;
        let begun = self.store.begin(subject, effect, fence).await;
        self.world.point("after a beginning").await;
        begun
    }

    async fn defer(&self, subject: &str, effect: &str, fence: u64, due: Ms) -> Result<(), StoreError> {
        self.world.point("before a deferral").await;
        self.store.defer(subject, effect, fence, due).await
    }

    async fn look(&self, key: &LookKey) -> Result<Option<LookRow>, StoreError> {
        self.store.look(key).await
    }
}
