//! Answers kept from a real cluster's command line jobs.

use marin::iris::{JobRecord, JobState, LaunchRequest, PriorityBand, TaskState};

/// The answer in a sample, which ends with a line of the tool that fetched it.
fn body(sample: &str) -> serde_json::Value {
    serde_json::Deserializer::from_str(sample).into_iter().next().expect("a value").expect("JSON")
}

#[test]
fn a_job_of_the_command_line_is_read_whole_and_written_back_without_loss() {
    let answer = body(include_str!("../fixtures/GetJobStatus.json"));
    let record: JobRecord = serde_json::from_value(answer.clone()).expect("reads");
    assert_eq!(record.job.state, JobState::Failed);
    assert_eq!(record.job.failure_count, 1);
    assert_eq!(record.job.resources.memory_bytes, 2 << 30);
    assert_eq!(record.job.started_at.expect("began").epoch_ms, 1_795_982_843_101);
    assert_eq!(record.request.priority_band, PriorityBand::Batch);
    assert_eq!(record.request.entrypoint.setup_commands.len(), 2);
    assert_eq!(record.request.environment.setup_scripts.len(), 1);
    assert_eq!(record.request.constraints.len(), 2);
    assert_eq!(record.request.max_retries_preemption, 1000);
    assert_eq!(record.job.other["backendId"], "default");
    let written = serde_json::to_value(&record).expect("writes");
    let job = answer["job"].as_object().expect("an object");
    for (field, value) in job {
        assert_eq!(&written["job"][field], value, "{field}");
    }
    for field in ["environment", "bundleId", "constraints", "submitArgv", "failIfExists", "preemptionPolicy"] {
        assert_eq!(written["request"][field], answer["request"][field], "{field}");
    }
}

#[test]
fn a_launch_of_the_recorded_kind_is_written_as_recorded() {
    let mut answer = body(include_str!("../fixtures/LaunchJob-request.json"));
    // The sample's zip is cut off.
    answer["bundleBlob"] = "UEsFBgAAAAA=".into();
    let request: LaunchRequest = serde_json::from_value(answer.clone()).expect("reads");
    assert_eq!(serde_json::to_value(&request).expect("writes"), answer);
}

#[test]
fn tasks_and_logs() {
    let answer = body(include_str!("../fixtures/ListTasks.json"));
    let task: marin::iris::TaskStatus = serde_json::from_value(answer["tasks"][0].clone()).expect("reads");
    assert_eq!((task.state, task.exit_code, task.attempts.len()), (TaskState::Failed, 2, 1));
    assert_eq!(task.attempts[0].other["attemptUid"], "3757a7442b8e57a1");
    let answer = body(include_str!("../fixtures/FetchLogs.json"));
    let entry: marin::finelog::LogEntry = serde_json::from_value(answer["entries"][0].clone()).expect("reads");
    assert_eq!((entry.seq, entry.key.as_str()), (40, "/bot/zephyr-ab-hello-control/0:0"));
}

#[test]
fn unknown_values_and_fields_survive() {
    let text = r#"{"state": "JOB_STATE_HIBERNATING", "novel": {"a": [1]}, "taskCount": 1}"#;
    let job: marin::iris::JobStatus = serde_json::from_str(text).expect("reads");
    assert_eq!(job.state, JobState::Other("JOB_STATE_HIBERNATING".into()));
    assert!(!job.state.has_ended());
    let written = serde_json::to_value(&job).expect("writes");
    assert_eq!((written["state"].as_str(), &written["novel"]["a"][0]), (Some("JOB_STATE_HIBERNATING"), &1.into()));
    let numbers: Vec<TaskState> = serde_json::from_str("[10, 13, \"TASK_STATE_MISSING\"]").expect("reads");
    assert_eq!(numbers, [TaskState::Preempted, TaskState::Other("13".into()), TaskState::Missing]);
}

#[test]
fn execution_ids_of_a_newer_zephyr_are_taken_whole() {
    let table = include_str!("../fixtures/named-executions.txt");
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("/bot/")).collect();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let mut cells = row.split('|').map(str::trim);
        let id = marin::ExecutionId::new(cells.next().expect("a cell")).expect("an execution id");
        assert!(id.is_named());
        assert!(marin::JobId::new(cells.next().expect("a cell")).is_ok());
    }
}
