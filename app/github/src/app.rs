//! What the app is, for those who look whether everything is in order.

use std::collections::BTreeMap;

use domain::ports::forge::ForgeError;

use crate::asking::Hub;
use crate::identity::granted;
use crate::objects::{App, HookConfig};
use crate::verdict;
use crate::wire::Reply;

/// The app as GitHub knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppFacts {
    /// Its number.
    pub id: u64,
    /// Its name in addresses; its comments are by `<slug>[bot]`.
    pub slug: String,
    /// What it is called.
    pub name: String,
    /// What it asks for: `issues` → `write`.
    pub permissions: BTreeMap<String, String>,
    /// What it is told of.
    pub events: Vec<String>,
    /// How many accounts it is installed at.
    pub installations: u64,
    /// GitHub's clock less ours when it answered, milliseconds; half a second and the way of the answer are not known.
    /// `None` where it told no time.
    pub clock_offset_ms: Option<i64>,
}

/// Where the deliveries of the app go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFacts {
    /// The address; `None` where none is set.
    pub url: Option<String>,
    /// Whether they are sent as JSON, which is what is read here.
    pub json: bool,
    /// Whether they are signed.
    pub signed: bool,
    /// Whether the certificate of the address is not looked at.
    pub insecure: bool,
}

impl Hub {
    pub(crate) async fn app(&self) -> Result<AppFacts, ForgeError> {
        let (reply, slug, app) = self.app_now().await?;
        let clock_offset_ms = reply.date().map(|second| offset(second, self.clock.now_ms()));
        let installations = match app.installations_count {
            Some(count) => count,
            None => u64::try_from(self.installations().await?.len()).unwrap_or(u64::MAX),
        };
        Ok(AppFacts {
            id: app.id.ok_or_else(|| verdict::unreadable(&reply))?,
            name: app.name.unwrap_or_else(|| slug.clone()),
            slug,
            permissions: granted(app.permissions),
            events: app.events.unwrap_or_default(),
            installations,
            clock_offset_ms,
        })
    }

    /// The app, its slug, and how that was said.
    pub(crate) async fn app_now(&self) -> Result<(Reply, String, App), ForgeError> {
        let reply = self.ask_app("/app").await?;
        let mut app: App = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let slug = app.slug.take().ok_or_else(|| verdict::unreadable(&reply))?;
        Ok((reply, slug, app))
    }

    pub(crate) async fn hook(&self) -> Result<HookFacts, ForgeError> {
        let reply = self.ask_app("/app/hook/config").await?;
        let config: HookConfig = reply.json().ok_or_else(|| verdict::unreadable(&reply))?;
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(HookFacts {
            url: filled(config.url),
            json: config.content_type.as_deref() == Some("json"),
            signed: filled(config.secret).is_some(),
            insecure: config.insecure_ssl.is_some_and(|word| word == "1" || word == 1),
        })
    }
}

/// The clock that said this second, cut off as such times are, less ours.
fn offset(second: u64, ours: u64) -> i64 {
    let theirs = second.saturating_mul(1000).saturating_add(500);
    i64::try_from(i128::from(theirs) - i128::from(ours)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets() {
        for (second, ours, ms) in [(10, 10_500, 0), (10, 10_000, 500), (10, 70_000, -59_500), (70, 10_000, 60_500)] {
            assert_eq!(offset(second, ours), ms, "{second} {ours}");
        }
        assert_eq!(offset(u64::MAX, 0), i64::MAX);
    }
}
