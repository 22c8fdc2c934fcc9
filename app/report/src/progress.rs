//! How far a run has come, in a sentence.

use domain::view::{Decided, Ending, State};
use serde_json::{Value, json};

use crate::numbers;
use crate::renderer::RenderError;
use crate::teller::Teller;

type Said = Result<String, RenderError>;

impl Teller<'_> {
    /// How far the run has come and what happens next; nothing where it is judged.
    pub(crate) fn state_sentence(&self) -> Result<Option<String>, RenderError> {
        let prose = |text: &Option<String>, key: &str| -> Said {
            match text {
                Some(text) if key == "state.why" => {
                    self.clause(key, &json!({ "text": sentence_case(&self.reason(text)) }))
                }
                Some(text) => self.clause(key, &json!({ "text": self.reason(text) })),
                None => Ok(String::new()),
            }
        };
        let text = match &self.view.state {
            State::Queued { ahead: Some(ahead) } if *ahead > 0 => {
                self.words.say("state.queued_behind", &json!({ "runs": self.counted("others", *ahead)? }))?
            }
            State::Queued { .. } => self.words.get("state.queued")?,
            State::Planning => self.words.get("state.planning")?,
            State::AwaitingConfirmation { why, plan, cpu_hours, until, skip } => {
                let cost = match cpu_hours {
                    Some(hours) => self.clause("state.cost", &json!({ "time": numbers::seconds(hours * 3600.0) }))?,
                    None => String::new(),
                };
                let plan = plan.as_ref().map(|p| format!(" {}", crate::escape::line(p, 24))).unwrap_or_default();
                let command = |rest: &str| {
                    let line = format!("/ab-test {} {rest}", self.view.suite);
                    self.dialect.code(&line, 100).replace('\u{200B}', "")
                };
                let key = if skip.is_empty() { "state.awaiting" } else { "state.skip_proposed" };
                let reasons = skip.iter().map(|reason| self.dialect.prose(reason, 120)).collect();
                let values = json!({
                    "why": prose(why, "state.why")?, "cost": cost, "until": prose(until, "state.until")?,
                    "command": command(&format!("confirm{plan}")), "skip": command("skip <reason>"),
                    "reasons": self.all_of(reasons, 8)?,
                });
                self.here(key, &values)?
            }
            State::AwaitingChecks { pending, until } => {
                let checks = pending.iter().map(|name| self.name(name)).collect();
                let until = prose(until, "state.checks_until")?;
                let key = if pending.is_empty() { "state.checks_unknown" } else { "state.checks" };
                self.words.say(key, &json!({ "checks": self.few(checks, 12)?, "until": until }))?
            }
            State::Measuring { round, of, next_look } => {
                let look = match next_look {
                    Some(_) => prose(next_look, "state.next_look")?,
                    None => match self.view.rounds.looks.iter().find(|look| **look >= *round) {
                        Some(look) => self.clause("state.next_look_after", &json!({ "round": look }))?,
                        None => String::new(),
                    },
                };
                let key = if self.judged().is_some() { "state.measuring_provisional" } else { "state.measuring" };
                self.words.say(key, &json!({ "round": round, "of": of, "look": look }))?
            }
            State::Collecting { unavailable, again } => {
                let key = if unavailable.is_some() { "state.unavailable" } else { "state.collecting" };
                let values =
                    json!({ "text": prose(unavailable, "state.answer")?, "again": prose(again, "state.again")? });
                self.words.say(key, &values)?
            }
            State::Stopping { why, alive } => {
                let values = json!({ "why": prose(why, "state.why")?, "alive": self.alive(alive)? });
                self.words.say("state.stopping", &values)?
            }
            State::Ended { how, why, alive } => {
                // Who skipped it and why stands in the sentence before this one.
                let decided = self.view.decision.as_ref().is_some_and(|decision| decision.what == Decided::Skipped);
                let why = why.as_ref().filter(|_| !(decided && *how == Ending::Skipped)).cloned();
                let by = match &why {
                    Some(by) => format!(" ({})", self.reason(by)),
                    None => String::new(),
                };
                let rounds = match self.view.rounds.done {
                    0 => String::new(),
                    n => self.clause("ended.rounds", &json!({ "rounds": self.counted("rounds_there", n)? }))?,
                };
                let values = json!({
                    "why": prose(&why, "state.why")?, "by": by, "alive": self.alive(alive)?, "rounds": rounds,
                    "suite": self.view.suite,
                });
                let text = self.here(&format!("ended.{}.sentence", how.key()), &values)?;
                match (how, self.troubles()?) {
                    (Ending::Failed, Some(troubles)) => format!("{text} {troubles}"),
                    _ => text,
                }
            }
            State::Stale { why } => self.here("state.stale", &json!({ "why": self.reason(why) }))?,
            State::Done => return Ok(None),
        };
        Ok(Some(text.trim().to_owned()))
    }

    /// `a, b and c`.
    fn all_of(&self, mut texts: Vec<String>, most: usize) -> Said {
        if texts.len() > most.min(self.limits.list) {
            return self.few(texts, most);
        }
        match texts.pop() {
            Some(last) if !texts.is_empty() => {
                self.words.say("list.and", &json!({ "list": texts.join(", "), "last": last }))
            }
            last => Ok(last.unwrap_or_default()),
        }
    }

    /// A sentence that follows another one.
    fn clause(&self, key: &str, values: &Value) -> Said {
        Ok(format!(" {}", self.words.say(key, values)?))
    }

    /// Foreign prose that a phrase goes on after: without a full stop of its own.
    fn reason(&self, text: &str) -> String {
        self.dialect.prose(text.trim_end().trim_end_matches('.'), 300)
    }

    fn alive(&self, jobs: &[domain::view::Job]) -> Said {
        if jobs.is_empty() {
            return Ok(String::new());
        }
        let jobs = jobs.iter().map(|job| self.job(job)).collect();
        self.clause("state.alive", &json!({ "jobs": self.few(jobs, 8)? }))
    }
}

/// `text` with a capital at its start.
fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
