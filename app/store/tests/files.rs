//! Files, versions, URLs.

use std::os::unix::fs::PermissionsExt;

use domain::ports::desk::{Desk, OpenDelivery};
use domain::ports::{Store, StoredEffect};
use domain::time::Ms;
use sqlx::{AnyConnection, Connection, raw_sql};
use store::{OpenError, Options, SqlStore};

use crate::place::{Place, database, server};
use crate::words::{delivery, subject, write};

/// The tables of version 1.
const TABLES_1: &str = include_str!("../migrations/0001_tables.sql");
const META: &str = "CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)";
/// Rows of version 1.
const ROWS_1: &str = include_str!("fixtures/0001_rows.sql");

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_in_the_files() {
    let place = Place::file();
    let store = place.open().await;
    for n in 0..20 {
        assert!(store.receive(delivery(&format!("{n:02}"), n)).await.unwrap());
        // What a kill at this moment leaves: the files as they are.
        let copy = tempfile::tempdir().unwrap();
        for end in ["", "-wal"] {
            let from = format!("{}{end}", place.path().display());
            std::fs::copy(from, copy.path().join(format!("store.db{end}"))).unwrap();
        }
        let after =
            SqlStore::open(&format!("sqlite:{}/store.db", copy.path().display()), Options::default()).await.unwrap();
        let open = after.open_deliveries(1, Ms(99), 99).await.unwrap();
        assert_eq!(open.last().map(|open| open.delivery.clone()), Some(delivery(&format!("{n:02}"), n)));
        assert_eq!(open.len() as u64, n + 1);
        after.close().await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_emptied_at_the_end_and_stays_short_until_then() {
    let place = Place::file();
    let store = place.open().await;
    let wal = format!("{}-wal", place.path().display());
    for n in 0..600_u64 {
        let mut delivery = delivery(&n.to_string(), n);
        delivery.payload = "x".repeat(200_000);
        store.receive(delivery).await.unwrap();
    }
    let written = 600 * 200_000;
    assert!(std::fs::metadata(&wal).unwrap().len() < written * 3 / 4, "{}", std::fs::metadata(&wal).unwrap().len());
    store.close().await;
    assert_eq!(std::fs::metadata(&wal).map_or(0, |wal| wal.len()), 0);
    assert!(std::fs::metadata(place.path()).unwrap().len() > written);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_is_for_its_owner_only() {
    let place = Place::file();
    let store = place.open().await;
    store.alive().await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.path()), 0o600);
    assert_eq!(mode(place.path().parent().unwrap()), 0o700);
    assert_eq!(mode(format!("{}-wal", place.path().display()).as_ref()), 0o600);
    store.close().await;
}

async fn urls() -> Vec<(String, Option<Place>)> {
    let file = Place::file();
    std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    std::fs::File::create(file.path()).unwrap();
    let mut urls = vec![(file.url.clone(), Some(file))];
    if let Some(server) = server() {
        urls.push((database(&server).await, None));
    }
    urls
}

/// A connection of its own to a store that is not open.
async fn connect(url: &str) -> AnyConnection {
    sqlx::any::install_default_drivers();
    let url = url.replace("sqlite:", "sqlite://").replace(' ', "%20");
    let mut conn = AnyConnection::connect(&url).await.unwrap();
    if url.starts_with("postgres") {
        raw_sql("CREATE COLLATION IF NOT EXISTS \"binary\" (LOCALE = 'C')").execute(&mut conn).await.unwrap();
    }
    conn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_version_1_is_read_with_all_its_rows() {
    for (url, _place) in urls().await {
        let mut conn = connect(&url).await;
        for text in [META, TABLES_1, ROWS_1] {
            raw_sql(text).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();

        let store = SqlStore::open(&url, Options::default()).await.unwrap();
        let run = &store.active_runs().await.unwrap()[0];
        let key = format!("run:{}", run.id);
        assert_eq!((run.repo, run.number, run.created), (42, 7, Ms(1_795_984_130_000)));
        let found = store.read(&key).await.unwrap().unwrap();
        assert_eq!((found.version, found.fence, found.due), (3, 2, Some(Ms(1_795_984_190_000))));
        let effects = store.effects(&key).await.unwrap();
        let keys = |effects: &[StoredEffect]| effects.iter().map(|effect| effect.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&effects), ["submit:t1", "poll:t0"]);
        assert!(effects[0].begun && !effects[1].begun);
        let ledger = run.ledger.clone().unwrap();
        assert_eq!(store.last_episode(&ledger).await.unwrap(), 1);
        let look = domain::ports::LookKey { ledger, episode: 1, look: 0 };
        assert_eq!(store.look(&look).await.unwrap().unwrap().run, run.id);
        let [OpenDelivery { delivery, attempts: 1 }] = &store.open_deliveries(1, Ms(u64::MAX), 9).await.unwrap()[..]
        else {
            panic!("one delivery is open")
        };
        assert_eq!(delivery.guid, "72d3162e-cc78-11e3-81ab-4c9367dc0958");
        let want = store.wanted("comment:42:7:mine").await.unwrap().unwrap();
        assert_eq!((want.remote, want.gone, want.fence), (Some(990), 1, 4));
        assert_eq!(store.claim_wants("me", Ms(u64::MAX), Ms(u64::MAX), 9).await.unwrap().len(), 1);
        assert_eq!(store.repo(42).await.unwrap().unwrap().name, "octo/repo");
        assert_eq!(store.audit(9).await.unwrap().len(), 2);
        assert_eq!(store.unsaid(9).await.unwrap().len(), 1);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_store_is_refused_and_stays_as_it_is() {
    for (url, _place) in urls().await {
        let store = SqlStore::open(&url, Options::default()).await.unwrap();
        store.create(subject("run:1", None)).await.unwrap();
        store.close().await;
        let mut conn = connect(&url).await;
        raw_sql("UPDATE meta SET value = 1000 WHERE name = 'schema'").execute(&mut conn).await.unwrap();
        let refused = SqlStore::open(&url, Options::default()).await.unwrap_err();
        let OpenError::Newer { found: 1000, known } = refused else { panic!("{refused}") };
        let words = refused.to_string();
        assert!(words.contains("1000") && words.contains(&known.to_string()), "{words}");
        let rows: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM subject").fetch_one(&mut conn).await.unwrap();
        assert_eq!(rows.0, 1);
        conn.close().await.unwrap();
    }
}

#[tokio::test]
async fn no_password_and_no_payload_is_in_an_error() {
    for url in [
        "postgres://bot:hunter2@127.0.0.1:1/db",
        "postgres://bot:hunter2@127.0.0.1:port/db",
        "postgres://bot:hunter2@127.0.0.1:1/db?sslmode=hunter2",
        "postgresql://hunter2",
        "mysql://bot:hunter2@h/d",
        "hunter2",
    ] {
        let refused = SqlStore::open(url, Options::default()).await.unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
    }
    let missing = SqlStore::open("sqlite:/proc/nowhere/store.db", Options::default()).await.unwrap_err();
    assert!(matches!(missing, OpenError::File { .. }), "{missing}");

    let place = Place::file();
    let store = place.open().await;
    assert!(!format!("{store:?}").contains("store.db"));
    store.create(subject("run:1", None)).await.unwrap();
    let mut conn = connect(&place.url).await;
    raw_sql("DROP TABLE effect; ALTER TABLE subject RENAME TO hidden").execute(&mut conn).await.unwrap();
    let mut failing = write("run:1", 0, 0);
    failing.state = "hunter2".to_owned();
    let failed = store.commit(failing).await.unwrap_err().to_string();
    assert!(failed.starts_with("the store: commit: ") && !failed.contains("hunter2"), "{failed}");
    conn.close().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_store_in_memory_is_gone_with_it() {
    let store = SqlStore::open("sqlite::memory:", Options { readers: 0, group: 0 }).await.unwrap();
    assert!(store.create(subject("run:1", None)).await.unwrap());
    assert!(store.read("run:1").await.unwrap().is_some());
    let other = SqlStore::open("sqlite::memory:", Options::default()).await.unwrap();
    assert_eq!(other.read("run:1").await.unwrap(), None);
    store.close().await;
    other.close().await;
}
