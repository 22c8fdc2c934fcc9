//! Configurations: every key, within its range and beyond it.

use super::Draft;
use super::dice::Dice;
use super::mutate::anything;
use crate::support::json::{Json, int, num, object, text};

const PLAIN: &[(&str, &[f64])] = &[
    ("alpha_eq", &[0.01, 0.05, 0.1, 0.5, 1e-12]),
    ("alpha_suspect", &[0.001, 0.05, 0.2, 0.5]),
    ("episode_share", &[0.0, 0.2, 1.0]),
    ("impact_ref", &[0.0, 0.05, 0.1, 0.5]),
    ("impact_cap", &[0.0, 0.05, 0.2, 1.0]),
    ("gross_mult", &[0.0, 1.0, 2.0, 5.0]),
    ("loo", &[0.0, 0.5, 0.9, 1.0]),
    ("persist_mult", &[0.0, 0.5, 2.0]),
    ("d0_cap", &[1.0, 10.0, 50.0, 500.0]),
    ("min_df", &[1.0, 4.0, 12.0, 80.0]),
    ("max_df", &[1.0, 5.0, 30.0, 1000.0]),
    ("n1_min_calib", &[0.0, 5.0, 10.0, 12.0, 0.5]),
    ("wall_min_rounds", &[0.0, 1.0, 2.0, 4.0, 2.5]),
    ("work_tol", &[0.0, 0.001, 0.005, 0.05]),
    ("work_max", &[0.0, 0.1, 0.25, 1.0]),
    ("work_uncounted_max", &[0.0, 0.1, 0.5, 1.0]),
    ("plausible_tol", &[0.0, 0.01, 0.5]),
    ("min_share", &[0.0, 0.005, 0.1, 0.6]),
    ("overhead_max", &[0.0, 0.3, 0.5, 1.0]),
    ("mem_atrisk", &[0.5, 0.95, 1.0]),
    ("confirm_count", &[0.0, 1.0, 2.0, 3.0, 1.5]),
    ("confirm_clean", &[0.0, 1.0, 2.0, 3.0]),
    ("display_df", &[1.0, 4.0, 30.0]),
];

const PER_METRIC: &[(&str, &[f64])] = &[
    ("alpha_reg", &[0.0025, 0.01, 0.05, 0.5, 1e-12]),
    ("margin", &[0.0, 0.02, 0.05, 0.1, 0.3]),
    ("margin_total", &[0.0, 0.02, 0.03, 0.1]),
    ("eps", &[0.0, 0.01, 0.02, 0.05]),
    ("sd_floor", &[0.0, 0.002, 0.02, 0.1]),
    ("min_value", &[0.0, 1.0, 10.0, 500.0]),
    ("display_sd", &[0.0, 0.05, 0.3]),
];

/// Overrides in some cases, ranges left in few.
pub(crate) fn turn(draft: &mut Draft, dice: &mut Dice) {
    if dice.chance(0.25) {
        for _ in 0..=dice.below(3) {
            let (key, values) = *dice.pick(PLAIN);
            draft.config.set(key, num(*dice.pick(values)));
        }
    }
    if dice.chance(0.2) {
        for _ in 0..=dice.below(2) {
            let (key, values) = *dice.pick(PER_METRIC);
            let metric = dice.word(&["cpu", "elapsed"]);
            draft.config.child(key).set(metric, num(*dice.pick(values)));
        }
    }
    if dice.chance(0.03) {
        let value = [Json::Null, num(0.1), num(0.02), num(0.5)][dice.below(4)].clone();
        draft.config.child("gross1").set(dice.word(&["cpu", "elapsed"]), value);
    }
    if dice.chance(0.03) {
        let metric = dice.word(&["cpu", "elapsed"]);
        draft.config.child("min_rounds").set(dice.word(&["B", "C"]), num(*dice.pick(&[0.0, 1.0, 2.0, 6.0])));
        draft.config.child("margin").set(metric, num(0.08));
    }
    looks(draft, dice);
    if dice.chance(0.06) {
        draft.config.set("normalize", text(dice.word(&["none", "item", "byte", "auto", "item", "byte"])));
    }
    if dice.chance(0.04) {
        draft.config.set("work", text(dice.word(&["strict", "uncounted-ok"])));
    }
    memory(draft, dice);
    rows(draft, dice);
    if dice.chance(0.03) {
        let cores = *dice.pick(&[1.0, 2.0, 8.0, 64.0, 2000.0]);
        draft.config.set("pool_cores", if dice.chance(0.1) { Json::Null } else { num(cores) });
    }
    if dice.chance(0.015) {
        beyond(draft, dice);
    }
}

fn looks(draft: &mut Draft, dice: &mut Dice) {
    if dice.chance(0.1) {
        let plans: &[&[u64]] = &[&[1, 2, 3, 5], &[2, 4, 6, 8], &[3, 5], &[4, 6], &[1], &[7, 1000]];
        let plan = *dice.pick(plans);
        draft.config.set("looks", Json::List(plan.iter().map(|n| int(*n)).collect()));
        draft.config.set("look_index", int(dice.below(plan.len()) as u64));
    }
    if dice.chance(0.06) {
        draft.config.set("episode", int(*dice.pick(&[1, 2, 3, 20, 1_000_000])));
    }
}

/// Limits around the peaks of either arm.
fn memory(draft: &mut Draft, dice: &mut Dice) {
    if !dice.chance(0.15) {
        return;
    }
    let arm = dice.chance(0.7);
    let mut peaks = Vec::new();
    for trial in draft.trials(arm) {
        let stages = trial.get("stages").map_or(&[][..], Json::fields);
        peaks.extend(stages.iter().filter_map(|(_, s)| s.get("mem_peak_bytes_max")?.number()));
    }
    let Some(peak) = peaks.into_iter().reduce(f64::max) else { return };
    let factor = *dice.pick(&[0.9, 1.0, 1.000_001, 1.0 / 0.95, 1.05, 1.06, 1.5, 3.0, 3.0]);
    draft.config.set("mem_limit", num((peak * factor).round()));
}

fn rows(draft: &mut Draft, dice: &mut Dice) {
    let names = draft.rows();
    if names.is_empty() {
        return;
    }
    if dice.chance(0.06) {
        let some = names.iter().filter(|_| dice.chance(0.4)).map(|n| text(n)).collect();
        draft.config.set("paths_only", Json::List(some));
    }
    if dice.chance(0.06) {
        let metric = dice.word(&["cpu", "elapsed"]);
        for name in &names {
            if dice.chance(0.3) {
                let share = *dice.pick(&[0.0, 0.05, 0.2, 0.49, 0.5, 0.8, 1.0, 3.0]);
                draft.config.child("overhead_frac").child(metric).set(name, num(share));
            }
        }
    }
}

/// A key of the configuration with a value that may be of any kind.
fn beyond(draft: &mut Draft, dice: &mut Dice) {
    let known = object([]);
    let keys: Vec<&str> = PLAIN
        .iter()
        .chain(PER_METRIC)
        .map(|(key, _)| *key)
        .chain(["gross1", "min_rounds", "looks", "look_index", "episode", "paired", "work", "normalize", "paths_only"])
        .chain(["pool_cores", "overhead_frac", "mem_limit"])
        .collect();
    let key = *dice.pick(&keys);
    let value = match dice.below(4) {
        0 => num(*dice.pick(&[-1.0, 0.6, 1e7, 1e19, 0.5, 1e18, 1e-13])),
        1 => object([(dice.word(&["cpu", "elapsed", "B", "C", "gpu"]), anything(dice))]),
        2 => known,
        _ => anything(dice),
    };
    draft.config.set(key, value);
}
