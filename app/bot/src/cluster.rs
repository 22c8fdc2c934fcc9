//! A cluster as the configuration names it, connected to.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lab::bundle::Bundler;
use lab::iris::{IrisLab, Settings};
use marin::auth::{ServiceAccount, StaticToken, TokenSource};
use marin::iris::CurrentUser;
use marin::retry::Later;
use marin::{Clock, Finelog, Iris, Login, RetryPolicy, Transport};
use rand::TryRng;
use rand::rngs::SysRng;
use secrecy::SecretString;

use crate::config::{ClusterConfig, Config, TokenConfig};
use crate::failure::Failure;
use crate::world::World;

/// Calls are repeated within this time; what needs more patience is asked again by whoever asks.
const PATIENCE: RetryPolicy =
    RetryPolicy { first: Duration::from_millis(300), longest: Duration::from_secs(2), total: Duration::from_secs(6) };
/// Most characters of a user in the name of a job.
const LONGEST_USER: usize = 128;

/// A cluster that is connected to.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its name in suites.
    pub name: String,
    /// Its controller.
    pub iris: Iris,
    /// Its store of measurements.
    pub finelog: Finelog,
    /// Whose jobs are launched.
    pub user: String,
    /// What the controller takes the caller for: identity and role.
    pub identity: (String, String),
    clock: Arc<SystemTime>,
}

impl Connection {
    /// The backend that runs trials there, in bundles that `bundler` makes.
    #[must_use]
    pub fn lab(&self, bundler: Arc<Bundler>) -> IrisLab {
        IrisLab::new(Settings {
            iris: self.iris.clone(),
            finelog: self.finelog.clone(),
            user: self.user.clone(),
            bundler,
            clock: Arc::<SystemTime>::clone(&self.clock),
        })
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::<SystemTime>::clone(&self.clock)
    }
}

/// The clients of a cluster, which connect when they are first used.
///
/// # Errors
/// A cluster that is not configured, a secret that cannot be read, an address that cannot be used.
pub fn clients(config: &Config, name: &str, world: &World<'_>) -> Result<(Iris, Finelog, Arc<dyn Clock>), Failure> {
    let (iris, finelog, clock) = made(config.cluster(name)?, name, world)?;
    Ok((iris, finelog, clock))
}

fn made(cluster: &ClusterConfig, name: &str, world: &World<'_>) -> Result<(Iris, Finelog, Arc<SystemTime>), Failure> {
    let clock = Arc::new(SystemTime::new());
    let place = |why: &dyn std::fmt::Display| Failure::Usage(format!("cluster {name}: {why}"));
    let mut login = Login::none();
    if let Some(token) = &cluster.login.proxy {
        login = login.with_proxy(source(token, &clock, world).map_err(|why| place(&why))?);
    }
    if let Some(token) = &cluster.login.service {
        login = login.with_service(source(token, &clock, world).map_err(|why| place(&why))?);
    }
    let transport = |address: &str| {
        let clock: Arc<dyn Clock> = Arc::<SystemTime>::clone(&clock);
        Transport::new(address, login.clone(), clock).map(|made| made.with_retry(PATIENCE)).map_err(|why| place(&why))
    };
    let controller = transport(&cluster.controller)?;
    let finelog = match &cluster.finelog {
        Some(address) => Finelog::new(transport(address)?),
        None => Finelog::through_controller(&controller),
    };
    Ok((Iris::new(controller), finelog, clock))
}

/// Connects to a cluster and asks whom it takes the caller for.
///
/// # Errors
/// See [`clients`]; the controller does not answer, or takes the caller for somebody whose name no job can have.
pub async fn connect(config: &Config, name: &str, world: &World<'_>) -> Result<Connection, Failure> {
    let cluster = config.cluster(name)?;
    let (iris, finelog, clock) = made(cluster, name, world)?;
    let said = iris.current_user().await.with_context(|| format!("cluster {name} at {}", cluster.controller))?;
    let user = user_of(cluster, name, &said)?;
    Ok(Connection { name: name.to_owned(), iris, finelog, user, identity: (said.user_id, said.role), clock })
}

/// Whether a controller that says this knows nobody by name.
pub(crate) fn is_anonymous(user: &CurrentUser) -> bool {
    matches!(user.user_id.as_str(), "" | "anonymous")
}

/// Whose jobs are launched where the controller takes the caller for `user`.
///
/// # Errors
/// No job can have this user.
pub(crate) fn user_of(cluster: &ClusterConfig, name: &str, user: &CurrentUser) -> Result<String, Failure> {
    // On a cluster without logins everybody is anonymous, and jobs are told apart by the name that they choose.
    let mine = if is_anonymous(user) { &cluster.user } else { &user.user_id };
    let job = format!("/{mine}/x");
    if mine.len() > LONGEST_USER || marin::JobId::new(&job).is_err() || job.parse::<domain::ids::JobId>().is_err() {
        let shown: String = mine.chars().take(60).collect();
        return Err(Failure::Usage(format!("cluster {name}: {shown:?} cannot be the user of a job")));
    }
    Ok(mine.clone())
}

fn source(token: &TokenConfig, clock: &Arc<SystemTime>, world: &World<'_>) -> Result<Arc<dyn TokenSource>, String> {
    let read = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok::<SecretString, String>(SecretString::from(text.trim().to_owned()))
    };
    Ok(match token {
        TokenConfig::ServiceAccount { service_account, audience } => {
            let clock: Arc<dyn Clock> = Arc::<SystemTime>::clone(clock);
            let account = ServiceAccount::new(&read(service_account)?, audience, clock);
            Arc::new(account.map_err(|why| format!("{}: {why}", service_account.display()))?)
        }
        TokenConfig::File { token_file } => Arc::new(StaticToken::new(read(token_file)?)),
        TokenConfig::Env { token_env } => {
            let value = world.machine.secrets.named(token_env).ok_or_else(|| {
                format!("the environment has no variable {token_env:?} whose name says that it is a secret")
            })?;
            Arc::new(StaticToken::new(SecretString::from(value.to_owned())))
        }
    })
}

/// The time of this machine, for the clients.
#[derive(Debug)]
pub struct SystemTime(std::time::Instant);

impl SystemTime {
    /// From now on.
    #[must_use]
    #[allow(clippy::new_without_default, clippy::disallowed_methods)] // a clock is made where the world is taken hold of
    pub fn new() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for SystemTime {
    #[allow(clippy::disallowed_methods)] // the clock itself
    fn unix(&self) -> Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }

    #[allow(clippy::disallowed_methods)] // the clock itself
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn jitter(&self) -> f64 {
        f64::from(SysRng.try_next_u32().unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
    }

    fn sleep(&self, time: Duration) -> Later<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}
