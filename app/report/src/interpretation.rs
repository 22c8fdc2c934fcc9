//! What the numbers mean.

use domain::scope::Class;
use domain::view::{Judgement, Metric, Reason, Side, Treatment, Verdict};
use serde_json::json;

use crate::figures::{Claim, Figure};
use crate::renderer::RenderError;
use crate::teller::Teller;

type Said = Result<String, RenderError>;

impl Teller<'_> {
    /// What the numbers mean: compute cost, latency, and the exchange between them.
    pub(crate) fn interpretation(&self) -> Said {
        let Some((treatment, judgement)) = self.view.head().and_then(|t| Some((t, t.judgement.as_ref()?))) else {
            return self.words.get("interpretation.nothing_yet");
        };
        if !self.view.state.is_decided() {
            return self.words.get("interpretation.provisional");
        }
        if judgement.decided {
            return self.words.get("interpretation.decided");
        }
        if judgement.rows.is_none() {
            return self.words.get(match judgement.verdict {
                Verdict::Regression => "interpretation.guardrail",
                _ => "interpretation.no_result",
            });
        }
        let cpu = self.class(judgement, treatment, Metric::Cpu);
        let elapsed = self.class(judgement, treatment, Metric::Elapsed);
        // Work per core is only spoken of where the pool is the same and CPU time is what changed.
        let topology = self.is_topology(judgement);
        let scale = if topology || cpu == "flat" || cpu == "unknown" { "cost" } else { "efficiency" };
        let mut parts =
            vec![self.words.get(&format!("{scale}.{cpu}"))?, self.words.get(&format!("latency.{elapsed}"))?];
        parts.extend(self.exchange(judgement, cpu, elapsed)?);
        if topology {
            let key = if judgement.topology { "interpretation.topology" } else { "interpretation.topology_code" };
            parts.push(self.words.get(key)?);
        }
        let within = self.claims(treatment, Claim::Within);
        if judgement.verdict == Verdict::Pass && !within.is_empty() {
            let mut rows = Vec::new();
            for (row, metric) in within {
                rows.push(format!("{} {}", self.row_name(row), self.words.get(&format!("metric.{}", metric.key()))?));
            }
            parts.push(self.words.say("interpretation.within", &json!({ "rows": self.few(rows, 3)? }))?);
        }
        Ok(parts.join(" "))
    }

    /// Whether the arms differ in what runs where and how much at once: by what a treatment declares, or because the
    /// change itself is of that kind. Then more or less work per core is nothing that the numbers could say.
    fn is_topology(&self, judgement: &Judgement) -> bool {
        judgement.topology || self.view.scope.as_ref().is_some_and(|scope| scope.has(Class::Topology))
    }

    fn exchange(&self, judgement: &Judgement, cpu: &str, elapsed: &str) -> Result<Option<String>, RenderError> {
        let topology = self.is_topology(judgement);
        let key = match (judgement.reason, cpu, elapsed) {
            (Reason::CpuVsElapsed, "lower", _) => "exchange.cheaper_slower",
            (Reason::CpuVsElapsed, ..) => "exchange.faster_dearer",
            (Reason::StageTradeoff, ..) => "exchange.stages",
            (_, "flat", "lower") if judgement.verdict == Verdict::Pass && topology => "exchange.topology_win",
            (_, "lower", "lower") if judgement.verdict == Verdict::Pass && topology => "exchange.topology_win_less",
            (_, "flat", "lower") if judgement.verdict == Verdict::Pass => "exchange.latency_win",
            (_, "beyond" | "open", "suspect_lower") => "exchange.maybe",
            _ => return Ok(None),
        };
        self.words.get(key).map(Some)
    }

    /// What is known of a metric over all rows of a treatment.
    fn class(&self, judgement: &Judgement, treatment: &Treatment, metric: Metric) -> &'static str {
        let Some(stats) = judgement.stages[metric].as_ref().filter(|rows| !rows.0.is_empty()) else {
            return "unjudged";
        };
        let figures: Vec<&Figure> = self.rows_of(treatment).map(|row| row.figure(metric)).collect();
        let has = |claim| figures.iter().any(|figure| figure.claim == claim);
        let (beyond, lower) = (has(Claim::Beyond), has(Claim::Lower));
        if beyond && lower {
            return "mixed";
        }
        if beyond {
            return "beyond";
        }
        if has(Claim::Open) {
            return "open";
        }
        if lower {
            return "lower";
        }
        if has(Claim::Within) {
            return "within";
        }
        let suspects = |side| stats.iter().any(|(_, row)| row.suspect == Some(side));
        if suspects(Side::Higher) {
            return "suspect_higher";
        }
        if suspects(Side::Lower) {
            return "suspect_lower";
        }
        if metric == Metric::Elapsed && figures.iter().all(|figure| figure.n == "0" || figure.n == "1") {
            return "once";
        }
        if stats.iter().all(|(_, row)| row.fits()) { "flat" } else { "unknown" }
    }
}
