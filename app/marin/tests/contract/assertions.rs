//! What is true of every controller and store this crate speaks to.

use std::collections::BTreeSet;

use marin::finelog::{Cell, ColumnType, Kind, LogLevel, LogQuery, LogSource};
use marin::iris::{Constraint, JobState, Launched, PriorityBand, TaskState, bundle_id};
use marin::sql::{Template, Value};
use marin::{Clock as _, Code, Error, Finelog, Iris, JobId, TaskId};
use serde_json::json;

use crate::support::Subject;

pub(crate) async fn all(subject: &Subject) {
    who_and_what(subject).await;
    unknown_jobs(subject).await;
    refusals(subject).await;
    a_job_from_launch_to_logs(subject).await;
    attempts(subject).await;
    a_tree(subject).await;
    queries(subject, &subject.finelog()).await;
    queries(subject, &subject.finelog_through_iris()).await;
}

async fn ended(subject: &Subject, iris: &Iris, job: &JobId) -> JobState {
    for _ in 0..600 {
        let states = iris.job_states(std::slice::from_ref(job)).await.expect("states");
        match states.get(job.as_str()) {
            Some(state) if state.has_ended() => return state.clone(),
            _ => subject.clock.sleep(subject.pause).await,
        }
    }
    panic!("{job} does not end");
}

async fn running(subject: &Subject, iris: &Iris, job: &JobId, attempt: i64) {
    for _ in 0..300 {
        let task = iris.task(&TaskId::of(job, 0)).await.expect("the task").task;
        if task.state == TaskState::Running && task.current_attempt_id >= attempt {
            return;
        }
        subject.clock.sleep(subject.pause).await;
    }
    panic!("{job} does not run");
}

fn started(launched: Launched) -> JobId {
    match launched {
        Launched::Started(job) => job,
        other @ Launched::Existing { .. } => panic!("{other:?}"),
    }
}

async fn who_and_what(subject: &Subject) {
    let iris = subject.iris();
    let user = iris.current_user().await.expect("a user");
    assert_eq!((user.user_id.as_str(), user.role.as_str()), ("anonymous", "admin"));
    assert_eq!(iris.health().await.expect("health")["status"], "ok");
    assert_eq!(subject.finelog().health().await.expect("health"), "ok");
    let endpoints = iris.endpoints("/system/").await.expect("endpoints");
    assert!(endpoints.iter().any(|endpoint| endpoint.name == "/system/log-server" && !endpoint.address.is_empty()));
    let capabilities = iris.capabilities().await.expect("capabilities");
    for field in ["existingJobPolicy", "containerProfile", "egressPolicy", "federation"] {
        assert!(capabilities.launch.has(field), "{field}");
    }
    assert!(capabilities.environment.has("setupScripts") && !capabilities.environment.has("pipPackages"));
    assert!(!capabilities.launch.has("marinProbe"));
}

async fn unknown_jobs(subject: &Subject) {
    let (iris, job) = (subject.iris(), subject.job("nowhere"));
    assert!(iris.job_states(std::slice::from_ref(&job)).await.expect("states").is_empty());
    assert!(iris.tasks(&job).await.expect("tasks").is_empty());
    for error in [
        iris.job(&job).await.expect_err("unknown"),
        iris.tree(&job).await.expect_err("unknown"),
        iris.terminate(&job).await.expect_err("unknown"),
        iris.task(&TaskId::of(&job, 0)).await.expect_err("unknown"),
    ] {
        assert!(error.is_not_found(), "{error}");
    }
    let page = subject.finelog().logs(&LogQuery::new(LogSource::Tree(job.clone()))).await.expect("a page");
    assert!(page.entries.is_empty() && !page.full && page.cursor == 0);
    let after = LogQuery { after: 7, ..LogQuery::new(LogSource::Tree(job)) };
    assert_eq!(subject.finelog().logs(&after).await.expect("a page").cursor, 7, "a cursor never goes back");
    assert!(!iris.has_bundle(&bundle_id(b"no such zip")).await.expect("an answer"));
}

async fn refusals(subject: &Subject) {
    let iris = subject.iris();
    let plain = subject.request("refused", 1, "0", 0);
    let mut mars = plain.clone();
    mars.constraints = vec![Constraint::one_of("region", &["mars-1", "mars-2"])];
    let error = iris.launch(&mars).await.expect_err("no such region");
    assert_eq!(error.code(), Some(&Code::FailedPrecondition), "{error}");
    assert!(error.to_string().contains("mars-1") && !error.is_transient());

    let mut urgent = plain.clone();
    urgent.priority_band = PriorityBand::Production;
    let error = iris.launch(&urgent).await.expect_err("a band by agreement");
    assert_eq!(error.code(), Some(&Code::PermissionDenied), "{error}");

    urgent.priority_band = PriorityBand::Other("PRIORITY_BAND_COSMIC".into());
    assert!(matches!(iris.launch(&urgent).await, Err(Error::UnsupportedValue { .. })));

    let mut novel = plain.clone();
    novel.other.insert("levitation".into(), json!(true));
    match iris.launch(&novel).await {
        Err(Error::UnsupportedField { field, known, .. }) => {
            assert!(field == "levitation" && known.iter().any(|field| field == "egressPolicy"), "{field} {known:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(iris.job_states(&[subject.job("refused")]).await.expect("states").is_empty(), "nothing was launched");
}

async fn a_job_from_launch_to_logs(subject: &Subject) {
    let (iris, finelog, job) = (subject.iris(), subject.finelog(), subject.job("hello"));
    let request = subject.request("hello", 5, "1", 0);
    assert_eq!(started(iris.launch(&request).await.expect("launched")), job);
    let existing = |same| Launched::Existing { job: job.clone(), same, answer_lost: false };
    assert_eq!(iris.launch(&request).await.expect("told apart"), existing(true));
    assert_eq!(ended(subject, &iris, &job).await, JobState::Succeeded);
    // Also a finished job is not replaced.
    assert_eq!(iris.launch(&request).await.expect("told apart"), existing(true));
    let other = subject.request("hello", 6, "1", 0);
    assert_eq!(iris.launch(&other).await.expect("told apart"), existing(false));

    let record = iris.job(&job).await.expect("the job");
    assert_eq!((record.job.state, record.job.task_count, record.job.completed_count), (JobState::Succeeded, 1, 1));
    let (began, end) = (record.job.started_at.expect("began"), record.job.finished_at.expect("ended"));
    assert!(record.job.submitted_at.expect("launched") <= began && began < end && began.epoch_ms > 1_700_000_000_000);
    assert_eq!(record.request.entrypoint.run_command.argv, request.entrypoint.run_command.argv);
    assert_eq!(record.request.priority_band, PriorityBand::Batch);
    let bundle = bundle_id(&request.bundle_blob);
    assert_eq!(record.request.bundle_id, bundle);
    assert!(iris.has_bundle(&bundle).await.expect("an answer"));

    // The last lines come up to 0.6 s after the end.
    let all = LogQuery { max_lines: 2, ..LogQuery::new(LogSource::Tree(job.clone())) };
    let mut lines = Vec::new();
    for _ in 0..50 {
        let (entries, more) = finelog.all_logs(&all, 1000).await.expect("lines");
        assert!(!more);
        lines = entries;
        if lines.len() >= 6 {
            break;
        }
        subject.clock.sleep(subject.pause).await;
    }
    let texts: BTreeSet<&str> = lines.iter().map(|line| line.data.as_str()).collect();
    assert_eq!(texts, ["a warning on stderr", "line 0", "line 1", "line 2", "line 3", "line 4"].into());
    assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert!(lines.iter().all(|line| line.key == format!("{job}/0:0") && line.attempt_id == 0));
    let warning = lines.iter().find(|line| line.source == "stderr").expect("stderr");
    assert_eq!(warning.level, LogLevel::Error);

    let whole = |query: LogQuery| {
        let finelog = finelog.clone();
        async move { finelog.all_logs(&query, 1000).await.expect("lines").0 }
    };
    let base = LogQuery::new(LogSource::Tree(job.clone()));
    let chosen = whole(LogQuery { regex: "^line (1|3)$".into(), max_lines: 1, ..base.clone() }).await;
    assert_eq!(chosen.iter().map(|line| line.data.as_str()).collect::<Vec<_>>(), ["line 1", "line 3"]);
    assert_eq!(whole(LogQuery { substring: "warning".into(), ..base.clone() }).await.len(), 1);
    assert_eq!(whole(LogQuery { min_level: LogLevel::Error, ..base.clone() }).await.len(), 1);
    assert_eq!(whole(LogQuery::new(LogSource::Attempt(TaskId::of(&job, 0), 0))).await.len(), 6);
    assert!(whole(LogQuery::new(LogSource::Attempt(TaskId::of(&job, 0), 1))).await.is_empty());
    let tail = finelog.logs(&LogQuery { tail: true, max_lines: 2, ..base.clone() }).await.expect("a page");
    assert_eq!(tail.entries, lines[lines.len() - 2..]);
    let bounded = finelog.all_logs(&base, 3).await.expect("lines");
    assert!(bounded.0.len() == 3 && bounded.1);
    let broken = LogQuery { regex: "(".into(), ..base };
    assert!(matches!(finelog.logs(&broken).await, Err(Error::BadRegex(_))));
}

async fn attempts(subject: &Subject) {
    let iris = subject.iris();
    let zip = bundle_id(&subject.request("hello", 0, "0", 0).bundle_blob);
    // The zip is there already: its id is enough.
    let by_id = |mut request: marin::iris::LaunchRequest| {
        request.bundle_blob.clear();
        request.bundle_id.clone_from(&zip);
        request
    };
    let mut failing = by_id(subject.request("failing", 1, "0", 3));
    failing.max_retries_failure = 1;
    failing.max_task_failures = 1;
    let failing_job = started(iris.launch(&failing).await.expect("launched"));
    let mut moved = by_id(subject.request("moved", 1, "60", 0));
    moved.max_retries_preemption = 5;
    let moved_job = started(iris.launch(&moved).await.expect("launched"));
    running(subject, &iris, &moved_job, 0).await;
    let kick = json!({
        "targets": [TaskId::of(&moved_job, 0).as_str()], "desiredState": "TASK_STATE_PREEMPTED", "reason": "contract",
    });
    subject.post("iris.cluster.ControllerService/KickTasks", kick).await;
    running(subject, &iris, &moved_job, 1).await;
    let tasks = iris.tasks(&moved_job).await.expect("tasks");
    let states: Vec<_> = tasks[0].attempts.iter().map(|attempt| attempt.state.clone()).collect();
    assert_eq!(states, [TaskState::Preempted, TaskState::Running]);
    assert_eq!(iris.job(&moved_job).await.expect("the job").job.preemption_count, 1);
    iris.terminate(&moved_job).await.expect("ends");
    assert_eq!(ended(subject, &iris, &moved_job).await, JobState::Killed);
    iris.terminate(&moved_job).await.expect("ends again");

    assert_eq!(ended(subject, &iris, &failing_job).await, JobState::Failed);
    let record = iris.job(&failing_job).await.expect("the job");
    assert_eq!(record.job.failure_count, 2);
    assert!(record.job.error.contains("Exit code: 3"), "{}", record.job.error);
    let tasks = iris.tasks(&failing_job).await.expect("tasks");
    assert_eq!(tasks.len(), 1);
    let seen: Vec<_> = tasks[0].attempts.iter().map(|one| (one.attempt_id, one.state.clone(), one.exit_code)).collect();
    assert_eq!(seen, [(0, TaskState::Failed, 3), (1, TaskState::Failed, 3)]);
    assert!(tasks[0].attempts.iter().all(|one| !one.is_worker_failure && one.finished_at > one.started_at));
}

async fn a_tree(subject: &Subject) {
    // A page of one job: three children make three pages.
    let iris = subject.iris().with_page(1);
    let root = started(iris.launch(&subject.request("tree", 0, "60", 0)).await.expect("launched"));
    // Its name begins like the root's, and it is no descendant.
    let beside = started(iris.launch(&subject.request("tree2", 0, "60", 0)).await.expect("launched"));
    running(subject, &iris, &root, 0).await;
    for child in ["tree/b", "tree/a", "tree/c"] {
        started(iris.launch(&subject.request(child, 0, "60", 0)).await.expect("launched"));
    }
    let tree = iris.tree(&root).await.expect("a tree");
    assert!(tree.complete);
    assert_eq!(tree.root.job.job_id, root.as_str());
    assert!(tree.root.job.has_children);
    let names: Vec<&str> = tree.descendants.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"].map(|child| format!("{root}/{child}")));
    iris.terminate(&root).await.expect("ends");
    iris.terminate(&beside).await.expect("ends");
    for job in [&root, &beside] {
        assert_eq!(ended(subject, &iris, job).await, JobState::Killed);
    }
    let child = JobId::new(&format!("{root}/a")).expect("a job id");
    assert_eq!(ended(subject, &iris, &child).await, JobState::Killed, "the whole tree ends");
}

async fn queries(subject: &Subject, finelog: &Finelog) {
    let template = |text| Template::new(text).expect("a template");
    let ask = |text: &'static str| {
        let select = template(text).fill(&[]).expect("no places");
        async move { finelog.query(&select).await }
    };
    let one = ask(
        "SELECT arrow_cast(9007199254740993, 'Int64') AS big, CAST('NaN' AS DOUBLE) AS nan, CAST(NULL AS DOUBLE) AS no, \
         NULL AS nothing, 'stage0-Map → Write' AS text, true AS yes, to_timestamp_millis(1795982843101) AS at, 0.1 AS tenth",
    )
    .await
    .expect("a row");
    assert_eq!(one.rows.len(), 1);
    let cell = |name: &str| &one.rows[0][one.column(name).expect("a column")];
    assert_eq!(cell("big"), &Cell::Int(9_007_199_254_740_993));
    assert!(matches!(cell("nan"), Cell::Float(value) if value.is_nan()));
    assert_eq!((cell("no"), cell("nothing")), (&Cell::Null, &Cell::Null));
    assert_eq!(one.columns[one.column("no").expect("a column")].kind, Kind::Float);
    assert_eq!(cell("text"), &Cell::Text("stage0-Map → Write".into()));
    assert_eq!((cell("yes"), cell("tenth")), (&Cell::Bool(true), &Cell::Float(0.1)));
    assert_eq!(cell("at"), &Cell::Time(1_795_982_843_101_000));

    let none = ask("SELECT 1 AS a, 'x' AS b WHERE false").await.expect("no rows");
    assert!(none.rows.is_empty() && none.columns.len() == 2);
    let many = template("SELECT value FROM generate_series(1, 9000) ORDER BY value").fill(&[]).expect("no places");
    let many = finelog.answer(&many).await.expect("rows");
    let batches = arrow_ipc::reader::StreamReader::try_new(&many.arrow_ipc[..], None).expect("a stream").count();
    assert!(batches > 1, "{batches}");
    let many = many.table().expect("a table");
    assert_eq!(many.rows.len(), 9000);
    assert!((1..).zip(&many.rows).all(|(number, row)| row[0] == Cell::Int(number)));

    let error = ask("SELECT nope FROM log").await.expect_err("no such column");
    assert_eq!(error.code(), Some(&Code::InvalidArgument), "{error}");
    let error = ask("SELECT 1 FROM \"never.written\"").await.expect_err("no such table");
    assert!(error.to_string().contains("not found") && !error.is_transient(), "{error}");

    let lines =
        template("SELECT key, data FROM log WHERE starts_with(key, {below}) AND data LIKE 'line %' ORDER BY seq")
            .fill(&[("below", Value::Below(subject.job("hello")))])
            .expect("fills");
    let answer = finelog.answer(&lines).await.expect("an answer");
    let table = answer.table().expect("a table");
    assert_eq!((answer.row_count, table.rows.len()), (5, 5));
    assert_eq!(table.rows[4][1], Cell::Text("line 4".into()));

    let namespaces = finelog.namespaces().await.expect("namespaces");
    let log = namespaces.iter().find(|one| one.namespace == "log").expect("logs");
    assert!(log.row_count >= 6 && log.schema.key_column == "key");
    let schema = finelog.schema("log").await.expect("a schema");
    assert_eq!(schema, log.schema);
    let epoch = schema.columns.iter().find(|column| column.name == "epoch_ms").expect("a column");
    assert!(epoch.kind == ColumnType::Int64 && !epoch.nullable);
    assert!(finelog.schema("never.written").await.expect_err("no such table").is_not_found());
}
