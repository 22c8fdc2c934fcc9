//! All parts of a service, going on until it is told to stop.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::ports::{Clock as _, Desk as _};
use domain::time::Ms;
use engine::service::{Service, ServiceSettings};
use engine::{Engine, EngineError};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use github::GitHub;
use secrecy::ExposeSecret as _;
use store::SqlStore;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::labs::Labs;
use super::planner::PullPlanner;
use super::shared::Shared;
use super::{inbox, sweep};
use crate::config::{ServiceConfig, ServiceSecrets};
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::server::{self, Ready, ServerState, WebhookSecrets};
use crate::world::SystemClock;

/// Who this is among several on one store.
const OWNER: &str = "zephyr-ab";
/// How long a part waits that had nothing to do.
const IDLE: Duration = Duration::from_millis(200);
/// How long a part waits that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How often the numbers are counted.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// What a service is made of.
pub struct Parts {
    /// What its parts have in common.
    pub shared: Shared,
    /// Its secrets.
    pub secrets: ServiceSecrets,
    /// Where it takes requests.
    pub listener: TcpListener,
}

type Here =
    Service<SqlStore, GitHub, PullPlanner<SqlStore, GitHub>, Labs<SqlStore>, Arc<Folder<DiskStorage>>, SystemClock>;

/// The clock of the machine, for the forge.
struct ForgeClock;

impl github::Clock for ForgeClock {
    fn now_ms(&self) -> u64 {
        SystemClock.now().0
    }

    fn sleep(&self, ms: u64) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// One service at a time may work in a folder.
fn lock(folder: &Path) -> Result<File, Failure> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::Usage(format!("{}: another service works in this folder", folder.display())))
        }
        Err(TryLockError::Error(why)) => Err(anyhow::Error::from(why).context(path.display().to_string()).into()),
    }
}

/// The app at GitHub. Made in the runtime that it is used in.
///
/// # Errors
/// An address or a key that cannot be used.
pub fn forge(config: &ServiceConfig, secrets: &ServiceSecrets) -> Result<GitHub, Failure> {
    let mut settings = github::Settings::new(config.github.app_id, secrets.private_keys.clone());
    settings.api.clone_from(&config.github.api_url);
    settings.web.clone_from(&config.github.web_url);
    settings.write_pause_ms = config.github.write_pause_ms;
    Ok(GitHub::new(&settings, Arc::new(ForgeClock)).map_err(anyhow::Error::from)?)
}

fn put_together(parts: &Parts, store: &SqlStore) -> Result<Here, Failure> {
    let (shared, config) = (&parts.shared, &parts.shared.config);
    let templates = || match &config.templates_dir {
        Some(folder) => Templates::from_folder(folder),
        None => Templates::built_in(),
    };
    let forge = forge(config, &parts.secrets)?;
    let keys = parts.secrets.private_keys.iter().chain(&parts.secrets.webhook);
    let mut secrets: Vec<&str> = shared.machine.secrets.values();
    secrets.extend(keys.map(secrecy::ExposeSecret::expose_secret));
    let storage = DiskStorage::new(shared.evidence());
    let folder = Arc::new(Folder::new(storage, templates().map_err(anyhow::Error::from)?, Scanner::new(&secrets)));
    let labs = Labs::new(shared.clone(), store.clone());
    let engine_settings =
        engine::Settings { owner: OWNER.to_owned(), at_once: config.runs_at_once, ..engine::Settings::default() };
    let planner =
        PullPlanner { shared: shared.clone(), desk: store.clone(), forge: forge.clone(), folder: Arc::clone(&folder) };
    Ok(Service {
        engine: Engine::new(store.clone(), labs, folder, SystemClock, engine_settings),
        forge,
        planner,
        templates: templates().map_err(anyhow::Error::from)?,
        settings: ServiceSettings { web: config.github.web_url.clone(), ..ServiceSettings::default() },
    })
}

/// Serves until `shutdown` is cancelled. What goes on then is found again by the next one: jobs of a cluster go on, and
/// trials on this machine end and are measured anew.
///
/// # Errors
/// Another service works in the folder, or the store, the folder or an address cannot be used.
pub async fn serve(parts: Parts, shutdown: CancellationToken) -> Result<(), Failure> {
    let config = Arc::clone(&parts.shared.config);
    let held = lock(&config.data_dir)?;
    let store = SqlStore::open(parts.secrets.store_url.expose_secret(), store::Options::default())
        .await
        .map_err(anyhow::Error::from)?;
    let service = Arc::new(put_together(&parts, &store)?);
    // Nobody else works in the folder: what was claimed was claimed by a process that is gone.
    store.free_leases(OWNER).await.map_err(anyhow::Error::from)?;
    let found = service.reconcile().await.map_err(anyhow::Error::from)?;
    tracing::info!(runs = found, "runs that go on");

    let (metrics, wake, ready) = (Arc::new(Metrics::new()), Arc::new(Notify::new()), Ready::default());
    let tasks = TaskTracker::new();
    let part = Part { shutdown: shutdown.clone(), ready: ready.clone() };
    let of = || Arc::clone(&service);
    let (shared, s) = (parts.shared.clone(), of());
    tasks.spawn(part.clone().repeat("inbox", IDLE, Some(Arc::clone(&wake)), move || {
        let (s, shared) = (Arc::clone(&s), shared.clone());
        async move { inbox::handle(&s, &shared, SystemClock.now()).await }
    }));
    let s = of();
    tasks.spawn(part.clone().repeat("pull requests", IDLE, None, move || {
        let s = Arc::clone(&s);
        async move { s.tick_pulls(SystemClock.now()).await }
    }));
    let s = of();
    tasks.spawn(part.clone().repeat("runs", IDLE, None, move || {
        let s = Arc::clone(&s);
        async move { runs(&s, SystemClock.now()).await }
    }));
    let s = of();
    tasks.spawn(part.clone().repeat("herald", IDLE, None, move || {
        let s = Arc::clone(&s);
        async move { s.herald(SystemClock.now()).await }
    }));
    let s = of();
    tasks.spawn(part.clone().repeat("outbox", IDLE, None, move || {
        let s = Arc::clone(&s);
        async move { s.flush(SystemClock.now()).await }
    }));
    let (s, every) = (of(), Duration::from_secs(config.sweep_every_s));
    tasks.spawn(part.clone().repeat("delivery log", every, None, move || {
        let s = Arc::clone(&s);
        async move {
            let found = sweep::sweep(s.desk(), &s.forge, every, SystemClock.now()).await?;
            if found > 0 {
                tracing::info!(found, "lost deliveries");
            }
            Ok::<usize, sweep::SweepError>(0)
        }
    }));
    let (counted, counts) = (store.clone(), Arc::clone(&metrics));
    tasks.spawn(part.repeat("numbers", COUNT_EVERY, None, move || {
        let (store, metrics) = (counted.clone(), Arc::clone(&counts));
        async move {
            let counts = store.counts(inbox::HANDLER).await?;
            metrics.open_deliveries.set(counts.open_deliveries);
            metrics.outbox_open.set(counts.unsaid);
            metrics.runs_active.set(counts.active_runs);
            Ok::<usize, domain::ports::StoreError>(0)
        }
    }));
    tasks.close();
    let state = ServerState {
        receiver: store.clone(),
        clock: SystemClock,
        secrets: WebhookSecrets::new(&parts.secrets.webhook),
        app_id: config.github.app_id,
        metrics,
        wake,
        ready,
    };
    let served = server::serve(parts.listener, state, shutdown.clone()).await;
    shutdown.cancel();
    tasks.wait().await;
    drop(service);
    store.close().await;
    drop(held);
    Ok(served.context("the server")?)
}

/// Does what is due for runs, where anything is.
async fn runs(service: &Here, now: Ms) -> Result<usize, EngineError> {
    match service.engine.next_due().await? {
        Some(due) if due <= now => service.engine.tick(now).await,
        _ => Ok(0),
    }
}

/// A part of the service that does something again and again.
#[derive(Clone)]
struct Part {
    shutdown: CancellationToken,
    ready: Ready,
}

impl Part {
    /// Calls `step` until the service stops: at once where something was done, after `idle` or when woken where
    /// nothing was. What fails is said, and tried again.
    async fn repeat<S, E>(
        self,
        name: &'static str,
        idle: Duration,
        wake: Option<Arc<Notify>>,
        mut step: impl FnMut() -> S + Send,
    ) where
        S: Future<Output = Result<usize, E>> + Send,
        E: std::fmt::Display + Send,
    {
        while !self.shutdown.is_cancelled() {
            let wait = match step().await {
                Ok(0) => idle,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    tracing::error!(part = name, %error, "tried again");
                    self.ready.fails(name, "it failed and is tried again; see the log");
                    AFTER_FAILURE
                }
            };
            if wait != AFTER_FAILURE {
                self.ready.works(name);
            }
            if wait.is_zero() {
                tokio::task::yield_now().await;
                continue;
            }
            let woken = async {
                match &wake {
                    Some(wake) => wake.notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = woken => {}
                () = self.shutdown.cancelled() => {}
            }
        }
    }
}
