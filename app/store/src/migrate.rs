//! Tables of an earlier version become tables of this one, in one transaction, with whatever is in them.

use sqlx::AnyConnection;
use sqlx::{Connection, raw_sql};

use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::open::OpenError;

/// The texts, numbered from 1. What was released is never changed, only added to.
pub(crate) const MIGRATIONS: &[&str] =
    &[include_str!("../migrations/0001_tables.sql"), include_str!("../migrations/0002_spend.sql")];

const META: &str = "CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)";
const VERSION: &str = "SELECT value FROM meta WHERE name = 'schema'";
const SET_VERSION: &str = "INSERT INTO meta (name, value) VALUES ('schema', $1) \
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// Runs the texts that were not run on this database. One that has more than these is refused and stays as it is.
pub(crate) async fn migrate(conn: &mut AnyConnection, texts: &[&'static str]) -> Result<(), OpenError> {
    match run(conn, texts).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) => Err(OpenError::Newer { found, known: texts.len() as u64 }),
        Err(fault) => Err(OpenError::Migrate(fault.words())),
    }
}

/// `Some` is the version of a newer database.
async fn run(conn: &mut AnyConnection, texts: &[&'static str]) -> Result<Option<u64>, Fault> {
    let dialect = Dialect::of(conn);
    let mut tx = conn.begin_with(dialect.begin()).await?;
    if let Some(text) = dialect.before_migrating() {
        raw_sql(text).execute(&mut *tx).await?;
    }
    raw_sql(META).execute(&mut *tx).await?;
    let found: Option<(i64,)> = sqlx::query_as(VERSION).fetch_optional(&mut *tx).await?;
    let found = crate::value::from_number(found.map_or(0, |(version,)| version))?;
    let known = texts.len() as u64;
    if found > known {
        tx.rollback().await?;
        return Ok(Some(found));
    }
    if found < known {
        for text in texts.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
            raw_sql(*text).execute(&mut *tx).await?;
        }
        sqlx::query(SET_VERSION).bind(crate::value::to_number(known)?).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn memory() -> AnyConnection {
        sqlx::any::install_default_drivers();
        AnyConnection::connect("sqlite::memory:").await.unwrap()
    }

    async fn rows(conn: &mut AnyConnection) -> Vec<(i64, i64)> {
        sqlx::query_as("SELECT a, b FROM t ORDER BY a").fetch_all(conn).await.unwrap()
    }

    const ONE: &str = "CREATE TABLE t (a BIGINT NOT NULL); INSERT INTO t (a) VALUES (1)";
    const TWO: &str = "ALTER TABLE t ADD COLUMN b BIGINT NOT NULL DEFAULT 7; UPDATE t SET b = 8 WHERE a = 1";

    #[tokio::test]
    async fn only_what_is_missing_is_run_and_rows_stay() {
        let mut conn = memory().await;
        migrate(&mut conn, &[ONE]).await.unwrap();
        raw_sql("INSERT INTO t (a) VALUES (2)").execute(&mut conn).await.unwrap();
        migrate(&mut conn, &[ONE, TWO]).await.unwrap();
        migrate(&mut conn, &[ONE, TWO]).await.unwrap();
        assert_eq!(rows(&mut conn).await, [(1, 8), (2, 7)]);
    }

    #[tokio::test]
    async fn a_newer_database_is_refused() {
        let mut conn = memory().await;
        migrate(&mut conn, &[ONE, TWO]).await.unwrap();
        let refused = migrate(&mut conn, &[ONE]).await.unwrap_err();
        assert!(matches!(refused, OpenError::Newer { found: 2, known: 1 }));
        assert_eq!(rows(&mut conn).await, [(1, 8)]);
    }

    #[tokio::test]
    async fn a_text_that_fails_leaves_nothing_behind() {
        let mut conn = memory().await;
        migrate(&mut conn, &[ONE]).await.unwrap();
        let failed = migrate(&mut conn, &[ONE, TWO, "DROP TABLE nowhere"]).await.unwrap_err();
        assert!(matches!(failed, OpenError::Migrate(_)));
        migrate(&mut conn, &[ONE, TWO]).await.unwrap();
        assert_eq!(rows(&mut conn).await, [(1, 8)]);
    }
}
