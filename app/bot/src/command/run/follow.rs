//! Measures what is planned: the engine with a store in memory, trials on this machine or on a cluster, and the evidence on
//! the disk.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Context as _;
use domain::ids::RunId;
use domain::machine::State;
use domain::ports::{Lab, Records as _};
use domain::view::Ending;
use engine::{Engine, MemoryStore, run_to_end};
use evidence::{DiskStorage, Folder};
use lab::local::{LocalLab, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::SUPERVISE;
use super::place::{RunsOn, runtime};
use super::plan::Prepared;
use super::progress::Teller;
use super::retry::bring;
use crate::cli::World;
use crate::failure::Failure;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a verdict.
    Judged,
    /// Without one.
    Without(Ending, Option<String>),
}

/// A run that is over, with its folder sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub ended: Ended,
}

/// Runs the plan to its end, tells a person how far it is, and stops what it started when it is interrupted.
///
/// # Errors
/// The backend, the folder or the engine failed. Processes are stopped in any case.
pub fn measure(prepared: &Prepared, folder: &Folder<DiskStorage>, world: &mut World<'_>) -> Result<Measured, Failure> {
    match &prepared.runs_on {
        RunsOn::Here => {
            let machine = world.machine.clone();
            let supervisor = vec![machine.program.clone().into_os_string(), OsString::from(SUPERVISE)];
            let path = machine.path.to_string_lossy().into_owned();
            let settings = Settings::new(machine.temp, prepared.mirror.clone(), supervisor, path);
            with(LocalLab::open(settings).map_err(anyhow::Error::from)?, prepared, folder, world)
        }
        RunsOn::Cluster(connection) => with(connection.lab(Arc::clone(&prepared.bundler)), prepared, folder, world),
    }
}

/// The same with a backend.
pub(in crate::command) fn with<L: Lab>(
    lab: L,
    prepared: &Prepared,
    folder: &Folder<DiskStorage>,
    world: &mut World<'_>,
) -> Result<Measured, Failure> {
    let runtime = runtime()?;
    let clock = world.machine.clock;
    let run = prepared.plan.run.clone();
    let mut teller = Teller::new(world);
    folder.open(&prepared.plan).with_context(|| folder.storage().root().display().to_string())?;
    folder.suite(&run, prepared.suite_text.as_bytes()).map_err(anyhow::Error::from)?;
    for (name, text) in &prepared.beside {
        folder.beside(&run, name, text.as_bytes()).map_err(anyhow::Error::from)?;
    }
    if let Some(bytes) = &prepared.calibration {
        folder.calibration(&run, bytes).map_err(anyhow::Error::from)?;
    }
    bring(prepared, folder)?;
    let engine = Engine::new(MemoryStore::default(), lab, folder, clock, engine::Settings::default());
    let over = runtime.block_on(async {
        engine.start(&prepared.plan).await.map_err(anyhow::Error::from)?;
        let (cancel, cancelled) = watch::channel(None);
        let interrupted = tokio::spawn(interruptions(cancel));
        let over = run_to_end(&engine, &run, cancelled, |progress| teller.tell(progress)).await;
        interrupted.abort();
        over.map_err(anyhow::Error::from)
    })?;
    teller.finish();
    let ended = match &over.state {
        State::Done { .. } => Ended::Judged,
        State::Ended { how, why, .. } => Ended::Without(*how, why.clone()),
        other => return Err(anyhow::anyhow!("the run stopped in the middle: {other:?}").into()),
    };
    Ok(Measured { run, ended })
}

/// Cancels at the first Ctrl-C, request to terminate, or when the terminal is closed. A second one changes nothing: what
/// was started is being stopped.
async fn interruptions(cancel: watch::Sender<Option<String>>) {
    let listen = |kind| signal(kind).ok();
    let (Some(mut interrupt), Some(mut terminate), Some(mut hangup)) =
        (listen(SignalKind::interrupt()), listen(SignalKind::terminate()), listen(SignalKind::hangup()))
    else {
        return;
    };
    loop {
        let by = tokio::select! {
            _ = interrupt.recv() => "Ctrl-C",
            _ = terminate.recv() => "a request to terminate",
            _ = hangup.recv() => "a closed terminal",
        };
        // Nobody listens any more when the run is over.
        let _ = cancel.send(Some(by.to_owned()));
    }
}
