//! What is checked before any statistics: same conditions, no failures, whole rows, usable values, the same work.
//! The order of the checks is part of the procedure: the first that applies decides.

use std::collections::HashMap;

use crate::case::{Arm, Case, Control, Event, Reading, Stage, Trial};
use crate::config::{Config, Metric, PerMetric, Work};
use crate::output::Note;
use crate::reason::{Origin, Reason};
use crate::series::{Series, series};
use crate::work;

/// The trials of one arm, and each trial's rows in the order of [`Sides::names`].
pub(crate) struct SideTrials<'a> {
    pub(crate) trials: Vec<&'a Trial>,
    pub(crate) grid: Vec<Vec<Option<&'a Stage>>>,
}

/// Both arms of one treatment.
pub(crate) struct Sides<'a> {
    pub(crate) paired: bool,
    /// Every row of either arm, in the order of appearance.
    pub(crate) names: Vec<&'a str>,
    pub(crate) control: SideTrials<'a>,
    pub(crate) treatment: SideTrials<'a>,
}

impl<'a> Sides<'a> {
    pub(crate) fn of(case: &'a Case, arm: &'a Arm) -> Self {
        let paired = case.config.paired;
        let (control, treatment): (Vec<&Trial>, Vec<&Trial>) = if paired {
            arm.rounds
                .iter()
                .filter_map(|round| {
                    let control = match &round.control {
                        Control::Own(trial) => trial,
                        Control::Shared(index) => case.control.get(*index)?,
                    };
                    Some((control, &round.treatment))
                })
                .unzip()
        } else {
            (case.control.iter().collect(), arm.trials.iter().collect())
        };
        let order: Vec<&Trial> = if paired {
            control.iter().zip(&treatment).flat_map(|(c, t)| [*c, *t]).collect()
        } else {
            control.iter().chain(&treatment).copied().collect()
        };
        let (mut names, mut index) = (Vec::new(), HashMap::new());
        for trial in order {
            for (at, (name, _)) in trial.stages.iter().enumerate() {
                // Trials mostly list the same rows in the same order: then no look-up is needed.
                if names.get(at).is_some_and(|known| *known == name.as_str()) {
                    continue;
                }
                index.entry(name.as_str()).or_insert_with(|| {
                    names.push(name.as_str());
                    names.len() - 1
                });
            }
        }
        let grid = |trials: &[&'a Trial]| trials.iter().map(|t| row_of(t, &names, &index)).collect();
        Self {
            paired,
            control: SideTrials { grid: grid(&control), trials: control },
            treatment: SideTrials { grid: grid(&treatment), trials: treatment },
            names,
        }
    }
}

fn row_of<'a>(trial: &'a Trial, names: &[&str], index: &HashMap<&str, usize>) -> Vec<Option<&'a Stage>> {
    let mut row = vec![None; names.len()];
    for (at, (name, stage)) in trial.stages.iter().enumerate() {
        let place = if names.get(at) == Some(&name.as_str()) { Some(at) } else { index.get(name.as_str()).copied() };
        if let Some(slot) = place.and_then(|p| row.get_mut(p)) {
            *slot = Some(stage);
        }
    }
    row
}

/// Notes by place. Rows are indices into [`Sides::names`]; the index behind the last is TOTAL.
pub(crate) struct Notes {
    pub(crate) run: Vec<Note>,
    pub(crate) work: Vec<Vec<Note>>,
    pub(crate) metric: PerMetric<Vec<Note>>,
    pub(crate) row: PerMetric<Vec<Vec<Note>>>,
}

impl Notes {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            run: Vec::new(),
            work: vec![Vec::new(); rows],
            metric: PerMetric::default(),
            row: PerMetric::from_fn(|_| vec![Vec::new(); rows + 1]),
        }
    }
}

/// What screening finds on its way, whether it stops or not.
pub(crate) struct Findings {
    pub(crate) notes: Notes,
    /// The trials that count per metric, once that is known.
    pub(crate) keep: Option<PerMetric<Vec<usize>>>,
    /// Largest peak memory of (control, treatment).
    pub(crate) peaks: [Option<f64>; 2],
    /// Rows that do not count their work.
    pub(crate) uncounted: Vec<bool>,
    /// Too much CPU time in such rows.
    pub(crate) blind: bool,
    /// A reason that holds whatever the statistics say.
    pub(crate) late: Option<Reason>,
}

/// What enters the statistics, per metric that can be judged.
pub(crate) type Data<'a> = PerMetric<Option<Series<'a>>>;

/// Screens one treatment. `Err` is the reason that decides it.
pub(crate) fn screen<'a>(
    case: &'a Case,
    arm: &Arm,
    sides: &Sides<'a>,
    found: &mut Findings,
) -> Result<Data<'a>, Reason> {
    let config = &case.config;
    conditions(arm, sides)?;
    guardrails(arm, sides, config, found)?;
    let rows = whole_rows(sides)?;
    usable_values(&rows)?;
    found.keep = Some(PerMetric {
        cpu: (0..rows.treatment.len()).collect(),
        elapsed: if sides.paired { clock_unspoiled(sides) } else { Vec::new() },
    });
    let keep = PerMetric::from_fn(|metric| rows.counting(metric, found));
    for metric in Metric::ALL {
        not_cached(&keep[metric], metric, config)?;
    }
    work::same(&rows, config, found)?;
    found.uncounted = work::uncounted(&rows, config);
    let share = work::uncounted_share(&rows, &found.uncounted);
    found.blind = share > config.work_uncounted_max && config.work != Work::UncountedOk;
    for (row, _) in found.uncounted.iter().enumerate().filter(|(_, uncounted)| **uncounted) {
        found.notes.work[row].push(Note::NotCounted);
    }
    plausible(&keep.elapsed, config)?;
    let mut data = Data::default();
    for metric in Metric::ALL {
        let kept = &keep[metric];
        if kept.treatment.is_empty() || (metric == Metric::Elapsed && !sides.paired) {
            found.notes.metric[metric].push(Note::NotJudged);
            continue;
        }
        if kept.treatment.len() < rows.treatment.len() {
            found.notes.metric[metric].push(Note::RoundsDropped);
        }
        data[metric] = Some(series(case, kept, metric, found)?);
    }
    Ok(data)
}

/// Unequal conditions come before everything that was measured under them.
fn conditions(arm: &Arm, sides: &Sides<'_>) -> Result<(), Reason> {
    let outside = arm.confirmations.iter().any(|c| c.control.is_some() || c.treatment.is_some());
    let empty = sides.control.trials.is_empty() && sides.treatment.trials.is_empty() && !outside;
    if empty && arm.blocked.is_none() && arm.fingerprint_mismatch.is_none() {
        return Err(Reason::NoData);
    }
    if arm.fingerprint_mismatch.is_some() {
        return Err(Reason::FingerprintMismatch);
    }
    match arm.blocked {
        Some(reason) if reason.origin() == Origin::Conditions => Err(reason),
        _ => Ok(()),
    }
}

fn count(trials: &[&Trial], event: Event) -> u64 {
    trials.iter().map(|t| t.events.count(event)).sum()
}

fn peak(trials: &[&Trial]) -> Option<f64> {
    trials.iter().flat_map(|t| &t.stages).filter_map(|(_, s)| s.mem_peak_bytes_max.value()).reduce(f64::max)
}

/// Failures and memory. They are the treatment's only where the control is clean.
fn guardrails(arm: &Arm, sides: &Sides<'_>, config: &Config, found: &mut Findings) -> Result<(), Reason> {
    let mut control = sides.control.trials.clone();
    control.extend(arm.confirmations.iter().filter_map(|c| c.control.as_ref()));
    let mut treatment = sides.treatment.trials.clone();
    treatment.extend(arm.confirmations.iter().filter_map(|c| c.treatment.as_ref()));
    let (oom, failure) = (Event::Oom, Event::AppFailure);
    let (in_control, in_treatment) = (|e| count(&control, e), |e| count(&treatment, e));
    found.peaks = [peak(&control), peak(&treatment)];
    let sure = |e| arm.confirmed || in_treatment(e) as f64 >= config.confirm_count;

    if in_treatment(oom) > 0 && in_control(oom) > 0 {
        return Err(Reason::OomBothArms);
    }
    if in_treatment(oom) > 0 && sure(oom) {
        return Err(Reason::NewOom);
    }
    if let (Some(limit), [control_peak, Some(treatment_peak)]) = (config.mem_limit, found.peaks)
        && treatment_peak > limit
    {
        let both = control_peak.is_some_and(|p| p > limit);
        return Err(if both { Reason::MemOverLimitBothArms } else { Reason::MemOverLimit });
    }
    if in_treatment(failure) > 0 && in_control(failure) > 0 {
        return Err(Reason::AppFailureBothArms);
    }
    if in_treatment(failure) > 0 && sure(failure) {
        return Err(Reason::NewAppFailure);
    }
    if in_control(oom) > 0 || in_control(failure) > 0 {
        return Err(Reason::ControlFailed);
    }
    let clean = arm
        .confirmations
        .iter()
        .filter_map(|c| c.treatment.as_ref())
        .filter(|t| t.events.count(oom) == 0 && t.events.count(failure) == 0)
        .count();
    for (event, reason, acquitted) in [
        (oom, Reason::NewOomUnconfirmed, Note::OomNotRepeated),
        (failure, Reason::NewAppFailureUnconfirmed, Note::AppFailureNotRepeated),
    ] {
        if in_treatment(event) > 0 {
            // A failed trial inside a round is not measured: its round must have been replaced.
            if (clean as f64) < config.confirm_clean || count(&sides.treatment.trials, event) > 0 {
                return Err(reason);
            }
            found.notes.run.push(acquitted);
        }
    }
    if let Some(reason) = arm.blocked {
        return Err(reason);
    }
    let churned = |trials: &[&Trial]| Event::CHURN.iter().any(|e| count(trials, *e) > 0);
    if churned(&sides.control.trials) || churned(&sides.treatment.trials) {
        return Err(Reason::InfraChurn);
    }
    Ok(())
}

/// Trials with every row present.
pub(crate) struct Rows<'s, 'a> {
    pub(crate) sides: &'s Sides<'a>,
    pub(crate) control: Vec<Vec<&'a Stage>>,
    pub(crate) treatment: Vec<Vec<&'a Stage>>,
}

/// The trials that count for one metric.
pub(crate) struct Kept<'s, 'a> {
    pub(crate) sides: &'s Sides<'a>,
    pub(crate) control: Vec<&'s [&'a Stage]>,
    pub(crate) treatment: Vec<&'s [&'a Stage]>,
}

impl<'s, 'a> Rows<'s, 'a> {
    pub(crate) fn every(&self) -> impl Iterator<Item = &Vec<&'a Stage>> {
        self.control.iter().chain(&self.treatment)
    }

    /// Which trials must have done the same work: the rounds, or every control with every treatment trial.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        if self.sides.paired {
            (0..self.treatment.len()).map(|i| (i, i)).collect()
        } else {
            (0..self.control.len()).flat_map(|c| (0..self.treatment.len()).map(move |t| (c, t))).collect()
        }
    }

    fn counting(&'s self, metric: Metric, found: &Findings) -> Kept<'s, 'a> {
        let all = |side: &'s [Vec<&'a Stage>]| side.iter().map(Vec::as_slice).collect();
        match &found.keep {
            Some(keep) if self.sides.paired => Kept {
                sides: self.sides,
                control: keep[metric].iter().map(|i| self.control[*i].as_slice()).collect(),
                treatment: keep[metric].iter().map(|i| self.treatment[*i].as_slice()).collect(),
            },
            _ => Kept { sides: self.sides, control: all(&self.control), treatment: all(&self.treatment) },
        }
    }
}

fn whole_rows<'s, 'a>(sides: &'s Sides<'a>) -> Result<Rows<'s, 'a>, Reason> {
    let (control, treatment) = (&sides.control.grid, &sides.treatment.grid);
    if control.is_empty() || treatment.is_empty() || sides.names.is_empty() {
        return Err(Reason::NoData);
    }
    let whole = |grid: &[Vec<Option<&'a Stage>>]| {
        grid.iter().map(|row| row.iter().copied().collect()).collect::<Option<Vec<Vec<&'a Stage>>>>()
    };
    let (Some(control), Some(treatment)) = (whole(control), whole(treatment)) else {
        return Err(Reason::MissingStage);
    };
    let rows = Rows { sides, control, treatment };
    if rows.every().flatten().any(|s| s.not_ended.is_some()) {
        return Err(Reason::FailedStage);
    }
    Ok(rows)
}

fn usable_values(rows: &Rows<'_, '_>) -> Result<(), Reason> {
    let every: Vec<&[&Stage]> = rows.every().map(Vec::as_slice).collect();
    let all_usable = (0..rows.sides.names.len()).all(|row| usable(&every, row));
    if all_usable { Ok(()) } else { Err(Reason::BadValue) }
}

fn usable(every: &[&[&Stage]], row: usize) -> bool {
    let required = |reading: Reading| reading.value().is_some();
    // What may be missing must not be bad where it is there.
    let if_there = |reading: Reading| reading != Reading::Bad;
    let (mut no_items, mut no_bytes) = (0, 0);
    for stage in every.iter().map(|t| t[row]) {
        let fine = required(stage.cpu_time_total)
            && required(stage.elapsed)
            && required(stage.mem_peak_bytes_max)
            && if_there(stage.items)
            && if_there(stage.bytes_processed)
            && if_there(stage.total_shards)
            && if_there(stage.row_executions);
        if !fine {
            return false;
        }
        no_items += usize::from(stage.items.is_missing());
        no_bytes += usize::from(stage.bytes_processed.is_missing());
    }
    // Not counted in any trial is a fact about the row; counted in some is a gap.
    [no_items, no_bytes].iter().all(|missing| *missing == 0 || *missing == every.len())
}

/// The rounds whose clock was not spoiled in either arm.
fn clock_unspoiled(sides: &Sides<'_>) -> Vec<usize> {
    let spoiled = |t: &Trial| t.events.count(Event::ChurnElapsed) > 0;
    (0..sides.treatment.trials.len())
        .filter(|i| !spoiled(sides.treatment.trials[*i]) && !spoiled(sides.control.trials[*i]))
        .collect()
}

/// Seconds of a row. Screening has made sure that they are there.
pub(crate) fn seconds(stage: &Stage, metric: Metric) -> f64 {
    stage.metric(metric).value().unwrap_or(f64::NAN)
}

fn not_cached(kept: &Kept<'_, '_>, metric: Metric, config: &Config) -> Result<(), Reason> {
    let every: Vec<&[&Stage]> = kept.control.iter().chain(&kept.treatment).copied().collect();
    if every.is_empty() {
        return Ok(());
    }
    let floor = config.min_value[metric];
    let big: Vec<usize> =
        (0..kept.sides.names.len()).filter(|row| every.iter().any(|t| seconds(t[*row], metric) >= floor)).collect();
    let idle = |t: &&[&Stage]| big.iter().all(|row| seconds(t[*row], metric) == 0.0);
    let all_idle = every.iter().all(|t| t.iter().all(|s| seconds(s, metric) == 0.0));
    if (!big.is_empty() && every.iter().any(idle)) || all_idle { Err(Reason::Cached) } else { Ok(()) }
}

fn plausible(kept: &Kept<'_, '_>, config: &Config) -> Result<(), Reason> {
    let Some(cores) = config.pool_cores else { return Ok(()) };
    let impossible = |s: &&Stage| {
        let (cpu, elapsed) = (seconds(s, Metric::Cpu), seconds(s, Metric::Elapsed));
        cpu >= config.min_value.cpu && elapsed * cores * (1.0 + config.plausible_tol) < cpu
    };
    let any = kept.control.iter().chain(&kept.treatment).any(|t| t.iter().any(impossible));
    if any { Err(Reason::Implausible) } else { Ok(()) }
}
