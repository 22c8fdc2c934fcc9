//! The heading and the verdict word.

use domain::view::{Ending, Judgement, Metric, Note, Reason, State, Treatment, Verdict};
use serde_json::json;

use crate::figures::Claim;
use crate::numbers;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::teller::Teller;

/// The share of the CPU time up to which rows that do not count their work are only noted.
const UNCOUNTED: f64 = 0.1;

type Said = Result<String, RenderError>;

impl Teller<'_> {
    /// The word that stands alone after `Verdict:`.
    pub(crate) fn verdict(&self) -> Said {
        match (&self.view.state, self.judged()) {
            (state, Some(judgement)) if state.is_decided() => Ok(judgement.verdict.word().to_owned()),
            (State::Ended { .. }, _) => self.words.get("verdict.none"),
            _ => self.words.get("verdict.none_yet"),
        }
    }

    /// The heading behind the title: `✅ pass · CPU −1.2 %`. Without the sign where `signed` is false.
    pub(crate) fn heading(&self, signed: bool) -> Said {
        let (sign, text) = self.heading_parts()?;
        let mut out = if signed { format!("{sign} {text}") } else { text };
        let skipped = matches!(self.view.state, State::Ended { how: Ending::Skipped, .. });
        let decided = self.view.decision.as_ref().map(|decision| match decision.what {
            domain::view::Decided::Accepted => "heading.accepted",
            domain::view::Decided::Skipped => "heading.skipped",
        });
        let stale = matches!(self.view.state, State::Stale { .. }).then_some("heading.stale");
        // A run that was skipped says so already.
        for key in decided.filter(|key| !(skipped && *key == "heading.skipped")).into_iter().chain(stale) {
            out = format!("{out} · {}", self.words.get(key)?);
        }
        Ok(out)
    }

    fn heading_parts(&self) -> Result<(&'static str, String), RenderError> {
        let waiting = |key: &str| Ok(("⏳", self.words.get(key)?));
        match &self.view.state {
            State::Queued { .. } => waiting("heading.queued"),
            State::Planning => waiting("heading.planning"),
            State::AwaitingChecks { .. } => waiting("heading.checks"),
            State::AwaitingConfirmation { skip, .. } if !skip.is_empty() => {
                Ok(("⏸️", self.words.get("heading.skip_proposed")?))
            }
            State::AwaitingConfirmation { .. } => Ok(("⏸️", self.words.get("heading.awaiting")?)),
            State::Measuring { round, of, .. } => {
                Ok(("⏳", self.words.say("heading.measuring", &json!({ "round": round, "of": of }))?))
            }
            State::Collecting { unavailable: None, .. } => waiting("heading.collecting"),
            State::Collecting { .. } => waiting("heading.unavailable"),
            State::Stopping { .. } => waiting("heading.stopping"),
            State::Ended { how, .. } => Ok((ending_sign(*how), self.words.get(&format!("ended.{}", how.key()))?)),
            State::Done | State::Stale { .. } => self.outcome_heading(),
        }
    }

    fn outcome_heading(&self) -> Result<(&'static str, String), RenderError> {
        let Some((treatment, judgement)) = self.view.head().and_then(|t| Some((t, t.judgement.as_ref()?))) else {
            return Ok(("❔", self.words.get("heading.not_judged")?));
        };
        let sign = match judgement.verdict {
            Verdict::Pass => "✅",
            Verdict::Regression => "⛔",
            Verdict::Tradeoff => "⚖️",
            Verdict::Inconclusive => "❔",
        };
        let mut text = format!("{} · {}", judgement.verdict.word(), self.in_short(treatment, judgement)?);
        if self.view.treatments.len() > 1 {
            text = format!("{text} · {}", self.dialect.code(&treatment.name, 32));
        }
        if self.uncounted(treatment, judgement) && judgement.reason != Reason::WorkNotCounted {
            text = format!("{text} · {}", self.words.get("heading.uncounted")?);
        }
        if self.outputs_differ(treatment) {
            text = format!("{text} · {}", self.words.get("heading.outputs_differ")?);
        }
        Ok((sign, text))
    }

    /// Whether a digest of what the treatment made is another one than the control's.
    pub(crate) fn outputs_differ(&self, treatment: &Treatment) -> bool {
        let control = &self.view.control.outputs;
        let other = |of: &domain::view::Output| control.iter().any(|c| c.name == of.name && c.digest != of.digest);
        treatment.outputs.iter().any(other)
    }

    /// A verdict in a few words.
    pub(crate) fn in_short(&self, treatment: &Treatment, judgement: &Judgement) -> Said {
        let short = || self.words.get(&format!("reason.{}.short", judgement.reason.code()));
        if judgement.decided {
            return short();
        }
        match judgement.reason {
            Reason::CpuHigher => self.worst(treatment, Verdict::Regression, &[Metric::Cpu]).map_or_else(short, Ok),
            Reason::WallHigherRepeated => {
                self.worst(treatment, Verdict::Regression, &[Metric::Elapsed]).map_or_else(short, Ok)
            }
            Reason::CpuVsElapsed => self.worst(treatment, Verdict::Tradeoff, &Metric::ALL).map_or_else(short, Ok),
            Reason::StageTradeoff => {
                let up = self.worst(treatment, Verdict::Regression, &[Metric::Cpu]);
                match (up, self.total_of(treatment)) {
                    (Some(up), Some(total)) => {
                        let values = json!({ "change": bare(total, &[Metric::Cpu]) });
                        Ok(format!("{up}, {}", self.words.say("numbers.total", &values)?))
                    }
                    _ => short(),
                }
            }
            Reason::WithinMargin => {
                let row = self.claims(treatment, Claim::Within).into_iter().next();
                match row {
                    Some((row, metric)) if !row.is_total() => {
                        let change = format!("{}{}", self.named(row), bare(row, &[metric]));
                        self.words.say(
                            "heading.within",
                            &json!({ "change": change, "tolerates": row.figure(metric).tolerates }),
                        )
                    }
                    Some((row, metric)) => self.words.say(
                        "heading.within",
                        &json!({ "change": bare(row, &[metric]), "tolerates": row.figure(metric).tolerates }),
                    ),
                    None => short(),
                }
            }
            _ if judgement.verdict == Verdict::Pass => match self.total_of(treatment) {
                Some(row) if row.cpu.known && row.elapsed.claim == Claim::Lower => Ok(bare(row, &Metric::ALL)),
                Some(row) if row.cpu.known => Ok(bare(row, &[Metric::Cpu])),
                _ => short(),
            },
            _ => short(),
        }
    }

    /// The row with `verdict` whose change by the first of `metrics` is the largest.
    fn worst(&self, treatment: &Treatment, verdict: Verdict, metrics: &[Metric]) -> Option<String> {
        let size = |row: &Row<'_>| metrics.first().map_or(0.0, |m| row.figure(*m).effect);
        let judged = || self.rows_of(treatment).filter(|row| row.verdict == Some(verdict));
        // A total that is a regression because of its rows says less than they do.
        let named = judged().filter(|row| !row.is_total()).max_by(|a, b| size(a).total_cmp(&size(b)));
        let row = named.or_else(|| judged().next())?;
        Some(format!("{}{}", self.named(row), bare(row, metrics)))
    }

    /// Whether rows that do not count their work hold so much of the CPU time that the verdict leans on them.
    fn uncounted(&self, treatment: &Treatment, judgement: &Judgement) -> bool {
        let uncounted = |row: &&Row<'_>| {
            let notes = judgement.notes.get(&format!("work:{}", row.name));
            !row.is_total() && notes.is_some_and(|notes| notes.contains(&Note::NotCounted))
        };
        self.rows_of(treatment).filter(uncounted).map(|row| row.share).sum::<f64>() > UNCOUNTED
    }

    /// The name of a row before its change; nothing for the total.
    fn named(&self, row: &Row<'_>) -> String {
        if row.is_total() {
            String::new()
        } else {
            format!("{} ", self.dialect.code(row.name, self.limits.name.min(40)))
        }
    }
}

/// `CPU +12.0 %, elapsed −35.0 %`, without intervals: they stand in the first sentence.
fn bare(row: &Row<'_>, metrics: &[Metric]) -> String {
    let parts: Vec<String> = metrics
        .iter()
        .filter(|m| row.figure(**m).known)
        .map(|m| {
            let label = match m {
                Metric::Cpu => "CPU",
                Metric::Elapsed => "elapsed",
            };
            format!("{label} {}", numbers::change(row.figure(*m).effect.exp()))
        })
        .collect();
    parts.join(", ")
}

fn ending_sign(how: Ending) -> &'static str {
    match how {
        Ending::Skipped => "⏭️",
        Ending::Failed | Ending::Refused | Ending::ChecksFailed => "⚠️",
        _ => "🚫",
    }
}
