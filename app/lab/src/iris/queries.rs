//! The queries. Texts of the program with checked ids in their places.

use marin::sql::{BadTemplate, Select, Template, Value};
use marin::{ExecutionId, JobId};

/// The executions of a job, and those of ids that were found elsewhere, whosever they are.
pub(crate) fn executions(root: &JobId, others: &[ExecutionId]) -> Result<Select, BadTemplate> {
    let text = r#"SELECT * FROM "zephyr.execution" WHERE root_job_id IN ({root}) OR execution_id IN ({others}) ORDER BY execution_id, seq"#;
    let values = [("root", Value::Jobs(vec![root.clone()])), ("others", Value::Executions(others.to_vec()))];
    Template::new(text)?.fill(&values)
}

/// Executions by their ids, whosever they are.
pub(crate) fn executions_named(ids: &[ExecutionId]) -> Result<Select, BadTemplate> {
    let text = r#"SELECT * FROM "zephyr.execution" WHERE execution_id IN ({ids}) ORDER BY execution_id, seq"#;
    Template::new(text)?.fill(&[("ids", Value::Executions(ids.to_vec()))])
}

/// The stage records of executions.
pub(crate) fn stages(ids: &[ExecutionId]) -> Result<Select, BadTemplate> {
    let text = r#"SELECT * FROM "zephyr.stage" WHERE execution_id IN ({ids}) ORDER BY execution_id, stage_name, seq"#;
    Template::new(text)?.fill(&[("ids", Value::Executions(ids.to_vec()))])
}

/// Peak memory of each attempt of a job and its descendants, and the machine that it ran on, of what was written since
/// `since_ms`.
pub(crate) fn tasks(root: &JobId, since_ms: i64) -> Result<Select, BadTemplate> {
    let text = r#"WITH used AS (
  SELECT task_id, attempt_id, worker_id, MAX(memory_peak_mb) AS peak_mib FROM "iris.task"
  WHERE starts_with(task_id, {below}) AND ts >= to_timestamp_millis({since}) GROUP BY task_id, attempt_id, worker_id),
hosts AS (
  SELECT worker_id, MAX(device_type) AS device_type, MAX(device_variant) AS device_variant, MAX(cpu_count) AS cpu_count,
    MAX(memory_bytes) AS memory_bytes, MAX(zone) AS zone FROM "iris.worker"
  WHERE ts >= to_timestamp_millis({since}) AND worker_id IN (SELECT worker_id FROM used) GROUP BY worker_id)
SELECT used.task_id, used.attempt_id, used.worker_id, used.peak_mib, hosts.device_type, hosts.device_variant,
  hosts.cpu_count, hosts.memory_bytes, hosts.zone
FROM used LEFT JOIN hosts ON used.worker_id = hosts.worker_id ORDER BY used.task_id, used.attempt_id, used.worker_id"#;
    Template::new(text)?.fill(&[("below", Value::Below(root.clone())), ("since", Value::Number(since_ms))])
}

/// Stages that are done and stages that are planned, so far.
pub(crate) fn progress(root: &JobId) -> Result<Select, BadTemplate> {
    let text = r#"SELECT e.execution_id, MAX(e.stages_json) AS stages_json, COUNT(s.stage_name) AS done
FROM "zephyr.execution" e LEFT JOIN "zephyr.stage" s ON e.execution_id = s.execution_id
WHERE e.root_job_id IN ({root}) GROUP BY e.execution_id ORDER BY e.execution_id"#;
    Template::new(text)?.fill(&[("root", Value::Jobs(vec![root.clone()]))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_one() {
        let root = JobId::new("/bot/zab").unwrap();
        let id = ExecutionId::new("exact-web-20261129-202850-8d10c1b5").unwrap();
        let ids = std::slice::from_ref(&id);
        let all = [
            executions(&root, ids),
            executions(&root, &[]),
            executions_named(ids),
            stages(ids),
            tasks(&root, 7),
            progress(&root),
        ];
        for select in all {
            assert!(!select.unwrap().as_str().contains('{'));
        }
    }
}
