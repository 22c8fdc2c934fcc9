//! Inputs that are no longer what they were.

use super::dice::Dice;
use crate::support::json::{Json, int, num, object, text};

/// A value of any JSON type.
pub(crate) fn anything(dice: &mut Dice) -> Json {
    let raw = |number: &str| Json::Num(number.to_owned());
    match dice.below(22) {
        0 => Json::Null,
        1 => Json::Bool(true),
        2 => Json::Bool(false),
        3 => text("12"),
        4 => text(""),
        5 => num(-1.0),
        6 => int(0),
        7 => num(1e300),
        8 => num(1e19),
        9 => num(1e18),
        10 => num(1e-10),
        11 => num(1e-9),
        12 => raw("-0.0"),
        13 => raw("5e-324"),
        14 => raw("99999999999999999999999999"),
        15 => int(1_000_000_001),
        16 => num(2.5),
        17 => num(3.0),
        18 => Json::List(Vec::new()),
        19 => Json::List(vec![int(1), text("x"), Json::Null]),
        20 => object([]),
        _ => object([("a", object([("b", Json::List(vec![Json::Null]))]))]),
    }
}

const WORDS: &[&str] = &[
    "config",
    "calibration",
    "rounds",
    "trials",
    "control",
    "treatment",
    "treatments",
    "stages",
    "cpu",
    "elapsed",
    "TOTAL",
    "events",
    "oom",
    "blocked",
    "decided",
    "confirmed",
    "looks",
    "look_index",
    "colour",
    "Rounds",
    "cpu_time_total",
    "grade",
    "residual",
    "",
    "executions",
    "paired",
    "declared",
    "context",
    "id",
    "status",
    "expected",
];

/// Changes one place of a value; `reach` is the probability of going one level further down.
pub(crate) fn mutate(value: &mut Json, dice: &mut Dice, reach: f64) {
    let go_on = dice.chance(reach);
    match value {
        Json::Object(fields) if go_on && !fields.is_empty() => {
            let at = dice.below(fields.len());
            mutate(&mut fields[at].1, dice, reach);
        }
        Json::List(items) if go_on && !items.is_empty() => {
            let at = dice.below(items.len());
            mutate(&mut items[at], dice, reach);
        }
        here => change(here, dice),
    }
}

/// Puts anything into a column of some row of some trial: the contract refuses none of that.
pub(crate) fn spoil(value: &mut Json, dice: &mut Dice) {
    let columns = ["cpu_time_total", "elapsed", "items", "bytes_processed", "mem_peak_bytes_max", "total_shards"];
    let mut stages = Vec::new();
    collect(value, &mut stages);
    if stages.is_empty() {
        return;
    }
    let at = dice.below(stages.len());
    let (column, anything) = (dice.word(&columns), anything(dice));
    if matches!(stages[at], Json::Object(_)) {
        stages[at].set(column, anything);
    }
}

fn collect<'a>(value: &'a mut Json, stages: &mut Vec<&'a mut Json>) {
    match value {
        Json::Object(fields) => {
            for (key, value) in fields {
                if key == "stages" && matches!(value, Json::Object(_)) {
                    stages.extend(value.fields_mut().iter_mut().map(|(_, stage)| stage));
                } else {
                    collect(value, stages);
                }
            }
        }
        Json::List(items) => items.iter_mut().for_each(|item| collect(item, stages)),
        _ => {}
    }
}

fn change(here: &mut Json, dice: &mut Dice) {
    let replacement = anything(dice);
    match here {
        Json::Object(fields) => match dice.below(5) {
            0 => *here = replacement,
            1 if !fields.is_empty() => drop(fields.remove(dice.below(fields.len()))),
            2 if !fields.is_empty() => {
                let at = dice.below(fields.len());
                let name = dice.word(WORDS).to_owned();
                if !fields.iter().any(|(key, _)| *key == name) {
                    fields[at].0 = name;
                }
            }
            _ => {
                let name = dice.word(WORDS);
                here.set(name, replacement);
            }
        },
        Json::List(items) => match dice.below(4) {
            0 => *here = replacement,
            1 if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
            2 if !items.is_empty() => items.push(items[dice.below(items.len())].clone()),
            _ => items.push(replacement),
        },
        _ => *here = replacement,
    }
}
