//! A launched job, followed up to its first record.

use std::time::Duration;

use domain::ids::JobId;
use domain::ports::{Cause, End, JobState as Doing, Lab as _};
use lab::iris::IrisLab;
use lab::iris::rules::{EXECUTIONS, Rules};
use lab::iris::seen::{Record, Seen};
use marin::iris::{JobState, JobStatus};
use marin::{Clock, Iris};

use super::said::{Check, Report};
use super::stop::Stop;

const PAUSE: Duration = Duration::from_millis(500);
/// Rows and lines of a job that has ended may come so much later.
const LATE: Duration = Duration::from_secs(20);
/// How long the end of a job is waited for whose record says that it failed.
const FAILING: Duration = Duration::from_secs(60);
/// Lines of the log that are shown.
const LINES: usize = 20;

/// The link that is broken.
#[derive(Debug)]
pub(super) struct Broken {
    /// Which.
    pub(super) link: &'static str,
    /// What was found.
    pub(super) found: String,
    /// What to do.
    pub(super) todo: String,
    /// The last lines of the log.
    pub(super) lines: Vec<String>,
    /// How long it was waited for.
    pub(super) ms: u64,
}

/// Follows a job.
pub(super) struct Follower<'f> {
    /// The backend.
    pub(super) lab: &'f IrisLab,
    /// The controller.
    pub(super) iris: &'f Iris,
    /// The time.
    pub(super) clock: &'f dyn Clock,
    /// The job.
    pub(super) job: &'f JobId,
    /// Where its executions are found.
    pub(super) rules: &'f Rules,
}

/// Why nothing more is waited for.
enum Why {
    /// Somebody or something said so.
    Stopped(String),
    /// The job did not end well.
    Ended,
    /// The job ended well, and what is waited for did not come.
    Over,
    /// What came says it itself.
    Said(String),
    /// A server says what it will always say.
    Refused(String),
}

/// A link: its name, what to do where it breaks by itself and where it does not come in time.
struct Link {
    name: &'static str,
    broken: &'static str,
    late: &'static str,
}

const SCHEDULED: Link = Link {
    name: "scheduled",
    broken: "see cpu, ram and disk of [launcher], and the region of [[localities]]",
    late: "no worker was free that may take it: try later, with priority=interactive, or with a longer --limit",
};
const INSTALLED: Link = Link {
    name: "installed",
    broken: "the setup of the suite failed: zephyr-ab suite check names its scripts",
    late: "see what setup.scripts of the suite wait for, or give a longer --limit",
};
const STARTED: Link = Link {
    name: "started",
    broken: "the job failed at once: try --at a commit that is known to work",
    late: "see the job in the dashboard of the cluster",
};
const EXECUTION: Link = Link {
    name: "first execution",
    broken: "the benchmark failed before its first pipeline: try --at a commit that is known to work, and see its sample",
    late: "see whether the pool of workers gets places: pool_workers, pool_cpu and pool_ram say what it asks for",
};
const RECORD: Link = Link {
    name: "first record",
    broken: "a stage failed: try --at a commit that is known to work, and see its sample",
    late: "see whether the stage runs at all, or give a longer --limit",
};

impl Follower<'_> {
    /// All links after the launch.
    pub(super) async fn all(&mut self, stop: &mut Stop, report: &mut Report<'_, '_>) -> Result<(), Broken> {
        let start = self.clock.elapsed();
        let waits = |state: &JobState| matches!(state, JobState::Pending | JobState::Unspecified);
        let found = self.until(stop, report, |state| !waits(state)).await;
        self.say(report, &SCHEDULED, start, found).await?;

        let start = self.clock.elapsed();
        let found = self.until(stop, report, |state| !waits(state) && !matches!(state, JobState::Building)).await;
        self.say(report, &INSTALLED, start, found.map(|_| "nothing is left to install".to_owned())).await?;

        let start = self.clock.elapsed();
        let found = self.until(stop, report, |state| matches!(state, JobState::Running | JobState::Succeeded)).await;
        self.say(report, &STARTED, start, found).await?;

        let start = self.clock.elapsed();
        let seen = self.arrived(stop, report, |seen| !seen.executions.is_empty()).await;
        let found = seen.map(|seen| {
            let first = seen.executions.first().map(ToString::to_string).unwrap_or_default();
            if seen.in_table { format!("{first}, in {EXECUTIONS}") } else { format!("{first}, from the log alone") }
        });
        self.say(report, &EXECUTION, start, found).await?;

        let start = self.clock.elapsed();
        let seen = self.arrived(stop, report, |seen| !seen.records.is_empty()).await;
        let found = match seen.map(|seen| seen.records) {
            Ok(records) => match records.iter().find(|record| record.status != "END") {
                Some(bad) => {
                    self.wait_for_the_end(stop).await;
                    Err(Why::Said(said(bad)))
                }
                None => Ok(records.first().map(said).unwrap_or_default()),
            },
            Err(why) => Err(why),
        };
        self.say(report, &RECORD, start, found).await
    }

    fn since(&self, start: Duration) -> u64 {
        u64::try_from(self.clock.elapsed().saturating_sub(start).as_millis()).unwrap_or(u64::MAX)
    }

    /// Says that a link holds, or what is known of its breaking.
    async fn say(
        &self,
        report: &mut Report<'_, '_>,
        link: &Link,
        start: Duration,
        found: Result<String, Why>,
    ) -> Result<(), Broken> {
        let ms = self.since(start);
        let why = match found {
            Ok(found) => {
                report.add(Check::ok(link.name, found).took(ms));
                return Ok(());
            }
            Err(why) => why,
        };
        let (mut found, mut todo, mut lines) = (String::new(), link.broken, Vec::new());
        match why {
            Why::Stopped(why) => {
                let by_limit = !why.starts_with("stopped");
                (found, todo) = (why, if by_limit { link.late } else { "run it again" });
                if by_limit {
                    lines = self.lab.last_lines(self.job).await.to_vec();
                }
            }
            Why::Over => {
                "the job ended well, and none came".clone_into(&mut found);
                todo = "see whether its Zephyr reports to this Finelog, and metrics of the suite";
                lines = self.lab.last_lines(self.job).await.to_vec();
            }
            Why::Refused(why) => found = why,
            Why::Ended => (found, lines) = self.end().await,
            Why::Said(why) => {
                let (end, tail) = self.end().await;
                (found, lines) = (format!("{why}; {end}"), tail);
            }
        }
        let lines = lines.split_off(lines.len().saturating_sub(LINES));
        Err(Broken { link: link.name, found, todo: todo.to_owned(), lines, ms })
    }

    /// How the job ended, in the words of a run, and its last lines.
    async fn end(&self) -> (String, Vec<String>) {
        let said = match self.lab.poll(self.job).await {
            Ok(Doing::Ended(End::Failed { cause })) => match cause {
                Cause::Application { oom: true, text } => format!("out of memory: {text}"),
                Cause::Application { oom: false, text } | Cause::Infrastructure(text) => text,
                Cause::Stopped => "the job was killed, and not by this program".to_owned(),
                Cause::TimeLimit => "the job ran as long as its limit".to_owned(),
            },
            Ok(Doing::Ended(End::Succeeded)) => "the job ended well".to_owned(),
            Ok(_) => "the job still runs".to_owned(),
            Err(why) => format!("how it ended is not known: {why}"),
        };
        // The text has the last lines below it; they are shown by themselves.
        let first = said.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
        let lines = self.lab.last_lines(self.job).await.to_vec();
        (first, lines)
    }

    /// Waits until the state of the job is one of these.
    async fn until(
        &self,
        stop: &mut Stop,
        report: &mut Report<'_, '_>,
        reached: impl Fn(&JobState) -> bool,
    ) -> Result<String, Why> {
        let mut told = String::new();
        loop {
            if let Some(job) = self.look(stop, report).await? {
                if reached(&job.state) && (!job.state.has_ended() || job.state == JobState::Succeeded) {
                    return Ok(self.place(stop).await?.unwrap_or_else(|| word(&job.state)));
                }
                if job.state.has_ended() {
                    return Err(Why::Ended);
                }
                let waits = format!("{}: {}", word(&job.state), job.pending_reason);
                if told != waits {
                    report.note(&waits);
                    told = waits;
                }
            }
            stop.or(self.clock.sleep(PAUSE)).await.map_err(Why::Stopped)?;
        }
    }

    /// The state of the job, and the worker that it runs on.
    async fn place(&self, stop: &mut Stop) -> Result<Option<String>, Why> {
        let Ok(id) = marin::JobId::new(self.job.as_str()) else { return Ok(None) };
        let tasks = stop.or(self.iris.tasks(&id)).await.map_err(Why::Stopped)?.unwrap_or_default();
        let worker = tasks.iter().find(|task| !task.worker_id.is_empty());
        Ok(worker.map(|task| format!("on worker {}", task.worker_id)))
    }

    /// The job as the controller has it now; nothing where it does not answer at the moment.
    async fn look(&self, stop: &mut Stop, report: &mut Report<'_, '_>) -> Result<Option<JobStatus>, Why> {
        if report.is_lost() {
            return Err(Why::Stopped("stopped, as nobody reads what is printed".to_owned()));
        }
        let id = marin::JobId::new(self.job.as_str()).map_err(|why| Why::Refused(why.to_string()))?;
        match stop.or(self.iris.job(&id)).await.map_err(Why::Stopped)? {
            Ok(record) => Ok(Some(record.job)),
            Err(error) if error.is_transient() => {
                report.note(&format!("asking again: {error}"));
                Ok(None)
            }
            Err(error) => Err(Why::Refused(error.to_string())),
        }
    }

    /// Waits until the stores have what is waited for.
    async fn arrived(
        &self,
        stop: &mut Stop,
        report: &mut Report<'_, '_>,
        there: impl Fn(&Seen) -> bool,
    ) -> Result<Seen, Why> {
        let mut over = None;
        loop {
            // Asked for before the stores: what they lack then is late, not to come.
            let job = self.look(stop, report).await?;
            match stop.or(self.lab.seen(self.rules, self.job)).await.map_err(Why::Stopped)? {
                Ok(seen) if there(&seen) => return Ok(seen),
                Ok(_) => {}
                Err(why) => report.note(&format!("asking again: {why}")),
            }
            match job.map(|job| job.state).filter(JobState::has_ended) {
                Some(JobState::Succeeded) => {
                    let since = *over.get_or_insert(self.clock.elapsed());
                    if self.clock.elapsed().saturating_sub(since) > LATE {
                        return Err(Why::Over);
                    }
                }
                Some(_) => return Err(Why::Ended),
                None => {}
            }
            stop.or(self.clock.sleep(PAUSE)).await.map_err(Why::Stopped)?;
        }
    }

    /// A stage failed, and the job is about to: its error says more than the record.
    async fn wait_for_the_end(&self, stop: &mut Stop) {
        let start = self.clock.elapsed();
        while self.clock.elapsed().saturating_sub(start) < FAILING {
            if matches!(stop.or(self.lab.poll(self.job)).await, Ok(Ok(Doing::Ended(_))) | Err(_)) {
                return;
            }
            if stop.or(self.clock.sleep(PAUSE)).await.is_err() {
                return;
            }
        }
    }
}

fn said(record: &Record) -> String {
    format!("{} of {}: {}", record.stage, record.execution, record.status)
}

/// The word of a state for people.
fn word(state: &JobState) -> String {
    state.as_str().trim_start_matches("JOB_STATE_").to_lowercase()
}
