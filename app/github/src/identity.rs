//! Who we are there, and where.

use std::collections::BTreeMap;

use domain::ports::forge::ForgeError;

use crate::asking::{Hub, plain};
use crate::objects::Installed;
use crate::verdict;

/// An installation of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Its number.
    pub id: u64,
    /// Whose it is; `None` where that account is gone.
    pub account: Option<String>,
    /// Whether it was suspended.
    pub suspended: bool,
    /// What it was granted: `issues` → `write`.
    pub permissions: BTreeMap<String, String>,
}

/// The slug, once it is known.
#[derive(Default)]
pub(crate) struct Slug(tokio::sync::OnceCell<String>);

impl Hub {
    pub(crate) async fn installations(&self) -> Result<Vec<Installation>, ForgeError> {
        let mut all = Vec::new();
        self.app_pages("/app/installations?per_page=100", |reply| {
            let page = plain(reply).ok_or_else(|| verdict::unreadable(reply))?;
            for item in page {
                let Ok(Installed { id: Some(id), account, suspended_at, permissions }) = serde_json::from_value(item)
                else {
                    continue;
                };
                let account = account.and_then(|account| account.login);
                let suspended = suspended_at.is_some();
                all.push(Installation { id, account, suspended, permissions: granted(permissions) });
            }
            Ok(true)
        })
        .await?;
        Ok(all)
    }

    /// The name that our comments are by.
    pub(crate) async fn bot(&self) -> Result<String, ForgeError> {
        let slug = self.slug.0.get_or_try_init(|| async { self.app_now().await.map(|(_, slug, _)| slug) }).await?;
        Ok(format!("{slug}[bot]"))
    }
}

pub(crate) fn granted(permissions: Option<BTreeMap<String, Option<String>>>) -> BTreeMap<String, String> {
    permissions.unwrap_or_default().into_iter().filter_map(|(name, level)| Some((name, level?))).collect()
}
