//! Whether the parts of a service can work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The parts of a service and what is the matter with them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<Mutex<BTreeMap<&'static str, Option<&'static str>>>>);

impl Ready {
    /// A part can work.
    pub fn works(&self, part: &'static str) {
        self.set(part, None);
    }

    /// A part cannot work. `why` is read by everybody who may ask.
    pub fn fails(&self, part: &'static str, why: &'static str) {
        self.set(part, Some(why));
    }

    /// The parts that were spoken of, each with why it cannot work.
    #[must_use]
    pub fn parts(&self) -> BTreeMap<&'static str, Option<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, part: &'static str, why: Option<&'static str>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(part, why);
    }
}
