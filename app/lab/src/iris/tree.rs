//! How a job ended, from what the controller says of it and its descendants. Pure.

use domain::ids::Digest;
use domain::ports::{Cause, End};
use marin::iris::{JobState, JobStatus, TaskAttempt, TaskState};
use marin::wire::Timestamp;

use super::answers::JobAnswer;

/// What the attempts of a tree come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Attempts at the root or at a coordinator that the infrastructure ended, in words.
    pub critical: Vec<String>,
    /// Attempts at workers that the infrastructure ended.
    pub workers: u64,
    /// Attempts at workers.
    pub of: u64,
    /// Attempts that ran out of memory.
    pub oom: u64,
    /// Attempts at workers that failed by themselves and were made again.
    pub again: u64,
}

impl Losses {
    /// Whether more than a share of the workers' attempts was lost.
    #[must_use]
    pub fn exceed(&self, share: f64) -> bool {
        self.workers > 0 && self.workers as f64 > share * self.of as f64
    }
}

/// Whether a job, by its id, is a group of workers: the cluster's own library calls them so. Every other descendant
/// coordinates.
#[must_use]
pub fn is_workers(job: &str) -> bool {
    job.rsplit('/').next().is_some_and(|name| name.ends_with("workers") || name.contains("-workers-"))
}

/// Whether the infrastructure ended an attempt. One that was ended at the end of the root, or after it, was no longer
/// needed; one that was killed was killed by somebody and not lost.
fn is_lost(attempt: &TaskAttempt, root_end: Option<Timestamp>) -> bool {
    let lost = matches!(
        attempt.state,
        TaskState::Preempted | TaskState::WorkerFailed | TaskState::Missing | TaskState::CoschedFailed
    );
    let after = matches!((attempt.finished_at, root_end), (Some(end), Some(root)) if end >= root);
    lost && !after
}

/// What the runtime says in an error: a program's own words come after it.
fn of_runtime(error: &str) -> &str {
    error.split_once("stderr:").map_or(error, |(runtime, _)| runtime)
}

/// Whether an error says that memory ran out: the words of the workers' runtime, of the kernel and of Kubernetes.
fn is_oom(error: &str) -> bool {
    ["OOM killed", "OOMKilled", "out of memory"].iter().any(|word| of_runtime(error).contains(word))
}

/// Whether a process found its port taken: coordinators take one at random, and then it is nobody's doing. Where it is
/// the program's, it happens again and again, and nothing is held against it but that it could not be measured.
fn is_collision(error: &str) -> bool {
    error.contains("[Errno 98] Address already in use")
}

impl JobAnswer {
    /// The root and its descendants.
    pub fn jobs(&self) -> impl Iterator<Item = &JobStatus> {
        std::iter::once(&self.root.job).chain(&self.descendants)
    }

    /// Takes out what must not be kept or need not be: the zip, the values of the environment, and whatever this
    /// version does not know. Somebody else's job may hold secrets there.
    pub fn keep_no_secrets(&mut self) {
        let request = &mut self.root.request;
        request.bundle_blob = Vec::new();
        request.submit_argv = Vec::new();
        for value in request.environment.env_vars.values_mut() {
            *value = format!("sha256:{}", Digest::of(value.as_bytes()).as_str().get(..12).unwrap_or_default());
        }
        for other in
            [&mut request.other, &mut request.environment.other, &mut request.entrypoint.other, &mut self.root.other]
        {
            other.clear();
        }
    }

    /// The ids of jobs whose tasks must be looked at: those that were tried again or did not end well. Attempts that
    /// were killed at the end are among them.
    pub fn suspects(&self) -> impl Iterator<Item = &str> {
        let suspect =
            |job: &&JobStatus| job.state != JobState::Succeeded || job.preemption_count > 0 || job.failure_count > 0;
        self.jobs().filter(suspect).map(|job| job.job_id.as_str())
    }

    /// What the attempts come to.
    #[must_use]
    pub fn losses(&self) -> Losses {
        let root_end = self.root.job.finished_at;
        let mut losses = Losses::default();
        for job in self.jobs() {
            let tasks = self.tasks.get(&job.job_id).map_or(&[][..], Vec::as_slice);
            let attempts = || tasks.iter().flat_map(|task| &task.attempts);
            let failed = || attempts().filter(|attempt| attempt.state == TaskState::Failed);
            losses.oom += failed().filter(|attempt| is_oom(&attempt.error)).count() as u64;
            let lost: Vec<&TaskAttempt> = attempts().filter(|attempt| is_lost(attempt, root_end)).collect();
            if is_workers(&job.job_id) {
                losses.workers += lost.len() as u64;
                losses.again += failed().count() as u64;
                let known = attempts().count() as u64;
                losses.of += if known > 0 { known } else { u64::try_from(job.task_count).unwrap_or(0) };
                continue;
            }
            let what = if job.job_id == self.root.job.job_id { "the job" } else { "a coordinator" };
            losses.critical.extend(lost.iter().map(|attempt| {
                let how = match attempt.state {
                    TaskState::Preempted => "was preempted",
                    TaskState::CoschedFailed => "lost a task that had to run beside it",
                    _ => "lost its worker",
                };
                format!("{what} {how}")
            }));
            if failed().count() > 0 && job.state == JobState::Succeeded {
                losses.critical.push(format!("{what} failed and was started again"));
            }
        }
        losses
    }

    /// What the last attempt at the root said that failed by itself, which tells more than what the controller makes of
    /// all attempts.
    fn last_error(&self) -> Option<String> {
        let tasks = self.tasks.get(&self.root.job.job_id)?;
        let mut failed = tasks.iter().flat_map(|task| &task.attempts).filter(|one| one.state == TaskState::Failed);
        failed.next_back().map(|attempt| first_line(&attempt.error)).filter(|error| !error.is_empty())
    }

    /// How the job ended. `log` are the last lines that it printed, `share` that of lost worker attempts above which
    /// nothing it measured counts. Only what is known to be the program's own doing is held against it.
    #[must_use]
    pub fn end(&self, share: f64, log: &[String]) -> End {
        let losses = self.losses();
        let infrastructure = |why: String| End::Failed { cause: Cause::Infrastructure(why) };
        let error = first_line(&self.root.job.error);
        match &self.root.job.state {
            JobState::Killed => return End::Failed { cause: Cause::Stopped },
            JobState::WorkerFailed => return infrastructure(format!("the job lost its worker: {error}")),
            JobState::Unschedulable => return infrastructure(format!("no worker can take the job: {error}")),
            JobState::Failed if of_runtime(&error).contains("Execution timeout exceeded") => {
                return End::Failed { cause: Cause::TimeLimit };
            }
            JobState::Succeeded | JobState::Failed => {}
            other => return infrastructure(format!("the job ended in a way that is not known: {}", other.as_str())),
        }
        if let Some(first) = losses.critical.first() {
            return infrastructure(first.clone());
        }
        if losses.exceed(share) {
            return infrastructure(format!(
                "{} of {} attempts at workers were lost; at most {} % may be",
                losses.workers,
                losses.of,
                share * 100.0
            ));
        }
        if self.root.job.state == JobState::Succeeded {
            return End::Succeeded;
        }
        let text = said(&self.last_error().unwrap_or_else(|| error.clone()), log);
        if losses.oom > 0 || is_oom(&error) {
            return End::Failed { cause: Cause::Application { oom: true, text } };
        }
        if is_collision(&text) {
            return infrastructure(text);
        }
        let codes = || {
            let tasks = self.tasks.get(&self.root.job.job_id).into_iter().flatten();
            tasks.flat_map(|task| &task.attempts).filter(|a| a.state == TaskState::Failed).map(|a| a.exit_code)
        };
        match codes().next_back() {
            // Somebody sent SIGKILL, and nobody knows who.
            Some(-9 | 137) => {
                infrastructure(format!("the job was ended by SIGKILL; who sent it is not known: {error}"))
            }
            Some(0) | None => infrastructure(text),
            Some(_) => End::Failed { cause: Cause::Application { oom: false, text } },
        }
    }
}

/// What the job's own words say: those of its last attempt, where it failed by itself.
fn said(error: &str, log: &[String]) -> String {
    let ended = error.strip_prefix("Exit code: ").map(|rest| match rest.split_once(". stderr: ") {
        Some((code, line)) => format!("the job exited with {code}: {line}"),
        None => format!("the job exited with {rest}"),
    });
    let error = ended.unwrap_or_else(|| match error {
        "" => "the job failed".to_owned(),
        error => format!("the job failed: {error}"),
    });
    if log.is_empty() { error } else { format!("{error}:\n{}", log.join("\n")) }
}

/// The first line of a foreign text, shortened.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

#[cfg(test)]
mod tests {
    use marin::iris::TaskStatus;

    use super::*;

    const ROOT: &str = "/bot/zab";
    const COORDINATOR: &str = "/bot/zab/p0-coord";
    const WORKERS: &str = "/bot/zab/p0-coord/p0-coord-workers";

    fn job(id: &str, state: JobState) -> JobStatus {
        JobStatus {
            job_id: id.to_owned(),
            state,
            task_count: 1,
            finished_at: Some(Timestamp { epoch_ms: 1000 }),
            ..JobStatus::default()
        }
    }

    fn attempt(state: TaskState, end: i64, exit_code: i64, error: &str) -> TaskAttempt {
        let finished_at = Some(Timestamp { epoch_ms: end });
        TaskAttempt { state, finished_at, exit_code, error: error.to_owned(), ..TaskAttempt::default() }
    }

    /// A tree with the attempts of one of its jobs.
    fn tree(root: JobState, error: &str, of: &str, attempts: Vec<TaskAttempt>) -> JobAnswer {
        let mut answer = JobAnswer { complete: true, ..JobAnswer::default() };
        answer.root.job = JobStatus { error: error.to_owned(), ..job(ROOT, root) };
        answer.descendants = vec![job(COORDINATOR, JobState::Killed), job(WORKERS, JobState::Succeeded)];
        let tasks = vec![TaskStatus { attempts, ..TaskStatus::default() }];
        answer.tasks.insert(of.to_owned(), tasks);
        answer
    }

    fn cause(answer: &JobAnswer, share: f64) -> Option<Cause> {
        match answer.end(share, &["last words".to_owned()]) {
            End::Succeeded => None,
            End::Failed { cause } => Some(cause),
        }
    }

    #[test]
    fn losses_before_the_end_are_churn_and_killing_is_not() {
        use TaskState::{Killed, Preempted, Succeeded, WorkerFailed};
        for (of, attempts, share, infrastructure) in [
            (COORDINATOR, vec![attempt(Killed, 900, 0, "")], 0.0, false),
            (COORDINATOR, vec![attempt(Preempted, 1000, 0, "")], 0.0, false),
            (COORDINATOR, vec![attempt(Preempted, 500, 0, ""), attempt(Killed, 900, 0, "")], 0.5, true),
            (ROOT, vec![attempt(WorkerFailed, 500, 0, ""), attempt(Succeeded, 1000, 0, "")], 1.0, true),
            (WORKERS, vec![attempt(Preempted, 500, 0, ""), attempt(Succeeded, 900, 0, "")], 0.02, true),
            (WORKERS, vec![attempt(Preempted, 500, 0, ""), attempt(Succeeded, 900, 0, "")], 0.5, false),
            (WORKERS, vec![attempt(WorkerFailed, 1500, 0, "")], 0.0, false),
        ] {
            let answer = tree(JobState::Succeeded, "", of, attempts.clone());
            let found = matches!(cause(&answer, share), Some(Cause::Infrastructure(_)));
            assert_eq!(found, infrastructure, "{of} {attempts:?}");
        }
    }

    #[test]
    fn only_the_programs_own_doing_is_held_against_it() {
        let failed = |code, error: &str| vec![attempt(TaskState::Failed, 900, code, error)];
        let app = |oom| Some(Cause::Application { oom, text: String::new() });
        for (code, error, expected) in [
            (1, "Exit code: 1. stderr: ValueError", app(false)),
            (-11, "Exit code: -11", app(false)),
            (137, "Exit code 137: OOM killed (container exceeded memory limit)", app(true)),
            (137, "Exit code 137: killed by SIGKILL (possibly OOM or resource limit)", None),
            (1, "Exit code: 1. stderr: OOM killed, Execution timeout exceeded", app(false)),
            (-9, "Exit code: -9", None),
            (0, "something", None),
            (1, "Exit code: 1. stderr: OSError: [Errno 98] Address already in use", None),
        ] {
            let answer = tree(JobState::Failed, error, ROOT, failed(code, error));
            let found = cause(&answer, 0.0).unwrap();
            match expected {
                Some(Cause::Application { oom, .. }) => {
                    let Cause::Application { oom: found, text } = found else { panic!("{error}: {found:?}") };
                    assert_eq!(found, oom, "{error}");
                    assert!(text.starts_with("the job ") && text.ends_with(":\nlast words"), "{text}");
                }
                _ => assert!(matches!(found, Cause::Infrastructure(_)), "{error}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_failure_is_told_in_the_words_of_the_last_attempt() {
        let attempts = vec![attempt(TaskState::Failed, 900, 1, "Exit code: 1. stderr: ValueError: broken")];
        let answer = tree(JobState::Failed, "Cumulative failed task attempts exceeded", ROOT, attempts);
        let Some(Cause::Application { text, .. }) = cause(&answer, 0.0) else { panic!("no failure") };
        assert_eq!(text, "the job exited with 1: ValueError: broken:\nlast words");
    }

    #[test]
    fn states_of_the_root() {
        use JobState::{Failed, Killed, Other, Unschedulable, WorkerFailed};
        let of = |state, error: &str| cause(&tree(state, error, WORKERS, Vec::new()), 0.0);
        assert_eq!(of(Killed, "Terminated by user"), Some(Cause::Stopped));
        assert_eq!(of(Failed, "failures=1; Execution timeout exceeded"), Some(Cause::TimeLimit));
        for state in [WorkerFailed, Unschedulable, Other("JOB_STATE_EVAPORATED".into())] {
            assert!(matches!(of(state, "x"), Some(Cause::Infrastructure(_))));
        }
        assert_eq!(of(JobState::Succeeded, ""), None);
        let lost = vec![attempt(TaskState::Preempted, 10, 0, ""), attempt(TaskState::Failed, 900, 1, "boom")];
        let answer = tree(Failed, "boom", ROOT, lost);
        assert!(matches!(cause(&answer, 0.0), Some(Cause::Infrastructure(why)) if why == "the job was preempted"));
    }
}
