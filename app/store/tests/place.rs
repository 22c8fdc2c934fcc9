//! Where the tests have their stores: every test function runs on each engine that is there.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection, PgConnection};
use store::{Options, SqlStore};

/// Where a store of one test is.
pub(crate) struct Place {
    pub(crate) url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/a folder/store.db", folder.path().display());
        Self { url, _folder: Some(folder) }
    }

    /// The file of a store in a file.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.url.strip_prefix("sqlite:").unwrap().into()
    }

    pub(crate) async fn open(&self) -> SqlStore {
        SqlStore::open(&self.url, Options::default()).await.unwrap()
    }
}

/// The server of the tests.
pub(crate) fn server() -> Option<String> {
    let url = std::env::var("ZEPHYR_AB_POSTGRES").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        println!("skipped on Postgres: ZEPHYR_AB_POSTGRES holds no URL");
    }
    url
}

/// A database of its own on the server; whoever ends the server removes it.
pub(crate) async fn database(server: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("t{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let mut conn = PgConnection::connect(server).await.unwrap();
    // Its order of texts is not that of bytes, as on many servers; %I quotes the name.
    let statement: (String,) = sqlx::query_as(
        "SELECT format('CREATE DATABASE %I TEMPLATE template0 ENCODING ''UTF8'' LOCALE_PROVIDER icu ICU_LOCALE ''en-US'' LOCALE ''C.UTF-8''', $1::text)",
    )
    .bind(&name)
    .fetch_one(&mut conn)
    .await
    .unwrap();
    #[expect(clippy::disallowed_methods, reason = "names cannot be bound; this one was quoted by the server")]
    let statement = sqlx::AssertSqlSafe(statement.0);
    sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let mut parts = server.splitn(2, '?');
    let (base, query) = (parts.next().unwrap(), parts.next());
    let root = base.rsplit_once('/').unwrap().0;
    query.map_or_else(|| format!("{root}/{name}"), |query| format!("{root}/{name}?{query}"))
}

/// All places: memory, file, and the server where there is one.
pub(crate) async fn all() -> Vec<Place> {
    let mut places = vec![Place { url: "sqlite::memory:".to_owned(), _folder: None }, Place::file()];
    if let Some(server) = server() {
        places.push(Place { url: database(&server).await, _folder: None });
    }
    places
}

/// Places that several stores can have at once.
pub(crate) async fn shared() -> Vec<Place> {
    // Two stores on the memory of a process would be two memories.
    all().await.into_iter().filter(|place| !place.url.ends_with(":memory:")).collect()
}
