//! The sentences under the verdict: what happened, in which numbers, and what to do.

use domain::view::{Judgement, Treatment};
use serde_json::json;

use crate::needed::{self, Promise};
use crate::numbers;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::teller::Teller;

type Said = Result<String, RenderError>;

impl Teller<'_> {
    /// What happened and what to do, of every treatment that is judged; the headline's first.
    pub(crate) fn sentences(&self) -> Result<Vec<String>, RenderError> {
        let mut out = Vec::new();
        if let Some(decision) = &self.view.decision {
            let key = match decision.what {
                domain::view::Decided::Accepted => "decision.accepted",
                domain::view::Decided::Skipped => "decision.skipped",
            };
            let at = decision.at.as_ref().map(|at| self.dialect.prose(at, 40)).unwrap_or_default();
            out.push(self.words.say(
                key,
                &json!({ "by": self.dialect.code(&decision.by, 40), "why": self.dialect.prose(&decision.why, 300), "at": at }),
            )?);
        }
        out.extend(self.state_sentence()?);
        let Some((treatment, judgement)) = self.view.head().and_then(|t| Some((t, t.judgement.as_ref()?))) else {
            return Ok(out);
        };
        if let Some(numbers) = self.numbers(treatment)? {
            out.push(numbers);
        }
        if self.view.state.is_decided() {
            out.push(self.what_and_next(judgement)?);
        }
        Ok(out)
    }

    /// CPU, then elapsed, then memory.
    fn numbers(&self, treatment: &Treatment) -> Result<Option<String>, RenderError> {
        let Some(row) = self.total_of(treatment).filter(|row| row.cpu.known || row.elapsed.known) else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        if row.cpu.known {
            parts.push(self.words.say("numbers.cpu", &json!({ "figure": row.cpu.full() }))?);
        }
        if row.elapsed.known {
            let values = json!({ "figure": row.elapsed.full(), "rounds": self.elapsed_rounds(row)? });
            parts.push(self.words.say("numbers.elapsed", &values)?);
        }
        if let Some(memory) = numbers::memory(row.cells.mem_peak) {
            parts.push(self.words.say("numbers.memory", &json!({ "memory": memory }))?);
        }
        let mut text = parts.join("; ");
        if row.cpu.screened || row.elapsed.screened {
            text = self.words.say("numbers.not_judged", &json!({ "numbers": text }))?;
        }
        if self.view.treatments.len() > 1 {
            text = format!("{}: {text}", self.name(&treatment.name));
        }
        Ok(Some(format!("{text}.")))
    }

    /// `one comparison` or `3 interleaved rounds`.
    pub(crate) fn elapsed_rounds(&self, row: &Row<'_>) -> Said {
        let cell = &row.cells.elapsed;
        if !self.view.settings.paired {
            let values = json!({ "control": cell.n_control, "treatment": cell.n_treatment });
            return self.words.say("rounds.unpaired", &values);
        }
        match cell.n_treatment {
            0 | 1 => self.words.get("rounds.one"),
            n => self.words.say("rounds.interleaved", &json!({ "n": n })),
        }
    }

    /// The sentence of the reason and its next step.
    pub(crate) fn what_and_next(&self, judgement: &Judgement) -> Said {
        let code = judgement.reason.code();
        let what = self.words.get(&format!("reason.{code}.what"))?;
        let values = json!({ "repeat": self.repeat(judgement)?, "suite": self.view.suite });
        let next = self.words.say(&format!("reason.{code}.next"), &values)?;
        let what = if judgement.decided { format!("{what} {}", self.words.get("verdict.carried_over")?) } else { what };
        let label = self.dialect.strong(&self.words.get("sentence.to_do")?);
        Ok(format!("{what} {label} {next}"))
    }

    /// The command to repeat with, and what it promises.
    fn repeat(&self, judgement: &Judgement) -> Said {
        let done = self.rounds_done();
        let suite = &self.view.suite;
        let more = |n: u64| self.dialect.code(&format!("/ab-test {suite} rounds=+{n}"), 80).replace('\u{200B}', "");
        let say = |key: &str, rounds: u64| {
            let command = more(rounds.saturating_sub(done).max(1));
            self.words.say(key, &json!({ "command": command, "rounds": rounds }))
        };
        match needed::rounds(judgement, &self.view.settings, done) {
            Promise::Rounds(rounds) => say("repeat.rounds", rounds),
            Promise::AtLeast(rounds) => say("repeat.at_least", rounds),
            Promise::TooMany => self.words.get("repeat.too_many"),
            Promise::Unknown => self.words.say("repeat.unknown", &json!({ "command": more(done.clamp(1, 3)) })),
        }
    }

    fn rounds_done(&self) -> u64 {
        let judged = self.rows.iter().map(|row| row.cells.cpu.n_treatment as u64).max().unwrap_or(0);
        self.view.rounds.done.max(judged)
    }
}
