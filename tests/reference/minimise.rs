//! A smaller case on which ours and the reference still differ.

use super::{Compared, Reference, difference};
use crate::support::json::Json;

/// Tries at most this often.
const TRIES: usize = 1500;

/// Drops whatever can be dropped while the two still differ.
pub(crate) fn minimise(reference: &mut Reference, case: &Json) -> Json {
    let mut best = case.clone();
    let mut tries = 0;
    loop {
        let before = tries;
        let mut smaller = false;
        let rows = row_names(&best);
        let wholes = rows.iter().map(|row| without_row(&best, row)).collect::<Vec<_>>();
        for candidate in wholes.into_iter().chain((0..size(&best)).rev().map(|at| without(&best, at))) {
            if tries == TRIES {
                return best;
            }
            if candidate == best {
                continue;
            }
            tries += 1;
            if matches!(difference(reference, &candidate.to_string()), Compared::Different(_)) {
                best = candidate;
                smaller = true;
                break;
            }
        }
        if !smaller || before == tries {
            return best;
        }
    }
}

/// Number of fields and items anywhere in a value.
fn size(value: &Json) -> usize {
    match value {
        Json::Object(fields) => fields.iter().map(|(_, v)| 1 + size(v)).sum(),
        Json::List(items) => items.iter().map(|v| 1 + size(v)).sum(),
        _ => 0,
    }
}

/// The value without its `at`-th field or item, counted from the outside in.
fn without(value: &Json, at: usize) -> Json {
    let mut copy = value.clone();
    drop_at(&mut copy, &mut { at });
    copy
}

fn drop_at(value: &mut Json, at: &mut usize) -> bool {
    match value {
        Json::Object(fields) => {
            for i in 0..fields.len() {
                if *at == 0 {
                    fields.remove(i);
                    return true;
                }
                *at -= 1;
                if drop_at(&mut fields[i].1, at) {
                    return true;
                }
            }
            false
        }
        Json::List(items) => {
            for i in 0..items.len() {
                if *at == 0 {
                    items.remove(i);
                    return true;
                }
                *at -= 1;
                if drop_at(&mut items[i], at) {
                    return true;
                }
            }
            false
        }
        _ => false,
    }
}

fn row_names(value: &Json) -> Vec<String> {
    let mut names = Vec::new();
    collect(value, &mut names);
    names
}

fn collect(value: &Json, names: &mut Vec<String>) {
    for (key, value) in value.fields() {
        if key == "stages" {
            for (name, _) in value.fields() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        collect(value, names);
    }
    value.items().iter().for_each(|item| collect(item, names));
}

/// Without a row, wherever it is named.
fn without_row(value: &Json, row: &str) -> Json {
    match value {
        Json::Object(fields) => Json::Object(
            fields.iter().filter(|(key, _)| key != row).map(|(key, v)| (key.clone(), without_row(v, row))).collect(),
        ),
        Json::List(items) => Json::List(items.iter().map(|item| without_row(item, row)).collect()),
        other => other.clone(),
    }
}
