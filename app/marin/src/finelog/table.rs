//! Rows of an Arrow IPC stream as plain values.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, TimeUnit};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// An integer. One of 64 bits without sign that does not fit is refused, never rounded.
    Int(i64),
    /// A number; NaN and the infinities are values like others.
    Float(f64),
    /// Text; hostile where a job wrote it.
    Text(String),
    /// True or false.
    Bool(bool),
    /// Microseconds since 1970-01-01T00:00:00Z; nanoseconds are rounded down.
    Time(i64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but nulls, as of the literal NULL.
    Null,
    /// Integers.
    Int,
    /// Numbers.
    Float,
    /// Text.
    Text,
    /// True or false.
    Bool,
    /// Moments.
    Time,
    /// Bytes.
    Bytes,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

/// The result of a query. The columns are there also when no row is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows of all batches in order; each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Reads a stream: all its batches, of which there may be none.
///
/// # Errors
/// What is wrong with the bytes, or the column whose type is not read.
pub fn decode(stream: &[u8]) -> Result<Table, String> {
    check_frames(stream)?;
    // The reader panics on some broken streams. It works on its own copy of the state, which is dropped then.
    std::panic::catch_unwind(|| read(stream))
        .unwrap_or_else(|_| Err("Arrow stream: broken inside a message".to_owned()))
}

/// Whether each message lies within the stream. The reader allocates what a message says before it looks whether
/// there is so much, and a failed allocation ends the process.
fn check_frames(stream: &[u8]) -> Result<(), String> {
    let mut rest = stream;
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let [c0, c1, c2, c3, l0, l1, l2, l3] = *head;
        if [c0, c1, c2, c3] != [0xff; 4] {
            return Err("Arrow stream: a message without its mark".to_owned());
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length == 0 {
            return Ok(());
        }
        let (metadata, after) = after.split_at_checked(length).ok_or("Arrow stream: cut off in a message's head")?;
        let message = arrow_ipc::root_as_message(metadata).map_err(|why| format!("Arrow stream: {why}"))?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| "Arrow stream: a negative length")?;
        (_, rest) = after.split_at_checked(body).ok_or("Arrow stream: cut off in a message's body")?;
    }
    if rest.is_empty() { Ok(()) } else { Err("Arrow stream: cut off between messages".to_owned()) }
}

fn read(stream: &[u8]) -> Result<Table, String> {
    let reader = StreamReader::try_new(stream, None).map_err(|why| format!("Arrow stream: {why}"))?;
    let columns = reader
        .schema()
        .fields()
        .iter()
        .map(|field| {
            let kind = kind_of(field.data_type()).ok_or_else(|| {
                format!("column `{}` has the type {}, which is not read", field.name(), field.data_type())
            })?;
            Ok(Column { name: field.name().clone(), kind })
        })
        .collect::<Result<Vec<_>, String>>()?;
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|why| format!("Arrow batch: {why}"))?;
        // The densest column that takes room has a bit for each row; one of nulls alone takes none.
        if batch.num_rows() > stream.len().saturating_mul(8) {
            return Err(format!("Arrow batch: {} rows in {} bytes", batch.num_rows(), stream.len()));
        }
        append(&mut rows, &batch)?;
    }
    Ok(Table { columns, rows })
}

fn kind_of(data_type: &DataType) -> Option<Kind> {
    Some(match data_type {
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Bool,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Binary | DataType::LargeBinary => Kind::Bytes,
        DataType::Float32 | DataType::Float64 => Kind::Float,
        DataType::Timestamp(_, _) => Kind::Time,
        other if other.is_integer() => Kind::Int,
        _ => return None,
    })
}

fn append(rows: &mut Vec<Vec<Cell>>, batch: &RecordBatch) -> Result<(), String> {
    let first = rows.len();
    rows.extend((0..batch.num_rows()).map(|_| Vec::with_capacity(batch.num_columns())));
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let cells = cells(array.as_ref()).map_err(|why| format!("column `{}`: {why}", field.name()))?;
        for (row, cell) in rows[first..].iter_mut().zip(cells) {
            row.push(cell);
        }
    }
    Ok(())
}

fn cells(array: &dyn Array) -> Result<Vec<Cell>, String> {
    let text = |value: Option<&str>| value.map_or(Cell::Null, |value| Cell::Text(value.to_owned()));
    let bytes = |value: Option<&[u8]>| value.map_or(Cell::Null, |value| Cell::Bytes(value.to_owned()));
    Ok(match array.data_type() {
        DataType::Null => vec![Cell::Null; array.len()],
        DataType::Boolean => array.as_boolean().iter().map(|value| value.map_or(Cell::Null, Cell::Bool)).collect(),
        DataType::Utf8 => array.as_string::<i32>().iter().map(text).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(text).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(text).collect(),
        DataType::Binary => array.as_binary::<i32>().iter().map(bytes).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().map(bytes).collect(),
        DataType::Int8 => primitive::<Int8Type>(array, |value| Cell::Int(value.into())),
        DataType::Int16 => primitive::<Int16Type>(array, |value| Cell::Int(value.into())),
        DataType::Int32 => primitive::<Int32Type>(array, |value| Cell::Int(value.into())),
        DataType::Int64 => primitive::<Int64Type>(array, Cell::Int),
        DataType::UInt8 => primitive::<UInt8Type>(array, |value| Cell::Int(value.into())),
        DataType::UInt16 => primitive::<UInt16Type>(array, |value| Cell::Int(value.into())),
        DataType::UInt32 => primitive::<UInt32Type>(array, |value| Cell::Int(value.into())),
        DataType::UInt64 => array
            .as_primitive::<UInt64Type>()
            .iter()
            .map(|value| match value.map(i64::try_from) {
                None => Ok(Cell::Null),
                Some(Ok(value)) => Ok(Cell::Int(value)),
                Some(Err(_)) => Err("an integer above 2^63 - 1".to_owned()),
            })
            .collect::<Result<_, _>>()?,
        DataType::Float32 => primitive::<Float32Type>(array, |value| Cell::Float(value.into())),
        DataType::Float64 => primitive::<Float64Type>(array, Cell::Float),
        DataType::Timestamp(TimeUnit::Second, _) => scaled::<TimestampSecondType>(array, 1_000_000)?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => scaled::<TimestampMillisecondType>(array, 1000)?,
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive::<TimestampMicrosecondType>(array, Cell::Time),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(array, |value| Cell::Time(value.div_euclid(1000)))
        }
        other => return Err(format!("the type {other} is not read")),
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array, cell: impl Fn(T::Native) -> Cell) -> Vec<Cell> {
    array.as_primitive::<T>().iter().map(|value| value.map_or(Cell::Null, &cell)).collect()
}

fn scaled<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, micros: i64) -> Result<Vec<Cell>, String> {
    array
        .as_primitive::<T>()
        .iter()
        .map(|value| match value {
            None => Ok(Cell::Null),
            Some(value) => value.checked_mul(micros).map(Cell::Time).ok_or_else(|| "a moment out of range".to_owned()),
        })
        .collect()
}
