//! What repositories say of themselves: `.github/zephyr-ab.toml` of the default branch, read when it is needed and known for a
//! minute. The copy of a pull request changes nothing: it is only looked at for a check of its head, so that nobody finds out
//! after merging that it cannot be read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::command::VerbKind;
use domain::ids::{CommitSha, Digest};
use domain::ports::desk::Want;
use domain::ports::forge::{Forge, ForgeError, Permission, PullId, Repo};
use domain::ports::{Clock, Desk, Lab, NoPlan, Planner};
use domain::time::{MINUTE, Ms};
use domain::view::Ending;
use engine::service::Archive;
use engine::service::checks::Configured;
use suite::Suite;
use suite::repository::{PLACE, RepositoryFile};

use super::inbox::{Inbox, Stopped, Wait};
use super::shared::Shared;

/// How long what was read counts, milliseconds.
const FRESH: u64 = MINUTE;

/// What a repository says of itself.
#[derive(Clone, Debug)]
pub enum Configuration {
    /// Nothing.
    None,
    /// This, and the suites with it.
    Says(Box<RepositoryFile>, Vec<Suite>),
    /// Something that cannot be read. Nobody knows what was meant, so nothing is run.
    Broken {
        /// Where and why.
        why: String,
        /// SHA-256 of it; `None` where it is too large, or no file.
        digest: Option<Digest>,
    },
}

impl Configuration {
    /// What these bytes say of these suites.
    fn read<'s>(bytes: Option<&[u8]>, suites: impl IntoIterator<Item = &'s Suite>) -> Self {
        let Some(bytes) = bytes else { return Self::None };
        let read = RepositoryFile::read(PLACE, bytes);
        let read = read.and_then(|file| Ok((file.applied(suites)?.into_values().collect(), file)));
        match read {
            Ok((suites, file)) => Self::Says(Box::new(file), suites),
            Err(error) => Self::Broken { why: error.to_string(), digest: Some(Digest::of(bytes)) },
        }
    }

    /// Whether it is the same text.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Says(one, _), Self::Says(other, _)) => one == other,
            (Self::Broken { digest: one, .. }, Self::Broken { digest: other, .. }) => one == other,
            _ => false,
        }
    }

    /// The suites as they are offered in the repository; those of the operator where what it says cannot be read.
    pub(super) fn suites(&self, shared: &Shared) -> Vec<Suite> {
        match self {
            Self::Says(_, suites) => suites.clone(),
            Self::None | Self::Broken { .. } => shared.suites.values().cloned().collect(),
        }
    }

    /// What is needed at least for a verb, where the repository says so.
    pub(super) fn least(&self, suite: &str, verb: VerbKind) -> Option<Permission> {
        match self {
            Self::Says(file, _) => file.least(suite, verb),
            Self::None | Self::Broken { .. } => None,
        }
    }
}

/// Why nothing is run where what a repository says cannot be read.
pub(super) fn unreadable(why: &str) -> String {
    format!("the repository's configuration cannot be read: {why}")
}

/// What was read lately, by the number of the repository.
#[derive(Debug, Default)]
pub struct Configurations(Mutex<BTreeMap<u64, (Ms, Arc<Configuration>)>>);

impl Configurations {
    fn known(&self, repo: u64, now: Ms) -> Option<Arc<Configuration>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&repo).filter(|(until, _)| now < *until).map(|(_, found)| Arc::clone(found))
    }

    fn keep(&self, repo: u64, found: &Arc<Configuration>, now: Ms) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (until, _)| now < *until);
        known.insert(repo, (now.plus(FRESH), Arc::clone(found)));
    }
}

impl Shared {
    /// What a repository says of itself, at most a minute old.
    ///
    /// # Errors
    /// The forge does not say.
    pub async fn configuration<F: Forge>(&self, forge: &F, repo: &Repo) -> Result<Arc<Configuration>, ForgeError> {
        if !self.config.repository_file {
            return Ok(Arc::new(Configuration::None));
        }
        let now = self.machine.clock.now();
        if let Some(known) = self.configurations.known(repo.id, now) {
            return Ok(known);
        }
        let found = match forge.file(repo, PLACE, None).await {
            Ok(bytes) => Configuration::read(bytes.as_deref(), self.suites.values()),
            // No file, or too large.
            Err(ForgeError::Refused(why)) => Configuration::Broken { why, digest: None },
            Err(error) => return Err(error),
        };
        let found = Arc::new(found);
        self.configurations.keep(repo.id, &found, now);
        Ok(found)
    }

    /// A suite as it is offered in a repository.
    ///
    /// # Errors
    /// There is none, what the repository says cannot be read, or the forge does not say.
    pub(super) async fn suite_of<F: Forge>(&self, forge: &F, repo: &Repo, name: &str) -> Result<Suite, NoPlan> {
        let never = |how, why: String| NoPlan::Never { how, why };
        let operators =
            self.suites.get(name).ok_or_else(|| never(Ending::Refused, format!("there is no suite {name}")))?;
        let found = self.configuration(forge, repo).await.map_err(|error| match error {
            ForgeError::Unavailable(why) | ForgeError::Limited { why, .. } => NoPlan::NotNow(why),
            error => never(Ending::Failed, unreadable(&format!("{PLACE}: {error}"))),
        })?;
        match &*found {
            Configuration::None => Ok(operators.clone()),
            Configuration::Says(_, suites) => {
                Ok(suites.iter().find(|suite| suite.name.as_str() == name).unwrap_or(operators).clone())
            }
            Configuration::Broken { why, .. } => Err(never(Ending::Refused, unreadable(why))),
        }
    }
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Inbox<'_, D, F, P, L, R, C> {
    /// What the check of a head says whose file is another than that of the default branch; `None` where it is the same.
    pub(super) async fn configured(&self, id: &PullId, head: &CommitSha, now: Ms) -> Result<Option<Want>, Stopped> {
        if !self.shared.config.repository_file || !self.shared.serves(&id.repo.name) {
            return Ok(None);
        }
        let forge = &self.service.forge;
        let later = |error: ForgeError| match error {
            ForgeError::Unavailable(why) => Err(Stopped::Wait(Wait::new(None, why))),
            ForgeError::Limited { until, why } => Err(Stopped::Wait(Wait::new(Some(until), why))),
            error => {
                tracing::warn!(pull = id.key(), %error, "the configuration of a head cannot be looked at");
                Ok(None)
            }
        };
        let usual = match self.shared.configuration(forge, &id.repo).await {
            Ok(usual) => usual,
            Err(error) => return later(error),
        };
        let own = match forge.file(&id.repo, PLACE, Some(head)).await {
            Ok(bytes) => Configuration::read(bytes.as_deref(), self.shared.suites.values()),
            Err(ForgeError::Refused(why)) => Configuration::Broken { why, digest: None },
            Err(error) => return later(error),
        };
        if own.is(&usual) {
            return Ok(None);
        }
        let said = match &own {
            Configuration::None => Configured::Absent,
            Configuration::Broken { why, .. } => Configured::Broken(why.clone()),
            Configuration::Says(file, _) => {
                Configured::Says(file.says().into_iter().map(|(suite, lines)| (suite.to_owned(), lines)).collect())
            }
        };
        Ok(Some(self.service.configuration_check(id, head, &said, now)?))
    }
}
