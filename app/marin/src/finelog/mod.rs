//! The Finelog store: tables by query, and the logs of tasks.

mod logs;
mod schema;
mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use logs::{LogEntry, LogLevel, LogPage, LogQuery, LogSource};
pub use schema::{ColumnType, Namespace, Schema, SchemaColumn};
pub use table::{Cell, Column, Kind, Table, decode};

use crate::error::Error;
use crate::sql::Select;
use crate::transport::Transport;
use crate::wire;

const QUERY: &str = "finelog.stats.StatsService/Query";

/// A Finelog server.
#[derive(Debug, Clone)]
pub struct Finelog {
    transport: Transport,
}

/// A query's answer as it came: an Arrow IPC stream. This is what to keep when an answer is to be read again later;
/// [`decode`] reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The stream: a schema and any number of batches, none included.
    #[serde(default, with = "wire::bytes")]
    pub arrow_ipc: Vec<u8>,
    /// Rows in all batches.
    #[serde(default, with = "wire::int64")]
    pub row_count: i64,
}

impl Answer {
    /// The rows of all batches.
    ///
    /// # Errors
    /// The stream is broken, has a column of a type that is not read, or has not the number of rows it says.
    pub fn table(&self) -> Result<Table, Error> {
        let malformed = |why| Error::Malformed { method: QUERY.into(), why };
        let table = decode(&self.arrow_ipc).map_err(malformed)?;
        if i64::try_from(table.rows.len()) == Ok(self.row_count) {
            Ok(table)
        } else {
            Err(malformed(format!("{} rows came, {} were announced", table.rows.len(), self.row_count)))
        }
    }
}

impl Finelog {
    /// A server that is reached directly.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { transport }
    }

    /// The server behind a controller, as production is reached.
    #[must_use]
    pub fn through_controller(controller: &Transport) -> Self {
        Self { transport: controller.below("proxy/system.log-server") }
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// See [`Error`]; a query the server refuses has code `invalid_argument`, also where a namespace was never written.
    pub async fn query(&self, select: &Select) -> Result<Table, Error> {
        self.answer(select).await?.table()
    }

    /// The answer to a query as it came.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn answer(&self, select: &Select) -> Result<Answer, Error> {
        self.transport.call(QUERY, &serde_json::json!({ "sql": select.as_str() })).await
    }

    /// The tables there are, each with its columns.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn namespaces(&self) -> Result<Vec<Namespace>, Error> {
        #[derive(Deserialize)]
        struct Namespaces {
            #[serde(default)]
            namespaces: Vec<Namespace>,
        }
        let answer: Namespaces =
            self.transport.call("finelog.stats.StatsService/ListNamespaces", &serde_json::json!({})).await?;
        Ok(answer.namespaces)
    }

    /// The columns of one table.
    ///
    /// # Errors
    /// See [`Error`]; `not_found` where it was never written.
    pub async fn schema(&self, namespace: &str) -> Result<Schema, Error> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            schema: Schema,
        }
        let request = serde_json::json!({ "namespace": namespace });
        let answer: Answer = self.transport.call("finelog.stats.StatsService/GetTableSchema", &request).await?;
        Ok(answer.schema)
    }

    /// What the server says of its health: `ok`, or `degraded: ` and what.
    ///
    /// # Errors
    /// See [`Error`]. One try.
    pub async fn health(&self) -> Result<String, Error> {
        let body = self.transport.fetch(false, "health").await?;
        Ok(match String::from_utf8_lossy(&body) {
            Cow::Borrowed(text) => text.trim().to_owned(),
            Cow::Owned(text) => text,
        })
    }
}
