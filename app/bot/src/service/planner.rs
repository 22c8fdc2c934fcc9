//! Makes the plan of what was asked for on a pull request.

use std::path::PathBuf;

use anyhow::Context as _;
use domain::ids::{CommitSha, RunId};
use domain::plan::Plan;
use domain::ports::forge::{ForgeError, Repo};
use domain::ports::{Clock as _, Desk, Forge, Manners, NoPlan, Planner, Records as _};
use domain::pull::{Asked, Cause, Compared, FromPull, OnPush};
use domain::request::Options;
use domain::retry::Retry;
use domain::view::{Answer, Ending};
use engine::service::preview::{self, Preview};
use evidence::{DiskStorage, Folder};
use lab::git::{Mirror, Source};
use suite::{Backend, Suite};

use super::budget;
use super::shared::Shared;
use crate::command::compare;
use crate::command::run::{Commits, Known, Pinned, Prepared, bring, only, prepare, prepare_more, prepare_retry, weigh};
use crate::failure::Failure;
use crate::world::World;

/// The planner of a service.
pub struct PullPlanner<D, F> {
    /// What the parts have in common.
    pub shared: Shared,
    /// The store, which knows the looks that were taken.
    pub desk: D,
    /// Where pull requests live.
    pub forge: F,
    /// Where evidence goes.
    pub folder: std::sync::Arc<Folder<DiskStorage>>,
}

fn never(how: Ending, why: impl std::fmt::Display) -> NoPlan {
    NoPlan::Never { how, why: why.to_string() }
}

/// Without the folders of this host: everybody who can see the pull request reads it.
fn without_folders(no: NoPlan, shared: &Shared) -> NoPlan {
    let folder = shared.config.data_dir.display().to_string();
    let clean = |why: String| why.replace(&folder, "...");
    match no {
        NoPlan::Never { how, why } => NoPlan::Never { how, why: clean(why) },
        NoPlan::NotNow(why) => NoPlan::NotNow(clean(why)),
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            // What was asked for makes no sense, and will not later.
            Failure::Usage(why) => Self(never(Ending::Refused, why)),
            other => Self(NoPlan::NotNow(other.to_string())),
        }
    }
}

/// A [`NoPlan`] that a failure becomes.
struct Refusal(NoPlan);

impl<D: Desk + Clone + 'static, F: Forge> Planner for PullPlanner<D, F> {
    async fn plan(&self, asked: &Asked) -> Result<Plan, NoPlan> {
        self.made(asked).await.map_err(|no| without_folders(no, &self.shared))
    }

    async fn preview(&self, asked: &Asked) -> Result<Answer, NoPlan> {
        self.shown(asked).await.map_err(|no| without_folders(no, &self.shared))
    }

    async fn weigh(&self, asked: &Asked, before: &Plan, head: &CommitSha) -> Result<Compared, NoPlan> {
        self.compared(asked, before, head).await.map_err(|no| without_folders(no, &self.shared))
    }

    async fn manners(&self, repo: &Repo, suite: &str) -> Result<Manners, NoPlan> {
        let found = self.shared.suite_of(&self.forge, repo, suite).await;
        let (suite, broken) = match (found, self.shared.suites.get(suite)) {
            (Ok(found), _) => (found, false),
            // Nothing is measured by itself while nobody knows what the repository wants; asked for, it is refused with why.
            (Err(NoPlan::Never { why, .. }), Some(operators)) => {
                tracing::warn!(repository = repo.name, why, "pushes start nothing");
                (operators.clone(), true)
            }
            (Err(error), _) => return Err(error),
        };
        let rerun = &suite.rerun;
        Ok(Manners {
            on_push: if broken { OnPush::Off } else { rerun.on_push },
            debounce_ms: rerun.debounce.0,
            notify: rerun.notify,
            require_checks: rerun.require_checks.clone(),
        })
    }

    fn title(&self, suite: &str) -> String {
        self.shared.suites.get(suite).map_or_else(|| suite.to_owned(), |suite| suite.title.clone())
    }
}

impl<D: Desk + Clone + 'static, F: Forge> PullPlanner<D, F> {
    /// The suite, and the commits in a mirror.
    async fn reached(&self, asked: &Asked) -> Result<(Suite, Pinned), NoPlan> {
        if !self.shared.serves(&asked.pull.repo.name) {
            return Err(never(Ending::Refused, "this service does not run benchmarks for the repository any more"));
        }
        let suite = self.shared.suite_of(&self.forge, &asked.pull.repo, &asked.suite).await?;
        comparable(asked, &suite)?;
        if matches!(suite.backend, Backend::Local(_)) && !self.shared.config.local_backend {
            let why = "the suite runs on the host of this service, and its operator has not allowed that";
            return Err(never(Ending::Refused, why));
        }
        let access = match self.forge.git(&asked.pull.repo).await {
            Ok(access) => access,
            Err(ForgeError::Unavailable(why) | ForgeError::Limited { why, .. }) => return Err(NoPlan::NotNow(why)),
            Err(error) => return Err(never(Ending::Failed, error)),
        };
        let source = Source::forge(&access.url, access.authorization)
            .map_err(|error| never(Ending::Failed, format!("the repository: {error}")))?;
        let (shared, of) = (self.shared.clone(), asked.clone());
        let pinned = self.shared.apart(move |world| fetch(&shared, &of, &source, world)).await;
        let pinned = pinned.map_err(|failure| Refusal::from(failure).0)??;
        Ok((suite, pinned))
    }

    async fn prepared(&self, asked: &Asked) -> Result<(Suite, Prepared), NoPlan> {
        let (suite, pinned) = self.reached(asked).await?;
        let (shared, of, its) = (self.shared.clone(), asked.clone(), suite.clone());
        let made = self.shared.apart(move |world| make(&shared, &of, &its, &pinned, world)).await;
        Ok((suite, made.map_err(|failure| Refusal::from(failure).0)?))
    }

    /// What the plan would be. Nothing is kept of it.
    async fn shown(&self, asked: &Asked) -> Result<Answer, NoPlan> {
        let (suite, mut prepared) = self.prepared(asked).await?;
        let (_, estimate) = budget::expect(&self.desk, &suite, &mut prepared).await?;
        let extra = Preview {
            line: asked.line(),
            cost_cpu_hours: estimate.as_ref().map(|estimate| domain::budget::in_hours(estimate.cpu_ms)),
            wall_ms: prepared.each_ms,
            estimate_source: estimate.as_ref().map(|estimate| estimate.source.words()).unwrap_or_default(),
            scope: preview::scope(&prepared.plan),
            confirm: prepared.confirm.clone(),
        };
        Ok(preview::plan(&prepared.plan, &extra))
    }

    /// Whether the plan of `head` is about the files that `before` is about.
    async fn compared(&self, asked: &Asked, before: &Plan, head: &CommitSha) -> Result<Compared, NoPlan> {
        if asked.jobs {
            // Another head is none that these jobs were made of.
            return Ok(Compared::Changed { why: "jobs that somebody named were compared".to_owned() });
        }
        let asked = Asked { head: head.clone(), ..asked.clone() };
        let (suite, pinned) = self.reached(&asked).await?;
        if suite.digest != before.suite_digest {
            return Ok(Compared::Changed { why: "the suite has changed since".to_owned() });
        }
        let before = before.clone();
        let weighed = self.shared.apart(move |world| held(&asked, &suite, &pinned, &before, world)).await;
        weighed.map_err(|failure| Refusal::from(failure).0)
    }

    async fn made(&self, asked: &Asked) -> Result<Plan, NoPlan> {
        let (suite, mut prepared) = self.prepared(asked).await?;
        let plan = &mut prepared.plan;
        if let (Cause::Push, Some(reasons)) = (asked.cause, &plan.skip) {
            // Nobody asked for it just now, so nobody is asked either.
            return Err(never(Ending::Skipped, only(reasons)));
        }
        let looked = self.desk.last_episode(&plan.ledger).await.map_err(|why| NoPlan::NotNow(why.to_string()))?;
        plan.episode = episode(plan.episode, plan.continues.is_some(), plan.retry.as_ref(), looked);
        // Jobs that had run cost nothing any more, and are no measure of what a run of this pull request costs.
        if !asked.jobs {
            budget::keep(&self.desk, &suite, asked, &mut prepared, self.shared.machine.clock.now()).await?;
        }
        // Two may have planned it at once: a run that has begun keeps its folder.
        let begun = self.desk.read(&format!("run:{}", prepared.plan.run)).await;
        if begun.map_err(|why| NoPlan::NotNow(why.to_string()))?.is_some() {
            return Ok(prepared.plan);
        }
        let folder = std::sync::Arc::clone(&self.folder);
        let written = self.shared.apart(move |_| write(&folder, &prepared).map(|()| prepared.plan)).await;
        written.map_err(|failure| Refusal::from(failure).0)
    }
}

/// Jobs are left on a cluster only.
fn comparable(asked: &Asked, suite: &Suite) -> Result<(), NoPlan> {
    if asked.jobs && matches!(suite.backend, Backend::Local(_)) {
        let why = format!("{} runs on the host of this service, where no jobs are left to compare", suite.name);
        return Err(never(Ending::Refused, why));
    }
    Ok(())
}

/// The episode of a plan that was made for episode `planned`, where `looked` is the last one of its ledger in which somebody
/// looked. Whoever asks again for the same trees under the same workload looks again: it is counted.
fn episode(planned: u64, continues: bool, retry: Option<&Retry>, looked: u64) -> u64 {
    match retry {
        // The looks of its episode were begun, and belong to the runs that it goes on from.
        Some(retry) if retry.looked > 0 => planned,
        // Nobody has looked there, unless another run did meanwhile.
        Some(_) => planned.max(looked + 1),
        None if continues => planned,
        None => looked + 1,
    }
}

/// Fetches what the plan is made of.
fn fetch(
    shared: &Shared,
    asked: &Asked,
    source: &Source,
    world: &World<'_>,
) -> Result<Result<Pinned, NoPlan>, Failure> {
    let folder = shared.mirror(asked.pull.repo.id);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mirror = Mirror::open(&folder, &world.machine.path).map_err(anyhow::Error::from)?;
    let fetched = mirror.fetch_pull(source, asked.pull.number, &asked.base_ref);
    let (head, base) = match fetched {
        Ok(found) => found,
        Err(lab::git::GitError::Name { .. }) => {
            return Ok(Err(never(Ending::Refused, "the base branch has a name that no branch can have")));
        }
        Err(lab::git::GitError::Failed { said, .. }) if said.contains("couldn't find remote ref") => {
            let gone = if said.contains("refs/heads/") { "the base branch" } else { "the head" };
            return Ok(Err(never(Ending::Refused, format!("{gone} is not there any more"))));
        }
        Err(error) => return Err(anyhow::Error::from(error).into()),
    };
    if head != asked.head {
        if asked.fork {
            let why = format!("the head is {head} now; {} was approved, and nothing else is run", asked.head);
            return Ok(Err(never(Ending::HeadMoved, why)));
        }
        // The head of the moment of the command. After a force push no branch leads to it any more.
        if mirror.resolve(asked.head.as_str()).is_err()
            && let Err(error) = mirror.fetch_commit(source, &asked.head)
        {
            return Ok(Err(never(Ending::HeadMoved, format!("{} is gone: {error}", asked.head))));
        }
    }
    Ok(Ok(Pinned {
        mirror,
        repository: asked.pull.repo.name.clone(),
        pull: FromPull { repo: asked.pull.repo.id, number: asked.pull.number },
        run: asked.run.clone(),
        head: asked.head.clone(),
        base,
        asked_base: Some(asked.base.clone()),
        continues: asked.continues.as_ref().map(|run| shared.evidence().join(run.as_str())),
        retries: asked.retries.as_ref().map(|run| shared.evidence().join(run.as_str())),
    }))
}

/// Holds what was planned against what would be planned now.
fn held(asked: &Asked, suite: &Suite, pinned: &Pinned, before: &Plan, world: &World<'_>) -> Result<Compared, Failure> {
    let options = options(asked)?;
    let commits = commits(asked, pinned);
    weigh(suite, &options, &commits, &before.origin, &before.arms, world)
}

/// The keys of the request, without the head: that was compared with it when the command was taken.
fn options(asked: &Asked) -> Result<Options, Failure> {
    let options = asked.request().options().map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Options { sha: None, ..options })
}

fn commits<'a>(asked: &'a Asked, pinned: &'a Pinned) -> Commits<'a> {
    Commits {
        repo: &asked.pull.repo.name,
        base: Some(&asked.base_ref),
        head: asked.head.as_str(),
        pinned: Some(pinned),
    }
}

fn make(
    shared: &Shared,
    asked: &Asked,
    suite: &Suite,
    pinned: &Pinned,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let calibration = shared.config.calibrations.get(&asked.suite);
    let known = Known { calibration: calibration.map(PathBuf::as_path), config: shared.file.as_deref() };
    if asked.jobs {
        return compare::prepare(suite, &asked.pairs, &known, pinned, world);
    }
    let options = options(asked)?;
    let commits = commits(asked, pinned);
    match (&pinned.retries, &pinned.continues) {
        // Its request is the one that was made then.
        (Some(folder), _) => prepare_retry(suite, &Options::default(), &commits, folder, known.config, world),
        (None, Some(folder)) => prepare_more(suite, &options, &commits, folder, known.config, world),
        (None, None) => prepare(suite, &options, &commits, &known, world),
    }
}

/// Writes what the evidence needs before the run starts. What an earlier attempt to plan this run left goes first: nothing
/// was started with it.
fn write(folder: &Folder<DiskStorage>, prepared: &Prepared) -> Result<(), Failure> {
    let run: &RunId = &prepared.plan.run;
    let open = folder.storage().root().join(Folder::<DiskStorage>::open_name(run));
    if open.exists() {
        std::fs::remove_dir_all(&open).with_context(|| open.display().to_string())?;
    }
    folder.open(&prepared.plan).map_err(anyhow::Error::from)?;
    folder.suite(run, prepared.suite_text.as_bytes()).map_err(anyhow::Error::from)?;
    for (name, text) in &prepared.beside {
        folder.beside(run, name, text.as_bytes()).map_err(anyhow::Error::from)?;
    }
    if let Some(bytes) = &prepared.calibration {
        folder.calibration(run, bytes).map_err(anyhow::Error::from)?;
    }
    Ok(bring(prepared, folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_left_on_a_cluster_only() {
        let asked = |jobs: bool| -> Asked {
            serde_json::from_value(serde_json::json!({
                "run": RunId::new(1_795_984_130, 7).unwrap(),
                "pull": { "repo": { "id": 7, "name": "octo/demo", "installation": 3 }, "number": 42 },
                "suite": "demo",
                "pairs": [["control", "/me/a"], ["treatment", "head@/me/b"]],
                "head": "a".repeat(40),
                "base_ref": "main",
                "base": "b".repeat(40),
                "fork": false,
                "by": { "id": 5, "login": "mona" },
                "comment": 9,
                "at": 1,
                "jobs": jobs,
            }))
            .unwrap()
        };
        let suite = |name: &str| suite::load(&suite::SuiteRef::Name(name.to_owned()), None).unwrap();
        assert_eq!(comparable(&asked(true), &suite("rig")), Ok(()));
        assert_eq!(comparable(&asked(false), &suite("demo")), Ok(()));
        let why = "demo runs on the host of this service, where no jobs are left to compare".to_owned();
        assert_eq!(comparable(&asked(true), &suite("demo")), Err(NoPlan::Never { how: Ending::Refused, why }));
    }

    #[test]
    fn a_look_is_taken_once_and_none_for_free() {
        let retry = |looked| Retry { looked, ..Retry::default() };
        for (planned, continues, retry, looked, expected) in [
            (1, false, None, 0, 1),
            (1, false, None, 2, 3),
            (2, true, None, 1, 2),
            (1, true, Some(retry(0)), 0, 1),
            // Another run has looked in that episode meanwhile.
            (1, true, Some(retry(0)), 1, 2),
            (3, true, Some(retry(0)), 2, 3),
            (1, true, Some(retry(2)), 1, 1),
            (1, true, Some(retry(2)), 4, 1),
        ] {
            assert_eq!(episode(planned, continues, retry.as_ref(), looked), expected, "{planned} {retry:?} {looked}");
        }
    }
}
