//! A crash at any write leaves a folder that the same questions complete to the same bytes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::arms::Role;
use domain::ports::{LookKind, Records as _, RecordsError};
use domain::rounds::order;
use evidence::{MemoryStorage, Storage, verify};

use crate::support::*;

/// Fails from the write number `fails` on; that one happens in part where it can.
struct Failing {
    inner: MemoryStorage,
    writes: AtomicU64,
    fails: u64,
    part: usize,
}

impl Failing {
    /// Whether this write succeeds, and whether it is the one that is broken off.
    fn next(&self) -> (bool, bool) {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        (number < self.fails, number == self.fails)
    }
}

fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

impl Storage for Failing {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.inner.read(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        match self.next() {
            (true, _) => self.inner.write(path, bytes),
            (_, true) => {
                self.inner.write(&format!("{path}~"), &bytes[..self.part.min(bytes.len())])?;
                Err(full())
            }
            _ => Err(full()),
        }
    }

    fn append(&self, path: &str, keep: u64, bytes: &[u8]) -> io::Result<()> {
        match self.next() {
            (true, _) => self.inner.append(path, keep, bytes),
            (_, true) => {
                self.inner.append(path, keep, &bytes[..self.part.min(bytes.len())])?;
                Err(full())
            }
            _ => Err(full()),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn is_folder(&self, path: &str) -> io::Result<bool> {
        self.inner.is_folder(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if self.next().0 { self.inner.rename(from, to) } else { Err(full()) }
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        if self.next().0 { self.inner.remove(path) } else { Err(full()) }
    }
}

/// A small run, until the first error.
fn run<S: Storage>(storage: S) -> (S, Result<(), RecordsError>) {
    let (folder, plan) = (on(storage), plan(&["head"], &[2]));
    let tried = (|| {
        folder.open(&plan)?;
        for round in 1..=2 {
            for role in order(round, &plan.treatments()) {
                let trial = name(&plan, round, 0, &role);
                let by = if role == Role::Control { 1.0 } else { 1.3 };
                folder.answer(&trial, &role, &answers(&[("sort", 2.0 * by), ("merge", by)], round))?;
                folder.note(&fate(trial, role, domain::ports::Fate::Counted))?;
            }
        }
        let look = look(&plan, LookKind::Declared { index: 0 }, 1, 2);
        let judged = folder.judge(&look)?;
        folder.seal(&ending(&plan, &look, &judged)).map(drop)
    })();
    (folder.into_storage(), tried)
}

#[test]
fn a_crash_at_any_write_changes_nothing_in_the_end() {
    let (undisturbed, done) = run(MemoryStorage::new());
    done.unwrap();
    let expected = moved(&undisturbed);
    let mut points = 0;
    for part in [0, 1, 40] {
        for fails in 0.. {
            let failing = Failing { inner: MemoryStorage::new(), writes: AtomicU64::new(0), fails, part };
            let (failing, tried) = run(failing);
            if tried.is_ok() {
                break;
            }
            assert!(matches!(tried, Err(RecordsError::Failed(_))), "{tried:?}");
            points += 1;
            let (again, done) = run(failing.inner);
            done.unwrap_or_else(|e| panic!("write {fails}: {e}"));
            let sealed = moved(&again);
            assert_eq!(sealed.list("").unwrap(), expected.list("").unwrap(), "write {fails}");
            for file in expected.list("").unwrap() {
                assert_eq!(sealed.read(&file).unwrap(), expected.read(&file).unwrap(), "write {fails}: {file}");
            }
            assert!(verify(&sealed, &templates()).unwrap().is_fine());
        }
    }
    println!("{points} crash points");
    assert!(points > 50, "{points}");
}
