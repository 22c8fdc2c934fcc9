//! The app, its installations, and deliveries.

use serde_json::{Value, json};

use super::time;
use crate::model::{Delivery, Installation, Kind};
use crate::stamp::written;
use crate::state::State;

impl State {
    /// The app as its own description.
    pub(crate) fn app_json(&self) -> Value {
        let mut app = self.short_app_json(self.app.id, &self.app.slug);
        app["installations_count"] = self.installations.len().into();
        app
    }

    /// An app as checks and comments name it.
    pub(crate) fn short_app_json(&self, id: u64, slug: &str) -> Value {
        let made = written(self.app.created_ms);
        json!({
            "id": id,
            "slug": slug,
            "client_id": format!("Iv23{id}"),
            "node_id": format!("A_{id}"),
            "owner": self.user_json(self.owner()),
            "name": slug,
            "description": "",
            "external_url": format!("{}/apps/{slug}", self.web),
            "html_url": format!("{}/apps/{slug}", self.web),
            "created_at": made,
            "updated_at": made,
            "permissions": self.app.permissions,
            "events": self.app.events,
        })
    }

    /// The account that stands as the owner of the app: the first installation's, or the app's own.
    fn owner(&self) -> &str {
        let first = self.installations.values().next().map(|installation| installation.account.as_str());
        first.or_else(|| self.users.keys().next().map(String::as_str)).unwrap_or_default()
    }

    /// An installation.
    pub(crate) fn installation_json(&self, installation: &Installation) -> Value {
        let account = self.users.get(&installation.account);
        let (target, kind) = account.map_or((0, Kind::User), |user| (user.id, user.kind));
        let id = installation.id;
        json!({
            "id": id,
            "client_id": format!("Iv23{}", self.app.id),
            "account": self.user_json(&installation.account),
            "repository_selection": "selected",
            "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", self.api()),
            "repositories_url": format!("{}/installation/repositories", self.api()),
            "html_url": format!("{}/settings/installations/{id}", self.web),
            "app_id": self.app.id,
            "app_slug": self.app.slug,
            "target_id": target,
            "target_type": kind.word(),
            "permissions": installation.permissions,
            "events": self.app.events,
            "created_at": written(installation.created_ms),
            "updated_at": written(installation.created_ms),
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": installation.suspended_ms.map(|_| self.user_json(&installation.account)),
            "suspended_at": time(installation.suspended_ms),
        })
    }

    /// A line of the log of deliveries.
    pub(crate) fn delivery_line_json(delivery: &Delivery) -> Value {
        json!({
            "id": delivery.id,
            "guid": delivery.guid,
            "delivered_at": written(delivery.delivered_ms),
            "redelivery": delivery.redelivery,
            "duration": delivery.duration,
            "status": delivery.status.as_deref().unwrap_or("pending"),
            "status_code": delivery.status_code,
            "event": delivery.event,
            "action": delivery.action,
            "installation_id": delivery.installation,
            "repository_id": delivery.repository,
            "throttled_at": null,
        })
    }

    /// A delivery with what was sent and answered.
    pub(crate) fn delivery_json(&self, delivery: &Delivery) -> Value {
        let mut full = Self::delivery_line_json(delivery);
        full["url"] = self.app.webhook.clone().unwrap_or_default().into();
        full["request"] = json!({ "headers": delivery.headers, "payload": delivery.payload });
        full["response"] = json!({ "headers": {}, "payload": delivery.answer });
        full
    }
}
