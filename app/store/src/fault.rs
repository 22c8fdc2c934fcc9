//! What went wrong, in words that are safe to show: never a value, a payload or a password.

use domain::ports::StoreError;

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The database or the way to it.
    Sql(sqlx::Error),
    /// A value that cannot be stored, or one that was found and cannot be.
    Data(&'static str),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// The error of an operation.
    pub(crate) fn of(&self, operation: &str) -> StoreError {
        StoreError(format!("{operation}: {}", self.words()))
    }

    /// Whether the same operation may succeed when it is repeated: the database chose it to resolve a conflict.
    pub(crate) fn passes(&self) -> bool {
        let Self::Sql(sqlx::Error::Database(error)) = self else { return false };
        matches!(error.code().as_deref(), Some("40001" | "40P01"))
    }

    /// What went wrong. Errors of columns carry the value that was found, so only the column is named.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Data(words) => (*words).to_owned(),
            Self::Sql(sqlx::Error::Database(error)) => {
                let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
                format!("the database says: {}{code}", error.message().chars().take(200).collect::<String>())
            }
            Self::Sql(sqlx::Error::Io(error)) => format!("the connection: {}", error.kind()),
            Self::Sql(sqlx::Error::PoolTimedOut) => "no connection became free in time".to_owned(),
            Self::Sql(sqlx::Error::PoolClosed) => "it is closed".to_owned(),
            Self::Sql(sqlx::Error::Configuration(_)) => "the URL is not understood".to_owned(),
            Self::Sql(sqlx::Error::ColumnDecode { index, .. }) => format!("column {index} cannot be read"),
            Self::Sql(sqlx::Error::Decode(_) | sqlx::Error::Encode(_)) => {
                "a value cannot be read or written".to_owned()
            }
            Self::Sql(sqlx::Error::Tls(_)) => "the connection cannot be encrypted".to_owned(),
            Self::Sql(sqlx::Error::WorkerCrashed) => "the thread of the database has ended".to_owned(),
            Self::Sql(_) => "the driver of the database failed".to_owned(),
        }
    }
}
