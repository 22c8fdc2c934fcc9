//! The view of a folder: what readers are told, from the folder alone.

use std::collections::{BTreeMap, BTreeSet};

use domain::arms::Role;
use domain::comparability::Sameness;
use domain::ids::{CommitSha, RunId};
use domain::plan::Plan;
use domain::ports::{Alive, Discard, Ending, Fate, How, LookKind, TrialFate};
use domain::rounds::TrialName;
use domain::setting::Setting;
use domain::tally::RowContext;
use domain::time::Ms;
use domain::view::{
    ArmFacts, Average, Busy, Calibrated, Difference, Fingerprint, Happening, Infrastructure, Job, Moment, Output,
    Provenance, State, Surface, Texts, Treatment, Trouble, View,
};
use stats::{Event, Reading};

use crate::bundle::Bundle;
use crate::judge::Judgment;
use crate::reproduce;
use crate::trials::{self, Seen, bad};

/// What the jobs begin with that nobody could look up: processes of this machine, and executions without a job.
const NAMELESS: [&str; 2] = ["/local/", "/executions/"];

/// The view of a folder whose run ended as `ending` says. `judgment` is the last one, where it ended with a verdict.
#[must_use]
pub fn view(bundle: &Bundle, ending: &Ending, judgment: Option<&Judgment>) -> View {
    let plan = &bundle.plan;
    let read = trials::all(bundle);
    let all = &read.trials[..];
    let mut view = match judgment {
        Some(judgment) => judged(plan, judgment),
        None => unjudged(plan, all),
    };
    view.surface = match (plan.origin.pull.is_some(), plan.origin.ran.is_empty()) {
        (true, true) => Surface::Comment,
        (true, false) => Surface::CommentJobs,
        (false, true) => Surface::CommandLine,
        (false, false) => Surface::Jobs,
    };
    let job = |alive: &Alive| alive.job.as_ref().map_or_else(|| alive.trial.to_string(), ToString::to_string);
    let alive = || ending.alive.iter().map(|alive| Job { id: job(alive), url: None }).collect();
    view.state = match &ending.how {
        How::Judged { .. } => State::Done,
        How::Ended { how, why } => State::Ended { how: *how, why: why.clone(), alive: alive() },
    };
    view.workload = reproduce::facts(plan);
    view.scope.clone_from(&plan.scope);
    let origin = &plan.origin;
    let known = |role: &Role| !origin.unknown_commits.contains(&role.to_string());
    view.control.sha = Some(plan.arms.control().to_string()).filter(|_| known(&Role::Control));
    view.control.base_ref = Some(origin.base.clone()).filter(|base| !base.is_empty());
    view.control.behind = origin.behind;
    view.control.jobs = jobs(all, &Role::Control, judgment);
    view.control.outputs = outputs(all, &Role::Control, judgment);
    view.control.errors = errors(bundle, &Role::Control);
    for (shown, treatment) in view.treatments.iter_mut().zip(plan.arms.treatments()) {
        let role = Role::Treatment(treatment.name.clone());
        shown.name = treatment.name.to_string();
        shown.sha = Some(treatment.commit.to_string()).filter(|_| known(&role));
        shown.jobs = jobs(all, &role, judgment);
        shown.outputs = outputs(all, &role, judgment);
        shown.errors = errors(bundle, &role);
        shown.started = Some(all.iter().any(|seen| seen.fate.role == role && started(seen.fate)));
    }
    if let Some(judgment) = judgment {
        compared(&mut view, plan, judgment);
    }
    view.context = context(plan);
    view.averages = plan.roles().iter().flat_map(|role| averages(all, role, judgment)).collect();
    view.queries = queries(all, judgment);
    view.coarser = read.coarser.clone().filter(|_| judgment.is_some());
    view.rounds.planned = Some(plan.rounds());
    view.rounds.looks.clone_from(&plan.looks);
    let declared =
        bundle.runs().flat_map(|run| &run.looks).filter(|l| matches!(l.look.kind, LookKind::Declared { .. }));
    view.rounds.looked = Some(declared.count() as u64);
    view.calibration = calibration(plan, view.calibration);
    let before = bundle.earlier.iter().filter_map(|run| run.ending.as_ref());
    let replaced = before.chain([ending]).map(|ending| u64::from(ending.replaced)).sum();
    view.infrastructure = Some(infrastructure(plan, all, replaced));
    view.troubles = plan.roles().iter().flat_map(|role| troubles(bundle, role)).collect();
    view.timeline = all.iter().filter_map(moment).collect();
    view.reproduce = reproduce::lines(plan, bundle.repository);
    // Jobs that somebody named on a pull request need not be of its head.
    let head = |commit: &CommitSha| origin.ran.is_empty() || origin.head.is_empty() || origin.head == commit.as_str();
    view.provenance = Provenance {
        repository: Some(origin.repository.clone()).filter(|repository| !repository.is_empty()),
        head: plan
            .arms
            .treatments()
            .first()
            .filter(|treatment| known(&Role::Treatment(treatment.name.clone())) && head(&treatment.commit))
            .map(|treatment| treatment.commit.to_string()),
        merge_base: origin.merge_bases.first().map(ToString::to_string),
        run: Some(plan.run.to_string()),
        ..Provenance::default()
    };
    view
}

/// The view of a run that goes on: what was measured so far, by the last judgement that there is.
#[must_use]
pub fn live(bundle: &Bundle, state: State) -> View {
    let how = How::Ended { how: domain::view::Ending::Cancelled, why: None };
    let (run, zero) = (bundle.plan.run.clone(), Ms(0));
    let nothing = Ending { run, how, started: zero, ended: zero, replaced: 0, alive: Vec::new() };
    let judgment = bundle.looks.last().and_then(|line| crate::judge::of(bundle, &line.look).ok());
    let mut view = view(bundle, &nothing, judgment.as_ref());
    view.state = state;
    view
}

fn judged(plan: &Plan, judgment: &Judgment) -> View {
    let texts = Texts { suite: Some(plan.suite.to_string()), title: Some(plan.title.clone()), ..Texts::default() };
    View::of_case(&judgment.case, &judgment.outcome, texts)
}

/// Without a verdict, the rounds in which every arm was measured are those that are there.
fn unjudged(plan: &Plan, all: &[Seen<'_>]) -> View {
    let mut view = View::new(plan.suite.as_str(), plan.title.as_str(), State::Planning);
    let mut rounds: BTreeMap<(&RunId, u32, u32), usize> = BTreeMap::new();
    for fate in all.iter().map(|seen| seen.fate).filter(|fate| fate.fate == Fate::Counted) {
        *rounds.entry((&fate.name.run, fate.name.round, fate.name.replacement)).or_default() += 1;
    }
    view.rounds.done = rounds.values().filter(|arms| **arms == plan.roles().len()).count() as u64;
    view.treatments = plan.treatments().iter().map(|name| Treatment::new(name.as_str())).collect();
    view
}

/// What comparing the workloads came to: with both values, where the case has those of the treatment only.
fn compared(view: &mut View, plan: &Plan, judgment: &Judgment) {
    let text = |value: &Option<Setting>| value.as_ref().map(Setting::to_string);
    let shown = |d: &domain::comparability::Difference| Difference {
        field: d.field.clone(),
        control: text(&d.control),
        treatment: text(&d.treatment),
    };
    let mut differences: Vec<Difference> = Vec::new();
    for (index, comparison) in judgment.gathered.comparisons.iter().enumerate() {
        let Some(treatment) = view.treatments.get_mut(index) else { continue };
        treatment.declared = comparison.declared.iter().map(shown).collect();
        treatment.errors.extend(judgment.gathered.problems.get(index).into_iter().flatten().cloned());
        let undeclared = match &comparison.sameness {
            Sameness::Differs(differences) => differences.iter().map(shown).collect(),
            Sameness::Unknown(fields) => {
                let unknown = |field: &String| Difference { field: field.clone(), control: None, treatment: None };
                fields.iter().map(unknown).collect()
            }
            Sameness::Equal => Vec::new(),
        };
        treatment.mismatch.clone_from(&undeclared);
        differences.extend(undeclared);
    }
    let declared: Vec<String> =
        plan.arms.treatments().iter().flat_map(|t| t.declared.entries().map(|(key, _)| key)).collect();
    let except: Vec<&str> = declared.iter().map(String::as_str).collect();
    view.fingerprint = plan.workloads.get("control").and_then(|workload| {
        let fields = reproduce::set(workload).into_iter().map(|(name, value)| (name, value.to_string()));
        Some(Fingerprint {
            digest: workload.fingerprint(&except).ok()?.to_string(),
            fields: fields.filter(|(name, _)| !except.contains(&name.as_str())).collect(),
            differences,
        })
    });
}

/// Whether a trial is one of those that are shown: those of counted rounds, or every one where nothing was judged.
fn shown(seen: &Seen<'_>, role: &Role, judgment: Option<&Judgment>) -> bool {
    seen.fate.role == *role && judgment.is_none_or(|judgment| judgment.gathered.counted.contains(&seen.fate.name))
}

fn jobs(all: &[Seen<'_>], role: &Role, judgment: Option<&Judgment>) -> Vec<Job> {
    let named = |job: &Job| !NAMELESS.iter().any(|user| job.id.starts_with(user));
    all.iter().filter(|seen| shown(seen, role, judgment)).map(|seen| job(seen.fate)).filter(named).collect()
}

fn job(fate: &TrialFate) -> Job {
    Job { id: fate.job.as_ref().map_or_else(|| fate.name.to_string(), ToString::to_string), url: None }
}

/// The outputs that every counted trial of an arm made alike; one that changes from trial to trial says nothing.
fn outputs(all: &[Seen<'_>], role: &Role, judgment: Option<&Judgment>) -> Vec<Output> {
    let mut digests: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
    for seen in all.iter().filter(|seen| shown(seen, role, judgment)) {
        for step in seen.answers.iter().flatten().flat_map(|answers| &answers.steps) {
            digests.entry(&step.step).or_default().insert(step.output_digest.as_deref());
        }
    }
    let alike = |(name, all): (&str, BTreeSet<Option<&str>>)| match all.into_iter().collect::<Vec<_>>()[..] {
        [Some(digest)] => Some(Output { name: name.to_owned(), digest: digest.to_owned() }),
        _ => None,
    };
    digests.into_iter().filter_map(alike).collect()
}

fn errors(bundle: &Bundle, role: &Role) -> Vec<String> {
    let mut lines = Vec::new();
    for run in bundle.runs() {
        for fate in run.fates.iter().filter(|fate| fate.role == *role) {
            let Some(bad) = bad(run, fate) else { continue };
            lines.push(format!("{}: {}", place(&fate.name), bad.what));
            lines.extend(bad.said.iter().map(|line| format!("  {line}")));
        }
    }
    lines
}

/// What went wrong in an arm, alike things once, with what was printed the last time.
fn troubles(bundle: &Bundle, role: &Role) -> Vec<Trouble> {
    let mut all: Vec<Trouble> = Vec::new();
    for run in bundle.runs() {
        for bad in run.fates.iter().filter(|fate| fate.role == *role).filter_map(|fate| bad(run, fate)) {
            match all.iter_mut().find(|trouble| trouble.what == bad.what) {
                Some(known) => {
                    known.times += 1;
                    known.said = bad.said;
                }
                None => all.push(Trouble { arm: role.to_string(), what: bad.what, times: 1, said: bad.said }),
            }
        }
    }
    all
}

/// Whether the backend was ever asked to run a trial.
fn started(fate: &TrialFate) -> bool {
    fate.submitted.is_some() || fate.running.is_some() || fate.job.is_some()
}

fn context(plan: &Plan) -> Vec<Difference> {
    let Some(control) = plan.contexts.get("control") else { return Vec::new() };
    let several = plan.arms.treatments().len() > 1;
    let mut all = Vec::new();
    for name in plan.treatments() {
        let Some(treatment) = plan.contexts.get(name.as_str()) else { continue };
        for d in control.differences(treatment) {
            let field = if several { format!("{name}: {}", d.field) } else { d.field };
            all.push(Difference { field, control: d.control, treatment: d.treatment });
        }
    }
    all
}

/// The plan says how old a calibration is and where it is from; the judgement says what it is worth here.
fn calibration(plan: &Plan, judged: Option<Calibrated>) -> Option<Calibrated> {
    match (&plan.calibrated, judged) {
        (Some(planned), Some(judged)) => Some(Calibrated { grade: judged.grade, ..planned.clone() }),
        (planned, judged) => planned.clone().or(judged),
    }
}

/// What happened on the machines in every trial, replaced ones too.
fn infrastructure(plan: &Plan, all: &[Seen<'_>], replaced: u64) -> Infrastructure {
    let arms = plan.roles().into_iter().map(|role| {
        let mut counts: BTreeMap<Happening, u64> = BTreeMap::new();
        let (mut hosts, mut zones) = (BTreeSet::new(), BTreeSet::new());
        let mut peak_task_mib = None;
        for seen in all.iter().filter(|seen| seen.fate.role == role) {
            for (what, times) in happenings(seen) {
                *counts.entry(what).or_default() += times;
            }
            let loads = seen.answers.iter().flatten().filter_map(|answers| answers.load.as_ref());
            hosts.extend(loads.filter_map(|load| load.host.class()));
            if let Some(facts) = seen.cluster() {
                hosts.extend(facts.hosts.keys().cloned());
                zones.extend(facts.zones.iter().cloned());
                peak_task_mib = peak_task_mib.max(facts.peak_task_mib);
                let again = facts.retried_shards.saturating_add(facts.retried_workers);
                if again > 0 {
                    *counts.entry(Happening::Retry).or_default() += again;
                }
            }
        }
        ArmFacts {
            arm: role.to_string(),
            happened: counts.into_iter().collect(),
            host_classes: hosts.into_iter().collect(),
            zones: zones.into_iter().collect(),
            peak_task_mib,
        }
    });
    Infrastructure {
        arms: arms.collect(),
        replaced_rounds: Some(replaced),
        priority: priority(plan, all),
        busy: busy(all),
        remarks: remarks(all),
    }
}

/// The averages of each row over the trials of an arm that are shown: one that a trial lacks is not given.
fn averages(all: &[Seen<'_>], role: &Role, judgment: Option<&Judgment>) -> Vec<Average> {
    let mut rows: BTreeMap<&str, Vec<&RowContext>> = BTreeMap::new();
    for seen in all.iter().filter(|seen| shown(seen, role, judgment)) {
        for (row, context) in seen.answers.iter().flatten().flat_map(|answers| &answers.context) {
            rows.entry(row).or_default().push(context);
        }
    }
    let mean = |values: Vec<Option<f64>>| {
        let known: Option<Vec<f64>> = values.into_iter().collect();
        known.map(|known| known.iter().sum::<f64>() / known.len() as f64)
    };
    let average = |(row, contexts): (&str, Vec<&RowContext>)| Average {
        arm: role.to_string(),
        row: row.to_owned(),
        cpu_pct: mean(contexts.iter().map(|context| context.cpu_pct_avg).collect()),
        mem_bytes: mean(contexts.iter().map(|context| context.mem_bytes_avg).collect()),
    };
    rows.into_iter().map(average).collect()
}

/// Jobs that stand in one query.
const IN_A_QUERY: usize = 20;

/// The query that fetches the records behind the table. The ids of jobs have no quote.
fn queries(all: &[Seen<'_>], judgment: Option<&Judgment>) -> Vec<String> {
    let counted = all.iter().filter(|seen| {
        seen.cluster().is_some() && judgment.is_some_and(|j| j.gathered.counted.contains(&seen.fate.name))
    });
    let named = |job: &&domain::ids::JobId| !NAMELESS.iter().any(|user| job.as_str().starts_with(user));
    let jobs: Vec<String> =
        counted.filter_map(|seen| seen.fate.job.as_ref().filter(named)).map(|job| format!("'{job}'")).collect();
    let query = |jobs: &[String]| {
        format!(
            "SELECT e.root_job_id, s.* FROM \"zephyr.execution\" e LEFT JOIN \"zephyr.stage\" s USING (execution_id) WHERE e.root_job_id IN ({}) ORDER BY 1, s.execution_id, s.stage_name",
            jobs.join(", ")
        )
    };
    jobs.chunks(IN_A_QUERY).map(query).collect()
}

/// The priority in force, and the one that was asked for where that is another.
fn priority(plan: &Plan, all: &[Seen<'_>]) -> Option<String> {
    let in_force: BTreeSet<&str> = all.iter().filter_map(|seen| seen.cluster()?.priority.as_deref()).collect();
    if in_force.is_empty() {
        return None;
    }
    let said = in_force.iter().copied().collect::<Vec<_>>().join(" and ");
    let asked = plan.launches.get("control").and_then(|launch| launch.get("priority")?.as_str());
    Some(match asked {
        Some(asked) if !in_force.contains(asked) => format!("{said}, asked for {asked}"),
        _ => said,
    })
}

/// What the trials say of how they were collected, alike things once.
fn remarks(all: &[Seen<'_>]) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for remark in all.iter().filter_map(Seen::cluster).flat_map(|facts| &facts.remarks) {
        if !remarks.contains(remark) {
            remarks.push(remark.clone());
        }
    }
    remarks
}

/// The largest load that a step of a counted trial met, where that is more than there are processors and others than
/// the step took at least a tenth of what the machine can do.
fn busy(all: &[Seen<'_>]) -> Option<Busy> {
    let (mut most, mut others, mut could): (Option<Busy>, f64, f64) = (None, 0.0, 0.0);
    for answers in
        all.iter().filter(|seen| seen.fate.fate == Fate::Counted).flat_map(|seen| seen.answers.iter().flatten())
    {
        let Some((load, cores)) = answers.load.as_ref().and_then(|load| Some((load, load.host.cores?))) else {
            continue;
        };
        let elapsed = answers.trial.stages.iter().filter_map(|(_, stage)| match stage.elapsed {
            Reading::Value(seconds) => Some(seconds),
            _ => None,
        });
        could += elapsed.sum::<f64>() * cores as f64;
        others += load.steps.iter().filter_map(|step| step.other_seconds).sum::<f64>();
        for [load, ..] in load.steps.iter().filter_map(|step| step.machine.load_before) {
            if load > cores as f64 && most.is_none_or(|most| load > most.load) {
                most = Some(Busy { load, cores });
            }
        }
    }
    most.filter(|_| others > could / 10.0)
}

fn happenings(seen: &Seen<'_>) -> Vec<(Happening, u64)> {
    let events = match &seen.fate.fate {
        Fate::Discarded(Discard::Infrastructure(_) | Discard::Lost | Discard::Abandoned) => {
            return vec![(Happening::InfraFailure, 1)];
        }
        Fate::Discarded(Discard::TimeLimit) => return vec![(Happening::UnknownFailure, 1)],
        Fate::Discarded(_) => return Vec::new(),
        Fate::Counted | Fate::Failed(_) => match seen.trial() {
            Some(Ok(trial)) => trial.events,
            _ => return Vec::new(),
        },
    };
    let known = |event: Event| match event {
        Event::Oom => Happening::Oom,
        Event::AppFailure => Happening::AppFailure,
        Event::ChurnElapsed => Happening::LostWorker,
        Event::Preempted => Happening::Preemption,
        Event::HardwareFault => Happening::HardwareFault,
        Event::InfraFailure => Happening::InfraFailure,
        Event::Straggler => Happening::Straggler,
        Event::UnknownFailure => Happening::UnknownFailure,
    };
    Event::ALL.into_iter().map(|event| (known(event), events.count(event))).filter(|(_, n)| *n > 0).collect()
}

/// How long a trial took, and how busy the machine was when its first step started.
fn moment(seen: &Seen<'_>) -> Option<Moment> {
    let TrialFate { name, role, fate, submitted, running, ended, .. } = seen.fate;
    let began = running.or(*submitted)?;
    let mut what = format!("{}, {role}", place(name));
    match fate {
        Fate::Counted => {}
        Fate::Failed(_) => what.push_str(", failed"),
        Fate::Discarded(_) => what.push_str(", discarded"),
    }
    let load = seen.answers.iter().flatten().find_map(|answers| answers.load.as_ref());
    if let Some([load, ..]) = load.and_then(|load| load.steps.first()).and_then(|step| step.machine.load_before) {
        what = format!("{what}, load of the machine before it {load:.2}");
    }
    let seconds = ended.map(|ended| ended.since(began) as f64 / 1000.0);
    Some(Moment { what, began: Some(domain::time::utc(began)), seconds, job: Some(job(seen.fate)) })
}

/// `round 2`, `round 2, replacement 1`.
fn place(name: &TrialName) -> String {
    match name.replacement {
        0 => format!("round {}", name.round),
        n => format!("round {}, replacement {n}", name.round),
    }
}
