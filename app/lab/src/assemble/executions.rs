//! Which executions a job ran, from the table of executions and from its log. Ids in a log are whatever the program of
//! a pull request printed: they are believed only where nothing better is known, and never against the table.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::ExecutionId;
use regex::Regex;
use serde::Deserialize;

use crate::iris::answers::{Answers, Grid, JobAnswer, Line, Told};

/// The executions of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// Every execution that counts, with its planned stages; `None` where nobody said what was planned.
    pub planned: BTreeMap<ExecutionId, Option<Vec<String>>>,
    /// What a reader should know: ids that were not counted.
    pub remarks: Vec<String>,
    /// Why the table of executions cannot be believed.
    pub broken: Option<Broken>,
}

/// What is wrong with the table of executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The planned stages of this execution cannot be read.
    Plan(ExecutionId),
    /// This execution is there with two different plans.
    Twice(ExecutionId),
}

/// Most ids that a log may name; what goes beyond is whatever a program printed.
const MOST: usize = 20_000;

/// How long before the start and after the end of a job an execution of it may claim to have begun: clocks differ.
const SLACK_MS: i64 = 120_000;
/// Ids that are listed in a remark.
const LISTED: usize = 3;

/// The ids that the log names, in the order of their lines. Only lines of the job's own tasks that the library's logger
/// wrote; what else a program prints is not looked at.
#[must_use]
pub fn named_in_log(lines: &[Line], root: &str, pattern: &Regex) -> Vec<ExecutionId> {
    let below = format!("{root}/");
    let mut seen = BTreeSet::new();
    let mut ids = Vec::new();
    for line in lines.iter().filter(|line| line.source == "stderr" && line.key.starts_with(&below)) {
        let Some(said) = logged(&line.text) else { continue };
        let Some(found) = pattern.captures(said).filter(|found| found.get(0).is_some_and(|all| all.start() == 0))
        else {
            continue;
        };
        let groups = pattern.capture_names().flatten().filter_map(|name| found.name(name));
        for id in groups.filter_map(|group| group.as_str().parse::<ExecutionId>().ok()) {
            if ids.len() < MOST && seen.insert(id.clone()) {
                ids.push(id);
            }
        }
    }
    ids
}

/// What a line of the library's logger says: `I20261129 20:28:50 140281731073728 zephyr.context Starting ...`.
pub(crate) fn logged(text: &str) -> Option<&str> {
    let mut parts = text.splitn(5, ' ');
    let (level, _time, _thread, logger) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let stamp = level.strip_prefix(['D', 'I', 'W', 'E', 'C'])?;
    let fine = stamp.len() == 8 && stamp.bytes().all(|b| b.is_ascii_digit()) && logger.starts_with("zephyr.");
    fine.then(|| parts.next()).flatten()
}

/// The executions that count.
///
/// Where the table knows executions of this job, those are all: an id that only the log names is not counted. Where it
/// knows none, as with versions that do not write it, the log's ids count unless the table gives them to another job or
/// they claim a time at which the job did not run.
#[must_use]
pub fn executions(answers: &Answers, root: &str, pattern: Option<&Regex>) -> Executions {
    if let Some(ids) = &answers.named {
        return by_hand(answers, ids);
    }
    let named = pattern.zip(answers.lines.as_ref()).map(|(pattern, lines)| named_in_log(lines, root, pattern));
    let named = named.unwrap_or_default();
    let (mut own, mut others) = (BTreeMap::new(), BTreeSet::new());
    let mut found = Executions::default();
    if let Some(Told::Grid(grid)) = &answers.executions {
        for (id, owner, plan) in recorded(grid) {
            if owner != root {
                others.insert(id);
                continue;
            }
            let stages = match plan {
                Plan::Stages(stages) => Some(stages),
                Plan::None => None,
                Plan::Unreadable => {
                    found.broken.get_or_insert(Broken::Plan(id.clone()));
                    None
                }
            };
            // The same record may have come from several clusters; another one is somebody's invention.
            if let Some(before) = own.insert(id.clone(), stages.clone())
                && before != stages
            {
                found.broken.get_or_insert(Broken::Twice(id));
            }
        }
    }
    let foreign: Vec<&ExecutionId> = named.iter().filter(|id| others.contains(id) && !own.contains_key(id)).collect();
    remark(&mut found.remarks, &foreign, "which another job ran");
    if own.is_empty() {
        let (inside, outside): (Vec<&ExecutionId>, Vec<&ExecutionId>) = named
            .iter()
            .filter(|id| !others.contains(id))
            .partition(|id| answers.job.as_ref().is_none_or(|job| ran_then(job, id)));
        remark(&mut found.remarks, &outside, "from a time at which the job did not run");
        found.planned = inside.into_iter().map(|id| (id.clone(), None)).collect();
        if !found.planned.is_empty() {
            found.remarks.push("executions are known from the log alone, which may have lost lines".to_owned());
        }
        return found;
    }
    let unknown: Vec<&ExecutionId> = named.iter().filter(|id| !others.contains(id) && !own.contains_key(id)).collect();
    remark(&mut found.remarks, &unknown, "which the table of executions does not know");
    found.planned = own;
    found
}

/// The executions that a person named, whosever they are.
fn by_hand(answers: &Answers, ids: &[String]) -> Executions {
    let mut found = Executions::default();
    let ids = ids.iter().filter_map(|id| id.parse::<ExecutionId>().ok());
    found.planned = ids.map(|id| (id, None)).collect();
    if let Some(Told::Grid(grid)) = &answers.executions {
        for (id, _, plan) in recorded(grid) {
            let Plan::Stages(stages) = plan else { continue };
            found.planned.entry(id).and_modify(|planned| *planned = Some(stages));
        }
    }
    found.remarks.push("executions were named by hand".to_owned());
    found
}

fn remark(remarks: &mut Vec<String>, ids: &[&ExecutionId], what: &str) {
    let Some(first) = ids.first() else { return };
    let listed: Vec<&str> = ids.iter().take(LISTED).map(|id| id.as_str()).collect();
    let more = if ids.len() > LISTED { format!(" and {} more", ids.len() - LISTED) } else { String::new() };
    let noun = if ids.len() == 1 { first.as_str().to_owned() } else { format!("{}{more}", listed.join(", ")) };
    remarks.push(format!("the log names {noun}, {what}: not counted"));
}

/// What a record says of the planned stages.
enum Plan {
    /// These.
    Stages(Vec<String>),
    /// Nothing.
    None,
    /// Something that is no list of stages.
    Unreadable,
}

/// The records of the table: execution, root job, planned stages.
fn recorded(grid: &Grid) -> impl Iterator<Item = (ExecutionId, String, Plan)> {
    #[derive(Deserialize)]
    struct Planned {
        stage_name: String,
    }
    grid.rows.iter().filter_map(|row| {
        let id: ExecutionId = grid.text(row, "execution_id")?.parse().ok()?;
        let owner = grid.text(row, "root_job_id")?.to_owned();
        let plan = match grid.text(row, "stages_json").map(serde_json::from_str::<Vec<Planned>>) {
            None => Plan::None,
            Some(Ok(all)) => Plan::Stages(all.into_iter().map(|stage| stage.stage_name).collect()),
            Some(Err(_)) => Plan::Unreadable,
        };
        Some((id, owner, plan))
    })
}

/// Whether the time in an id lies within that of the job.
fn ran_then(job: &JobAnswer, id: &ExecutionId) -> bool {
    let Some(at) = begun_ms(id) else { return false };
    let job = &job.root.job;
    let begin = job.started_at.or(job.submitted_at).map_or(i64::MIN, |at| at.epoch_ms - SLACK_MS);
    let end = job.finished_at.map_or(i64::MAX, |at| at.epoch_ms + SLACK_MS);
    (begin..=end).contains(&at)
}

/// The time in an id, which the library takes from the clock of the job in UTC, in milliseconds since 1970.
fn begun_ms(id: &ExecutionId) -> Option<i64> {
    let text = id.suffix();
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let (hour, minute, second) = (number(9..11)?, number(11..13)?, number(13..15)?);
    // Days since 1970 by Hinnant, "chrono-compatible low-level date algorithms".
    let shifted = year - i64::from(month <= 2);
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

#[cfg(test)]
mod tests {
    use marin::wire::Timestamp;
    use serde_json::json;

    use super::*;

    const ROOT: &str = "/bot/zab";

    fn pattern() -> Regex {
        Regex::new(r"Starting (?:shared|dedicated) Zephyr pipeline (?P<id>\S+)|Starting zephyr pipeline: (?P<old>\S+)")
            .unwrap()
    }

    fn line(key: &str, source: &str, text: &str) -> Line {
        Line { key: key.to_owned(), source: source.to_owned(), at_ms: 0, text: text.to_owned() }
    }

    fn logged_start(id: &str) -> Line {
        let text = format!("I20261130 02:17:28 140281731073728 zephyr.context Starting shared Zephyr pipeline {id}");
        line("/bot/zab/0:0", "stderr", &text)
    }

    fn row(id: &str, root: &str) -> Vec<serde_json::Value> {
        vec![json!(id), json!(root), json!(r#"[{"stage_name":"stage0-Map"},{"stage_name":"stage1-Reduce"}]"#)]
    }

    fn answers(rows: Vec<Vec<serde_json::Value>>, lines: Vec<Line>) -> Answers {
        let columns = ["execution_id", "root_job_id", "stages_json"].map(str::to_owned).to_vec();
        let mut job = JobAnswer::default();
        job.root.job.started_at = Some(Timestamp { epoch_ms: begun("20261130-021700") });
        job.root.job.finished_at = Some(Timestamp { epoch_ms: begun("20261130-022700") });
        Answers {
            executions: Some(Told::Grid(Grid { columns, rows })),
            lines: Some(lines),
            job: Some(job),
            ..Answers::default()
        }
    }

    fn begun(time: &str) -> i64 {
        begun_ms(&format!("{time}-00000000").parse().unwrap()).unwrap()
    }

    const OWN: &str = "exact-web-20261130-021728-a729f7a1";
    const PLAIN: &str = "20261130-021728-c712be33";

    #[test]
    fn times() {
        assert_eq!(begun("19700101-000000"), 0);
        assert_eq!(begun("20261129-202850"), 1_795_984_130_000);
        assert_eq!(begun("20240229-235959"), 1_709_251_199_000);
    }

    #[test]
    fn only_the_librarys_own_lines_count() {
        let start = format!("Starting shared Zephyr pipeline {OWN}");
        let lines = vec![
            logged_start(PLAIN),
            logged_start(PLAIN),
            line("/bot/zab/0:0", "stdout", &logged_start(OWN).text),
            line("/bot/zab2/0:0", "stderr", &logged_start(OWN).text),
            line("/bot/zab/0:0", "stderr", &start),
            line("/bot/zab/0:0", "stderr", &format!("I20261130 02:17:28 14 benchmark {start}")),
            line("/bot/zab/0:0", "stderr", &format!("I20261130 02:17:28 14 zephyr.context x {start}")),
            line(
                "/bot/zab/0:0",
                "stderr",
                "I20261130 02:17:28 14 zephyr.context Starting shared Zephyr pipeline ' OR 1",
            ),
            line(
                "/bot/zab/0:0",
                "stderr",
                &format!("I20261130 02:17:28 14 zephyr.context Starting zephyr pipeline: {OWN}"),
            ),
        ];
        let ids = named_in_log(&lines, ROOT, &pattern());
        assert_eq!(ids.iter().map(ExecutionId::as_str).collect::<Vec<_>>(), [PLAIN, OWN]);
    }

    #[test]
    fn the_table_decides_and_strangers_are_not_counted() {
        let stranger = "exact-web-20261130-021730-ffffffff";
        let invented = "exact-web-20261130-021731-eeeeeeee";
        let rows = vec![row(OWN, ROOT), row(stranger, "/bot/other")];
        let lines = [OWN, stranger, invented].map(logged_start).to_vec();
        let found = executions(&answers(rows, lines), ROOT, Some(&pattern()));
        let planned: Vec<(&str, Option<usize>)> =
            found.planned.iter().map(|(id, stages)| (id.as_str(), stages.as_ref().map(Vec::len))).collect();
        assert_eq!(planned, [(OWN, Some(2))]);
        assert_eq!(
            found.remarks,
            [
                format!("the log names {stranger}, which another job ran: not counted"),
                format!("the log names {invented}, which the table of executions does not know: not counted"),
            ]
        );
    }

    #[test]
    fn the_log_alone_where_the_table_knows_nothing() {
        let stranger = "exact-web-20261130-021730-ffffffff";
        let old = "exact-web-20261030-021730-ffffffff";
        let lines = [OWN, PLAIN, stranger, old].map(logged_start).to_vec();
        let found = executions(&answers(vec![row(stranger, "/bot/other")], lines.clone()), ROOT, Some(&pattern()));
        assert_eq!(found.planned.keys().map(ExecutionId::as_str).collect::<Vec<_>>(), [PLAIN, OWN]);
        assert!(found.planned.values().all(Option::is_none) && found.remarks.len() == 3, "{:?}", found.remarks);
        let mut absent = answers(Vec::new(), lines);
        absent.executions = Some(Told::Absent { absent: "no such table".into() });
        assert_eq!(executions(&absent, ROOT, Some(&pattern())).planned.len(), 3);
        assert!(executions(&absent, ROOT, None).planned.is_empty());
    }
}
