//! A synthetic run: a plan, and trials whose times are known.

use std::collections::BTreeMap;

use domain::arms::{Arms, Declared, Role, Treatment};
use domain::comparability::Context;
use domain::ids::{CommitSha, Digest, RunId};
use domain::plan::{Origin, PLAN_SCHEMA, Plan};
use domain::ports::{
    Answer, Counted, Decided, Ending, Fate, How, Judged, Look, LookKind, Records as _, Sealed, TrialFate,
};
use domain::rounds::{RoundMode, TrialName, order};
use domain::setting::Setting;
use domain::time::Ms;
use domain::workload::{Field, Known, Workload};
use evidence::{Folder, MemoryStorage, Scanner, Storage, Templates};
use serde_json::{Value, json};

/// The suite that plans name.
pub(crate) const SUITE: &str = "schema = 1\nname = \"demo\"\n";
/// When runs start.
pub(crate) const START: u64 = 1_795_984_130_000;

pub(crate) fn run_id() -> RunId {
    "20261129T202850Z-8d10c1b5".parse().unwrap()
}

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn workload() -> Workload {
    let mut workload = Workload::new(&"demo".parse().unwrap());
    for field in &Field::ALL[1..] {
        workload.set(*field, Known::Unset);
    }
    workload.set_named("size", Known::Set(Setting::whole(40))).unwrap();
    workload
}

/// A plan with these treatments and looks.
pub(crate) fn plan(treatments: &[&str], looks: &[u64]) -> Plan {
    let named =
        |name: &&str| Treatment { name: name.parse().unwrap(), commit: sha('b'), declared: Declared::default() };
    let arms = Arms::new(sha('a'), treatments.iter().map(named).collect()).unwrap();
    let roles: Vec<String> =
        std::iter::once("control".to_owned()).chain(treatments.iter().map(|t| (*t).to_owned())).collect();
    let each = |value: Value| roles.iter().map(|role| (role.clone(), value.clone())).collect();
    let context = |python: &str| Context([("python".to_owned(), Some(python.to_owned()))].into());
    Plan {
        schema: PLAN_SCHEMA,
        run: run_id(),
        suite: "demo".parse().unwrap(),
        title: "Demo A/B test".to_owned(),
        suite_digest: Digest::of(SUITE.as_bytes()),
        preset: Some("small".to_owned()),
        arms,
        origin: Origin {
            repository: "owner/name".to_owned(),
            base: "main".to_owned(),
            head: "my-branch".to_owned(),
            merge_bases: vec![sha('a')],
            behind: Some(3),
            trees: BTreeMap::new(),
            changed_paths: 2,
            ..Origin::default()
        },
        workloads: roles.iter().map(|role| (role.clone(), workload())).collect(),
        contexts: roles.iter().map(|r| (r.clone(), context(if r == "control" { "3.12" } else { "3.13" }))).collect(),
        launches: each(json!({})),
        mode: RoundMode::InTurn,
        looks: looks.to_vec(),
        replacements: 3,
        limit_ms: 600_000,
        judging: json!({"min_value": {"cpu": 0.3, "elapsed": 0.3}}),
        calibration: json!({}),
        calibrated: None,
        ledger: Digest::of(b"ledger"),
        episode: 1,
        continues: None,
        earlier_rounds: 0,
        each_ms: None,
        retry: None,
        confirm: None,
        skip: None,
        scope: None,
        late: None,
        notes: vec!["each invocation is a ledger of its own".to_owned()],
    }
}

/// `steps.json` and `load.json` of a trial whose steps took these CPU seconds; a wobble keeps trials apart.
pub(crate) fn answers(steps: &[(&str, f64)], wobble: u32) -> Vec<Answer> {
    let wobble = 1.0 + f64::from(wobble * 7 % 5) * 0.001;
    let record = |(name, seconds): &(&str, f64)| {
        json!({"step": name, "cpu_seconds": seconds * wobble, "elapsed_seconds": seconds * wobble * 1.1,
            "peak_bytes": 40_000_000, "exit": {"code": 0}, "items": 1000, "bytes": 123_456, "shards": null,
            "output_digest": "sha256:00ff", "stdout_bytes": 12, "stderr_bytes": 0, "truncated": false})
    };
    let steps: Vec<Value> = steps.iter().map(record).collect();
    let machine =
        json!({"load_before": [0.42, 0.5, 0.6], "load_after": null, "busy_seconds": 2.5, "stolen_seconds": 0});
    let load = json!({
        "host": {"cores": 2, "cpu": "Some CPU", "memory_bytes": 8_u64 << 30, "kernel": null, "governor": null},
        "steps": [{"step": "sort", "other_seconds": 0.5, "machine": machine}],
    });
    vec![
        answer("steps.json", &json!(steps).to_string()),
        answer("load.json", &load.to_string()),
        answer("01-sort.stdout", "sorted\n\u{1}\n"),
    ]
}

pub(crate) fn answer(name: &str, text: &str) -> Answer {
    Answer { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
}

pub(crate) fn name(plan: &Plan, round: u32, replacement: u32, role: &Role) -> TrialName {
    let place = order(round, &plan.treatments()).iter().position(|other| other == role).unwrap();
    TrialName { run: plan.run.clone(), round, replacement, place: u32::try_from(place).unwrap() + 1 }
}

pub(crate) fn fate(name: TrialName, role: Role, fate: Fate) -> TrialFate {
    let began = Ms(START).plus(u64::from(name.round) * 60_000 + u64::from(name.place) * 20_000);
    let job = Some(format!("/local/{name}").parse().unwrap());
    let (running, ended) = (Some(began.plus(500)), Some(began.plus(12_345)));
    TrialFate { name, role, fate, job, submitted: Some(began), running, ended, at: began.plus(13_000) }
}

pub(crate) fn treatment(name: &str) -> Role {
    Role::Treatment(name.parse().unwrap())
}

pub(crate) fn folder() -> Folder<MemoryStorage> {
    on(MemoryStorage::new())
}

pub(crate) fn on<S: Storage>(storage: S) -> Folder<S> {
    Folder::new(storage, templates(), Scanner::default())
}

pub(crate) fn templates() -> Templates {
    Templates::built_in().unwrap()
}

/// How much longer steps take in a treatment.
pub(crate) type Factor = f64;

/// Adds a trial that counts.
pub(crate) fn add<S: Storage>(folder: &Folder<S>, plan: &Plan, round: u32, replacement: u32, role: &Role, by: Factor) {
    let steps = [("sort", 2.0 * by), ("merge", 1.0 * by)];
    with(folder, plan, round, replacement, role, Fate::Counted, &answers(&steps, round * 3 + replacement));
}

/// Adds a trial with these answers.
pub(crate) fn with<S: Storage>(
    folder: &Folder<S>,
    plan: &Plan,
    round: u32,
    replacement: u32,
    role: &Role,
    kind: Fate,
    answers: &[Answer],
) {
    let name = name(plan, round, replacement, role);
    folder.answer(&name, role, answers).unwrap();
    folder.note(&fate(name, role.clone(), kind)).unwrap();
}

/// A look at `count` rounds from `first` on.
pub(crate) fn look(plan: &Plan, kind: LookKind, first: u32, count: u32) -> Look {
    Look {
        run: plan.run.clone(),
        ledger: plan.ledger.clone(),
        episode: plan.episode,
        kind,
        rounds: (first..first + count).map(|round| Counted { round, replacement: 0 }).collect(),
        confirmations: vec![],
        decided: vec![],
        at: Ms(START + 900_000),
    }
}

pub(crate) fn ending(plan: &Plan, look: &Look, judged: &Judged) -> Ending {
    let how = How::Judged { look: look.clone(), judged: judged.clone() };
    let (started, ended) = (Ms(START), Ms(START + 901_000));
    Ending { run: plan.run.clone(), how, started, ended, replaced: 0, alive: vec![] }
}

/// Everything a run does, from its plan to its seal; the treatment takes `by` times as long.
pub(crate) fn whole<S: Storage>(folder: &Folder<S>, plan: &Plan, rounds: u32, by: Factor) -> (Judged, Sealed) {
    folder.suite(&plan.run, SUITE.as_bytes()).unwrap();
    folder.open(plan).unwrap();
    let first = plan.earlier_rounds + 1;
    for round in first..first + rounds {
        for role in order(round, &plan.treatments()) {
            add(folder, plan, round, 0, &role, if role == Role::Control { 1.0 } else { by });
        }
    }
    let look = look(plan, LookKind::Declared { index: 0 }, first, rounds);
    let judged = folder.judge(&look).unwrap();
    let sealed = folder.seal(&ending(plan, &look, &judged)).unwrap();
    (judged, sealed)
}

/// Verdict and reason of the only treatment.
pub(crate) fn sole(judged: &Judged) -> (&'static str, &'static str) {
    let [Decided { verdict, reason, .. }] = judged.treatments.as_slice() else { panic!("{judged:?}") };
    (verdict.word(), reason.code())
}

/// The sealed folder alone, as somebody gets it who was sent it.
pub(crate) fn moved(storage: &MemoryStorage) -> MemoryStorage {
    let alone = MemoryStorage::new();
    let folder = run_id().to_string();
    for file in storage.list(&folder).unwrap() {
        alone.write(&file, &storage.read(&format!("{folder}/{file}")).unwrap().unwrap()).unwrap();
    }
    alone
}

/// What a folder tells its readers, without what the procedure says and the settings that it says it by.
pub(crate) fn told(storage: &MemoryStorage) -> Value {
    let text = storage.read("evidence.json").unwrap().unwrap();
    let mut view = serde_json::from_slice::<Value>(&text).unwrap()["view"].take();
    view.as_object_mut().unwrap().remove("settings");
    for treatment in view["treatments"].as_array_mut().unwrap() {
        treatment.as_object_mut().unwrap().remove("judgement");
    }
    view
}
