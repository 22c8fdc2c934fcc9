//! The service in this process, over a store that crashes and under a clock that is moved by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bot::config::{Config, ServiceConfig, ServiceSecrets};
use bot::service::planner::PullPlanner;
use bot::service::{Shared, inbox};
use bot::world::{Machine, Secrets, SystemClock};
use domain::ports::desk::Delivery;
use domain::ports::{Announcer, Clock, Desk as _, Lab, Store as _};
use domain::time::Ms;
use engine::service::{PutOff, Service, ServiceSettings};
use engine::{Engine, EngineError};
use evidence::{DiskStorage, Folder, Scanner, Templates};
use github::GitHub;
use sandbox::clock::{Clock as _, Hand};
use store::SqlStore;

use super::crashing::{Crashing, Point};

const OWNER: &str = "zephyr-ab";
/// Passes over all parts that no run needs.
const FOREVER: usize = 4000;

/// The clock: it moves where somebody waits.
#[derive(Clone)]
pub(crate) struct ByHand(pub(crate) Arc<Hand>);

impl Clock for ByHand {
    fn now(&self) -> Ms {
        Ms(self.0.now_ms())
    }

    async fn sleep(&self, ms: u64) {
        self.0.advance(ms);
    }
}

impl github::Clock for ByHand {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn sleep(&self, ms: u64) -> github::clock::Wait<'_> {
        self.0.advance(ms);
        Box::pin(std::future::ready(()))
    }
}

/// Where a service of its own lives: its folder and database, and what it knows of the world.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    /// The key of its pull request.
    pub(crate) pull: String,
    shared: Shared,
    secrets: ServiceSecrets,
    clock: ByHand,
    /// How long nothing is done where nothing is due: of the machine, and of the clock.
    idle: (Duration, u64),
}

/// The service.
type Inside<L> = Service<Crashing, GitHub, PullPlanner<Crashing, GitHub>, L, Arc<Folder<DiskStorage>>, ByHand>;

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was done and said.
    Done,
    /// It crashed.
    Crashed,
}

impl Place {
    /// A place in a folder that is made, configured by this file.
    pub(crate) fn new(file: &Path, folder: PathBuf, pull: String, clock: ByHand, idle: (Duration, u64)) -> Self {
        let config: Config = Config::load(Some(file)).expect("a configuration");
        let mut service: ServiceConfig = config.service().expect("a configuration");
        let secrets = service.secrets(&Secrets::default()).expect("secrets");
        service.data_dir.clone_from(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let machine = Machine {
            program: PathBuf::from(env!("CARGO_BIN_EXE_zephyr-ab")),
            path: std::env::var_os("PATH").unwrap_or_default(),
            temp: folder.clone(),
            processors: 2,
            display: false,
            random: 1,
            secrets: Secrets::default(),
            clock: SystemClock,
        };
        let shared = Shared::new(service, Some(file.to_owned()), machine).expect("suites");
        Self { folder, pull, shared, secrets, clock, idle }
    }

    pub(crate) fn evidence(&self) -> PathBuf {
        self.shared.evidence()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) async fn store(&self) -> SqlStore {
        let url = format!("sqlite:{}", self.folder.join("zephyr-ab.db").display());
        SqlStore::open(&url, store::Options::default()).await.expect("a store")
    }

    /// What `serve` puts together, but the clock and the backend.
    fn put_together<L: Lab>(&self, desk: &Crashing, lab: L) -> Inside<L> {
        let config = &self.shared.config;
        let templates = || Templates::built_in().expect("templates");
        let mut settings = github::Settings::new(config.github.app_id, self.secrets.private_keys.clone());
        settings.api.clone_from(&config.github.api_url);
        settings.web.clone_from(&config.github.web_url);
        settings.write_pause_ms = config.github.write_pause_ms;
        let forge = GitHub::new(&settings, Arc::new(self.clock.clone())).expect("a forge");
        let storage = DiskStorage::new(self.shared.evidence());
        let folder = Arc::new(Folder::new(storage, templates(), Scanner::new(&[])));
        let engine = engine::Settings { owner: OWNER.to_owned(), ..engine::Settings::default() };
        let (shared, forge_too, folder_too) = (self.shared.clone(), forge.clone(), Arc::clone(&folder));
        Service {
            engine: Engine::new(desk.clone(), lab, folder, self.clock.clone(), engine),
            forge,
            planner: PullPlanner { shared, desk: desk.clone(), forge: forge_too, folder: folder_too },
            templates: templates(),
            settings: ServiceSettings { web: config.github.web_url.clone(), ..ServiceSettings::default() },
            put_off: PutOff::default(),
        }
    }

    /// One process: it starts, is sent the delivery where there is one, and goes on to the end or to its crash. Returns
    /// the names of its writes. Everything of it is gone afterwards.
    pub(crate) async fn process<L: Lab>(
        &self,
        delivery: Option<&Delivery>,
        lab: impl FnOnce(&Self, &Crashing) -> L,
        at: Option<Point>,
    ) -> (Ended, Vec<&'static str>) {
        let desk = Crashing::new(self.store().await, at);
        let service = self.put_together(&desk, lab(self, &desk));
        let ended = self.go_on(&service, delivery).await;
        drop(service);
        match ended {
            Ok(()) => (Ended::Done, desk.writes()),
            Err(_) if desk.is_dead() => (Ended::Crashed, desk.writes()),
            Err(error) => panic!("{error}\n{:?}", desk.writes()),
        }
    }

    /// Sends what is to be announced by now. Returns how much was tried.
    pub(crate) async fn announce<L: Lab, A: Announcer>(
        &self,
        lab: impl FnOnce(&Self, &Crashing) -> L,
        to: Option<&A>,
    ) -> usize {
        let desk = Crashing::new(self.store().await, None);
        let service = self.put_together(&desk, lab(self, &desk));
        service.announce(to, self.clock.now()).await.expect("a store")
    }

    async fn go_on<L: Lab>(&self, service: &Inside<L>, delivery: Option<&Delivery>) -> Result<(), EngineError> {
        let desk = service.desk();
        desk.free_leases(OWNER).await?;
        service.reconcile().await?;
        if let Some(delivery) = delivery {
            desk.receive(delivery.clone()).await?;
        }
        for _ in 0..FOREVER {
            let mut done = inbox::handle(service, &self.shared, self.clock.now()).await?;
            done += service.tick_pulls(self.clock.now()).await?;
            let due = service.engine.next_due().await?;
            if due.is_some_and(|due| due <= self.clock.now()) {
                done += service.engine.tick(self.clock.now()).await?;
            }
            done += service.herald(self.clock.now()).await?;
            done += service.flush(self.clock.now()).await?;
            if done > 0 {
                continue;
            }
            let counts = desk.counts(inbox::HANDLER).await?;
            let open = counts.open_deliveries + counts.unsaid + counts.active_runs;
            if open == 0 && desk.effects(&self.pull).await?.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(self.idle.0).await;
            self.clock.0.advance(self.idle.1);
        }
        let mut open = vec![format!("{:?}", desk.counts(inbox::HANDLER).await?)];
        let runs = desk.active_runs().await?;
        for key in runs.iter().map(|run| format!("run:{}", run.id)).chain([self.pull.clone()]) {
            open.extend(desk.read(&key).await?.map(|subject| subject.state));
            open.push(format!("{:?}", desk.effects(&key).await?));
        }
        panic!("at {:?} it does not come to an end: {open:#?}", self.clock.now());
    }
}
