//! What the parts of a service have in common.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use suite::{Suite, SuiteRef};

use super::repository::Configurations;
use crate::config::ServiceConfig;
use crate::failure::Failure;
use crate::world::{Machine, World};

/// What the parts of a service have in common. Nothing of it changes while the service runs, but what is known of repositories.
#[derive(Clone, Debug)]
pub struct Shared {
    /// What it was told.
    pub config: Arc<ServiceConfig>,
    /// The file that says so, which also says how clusters are reached.
    pub file: Option<PathBuf>,
    /// The suites that are offered.
    pub suites: Arc<BTreeMap<String, Suite>>,
    /// The machine.
    pub machine: Machine,
    /// What repositories say of themselves, as it was read lately.
    pub configurations: Arc<Configurations>,
}

impl Shared {
    /// Reads the suites.
    ///
    /// # Errors
    /// A suite that cannot be read.
    pub fn new(config: ServiceConfig, file: Option<PathBuf>, machine: Machine) -> Result<Self, Failure> {
        let mut suites = BTreeMap::new();
        for name in &config.suites {
            let suite = suite::load(&SuiteRef::from(name.as_str()), config.suites_dir.as_deref())
                .map_err(|error| Failure::Usage(format!("service.suites: {error}")))?;
            suites.insert(name.clone(), suite);
        }
        Ok(Self { config: Arc::new(config), file, suites: Arc::new(suites), machine, configurations: Arc::default() })
    }

    /// The folder of the evidence.
    #[must_use]
    pub fn evidence(&self) -> PathBuf {
        self.config.data_dir.join("evidence")
    }

    /// The folder of the mirror of a repository.
    #[must_use]
    pub fn mirror(&self, repo: u64) -> PathBuf {
        self.config.data_dir.join("mirrors").join(repo.to_string())
    }

    /// The folder in which trials on this machine have theirs.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.config.data_dir.join("scratch")
    }

    /// Whether the repository is served.
    #[must_use]
    pub fn serves(&self, repository: &str) -> bool {
        let all = &self.config.repositories;
        all.is_empty() || all.iter().any(|name| name.eq_ignore_ascii_case(repository))
    }

    /// Does something that blocks, in a world without a person: nobody reads what it prints, and nobody answers.
    ///
    /// # Errors
    /// What it returns, or that it panicked.
    pub async fn apart<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut World<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let machine = self.machine.clone();
        let task = tokio::task::spawn_blocking(move || {
            let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), std::io::sink(), std::io::sink());
            let mut world = World {
                stdin: &mut stdin,
                stdout: &mut stdout,
                stderr: &mut stderr,
                terminal: false,
                answers: false,
                machine,
            };
            what(&mut world)
        });
        task.await.context("a task of the service panicked")?
    }
}
