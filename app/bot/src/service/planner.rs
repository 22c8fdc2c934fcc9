//! Makes the plan of what was asked for on a pull request.

use std::path::PathBuf;

use anyhow::Context as _;
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::forge::ForgeError;
use domain::ports::{Desk, Forge, NoPlan, Planner, Records as _};
use domain::pull::{Asked, FromPull};
use domain::view::Ending;
use evidence::{DiskStorage, Folder};
use lab::git::{Mirror, Source};
use suite::{Backend, Suite};

use super::shared::Shared;
use crate::command::run::{Commits, Known, Pinned, Prepared, prepare, prepare_more};
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

    fn title(&self, suite: &str) -> String {
        self.shared.suites.get(suite).map_or_else(|| suite.to_owned(), |suite| suite.title.clone())
    }
}

impl<D: Desk + Clone + 'static, F: Forge> PullPlanner<D, F> {
    async fn made(&self, asked: &Asked) -> Result<Plan, NoPlan> {
        let suite = self.shared.suites.get(&asked.suite);
        let suite = suite.ok_or_else(|| never(Ending::Refused, format!("there is no suite {}", asked.suite)))?.clone();
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
        let (shared, of) = (self.shared.clone(), asked.clone());
        let made = self.shared.apart(move |world| make(&shared, &of, &suite, &pinned, world)).await;
        let mut prepared = made.map_err(|failure| Refusal::from(failure).0)?;
        let plan = &mut prepared.plan;
        if plan.continues.is_none() {
            // Whoever asks again for the same trees under the same workload looks again: it is counted.
            let looked = self.desk.last_episode(&plan.ledger).await.map_err(|why| NoPlan::NotNow(why.to_string()))?;
            plan.episode = looked + 1;
        }
        plan.confirm.clone_from(&prepared.confirm);
        let folder = std::sync::Arc::clone(&self.folder);
        let written = self.shared.apart(move |_| write(&folder, &prepared).map(|()| prepared.plan)).await;
        written.map_err(|failure| Refusal::from(failure).0)
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
    }))
}

fn make(
    shared: &Shared,
    asked: &Asked,
    suite: &Suite,
    pinned: &Pinned,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    let mut options = asked.request().options().map_err(|error| Failure::Usage(error.to_string()))?;
    // The head was compared with it when the command was taken.
    options.sha = None;
    let commits = Commits {
        repo: &asked.pull.repo.name,
        base: Some(&asked.base_ref),
        head: asked.head.as_str(),
        pinned: Some(pinned),
    };
    let calibration = shared.config.calibrations.get(&asked.suite);
    let known = Known { calibration: calibration.map(PathBuf::as_path), config: shared.file.as_deref() };
    match &pinned.continues {
        Some(folder) => prepare_more(suite, &options, &commits, folder, known.config, world),
        None => prepare(suite, &options, &commits, &known, world),
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
    if let Some(earlier) = &prepared.continues {
        folder.continues(run, &DiskStorage::new(earlier)).map_err(anyhow::Error::from)?;
    }
    Ok(())
}
