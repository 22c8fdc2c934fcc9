//! Tables and their columns.

use serde::{Deserialize, Serialize};

use crate::wire::{self, Extra, open_enum};

open_enum!(
    /// What a column holds.
    ColumnType, Unknown {
        /// Not said.
        Unknown = "COLUMN_TYPE_UNKNOWN" 0,
        /// Text.
        String = "COLUMN_TYPE_STRING" 1,
        /// 64-bit integers.
        Int64 = "COLUMN_TYPE_INT64" 2,
        /// Double precision.
        Float64 = "COLUMN_TYPE_FLOAT64" 3,
        /// True or false.
        Bool = "COLUMN_TYPE_BOOL" 4,
        /// Moments.
        TimestampMs = "COLUMN_TYPE_TIMESTAMP_MS" 5,
        /// Bytes.
        Bytes = "COLUMN_TYPE_BYTES" 6,
        /// 32-bit integers.
        Int32 = "COLUMN_TYPE_INT32" 7,
    }
);

/// A column as it was registered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchemaColumn {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// The columns of a table. `seq` and `cluster` are there without being listed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    /// In the order of registration.
    pub columns: Vec<SchemaColumn>,
    /// Rows lie by this column: queries should name it first.
    pub key_column: String,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Its name; one with a dot stands in double quotes in a query.
    pub namespace: String,
    /// Its columns.
    pub schema: Schema,
    /// Rows.
    #[serde(with = "wire::int64")]
    pub row_count: i64,
    /// Bytes.
    #[serde(with = "wire::int64")]
    pub byte_size: i64,
    /// The first row's number.
    #[serde(with = "wire::int64")]
    pub min_seq: i64,
    /// The last row's number.
    #[serde(with = "wire::int64")]
    pub max_seq: i64,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Extra,
}
