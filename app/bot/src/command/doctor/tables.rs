//! Finelog: whether it is there, healthy, and has what the queries and the suites read.

use std::time::Duration;

use marin::finelog::{Cell, Namespace};
use marin::sql::Template;
use marin::{Clock, Error, Finelog, Iris};
use suite::judging::HostClass;
use suite::{Backend, Suite};

use super::checks::todo;
use super::said::{Check, Report};
use crate::config::ClusterConfig;

/// A table that is read: its name, the columns that the queries of the program name.
const TABLES: [(&str, &[&str]); 6] = [
    ("zephyr.stage", &["execution_id", "stage_name", "status"]),
    ("zephyr.execution", &["execution_id", "root_job_id", "stages_json"]),
    ("zephyr.worker", &[]),
    ("iris.task", &["task_id", "attempt_id", "worker_id", "memory_peak_mb", "ts"]),
    ("iris.worker", &["worker_id", "device_type", "device_variant", "cpu_count", "memory_bytes", "zone", "ts"]),
    ("log", &[]),
];
/// A trivial query that takes longer tells of a server that cannot serve a real one.
const SLOW: Duration = Duration::from_secs(5);
/// A difference of clocks from which on tokens may be refused.
const FAR: Duration = Duration::from_secs(30);

/// None of this can be checked.
pub(super) fn skipped(report: &mut Report<'_, '_>, earlier: &str) {
    report.add(Check::skipped("finelog", earlier));
    below(report, if earlier == "finelog" { earlier } else { "finelog" });
}

fn below(report: &mut Report<'_, '_>, earlier: &str) {
    for (table, _) in TABLES {
        report.add(Check::skipped(table, earlier));
    }
    report.add(Check::skipped("query", earlier));
    report.add(Check::skipped("clock", earlier));
}

/// Whether it is there. `iris` is the controller, where that was reached.
pub(super) async fn check(
    report: &mut Report<'_, '_>,
    finelog: &Finelog,
    (name, cluster): (&str, &ClusterConfig),
    iris: Option<&Iris>,
    clock: &dyn Clock,
    suites: &[&Suite],
) -> bool {
    let direct = cluster.finelog.as_deref();
    if direct.is_none() && iris.is_none() {
        skipped(report, "controller");
        return false;
    }
    let way = direct.map_or_else(|| "through the controller".to_owned(), |address| format!("at {address}"));
    let body = match finelog.health().await {
        Ok(body) => body,
        Err(error) => {
            let mut todo = todo(&error, name);
            if let (Some(_), Some(iris)) = (direct, iris)
                && Finelog::through_controller(iris.transport()).health().await.is_ok()
            {
                todo = format!(
                    "take finelog out of [clusters.{name}]: it answers through the controller; or correct its address"
                );
            }
            report.add(Check::fail("finelog", format!("{way}: {error}"), todo));
            below(report, "finelog");
            return false;
        }
    };
    report.add(health(&way, &body));
    match finelog.namespaces().await {
        Ok(found) => tables(report, &found, suites),
        Err(error) => {
            report.add(Check::fail("tables", error.to_string(), todo(&error, name)));
            for (table, _) in TABLES {
                report.add(Check::skipped(table, "tables"));
            }
        }
    }
    query(report, finelog, clock, name).await;
    true
}

/// What `ok`, or `degraded: ` and which namespaces, means.
fn health(way: &str, body: &str) -> Check {
    let found = format!("{way}: {body}");
    if body == "ok" {
        return Check::ok("finelog", found);
    }
    if !body.starts_with("degraded") {
        let todo = "expected ok, or degraded and what: see that this is the address of Finelog";
        return Check::warn("finelog", found, todo);
    }
    let words = || body.split(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)));
    let named = |table: &str| words().any(|word| word.trim_matches('.') == table);
    if named("zephyr.stage") {
        let todo = "ask whoever runs Finelog: stage records are lost or late, and every comparison would lack rows";
        return Check::fail("finelog", found, todo);
    }
    let read: Vec<&str> = TABLES.iter().map(|(table, _)| *table).filter(|table| named(table)).collect();
    let todo = if read.is_empty() {
        "nothing that is read here is named; tell whoever runs Finelog".to_owned()
    } else {
        format!("ask whoever runs Finelog: what {} has may be incomplete", read.join(" and "))
    };
    Check::warn("finelog", found, todo)
}

fn tables(report: &mut Report<'_, '_>, found: &[Namespace], suites: &[&Suite]) {
    for (table, own) in TABLES {
        let there = found.iter().find(|there| there.namespace == table);
        let mut needed: Vec<(&str, Option<&str>)> = own.iter().map(|column| (*column, None)).collect();
        for suite in suites {
            let Backend::Iris(cluster) = &suite.backend else { continue };
            if cluster.metrics.namespace == table {
                needed
                    .extend(cluster.metrics.required.iter().map(|column| (column.as_str(), Some(suite.name.as_str()))));
            }
        }
        report.add(match there {
            None => absent(table, found, suites),
            Some(there) => columns(table, there, &needed, suites),
        });
    }
}

/// The columns of a table that is there, against those that are needed and who needs them.
fn columns(table: &'static str, there: &Namespace, needed: &[(&str, Option<&str>)], suites: &[&Suite]) -> Check {
    let has = |column: &str| there.schema.columns.iter().any(|known| known.name == column);
    let mut lacking: Vec<&str> = Vec::new();
    for (column, _) in needed {
        if !has(column) && !lacking.contains(column) {
            lacking.push(column);
        }
    }
    if lacking.is_empty() {
        return Check::ok(table, format!("{} rows", there.row_count));
    }
    let who = |column: &&str| {
        let of: Vec<&str> = needed.iter().filter(|(name, _)| name == column).filter_map(|(_, suite)| *suite).collect();
        if of.is_empty() { (*column).to_owned() } else { format!("{column} (needed by {})", of.join(", ")) }
    };
    let said: Vec<String> = lacking.iter().map(who).collect();
    let found = format!("it has no column {}", said.join(", "));
    if table == "zephyr.stage" {
        let todo = "use a version of Zephyr that writes it, or a suite whose metrics.stage does not require it";
        return Check::fail(table, found, todo);
    }
    Check::warn(table, found, meaning(table, suites))
}

fn absent(table: &'static str, found: &[Namespace], suites: &[&Suite]) -> Check {
    let said = "there is no such table: nothing was ever written to it";
    let table_only = |suite: &&&Suite| matches!(&suite.backend, Backend::Iris(of) if !of.metrics.executions.iter().any(|from| from == "logs"));
    let no_log = !found.iter().any(|there| there.namespace == "log");
    match table {
        "zephyr.stage" => Check::fail(
            table,
            said,
            "run a Zephyr job, such as that of --probe; if it is still absent then, jobs of this cluster report to another \
             Finelog, or their Zephyr is too old",
        ),
        "zephyr.execution" if no_log => Check::fail(
            table,
            format!("{said}, and there are no logs"),
            "without either no execution of a job is known",
        ),
        "zephyr.execution" if suites.iter().any(|suite| table_only(&suite)) => {
            let only: Vec<&str> = suites.iter().filter(table_only).map(|suite| suite.name.as_str()).collect();
            let todo = format!("add \"logs\" to metrics.executions of {}, or use a newer Zephyr", only.join(", "));
            Check::fail(table, said, todo)
        }
        _ => Check::warn(table, said, meaning(table, suites)),
    }
}

/// What is not known without a table, and what that means for the suites.
fn meaning(table: &str, suites: &[&Suite]) -> String {
    let strict = |suite: &&&Suite| !matches!(suite.judging.host_class, HostClass::Ignore);
    let strict: Vec<&str> = suites.iter().filter(strict).map(|suite| suite.name.as_str()).collect();
    let kinds = match strict.as_slice() {
        [] => String::new(),
        names => format!(
            "; comparisons of {} say so and cannot hold the machines of the arms against each other, which their \
             judging.host_class asks for",
            names.join(", ")
        ),
    };
    match table {
        "zephyr.execution" => {
            "executions are known from the log only, which may lose lines: use a Zephyr that writes this table"
                .to_owned()
        }
        "zephyr.worker" => "shards that were tried again can be counted from the log only".to_owned(),
        "iris.task" => format!("peak memory of tasks and kinds of machines are not known{kinds}"),
        "iris.worker" => format!("kinds of machines are not known{kinds}"),
        _ => "the last lines of a job that fails cannot be shown".to_owned(),
    }
}

/// A query that reads nothing, and what its answer says of the clocks.
async fn query(report: &mut Report<'_, '_>, finelog: &Finelog, clock: &dyn Clock, name: &str) {
    let select = Template::new("SELECT now() AS at").and_then(|template| template.fill(&[])).map_err(Error::from);
    let (start, before) = (clock.elapsed(), clock.unix());
    let answer = match &select {
        Ok(select) => finelog.query(select).await,
        Err(_) => return,
    };
    let took = clock.elapsed().saturating_sub(start);
    let table = match answer {
        Ok(table) => table,
        Err(error) => {
            report.add(Check::fail("query", error.to_string(), todo(&error, name)));
            report.add(Check::skipped("clock", "query"));
            return;
        }
    };
    report.add(if took > SLOW {
        let found = format!("a query that reads nothing took {:.1} s", took.as_secs_f64());
        Check::warn("query", found, "ask whoever runs Finelog: it ends a query after 10 s")
    } else {
        Check::ok("query", "answered in time")
    });
    let Some(Cell::Time(at)) = table.rows.first().and_then(|row| row.first()) else {
        report.add(Check::warn("clock", "the server does not tell the time", "compare the clocks by hand"));
        return;
    };
    // Half of the call went by before the server looked at its clock.
    let here = before + took / 2;
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let ahead = at.saturating_sub(micros(here));
    let apart = Duration::from_micros(ahead.unsigned_abs());
    let which = if ahead > 0 { "behind" } else { "ahead of" };
    report.add(if apart > FAR {
        let found = format!("this machine is {} s {which} Finelog", apart.as_secs());
        Check::warn("clock", found, "set the clocks: a login whose times are wrong is refused")
    } else if apart.as_secs() > 0 {
        Check::ok("clock", format!("this machine is {} s {which} Finelog", apart.as_secs()))
    } else {
        Check::ok("clock", "equal to that of Finelog within 1 s")
    });
}

#[cfg(test)]
mod tests {
    use super::health;

    #[test]
    fn health_is_about_what_is_read() {
        let said = |body: &str| format!("{:?}", health("at x", body));
        assert!(said("ok").contains("level: Ok"));
        for body in
            ["degraded: zephyr.stage: disk full", "degraded: log: x; zephyr.stage: y", "degraded: zephyr.stage."]
        {
            assert!(said(body).contains("level: Fail"), "{body}");
        }
        for body in ["degraded: zephyr.stage2: x", "degraded: telemetry_v1: x", "", "<html>"] {
            assert!(said(body).contains("level: Warn"), "{body}");
        }
        assert!(said("degraded: iris.worker: x").contains("what iris.worker has may be incomplete"));
    }
}
