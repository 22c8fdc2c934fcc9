//! Oddities of trials and arms, each with a small probability of its own.

use super::dice::Dice;
use super::mutate::anything;
use super::{Draft, decided};
use crate::support::json::{Json, int, num, object, text};

type Knob = fn(&mut Draft, &mut Dice);

const KNOBS: &[(f64, Knob)] = &[
    (0.04, event),
    (0.03, churned_clock),
    (0.025, failure),
    (0.04, confirmations),
    (0.02, blocked),
    (0.02, mismatch),
    (0.04, declared),
    (0.02, confirmed),
    (0.02, bad_value),
    (0.012, missing_row),
    (0.006, status),
    (0.012, zero),
    (0.02, cached),
    (0.015, executions),
    (0.012, shards),
    (0.03, work),
    (0.05, uncounted),
    (0.05, short_row),
    (0.04, tiny_row),
    (0.008, all_short),
    (0.04, identical),
    (0.02, empty),
    (0.01, late),
    (0.02, order),
    (0.02, ignored),
];

pub(crate) fn turn(draft: &mut Draft, dice: &mut Dice) {
    for (chance, knob) in KNOBS {
        if dice.chance(*chance) {
            knob(draft, dice);
        }
    }
}

/// A trial of a side, if that side has one.
fn some<'a>(draft: &'a mut Draft, dice: &mut Dice, treatment: bool) -> Option<&'a mut Json> {
    let mut trials = draft.trials(treatment);
    if trials.is_empty() { None } else { Some(trials.swap_remove(dice.below(trials.len()))) }
}

/// A stage of a trial.
fn stage<'a>(trial: &'a mut Json, dice: &mut Dice) -> Option<&'a mut Json> {
    let stages = trial.get_mut("stages")?.fields_mut();
    let at = dice.below(stages.len().max(1));
    stages.get_mut(at).map(|(_, stage)| stage)
}

fn arm<'a>(draft: &'a mut Draft, dice: &mut Dice) -> &'a mut Json {
    let at = dice.below(draft.arms.len());
    &mut draft.arms[at].1
}

fn happens(trial: &mut Json, event: &str, count: u64) {
    trial.child("events").set(event, int(count));
}

fn any_event(dice: &mut Dice) -> &'static str {
    dice.pick(&stats::Event::ALL).key()
}

fn event(draft: &mut Draft, dice: &mut Dice) {
    let (side, name, count) = (dice.chance(0.6), any_event(dice), [0, 1, 2][dice.weighted(&[0.2, 0.6, 0.2])]);
    if let Some(trial) = some(draft, dice, side) {
        happens(trial, name, count);
    }
}

fn churned_clock(draft: &mut Draft, dice: &mut Dice) {
    let all = dice.chance(0.2);
    for side in [false, true] {
        for trial in draft.trials(side) {
            if all || dice.chance(0.2) {
                happens(trial, "churn_elapsed", 1);
            }
        }
    }
}

fn failure(draft: &mut Draft, dice: &mut Dice) {
    let name = dice.word(&["oom", "app_failure"]);
    for side in [dice.chance(0.8), dice.chance(0.8)] {
        if let Some(trial) = some(draft, dice, side) {
            happens(trial, name, 1);
        }
    }
}

/// Failed trials outside the rounds and their repeats.
fn confirmations(draft: &mut Draft, dice: &mut Dice) {
    let Some(template) = some(draft, dice, true).cloned() else { return };
    let count = dice.below(4);
    let list = (0..=count)
        .map(|i| {
            let mut pair = object([]);
            for side in ["control", "treatment"] {
                let mut trial = template.clone();
                if dice.chance(0.3) {
                    trial.remove("stages");
                }
                let odds = if side == "treatment" && i == 0 { 0.7 } else { 0.08 };
                if dice.chance(odds) {
                    let name = if dice.chance(0.85) { dice.word(&["oom", "app_failure"]) } else { any_event(dice) };
                    happens(&mut trial, name, 1);
                }
                if dice.chance(0.8) {
                    pair.set(side, trial);
                }
            }
            pair
        })
        .collect();
    arm(draft, dice).set("confirmations", Json::List(list));
}

fn blocked(draft: &mut Draft, dice: &mut Dice) {
    let engine: Vec<&str> = stats::Reason::ALL
        .iter()
        .filter(|reason| reason.origin() != stats::reason::Origin::Procedure)
        .map(|reason| reason.code())
        .collect();
    let reason = if dice.chance(0.05) { Json::Null } else { text(dice.word(&engine)) };
    arm(draft, dice).set("blocked", reason);
}

fn mismatch(draft: &mut Draft, dice: &mut Dice) {
    let value = match dice.below(4) {
        0 => Json::Bool(true),
        1 => Json::Bool(false),
        2 => Json::List(Vec::new()),
        _ => Json::List(vec![object([("field", text("pool")), ("control", int(5)), ("treatment", int(80))]), int(3)]),
    };
    arm(draft, dice).set("fingerprint_mismatch", value);
}

fn declared(draft: &mut Draft, dice: &mut Dice) {
    let difference = if dice.chance(0.2) { object([]) } else { object([("workers", int(80)), ("env", text("a=b|c"))]) };
    let topology = dice.chance(0.5);
    let arm = arm(draft, dice);
    arm.set("declared", difference);
    arm.set("topology", Json::Bool(topology));
}

fn confirmed(draft: &mut Draft, dice: &mut Dice) {
    let yes = dice.chance(0.8);
    arm(draft, dice).set("confirmed", Json::Bool(yes));
}

const FIELDS: &[&str] =
    &["cpu_time_total", "elapsed", "items", "bytes_processed", "mem_peak_bytes_max", "total_shards", "row_executions"];

fn bad_value(draft: &mut Draft, dice: &mut Dice) {
    let (side, field, value) = (dice.chance(0.5), dice.word(FIELDS), anything(dice));
    let absent = dice.chance(0.15);
    if let Some(stage) = some(draft, dice, side).and_then(|trial| stage(trial, dice)) {
        if absent {
            stage.remove(field);
        } else {
            stage.set(field, value);
        }
    }
}

fn missing_row(draft: &mut Draft, dice: &mut Dice) {
    let (side, whole) = (dice.chance(0.5), dice.chance(0.5));
    let names = draft.rows();
    if names.is_empty() {
        return;
    }
    let name = dice.pick(&names).clone();
    if whole {
        for trial in draft.trials(side) {
            trial.child("stages").remove(&name);
        }
    } else if let Some(trial) = some(draft, dice, side) {
        trial.child("stages").remove(&name);
    }
}

fn status(draft: &mut Draft, dice: &mut Dice) {
    let (side, word) = (dice.chance(0.5), dice.word(&["FAILED", "end", "END", "", "RUNNING"]));
    if let Some(stage) = some(draft, dice, side).and_then(|trial| stage(trial, dice)) {
        stage.set("status", text(word));
    }
}

fn zero(draft: &mut Draft, dice: &mut Dice) {
    let (side, field) = (dice.chance(0.5), dice.word(FIELDS));
    let value = [num(0.0), int(0), Json::Num("-0.0".to_owned()), num(1e-9)][dice.below(4)].clone();
    if let Some(stage) = some(draft, dice, side).and_then(|trial| stage(trial, dice)) {
        stage.set(field, value);
    }
}

/// A trial, an arm or everything took no time.
fn cached(draft: &mut Draft, dice: &mut Dice) {
    let fields = *dice.pick(&[&["cpu_time_total", "elapsed"][..], &["cpu_time_total"], &["elapsed"]]);
    let spare = dice.chance(0.3);
    let blank = |trial: &mut Json| {
        for (i, (_, stage)) in trial.child("stages").fields_mut().iter_mut().enumerate() {
            if !(spare && i == 0) {
                for field in fields {
                    stage.set(field, int(0));
                }
            }
        }
    };
    match dice.below(3) {
        0 => draft.every_trial(blank),
        1 => draft.trials(true).into_iter().for_each(blank),
        _ => {
            let side = dice.chance(0.5);
            some(draft, dice, side).into_iter().for_each(blank);
        }
    }
}

fn executions(draft: &mut Draft, dice: &mut Dice) {
    let (side, per_row) = (dice.chance(0.5), dice.chance(0.5));
    let value = [int(7), Json::Null, int(0)][dice.below(3)].clone();
    if let Some(trial) = some(draft, dice, side) {
        if !per_row {
            trial.set("executions", value);
        } else if let Some(stage) = stage(trial, dice) {
            stage.set("row_executions", value);
        }
    }
}

fn shards(draft: &mut Draft, dice: &mut Dice) {
    let side = dice.chance(0.5);
    let value = [int(7), Json::Null, int(0)][dice.below(3)].clone();
    if let Some(stage) = some(draft, dice, side).and_then(|trial| stage(trial, dice)) {
        stage.set("total_shards", value);
    }
}

/// One row of one treatment does a little more or much less work.
fn work(draft: &mut Draft, dice: &mut Dice) {
    let factor = *dice.pick(&[1.0009, 1.001, 1.0011, 1.0049, 1.005_012, 1.0051, 0.9951, 0.8, 1.25, 1.2501, 0.5]);
    let field = dice.word(&["items", "bytes_processed"]);
    if let Some(stage) = some(draft, dice, true).and_then(|trial| stage(trial, dice))
        && let Some(old) = stage.get(field).and_then(Json::number)
        && old.is_finite()
    {
        stage.set(field, num((old * factor).round().min(1e18)));
    }
}

/// Rows that do not count their work: null or 0 everywhere, or null here and there.
fn uncounted(draft: &mut Draft, dice: &mut Dice) {
    let names = draft.rows();
    let chosen: Vec<&String> = names.iter().filter(|_| dice.chance(0.3)).collect();
    let value = if dice.chance(0.5) { Json::Null } else { int(0) };
    let (items, bytes) = (dice.chance(0.85), dice.chance(0.85));
    draft.every_trial(|trial| {
        for (name, stage) in trial.child("stages").fields_mut() {
            if chosen.contains(&&*name) {
                if items {
                    stage.set("items", value.clone());
                }
                if bytes {
                    stage.set("bytes_processed", value.clone());
                }
                if items && bytes {
                    stage.remove("total_shards");
                }
            }
        }
    });
}

fn added(draft: &mut Draft, dice: &mut Dice, name: &str, cpu: f64, elapsed: f64) {
    let first = dice.chance(0.5);
    draft.every_trial(|trial| {
        let stage = object([
            ("cpu_time_total", num(cpu)),
            ("elapsed", num(elapsed)),
            ("items", int(10)),
            ("bytes_processed", int(10)),
            ("mem_peak_bytes_max", int(1000)),
        ]);
        let stages = trial.child("stages").fields_mut();
        stages.insert(if first { 0 } else { stages.len() }, (name.to_owned(), stage));
    });
}

/// A row below the floor, or at it.
fn short_row(draft: &mut Draft, dice: &mut Dice) {
    let cpu = *dice.pick(&[9.999_999, 10.0, 1.0, 0.0, 1e-9, 30.0]);
    let elapsed = *dice.pick(&[4.999_999, 5.0, 0.1, 0.0, 1e-9, 30.0]);
    added(draft, dice, "short", cpu, elapsed);
}

/// A row whose share is next to nothing, and a giant beside which the others are.
fn tiny_row(draft: &mut Draft, dice: &mut Dice) {
    let (cpu, elapsed) =
        if dice.chance(0.5) { (11.0, 6.0) } else { (dice.magnitude(1e5, 1e17), dice.magnitude(1e4, 1e17)) };
    added(draft, dice, "tiny", cpu, elapsed);
}

fn all_short(draft: &mut Draft, dice: &mut Dice) {
    let both = dice.chance(0.5);
    draft.every_trial(|trial| {
        for (_, stage) in trial.child("stages").fields_mut() {
            stage.set("cpu_time_total", num(2.0));
            if both {
                stage.set("elapsed", num(0.5));
            }
        }
    });
}

/// The treatment is the control, bit for bit.
fn identical(draft: &mut Draft, dice: &mut Dice) {
    if !draft.paired {
        return;
    }
    let control = draft.control.clone();
    let arm = arm(draft, dice);
    if let Some(Json::List(rounds)) = arm.get_mut("rounds") {
        for round in rounds {
            let twin = match round.at("control") {
                Json::Num(index) => control[index.parse::<usize>().expect("an index")].clone(),
                own => own.clone(),
            };
            round.set("treatment", twin);
        }
    }
}

/// Trials without rows.
fn empty(draft: &mut Draft, dice: &mut Dice) {
    let all = dice.chance(0.5);
    let whole = dice.chance(0.5);
    let blank = |trial: &mut Json| {
        if whole {
            trial.remove("stages");
        } else {
            trial.set("stages", object([]));
        }
    };
    if all {
        draft.every_trial(blank);
    } else {
        let side = dice.chance(0.5);
        some(draft, dice, side).into_iter().for_each(blank);
    }
}

/// A sole treatment that was decided at an earlier look.
fn late(draft: &mut Draft, dice: &mut Dice) {
    let earlier = decided(dice);
    arm(draft, dice).set("decided", earlier);
}

/// The rows of one trial in another order.
fn order(draft: &mut Draft, dice: &mut Dice) {
    let side = dice.chance(0.5);
    if let Some(trial) = some(draft, dice, side) {
        trial.child("stages").fields_mut().reverse();
    }
}

/// Nothing that is ignored changes an answer.
fn ignored(draft: &mut Draft, dice: &mut Dice) {
    if !draft.several {
        let context = anything(dice);
        arm(draft, dice).set("context", context);
        arm(draft, dice).set("why", text("because"));
    }
}
