//! SQLite or Postgres by one SQL text.
