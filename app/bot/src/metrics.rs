//! The numbers of a service, for whoever watches it.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Events that are counted by name. Another one is `other`: names come from outside, and each makes a series.
pub(crate) const EVENTS: [&str; 10] = [
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "ping",
    "pull_request",
    "push",
    "repository",
    "issues",
];

/// Upper bounds of the times of answers, seconds.
const ACK: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 8.0];

/// How a delivery was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Outcome {
    /// Stored.
    Stored,
    /// Known already.
    Known,
    /// Of another app.
    NotOurs,
    /// Larger than allowed.
    TooLarge,
    /// Not said to be JSON.
    NotJson,
    /// Signature missing or wrong.
    Unsigned,
    /// Headers, payload or transfer were not as they must be.
    Malformed,
    /// It could not be stored.
    NotStored,
}

/// What became of a call of the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Called {
    /// It was answered.
    Done,
    /// It failed on their side, or was not answered.
    Unavailable,
    /// It was refused because there were too many.
    Limited,
    /// It was refused for good.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    event: &'static str,
    outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    call: &'static str,
    result: Called,
}

/// The numbers. What others set is public; all of them are written by [`Metrics::text`].
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    deliveries: Family<DeliveryLabels, Counter>,
    ack: Histogram,
    calls: Family<CallLabels, Counter>,
    /// Deliveries that are stored and not handled.
    pub open_deliveries: Gauge,
    /// Runs that go on.
    pub runs_active: Gauge,
    /// Runs that ended since the start.
    pub runs_ended: Counter,
    /// Things that are to be said and are not said yet.
    pub outbox_open: Gauge,
    /// Things that were said since the start.
    pub said: Counter,
    /// Calls of the forge that are left in this hour, as it last said.
    pub forge_left: Gauge,
    /// When the forge allows as many as ever again, seconds since 1970, as it last said.
    pub forge_reset: Gauge<f64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("zephyr_ab");
        let deliveries = Family::<DeliveryLabels, Counter>::default();
        registry.register("deliveries", "Deliveries by event and by how they were answered", deliveries.clone());
        let ack = Histogram::new(ACK);
        registry.register("ack_seconds", "Time from the head of a delivery to its answer", ack.clone());
        let calls = Family::<CallLabels, Counter>::default();
        registry.register("forge_calls", "Calls of the forge by kind and by what became of them", calls.clone());
        let open_deliveries = Gauge::default();
        registry.register("open_deliveries", "Deliveries stored and not handled", open_deliveries.clone());
        let runs_active = Gauge::default();
        registry.register("runs_active", "Runs that go on", runs_active.clone());
        let runs_ended = Counter::default();
        registry.register("runs_ended", "Runs that ended", runs_ended.clone());
        let outbox_open = Gauge::default();
        registry.register("outbox_open", "Things to be said and not said yet", outbox_open.clone());
        let said = Counter::default();
        registry.register("said", "Things that were said", said.clone());
        let forge_left = Gauge::default();
        registry.register("forge_calls_left", "Calls of the forge left, as it last said", forge_left.clone());
        let forge_reset = Gauge::default();
        let help = "When the forge allows all its calls again, as it last said";
        registry.register("forge_reset_timestamp_seconds", help, forge_reset.clone());
        Self {
            registry,
            deliveries,
            ack,
            calls,
            open_deliveries,
            runs_active,
            runs_ended,
            outbox_open,
            said,
            forge_left,
            forge_reset,
        }
    }

    /// A delivery was answered. `event` where whoever named it may be believed.
    pub fn delivery(&self, event: Option<&str>, outcome: Outcome, took: Duration) {
        let event = event
            .map_or("unverified", |event| EVENTS.iter().find(|known| **known == event).copied().unwrap_or("other"));
        self.deliveries.get_or_create(&DeliveryLabels { event, outcome }).inc();
        self.ack.observe(took.as_secs_f64());
    }

    /// The forge was called: which call, in a word, and what became of it.
    pub fn called(&self, call: &'static str, result: Called) {
        self.calls.get_or_create(&CallLabels { call, result }).inc();
    }

    /// The numbers as `OpenMetrics`.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_written_and_names_from_outside_are_not() {
        let metrics = Metrics::new();
        metrics.delivery(Some("issue_comment"), Outcome::Stored, Duration::from_millis(3));
        metrics.delivery(Some("star"), Outcome::Stored, Duration::from_millis(3));
        metrics.delivery(None, Outcome::Unsigned, Duration::from_millis(300));
        metrics.called("comment", Called::Limited);
        metrics.open_deliveries.set(4);
        metrics.forge_reset.set(1.5);
        let text = metrics.text().unwrap();
        for line in [
            "zephyr_ab_deliveries_total{event=\"issue_comment\",outcome=\"Stored\"} 1",
            "zephyr_ab_deliveries_total{event=\"other\",outcome=\"Stored\"} 1",
            "zephyr_ab_deliveries_total{event=\"unverified\",outcome=\"Unsigned\"} 1",
            "zephyr_ab_ack_seconds_bucket{le=\"0.005\"} 2",
            "zephyr_ab_ack_seconds_count 3",
            "zephyr_ab_forge_calls_total{call=\"comment\",result=\"Limited\"} 1",
            "zephyr_ab_open_deliveries 4",
            "zephyr_ab_runs_active 0",
            "zephyr_ab_outbox_open 0",
            "zephyr_ab_forge_reset_timestamp_seconds 1.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n") && !text.contains("star"));
    }
}
