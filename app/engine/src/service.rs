//! The engine for pull requests.
//!
//! [`apply`] takes what happens to a pull request, steps its machine and writes down what follows in one transaction.
//! `pulls` performs the effects of pull requests, `herald` says of everything that changed what its comment and check should
//! read, and `outbox` makes the forge say so. All of it is level-triggered: what is written down is compared with what
//! was done, so that a crash between two steps loses nothing and repeats nothing that shows. [`answers`] are the replies,
//! [`views`] what a comment shows before there is a folder of evidence, [`saying`] what is wanted of the forge,
//! [`remarks`] what the comment says about newer commits and decisions, [`explain`] how the number of a row came to be,
//! [`preview`] what a comparison would be, [`conclusions`] how its check ends, [`checks`] the checks that no run is about,
//! [`pushes`] what has to be known of a push, `spent` what a run has used, `notify` how somebody is told of a verdict, [`labels`]
//! what a pull request is labelled, [`announce`] what others are told, `doubts` what jobs that had run before may say of a head.

pub mod announce;
pub mod answers;
pub mod apply;
pub mod checks;
pub mod conclusions;
mod doubts;
pub mod explain;
mod herald;
pub mod labels;
mod notify;
mod outbox;
pub mod preview;
mod pulls;
pub mod pushes;
mod put_off;
pub mod remarks;
pub mod saying;
mod spent;
pub mod status;
mod told;
pub mod views;

use std::collections::BTreeSet;

use domain::ports::{Clock, Desk, Forge, Happening, Lab, Planner, Records};
use domain::time::{MINUTE, Ms};
use domain::view::{State, View};
use evidence::Templates;
use evidence::spent::TrialCpu;

use crate::engine::Engine;

pub use apply::Applied;
pub use conclusions::Conclusions;
pub use labels::Labels;
pub use put_off::PutOff;
pub use saying::Saying;

/// How long a claimed pull request is ours, milliseconds: planning fetches a repository.
const PULL_LEASE: u64 = 40 * MINUTE;
/// How long something that is to be said is ours, milliseconds.
const SAY_LEASE: u64 = 5 * MINUTE;

/// Where evidence is read from, for comments.
pub trait Archive: Records {
    /// What can be said of a run that goes on.
    ///
    /// # Errors
    /// The folder cannot be read: why.
    fn live(&self, run: &domain::ids::RunId, state: State) -> Result<View, String>;

    /// What was sealed.
    ///
    /// # Errors
    /// The folder cannot be read, or no longer says what was sealed: why.
    fn sealed(&self, run: &domain::ids::RunId) -> Result<View, String>;

    /// What the trials of a run have used, as far as they said so.
    ///
    /// # Errors
    /// The folder cannot be read: why.
    fn cpu(&self, run: &domain::ids::RunId) -> Result<Vec<TrialCpu>, String>;
}

impl<S: evidence::Storage> Archive for evidence::Folder<S> {
    fn live(&self, run: &domain::ids::RunId, state: State) -> Result<View, String> {
        evidence::Folder::live(self, run, state).map_err(|error| error.to_string())
    }

    fn sealed(&self, run: &domain::ids::RunId) -> Result<View, String> {
        let composed = self.composed(run).map_err(|error| error.to_string())?;
        Ok(composed.view)
    }

    fn cpu(&self, run: &domain::ids::RunId) -> Result<Vec<TrialCpu>, String> {
        evidence::Folder::cpu(self, run).map_err(|error| error.to_string())
    }
}

impl<R: Archive + ?Sized> Archive for std::sync::Arc<R> {
    fn live(&self, run: &domain::ids::RunId, state: State) -> Result<View, String> {
        (**self).live(run, state)
    }

    fn sealed(&self, run: &domain::ids::RunId) -> Result<View, String> {
        (**self).sealed(run)
    }

    fn cpu(&self, run: &domain::ids::RunId) -> Result<Vec<TrialCpu>, String> {
        (**self).cpu(run)
    }
}

/// How a service works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// How long what changes is collected before it is said, milliseconds.
    pub say_after_ms: u64,
    /// A run that took longer than this is told of in a short comment, milliseconds.
    pub notify_after_ms: u64,
    /// Address of the forge's pages, such as `https://github.com`.
    pub web: String,
    /// Suites of which every head has a check, asked for or not: then it can be required.
    pub always: Vec<String>,
    /// How checks end.
    pub conclusions: Conclusions,
    /// The labels of pull requests.
    pub labels: Labels,
    /// What others are told of.
    pub announce: BTreeSet<Happening>,
}

impl Default for ServiceSettings {
    /// 2 s, 15 min, github.com; no labels, and nobody else is told.
    fn default() -> Self {
        Self {
            say_after_ms: 2000,
            notify_after_ms: 15 * MINUTE,
            web: "https://github.com".to_owned(),
            always: Vec::new(),
            conclusions: Conclusions::default(),
            labels: Labels::default(),
            announce: BTreeSet::new(),
        }
    }
}

/// The engine for pull requests.
pub struct Service<D, F, P, L, R, C> {
    /// The engine of its runs.
    pub engine: Engine<D, L, R, C>,
    /// Where pull requests live.
    pub forge: F,
    /// Who makes plans.
    pub planner: P,
    /// What texts are made with.
    pub templates: Templates,
    /// How it works.
    pub settings: ServiceSettings,
    /// What could not be read, and is looked at later.
    pub put_off: PutOff,
}

impl<D: Desk, F: Forge, P: Planner, L: Lab, R: Archive, C: Clock> Service<D, F, P, L, R, C> {
    /// The store.
    pub fn desk(&self) -> &D {
        &self.engine.store
    }

    pub(crate) fn now(&self) -> Ms {
        self.engine.clock.now()
    }
}
