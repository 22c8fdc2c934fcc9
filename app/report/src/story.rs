//! The heading, the sentences under the verdict and the interpretation.

use domain::view::{Ending, Judgement, Metric, Note, Reason, Side, State, Treatment, Verdict, View};
use serde_json::json;

use crate::budget::Limits;
use crate::dialect::Dialect;
use crate::figures::{Claim, Figure, note_words};
use crate::needed::{self, Promise};
use crate::numbers;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::words::Words;

type Said = Result<String, RenderError>;

/// What every sentence needs.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a> {
    /// What is told of.
    pub(crate) view: &'a View,
    /// The phrases.
    pub(crate) words: &'a Words,
    /// For whom.
    pub(crate) dialect: Dialect,
    /// How much.
    pub(crate) limits: Limits,
    /// Every row in order.
    pub(crate) rows: &'a [Row<'a>],
}

impl<'a> Teller<'a> {
    /// A name.
    pub(crate) fn name(&self, text: &str) -> String {
        self.dialect.code(text, self.limits.name)
    }

    /// The first entries of a list as finished texts, with how many are left out.
    pub(crate) fn few(&self, texts: Vec<String>, most: usize) -> Said {
        let most = most.min(self.limits.list);
        let more = texts.len().saturating_sub(most);
        let mut few: Vec<String> = texts.into_iter().take(most).collect();
        if more > 0 {
            few.push(self.words.say("list.more", &json!({ "n": more }))?);
        }
        Ok(few.join(", "))
    }

    /// The rows of a treatment.
    fn rows_of(&self, treatment: &Treatment) -> impl Iterator<Item = &'a Row<'a>> + use<'a> {
        let treatment: *const Treatment = treatment;
        self.rows.iter().filter(move |row| std::ptr::eq(row.treatment, treatment))
    }

    /// The total of a treatment, or its only row.
    fn total_of(&self, treatment: &Treatment) -> Option<&'a Row<'a>> {
        let mut rows: Vec<_> = self.rows_of(treatment).collect();
        if rows.len() == 1 { rows.pop() } else { rows.into_iter().find(|row| row.is_total()) }
    }

    /// The word that stands alone after `Verdict:`.
    pub(crate) fn verdict(&self) -> Said {
        match (&self.view.state, self.judged()) {
            (state, Some(judgement)) if state.is_decided() => Ok(judgement.verdict.word().to_owned()),
            (State::Ended { .. }, _) => self.words.get("verdict.none"),
            _ => self.words.get("verdict.none_yet"),
        }
    }

    fn judged(&self) -> Option<&'a Judgement> {
        self.view.head()?.judgement.as_ref()
    }

    /// The heading behind the title: `✅ pass · CPU −1.2 %`. Without the sign where `signed` is false.
    pub(crate) fn heading(&self, signed: bool) -> Said {
        let (sign, text) = self.heading_parts()?;
        let mut out = if signed { format!("{sign} {text}") } else { text };
        match &self.view.decision {
            Some(decision) => {
                let key = match decision.what {
                    domain::view::Decided::Accepted => "heading.accepted",
                    domain::view::Decided::Skipped => "heading.skipped",
                };
                out = format!("{out} · {}", self.words.get(key)?);
            }
            None if matches!(self.view.state, State::Stale { .. }) => {
                out = format!("{out} · {}", self.words.get("heading.stale")?);
            }
            None => {}
        }
        Ok(out)
    }

    fn heading_parts(&self) -> Result<(&'static str, String), RenderError> {
        let waiting = |key: &str| Ok(("⏳", self.words.get(key)?));
        match &self.view.state {
            State::Queued { .. } => waiting("heading.queued"),
            State::Planning => waiting("heading.planning"),
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
        if uncounted(judgement) && judgement.reason != Reason::WorkNotCounted {
            text = format!("{text} · {}", self.words.get("heading.uncounted")?);
        }
        Ok((sign, text))
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

    /// The name of a row before its change; nothing for the total.
    fn named(&self, row: &Row<'_>) -> String {
        if row.is_total() {
            String::new()
        } else {
            format!("{} ", self.dialect.code(row.name, self.limits.name.min(40)))
        }
    }

    /// Rows with a claim, the largest change first.
    fn claims(&self, treatment: &Treatment, claim: Claim) -> Vec<(&'a Row<'a>, Metric)> {
        let mut found: Vec<_> = Metric::ALL
            .into_iter()
            .flat_map(|m| self.rows_of(treatment).filter(move |row| row.figure(m).claim == claim).map(move |r| (r, m)))
            .collect();
        found.sort_by(|(a, m), (b, o)| {
            let size = |row: &Row<'_>, metric: Metric| row.figure(metric).effect.abs();
            m.cmp(o).then(size(b, *o).total_cmp(&size(a, *m)))
        });
        found
    }

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

    fn state_sentence(&self) -> Result<Option<String>, RenderError> {
        let prose = |text: &Option<String>, key: &str| -> Said {
            match text {
                Some(text) => self.words.say(key, &json!({ "text": self.dialect.prose(text, 300) })),
                None => Ok(String::new()),
            }
        };
        let text = match &self.view.state {
            State::Queued { ahead: Some(ahead) } if *ahead > 0 => {
                self.words.say("state.queued_behind", &json!({ "runs": self.counted("others", *ahead)? }))?
            }
            State::Queued { .. } => self.words.get("state.queued")?,
            State::Planning => self.words.get("state.planning")?,
            State::AwaitingConfirmation { why, plan, cpu_hours, until } => {
                let cost = match cpu_hours {
                    Some(hours) => {
                        self.words.say("state.cost", &json!({ "time": numbers::seconds(hours * 3600.0) }))?
                    }
                    None => String::new(),
                };
                let plan = plan.as_ref().map(|p| format!(" {}", crate::escape::line(p, 24))).unwrap_or_default();
                let command = self.dialect.code(&format!("/ab-test {} confirm{plan}", self.view.suite), 100);
                let values = json!({
                    "why": prose(why, "state.why")?, "cost": cost, "until": prose(until, "state.until")?,
                    "command": command.replace('\u{200B}', ""),
                });
                self.words.say("state.awaiting", &values)?
            }
            State::Measuring { round, of, next_look } => {
                let look = match next_look {
                    Some(_) => prose(next_look, "state.next_look")?,
                    None => match self.view.rounds.looks.iter().find(|look| **look >= *round) {
                        Some(look) => self.words.say("state.next_look_after", &json!({ "round": look }))?,
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
                let values = json!({ "why": prose(why, "state.why")?, "alive": self.alive(alive)? });
                self.words.say(&format!("ended.{}.sentence", how.key()), &values)?
            }
            State::Stale { why } => self.words.say("state.stale", &json!({ "why": self.dialect.prose(why, 300) }))?,
            State::Done => return Ok(None),
        };
        Ok(Some(text.trim().to_owned()))
    }

    fn alive(&self, jobs: &[domain::view::Job]) -> Said {
        if jobs.is_empty() {
            return Ok(String::new());
        }
        let jobs = jobs.iter().map(|job| self.job(job)).collect();
        self.words.say("state.alive", &json!({ "jobs": self.few(jobs, 8)? }))
    }

    /// A job with its link.
    pub(crate) fn job(&self, job: &domain::view::Job) -> String {
        self.dialect.link(&self.name(&job.id), job.url.as_deref())
    }

    /// The rows that decide, and what is noted of the whole run.
    pub(crate) fn points(&self) -> Result<Vec<String>, RenderError> {
        let mut points = Vec::new();
        let Some((treatment, judgement)) = self.view.head().and_then(|t| Some((t, t.judgement.as_ref()?))) else {
            return Ok(points);
        };
        for (claim, key) in
            [(Claim::Beyond, "point.beyond"), (Claim::Open, "point.open"), (Claim::Within, "point.within")]
        {
            if let Some(rows) = self.listed(&self.claims(treatment, claim))? {
                points.push(self.words.say(key, &json!({ "rows": rows }))?);
            }
        }
        let open: Vec<_> = self
            .rows_of(treatment)
            .filter(|row| row.verdict == Some(Verdict::Inconclusive) && row.claim() > Claim::Open)
            .map(|row| (row, open_metric(row)))
            .collect();
        if let Some(rows) = self.listed(&open)? {
            points.push(self.words.say("point.undecided", &json!({ "rows": rows }))?);
        }
        if judgement.verdict == Verdict::Tradeoff
            && let Some(rows) = self.listed(&self.claims(treatment, Claim::Lower))?
        {
            points.push(self.words.say("point.lower", &json!({ "rows": rows }))?);
        }
        for difference in treatment.mismatch.iter().take(self.limits.list.min(12)) {
            let values = json!({ "difference": self.difference(difference)? });
            points.push(self.words.say("point.mismatch", &values)?);
        }
        for (key, notes) in judgement.notes.iter().filter(|(key, _)| key.ends_with(":*")) {
            let metric = Metric::ALL.into_iter().find(|m| key.starts_with(m.key()));
            for note in notes {
                let text = note_words(*note, &self.view.settings, self.words, metric)?;
                let what = self.words.get(&format!("noted.{}", metric.map_or("run", Metric::key)))?;
                points.push(self.words.say("point.note", &json!({ "what": what, "text": text }))?);
            }
        }
        Ok(points)
    }

    /// `field: control → treatment`.
    pub(crate) fn difference(&self, difference: &domain::view::Difference) -> Said {
        let side = |value: &Option<String>| value.as_ref().map(|v| self.name(v));
        let field = self.name(&difference.field);
        match (side(&difference.control), side(&difference.treatment)) {
            (Some(c), Some(t)) => Ok(format!("{field}: {c} → {t}")),
            (None, Some(t)) => self.words.say("difference.treatment", &json!({ "field": field, "value": t })),
            (Some(c), None) => self.words.say("difference.control", &json!({ "field": field, "value": c })),
            (None, None) => Ok(field),
        }
    }

    /// Up to three rows with their figures.
    fn listed(&self, rows: &[(&Row<'_>, Metric)]) -> Result<Option<String>, RenderError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let mut texts = Vec::new();
        for (row, metric) in rows {
            let figure = row.figure(*metric);
            let name = if row.is_total() {
                domain::view::TOTAL.to_owned()
            } else {
                self.dialect.code(row.name, self.limits.name)
            };
            let metric = self.words.get(&format!("metric.{}", metric.key()))?;
            let noise = if figure.noise.is_empty() { String::new() } else { format!(": {}", figure.noise) };
            texts.push(format!("{name} {metric} {}{noise}", figure.full()));
            if texts.len() == 4 {
                break;
            }
        }
        let more = rows.len().saturating_sub(3);
        texts.truncate(3);
        if more > 0 {
            texts.push(self.words.say("list.more", &json!({ "n": more }))?);
        }
        Ok(Some(texts.join("; ")))
    }

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
        let scale = if judgement.topology || cpu == "flat" || cpu == "unknown" { "cost" } else { "efficiency" };
        let mut parts =
            vec![self.words.get(&format!("{scale}.{cpu}"))?, self.words.get(&format!("latency.{elapsed}"))?];
        parts.extend(self.exchange(judgement, cpu, elapsed)?);
        if judgement.topology {
            parts.push(self.words.get("interpretation.topology")?);
        }
        let within = self.claims(treatment, Claim::Within);
        if let Some(rows) = self.listed(&within)?.filter(|_| judgement.verdict == Verdict::Pass) {
            parts.push(self.words.say("interpretation.within", &json!({ "rows": rows }))?);
        }
        Ok(parts.join(" "))
    }

    fn exchange(&self, judgement: &Judgement, cpu: &str, elapsed: &str) -> Result<Option<String>, RenderError> {
        let key = match (judgement.reason, cpu, elapsed) {
            (Reason::CpuVsElapsed, "lower", _) => "exchange.cheaper_slower",
            (Reason::CpuVsElapsed, ..) => "exchange.faster_dearer",
            (Reason::StageTradeoff, ..) => "exchange.stages",
            (_, "flat", "lower") if judgement.verdict == Verdict::Pass && judgement.topology => "exchange.topology_win",
            (_, "lower", "lower") if judgement.verdict == Verdict::Pass && judgement.topology => {
                "exchange.topology_win_less"
            }
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

/// Rows that do not count their work.
pub(crate) fn uncounted(judgement: &Judgement) -> bool {
    judgement.notes.iter().any(|(key, notes)| key.starts_with("work:") && notes.contains(&Note::NotCounted))
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

/// The metric that keeps a row from being decided.
fn open_metric(row: &Row<'_>) -> Metric {
    match row.stats(Metric::Cpu) {
        Some(cpu) if cpu.fits() && cpu.suspect != Some(Side::Higher) => Metric::Elapsed,
        _ => Metric::Cpu,
    }
}

fn ending_sign(how: Ending) -> &'static str {
    match how {
        Ending::Skipped => "⏭️",
        Ending::Failed | Ending::Refused | Ending::ChecksFailed => "⚠️",
        _ => "🚫",
    }
}
