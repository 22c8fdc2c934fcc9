//! The store against a model of its rules: the same operations have the same answers.

use std::collections::BTreeMap;

use domain::ports::{Committed, LookKey, LookRow, Store, StoredEffect, Subject, Write};
use domain::time::Ms;
use proptest::prelude::*;
use store::SqlStore;

use crate::place;
use crate::words::{look, subject};

#[derive(Default)]
struct Model {
    rows: BTreeMap<String, (Subject, Option<Ms>, Vec<StoredEffect>)>,
    looks: BTreeMap<LookKey, LookRow>,
}

impl Model {
    fn claim(&mut self, now: Ms, until: Ms, limit: usize) -> Vec<Subject> {
        let free = |row: &&mut (Subject, Option<Ms>, Vec<StoredEffect>)| {
            row.0.key.starts_with("run:")
                && row.0.due.is_some_and(|due| due <= now)
                && row.1.is_none_or(|lease| lease < now)
        };
        let mut due: Vec<_> = self.rows.values_mut().filter(free).collect();
        due.sort_by_key(|row| (row.0.due, row.0.key.clone()));
        due.truncate(limit);
        let claim = |row: &mut (Subject, Option<Ms>, Vec<StoredEffect>)| {
            row.1 = Some(until);
            row.0.fence += 1;
            row.0.clone()
        };
        due.into_iter().map(claim).collect()
    }

    fn under(&mut self, key: &str, fence: u64) -> Option<&mut (Subject, Option<Ms>, Vec<StoredEffect>)> {
        self.rows.get_mut(key).filter(|row| row.0.fence == fence)
    }

    fn effect(&mut self, key: &str, effect: &str, fence: u64) -> Option<&mut StoredEffect> {
        self.under(key, fence)?.2.iter_mut().find(|known| known.key == effect)
    }

    fn commit(&mut self, write: &Write) -> Committed {
        let looks = &mut self.looks;
        let Some(row) = self.rows.get_mut(&write.subject) else { return Committed::Outdated };
        if (row.0.version, row.0.fence) != (write.version, write.fence) {
            return Committed::Outdated;
        }
        if let Some(look) = &write.look {
            if looks.contains_key(&look.key) {
                return Committed::LookTaken;
            }
            looks.insert(look.key.clone(), look.clone());
        }
        row.0.version += 1;
        row.0.state.clone_from(&write.state);
        row.0.due = write.due;
        row.2.retain(|effect| !write.finished.contains(&effect.key));
        for (key, body, due) in &write.effects {
            if row.2.iter().all(|effect| effect.key != *key) {
                let (key, body) = (key.clone(), body.clone());
                row.2.push(StoredEffect { key, body, begun: false, attempts: 0, due: *due });
            }
        }
        Committed::Done(row.0.version)
    }

    fn next_due(&self) -> Option<Ms> {
        let runs = self.rows.values().filter(|row| row.0.key.starts_with("run:"));
        runs.filter_map(|row| row.0.due.map(|due| row.1.map_or(due, |lease| due.max(lease.plus(1))))).min()
    }
}

const KEYS: [&str; 5] = ["run:a", "run:B", "run:-c", "run;", "pull:1:2"];

/// Fences and versions are told as how far they are behind what the subject has.
#[derive(Clone, Debug)]
enum Op {
    Create(usize, Option<u64>),
    Claim(u64, u64, usize),
    Release(usize, u64, u64, Option<u64>),
    Commit {
        key: usize,
        version: u64,
        fence: u64,
        due: Option<u64>,
        finished: Vec<u8>,
        effects: Vec<u8>,
        look: Option<u32>,
    },
    Begin(usize, u8, u64),
    Defer(usize, u8, u64, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let key = || 0..KEYS.len();
    let behind = || prop_oneof![6 => Just(0_u64), 1 => Just(1_u64)];
    let time = || prop_oneof![9 => 0..40_u64, 1 => Just(u64::MAX)];
    let some = move || proptest::option::weighted(0.8, time());
    let few = || proptest::collection::vec(0..4_u8, 0..4);
    let commit = (key(), behind(), behind(), some(), few(), few(), proptest::option::weighted(0.2, 0..3_u32));
    let commit = commit.prop_map(|(key, version, fence, due, finished, effects, look)| Op::Commit {
        key,
        version,
        fence,
        due,
        finished,
        effects,
        look,
    });
    prop_oneof![
        1 => (key(), some()).prop_map(|(key, due)| Op::Create(key, due)),
        1 => (0..40_u64, time(), 0..4_usize).prop_map(|(now, until, limit)| Op::Claim(now, until, limit)),
        1 => (key(), behind(), behind(), some()).prop_map(|(key, fence, version, due)| Op::Release(key, fence, version, due)),
        3 => commit,
        1 => (key(), 0..4_u8, behind()).prop_map(|(key, effect, fence)| Op::Begin(key, effect, fence)),
        1 => (key(), 0..4_u8, behind(), time()).prop_map(|(key, effect, fence, due)| Op::Defer(key, effect, fence, due)),
    ]
}

async fn play(store: &SqlStore, ops: &[Op]) {
    let mut model = Model::default();
    for (n, op) in ops.iter().enumerate() {
        let now = |model: &Model, key: &str| model.rows.get(key).map_or((0, 0), |row| (row.0.version, row.0.fence));
        match op {
            Op::Create(key, due) => {
                let subject = subject(KEYS[*key], *due);
                let new = !model.rows.contains_key(&subject.key);
                model.rows.entry(subject.key.clone()).or_insert((subject.clone(), None, Vec::new()));
                assert_eq!(store.create(subject).await.unwrap(), new);
            }
            Op::Claim(now, until, limit) => {
                let (now, until) = (Ms(*now), Ms(*until));
                assert_eq!(store.claim("me", now, until, *limit).await.unwrap(), model.claim(now, until, *limit));
            }
            Op::Release(key, fence, version, due) => {
                let (has, under) = now(&model, KEYS[*key]);
                let (version, fence, due) = (has.saturating_sub(*version), under.saturating_sub(*fence), due.map(Ms));
                if let Some(row) = model.under(KEYS[*key], fence) {
                    row.1 = None;
                    if row.0.version == version {
                        row.0.due = due;
                    }
                }
                store.release(KEYS[*key], fence, version, due).await.unwrap();
            }
            Op::Commit { key, version, fence, due, finished, effects, look: index } => {
                let (has, under) = now(&model, KEYS[*key]);
                let write = Write {
                    subject: KEYS[*key].to_owned(),
                    version: has.saturating_sub(*version),
                    fence: under.saturating_sub(*fence),
                    state: format!("state {n}"),
                    due: due.map(Ms),
                    finished: finished.iter().map(|effect| format!("effect {effect}")).collect(),
                    effects: effects.iter().map(|e| (format!("effect {e}"), format!("body {n}"), Ms(7))).collect(),
                    look: index.map(|index| look(1, index, n as u64)),
                    at: Ms(n as u64),
                };
                let wanted = model.commit(&write);
                assert_eq!(store.commit(write).await.unwrap(), wanted);
            }
            Op::Begin(key, effect, fence) => {
                let (fence, effect) = (now(&model, KEYS[*key]).1.saturating_sub(*fence), format!("effect {effect}"));
                let known = model.effect(KEYS[*key], &effect, fence);
                let wanted = known.is_some();
                if let Some(known) = known {
                    known.begun = true;
                    known.attempts += 1;
                }
                assert_eq!(store.begin(KEYS[*key], &effect, fence).await.unwrap(), wanted);
            }
            Op::Defer(key, effect, fence, due) => {
                let (fence, effect) = (now(&model, KEYS[*key]).1.saturating_sub(*fence), format!("effect {effect}"));
                if let Some(known) = model.effect(KEYS[*key], &effect, fence) {
                    known.due = Ms(*due);
                }
                store.defer(KEYS[*key], &effect, fence, Ms(*due)).await.unwrap();
            }
        }
        assert_eq!(store.next_due().await.unwrap(), model.next_due(), "after {op:?}");
        for key in KEYS {
            let row = model.rows.get(key);
            assert_eq!(store.read(key).await.unwrap().as_ref(), row.map(|row| &row.0), "after {op:?}");
            assert_eq!(store.effects(key).await.unwrap(), row.map(|row| row.2.clone()).unwrap_or_default());
        }
        for index in 0..3 {
            let key = look(1, index, 0).key;
            assert_eq!(store.look(&key).await.unwrap().as_ref(), model.looks.get(&key));
        }
    }
}

fn check(cases: u32, url: impl AsyncFn() -> String) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(ops in proptest::collection::vec(op(), 1..40))| {
        runtime.block_on(async {
            let store = SqlStore::open(&url().await, store::Options::default()).await.unwrap();
            play(&store, &ops).await;
            store.close().await;
        });
    });
}

#[test]
fn sqlite_has_the_answers_of_the_model() {
    check(64, async || "sqlite::memory:".to_owned());
}

#[test]
fn postgres_has_the_answers_of_the_model() {
    if let Some(server) = place::server() {
        check(12, async || place::database(&server).await);
    }
}
