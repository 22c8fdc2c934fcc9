//! The app and its hook as GitHub has them.

use std::collections::BTreeMap;

use domain::ports::forge::ForgeError;

use crate::asking::Hub;
use crate::forge::GitHub;
use crate::objects::{App, HookConfig};
use crate::verdict;

/// The app as GitHub has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppFacts {
    /// Its number.
    pub id: u64,
    /// Its name in addresses.
    pub slug: String,
    /// What it asks for: `issues` → `write`.
    pub permissions: BTreeMap<String, String>,
    /// What it is told of.
    pub events: Vec<String>,
    /// GitHub's clock less ours, in milliseconds, to the second; `None` where it did not say.
    pub clock_offset_ms: Option<i64>,
}

/// Where deliveries go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The address; `None` where there is none.
    pub url: Option<String>,
    /// `json` or `form`.
    pub content_type: Option<String>,
    /// Whether certificates are not checked.
    pub insecure: bool,
    /// Whether deliveries are signed.
    pub has_secret: bool,
}

impl GitHub {
    /// The app as GitHub has it.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn app(&self) -> Result<AppFacts, ForgeError> {
        self.hub().app().await
    }

    /// Where deliveries go.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn hook(&self) -> Result<Hook, ForgeError> {
        self.hub().hook().await
    }
}

impl Hub {
    pub(crate) async fn app(&self) -> Result<AppFacts, ForgeError> {
        let reply = self.ask_app("/app").await?;
        // Read after the answer: what it took counts as the answer's age.
        let now = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        let clock_offset_ms = reply.date().map(|second| {
            let theirs = i64::try_from(second.saturating_mul(1000)).unwrap_or(i64::MAX);
            theirs.saturating_sub(now / 1000 * 1000)
        });
        let app: App = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let (Some(id), Some(slug)) = (app.id, app.slug) else { return Err(verdict::unreadable(&reply)) };
        let granted = app.permissions.unwrap_or_default();
        Ok(AppFacts {
            id,
            slug,
            permissions: granted.into_iter().filter_map(|(name, level)| Some((name, level?))).collect(),
            events: app.events.unwrap_or_default(),
            clock_offset_ms,
        })
    }

    pub(crate) async fn hook(&self) -> Result<Hook, ForgeError> {
        let reply = self.ask_app("/app/hook/config").await?;
        let config: HookConfig = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        // A number in some versions.
        let insecure = config.insecure_ssl.is_some_and(|value| value == "1" || value == 1);
        Ok(Hook {
            url: config.url.filter(|url| !url.is_empty()),
            content_type: config.content_type,
            insecure,
            has_secret: config.secret.is_some_and(|secret| !secret.is_empty()),
        })
    }
}
