//! Opening and closing.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use domain::ports::StoreError;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool};
use sqlx::{ConnectOptions, Executor};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::checkpoint;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::migrate::{MIGRATIONS, migrate};
use crate::place::Place;
use crate::writer::{Message, QUEUE, Work, Writer, ask};

/// How long an operation waits for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How many transactions of a server run at once.
const WRITERS: u32 = 4;

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many connections read at once, at least 1. A store in memory has one connection for everything.
    pub readers: u32,
    /// How many operations share a transaction at most, at least 1. Only for `SQLite`: a server groups its commits itself.
    pub group: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { readers: 4, group: 256 }
    }
}

/// Why a store cannot be opened. No password of a URL is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL is of no known form.
    #[error("the URL of a store is sqlite:PATH, sqlite::memory: or postgres://USER:PASSWORD@HOST/DATABASE")]
    Url,
    /// The file cannot be made.
    #[error("the store {path} cannot be opened: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No connection.
    #[error("the store cannot be reached: {0}")]
    Connect(String),
    /// The tables cannot be brought up to date; they stay as they were.
    #[error("the tables of the store cannot be brought up to date: {0}")]
    Migrate(String),
    /// The tables are those of a newer program.
    #[error(
        "the tables of the store are of version {found}, this program knows them up to version {known}: use a newer program"
    )]
    Newer {
        /// The version of the tables.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
}

/// A store in a database. A clone is the same store.
#[derive(Clone)]
pub struct SqlStore {
    pub(crate) readers: AnyPool,
    queue: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

struct Shared {
    dialect: Dialect,
    writers: AnyPool,
    tasks: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for SqlStore {
    /// Without the pools: they know the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore").field("dialect", &self.shared.dialect).finish_non_exhaustive()
    }
}

impl SqlStore {
    /// Opens the store at `sqlite:PATH` (made where it is missing, for its owner only), `sqlite::memory:` (empty, gone with
    /// the store) or `postgres://...`, and brings its tables up to date. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        sqlx::any::install_default_drivers();
        let place = Place::of(url)?;
        place.prepare()?;
        let dialect = place.dialect();
        let connect = place.options()?;
        let readers = options.readers.max(1);
        let writers = match &place {
            Place::Memory | Place::File(_) => pool(&connect, 1, dialect, dialect.on_connect()).await?,
            Place::Server(_) => pool(&connect, readers + WRITERS, dialect, dialect.on_connect()).await?,
        };
        migrate(&mut *writers.acquire().await.map_err(unreachable)?, MIGRATIONS).await?;
        let (readers, gauge, checkpointer) = if matches!(place, Place::File(_)) {
            let readers = pool(&connect, readers, dialect, dialect.on_connect_reader()).await?;
            let (gauge, checkpointer) = checkpoint::pair(connection(&connect, dialect).await?);
            (readers, Some(gauge), Some(checkpointer))
        } else {
            (writers.clone(), None, None)
        };

        let (queue, receiver) = mpsc::channel(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let writer = |group, gauge| Writer { pool: writers.clone(), dialect, group, gauge };
        let mut tasks: Vec<JoinHandle<()>> = match dialect {
            Dialect::Sqlite => vec![tokio::spawn(writer(options.group.max(1), gauge).serve(receiver))],
            Dialect::Postgres => {
                (0..WRITERS).map(|_| tokio::spawn(writer(1, None).serve(Arc::clone(&receiver)))).collect()
            }
        };
        tasks.extend(checkpointer.map(|checkpointer| tokio::spawn(checkpointer.serve())));
        let shared = Arc::new(Shared { dialect, writers, tasks: std::sync::Mutex::new(tasks) });
        Ok(Self { readers, queue, shared })
    }

    /// Does what waits, takes nothing more, and closes the connections. Operations after that fail.
    pub async fn close(&self) {
        // It fails where the store is closed already.
        let _ = self.queue.send(Message::Close).await;
        let tasks = std::mem::take(&mut *self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            let _ = task.await;
        }
        self.readers.close().await;
        self.shared.writers.close().await;
    }

    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Out, StoreError> {
        ask(&self.queue, work).await
    }
}

fn unreachable(error: sqlx::Error) -> OpenError {
    OpenError::Connect(Fault::from(error).words())
}

async fn connection(connect: &AnyConnectOptions, dialect: Dialect) -> Result<AnyConnection, OpenError> {
    let mut conn = connect.connect().await.map_err(unreachable)?;
    conn.execute(dialect.on_connect()).await.map_err(unreachable)?;
    Ok(conn)
}

/// Connections to a file or to memory are kept for good: the memory is gone with its last one.
async fn pool(
    connect: &AnyConnectOptions,
    connections: u32,
    dialect: Dialect,
    first: &'static str,
) -> Result<AnyPool, OpenError> {
    let mut options = AnyPoolOptions::new().max_connections(connections).acquire_timeout(CONNECT);
    if dialect == Dialect::Sqlite {
        options = options.min_connections(connections).idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    }
    let options = options.after_connect(move |conn, _| {
        Box::pin(async move {
            conn.execute(first).await?;
            Ok(())
        })
    });
    options.connect_with(connect.clone()).await.map_err(unreachable)
}

#[cfg(test)]
mod tests {
    use domain::ports::Desk;
    use domain::ports::desk::Delivery;
    use domain::time::Ms;

    use super::*;

    fn delivery(guid: &str, bytes: usize) -> Delivery {
        let (event, headers) = ("push".to_owned(), "{}".to_owned());
        Delivery { guid: guid.to_owned(), event, headers, payload: "x".repeat(bytes), received: Ms(1) }
    }

    async fn pragma(pool: &AnyPool, text: &'static str) -> i64 {
        let value: (i64,) = sqlx::query_as(text).fetch_one(pool).await.unwrap();
        value.0
    }

    #[tokio::test]
    async fn a_file_is_written_so_that_answers_are_on_stable_storage() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/store.db", folder.path().display());
        let store = SqlStore::open(&url, Options::default()).await.unwrap();
        let writers = &store.shared.writers;
        let mode: (String,) = sqlx::query_as("PRAGMA journal_mode").fetch_one(writers).await.unwrap();
        assert_eq!(mode.0, "wal");
        for (text, value) in [("PRAGMA synchronous", 2), ("PRAGMA foreign_keys", 1), ("PRAGMA wal_autocheckpoint", 0)] {
            assert_eq!(pragma(writers, text).await, value, "{text}");
        }
        assert_eq!(pragma(&store.readers, "PRAGMA query_only").await, 1);
        store.close().await;
    }

    #[tokio::test]
    async fn a_full_disk_fails_what_does_not_fit_and_nothing_after_it() {
        for together in [1, 4] {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}/store.db", folder.path().display());
            let store = SqlStore::open(&url, Options::default()).await.unwrap();
            // While the only connection is held here, what is sent waits.
            let mut held = store.shared.writers.acquire().await.unwrap();
            // Not fewer than there are: the next page is one too many.
            held.execute("PRAGMA max_page_count = 1").await.unwrap();
            let asks: Vec<_> = (0..together)
                .map(|n| {
                    let store = store.clone();
                    tokio::spawn(async move { store.receive(delivery(&format!("large {n}"), 100_000)).await })
                })
                .collect();
            tokio::task::yield_now().await;
            drop(held);
            let mut failed = 0;
            for ask in asks {
                failed += usize::from(ask.await.unwrap().is_err());
            }
            // Several are tried again one by one, on a new connection, to which the disk is as large as ever.
            assert!(failed == 1 || together > 1, "nothing was too large");
            assert_eq!(store.receive(delivery("after", 10)).await, Ok(true));
            let open = store.open_deliveries(1, Ms(1), 9).await.unwrap();
            assert_eq!(open.len(), together - failed + 1);
            store.close().await;
        }
    }
}
