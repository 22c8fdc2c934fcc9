//! Where the trials of a run run.

use std::path::Path;

use anyhow::Context as _;
use domain::setting::Setting;
use domain::workload::{Field, Known, Workload};
use suite::{Backend, Resolved, Suite};
use tokio::runtime::Runtime;

use crate::cli::World;
use crate::cluster::{Connection, connect};
use crate::config::Config;
use crate::failure::Failure;

/// Where trials run.
#[derive(Clone, Debug)]
pub enum RunsOn {
    /// On this machine.
    Here,
    /// On a cluster.
    Cluster(Box<Connection>),
}

/// What the calls of one command run in.
///
/// # Errors
/// The system gives no thread.
pub fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    Ok(built.context("no runtime can be started")?)
}

impl RunsOn {
    /// Where a suite runs. A cluster is connected to.
    ///
    /// # Errors
    /// See [`connect`].
    pub fn of(suite: &Suite, config: Option<&Path>, world: &World<'_>) -> Result<Self, Failure> {
        let Backend::Iris(cluster) = &suite.backend else { return Ok(Self::Here) };
        let config = Config::load(config)?;
        let connected = runtime()?.block_on(connect(&config, &cluster.launcher.cluster, world))?;
        Ok(Self::Cluster(Box::new(connected)))
    }

    /// Fills in what only the cluster knows of a workload: its controller, and the priority that is asked for. The one
    /// in force is compared when the trials have run.
    pub(super) fn complete(&self, resolved: &mut Resolved) {
        let Self::Cluster(connection) = self else { return };
        let priority = resolved.priority.clone();
        let fill = |workload: &mut Workload| {
            workload.set(Field::Controller, Known::Set(Setting::text(&connection.name)));
            let known = priority.as_ref().map_or(Known::Unknown, |word| Known::Set(Setting::text(word)));
            workload.set(Field::Priority, known);
        };
        fill(&mut resolved.control.workload);
        resolved.treatments.iter_mut().for_each(|treatment| fill(&mut treatment.arm.workload));
    }
}
