//! Did the arms do the same work, and does every row count its work at all?

use crate::case::{Reading, Stage};
use crate::config::{Config, Normalize};
use crate::output::Note;
use crate::reason::Reason;
use crate::screen::{Findings, Rows};

/// Log ratio of work above which a difference is noted.
const NOTED: f64 = 0.001;
/// Slack for the rounding of two logarithms.
const ROUNDING: f64 = 1e-12;

/// Executions, shards, items and bytes of each pair of trials.
pub(crate) fn same(rows: &Rows<'_, '_>, config: &Config, found: &mut Findings) -> Result<(), Reason> {
    let sides = rows.sides;
    let pairs = rows.pairs();
    if pairs.iter().any(|(c, t)| sides.control.trials[*c].executions != sides.treatment.trials[*t].executions) {
        return Err(Reason::ExecutionCountMismatch);
    }
    let differs = |a: Reading, b: Reading| matches!((a.value(), b.value()), (Some(a), Some(b)) if a != b);
    let stages = |(c, t): &(usize, usize), row: usize| (rows.control[*c][row], rows.treatment[*t][row]);
    let any_row = |pair: &(usize, usize), field: fn(&Stage) -> Reading| {
        (0..sides.names.len()).any(|row| {
            let (c, t) = stages(pair, row);
            differs(field(c), field(t))
        })
    };
    if pairs.iter().any(|pair| any_row(pair, |s| s.row_executions)) {
        return Err(Reason::ExecutionCountMismatch);
    }
    let paths_only = paths_only(rows, config);
    for pair in &pairs {
        for (row, paths_only) in paths_only.iter().enumerate() {
            let (c, t) = stages(pair, row);
            if differs(c.total_shards, t.total_shards) {
                return Err(Reason::DifferentWork);
            }
            if !paths_only {
                same_amount(c, t, config, &mut found.notes.work[row])?;
            }
        }
    }
    Ok(())
}

/// Items and bytes of one row in one pair of trials.
fn same_amount(c: &Stage, t: &Stage, config: &Config, notes: &mut Vec<Note>) -> Result<(), Reason> {
    let wide = matches!(config.normalize, Normalize::Item | Normalize::Byte);
    let scaled = wide && unit(config.normalize, false, c, t) != 1.0;
    let tolerance = if scaled { config.work_max.ln_1p() } else { config.work_tol };
    for field in [|s: &Stage| s.items, |s: &Stage| s.bytes_processed] {
        // Not counted in any trial: nothing to compare.
        let (Some(x), Some(y)) = (field(c).value(), field(t).value()) else { continue };
        if x == y {
            continue;
        }
        let off = (y.ln() - x.ln()).abs();
        if x.min(y) <= 0.0 || off > tolerance + ROUNDING {
            return Err(Reason::DifferentWork);
        }
        if off > NOTED && !notes.contains(&Note::Normalised) {
            notes.push(if config.normalize == Normalize::None { Note::WorkDiffers } else { Note::Normalised });
        }
    }
    Ok(())
}

fn paths_only(rows: &Rows<'_, '_>, config: &Config) -> Vec<bool> {
    let listed: std::collections::HashSet<&str> = config.paths_only.iter().map(String::as_str).collect();
    rows.sides.names.iter().map(|name| listed.contains(name)).collect()
}

/// The factor that brings the time of `stage` to the work of `reference`; 1 where it cannot be told.
pub(crate) fn unit(way: Normalize, paths_only: bool, reference: &Stage, stage: &Stage) -> f64 {
    let by = |field: fn(&Stage) -> Reading| Some(field(reference).positive()? / field(stage).positive()?);
    if paths_only {
        return 1.0;
    }
    match way {
        Normalize::None => None,
        Normalize::Auto => by(|s| s.items).or_else(|| by(|s| s.bytes_processed)),
        Normalize::Item => by(|s| s.items),
        Normalize::Byte => by(|s| s.bytes_processed),
    }
    .unwrap_or(1.0)
}

/// Rows that do not count their work: neither shards, nor (outside rows that only write paths) items or bytes are
/// above 0 in all trials.
pub(crate) fn uncounted(rows: &Rows<'_, '_>, config: &Config) -> Vec<bool> {
    let paths_only = paths_only(rows, config);
    (0..rows.sides.names.len())
        .map(|row| {
            let all = |field: fn(&Stage) -> Reading| rows.every().all(|t| field(t[row]).positive().is_some());
            !(all(|s| s.total_shards) || (!paths_only[row] && (all(|s| s.items) || all(|s| s.bytes_processed))))
        })
        .collect()
}

/// The larger share of CPU time that an arm spends in rows that do not count their work.
pub(crate) fn uncounted_share(rows: &Rows<'_, '_>, uncounted: &[bool]) -> f64 {
    [&rows.control, &rows.treatment]
        .into_iter()
        .filter_map(|side| {
            let cpu = |only: &dyn Fn(usize) -> bool| {
                side.iter()
                    .flat_map(|t| t.iter().enumerate())
                    .filter(|(row, _)| only(*row))
                    .filter_map(|(_, s)| s.cpu_time_total.value())
                    .sum::<f64>()
            };
            let all = cpu(&|_| true);
            (all > 0.0).then(|| cpu(&|row| uncounted[row]) / all)
        })
        .fold(0.0, f64::max)
}
