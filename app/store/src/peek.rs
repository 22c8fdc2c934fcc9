//! What is known of a store without changing anything in it.

use sqlx::{AnyConnection, ConnectOptions, Connection, Executor};

use crate::fault::Fault;
use crate::migrate::MIGRATIONS;
use crate::open::OpenError;
use crate::place::Place;

const VERSION: &str = "SELECT value FROM meta WHERE name = 'schema'";
const TABLES_SQLITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'meta'";
const TABLES_POSTGRES: &str = "SELECT COUNT(*) FROM information_schema.tables \
    WHERE table_schema = current_schema() AND table_name = 'meta'";

/// How far the tables of a store are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// There are none yet: opening the store makes them.
    None,
    /// Those of an earlier program: opening the store brings them up to date.
    Older {
        /// Their version.
        found: u64,
    },
    /// Those that this program knows.
    Current {
        /// Their version.
        found: u64,
    },
    /// Those of a newer program: the store cannot be opened.
    Newer {
        /// Their version.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
}

/// How far the tables of the store at a URL are. Nothing is made and nothing is brought up to date.
///
/// # Errors
/// See [`OpenError`].
pub async fn tables(url: &str) -> Result<Tables, OpenError> {
    sqlx::any::install_default_drivers();
    let place = Place::of(url)?;
    if let Place::File(path) = &place {
        match std::fs::metadata(path) {
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Tables::None),
            Err(source) => return Err(OpenError::File { path: path.clone(), source }),
            // Another kind of file is told by the engine in words that help nobody.
            Ok(about) if !about.is_file() => {
                return Err(OpenError::File { path: path.clone(), source: std::io::ErrorKind::IsADirectory.into() });
            }
            Ok(about) if about.len() == 0 => return Ok(Tables::None),
            Ok(_) => {}
        }
    }
    let failed = |error: sqlx::Error| OpenError::Connect(Fault::from(error).words());
    let mut conn = place.options()?.connect().await.map_err(failed)?;
    let found = version(&mut conn, &place).await;
    let _ = conn.close().await;
    let known = MIGRATIONS.len() as u64;
    Ok(match found.map_err(failed)? {
        None => Tables::None,
        Some(found) if found > known => Tables::Newer { found, known },
        Some(found) if found < known => Tables::Older { found },
        Some(found) => Tables::Current { found },
    })
}

async fn version(conn: &mut AnyConnection, place: &Place) -> Result<Option<u64>, sqlx::Error> {
    let dialect = place.dialect();
    conn.execute(dialect.on_connect_reader()).await?;
    let text = if matches!(place, Place::Server(_)) { TABLES_POSTGRES } else { TABLES_SQLITE };
    let (there,): (i64,) = sqlx::query_as(text).fetch_one(&mut *conn).await?;
    if there == 0 {
        return Ok(None);
    }
    let row: Option<(i64,)> = sqlx::query_as(VERSION).fetch_optional(conn).await?;
    Ok(row.map(|(version,)| u64::try_from(version).unwrap_or(u64::MAX)))
}
