//! Which rows enter the statistics, and their log ratios.

use std::collections::HashSet;
use std::ops::Range;

use crate::case::{Case, Residual, Stage};
use crate::config::{Metric, Normalize};
use crate::family::RowInput;
use crate::noise::noise_changed;
use crate::output::{Note, TOTAL};
use crate::reason::Reason;
use crate::sample::Sample;
use crate::screen::{Findings, Kept, seconds};
use crate::work;

/// One metric's rows as they enter the statistics.
pub(crate) struct Series<'a> {
    /// Indices into [`Sides::names`]; the index behind the last is TOTAL.
    pub(crate) rows: Vec<usize>,
    /// One list per way of normalising that has to agree; the last is the one that is shown.
    pub(crate) modes: Vec<Vec<RowInput<'a>>>,
    /// Rounds, or the smaller number of trials.
    pub(crate) n: usize,
    /// Fewest calibration ratios of a row.
    pub(crate) ratios: usize,
    /// Whether anything may be claimed by this metric.
    pub(crate) claim: bool,
}

/// Chooses the rows that are judged by `metric` and forms their log ratios.
pub(crate) fn series<'a>(
    case: &'a Case,
    kept: &Kept<'_, 'a>,
    metric: Metric,
    found: &mut Findings,
) -> Result<Series<'a>, Reason> {
    let config = &case.config;
    let names = &kept.sides.names;
    let raw = Seconds::of(kept, metric);
    let means: Vec<[f64; 2]> = (0..names.len()).map(|row| raw.means(row)).collect();
    let total: f64 = means.iter().map(|[control, _]| control).sum();
    let overhead = |name: &str| config.overhead_frac[metric].get(name).copied().unwrap_or(0.0);
    let mut rows = Vec::with_capacity(names.len() + 1);
    for (row, name) in names.iter().enumerate() {
        let (least, most) = raw.range(row);
        let note = if most < config.min_value[metric] {
            Some(if most == 0.0 { Note::ZeroBoth } else { Note::BelowFloor })
        } else if least == 0.0 {
            found.notes.row[metric][row].push(Note::ZeroOneSided);
            return Err(Reason::ZeroOneSided);
        } else if means[row][0].max(means[row][1]) / total < config.min_share {
            Some(Note::Immaterial)
        } else if overhead(name) >= config.overhead_max {
            Some(Note::OverheadDominated)
        } else {
            None
        };
        match note {
            Some(note) => found.notes.row[metric][row].push(note),
            None => rows.push(row),
        }
    }
    if rows.is_empty() {
        let notes = &found.notes.row[metric][..names.len()];
        // Many rows too small to matter one by one may matter together, as TOTAL.
        if !notes.iter().any(|n| n == &[Note::Immaterial]) {
            let overhead = notes.iter().any(|n| n.contains(&Note::OverheadDominated));
            return Err(if overhead { Reason::OverheadDominated } else { Reason::BelowFloor });
        }
    }
    if names.len() > 1 {
        rows.push(names.len());
    }
    let wide = matches!(config.normalize, Normalize::Item | Normalize::Byte);
    let ways = if wide { vec![Normalize::None, config.normalize] } else { vec![config.normalize] };
    let input = |scaled: &Seconds, row: usize| {
        let name = names.get(row).copied().unwrap_or(TOTAL);
        let parts = if row == names.len() { 0..row } else { row..row + 1 };
        RowInput {
            sample: if kept.sides.paired { paired(&raw, scaled, &parts) } else { unpaired(scaled, &parts) },
            ratios: case.calibration.ratios[metric].get(name).map_or(&[], Vec::as_slice),
            residual: case.calibration.residual[metric].get(name).copied().unwrap_or_default(),
            share: means.get(row).map_or(1.0, |[control, _]| control / total),
            overhead: overhead(name),
            total: row == names.len(),
        }
    };
    let modes: Vec<Vec<RowInput<'a>>> = ways
        .into_iter()
        .map(|way| {
            let scaled = raw.scaled(kept, way, &config.paths_only);
            rows.iter().map(|row| input(&scaled, *row)).collect()
        })
        .collect();
    let n = kept.control.len().min(kept.treatment.len());
    let ratios = modes.iter().flatten().map(|r| r.ratios.len()).min().unwrap_or(0);
    let mut series = Series { rows, modes, n, ratios, claim: true };
    heed_noise(case, &mut series, metric, found);
    Ok(series)
}

/// Where the noise has grown since calibration: with enough rounds the calibration is ignored; with fewer, nothing is
/// claimed.
fn heed_noise(case: &Case, series: &mut Series<'_>, metric: Metric, found: &mut Findings) {
    let shown = series.modes.last().map_or(&[][..], Vec::as_slice);
    if !noise_changed(shown, &case.config, metric) {
        return;
    }
    if series.n as f64 >= case.config.min_rounds_c {
        for row in series.modes.iter_mut().flatten() {
            row.ratios = &[];
            row.residual = Residual::default();
        }
        found.notes.metric[metric].push(Note::NoiseChangedCalibrationIgnored);
        return;
    }
    match metric {
        Metric::Cpu => found.late = Some(Reason::NoiseChanged),
        Metric::Elapsed => {
            series.claim = false;
            found.notes.metric[metric].push(Note::NoiseChangedNoClaim);
        }
    }
}

/// The seconds of every row, trial after trial.
struct Seconds {
    rows: usize,
    control: Vec<f64>,
    treatment: Vec<f64>,
}

impl Seconds {
    fn of(kept: &Kept<'_, '_>, metric: Metric) -> Self {
        let all = |side: &[&[&Stage]]| side.iter().flat_map(|t| t.iter()).map(|s| seconds(s, metric)).collect();
        Self { rows: kept.sides.names.len(), control: all(&kept.control), treatment: all(&kept.treatment) }
    }

    /// Means of a row per arm.
    fn means(&self, row: usize) -> [f64; 2] {
        [&self.control, &self.treatment].map(|side| {
            let trials = side.chunks_exact(self.rows);
            let count = trials.len() as f64;
            trials.map(|t| t[row]).sum::<f64>() / count
        })
    }

    /// (Least, most) seconds of a row.
    fn range(&self, row: usize) -> (f64, f64) {
        let all = self.control.chunks_exact(self.rows).chain(self.treatment.chunks_exact(self.rows));
        all.fold((f64::INFINITY, 0f64), |(least, most), t| (least.min(t[row]), most.max(t[row])))
    }

    /// The time of every trial brought to the work of its reference: its round's control trial, or the first control
    /// trial where there are no rounds.
    fn scaled(&self, kept: &Kept<'_, '_>, way: Normalize, paths_only: &[String]) -> Self {
        let listed: HashSet<&str> = paths_only.iter().map(String::as_str).collect();
        let paths_only: Vec<bool> = kept.sides.names.iter().map(|name| listed.contains(name)).collect();
        let side = |seconds: &[f64], trials: &[&[&Stage]]| {
            let mut out = Vec::with_capacity(seconds.len());
            for (i, (seconds, trial)) in seconds.chunks_exact(self.rows).zip(trials).enumerate() {
                let reference = kept.control[if kept.sides.paired { i } else { 0 }];
                out.extend(
                    seconds
                        .iter()
                        .enumerate()
                        .map(|(row, seconds)| seconds * work::unit(way, paths_only[row], reference[row], trial[row])),
                );
            }
            out
        };
        Self {
            rows: self.rows,
            // Within a round the control is its own reference.
            control: if kept.sides.paired { Vec::new() } else { side(&self.control, &kept.control) },
            treatment: side(&self.treatment, &kept.treatment),
        }
    }
}

/// ln(treatment/control) of the sum of the rows `parts`, per round.
fn paired(raw: &Seconds, scaled: &Seconds, parts: &Range<usize>) -> Sample {
    let sums = |side: &[f64], i: usize| side[i * raw.rows..][parts.clone()].iter().sum::<f64>();
    let rounds = raw.control.len() / raw.rows;
    Sample::Paired((0..rounds).map(|i| (sums(&scaled.treatment, i) / sums(&raw.control, i)).ln()).collect())
}

/// ln of the sum of the rows `parts`, per trial.
fn unpaired(scaled: &Seconds, parts: &Range<usize>) -> Sample {
    let logs =
        |side: &[f64]| side.chunks_exact(scaled.rows).map(|t| t[parts.clone()].iter().sum::<f64>().ln()).collect();
    Sample::Unpaired { control: logs(&scaled.control), treatment: logs(&scaled.treatment) }
}
