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

/// How often it is asked at first, and how often at least.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));
/// The last lines of a log come so much later than the end of the job.
const LATE_LINES: Duration = Duration::from_secs(2);
/// Rows and lines of a job that has ended may come so much later.
const LATE: Duration = Duration::from_secs(20);
/// How long the end of a job is waited for whose record says that it failed.
const FAILING: Duration = Duration::from_mins(1);
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
    /// In which state it was last seen.
    pub(super) last: JobState,
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
        let found = match self.until(stop, report, |state| !waits(state)).await {
            Ok(_) => self.place(stop).await.map(|place| place.unwrap_or_else(|| "it had a place".to_owned())),
            Err(why) => Err(why),
        };
        self.say(report, &SCHEDULED, start, found).await?;

        let start = self.clock.elapsed();
        let found = self.until(stop, report, |state| !waits(state) && !matches!(state, JobState::Building)).await;
        self.say(report, &INSTALLED, start, found.map(|_| "nothing is left to install".to_owned())).await?;

        let start = self.clock.elapsed();
        let found = self.until(stop, report, |state| matches!(state, JobState::Running | JobState::Succeeded)).await;
        self.say(report, &STARTED, start, found.map(|state| ran(&state))).await?;

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
                    if let Some(waiting) = self.waiting().await {
                        found = format!("{found}; {waiting}");
                    }
                    lines = self.lab.last_lines(self.job).await;
                }
            }
            Why::Over => {
                "the job ended well, and none came".clone_into(&mut found);
                todo = "see whether its Zephyr reports to this Finelog, and metrics of the suite";
                lines = self.lab.last_lines(self.job).await;
            }
            Why::Refused(why) => found = why,
            Why::Ended => (found, lines) = self.end().await,
            Why::Said(why) => {
                let (end, tail) = self.end().await;
                (found, lines) = (format!("{why}; {end}"), tail);
            }
        }
        lines.retain(|line| !line.trim().is_empty());
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
        self.clock.sleep(LATE_LINES).await;
        (first, self.lab.last_lines(self.job).await)
    }

    /// Waits until the state of the job is one of these.
    async fn until(
        &mut self,
        stop: &mut Stop,
        report: &mut Report<'_, '_>,
        reached: impl Fn(&JobState) -> bool,
    ) -> Result<JobState, Why> {
        let mut told = String::new();
        let start = self.clock.elapsed();
        loop {
            if let Some(job) = self.look(stop, report).await? {
                let phase = phase(&job);
                if phase.has_ended() {
                    // It may have gone through several links between two looks. Where it was set up when it was last
                    // seen, it ended there.
                    let went_on = job.started_at.is_some() && !matches!(self.last, JobState::Building);
                    let fine = phase == JobState::Succeeded || went_on;
                    return if fine { Ok(phase) } else { Err(Why::Ended) };
                }
                if reached(&phase) {
                    return Ok(phase);
                }
                self.last = phase.clone();
                let why =
                    if job.pending_reason.is_empty() { String::new() } else { format!(": {}", job.pending_reason) };
                let waits = format!("{}{why}", word(&phase));
                if told != waits {
                    report.note(&waits);
                    told = waits;
                }
            }
            self.pause(start, stop).await.map_err(Why::Stopped)?;
        }
    }

    /// Waits a little; longer when it was waited for long already.
    async fn pause(&self, start: Duration, stop: &mut Stop) -> Result<(), String> {
        let waited = self.clock.elapsed().saturating_sub(start);
        stop.or(self.clock.sleep((waited / 20).clamp(PAUSE.0, PAUSE.1))).await
    }

    /// The jobs below this one that wait for a place: most often the pool of workers.
    async fn waiting(&self) -> Option<String> {
        let id = marin::JobId::new(self.job.as_str()).ok()?;
        let tree = self.iris.tree(&id).await.ok()?;
        let waits: Vec<&JobStatus> = tree.descendants.iter().filter(|job| job.state == JobState::Pending).collect();
        let first = waits.first()?;
        let name = first.job_id.rsplit('/').next().unwrap_or_default();
        Some(format!("{} of its jobs wait for a place, such as {name}: {}", waits.len(), first.pending_reason))
    }

    /// The worker that the job runs on.
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
        let start = self.clock.elapsed();
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
            self.pause(start, stop).await.map_err(Why::Stopped)?;
        }
    }

    /// A stage failed, and the job is about to: its error says more than the record.
    async fn wait_for_the_end(&self, stop: &mut Stop) {
        let start = self.clock.elapsed();
        while self.clock.elapsed().saturating_sub(start) < FAILING {
            if matches!(stop.or(self.lab.poll(self.job)).await, Ok(Ok(Doing::Ended(_))) | Err(_)) {
                return;
            }
            if self.pause(start, stop).await.is_err() {
                return;
            }
        }
    }
}

fn said(record: &Record) -> String {
    format!("{} of {}: {}", record.stage, record.execution, record.status)
}

/// The state of a job; of one whose task is not yet running that it is being set up.
fn phase(job: &JobStatus) -> JobState {
    let count = |state: &str| job.task_state_counts.get(state).copied().unwrap_or(0);
    let prepares = job.state == JobState::Running && count("running") == 0 && count("building") + count("assigned") > 0;
    if prepares { JobState::Building } else { job.state.clone() }
}

/// What is said of a job that ran at some time.
fn ran(state: &JobState) -> String {
    if state.has_ended() { format!("it ran, and has ended: {}", word(state)) } else { word(state) }
}

/// The word of a state for people.
fn word(state: &JobState) -> String {
    state.as_str().trim_start_matches("JOB_STATE_").to_lowercase()
}
