//! How a job is doing, and how it ended.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::JobId;
use domain::ports::JobState;
use marin::finelog::{LogQuery, LogSource};
use marin::iris::JobState as Said;
use marin::{Error, TaskId};

use super::answers::{Grid, JobAnswer, Line};
use super::{IrisLab, outside, queries};

/// How often it is asked how far a running job is.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// Lines of the log of a failed job that are kept.
const TAIL: u32 = 40;
/// How late the last lines of a log come: 0.6 s was seen.
const LAST_LINES: Duration = Duration::from_secs(2);
/// Jobs of a tree whose tasks are asked for; more than that is not told apart.
const SUSPECTS: usize = 400;

impl IrisLab {
    pub(super) async fn follow(&self, job: &JobId) -> Result<JobState, String> {
        let id = outside(job)?;
        let states = self.iris.job_states(std::slice::from_ref(&id)).await.map_err(|error| error.to_string())?;
        match states.get(id.as_str()) {
            None => Ok(JobState::Unknown),
            Some(state) if state.has_ended() => self.ended(job, &id).await.map_err(|error| error.to_string()),
            Some(state) => Ok(self.under_way(job, &id, state).await),
        }
    }

    /// What a job does that has not ended. Asked for at most every so often: it is for people.
    async fn under_way(&self, job: &JobId, id: &marin::JobId, state: &Said) -> JobState {
        let now = self.clock.elapsed();
        let waits = matches!(state, Said::Pending | Said::Building);
        let known = self.recall(job).progress;
        if let Some((at, last)) = known
            && now.saturating_sub(at) < PROGRESS_EVERY
            && waits == matches!(last, JobState::Pending(_))
        {
            return last;
        }
        let answer = if waits { self.waiting(id, state).await } else { self.running(id).await };
        self.remember(job, |known| known.progress = Some((now, answer.clone())));
        answer
    }

    async fn waiting(&self, id: &marin::JobId, state: &Said) -> JobState {
        let reason = self.iris.job(id).await.map(|record| record.job.pending_reason).unwrap_or_default();
        let reason: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        JobState::Pending(match (reason.trim(), state) {
            ("", Said::Building) => "being set up".to_owned(),
            ("", _) => "waiting for a place".to_owned(),
            (reason, _) => reason.to_owned(),
        })
    }

    /// Stages that are done of those that are planned so far. A store that does not answer is no reason to wait.
    async fn running(&self, id: &marin::JobId) -> JobState {
        let unknown = JobState::Running { step: None, done: 0, of: 0 };
        let Ok(select) = queries::progress(id) else { return unknown };
        let Ok(table) = self.finelog.query(&select).await else { return unknown };
        let grid = Grid::of(&table);
        let (mut done, mut of, mut step) = (0_u32, 0_u32, None);
        for row in &grid.rows {
            let planned = grid.text(row, "stages_json").and_then(|text| serde_json::from_str(text).ok());
            let planned = planned.map_or(0, |stages: Vec<serde_json::Value>| u32::try_from(stages.len()).unwrap_or(0));
            let ended = grid.integer(row, "done").and_then(|n| u32::try_from(n).ok()).unwrap_or(0).min(planned);
            if ended < planned {
                step = grid.text(row, "execution_id").map(|id| id.chars().take(80).collect());
            }
            done += ended;
            of += planned;
        }
        JobState::Running { step, done, of }
    }

    async fn ended(&self, job: &JobId, id: &marin::JobId) -> Result<JobState, Error> {
        let known = self.recall(job);
        let tree = self.tree(job, id).await?;
        let tail = if tree.root.job.state == Said::Failed { self.tail(job, id).await } else { Arc::default() };
        Ok(JobState::Ended(tree.end(known.max_lost, &tail)))
    }

    /// The job with its descendants and the tasks that tell how they ended. Asked for once: a job that has ended stays
    /// as it is.
    pub(super) async fn tree(&self, job: &JobId, id: &marin::JobId) -> Result<Arc<JobAnswer>, Error> {
        if let Some(tree) = self.recall(job).tree {
            return Ok(tree);
        }
        let tree = self.iris.tree(id).await?;
        let mut answer = JobAnswer {
            root: tree.root,
            descendants: tree.descendants,
            complete: tree.complete,
            ..JobAnswer::default()
        };
        answer.keep_no_secrets();
        let suspects: Vec<String> = answer.suspects().map(str::to_owned).collect();
        if suspects.len() > SUSPECTS {
            answer.complete = false;
        }
        for suspect in suspects.into_iter().take(SUSPECTS) {
            // A name that no job can have is one that nothing is known of.
            let Ok(id) = marin::JobId::new(&suspect) else {
                answer.complete = false;
                continue;
            };
            answer.tasks.insert(suspect, self.iris.tasks(&id).await?);
        }
        let answer = Arc::new(answer);
        if answer.root.job.state.has_ended() {
            self.remember(job, |known| known.tree = Some(Arc::clone(&answer)));
        }
        Ok(answer)
    }

    /// The last lines of the job's own task. None where the store does not answer: a failure is told with them or
    /// without them.
    pub(super) async fn tail(&self, job: &JobId, id: &marin::JobId) -> Arc<Vec<String>> {
        if let Some(tail) = self.recall(job).tail {
            return tail;
        }
        // The last lines, which tell the most, come when the job has long ended.
        self.clock.sleep(LAST_LINES).await;
        let Some(tail) = self.tail_now(job, id).await.map(Arc::new) else { return Arc::default() };
        if !tail.is_empty() {
            self.remember(job, |known| known.tail = Some(Arc::clone(&tail)));
        }
        tail
    }

    /// The same as it is now, without what was learnt before.
    pub(super) async fn tail_now(&self, job: &JobId, id: &marin::JobId) -> Option<Vec<String>> {
        let tasks = self.recall(job).tree.and_then(|tree| tree.tasks.get(id.as_str()).cloned()).unwrap_or_default();
        let attempt = tasks.first().map_or(0, |task| task.current_attempt_id);
        let source = LogSource::Attempt(TaskId::of(id, 0), u32::try_from(attempt).unwrap_or(0));
        let query = LogQuery { tail: true, max_lines: TAIL, ..LogQuery::new(source) };
        let page = self.finelog.logs(&query).await.ok()?;
        let lines = page.entries.iter().map(|entry| Line::of(entry).text);
        Some(lines.map(|line| line.trim_end().chars().take(500).collect()).collect())
    }
}
