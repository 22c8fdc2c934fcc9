//! The handle of a sandbox: how it is started and what it is told of the app. What people do in it is in the rooms below.
//!
//! - `people`: accounts, and the app there; `repos`: repositories and pushes; `pulls`: issues, pull requests and labels
//! - `comments`: comments and reactions; `checks`: clicks on checks, and what others say of commits
//! - `watching`: deliveries, what goes wrong, and what was asked

mod checks;
mod comments;
mod people;
mod pulls;
mod repos;
mod watching;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::state::{DELIVERIES, State};
use crate::{Error, Options, Settings, hooks, serve};

/// What the server, the deliveries and the handle share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Somebody waits for all deliveries.
    pub(crate) flush: Notify,
    /// How often something may have changed by a request or a delivery.
    changes: watch::Sender<u64>,
    /// The repositories; removed with the last of those who share this.
    _folder: tempfile::TempDir,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait for something, after it was done.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// A small GitHub on loopback. Dropping it stops it.
///
/// Repositories are named `owner/name`, people by their login. Calls that change something may take some milliseconds,
/// as git is run; they do not wait for deliveries (see [`Sandbox::quiesce`]).
pub struct Sandbox {
    shared: Arc<Shared>,
    _stop: DropGuard,
}

impl Sandbox {
    /// Starts one. Needs a runtime of tokio, and git in the `PATH`.
    ///
    /// # Errors
    /// [`Error::Io`] where the port is taken, or no folder can be made.
    pub async fn start(options: Options) -> Result<Self, Error> {
        // A provider that is installed already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|error| Error::Refused(error.to_string()))?;
        let folder = tempfile::Builder::new().prefix("sandbox-").tempdir()?;
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
        let web = format!("http://{}", listener.local_addr()?);
        let (outgoing, queue) = mpsc::channel(DELIVERIES);
        let state = State::new(&options, web, folder.path().to_owned(), outgoing);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            flush: Notify::new(),
            changes: watch::Sender::new(0),
            _folder: folder,
        });
        let stop = CancellationToken::new();
        tokio::spawn(hooks::send::run(Arc::clone(&shared), client, queue, stop.clone()));
        tokio::spawn(serve::run(Arc::clone(&shared), listener, stop.clone()));
        Ok(Self { shared, _stop: stop.drop_guard() })
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.shared.lock())
    }

    /// Acts in a repository.
    fn in_repo<T>(&self, repo: &str, act: impl FnOnce(&mut State, u64) -> Result<T, Error>) -> Result<T, Error> {
        self.with(|state| {
            let id = state.named(repo)?;
            act(state, id)
        })
    }

    /// What a program needs to connect.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.with(|state| Settings::of(state))
    }

    /// Sends deliveries here from now on.
    pub fn set_webhook(&self, url: &str) {
        self.with(|state| state.app.webhook = Some(url.to_owned()));
    }

    /// Adds a key that JWTs of the app are checked with, in PEM; the others stay in force.
    pub fn add_key(&self, public_pem: &str) {
        self.with(|state| state.app.public_keys.push(public_pem.to_owned()));
    }

    /// Takes a key out of force.
    pub fn remove_key(&self, public_pem: &str) {
        self.with(|state| state.app.public_keys.retain(|key| key != public_pem));
    }

    /// Signs deliveries with another secret from now on.
    pub fn set_secret(&self, secret: &str) {
        self.with(|state| secret.clone_into(&mut state.app.secret));
    }
}
