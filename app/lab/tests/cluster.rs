//! Recorded answers of a real cluster as rows, and what becomes of them when something about them is not right.

// Helpers of a test panic as the test itself does.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use domain::ports::Answer;
use domain::stats::{Event, Reading, Reason};
use domain::steps::RowLevel;
use lab::assemble::cluster::{ClusterTrial, Unusable, missing, read, rows};
use lab::iris::answers::{Answers, Grid, Line, Told};
use lab::iris::launch::Launch;
use lab::iris::rules::Rules;
use serde_json::{Value, json};

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cluster").join(name)
}

fn launch() -> Launch {
    serde_json::from_slice(&fs::read(fixture("launch.json")).unwrap()).unwrap()
}

fn rules() -> Rules {
    launch().rules
}

fn answers(arm: &str) -> Answers {
    let files: Vec<Answer> = fs::read_dir(fixture(arm))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            Answer { name: path.file_name().unwrap().to_str().unwrap().to_owned(), bytes: fs::read(path).unwrap() }
        })
        .collect();
    Answers::read(&files).unwrap()
}

fn trial(answers: &Answers) -> Result<ClusterTrial, Unusable> {
    read(&answers.written(), &rules())
}

fn reason(answers: &Answers) -> &'static str {
    trial(answers).map_or_else(|unusable| unusable.reason.code(), |_| "fine")
}

fn stages(answers: &mut Answers) -> &mut Grid {
    match &mut answers.stages {
        Some(Told::Grid(grid)) => grid,
        other => panic!("{other:?}"),
    }
}

fn executions(answers: &mut Answers) -> &mut Grid {
    match &mut answers.executions {
        Some(Told::Grid(grid)) => grid,
        other => panic!("{other:?}"),
    }
}

fn set(grid: &mut Grid, row: usize, column: &str, value: Value) {
    let at = grid.column(column).unwrap();
    grid.rows[row][at] = value;
}

/// Execution ids without their names, in every answer.
fn without_names(answers: &mut Answers) {
    let bare = |text: &str| text[text.len() - 24..].to_owned();
    for grid in [&mut answers.stages, &mut answers.executions] {
        let Some(Told::Grid(grid)) = grid else { continue };
        let at = grid.column("execution_id").unwrap();
        for row in &mut grid.rows {
            row[at] = json!(bare(row[at].as_str().unwrap()));
        }
    }
    for line in answers.lines.iter_mut().flatten() {
        if let Some((before, id)) = line.text.rsplit_once(' ') {
            line.text = format!("{before} {}", bare(id));
        }
    }
}

#[test]
fn two_arms_become_the_same_rows() {
    let (control, head) = (trial(&answers("control")).unwrap(), trial(&answers("head")).unwrap());
    let (both, coarser) = rows(&[&control, &head], &rules());
    assert!(coarser.is_none());
    let both: Vec<_> = both.into_iter().map(Result::unwrap).collect();
    let names = |at: usize| both[at].trial.stages.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(
        names(0),
        [
            "exact · stage0-Map → Scatter",
            "exact · stage1-Reduce → Write",
            "fuzzy · stage0-Map → Scatter",
            "fuzzy · stage1-Reduce → Map → Write",
            "minhash · stage0-Map → Write",
            "tokenize · stage0-Map → Write",
        ]
    );
    assert_eq!(names(0), names(1));
    // Of two executions, one for each source.
    let minhash = &both[0].trial.stages[4].1;
    assert_eq!(minhash.row_executions, Reading::Value(2.0));
    assert!((minhash.cpu_time_total.value().unwrap() - 0.65).abs() < 1e-9, "{minhash:?}");
    assert_eq!((minhash.items, minhash.total_shards), (Reading::Value(4.0), Reading::Value(4.0)));
    assert_eq!(both[0].paths_only.len(), 4);
    assert_eq!(both[0].trial.executions, Some(8));
    let facts = &control.facts;
    assert_eq!(facts.priority.as_deref(), Some("batch"));
    assert_eq!(facts.hosts, [("cpu, 8 CPUs, 1000 GiB".to_owned(), 1)].into());
    assert!(facts.peak_task_mib > Some(200) && facts.remarks.is_empty());
    // The coordinator was killed when the pool was closed, which is how a pool ends.
    assert!(control.events.iter().all(|(_, count)| *count == 0));
}

#[test]
fn the_log_alone_gives_the_same_records() {
    let whole = answers("control");
    let expected = trial(&whole).unwrap();
    let mut alone = whole;
    alone.executions = Some(Told::Absent { absent: "table not found".into() });
    let found = trial(&alone).unwrap();
    assert_eq!(found.records, expected.records);
    assert_eq!(found.facts.remarks, ["executions are known from the log alone, which may have lost lines"]);
}

#[test]
fn ids_with_and_without_names_have_the_same_steps() {
    let named = trial(&answers("control")).unwrap();
    let mut bare = answers("head");
    without_names(&mut bare);
    let bare = trial(&bare).unwrap();
    let (both, coarser) = rows(&[&named, &bare], &rules());
    let names: Vec<Vec<String>> =
        both.into_iter().map(|rows| rows.unwrap().trial.stages.into_iter().map(|(name, _)| name).collect()).collect();
    assert_eq!(names[0], names[1]);
    assert!(names[0].contains(&"Map → Write · stage0-Map → Write".to_owned()), "{names:?}");
    assert_eq!(names[0].len(), 5, "minhash and tokenize have the same stages");
    let coarser = coarser.unwrap();
    assert_eq!((coarser.wanted, coarser.lacking), (RowLevel::Name, 8));
}

#[test]
fn without_plans_rows_are_stages() {
    let mut bare = answers("control");
    without_names(&mut bare);
    bare.executions = Some(Told::Absent { absent: "table not found".into() });
    let bare = trial(&bare).unwrap();
    let (rows, coarser) = rows(&[&bare], &rules());
    let names: Vec<String> = rows[0].as_ref().unwrap().trial.stages.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(
        names,
        ["stage0-Map → Scatter", "stage0-Map → Write", "stage1-Reduce → Map → Write", "stage1-Reduce → Write"]
    );
    assert!(coarser.is_some());
}

#[test]
fn what_is_missing_is_named_and_nothing_is_made_up() {
    let mut one = answers("control");
    assert_eq!(missing(&one, &rules()), Ok(Vec::new()));
    let gone = stages(&mut one).rows.remove(0);
    let named = missing(&one, &rules()).unwrap();
    assert_eq!(named.len(), 1);
    assert!(named[0].starts_with("exact-code-") && named[0].ends_with("stage0-Map → Scatter"), "{named:?} {gone:?}");
    assert_eq!(reason(&one), "ROWS_MISSING");
    // A job without any execution that is known has measured nothing.
    let mut none = answers("control");
    executions(&mut none).rows.clear();
    none.lines = Some(Vec::new());
    assert_eq!(missing(&none, &rules()), Ok(vec!["no execution of this job is known".to_owned()]));
    assert_eq!(reason(&none), "ROWS_MISSING");
    let mut absent = answers("control");
    absent.stages = Some(Told::Absent { absent: "table 'datafusion.public.zephyr.stage' not found".into() });
    assert_eq!(missing(&absent, &rules()).unwrap().len(), 1);
    assert_eq!(reason(&absent), "ROWS_MISSING");
}

#[test]
fn repeated_records_are_no_measurement_and_copies_are_one() {
    let mut twice = answers("control");
    let grid = stages(&mut twice);
    let copy = grid.rows[3].clone();
    grid.rows.push(copy);
    assert_eq!(reason(&twice), "DUPLICATE_ROWS");
    // The same record, passed on by another cluster.
    let last = stages(&mut twice).rows.len() - 1;
    set(stages(&mut twice), last, "cluster", json!("hub"));
    assert_eq!(reason(&twice), "fine");
    assert_eq!(trial(&twice).unwrap().records, trial(&answers("control")).unwrap().records);
    // Passed on and different is neither.
    set(stages(&mut twice), last, "items", json!(1));
    assert_eq!(reason(&twice), "DUPLICATE_ROWS");
}

#[test]
fn columns_that_are_gone_are_a_drift() {
    let mut drifted = answers("control");
    let grid = stages(&mut drifted);
    let at = grid.column("cpu_time_total").unwrap();
    grid.columns[at] = "cpu_seconds".to_owned();
    assert_eq!(reason(&drifted), "SCHEMA_DRIFT");
    // More of it would not help: nobody waits for it.
    assert_eq!(missing(&drifted, &rules()), Ok(Vec::new()));
    let mut refused = answers("control");
    refused.stages = Some(Told::Absent { absent: "query failed: Schema error: No field named execution_id".into() });
    assert_eq!(reason(&refused), "SCHEMA_DRIFT");
    let broken = [Answer { name: "job.json".to_owned(), bytes: b"{".to_vec() }];
    assert_eq!(read(&broken, &rules()).unwrap_err().reason, Reason::SchemaDrift);
    assert_eq!(read(&[], &rules()).unwrap_err().reason, Reason::RowsMissing);
}

#[test]
fn numbers_that_are_none_stay_none() {
    let mut odd = answers("control");
    for (row, value) in [json!("NaN"), json!(-1), Value::Null, json!("7")].into_iter().enumerate() {
        set(stages(&mut odd), row, "cpu_time_total", value);
    }
    set(stages(&mut odd), 4, "status", json!("FAILED"));
    let trial = trial(&odd).unwrap();
    let found: Vec<Reading> = trial.records.iter().take(4).map(|record| record.cpu_time_total).collect();
    assert_eq!(found, [Reading::Bad, Reading::Bad, Reading::Missing, Reading::Bad]);
    let (rows, _) = rows(&[&trial], &rules());
    let failed = rows[0].as_ref().unwrap().trial.stages.iter().filter(|(_, stage)| stage.not_ended.is_some()).count();
    assert_eq!(failed, 1);
}

#[test]
fn a_plan_that_cannot_be_read_or_is_there_twice_is_no_plan() {
    let mut unreadable = answers("control");
    set(executions(&mut unreadable), 0, "stages_json", json!("[{"));
    assert_eq!(reason(&unreadable), "SCHEMA_DRIFT");
    assert_eq!(missing(&unreadable, &rules()), Ok(Vec::new()));
    // Anybody can write a record with the root of somebody else's job.
    let mut invented = answers("control");
    let mut row = executions(&mut invented).rows[0].clone();
    let at = executions(&mut invented).column("stages_json").unwrap();
    row[at] = json!("[]");
    executions(&mut invented).rows.push(row);
    assert_eq!(reason(&invented), "DUPLICATE_ROWS");
    // A plan of nothing is never complete by itself.
    let mut empty = answers("control");
    set(executions(&mut empty), 0, "stages_json", json!("[]"));
    let at = executions(&mut empty).column("execution_id").unwrap();
    let id = executions(&mut empty).rows[0][at].as_str().unwrap().to_owned();
    let at = stages(&mut empty).column("execution_id").unwrap();
    stages(&mut empty).rows.retain(|row| row[at].as_str() != Some(&id));
    assert_eq!(missing(&empty, &rules()), Ok(vec![format!("{id}: every record")]));
}

#[test]
fn machines_are_known_of_every_worker_or_of_none() {
    let mut more = answers("control");
    let job = more.job.as_mut().unwrap();
    for workers in job.descendants.iter_mut().filter(|job| job.job_id.ends_with("-workers")) {
        workers.task_count = 2;
    }
    assert!(trial(&more).unwrap().facts.hosts.is_empty());
    let mut partly = answers("control");
    partly.job.as_mut().unwrap().complete = false;
    assert!(trial(&partly).unwrap().events.contains(&(Event::UnknownFailure, 1)));
}

#[test]
fn an_execution_in_two_trials_is_refused() {
    let one = trial(&answers("control")).unwrap();
    let (rows, _) = rows(&[&one, &one.clone()], &rules());
    assert!(rows.iter().all(|rows| rows.as_ref().unwrap_err().reason == Reason::DuplicateRows));
}

#[test]
fn a_workers_loss_is_an_event_and_its_machine_may_be_unknown() {
    let mut lost = answers("control");
    let job = lost.job.as_mut().unwrap();
    let workers = job.descendants.iter().find(|job| job.job_id.ends_with("-workers")).unwrap().job_id.clone();
    let attempt: marin::iris::TaskAttempt = serde_json::from_value(json!({
        "state": "TASK_STATE_PREEMPTED", "finishedAt": { "epochMs": "1" }
    }))
    .unwrap();
    let task = marin::iris::TaskStatus { attempts: vec![attempt], ..Default::default() };
    job.tasks.insert(workers, vec![task]);
    let Some(Told::Grid(tasks)) = &mut lost.tasks else { panic!("no tasks") };
    for row in 0..tasks.rows.len() {
        set(tasks, row, "device_type", Value::Null);
    }
    let trial = trial(&lost).unwrap();
    assert!(trial.events.contains(&(Event::ChurnElapsed, 1)));
    assert!(trial.facts.hosts.is_empty());
    assert_eq!(trial.facts.remarks, ["the machines of some workers are not known"]);
}

#[test]
fn shards_that_were_tried_again_are_counted() {
    let mut retried = answers("control");
    let text = "I20261130 02:17:28 14 zephyr.context [x] Shards retried (attempts: shard count): {1: 2, 2: 1}";
    let line = Line { key: "/zephyr-ab/x/0:0".into(), source: "stderr".into(), at_ms: 0, text: text.into() };
    retried.lines.as_mut().unwrap().push(line);
    assert_eq!(trial(&retried).unwrap().facts.retried_shards, 3);
}

#[test]
fn a_launch_names_the_trial_and_nothing_else() {
    let launch = launch();
    launch.check().unwrap();
    let name = |place: u32| format!("zab-20261130T023650Z-1f5734f8-r1.0-{place}").parse().unwrap();
    let (one, other) = (launch.tag(&name(1)), launch.tag(&name(2)));
    assert_eq!((one.len(), one != other, launch.tag(&name(1))), (12, true, one.clone()));
    assert!(one.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    let commit = "a".repeat(40).parse().unwrap();
    let request = launch.request("/me/x", &name(1), (&commit, "abc"), 600_000).unwrap();
    let argv = request.entrypoint.run_command.argv.join(" ");
    assert!(argv.starts_with("python -m experiments.datakit.zephyr_benchmark --sample-prefix file:///"), "{argv}");
    assert!(argv.contains(&format!("--run-tag {one} ")), "{argv}");
    assert_eq!(request.constraints.len(), 2);
    let said = &request.environment.env_vars[lab::iris::launch::PROVENANCE];
    assert_eq!(lab::iris::launch::commit_of(said), Some(commit));
}
