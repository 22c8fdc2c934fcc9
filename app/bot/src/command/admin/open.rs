//! The store of a service, opened beside it.

use std::path::Path;

use domain::ports::Clock as _;
use domain::ports::desk::AuditLine;
use domain::time::Ms;
use evidence::Scanner;
use secrecy::ExposeSecret as _;
use store::{Options, SqlStore, Tables};

use crate::cli::World;
use crate::command::doctor::said::plain;
use crate::config::{Config, ServiceConfig};
use crate::failure::Failure;
use crate::world::Machine;

/// Who acts here, in the audit log.
const ACTOR: &str = "admin";

/// A store that is opened.
pub(super) struct Opened {
    pub(super) store: SqlStore,
    pub(super) service: ServiceConfig,
    pub(super) machine: Machine,
    scanner: Scanner,
}

impl Opened {
    /// Opens the store that the configuration names, where it is one and needs nothing done to it.
    pub(super) async fn new(config: Option<&Path>, world: &World<'_>) -> Result<Self, Failure> {
        let service = Config::load(config)?.service()?;
        let machine = world.machine.clone();
        // Keys are needed to ask the forge only. What can be read of the secrets is never printed.
        let address = service.store_address(&machine.secrets)?;
        let mut own: Vec<String> = machine.secrets.values().iter().map(|&value| value.to_owned()).collect();
        if let Ok(secrets) = service.secrets(&machine.secrets) {
            let all = secrets.private_keys.iter().chain(&secrets.webhook).chain([&secrets.store_url]);
            own.extend(all.map(|secret| secret.expose_secret().to_owned()));
        }
        let own: Vec<&str> = own.iter().map(String::as_str).filter(|text| !text.starts_with("sqlite:")).collect();
        let scanner = Scanner::new(&own);
        let address = address.expose_secret();
        match store::tables(address).await.map_err(anyhow::Error::from)? {
            Tables::Current { .. } => {}
            Tables::None => {
                return Err(Failure::Usage(
                    "the store is empty: no service has run with this configuration".to_owned(),
                ));
            }
            Tables::Older { found } => {
                return Err(Failure::Usage(format!(
                    "the tables of the store are of version {found}, which an older program made: start the service of this \
                     version first, or use the program that the service is"
                )));
            }
            Tables::Newer { found, known } => {
                return Err(Failure::Usage(format!(
                    "the tables of the store are of version {found}, this program knows them up to version {known}: use a \
                     newer program"
                )));
            }
        }
        let options = Options { readers: 1, ..Options::default() };
        let store = SqlStore::open(address, options).await.map_err(anyhow::Error::from)?;
        Ok(Self { store, service, machine, scanner })
    }

    pub(super) fn now(&self) -> Ms {
        self.machine.clock.now()
    }

    /// The line of the audit log for an act.
    pub(super) fn audit(&self, action: &str, subject: &str, detail: String) -> AuditLine {
        let (action, subject) = (action.to_owned(), subject.to_owned());
        AuditLine { at: self.now(), actor: ACTOR.to_owned(), action, subject, detail }
    }

    /// A text for a terminal: without secrets, and with nothing in it that moves the cursor.
    pub(super) fn safe(&self, text: &str) -> String {
        let redacted = self.scanner.redact(text.as_bytes());
        let text = redacted.map_or_else(|| text.to_owned(), |(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
        text.lines().map(|line| plain(line) + "\n").collect()
    }
}
