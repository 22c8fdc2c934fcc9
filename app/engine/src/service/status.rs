//! How things are on a pull request.

use domain::budget::ahead;
use domain::ids::RunId;
use domain::machine::Run;
use domain::ports::forge::PullId;
use domain::ports::{Clock, Desk, Forge, Lab, Planner};
use domain::pull::{PullState, Shown, Stage, Waits};
use domain::time::utc;
use domain::view::{Answer, Block, Kind, Span, State};

use super::answers::{asked_for, code, words};
use super::{Archive, Service};
use crate::engine::EngineError;
use crate::progress::Progress;

type Row = (String, Vec<Span>);

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// What goes on, of one suite or of all.
    ///
    /// # Errors
    /// A failing store, or a state that cannot be read.
    pub async fn status(&self, id: &PullId, suite: Option<&str>) -> Result<Answer, EngineError> {
        let subject = self.desk().read(&id.key()).await?;
        let state = subject.map(|subject| PullState::from_json(&subject.state)).transpose()?;
        let shown: Vec<&Shown> = state.iter().flat_map(|state| state.shown.values()).collect();
        let mut blocks = Vec::new();
        for shown in shown.into_iter().filter(|shown| suite.is_none_or(|suite| suite == shown.asked.suite)) {
            let rows = self.rows(state.as_ref(), shown).await?;
            let rows = rows.into_iter().map(|(what, is)| vec![vec![words(what)], is]).collect();
            let head = vec![String::new(), shown.asked.suite.clone()];
            blocks.push((None, Block::Table { head, rows }));
        }
        let active = self.desk().active_runs().await?.len();
        let title =
            if blocks.is_empty() { "nothing was asked for on this pull request yet" } else { "how things are here" };
        let title = vec![words(title)];
        let service = format!("The service has {active} {} altogether.", if active == 1 { "run" } else { "runs" });
        blocks.push((None, Block::Paragraph(vec![words(service)])));
        Ok(Answer { kind: Kind::Status, title, blocks })
    }

    /// The number of the pull request of a repository that a run is about.
    ///
    /// # Errors
    /// A failing store, or a plan that cannot be read.
    pub async fn pull_of(&self, run: &RunId, repo: u64) -> Result<Option<u64>, EngineError> {
        // A run that was never planned has a row and nothing else.
        let row = self.desk().run(run).await?;
        Ok(row.filter(|row| row.repo == repo).map(|row| row.number))
    }

    /// How the number of a row of a suite came to be.
    ///
    /// # Errors
    /// A failing store, or a state that cannot be read.
    pub async fn explain(&self, id: &PullId, suite: &str, row: &str) -> Result<Answer, EngineError> {
        let subject = self.desk().read(&id.key()).await?;
        let state = subject.map(|subject| PullState::from_json(&subject.state)).transpose()?;
        let Some((state, shown)) = state.as_ref().and_then(|state| Some((state, state.shown.get(suite)?))) else {
            let title = vec![words("nothing was asked for on this pull request yet")];
            return Ok(Answer { kind: Kind::Refusal, title, blocks: Vec::new() });
        };
        Ok(super::explain::row(&self.view(state, shown, self.now()).await?, row))
    }

    async fn rows(&self, state: Option<&PullState>, shown: &Shown) -> Result<Vec<Row>, EngineError> {
        let asked = &shown.asked;
        let mut rows: Vec<Row> = vec![
            ("asked for".to_owned(), asked_for(asked)),
            ("head".to_owned(), vec![code(asked.head.short())]),
            ("run".to_owned(), vec![code(asked.run.as_str())]),
        ];
        match &shown.stage {
            Stage::Planning => {
                rows.push(("state".to_owned(), vec![words("being planned")]));
                let waits = shown.waits.as_ref().map(|waits| match waits {
                    Waits::Again { why } => words(why.clone()),
                    Waits::Checks { names, until } => {
                        words(format!("checks that are not green: {}; until {}", names.join(", "), utc(*until)))
                    }
                });
                rows.extend(waits.map(|waits| ("waits for".to_owned(), vec![waits])));
            }
            Stage::Over(over) => rows.push(("state".to_owned(), vec![words(format!("over: {}", over.said))])),
            Stage::Running => {
                let run = self.engine.read(&asked.run).await?;
                rows.push(("state".to_owned(), vec![words(self.going(&run).await?)]));
                let progress = Progress::of(&run, self.now());
                if let Some(left) = progress.remaining_ms {
                    let end = format!("at the latest about {}, if every round is needed", utc(self.now().plus(left)));
                    rows.push(("expected end".to_owned(), vec![words(end)]));
                }
                if !progress.jobs.is_empty() {
                    let mut jobs = Vec::new();
                    for (role, job) in &progress.jobs {
                        jobs.extend([code(job.to_string()), words(format!(" ({role}) "))]);
                    }
                    rows.push(("jobs".to_owned(), jobs));
                }
                if let Some(waits) = progress.waits {
                    rows.push(("waits for".to_owned(), vec![words(waits)]));
                }
            }
        }
        if let Some(why) = state.and_then(|state| state.stale(shown)) {
            rows.push(("outdated".to_owned(), vec![words(why)]));
        }
        Ok(rows)
    }

    async fn going(&self, run: &Run) -> Result<String, EngineError> {
        let ahead = self.ahead(&run.id).await?;
        Ok(match super::views::state_of(run, Some(ahead)) {
            State::Queued { .. } if ahead == 0 => "next in the queue".to_owned(),
            State::Queued { .. } => format!("in the queue, {ahead} before it"),
            State::Planning => "being planned".to_owned(),
            State::AwaitingChecks { pending, until } => {
                let until = until.map_or_else(String::new, |at| format!(", at most until {at}"));
                format!("waits for {}{until}", pending.join(", "))
            }
            State::AwaitingConfirmation { until, .. } => {
                format!("waits for a confirmation until {}", until.unwrap_or_default())
            }
            State::Measuring { round, of, next_look } => {
                let look = next_look.map_or_else(String::new, |at| format!(", next look about {at}"));
                format!("round {round} of at most {of}{look}")
            }
            State::Collecting { unavailable: Some(why), .. } => {
                format!("the source of the measurements is away: {why}")
            }
            State::Collecting { .. } => "putting the evidence together".to_owned(),
            State::Stopping { why, .. } => format!("stopping: {}", why.unwrap_or_default()),
            State::Done | State::Stale { .. } | State::Ended { .. } => "over".to_owned(),
        })
    }

    /// How many runs go before this one in the queue.
    pub(super) async fn ahead(&self, run: &domain::ids::RunId) -> Result<u64, EngineError> {
        let now = self.now();
        Ok(ahead(&self.desk().places(now).await?, run, now).unwrap_or(0))
    }
}
