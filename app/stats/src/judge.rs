//! A whole comparison: every treatment screened and judged as if alone, but one Holm family over all of them.

use crate::case::{Arm, Case};
use crate::conclude::{Rows, Standing, WITHIN_NOTE, conclude};
use crate::config::{Config, Metric, PerMetric};
use crate::family::{Prepared, RowStats, Side, decide, prepare};
use crate::hull::hull;
use crate::output::{Judgement, Note, Ordered, Outcome, TOTAL};
use crate::reason::{Reason, Verdict};
use crate::screen::{Data, Findings, Notes, Sides, screen};
use crate::table::{Source, table};

/// The state of one treatment on its way to a judgement.
struct Work<'a> {
    arm: &'a Arm,
    sides: Sides<'a>,
    found: Findings,
    data: Data<'a>,
    family: PerMetric<Option<Vec<RowStats>>>,
    stopped: Option<Reason>,
}

impl<'a> Work<'a> {
    fn of(case: &'a Case, arm: &'a Arm) -> Self {
        let sides = Sides::of(case, arm);
        let mut found = Findings {
            notes: Notes::new(sides.names.len()),
            keep: None,
            peaks: [None; 2],
            uncounted: Vec::new(),
            blind: false,
            late: None,
        };
        let screened = if arm.decided.is_some() { Ok(Data::default()) } else { screen(case, arm, &sides, &mut found) };
        let stopped = screened.as_ref().err().copied();
        Self { arm, sides, found, data: screened.unwrap_or_default(), family: PerMetric::default(), stopped }
    }
}

/// Judges a case. Pure: the same case gives the same outcome, on every machine up to the twelve digits that are written.
#[must_use]
pub fn judge(case: &Case) -> Outcome {
    let mut works: Vec<Work<'_>> = case.arms.iter().map(|(_, arm)| Work::of(case, arm)).collect();
    for metric in Metric::ALL {
        decide_metric(&mut works, &case.config, metric);
    }
    let judgements: Vec<(String, Judgement)> =
        case.arms.iter().zip(works).map(|((name, _), work)| (name.clone(), finish(case, work))).collect();
    if case.several {
        let head = judgements.iter().min_by_key(|(_, j)| j.verdict).map(|(name, _)| name.clone());
        Outcome::Several { headline: head.unwrap_or_default(), treatments: Ordered(judgements) }
    } else {
        judgements.into_iter().next().map_or_else(
            || Outcome::Several { headline: String::new(), treatments: Ordered::default() },
            |(_, judgement)| Outcome::Sole(judgement),
        )
    }
}

fn decide_metric(works: &mut [Work<'_>], config: &Config, metric: Metric) {
    let arms = works.len();
    let mut judged: Vec<usize> = Vec::new();
    let mut prepared: Vec<Vec<Prepared>> = Vec::new();
    for (i, work) in works.iter().enumerate() {
        let Some(series) = &work.data[metric] else { continue };
        let ways: Option<Vec<Prepared>> = series.modes.iter().map(|rows| prepare(rows, config, metric)).collect();
        if let Some(ways) = ways {
            judged.push(i);
            prepared.push(ways);
        }
    }
    // A declared treatment that cannot be judged counts with the largest number of rows of the others.
    let most = prepared.iter().map(|ways| ways[0].rows()).max().unwrap_or(0);
    let extra = (arms - judged.len()) * most;
    let ways = prepared.first().map_or(0, Vec::len);
    let mut decided: Vec<Vec<Vec<RowStats>>> = (0..ways)
        .map(|way| decide(&prepared.iter().map(|p| &p[way]).collect::<Vec<_>>(), config, metric, extra))
        .collect();
    for (at, i) in judged.into_iter().enumerate() {
        let mut rows = match decided.as_mut_slice() {
            [only] => std::mem::take(&mut only[at]),
            [raw, per_unit, ..] => raw[at].iter().zip(&per_unit[at]).map(|(a, b)| hull(a, b)).collect(),
            [] => continue,
        };
        if works[i].data[metric].as_ref().is_some_and(|s| !s.claim) {
            rows.iter_mut().for_each(RowStats::retract);
        }
        works[i].family[metric] = Some(rows);
    }
}

fn finish(case: &Case, mut work: Work<'_>) -> Judgement {
    let mut grade = None;
    let known = work.arm.decided.map(|(_, reason)| reason).or(work.stopped);
    let (reason, verdicts) = match known {
        Some(reason) => (reason, None),
        None => conclude_work(case, &mut work, &mut grade),
    };
    let decided = work.arm.decided.is_some();
    let table = table(&Source {
        sides: &work.sides,
        found: &work.found,
        data: &work.data,
        family: &work.family,
        config: &case.config,
        reason: (!decided).then_some(reason),
        judged: verdicts.is_some(),
    });
    let name = |row: usize| work.sides.names.get(row).map_or(TOTAL, |n| n).to_owned();
    let stages = PerMetric::from_fn(|metric| {
        let (series, rows) = (work.data[metric].as_ref()?, work.family[metric].take()?);
        let named: Vec<_> = series.rows.iter().map(|r| name(*r)).zip(rows).collect();
        (!named.is_empty()).then_some(Ordered(named))
    });
    let rows = verdicts.map(|verdicts| {
        let rows = work.data.cpu.as_ref().map_or(&[][..], |s| &s.rows);
        Ordered(rows.iter().map(|r| name(*r)).zip(verdicts).collect())
    });
    Judgement {
        verdict: work.arm.decided.map_or(reason.verdict(), |(verdict, _)| verdict),
        reason,
        rows,
        stages,
        notes: named_notes(&work.found.notes, &work.sides.names),
        table,
        grade,
        declared: work.arm.declared.clone(),
        topology: work.arm.topology,
        decided,
    }
}

fn conclude_work(
    case: &Case,
    work: &mut Work<'_>,
    grade: &mut Option<crate::case::Grade>,
) -> (Reason, Option<Vec<Verdict>>) {
    let (reason, verdicts) = by_rows(case, work, grade);
    if work.found.blind && !regression_in_counted_row(work, reason, verdicts.as_deref()) {
        return (Reason::WorkNotCounted, verdicts);
    }
    (reason, verdicts)
}

/// A regression stands in spite of uncounted work when a row that counts its work shows it.
fn regression_in_counted_row(work: &Work<'_>, reason: Reason, verdicts: Option<&[Verdict]>) -> bool {
    let rows = work.data.cpu.as_ref().map_or(&[][..], |s| &s.rows);
    reason.verdict() == Verdict::Regression
        && rows
            .iter()
            .zip(verdicts.unwrap_or_default())
            .any(|(row, v)| *v == Verdict::Regression && work.found.uncounted.get(*row) == Some(&false))
}

fn by_rows(case: &Case, work: &mut Work<'_>, grade: &mut Option<crate::case::Grade>) -> (Reason, Option<Vec<Verdict>>) {
    if let Some(reason) = work.found.late {
        return (reason, None);
    }
    let (Some(cpu_series), Some(cpu)) = (&work.data.cpu, &work.family.cpu) else {
        return (Reason::NoCalibration, None);
    };
    let elapsed_series = work.data.elapsed.as_ref();
    if elapsed_series.is_some() && work.family.elapsed.is_none() {
        return (Reason::NoCalibration, None);
    }
    let notes = &work.found.notes;
    let standing = Standing {
        named: case.calibration.grade,
        ratios: cpu_series.ratios,
        paired: work.sides.paired,
        rounds: cpu_series.n,
        df: cpu.iter().map(|c| c.df).fold(f64::NEG_INFINITY, f64::max),
        ignored: notes.metric.cpu.contains(&Note::NoiseChangedCalibrationIgnored),
    };
    *grade = Some(standing.grade());
    if let Some(reason) = standing.refusal(&case.config) {
        return (reason, None);
    }
    let total = work.sides.names.len();
    let slow = work.family.elapsed.as_deref().unwrap_or_default();
    let slow_rows = elapsed_series.map_or(&[][..], |s| &s.rows);
    let beside: Vec<Option<&RowStats>> =
        cpu_series.rows.iter().map(|row| slow_rows.iter().position(|r| r == row).map(|at| &slow[at])).collect();
    let alone: Vec<&RowStats> =
        slow_rows.iter().zip(slow).filter(|(row, _)| !cpu_series.rows.contains(row)).map(|(_, e)| e).collect();
    let (reason, verdicts) = conclude(
        &Rows {
            cpu,
            elapsed: &beside,
            total: cpu_series.rows.last() == Some(&total),
            elapsed_rounds: elapsed_series.map_or(0, |s| s.n),
            overhead_dominated: notes.row.cpu.iter().any(|n| n.contains(&Note::OverheadDominated)),
            peaks: work.found.peaks,
            elapsed_alone: &alone,
        },
        &case.config,
    );
    if reason.verdict() == Verdict::Pass {
        for metric in Metric::ALL {
            let (Some(series), Some(rows)) = (&work.data[metric], &work.family[metric]) else { continue };
            for (row, stats) in series.rows.iter().zip(rows) {
                if stats.small == Some(Side::Higher) {
                    work.found.notes.row[metric][*row].push(WITHIN_NOTE);
                }
            }
        }
    }
    (reason, Some(verdicts))
}

fn named_notes(notes: &Notes, names: &[&str]) -> Ordered<Vec<Note>> {
    let mut out: Vec<(String, Vec<Note>)> = Vec::new();
    let mut push = |kind: &str, name: &str, notes: &Vec<Note>| {
        if notes.is_empty() {
            return;
        }
        let key = format!("{kind}:{name}");
        // A row may be named `*`, too.
        match out.iter_mut().find(|(known, _)| *known == key) {
            Some((_, all)) if name == "*" => all.extend(notes),
            _ => out.push((key, notes.clone())),
        }
    };
    push("run", "*", &notes.run);
    for (name, of_row) in names.iter().zip(&notes.work) {
        push("work", name, of_row);
    }
    for metric in Metric::ALL {
        push(metric.key(), "*", &notes.metric[metric]);
        for (name, of_row) in names.iter().chain([&TOTAL]).zip(&notes.row[metric]) {
            push(metric.key(), name, of_row);
        }
    }
    Ordered(out)
}
