//! The store of a service in the simulated world: tables in memory, with a crash or a delay possible before and after
//! each write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::budget::{Learnt, OverBudget, Place, Promise};
use domain::ids::{Digest, RunId};
use domain::ports::desk::{AuditLine, ClaimedWant, Counts, Delivery, OpenDelivery, RunRow, Settle, Settled};
use domain::ports::forge::Repo;
use domain::ports::{Committed, Desk, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
use domain::time::Ms;

use super::habit::Habit;
use super::tables::Tables;
use crate::sim::lab::Written;
use crate::sim::world::Shared;

#[derive(Clone, Debug)]
pub(super) struct SimDesk {
    world: Shared,
    tables: Arc<Mutex<Tables>>,
    habit: Habit,
}

impl SimDesk {
    pub(super) fn new(world: Shared, habit: Habit) -> Self {
        Self { world, tables: Arc::default(), habit }
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves out what the planted mistake forgets.
    fn less(&self, settle: &mut Settle) {
        for write in &mut settle.writes {
            write.effects.retain(|(key, ..)| !self.habit.forgets_effect(key));
        }
        settle.wants.retain(|want| !self.habit.forgets_want(want));
        settle.over.retain(|_| self.habit != Habit::LosesEnds);
    }
}

impl Written for SimDesk {
    fn open_effects(&self, subject: &str) -> Vec<StoredEffect> {
        self.tables().subjects.get(subject).map(|row| row.effects.clone()).unwrap_or_default()
    }
}

impl Store for SimDesk {
    async fn create(&self, subject: Subject) -> Result<bool, StoreError> {
        self.world.point("before a subject is created").await;
        let created = self.tables().create(subject, Ms(0));
        self.world.point("after a subject is created").await;
        Ok(created)
    }

    async fn read(&self, key: &str) -> Result<Option<Subject>, StoreError> {
        Ok(self.tables().subjects.get(key).map(|row| row.subject.clone()))
    }

    async fn claim(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<Subject>, StoreError> {
        self.claim_of("run:", owner, now, until, limit).await
    }

    async fn release(&self, key: &str, fence: u64, version: u64, due: Option<Ms>) -> Result<(), StoreError> {
        self.world.point("before a release").await;
        let mut tables = self.tables();
        if let Some(row) = tables.subjects.get_mut(key).filter(|row| row.subject.fence == fence) {
            row.lease = None;
            if row.subject.version == version {
                row.subject.due = due;
            }
        }
        Ok(())
    }

    async fn grant(&self, key: &str, at_once: u32, _: Ms) -> Result<bool, StoreError> {
        self.world.point("before a grant").await;
        Ok(self.tables().grant(key, at_once))
    }

    async fn next_due(&self) -> Result<Option<Ms>, StoreError> {
        let tables = self.tables();
        let runs = tables.subjects.iter().filter(|(key, _)| key.starts_with("run:"));
        Ok(runs.filter_map(|(_, row)| row.due()).min())
    }

    async fn commit(&self, write: Write) -> Result<Committed, StoreError> {
        self.world.point("before a commit").await;
        let committed = self.tables().write(write);
        self.world.point("after a commit").await;
        Ok(committed)
    }

    async fn effects(&self, subject: &str) -> Result<Vec<StoredEffect>, StoreError> {
        Ok(self.open_effects(subject))
    }

    async fn begin(&self, subject: &str, effect: &str, fence: u64) -> Result<bool, StoreError> {
        self.world.point("before a beginning").await;
        let begun = {
            let mut tables = self.tables();
            let row = tables.subjects.get_mut(subject).filter(|row| row.subject.fence == fence);
            let effect = row.and_then(|row| row.effects.iter_mut().find(|known| known.key == effect));
            effect.map(|effect| (effect.begun, effect.attempts) = (true, effect.attempts + 1)).is_some()
        };
        self.world.point("after a beginning").await;
        Ok(begun)
    }

    async fn defer(&self, subject: &str, effect: &str, fence: u64, due: Ms) -> Result<(), StoreError> {
        self.world.point("before a deferral").await;
        let mut tables = self.tables();
        let row = tables.subjects.get_mut(subject).filter(|row| row.subject.fence == fence);
        if let Some(effect) = row.and_then(|row| row.effects.iter_mut().find(|known| known.key == effect)) {
            effect.due = due;
        }
        Ok(())
    }

    async fn look(&self, key: &LookKey) -> Result<Option<LookRow>, StoreError> {
        Ok(self.tables().looks.get(key).cloned())
    }
}

/// Deliveries stand in the town: only whether one is handled is written down here.
impl Desk for SimDesk {
    async fn receive(&self, _: Delivery) -> Result<bool, StoreError> {
        Err(StoreError("deliveries are not kept here".to_owned()))
    }

    /// Budgets are not what this world is about: whatever is asked for fits.
    async fn promise(&self, _: Promise) -> Result<Result<(), OverBudget>, StoreError> {
        Ok(Ok(()))
    }

    async fn learnt(&self, _: &str, _: Option<&str>, _: Option<&Digest>, _: usize) -> Result<Vec<Learnt>, StoreError> {
        Ok(Vec::new())
    }

    async fn places(&self, _: Ms) -> Result<Vec<Place>, StoreError> {
        Ok(self.tables().places())
    }

    async fn open_deliveries(&self, _: u32, _: Ms, _: usize) -> Result<Vec<OpenDelivery>, StoreError> {
        Ok(Vec::new())
    }

    async fn is_open(&self, guid: &str, _: u32) -> Result<bool, StoreError> {
        Ok(!self.tables().handled.contains(guid))
    }

    async fn defer_delivery(&self, _: &str, _: Ms) -> Result<(), StoreError> {
        Ok(())
    }

    async fn known_deliveries(&self, _: &[String]) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn settle(&self, mut settle: Settle) -> Result<Settled, StoreError> {
        self.less(&mut settle);
        self.world.point("before a transaction").await;
        let settled = self.tables().settle(settle);
        self.world.point("after a transaction").await;
        Ok(settled)
    }

    async fn claim_of(
        &self,
        prefix: &'static str,
        owner: &str,
        now: Ms,
        until: Ms,
        limit: usize,
    ) -> Result<Vec<Subject>, StoreError> {
        let claimed = self.tables().claim(prefix, owner, now, until, limit);
        if !claimed.is_empty() {
            self.world.point("after a claim").await;
        }
        Ok(claimed)
    }

    async fn unsaid(&self, limit: usize) -> Result<Vec<Subject>, StoreError> {
        let tables = self.tables();
        let mut rows: Vec<_> = tables.subjects.values().filter(|row| row.is_unsaid()).collect();
        rows.sort_by(|a, b| (a.unsaid, &a.subject.key).cmp(&(b.unsaid, &b.subject.key)));
        Ok(rows.into_iter().take(limit).map(|row| row.subject.clone()).collect())
    }

    async fn claim_wants(&self, owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<ClaimedWant>, StoreError> {
        let claimed = self.tables().claim_wants(owner, now, until, limit);
        if !claimed.is_empty() {
            self.world.point("after what is to be said was claimed").await;
        }
        Ok(claimed)
    }

    async fn said(
        &self,
        target: &str,
        fence: u64,
        hash: &Digest,
        remote: Option<u64>,
        gone: bool,
    ) -> Result<(), StoreError> {
        self.world.point("before it is said").await;
        let mut tables = self.tables();
        if let Some(saying) = tables.outbox.get_mut(target).filter(|saying| saying.want.fence == fence) {
            (saying.lease, saying.want.attempts, saying.want.remote) = (None, 0, remote);
            saying.want.gone += u32::from(gone);
            if self.habit != Habit::NeverContent {
                saying.said = Some(hash.clone());
            }
        }
        Ok(())
    }

    async fn unsaid_yet(&self, target: &str, fence: u64, due: Ms, _: &str) -> Result<(), StoreError> {
        self.world.point("before it is put off").await;
        let mut tables = self.tables();
        if let Some(saying) = tables.outbox.get_mut(target).filter(|saying| saying.want.fence == fence) {
            (saying.lease, saying.due) = (None, due);
            saying.want.attempts += 1;
        }
        Ok(())
    }

    async fn say_again(&self, target: &str, due: Ms) -> Result<(), StoreError> {
        if let Some(saying) = self.tables().outbox.get_mut(target) {
            (saying.said, saying.due) = (None, due);
        }
        Ok(())
    }

    async fn run(&self, id: &RunId) -> Result<Option<RunRow>, StoreError> {
        Ok(self.tables().runs.iter().find(|run| run.id == *id).cloned())
    }

    /// Nothing is announced here.
    async fn claim_announcements(&self, _: &str, _: Ms, _: Ms, _: usize) -> Result<Vec<ClaimedWant>, StoreError> {
        Ok(Vec::new())
    }

    async fn say_refused(&self, due: Ms) -> Result<(), StoreError> {
        for saying in self.tables().outbox.values_mut() {
            saying.due = saying.due.min(due);
        }
        Ok(())
    }

    async fn wanted(&self, target: &str) -> Result<Option<ClaimedWant>, StoreError> {
        Ok(self.tables().outbox.get(target).map(|saying| saying.want.clone()))
    }

    async fn runs(&self, repo: u64, number: u64) -> Result<Vec<RunRow>, StoreError> {
        let tables = self.tables();
        let mut rows: Vec<RunRow> =
            tables.runs.iter().filter(|run| (run.repo, run.number) == (repo, number)).cloned().collect();
        rows.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        Ok(rows)
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let mut rows: Vec<RunRow> = self.tables().runs.iter().filter(|run| run.active).cloned().collect();
        rows.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(rows)
    }

    async fn last_episode(&self, ledger: &Digest) -> Result<u64, StoreError> {
        let tables = self.tables();
        Ok(tables.looks.keys().filter(|key| key.ledger == *ledger).map(|key| key.episode).max().unwrap_or(0))
    }

    async fn repo(&self, _: u64) -> Result<Option<Repo>, StoreError> {
        Ok(None)
    }

    async fn audit(&self, _: usize) -> Result<Vec<AuditLine>, StoreError> {
        Ok(Vec::new())
    }

    async fn free_leases(&self, owner: &str) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let free = |lease: &mut Option<(String, Ms)>| {
            if lease.as_ref().is_some_and(|(by, _)| by == owner) {
                *lease = None;
            }
        };
        tables.subjects.values_mut().for_each(|row| free(&mut row.lease));
        tables.outbox.values_mut().for_each(|saying| free(&mut saying.lease));
        Ok(())
    }

    async fn counts(&self, _: u32) -> Result<Counts, StoreError> {
        Ok(Counts::default())
    }

    async fn prune(&self, _: Ms) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn alive(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
