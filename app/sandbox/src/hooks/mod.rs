//! Deliveries to the webhook: what they say, and the log of them.

pub(crate) mod send;

use serde_json::{Value, json};

use crate::faults::Journey;
use crate::model::Delivery;
use crate::state::State;

/// The events that the app has subscribed to, unless it was told otherwise.
pub(crate) const EVENTS: [&str; 4] = ["check_run", "issue_comment", "pull_request", "repository"];

/// What a delivery is about.
pub(crate) enum About {
    /// A repository: the installation that reaches it is told.
    Repository(u64),
    /// An installation.
    Installation(u64),
    /// The app.
    App,
}

impl State {
    /// Makes a delivery of an event, where the app is to be told of it.
    pub(crate) fn raise(&mut self, event: &str, action: Option<&str>, about: &About, sender: &str, mut payload: Value) {
        if EVENTS.contains(&event) && !self.app.events.iter().any(|known| known == event) {
            return;
        }
        let (repository, installation) = match about {
            About::Repository(repo) => match self.installed(*repo) {
                Some(installation) if installation.suspended_ms.is_none() => (Some(*repo), Some(installation.id)),
                _ => return,
            },
            About::Installation(id) => (None, Some(*id)),
            About::App => (None, None),
        };
        if let Some(action) = action {
            payload["action"] = action.into();
        }
        if let Some(repo) = repository.and_then(|id| self.repos.get(&id)) {
            payload["repository"] = self.repo_json(repo);
        }
        if let (Some(id), true) = (installation, payload["installation"].is_null()) {
            payload["installation"] = json!({ "id": id, "node_id": format!("I_{id}") });
        }
        if !sender.is_empty() {
            payload["sender"] = self.user_json(sender);
        }
        let delivery = Delivery {
            id: self.id(),
            guid: self.dice.guid(),
            event: event.to_owned(),
            action: action.map(str::to_owned),
            installation,
            repository,
            redelivery: false,
            payload,
            headers: [].into(),
            status: None,
            status_code: 0,
            answer: String::new(),
            duration: 0.0,
            delivered_ms: self.now(),
        };
        self.enqueue(delivery);
    }

    /// Makes a delivery again. `false` where there was none.
    pub(crate) fn redeliver(&mut self, id: u64) -> bool {
        let Some(mut delivery) = self.deliveries.get(&id).cloned() else { return false };
        delivery.id = self.id();
        delivery.redelivery = true;
        delivery.status = None;
        delivery.status_code = 0;
        delivery.answer.clear();
        delivery.delivered_ms = self.now();
        self.enqueue(delivery);
        true
    }

    fn enqueue(&mut self, mut delivery: Delivery) {
        if self.app.webhook.is_none() {
            delivery.status = Some("no webhook is set".to_owned());
        } else if self.outgoing.try_send(delivery.id).is_ok() {
            self.pending.send_modify(|pending| *pending += 1);
        } else {
            delivery.status = Some("too many deliveries wait".to_owned());
        }
        self.deliveries.insert(delivery.id, delivery);
    }

    /// What happens to a delivery on its way.
    pub(crate) fn journey(&mut self) -> Journey {
        let faults = self.faults;
        faults.journey(&mut self.dice)
    }

    /// Tells the webhook that it is one.
    pub(crate) fn ping(&mut self) {
        let hook = json!({
            "type": "App",
            "id": self.app.id,
            "name": "web",
            "active": true,
            "events": self.app.events,
            "config": { "content_type": "json", "url": self.app.webhook, "insecure_ssl": "0", "secret": "********" },
            "updated_at": crate::stamp::written(self.now()),
            "created_at": crate::stamp::written(self.now()),
            "app_id": self.app.id,
            "deliveries_url": format!("{}/app/hook/deliveries", self.api()),
        });
        let payload = json!({ "zen": "Measure twice, cut once.", "hook_id": self.app.id, "hook": hook });
        self.raise("ping", None, &About::App, "", payload);
    }
}
