//! A store that lives as long as the process: every operation is one transaction, and what was not committed is nowhere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ports::{Committed, LookKey, LookRow, Store, StoreError, StoredEffect, Subject, Write};
use domain::time::Ms;

#[derive(Debug)]
struct Row {
    subject: Subject,
    lease: Option<Ms>,
    effects: Vec<StoredEffect>,
}

#[derive(Debug, Default)]
struct Tables {
    subjects: BTreeMap<String, Row>,
    looks: BTreeMap<LookKey, LookRow>,
}

/// A store in memory. A clone is the same store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Every operation changes the tables only after its last check, so a panic leaves them whole.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The looks that were taken.
    #[must_use]
    pub fn looks(&self) -> Vec<LookRow> {
        self.tables().looks.values().cloned().collect()
    }

    pub(crate) fn open_effects(&self, subject: &str) -> Vec<StoredEffect> {
        self.tables().subjects.get(subject).map(|row| row.effects.clone()).unwrap_or_default()
    }

    pub(crate) fn subject(&self, key: &str) -> Option<Subject> {
        self.tables().subjects.get(key).map(|row| row.subject.clone())
    }

    pub(crate) fn next_due_now(&self) -> Option<Ms> {
        let tables = self.tables();
        let due = |row: &Row| row.subject.due.map(|due| row.lease.map_or(due, |lease| due.max(lease.plus(1))));
        tables.subjects.values().filter_map(due).min()
    }
}

impl Store for MemoryStore {
    async fn create(&self, subject: Subject) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        if tables.subjects.contains_key(&subject.key) {
            return Ok(false);
        }
        tables.subjects.insert(subject.key.clone(), Row { subject, lease: None, effects: Vec::new() });
        Ok(true)
    }

    async fn read(&self, key: &str) -> Result<Option<Subject>, StoreError> {
        Ok(self.subject(key))
    }

    async fn claim(&self, _owner: &str, now: Ms, until: Ms, limit: usize) -> Result<Vec<Subject>, StoreError> {
        let mut tables = self.tables();
        let mut due: Vec<&mut Row> = tables
            .subjects
            .values_mut()
            .filter(|row| row.subject.due.is_some_and(|due| due <= now) && row.lease.is_none_or(|lease| lease < now))
            .collect();
        due.sort_by(|a, b| (a.subject.due, &a.subject.key).cmp(&(b.subject.due, &b.subject.key)));
        let claim = |row: &mut Row| {
            row.lease = Some(until);
            row.subject.fence += 1;
            row.subject.clone()
        };
        Ok(due.into_iter().take(limit).map(claim).collect())
    }

    async fn release(&self, key: &str, fence: u64, version: u64, due: Option<Ms>) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if let Some(row) = tables.subjects.get_mut(key).filter(|row| row.subject.fence == fence) {
            row.lease = None;
            if row.subject.version == version {
                row.subject.due = due;
            }
        }
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Ms>, StoreError> {
        Ok(self.next_due_now())
    }

    async fn commit(&self, write: Write) -> Result<Committed, StoreError> {
        let mut guard = self.tables();
        let tables = &mut *guard;
        let Some(row) = tables.subjects.get_mut(&write.subject) else { return Ok(Committed::Outdated) };
        if row.subject.version != write.version || row.subject.fence != write.fence {
            return Ok(Committed::Outdated);
        }
        if let Some(look) = &write.look {
            if tables.looks.contains_key(&look.key) {
                return Ok(Committed::LookTaken);
            }
            tables.looks.insert(look.key.clone(), look.clone());
        }
        row.subject.version += 1;
        row.subject.state = write.state;
        row.subject.due = write.due;
        row.effects.retain(|effect| !write.finished.contains(&effect.key));
        for (key, body, due) in write.effects {
            if !row.effects.iter().any(|effect| effect.key == key) {
                row.effects.push(StoredEffect { key, body, begun: false, attempts: 0, due });
            }
        }
        Ok(Committed::Done(row.subject.version))
    }

    async fn effects(&self, subject: &str) -> Result<Vec<StoredEffect>, StoreError> {
        Ok(self.open_effects(subject))
    }

    async fn begin(&self, subject: &str, effect: &str, fence: u64) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let row = tables.subjects.get_mut(subject).filter(|row| row.subject.fence == fence);
        let Some(effect) = row.and_then(|row| row.effects.iter_mut().find(|known| known.key == effect)) else {
            return Ok(false);
        };
        effect.begun = true;
        effect.attempts += 1;
        Ok(true)
    }

    async fn defer(&self, subject: &str, effect: &str, fence: u64, due: Ms) -> Result<(), StoreError> {
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
