//! The configuration keys, each with its range.

use serde_json::value::RawValue;

use super::UsageError;
use super::node::{Place, boolean, count, is_null, list, number, number_within, object, one_of, text};
use crate::config::{Config, Metric, Normalize, PerMetric, Work};

const KEYS: [&str; 40] = [
    "alpha_reg",
    "alpha_eq",
    "alpha_suspect",
    "episode",
    "episode_share",
    "looks",
    "look_index",
    "margin",
    "margin_total",
    "impact_ref",
    "impact_cap",
    "eps",
    "gross1",
    "gross_mult",
    "loo",
    "persist_mult",
    "sd_floor",
    "d0_cap",
    "min_df",
    "max_df",
    "n1_min_calib",
    "wall_min_rounds",
    "min_rounds",
    "paired",
    "work",
    "work_tol",
    "work_max",
    "work_uncounted_max",
    "normalize",
    "paths_only",
    "pool_cores",
    "plausible_tol",
    "min_share",
    "min_value",
    "overhead_max",
    "overhead_frac",
    "mem_limit",
    "mem_atrisk",
    "confirm_count",
    "confirm_clean",
];
const DISPLAY_KEYS: [&str; 2] = ["display_sd", "display_df"];

pub(crate) fn parse(raw: Option<&RawValue>, place: &Place<'_>) -> Result<Config, UsageError> {
    let mut config = Config::default();
    let Some(raw) = raw else { return Ok(config) };
    let keys: Vec<&str> = KEYS.iter().chain(&DISPLAY_KEYS).copied().collect();
    for (key, raw) in object(raw, place, Some(&keys))?.iter() {
        set(&mut config, key, raw, &place.field(key))?;
    }
    if let Some(looks) = &config.looks {
        let fits = config.look_index.is_some_and(|i| usize::try_from(i).is_ok_and(|i| i < looks.len()));
        if !fits {
            return Err(place.field("look_index").expected(format!("an index into looks, which has {}", looks.len())));
        }
    }
    Ok(config)
}

fn set(config: &mut Config, key: &str, raw: &RawValue, at: &Place<'_>) -> Result<(), UsageError> {
    match key {
        "alpha_reg" => pair(&mut config.alpha_reg, raw, at, probability)?,
        "alpha_eq" => config.alpha_eq = probability(raw, at)?,
        "alpha_suspect" => config.alpha_suspect = probability(raw, at)?,
        "episode" => {
            config.episode = count(raw, at, "a whole number from 1")?;
            if config.episode == 0 {
                return Err(at.expected("a whole number from 1"));
            }
        }
        "episode_share" => config.episode_share = size(raw, at)?,
        "looks" => config.looks = looks(raw, at)?,
        "look_index" => config.look_index = super::optional_count(Some(raw), at)?,
        "margin" => pair(&mut config.margin, raw, at, size)?,
        "margin_total" => pair(&mut config.margin_total, raw, at, size)?,
        "impact_ref" => config.impact_ref = size(raw, at)?,
        "impact_cap" => config.impact_cap = size(raw, at)?,
        "eps" => pair(&mut config.eps, raw, at, size)?,
        "gross1" => {
            pair(&mut config.gross1, raw, at, |raw, at| Ok(positive_or_null(raw, at)?.unwrap_or(f64::INFINITY)))?;
        }
        "gross_mult" => config.gross_mult = size(raw, at)?,
        "loo" => config.loo = size(raw, at)?,
        "persist_mult" => config.persist_mult = size(raw, at)?,
        "sd_floor" => pair(&mut config.sd_floor, raw, at, size)?,
        "d0_cap" => config.d0_cap = freedom(raw, at)?,
        "min_df" => config.min_df = freedom(raw, at)?,
        "max_df" => config.max_df = freedom(raw, at)?,
        "n1_min_calib" => config.n1_min_calib = size(raw, at)?,
        "wall_min_rounds" => config.wall_min_rounds = size(raw, at)?,
        "min_rounds" => {
            let fields = object(raw, at, Some(&["B", "C"]))?;
            for (grade, rounds) in [("B", &mut config.min_rounds_b), ("C", &mut config.min_rounds_c)] {
                if let Some(raw) = fields.get(grade) {
                    *rounds = size(raw, &at.field(grade))?;
                }
            }
        }
        "paired" => config.paired = boolean(raw, at)?,
        "work" => config.work = choice(raw, at, &[("strict", Work::Strict), ("uncounted-ok", Work::UncountedOk)])?,
        "work_tol" => config.work_tol = size(raw, at)?,
        "work_max" => config.work_max = size(raw, at)?,
        "work_uncounted_max" => config.work_uncounted_max = size(raw, at)?,
        "normalize" => {
            let choices = [
                ("auto", Normalize::Auto),
                ("none", Normalize::None),
                ("item", Normalize::Item),
                ("byte", Normalize::Byte),
            ];
            config.normalize = choice(raw, at, &choices)?;
        }
        "paths_only" => {
            config.paths_only = list(raw, at, "a list of row names")?
                .into_iter()
                .enumerate()
                .map(|(i, raw)| text(raw, &at.index(i), "a row name"))
                .collect::<Result<_, _>>()?;
        }
        "pool_cores" => config.pool_cores = positive_or_null(raw, at)?,
        "plausible_tol" => config.plausible_tol = size(raw, at)?,
        "min_share" => config.min_share = size(raw, at)?,
        "min_value" => pair(&mut config.min_value, raw, at, size)?,
        "overhead_max" => config.overhead_max = size(raw, at)?,
        "overhead_frac" => {
            for (metric, raw) in object(raw, at, Some(&["cpu", "elapsed"]))?.iter() {
                let at = at.field(metric);
                let metric = if metric == "cpu" { Metric::Cpu } else { Metric::Elapsed };
                for (row, raw) in object(raw, &at, None)?.iter() {
                    config.overhead_frac[metric].insert(row.to_owned(), size(raw, &at.field(row))?);
                }
            }
        }
        "mem_limit" => config.mem_limit = positive_or_null(raw, at)?,
        "mem_atrisk" => config.mem_atrisk = size(raw, at)?,
        "confirm_count" => config.confirm_count = size(raw, at)?,
        "confirm_clean" => config.confirm_clean = size(raw, at)?,
        "display_sd" => pair(&mut config.display_sd, raw, at, size)?,
        "display_df" => config.display_df = freedom(raw, at)?,
        // The caller has compared the key with the list of keys.
        _ => return Err(at.expected(one_of(&KEYS, Some(key)))),
    }
    Ok(())
}

fn pair(
    target: &mut PerMetric<f64>,
    raw: &RawValue,
    at: &Place<'_>,
    read: impl Fn(&RawValue, &Place<'_>) -> Result<f64, UsageError>,
) -> Result<(), UsageError> {
    let fields = object(raw, at, Some(&["cpu", "elapsed"]))?;
    for metric in Metric::ALL {
        if let Some(raw) = fields.get(metric.key()) {
            target[metric] = read(raw, &at.field(metric.key()))?;
        }
    }
    Ok(())
}

fn probability(raw: &RawValue, at: &Place<'_>) -> Result<f64, UsageError> {
    number_within(raw, at, 1e-12..=0.5, "a probability of 1e-12 to 0.5")
}

fn size(raw: &RawValue, at: &Place<'_>) -> Result<f64, UsageError> {
    number_within(raw, at, 0.0..=1e18, "a number that is not negative")
}

fn freedom(raw: &RawValue, at: &Place<'_>) -> Result<f64, UsageError> {
    number_within(raw, at, 1.0..=1e6, "a number of 1 to 1e6")
}

fn positive_or_null(raw: &RawValue, at: &Place<'_>) -> Result<Option<f64>, UsageError> {
    if is_null(raw) {
        return Ok(None);
    }
    number(raw).filter(|v| (1e-9..=1e18).contains(v)).map(Some).ok_or_else(|| at.expected("a positive number or null"))
}

fn choice<T: Copy>(raw: &RawValue, at: &Place<'_>, choices: &[(&str, T)]) -> Result<T, UsageError> {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let given = text(raw, at, &one_of(&words, None))?;
    choices
        .iter()
        .find(|(word, _)| *word == given)
        .map(|(_, value)| *value)
        .ok_or_else(|| at.expected(one_of(&words, Some(&given))))
}

fn looks(raw: &RawValue, at: &Place<'_>) -> Result<Option<Vec<u64>>, UsageError> {
    if is_null(raw) {
        return Ok(None);
    }
    let what = "an increasing list of round counts";
    let looks = list(raw, at, what)?
        .into_iter()
        .enumerate()
        .map(|(i, raw)| count(raw, &at.index(i), what))
        .collect::<Result<Vec<u64>, _>>()?;
    let increasing = looks.first().is_some_and(|first| *first > 0) && looks.windows(2).all(|w| w[0] < w[1]);
    if increasing { Ok(Some(looks)) } else { Err(at.expected(what)) }
}
