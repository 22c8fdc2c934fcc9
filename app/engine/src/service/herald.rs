//! What changed, and what its comment and check should read now.

use domain::ids::RunId;
use domain::machine::{Run, State as At};
use domain::ports::desk::{RunRow, Settle, Want};
use domain::ports::forge::{CheckWanted, CommentWanted, PullId};
use domain::ports::{Clock, Desk, Forge, Lab, Planner, Subject};
use domain::pull::{Event, Over, PullState, Shown, Stage, Waits};
use domain::time::{MINUTE, Ms, utc};
use domain::view::{State, View};

use super::checks::{self, check_name};
use super::saying::{Saying, carried_target, check_target, verdict_target};
use super::{Archive, Service, doubts, told, views};
use crate::drive::is_finished;
use crate::engine::{EngineError, key_of, plan_of};

/// How many changed subjects are looked at in one go.
const BATCH: usize = 64;
/// How often a pull request is told of again that changes while it is.
const TRIES: usize = 100;
/// How the targets of checks begin.
const CHECKS: &str = "check:";
/// Until something is looked at again that could not be read, milliseconds.
const AFTER_FAILURE: u64 = MINUTE;

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// Looks at what changed. Returns how much that was.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read.
    pub async fn herald(&self, now: Ms) -> Result<usize, EngineError> {
        let changed = self.desk().unsaid(BATCH).await?;
        let (mut looked, mut failed) = (0, None);
        for subject in changed.iter().filter(|subject| !self.put_off.is(&subject.key, now)) {
            looked += 1;
            // One that cannot be read must not keep the others from being told of.
            if let Err(error) = self.herald_one(subject, now).await {
                self.put_off.until(&subject.key, now.plus(AFTER_FAILURE));
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(looked), Err)
    }

    async fn herald_one(&self, subject: &Subject, now: Ms) -> Result<(), EngineError> {
        let said = Settle { said: vec![(subject.key.clone(), subject.version)], at: now, ..Settle::default() };
        if subject.key.starts_with("run:") {
            return self.herald_run(subject, said, now).await;
        }
        if subject.key.starts_with("pull:") {
            return self.herald_pull(&subject.key, now).await;
        }
        self.desk().settle(said).await?;
        Ok(())
    }

    /// Somebody else may change it meanwhile and have told of that already: then what is said here is old, and it is told of
    /// once more.
    async fn herald_pull(&self, key: &str, now: Ms) -> Result<(), EngineError> {
        let mut earlier: Option<PullState> = None;
        for _ in 0..TRIES {
            let Some(subject) = self.desk().read(key).await? else { return Ok(()) };
            let state = PullState::from_json(&subject.state)?;
            let mut settle = Settle { said: vec![(key.to_owned(), subject.version)], at: now, ..Settle::default() };
            settle.wants.extend(self.standing_checks(&state, now)?);
            settle.wants.extend(self.labels(&state, now).await?);
            settle.wants.extend(self.left_checks(&state, now).await?);
            for shown in earlier.iter().flat_map(|earlier| earlier.shown.values()) {
                if shown.stage == Stage::Running && state.of_run(&shown.asked.run).is_none() {
                    let run = self.engine.read(&shown.asked.run).await?;
                    settle.wants.extend(self.last_checks(&state, shown, self.over(&run, now), now).await?);
                }
            }
            for shown in state.shown.values() {
                settle.wants.extend(self.wants(&state, shown, now).await?);
                if self.put_off.is(shown.asked.run.as_str(), now) {
                    // Not all of it could be read: what can be said is said, and it is tried again.
                    self.put_off.until(key, now.plus(AFTER_FAILURE));
                    settle.said.clear();
                }
            }
            self.desk().settle(settle).await?;
            if self.desk().read(key).await?.is_none_or(|after| after.version == subject.version) {
                return Ok(());
            }
            earlier = Some(state);
        }
        Ok(())
    }

    /// The checks of a run that is over. What begins in its place at once would keep them from being told of its end.
    async fn last_checks(
        &self,
        state: &PullState,
        shown: &Shown,
        over: Over,
        now: Ms,
    ) -> Result<Vec<Want>, EngineError> {
        let ended = Shown { stage: Stage::Over(over), ..shown.clone() };
        let mut wants = self.wants(state, &ended, now).await?;
        wants.retain(|want| want.target.starts_with(CHECKS));
        Ok(wants)
    }

    async fn herald_run(&self, subject: &Subject, mut said: Settle, now: Ms) -> Result<(), EngineError> {
        let run = Run::from_json(&subject.state)?;
        let plan = plan_of(subject)?;
        let pull = match &plan.origin.pull {
            Some(from) => self.desk().read(&format!("pull:{}:{}", from.repo, from.number)).await?,
            None => None,
        };
        let state = pull.map(|pull| PullState::from_json(&pull.state)).transpose()?;
        let Some((state, shown)) = state.as_ref().and_then(|state| Some((state, state.of_run(&run.id)?))) else {
            self.desk().settle(said).await?;
            return Ok(());
        };
        said.wants = self.announced_of(&shown.asked, &run, subject, now).await?;
        if !is_finished(&run) {
            said.wants.extend(self.wants(state, shown, now).await?);
            self.desk().settle(said).await?;
            return Ok(());
        }
        let mut over = self.over(&run, now);
        if over.verdict.is_some() {
            over.said = doubts::said(&shown.asked, &plan, over.said);
        }
        said.wants.extend(self.last_checks(state, shown, over.clone(), now).await?);
        // It is over once; what happens to its jobs afterwards is nobody's news.
        if shown.stage == Stage::Running {
            said.wants.extend(self.told(shown, &over, now).await?);
        }
        said.used.push((run.id.clone(), self.used(&run, now)));
        self.apply(&state.id, &[Event::RunOver(run.id.clone(), over)], &said).await?;
        Ok(())
    }

    /// What a finished run has come to.
    fn over(&self, run: &Run, now: Ms) -> Over {
        let title = |view: &View| self.templates.renderer().check(view).map(|check| check.title).unwrap_or_default();
        let jobs = |alive: &[domain::ports::Alive]| {
            let id =
                |of: &domain::ports::Alive| of.job.as_ref().map_or_else(|| of.trial.to_string(), ToString::to_string);
            alive.iter().map(id).collect()
        };
        match &run.state {
            At::Done { judged, evidence, alive } => {
                let verdict = judged.headline().map(|decided| decided.verdict);
                let said = self.engine.records.sealed(&run.id).map(|view| title(&view));
                let said =
                    said.unwrap_or_else(|_| verdict.map(|verdict| verdict.word().to_owned()).unwrap_or_default());
                Over { verdict, ended: None, said, evidence: Some(evidence.clone()), alive: jobs(alive), at: now }
            }
            At::Ended { how, why, evidence, alive, .. } => {
                let said = why.clone().map_or_else(|| how.key().to_owned(), |why| format!("{}: {why}", how.key()));
                let (ended, evidence) = (Some((*how, why.clone())), evidence.clone());
                Over { verdict: None, ended, said, evidence, alive: jobs(alive), at: now }
            }
            _ => Over { verdict: None, ended: None, said: String::new(), evidence: None, alive: Vec::new(), at: now },
        }
    }

    /// What comment and check of a run should read; nothing where that cannot be made out, so that what stands there
    /// stays.
    pub(super) async fn wants(&self, state: &PullState, shown: &Shown, now: Ms) -> Result<Vec<Want>, EngineError> {
        let mut view = self.view(state, shown, now).await?;
        view.history.clone_from(&shown.history);
        view.decision.clone_from(&shown.decision);
        let named = self.named(shown).await?;
        view.remarks = named.remark.clone().into_iter().chain(told::remarks(state, shown, now)).collect();
        let bad = |error: &dyn std::fmt::Display| EngineError::Stored {
            what: "the comment",
            key: shown.asked.run.to_string(),
            why: error.to_string(),
        };
        let renderer = self.templates.renderer();
        let body = renderer.comment(&view).map_err(|error| bad(&error))?.body;
        let marker = body.lines().next().unwrap_or_default().to_owned();
        let asked = &shown.asked;
        let comment = CommentWanted { pull: state.id.clone(), marker, body };
        let check = renderer.check(&view).map_err(|error| bad(&error))?;
        let over = match &shown.stage {
            Stage::Over(over) => Some(over),
            Stage::Planning | Stage::Running => None,
        };
        let ended = over.and_then(|over| over.ended.as_ref().map(|(how, _)| *how));
        let mut check = CheckWanted {
            repo: state.id.repo.clone(),
            head: asked.head.clone(),
            name: check_name(&asked.suite),
            external: asked.run.to_string(),
            conclusion: self.settings.conclusions.of(
                over.and_then(|over| over.verdict),
                ended,
                shown.decision.is_some(),
            ),
            title: check.title,
            summary: check.summary,
            text: check.text,
            details: None,
            buttons: checks::buttons(over),
            started: asked.at,
            ended: over.map(|over| over.at),
        };
        if let Some(why) = &named.doubt {
            check = doubts::neither(check, why);
        }
        let seen = state.seen.as_ref();
        if seen.is_some_and(|seen| seen.base_ref != asked.base_ref) && over.is_some_and(|over| over.verdict.is_some()) {
            check = checks::of_another_base(check);
        }
        // The first word and the last one are said at once, and that it is being stopped; what changes in between is
        // collected.
        let due = match (&shown.stage, &view.state) {
            (Stage::Running, State::Stopping { .. }) | (Stage::Planning | Stage::Over(_), _) => now,
            (Stage::Running, _) => now.plus(self.settings.say_after_ms),
        };
        let verdict = Saying::Verdict { comment, run: asked.run.clone(), over: over.is_some() };
        let mut wants = vec![verdict.want(verdict_target(&state.id, &asked.suite), due)?];
        // Before there is a plan nothing is measured, and a check of the same name takes the place of an earlier one.
        if shown.stage != Stage::Planning {
            // The newer head needs a check of its own that says the same, and so does one that it was carried to before.
            let carried = shown.carried().map(|(head, _)| head);
            for head in state.heads().into_iter().filter(|head| *head != asked.head) {
                let target = carried_target(&asked.run, &head);
                if carried == Some(&head) || self.desk().wanted(&target).await?.is_some() {
                    let check = CheckWanted { head, ..check.clone() };
                    wants.push(Saying::Check { check }.want(target, due)?);
                }
            }
            wants.push(Saying::Check { check }.want(check_target(&asked.run), due)?);
        }
        Ok(wants)
    }

    pub(super) async fn view(&self, state: &PullState, shown: &Shown, now: Ms) -> Result<View, EngineError> {
        let asked = &shown.asked;
        let title = self.planner.title(&asked.suite);
        let early = |state: State| views::early(asked, &title, state);
        Ok(match &shown.stage {
            Stage::Planning => match &shown.waits {
                Some(Waits::Checks { names, until }) => {
                    early(State::AwaitingChecks { pending: names.clone(), until: Some(utc(*until)) })
                }
                Some(Waits::Again { .. }) | None => early(State::Planning),
            },
            Stage::Running => {
                let run = self.engine.read(&asked.run).await?;
                let ahead = self.ahead(&asked.run).await?;
                let mut at = views::state_of(&run, Some(ahead));
                if let State::AwaitingConfirmation { skip, why, .. } = &mut at
                    && let Some(subject) = self.desk().read(&key_of(&asked.run)).await?
                {
                    *skip = plan_of(&subject)?.skip.unwrap_or_default();
                    if !skip.is_empty() {
                        // The reasons are told by themselves.
                        *why = why.take().and_then(|why| Some(why.split_once("; ")?.1.to_owned()));
                    }
                }
                self.engine.records.live(&asked.run, at.clone()).unwrap_or_else(|_| early(at))
            }
            Stage::Over(over) if over.evidence.is_some() => match self.engine.records.sealed(&asked.run) {
                Ok(mut view) => {
                    if let Some(why) = state.stale(shown).filter(|_| view.state.is_decided()) {
                        view.state = State::Stale { why };
                    }
                    if let Some(digest) = &over.evidence {
                        view.provenance.evidence = digest.as_str().get(..evidence::compose::SHOWN).map(str::to_owned);
                    }
                    view
                }
                Err(why) => {
                    tracing::error!(run = %asked.run, why, "the evidence of a finished run cannot be read");
                    self.put_off.until(asked.run.as_str(), now.plus(AFTER_FAILURE));
                    let why = format!("its evidence cannot be read any more; it had come to {}", over.said);
                    early(State::Ended { how: domain::view::Ending::Failed, why: Some(why), alive: Vec::new() })
                }
            },
            Stage::Over(over) => {
                let (how, why) = over.ended.clone().unwrap_or((domain::view::Ending::Failed, None));
                let alive = over.alive.iter().map(|id| domain::view::Job { id: id.clone(), url: None }).collect();
                early(State::Ended { how, why, alive })
            }
        })
    }

    /// The address of the verdict comment of a suite, where it is known.
    pub(super) async fn link(&self, pull: &PullId, suite: &str) -> Result<Option<String>, EngineError> {
        let wanted = self.desk().wanted(&verdict_target(pull, suite)).await?;
        Ok(wanted.and_then(|wanted| wanted.remote).map(|id| self.address(pull, id)))
    }

    /// The address of a comment.
    pub(super) fn address(&self, pull: &PullId, comment: u64) -> String {
        format!("{}/{}/pull/{}#issuecomment-{comment}", self.settings.web, pull.repo.name, pull.number)
    }

    /// Says of runs that wait for their turn how many go before them: that changes without anything happening to them.
    ///
    /// # Errors
    /// A failing store, or something stored that cannot be read.
    pub async fn retell_waiting(&self) -> Result<(), EngineError> {
        for row in self.desk().active_runs().await?.iter().filter(|row| row.ledger.is_some()) {
            self.retell(row).await?;
        }
        Ok(())
    }

    async fn retell(&self, row: &RunRow) -> Result<(), EngineError> {
        let key = format!("run:{}", row.id);
        let mut found = self.desk().read(&key).await?;
        if found.as_ref().map(|subject| Run::from_json(&subject.state)).transpose()?.map(|run| run.state)
            != Some(At::Queued)
        {
            return Ok(());
        }
        while let Some(before) = found {
            let now = self.now();
            let pull = self.desk().read(&format!("pull:{}:{}", row.repo, row.number)).await?;
            let Some(state) = pull.map(|pull| PullState::from_json(&pull.state)).transpose()? else { return Ok(()) };
            let Some(shown) = state.of_run(&row.id) else { return Ok(()) };
            let mut wants = Vec::new();
            for want in self.wants(&state, shown, now).await? {
                let told = self.desk().wanted(&want.target).await?;
                wants.extend(told.is_none_or(|told| told.wanted != want.wanted).then_some(want));
            }
            if wants.is_empty() {
                return Ok(());
            }
            self.desk().settle(Settle { wants, at: now, ..Settle::default() }).await?;
            // What happened to it meanwhile may have been told before this was: it is told again.
            found = self.desk().read(&key).await?.filter(|after| after.version != before.version);
        }
        Ok(())
    }

    /// Makes sure that what is said about the runs that go on still stands there, as after a restart: whatever was begun
    /// is looked up.
    ///
    /// # Errors
    /// A failing store.
    pub async fn reconcile(&self) -> Result<usize, EngineError> {
        let now = self.now();
        let active = self.desk().active_runs().await?;
        for row in &active {
            self.desk().say_again(&format!("comment:{}:{}:{}", row.repo, row.number, row.suite), now).await?;
            self.desk().say_again(&check_target(&row.id), now).await?;
        }
        Ok(active.len())
    }

    /// The state of a run, for who drives it.
    ///
    /// # Errors
    /// See [`crate::Engine::read`].
    pub async fn read_run(&self, run: &RunId) -> Result<Run, EngineError> {
        self.engine.read(run).await
    }
}
