//! What `SQLite` wrote to its log gets into the database file on a connection of its own: on the writer's, answers would
//! wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::AnyConnection;
use sqlx::Connection;
use tokio::sync::{Mutex, MutexGuard, mpsc};

/// After so many written bytes the log is copied.
const STEP: u64 = 4 << 20;
/// A log of more pages than this (32 MiB) is copied to its end while the writer waits: only then does it begin anew, and
/// under steady load there is always a commit more than was copied.
const LONG: i64 = (32 << 20) / 4096;

const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// The writer's end: counts, and holds the pass while it writes.
pub(crate) struct Gauge {
    written: AtomicU64,
    wanted: mpsc::Sender<()>,
    pass: Arc<Mutex<()>>,
}

impl Gauge {
    /// Held while the writer writes.
    pub(crate) async fn pass(&self) -> MutexGuard<'_, ()> {
        self.pass.lock().await
    }

    /// About so many bytes were written.
    pub(crate) fn wrote(&self, bytes: u64) {
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes >= STEP {
            self.written.store(0, Ordering::Relaxed);
            // Where one is wanted already, that one will do.
            let _ = self.wanted.try_send(());
        }
    }
}

/// The other end.
pub(crate) struct Checkpointer {
    conn: AnyConnection,
    wanted: mpsc::Receiver<()>,
    pass: Arc<Mutex<()>>,
}

/// Both ends. The first checkpoint is wanted at once: the log of a process that was killed may be long.
pub(crate) fn pair(conn: AnyConnection) -> (Gauge, Checkpointer) {
    let (sender, wanted) = mpsc::channel(1);
    let pass = Arc::new(Mutex::new(()));
    let _ = sender.try_send(());
    let gauge = Gauge { written: AtomicU64::new(0), wanted: sender, pass: Arc::clone(&pass) };
    (gauge, Checkpointer { conn, wanted, pass })
}

impl Checkpointer {
    /// Works until the writer has ended; then the log is emptied.
    pub(crate) async fn serve(mut self) {
        while self.wanted.recv().await.is_some() {
            let pages = self.checkpoint(PASSIVE).await;
            if pages.is_some_and(|pages| pages > LONG) {
                let pass = Arc::clone(&self.pass);
                let _pass = pass.lock().await;
                self.checkpoint(PASSIVE).await;
            }
        }
        self.checkpoint(TRUNCATE).await;
        let _ = self.conn.close().await;
    }

    /// How many pages the log has.
    async fn checkpoint(&mut self, text: &'static str) -> Option<i64> {
        let ran: Result<(i64, i64, i64), _> = sqlx::query_as(text).fetch_one(&mut self.conn).await;
        match ran {
            Ok((_busy, pages, _copied)) => Some(pages),
            Err(error) => {
                // Nothing is lost: the log stays and grows.
                tracing::warn!(why = crate::fault::Fault::from(error).words(), "the log of the store was not copied");
                None
            }
        }
    }
}
