//! What could not be done and is tried later.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::time::Ms;

/// Until when what is put off. Forgotten with the process: then everything is tried once more.
#[derive(Debug, Default)]
pub struct PutOff(Mutex<BTreeMap<String, Ms>>);

impl PutOff {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Ms>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something off.
    pub fn until(&self, key: &str, at: Ms) {
        self.known().insert(key.to_owned(), at);
    }

    /// Whether something is put off now. What is due is forgotten.
    #[must_use]
    pub fn is(&self, key: &str, now: Ms) -> bool {
        let mut known = self.known();
        known.retain(|_, until| *until > now);
        known.contains_key(key)
    }

    /// Until when something is put off.
    #[must_use]
    pub fn when(&self, key: &str) -> Option<Ms> {
        self.known().get(key).copied()
    }

    /// Something need not wait any more.
    pub fn done(&self, key: &str) {
        self.known().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_a_time() {
        let off = PutOff::default();
        off.until("a", Ms(10));
        assert!(off.is("a", Ms(9)) && !off.is("b", Ms(9)));
        assert_eq!(off.when("a"), Some(Ms(10)));
        assert!(!off.is("a", Ms(10)));
        off.until("a", Ms(20));
        off.done("a");
        assert!(!off.is("a", Ms(11)));
    }
}
