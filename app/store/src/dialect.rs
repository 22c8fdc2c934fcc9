//! What the two engines call differently: everything else is one text.

use sqlx::AnyConnection;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// In a file or in memory.
    Sqlite,
    /// A server.
    Postgres,
}

impl Dialect {
    /// The engine behind a connection.
    pub(crate) fn of(conn: &AnyConnection) -> Self {
        if conn.backend_name() == "PostgreSQL" { Self::Postgres } else { Self::Sqlite }
    }

    /// Begins a transaction that will write. A transaction of `SQLite` that begins to write after it has read fails at once
    /// where somebody wrote in between.
    pub(crate) const fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    /// Lets one transaction at a time bring the tables up to date, and makes what the tables need.
    pub(crate) const fn before_migrating(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            // SQLite has the collation "binary" from the start. NOTICE says that it was there.
            Self::Postgres => Some(
                "SET LOCAL client_min_messages TO warning; \
                 SELECT pg_advisory_xact_lock(2052157010); \
                 CREATE COLLATION IF NOT EXISTS \"binary\" (LOCALE = 'C')",
            ),
        }
    }

    /// Lets one transaction at a time give away places, or promise what may be spent: both ask all rows at once who has what.
    pub(crate) const fn before_sharing(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("SELECT pg_advisory_xact_lock(2052157011)"),
        }
    }

    /// For each connection that writes.
    pub(crate) const fn on_connect(self) -> &'static str {
        match self {
            // Checkpoints are made elsewhere: on this connection they would make an answer wait for two more fsyncs.
            Self::Sqlite => {
                "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                 PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0"
            }
            // A server may be told to answer before it has written; "local" and more are as good as "on" here.
            Self::Postgres => {
                "SELECT set_config('synchronous_commit', 'on', false) \
                 WHERE current_setting('synchronous_commit') = 'off'"
            }
        }
    }

    /// For each connection that reads only.
    pub(crate) const fn on_connect_reader(self) -> &'static str {
        match self {
            Self::Sqlite => "PRAGMA busy_timeout = 10000; PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0",
            Self::Postgres => self.on_connect(),
        }
    }
}
