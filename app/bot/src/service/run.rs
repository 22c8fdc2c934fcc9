//! All parts of a service, going on until it is told to stop.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::ports::{Clock as _, Desk as _};
use domain::time::{DAY, Ms, SECOND};
use engine::service::{PutOff, Service, ServiceSettings};
use engine::{Engine, EngineError};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use github::GitHub;
use rand::TryRng;
use rand::rngs::SysRng;
use secrecy::ExposeSecret as _;
use store::SqlStore;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::blocking::Blocking;
use super::hook::Hook;
use super::labs::Labs;
use super::part::Part;
use super::planner::PullPlanner;
use super::shared::Shared;
use super::{inbox, sweep};
use crate::config::{ServiceConfig, ServiceSecrets, StoreConfig};
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::server::{self, Ready, ServerState, WebhookSecrets};
use crate::world::SystemClock;

/// Pull requests that are worked on at once: making a plan takes minutes, and must not keep others waiting.
const HANDS: usize = 8;
/// How long the payload of a delivery that was handled is kept, milliseconds.
const KEPT: u64 = 14 * DAY;
/// How long a part waits that had nothing to do.
const IDLE: Duration = Duration::from_millis(200);
/// How often it is looked at how many go before those that wait.
const LINE_EVERY: Duration = Duration::from_secs(2);
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
    /// How long what changes of a run is collected before it is said, milliseconds.
    pub say_after_ms: u64,
}

type Here = Service<
    SqlStore,
    GitHub,
    PullPlanner<SqlStore, GitHub>,
    Labs<SqlStore>,
    Blocking<Folder<DiskStorage>>,
    SystemClock,
>;

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

/// Who this is among several on one store: a name that is made once for each folder.
fn name(folder: &Path) -> Result<String, Failure> {
    let path = folder.join("name");
    let place = || path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(name) if !name.trim().is_empty() => return Ok(name.trim().to_owned()),
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            return Err(anyhow::Error::from(why).context(place()).into());
        }
        _ => {}
    }
    let name = format!("zephyr-ab-{:08x}", SysRng.try_next_u32().context("no random number")?);
    std::fs::write(&path, &name).with_context(place)?;
    Ok(name)
}

/// Removes the locks that git calls of a killed service have left: nobody else works in the folder.
fn unlock(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            unlock(&path);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            drop(std::fs::remove_file(path));
        }
    }
}

fn put_together(parts: &Parts, store: &SqlStore, owner: String) -> Result<Here, Failure> {
    let (shared, config) = (&parts.shared, &parts.shared.config);
    let templates = || match &config.templates_dir {
        Some(folder) => Templates::from_folder(folder),
        None => Templates::built_in(),
    };
    let forge = forge(config, &parts.secrets)?;
    let keys = parts.secrets.private_keys.iter().chain(&parts.secrets.webhook);
    let mut secrets: Vec<&str> = shared.machine.secrets.values();
    secrets.extend(keys.map(secrecy::ExposeSecret::expose_secret));
    if let Some(told) = &parts.secrets.announce {
        secrets.push(told.url.expose_secret());
        secrets.extend(told.secret.as_ref().map(secrecy::ExposeSecret::expose_secret));
    }
    let storage = DiskStorage::new(shared.evidence());
    // Where it is no secret it stands in the configuration, and may stand in what a benchmark prints.
    if matches!(config.store, StoreConfig::Secret(_)) {
        secrets.push(parts.secrets.store_url.expose_secret());
    }
    let folder = Arc::new(Folder::new(storage, templates().map_err(anyhow::Error::from)?, Scanner::new(&secrets)));
    let labs = Labs::new(shared.clone(), store.clone());
    let engine_settings = engine::Settings { owner, at_once: config.runs_at_once, ..engine::Settings::default() };
    let planner =
        PullPlanner { shared: shared.clone(), desk: store.clone(), forge: forge.clone(), folder: Arc::clone(&folder) };
    Ok(Service {
        engine: Engine::new(store.clone(), labs, Blocking(folder), SystemClock, engine_settings),
        forge,
        planner,
        templates: templates().map_err(anyhow::Error::from)?,
        settings: ServiceSettings {
            web: config.github.web_url.clone(),
            say_after_ms: parts.say_after_ms,
            notify_after_ms: config.notify_after_s.saturating_mul(SECOND),
            always: if config.checks.always_report { config.suites.clone() } else { Vec::new() },
            conclusions: config.checks.conclusions,
            labels: config.labels.clone(),
            announce: config.announce.as_ref().map(|told| told.events.clone()).unwrap_or_default(),
        },
        put_off: PutOff::default(),
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
    let service = Arc::new(put_together(&parts, &store, name(&config.data_dir)?)?);
    // Nobody else works in the folder: what was claimed was claimed by a process that is gone.
    store.free_leases(service.engine.owner()).await.map_err(anyhow::Error::from)?;
    unlock(&config.data_dir.join("mirrors"));
    let hook = parts.secrets.announce.as_ref().map(Hook::new).transpose()?.map(Arc::new);
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
    for _ in 0..HANDS {
        let s = of();
        tasks.spawn(part.clone().repeat("pull requests", IDLE, None, move || {
            let s = Arc::clone(&s);
            async move { s.tick_pulls(SystemClock.now()).await }
        }));
    }
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
    let s = of();
    tasks.spawn(part.clone().repeat("announcements", IDLE, None, move || {
        let (s, hook) = (Arc::clone(&s), hook.clone());
        async move { s.announce(hook.as_deref(), SystemClock.now()).await }
    }));
    let (s, every) = (of(), Duration::from_secs(config.sweep_every_s));
    tasks.spawn(part.clone().repeat("delivery log", every, None, move || {
        let s = Arc::clone(&s);
        async move {
            let found = sweep::sweep(s.desk(), &s.forge, every, SystemClock.now()).await?;
            if found > 0 {
                tracing::info!(found, "lost deliveries");
            }
            s.desk().prune(Ms(SystemClock.now().0.saturating_sub(KEPT))).await?;
            Ok::<usize, sweep::SweepError>(0)
        }
    }));
    let s = of();
    tasks.spawn(part.clone().repeat("line", LINE_EVERY, None, move || {
        let s = Arc::clone(&s);
        async move { s.retell_waiting().await.map(|()| 0_usize) }
    }));
    let (s, counts) = (of(), Arc::clone(&metrics));
    tasks.spawn(part.repeat("numbers", COUNT_EVERY, None, move || {
        let (s, metrics) = (Arc::clone(&s), Arc::clone(&counts));
        async move {
            let counts = s.desk().counts(inbox::HANDLER).await?;
            metrics.open_deliveries.set(counts.open_deliveries);
            metrics.outbox_open.set(counts.unsaid);
            metrics.runs_active.set(counts.active_runs);
            Ok::<usize, EngineError>(0)
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
