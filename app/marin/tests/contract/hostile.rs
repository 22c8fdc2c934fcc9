//! Bytes and texts that mean harm.

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use marin::finelog::{Cell, decode};
use marin::sql::{Template, Value};
use marin::{ExecutionId, JobId, TaskId};
use proptest::prelude::*;
use std::sync::Arc;

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).expect("a writer");
    for batch in batches {
        writer.write(batch).expect("written");
    }
    writer.into_inner().expect("finished")
}

fn batch(numbers: Vec<Option<i64>>) -> RecordBatch {
    let floats: Float64Array = numbers.iter().map(|number| number.map(|_| f64::NAN)).collect();
    let texts: StringArray = numbers.iter().map(|number| number.map(|number| number.to_string())).collect();
    RecordBatch::try_from_iter([
        ("i", Arc::new(Int64Array::from(numbers)) as _),
        ("f", Arc::new(floats) as _),
        ("t", Arc::new(texts) as _),
    ])
    .expect("a batch")
}

#[test]
fn batches_are_read_in_order_with_their_nulls() {
    let bytes = stream(&[batch(vec![Some(i64::MIN), None]), batch(vec![]), batch(vec![Some(i64::MAX)])]);
    let table = decode(&bytes).expect("reads");
    let numbers: Vec<_> = table.rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(numbers, [Cell::Int(i64::MIN), Cell::Null, Cell::Int(i64::MAX)]);
    assert!(matches!(table.rows[0][1], Cell::Float(value) if value.is_nan()));
    assert_eq!((&table.rows[1][1], &table.rows[1][2]), (&Cell::Null, &Cell::Null));
}

#[test]
fn a_number_that_does_not_fit_is_refused_not_rounded() {
    let of = |number: u64| {
        let column = Arc::new(UInt64Array::from(vec![number])) as _;
        decode(&stream(&[RecordBatch::try_from_iter([("u", column)]).expect("a batch")]))
    };
    assert_eq!(of(7).expect("fits").rows[0][0], Cell::Int(7));
    assert!(of(u64::MAX).expect_err("does not fit").contains("column `u`"));
}

proptest! {
    #[test]
    fn broken_streams_are_errors(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>(), whole in any::<bool>()) {
        let mut bytes = stream(&[batch(vec![Some(1), None, Some(3)]), batch(vec![Some(4)])]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(table) = decode(&bytes) {
            prop_assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }

    #[test]
    fn no_id_leaves_its_quotes(text in ".{0,40}|/[a-z]{1,5}/[a-z'%\\\\\" ;-]{1,12}(/[0-9]{1,3})?") {
        let template = Template::new("SELECT 1 FROM t WHERE a IN ({a})").expect("fine");
        let values = [
            JobId::new(&text).ok().map(|id| Value::Jobs(vec![id])),
            JobId::new(&text).ok().map(Value::Below),
            TaskId::new(&text).ok().map(|id| Value::Tasks(vec![id])),
            ExecutionId::new(&text).ok().map(|id| Value::Executions(vec![id])),
        ];
        for value in values.into_iter().flatten() {
            let select = template.fill(&[("a", value)]).expect("fills");
            prop_assert_eq!(select.as_str().matches('\'').count(), 2);
            prop_assert!(!select.as_str().contains(['\\', ';', '%', '"', '\n']));
        }
    }
}
