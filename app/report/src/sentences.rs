//! The sentences under the verdict: what happened, in which numbers, and what to do.

use domain::view::{Judgement, Reason, Surface, Treatment, Verdict};
use serde_json::json;

use crate::needed::{self, Promise, Rule};
use crate::numbers;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::spans::spans;
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
        let remarks =
            self.view.remarks.iter().take(self.limits.list).map(|r| spans(r, self.dialect, self.limits, false));
        // How far it is comes first where it goes on, the verdict where there is one.
        if self.view.state.is_decided() {
            out.extend(self.judged_sentences()?);
            out.extend(remarks);
        } else {
            out.extend(remarks);
            out.extend(self.judged_sentences()?);
        }
        Ok(out)
    }

    /// The numbers of the headline, and what follows from them where that is decided.
    fn judged_sentences(&self) -> Result<Vec<String>, RenderError> {
        let mut out = Vec::new();
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
        let key = |part: &str| format!("reason.{code}.{part}");
        // Of a treatment that never ran nothing can be said.
        let alone = judgement.reason == Reason::ControlFailed && self.never_started();
        let what = self.words.get(&key(if alone { "what_alone" } else { "what" }))?;
        let values = json!({ "repeat": self.repeat(judgement)?, "suite": self.view.suite });
        let mut next = self.here(&key(if alone { "next_alone" } else { "next" }), &values)?;
        if self.view.treatments.iter().any(|treatment| self.outputs_differ(treatment)) {
            // "Nothing to do" would be wrong beside outputs that differ.
            let differ = self.words.get("next.outputs_differ")?;
            next = if judgement.verdict == Verdict::Pass { differ } else { format!("{next} {differ}") };
        }
        let what = match self.troubles()? {
            Some(troubles) if by_trouble(judgement.reason) => format!("{what} {troubles}"),
            _ => what,
        };
        let what = if judgement.decided { format!("{what} {}", self.words.get("verdict.carried_over")?) } else { what };
        let label = self.dialect.strong(&self.words.get("sentence.to_do")?);
        Ok(format!("{what} {label} {next}"))
    }

    fn never_started(&self) -> bool {
        !self.view.treatments.is_empty() && self.view.treatments.iter().all(|t| t.started == Some(false))
    }

    /// What went wrong, in which arm, and the last line that was printed.
    pub(crate) fn troubles(&self) -> Result<Option<String>, RenderError> {
        let all = &self.view.troubles;
        let most = self.limits.list.min(3);
        let mut texts = Vec::new();
        for trouble in all.iter().take(most) {
            let said = match trouble.said.last() {
                Some(line) => {
                    let line = self.dialect.code(line.trim(), 200);
                    format!("; {}", self.words.say("trouble.said", &json!({ "line": line }))?)
                }
                None => String::new(),
            };
            let times = match trouble.times {
                0 | 1 => String::new(),
                n => format!(" ({})", self.words.say("trouble.times", &json!({ "n": n }))?),
            };
            let values = json!({
                "arm": self.name(&trouble.arm),
                "what": self.dialect.prose(&trouble.what, 240),
                "times": times,
                "said": said,
            });
            texts.push(self.words.say("trouble.one", &values)?);
        }
        if all.len() > most {
            texts.push(self.words.say("trouble.more", &json!({ "n": all.len() - most }))?);
        }
        Ok(if texts.is_empty() { None } else { Some(texts.join(" ")) })
    }

    /// The command to repeat with, and what it promises.
    fn repeat(&self, judgement: &Judgement) -> Said {
        let done = needed::done(self.view);
        let suite = &self.view.suite;
        let command = |n: u64| match self.view.surface {
            Surface::Comment => format!("/ab-test {suite} rounds=+{n}"),
            Surface::CommandLine => {
                format!("zephyr-ab run ... rounds=+{n} --continue <the folder of this evidence>")
            }
            Surface::Jobs => format!("zephyr-ab compare ... with {n} more of each arm's jobs"),
            Surface::CommentJobs => format!("/ab-test {suite} compare ... with {n} more of each arm's jobs"),
        };
        let more = |n: u64| self.dialect.code(&command(n), 80).replace('\u{200B}', "");
        let say = |key: &str, rounds: u64| {
            let command = more(rounds.saturating_sub(done).max(1));
            self.words.say(key, &json!({ "command": command, "rounds": rounds }))
        };
        match Rule::new(judgement, &self.view.settings, done).all() {
            Promise::Rounds(rounds) => say("repeat.rounds", rounds),
            Promise::AtLeast(rounds) => say("repeat.at_least", rounds),
            Promise::TooMany => self.words.get("repeat.too_many"),
            Promise::Unknown => self.words.say("repeat.unknown", &json!({ "command": more(done.clamp(1, 3)) })),
        }
    }
}

/// Whether a verdict follows from how steps ended.
fn by_trouble(reason: Reason) -> bool {
    use Reason::{
        AppFailureBothArms, Capacity, ChurnLimit, ChurnOneSided, ControlFailed, FailedStage, InfraChurn, NewAppFailure,
        NewAppFailureUnconfirmed, NewOom, NewOomUnconfirmed, NoData, OomBothArms, RowsMissing, TimeLimit,
    };
    matches!(
        reason,
        AppFailureBothArms
            | Capacity
            | ChurnLimit
            | ChurnOneSided
            | ControlFailed
            | FailedStage
            | InfraChurn
            | NewAppFailure
            | NewAppFailureUnconfirmed
            | NewOom
            | NewOomUnconfirmed
            | NoData
            | OomBothArms
            | RowsMissing
            | TimeLimit
    )
}
