//! The service in its world: two replicas on one store, what they do, what is held up, and what dies.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use domain::ports::Desk;
use domain::time::{Ms, SECOND};
use evidence::Templates;

use super::acts::{Act, Part};
use super::always::Seen;
use super::desk::SimDesk;
use super::forge::SimForge;
use super::habit::Habit;
use super::hub::{Delivery, Hub, Town};
use super::planner::SimPlanner;
use super::{happen, inbox};
use crate::engine::{Engine, EngineError, Settings};
use crate::service::{PutOff, Service, ServiceSettings};
use crate::sim::chance::about;
use crate::sim::lab::SimLab;
use crate::sim::records::SimRecords;
use crate::sim::script::Script;
use crate::sim::world::{Faults, Shared, SimClock, World};

pub(super) type SimService = Service<SimDesk, SimForge, SimPlanner, SimLab<SimDesk>, SimRecords, SimClock>;
type Doing = Pin<Box<dyn Future<Output = Result<usize, EngineError>>>>;

/// How long something can be held up: shorter than every lease.
const HELD_UP: u64 = 20 * SECOND;
const REPLICAS: usize = 2;

struct Asleep {
    replica: usize,
    since: Ms,
    doing: Doing,
}

pub(super) struct Stage {
    pub(super) town: Town,
    pub(super) desk: SimDesk,
    pub(super) seen: Seen,
    replicas: Vec<Arc<SimService>>,
    asleep: Vec<Asleep>,
    settings: (ServiceSettings, u32),
    pub(super) crashes: u64,
    pub(super) pauses: u64,
}

impl Stage {
    /// # Errors
    /// The templates of the program cannot be used.
    pub(super) fn new(seed: u64, habit: Habit) -> Result<Self, String> {
        let mut chance = about(seed, "stage");
        let mut world = World::new(seed, if chance.happens(500) { Script::calm(seed) } else { Script::new(seed) });
        world.faults = Faults {
            lost: chance.pick([0, 0, 50, 200]),
            refused: chance.pick([0, 0, 0, 5]),
            records: chance.pick([0, 0, 0, 50]),
            disk_full: false,
        };
        world.at_once = chance.happens(400);
        let always = if chance.happens(300) { vec!["sim".to_owned()] } else { Vec::new() };
        let settings = ServiceSettings { always, ..ServiceSettings::default() };
        let world = Shared::new(world);
        let hub = Arc::new(std::sync::Mutex::new(Hub::new(seed)));
        let town = Town { world: world.clone(), hub, habit, seed };
        let desk = SimDesk::new(world, habit);
        let settings = (settings, chance.pick([1, 4, 4]));
        let mut stage = Self {
            town,
            desk,
            seen: Seen::default(),
            replicas: Vec::new(),
            asleep: Vec::new(),
            settings,
            crashes: 0,
            pauses: 0,
        };
        for number in 0..REPLICAS {
            let service = stage.service(number)?;
            stage.replicas.push(service);
        }
        Ok(stage)
    }

    fn service(&self, number: usize) -> Result<Arc<SimService>, String> {
        let (settings, at_once) = &self.settings;
        let engine = Settings { owner: format!("replica-{number}"), at_once: *at_once, ..Settings::default() };
        let (town, desk, world) = (self.town.clone(), self.desk.clone(), self.town.world.clone());
        let lab = SimLab { world: world.clone(), store: desk.clone() };
        let records = SimRecords(world.clone());
        let engine = Engine::new(desk.clone(), lab, records, SimClock(world), engine);
        Ok(Arc::new(Service {
            engine,
            forge: SimForge(town.clone()),
            planner: SimPlanner { town, desk },
            templates: Templates::built_in().map_err(|error| error.to_string())?,
            settings: settings.clone(),
            put_off: PutOff::default(),
        }))
    }

    fn poll(&mut self, replica: usize, since: Ms, mut doing: Doing) -> usize {
        match doing.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(done)) => return done,
            Poll::Ready(Err(error)) => self.town.violated(format!("the service failed: {error}")),
            Poll::Pending => {
                let died = std::mem::take(&mut self.town.world.lock().crashed);
                if died {
                    drop(doing);
                    self.crash(replica);
                } else {
                    self.pauses += 1;
                    self.asleep.push(Asleep { replica, since, doing });
                }
            }
        }
        0
    }

    fn start(&mut self, replica: usize, doing: Doing) -> usize {
        let now = self.town.now();
        let done = self.poll(replica, now, doing);
        {
            let mut world = self.town.world.lock();
            (world.crash_at, world.pause_at) = (None, None);
        }
        // Nothing takes no time.
        self.advance(self.town.now().plus(7));
        done
    }

    /// A process dies with everything that it holds in memory, and another one begins in its place.
    fn crash(&mut self, replica: usize) {
        self.crashes += 1;
        self.town.log(&format!("replica {replica} begins anew"));
        {
            let mut world = self.town.world.lock();
            (world.crash_at, world.pause_at) = (None, None);
        }
        self.asleep.retain(|asleep| asleep.replica != replica);
        match self.service(replica) {
            Ok(service) => self.replicas[replica] = Arc::clone(&service),
            Err(error) => return self.town.violated(error),
        }
        let service = Arc::clone(&self.replicas[replica]);
        self.start(
            replica,
            Box::pin(async move {
                let owner = service.engine.owner().to_owned();
                service.desk().free_leases(&owner).await?;
                service.reconcile().await
            }),
        );
    }

    pub(super) fn wake(&mut self, nth: usize) -> bool {
        if self.asleep.is_empty() {
            return false;
        }
        let asleep = self.asleep.remove(nth % self.asleep.len());
        self.poll(asleep.replica, asleep.since, asleep.doing);
        true
    }

    /// Time goes on. What is held up goes on before its leases end.
    pub(super) fn advance(&mut self, to: Ms) {
        while let Some(late) = self.asleep.iter().position(|asleep| asleep.since.plus(HELD_UP) < to) {
            self.wake(late);
        }
        self.town.world.lock().advance(to);
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<Ms> {
        let deliveries = self.town.hub().open.iter().map(|delivery| delivery.due).min();
        let tables = self.desk.tables().next_due();
        deliveries.into_iter().chain(tables).min()
    }

    pub(super) fn deliver(&mut self, replica: usize, delivery: Delivery) -> usize {
        let (service, town) = (Arc::clone(&self.replicas[replica]), self.town.clone());
        self.start(replica, Box::pin(inbox::handle(service, town, delivery)))
    }

    /// Handles what has come and is due, the oldest first.
    fn inbox(&mut self, replica: usize) -> usize {
        let now = self.town.now();
        let due: Vec<Delivery> = self.town.hub().open.iter().filter(|open| open.due <= now).cloned().collect();
        due.into_iter().map(|delivery| self.deliver(replica, delivery)).sum()
    }

    pub(super) fn work(&mut self, replica: usize, part: Part) -> usize {
        let replica = replica % REPLICAS;
        let (service, now) = (Arc::clone(&self.replicas[replica]), self.town.now());
        let doing: Doing = match part {
            Part::Inbox => return self.inbox(replica),
            Part::Pulls => Box::pin(async move { service.tick_pulls(now).await }),
            Part::Runs => Box::pin(async move { service.engine.tick(now).await }),
            Part::Herald => Box::pin(async move { service.herald(now).await }),
            Part::Outbox => Box::pin(async move { service.flush(now).await }),
            Part::Retell => Box::pin(async move { service.retell_waiting().await.map(|()| 0) }),
            Part::Reconcile => Box::pin(async move { service.reconcile().await.map(|_| 0) }),
        };
        self.start(replica, doing)
    }

    /// Everything that is due now, once.
    pub(super) fn once(&mut self, replica: usize) -> usize {
        let parts = [Part::Inbox, Part::Pulls, Part::Runs, Part::Herald, Part::Outbox];
        parts.into_iter().map(|part| self.work(replica, part)).sum()
    }

    pub(super) fn act(&mut self, act: Act) {
        match act {
            Act::Deliver { nth, twice } => {
                let delivery = {
                    let hub = self.town.hub();
                    let count = hub.open.len().max(1);
                    hub.open.get(nth % count).cloned()
                };
                if let Some(delivery) = delivery {
                    let again = twice.then(|| delivery.clone());
                    self.deliver(0, delivery);
                    again.map(|delivery| self.deliver(1, delivery));
                }
            }
            Act::Work { replica, part } => {
                self.work(replica, part);
            }
            Act::Bustle { rounds } => {
                for _ in 0..rounds {
                    if self.once(0) == 0 {
                        self.due();
                    }
                    self.check();
                }
            }
            Act::Pass { ms } => self.advance(self.town.now().plus(ms)),
            Act::Due => self.due(),
            Act::Crash { replica } => self.crash(replica % REPLICAS),
            Act::Arm { after, dies } => {
                let mut world = self.town.world.lock();
                let at = Some(world.points + after);
                (world.crash_at, world.pause_at) = if dies { (at, None) } else { (None, at) };
            }
            Act::Wake { nth } => {
                self.wake(nth);
            }
            outside => happen::happen(&self.town, outside),
        }
        self.check();
    }

    /// Writes into the trace how things are.
    pub(super) fn tell(&self) {
        let tables = self.desk.tables();
        for (key, row) in tables.subjects.iter().filter(|(key, _)| key.starts_with("pull:")) {
            let effects: Vec<&str> = row.effects.iter().map(|effect| effect.key.as_str()).collect();
            self.town.log(&format!("{key} version {} effects {effects:?} {}", row.subject.version, row.subject.state));
        }
        for run in &tables.runs {
            self.town.log(&format!("{} of {} at {}: {:?}", run.id, run.number, run.head, run.outcome));
        }
    }

    fn due(&mut self) {
        if let Some(due) = self.next_due() {
            self.advance(due.max(self.town.now().plus(1)));
        }
    }
}
