//! The answer of `plan`: what a comparison would be, from its plan and from what is expected of it.

#[cfg(test)]
mod tests;

use domain::arms::Role;
use domain::plan::Plan;
use domain::rounds::RoundMode;
use domain::view::{Answer, Block, Calibrated, Kind, Span};
use evidence::numbers;

use super::answers::{code, words};
use super::views::SHOWN;

/// What a plan does not say of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// The line that starts it.
    pub line: String,
    /// Expected CPU hours of one trial.
    pub cost_cpu_hours: Option<f64>,
    /// Expected wall-clock time of one trial, milliseconds.
    pub wall_ms: Option<u64>,
    /// Where both are from, such as `mean of 6 runs of this workload`. Part of a sentence; may be empty.
    pub estimate_source: String,
    /// Which of the changed paths lead to this workload and why, a line each. Paths are foreign text.
    pub scope: Vec<String>,
    /// Why a person must agree first, where that is so.
    pub confirm: Option<String>,
}

/// What a comparison would be. Nothing was started for it.
#[must_use]
pub fn plan(plan: &Plan, extra: &Preview) -> Answer {
    let head = plan.arms.treatments().first().map_or_else(|| plan.arms.control(), |treatment| &treatment.commit);
    let title = vec![
        code(plan.suite.as_str()),
        words(" would compare "),
        code(head.short()),
        words(" with "),
        code(plan.arms.control().short()),
    ];
    let titled = |title: &str| Some(title.to_owned());
    let mut blocks = vec![(None, arms(plan))];
    if !extra.scope.is_empty() {
        blocks.push((titled("Scope"), Block::List(extra.scope.iter().map(|line| vec![words(line)]).collect())));
    }
    blocks.push((titled("Workload"), Block::List(workload(plan))));
    let rows = [rounds(plan), cost(plan, extra), last(plan, extra)].concat();
    let rows = rows.into_iter().map(|(what, is)| vec![vec![words(what)], is]).collect();
    blocks.push((titled("Rounds and cost"), Block::Table { head: vec![String::new(), String::new()], rows }));
    let notes = notes(plan);
    if !notes.is_empty() {
        blocks.push((titled("Notes"), Block::List(notes)));
    }
    let then = if extra.confirm.is_some() || plan.skip.is_some() {
        " asks for it, and it then waits for an agreement."
    } else {
        " starts it."
    };
    blocks.push((None, Block::Paragraph(vec![words("Nothing was started. "), code(&extra.line), words(then)])));
    Answer { kind: Kind::Plan, title, blocks }
}

/// Which kinds of change a comparison is about and why, a line each; that none of it matters, where that is so. Foreign text.
#[must_use]
pub fn scope(plan: &Plan) -> Vec<String> {
    let paths = match plan.origin.changed_paths {
        1 => "1 changed file".to_owned(),
        n => format!("{} changed files", numbers::count(n)),
    };
    let kinds = plan.scope.iter().flat_map(|scope| &scope.classes).map(|one| {
        let why = one.why.join("; ");
        if why.is_empty() { one.class.to_string() } else { format!("{}: {why}", one.class) }
    });
    let skip = plan.skip.as_ref().map(|reasons| {
        if reasons.is_empty() {
            "nothing differs that could alter what is measured".to_owned()
        } else {
            format!("no benchmark seems to be needed: only {} changed", reasons.join(", "))
        }
    });
    std::iter::once(paths).chain(kinds).chain(skip).collect()
}

/// The arms: commit, where it is from, what it declares.
fn arms(plan: &Plan) -> Block {
    let origin = &plan.origin;
    let commit = |role: &Role, sha: &domain::ids::CommitSha| {
        let known = !origin.unknown_commits.contains(&role.to_string());
        vec![if known { code(sha.short()) } else { words("not known") }]
    };
    let mut from = Vec::new();
    if !origin.base.is_empty() {
        from.push(code(&origin.base));
    }
    from.extend(match origin.behind {
        Some(0) => Some(words(", its newest commit")),
        Some(1) => Some(words(", 1 commit behind it")),
        Some(n) => Some(words(format!(", {} commits behind it", numbers::count(n)))),
        None => None,
    });
    let control = vec![vec![words("control")], commit(&Role::Control, plan.arms.control()), from, vec![]];
    let treatments = plan.arms.treatments().iter().map(|treatment| {
        let declared: Vec<Span> = treatment
            .declared
            .entries()
            .enumerate()
            .flat_map(|(i, (key, value))| {
                let gap = (i > 0).then(|| words(", "));
                gap.into_iter().chain([code(format!("{key}={value}"))])
            })
            .collect();
        let from = if origin.head.is_empty() { vec![] } else { vec![code(&origin.head)] };
        let role = Role::Treatment(treatment.name.clone());
        vec![vec![code(treatment.name.as_str())], commit(&role, &treatment.commit), from, declared]
    });
    let head = ["Arm", "Commit", "From", "Declared differences"].map(str::to_owned).to_vec();
    Block::Table { head, rows: std::iter::once(control).chain(treatments).collect() }
}

/// The facts of the workload, and its fingerprint.
fn workload(plan: &Plan) -> Vec<Vec<Span>> {
    let facts = evidence::workload_facts(plan);
    let mut lines: Vec<Vec<Span>> =
        facts.into_iter().filter(|fact| !plan.notes.contains(fact)).map(|fact| vec![words(fact)]).collect();
    let declared: Vec<String> =
        plan.arms.treatments().iter().flat_map(|t| t.declared.entries().map(|(key, _)| key)).collect();
    let except: Vec<&str> = declared.iter().map(String::as_str).collect();
    lines.push(match plan.workloads.get("control").map(|workload| workload.fingerprint(&except)) {
        Some(Ok(digest)) => {
            vec![words("fingerprint "), code(digest.as_str().get(..SHOWN).unwrap_or_default())]
        }
        // What is read from the jobs only is not known yet.
        Some(Err(_)) | None => vec![words("fingerprint: known when the jobs run")],
    });
    lines
}

type Row = (&'static str, Vec<Span>);

/// How many rounds, and what is known of the noise.
fn rounds(plan: &Plan) -> Vec<Row> {
    let each: Vec<String> = plan.looks.iter().map(u64::to_string).collect();
    let looks = match each.split_last() {
        Some((last, before)) if !before.is_empty() => {
            format!("at most {last}, looked at after {} and {last}", before.join(", "))
        }
        _ => format!("exactly {}", plan.rounds()),
    };
    let mode = match plan.mode {
        RoundMode::Together => "the arms of a round at the same time",
        RoundMode::InTurn => "one trial after the other",
    };
    let mut rows = vec![("Rounds", vec![words(format!("{looks}; {mode}"))])];
    if let Some(run) = &plan.continues {
        let text = format!(", of which it keeps {} rounds", plan.earlier_rounds);
        rows.push(("Continues", vec![code(run.as_str()), words(text)]));
    }
    rows.push(("Calibration", vec![words(plan.calibrated.as_ref().map_or_else(|| UNKNOWN_NOISE.to_owned(), known))]));
    rows
}

/// What is said where nothing is known of the noise.
const UNKNOWN_NOISE: &str = "none: the rounds have to show the noise themselves, which takes more of them";

fn known(calibrated: &Calibrated) -> String {
    let mut text = format!("grade {}", calibrated.grade.word());
    if let Some(n) = calibrated.ratios {
        text = format!("{text}, {n} same-code {}", if n == 1 { "ratio" } else { "ratios" });
    }
    if let Some(days) = calibrated.age_days {
        text = format!("{text}, {days} {} old", if days == 1 { "day" } else { "days" });
    }
    text
}

/// What it costs if every round is needed.
fn cost(plan: &Plan, extra: &Preview) -> Vec<Row> {
    let arms = plan.roles().len() as u64;
    let rounds = plan.rounds().saturating_sub(u64::from(plan.earlier_rounds));
    let source = match extra.estimate_source.trim() {
        "" => String::new(),
        source => format!("; {source}"),
    };
    let hours = |hours: f64| if hours < 10.0 { format!("{hours:.2}") } else { format!("{hours:.1}") };
    let known = extra.cost_cpu_hours.filter(|hours| hours.is_finite() && *hours >= 0.0);
    let cpu = match known {
        Some(each) => {
            let all = each * (arms * rounds) as f64;
            let (all, each) = (hours(all), hours(each));
            format!("at most {all} CPU hours: {each} for a trial, {arms} arms, {rounds} rounds{source}")
        }
        None => "not known: nothing like it was measured before".to_owned(),
    };
    let wall = match extra.wall_ms {
        Some(each) => {
            let trials = if plan.mode == RoundMode::Together { rounds } else { rounds.saturating_mul(arms) };
            let text = |ms: u64| numbers::duration(ms as f64 / 1000.0);
            let all = text(each.saturating_mul(trials));
            let source = if known.is_some() { "" } else { &source };
            format!("at most about {all}, {} for a trial; without waiting for machines{source}", text(each))
        }
        None => "not known".to_owned(),
    };
    let limit = numbers::duration(plan.limit_ms as f64 / 1000.0);
    let spoiled = match plan.replacements {
        0 => String::new(),
        1 => "; 1 round more where machines spoil one".to_owned(),
        n => format!("; up to {n} rounds more where machines spoil some"),
    };
    vec![
        ("CPU time", vec![words(cpu)]),
        ("Time", vec![words(wall)]),
        ("Limit of a trial", vec![words(format!("{limit}{spoiled}"))]),
    ]
}

/// Whether somebody must agree, and what to.
fn last(plan: &Plan, extra: &Preview) -> Vec<Row> {
    let confirm = match &extra.confirm {
        Some(why) => format!("needed: {}", why.trim().trim_end_matches('.')),
        None => "not needed".to_owned(),
    };
    let digest = plan.digest();
    vec![("Agreement", vec![words(confirm)]), ("Plan", vec![code(digest.as_str().get(..SHOWN).unwrap_or_default())])]
}

/// What the plan notes, and what differs with the commits.
fn notes(plan: &Plan) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = plan.notes.iter().map(|note| vec![words(note)]).collect();
    let Some(control) = plan.contexts.get("control") else { return lines };
    for name in plan.treatments() {
        let Some(treatment) = plan.contexts.get(name.as_str()) else { continue };
        for difference in control.differences(treatment) {
            let shown = |value: Option<String>| value.map_or_else(|| words("not known"), code);
            lines.push(vec![
                words("differs with the commits, which is no mismatch: "),
                code(difference.field),
                words(" is "),
                shown(difference.control),
                words(" in the control and "),
                shown(difference.treatment),
                words(" in "),
                code(name.as_str()),
            ]);
        }
    }
    lines
}
