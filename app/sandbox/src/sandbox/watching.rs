//! Deliveries, faults and what was asked.

use super::Sandbox;
use crate::exchange::Logged;
use crate::faults::{Faults, Rule};
use crate::model::Delivery;

impl Sandbox {
    /// The log of deliveries, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.with(|state| state.deliveries.values().cloned().collect())
    }

    /// Makes a delivery again. `false` where there was none.
    #[must_use]
    pub fn redeliver(&self, id: u64) -> bool {
        self.with(|state| state.redeliver(id))
    }

    /// Waits until all deliveries were answered, or have failed.
    pub async fn quiesce(&self) {
        let mut pending = self.with(|state| state.pending.subscribe());
        self.shared.flush.notify_one();
        // The sender lives as long as `self.shared`.
        let _ = pending.wait_for(|pending| *pending == 0).await;
    }

    /// Waits until something is there, looked at now and after every request and every delivery. Waits for ever where
    /// it never comes: put a limit around it.
    pub async fn until<T>(&self, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            // What changes from here on wakes it, whether it is seen by this look or not.
            changes.borrow_and_update();
            if let Some(found) = look(self) {
                return found;
            }
            // The sender lives as long as `self.shared`.
            let _ = changes.changed().await;
        }
    }

    /// Sets what goes wrong by chance.
    pub fn set_faults(&self, faults: Faults) {
        self.with(|state| state.faults = faults);
    }

    /// Adds a fault for the next requests of a kind.
    pub fn add_rule(&self, rule: Rule) {
        self.with(|state| state.rules.push(rule));
    }

    /// Takes all rules back.
    pub fn clear_rules(&self) {
        self.with(|state| state.rules.clear());
    }

    /// The requests to the API, oldest first; the newest 20,000.
    #[must_use]
    pub fn requests(&self) -> Vec<Logged> {
        self.with(|state| state.requests.iter().cloned().collect())
    }

    /// Forgets the requests.
    pub fn clear_requests(&self) {
        self.with(|state| state.requests.clear());
    }

    /// What was wrong with requests and answers.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.with(|state| state.violations.clone())
    }
}
