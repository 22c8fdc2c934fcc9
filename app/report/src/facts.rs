//! What stands beside the table: workload, arms, data check, infrastructure, footer.

use std::collections::BTreeSet;

use domain::view::{ArmFacts, Both, Control, Interval, Judgement, Note, Output, Surface, TableRow, Treatment};
use serde_json::json;

use crate::figures::Claim;
use crate::numbers;
use crate::renderer::RenderError;
use crate::rows::Row;
use crate::teller::Teller;

type Said = Result<String, RenderError>;

/// Characters of a commit that are shown.
pub(crate) const SHA: usize = 10;

impl Teller<'_> {
    /// The workload line.
    pub(crate) fn workload(&self) -> Said {
        let scope = self.scope()?;
        if self.view.workload.is_empty() {
            let unknown = self.words.get("workload.unknown")?;
            return Ok(scope.map_or(unknown.clone(), |scope| format!("{unknown}. {scope}")));
        }
        let facts =
            self.view.workload.iter().map(|fact| self.dialect.prose(fact, self.limits.name.max(48) * 2)).collect();
        let facts = self.few(facts, 24)?;
        Ok(scope.map_or(facts.clone(), |scope| format!("{facts}. {scope}")))
    }

    /// What kind of change it is, with the suite's reasons.
    fn scope(&self) -> Result<Option<String>, RenderError> {
        let Some(scope) = self.view.scope.as_ref().filter(|scope| !scope.classes.is_empty()) else { return Ok(None) };
        let mut kinds = Vec::new();
        for one in &scope.classes {
            let class = self.words.get(&format!("scope.{}", one.class.word()))?;
            let why: Vec<String> =
                one.why.iter().map(|why| self.dialect.prose(why, self.limits.name.max(48) * 3)).collect();
            kinds.push(if why.is_empty() { class } else { format!("{class} ({})", self.few(why, 3)?) });
        }
        self.words.say("scope", &json!({ "kinds": kinds.join("; ") })).map(Some)
    }

    /// A commit.
    pub(crate) fn sha(&self, sha: Option<&String>) -> Said {
        match sha {
            Some(sha) => Ok(self.dialect.code(&sha.chars().take(SHA).collect::<String>(), SHA)),
            None => self.words.get("commit.unknown"),
        }
    }

    /// The control line.
    pub(crate) fn control(&self) -> Said {
        let Control { sha, base_ref, behind, jobs, runs, executions, .. } = &self.view.control;
        let mut parts = vec![self.sha(sha.as_ref())?];
        if let Some(base) = base_ref {
            let base = self.name(base);
            parts.push(match behind {
                Some(0) => self.words.say("control.newest", &json!({ "base": base }))?,
                Some(n) => self
                    .words
                    .say("control.behind", &json!({ "base": base, "commits": self.counted("commits", *n)? }))?,
                None => self.words.say("control.base", &json!({ "base": base }))?,
            });
        }
        parts.extend(self.trials(jobs, *runs, *executions)?);
        Ok(parts.join(", "))
    }

    fn trials(
        &self,
        jobs: &[domain::view::Job],
        runs: Option<u64>,
        executions: Option<u64>,
    ) -> Result<Vec<String>, RenderError> {
        let mut parts = Vec::new();
        if !jobs.is_empty() {
            let jobs: Vec<String> = jobs.iter().map(|job| self.job(job)).collect();
            let key = if jobs.len() == 1 { "jobs.one" } else { "jobs.many" };
            parts.push(self.words.say(key, &json!({ "jobs": self.few(jobs, 2)? }))?);
        }
        if let Some(runs) = runs {
            parts.push(self.counted("runs", runs)?);
        }
        match executions {
            // A trial of a command line is one execution.
            _ if self.view.surface == Surface::CommandLine && (executions.is_none() || executions == runs) => {}
            Some(n) => parts.push(self.counted("executions", n)?),
            None => parts.push(self.words.get("executions.unknown")?),
        }
        Ok(parts)
    }

    /// `1 run`, `3 runs`.
    pub(crate) fn counted(&self, what: &str, n: u64) -> Said {
        let key = if n == 1 { format!("{what}.one") } else { format!("{what}.many") };
        self.words.say(&key, &json!({ "n": numbers::count(n) }))
    }

    /// The treatments: one line, or one each.
    pub(crate) fn treatments(&self) -> Result<Vec<String>, RenderError> {
        let many = self.view.treatments.len() > 1;
        let mut order: Vec<&Treatment> = self.view.head().into_iter().collect();
        order.extend(
            self.view.treatments.iter().filter(|t| Some(&t.name) != order.first().map(|h| &h.name)).collect::<Vec<_>>(),
        );
        let shown = order.len().min(self.limits.list.min(20));
        let mut lines = Vec::new();
        for treatment in &order[..shown] {
            let (name, sha) = (self.name(&treatment.name), self.sha(treatment.sha.as_ref())?);
            let mut parts = match (many, &treatment.judgement) {
                (true, Some(judgement)) => vec![format!("{name}: {}; {sha}", self.verdict_of(treatment, judgement)?)],
                _ => vec![format!("{name} {sha}")],
            };
            if !treatment.declared.is_empty() {
                let declared = treatment.declared.iter().map(|d| self.difference(d)).collect::<Result<Vec<_>, _>>()?;
                parts.push(self.words.say("treatment.declared", &json!({ "list": self.few(declared, 8)? }))?);
            }
            parts.extend(self.trials(&treatment.jobs, treatment.runs, treatment.executions)?);
            lines.push(parts.join(", "));
        }
        if order.len() > shown {
            lines.push(self.words.say("list.more", &json!({ "n": order.len() - shown }))?);
        }
        if lines.is_empty() {
            lines.push(self.words.get("treatment.unknown")?);
        }
        Ok(lines)
    }

    /// Verdict and what it rests on, in one line.
    fn verdict_of(&self, treatment: &Treatment, judgement: &Judgement) -> Said {
        let short = self.in_short(treatment, judgement)?;
        let reason = self.words.get(&format!("reason.{}.short", judgement.reason.code()))?;
        let verdict = self.dialect.strong(judgement.verdict.word());
        if short == reason { Ok(format!("{verdict}, {short}")) } else { Ok(format!("{verdict}, {short} ({reason})")) }
    }

    /// The line under the table: what its numbers are.
    pub(crate) fn legend(&self) -> Result<Vec<String>, RenderError> {
        let Some(first) = self.rows.first() else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        let rounds = self.elapsed_rounds(first)?;
        let one = first.cells.cpu.n_control.max(first.cells.cpu.n_treatment) <= 1;
        out.push(self.words.say(if one { "legend.one" } else { "legend.means" }, &json!({ "rounds": rounds }))?);
        let used: Vec<Claim> = [Claim::Beyond, Claim::Open, Claim::Within, Claim::Lower]
            .into_iter()
            .filter(|c| self.rows.iter().any(|row| row.cpu.claim == *c || row.elapsed.claim == *c))
            .collect();
        if !used.is_empty() {
            let signs = used
                .into_iter()
                .map(|claim| Ok(format!("{} {}", claim.sign(), self.words.get(claim_key(claim))?)))
                .collect::<Result<Vec<_>, RenderError>>()?;
            out.push(signs.join(" · "));
        }
        let assumed = |row: &Row<'_>| {
            [&row.cells.cpu, &row.cells.elapsed].iter().any(|cell| cell.interval == Some(Interval::Assumed))
        };
        if self.rows.iter().any(assumed) {
            let sd = self.view.settings.display_sd;
            let values = json!({ "cpu": numbers::share(sd.cpu), "elapsed": numbers::share(sd.elapsed) });
            out.push(self.words.say("legend.assumed", &values)?);
        }
        Ok(out)
    }

    /// Did the arms do the same work? Per judged treatment; the last sentence says what that is worth.
    pub(crate) fn data_check(&self) -> Said {
        let mut parts = Vec::new();
        let several = self.view.treatments.iter().filter(|t| t.judgement.is_some()).count() > 1;
        for treatment in self.view.treatments.iter().take(self.limits.list.min(8)) {
            let Some(judgement) = &treatment.judgement else { continue };
            let text = self.work(judgement)?;
            parts.push(if several { format!("{}: {text}", self.name(&treatment.name)) } else { text });
        }
        if parts.is_empty() {
            parts.push(self.words.get("data.nothing_yet")?);
        }
        if let Some(coarser) = &self.view.coarser {
            let values = json!({
                "executions": self.counted("executions", coarser.lacking)?,
                "example": self.name(coarser.example.as_str()),
            });
            parts.push(self.words.say("data.coarser", &values)?);
        }
        let outputs = self.outputs()?;
        if outputs.is_empty() {
            parts.push(self.words.get("data.no_proof")?);
        } else {
            parts.extend(outputs);
        }
        Ok(parts.join(" "))
    }

    fn work(&self, judgement: &Judgement) -> Said {
        let rows: Vec<(&str, &TableRow)> =
            judgement.table.iter().filter(|(name, _)| *name != domain::view::TOTAL).collect();
        if rows.is_empty() {
            return self.words.get("data.no_rows");
        }
        let paths = &self.view.settings.paths_only;
        let (written, compared): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(name, _)| paths.iter().any(|p| p == name));
        let mut parts = Vec::new();
        let runs = |row: &TableRow| [row.cpu.n_control, row.cpu.n_treatment];
        for (unit, field) in [("items", items as fn(&TableRow) -> Option<Both>), ("bytes", bytes)] {
            let work: Vec<Work> = compared.iter().map(|(_, row)| Work::of(field(row), runs(row))).collect();
            if !work.is_empty() {
                parts.push(self.unit(unit, &compared, &work)?);
            }
        }
        let uncounted: Vec<String> = judgement
            .notes
            .iter()
            .filter(|(key, notes)| key.starts_with("work:") && notes.contains(&Note::NotCounted))
            .map(|(key, _)| self.name(key.trim_start_matches("work:")))
            .collect();
        let mut text = format!("{}.", parts.join("; "));
        if parts.is_empty() {
            text.clear();
        }
        if !written.is_empty() {
            text = format!(
                "{text} {}",
                self.words
                    .say("data.paths_only", &json!({ "stages": self.counted("stages", written.len() as u64)? }))?
            );
        }
        if !uncounted.is_empty() {
            text = format!("{text} {}", self.words.say("data.uncounted", &json!({ "rows": self.few(uncounted, 3)? }))?);
        }
        let normalised = judgement.notes.iter().any(|(_, notes)| notes.contains(&Note::Normalised));
        if normalised {
            text = format!("{text} {}", self.words.get("data.normalised")?);
        }
        Ok(text.trim().to_owned())
    }

    /// `items equal in 12 of 12 stages`, or where they are not.
    fn unit(&self, unit: &str, rows: &[(&str, &TableRow)], work: &[Work]) -> Said {
        let count = |f: fn(&Work) -> bool| work.iter().filter(|w| f(w)).count();
        let (equal, off) = (count(|w| *w == Work::Equal), count(|w| matches!(w, Work::Off(_))));
        let (uncounted, broken) = (count(|w| *w == Work::NotCounted), count(|w| *w == Work::OneSided));
        let label = self.words.get(&format!("unit.{unit}"))?;
        if uncounted == work.len() {
            return self.words.say("data.not_counted", &json!({ "unit": label }));
        }
        let mut text = if equal + uncounted == work.len() {
            self.words.say("data.equal", &json!({ "unit": label, "stages": self.counted("stages", equal as u64)? }))?
        } else {
            self.words.say("data.equal_in", &json!({ "unit": label, "n": equal, "of": work.len() - uncounted }))?
        };
        if off > 0 {
            let most = work
                .iter()
                .zip(rows)
                .filter_map(|(w, (name, _))| if let Work::Off(ratio) = w { Some((*ratio, *name)) } else { None })
                .max_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()));
            if let Some((ratio, name)) = most {
                let by =
                    if (ratio - 1.0).abs() < 0.0005 { self.words.get("data.tiny")? } else { numbers::change(ratio) };
                text = format!("{text} {}", self.words.say("data.off", &json!({ "by": by, "row": self.name(name) }))?);
            }
        }
        if broken > 0 {
            text = format!(
                "{text} {}",
                self.words.say("data.one_sided", &json!({ "stages": self.counted("stages", broken as u64)? }))?
            );
        }
        if uncounted > 0 {
            text = format!("{text} {}", self.words.say("data.not_counted_in", &json!({ "n": uncounted }))?);
        }
        Ok(text)
    }

    /// Output digests against those of the control.
    fn outputs(&self) -> Result<Vec<String>, RenderError> {
        let mut out = Vec::new();
        let several = self.view.treatments.len() > 1;
        for treatment in self.view.treatments.iter().take(self.limits.list.min(8)) {
            let shared: Vec<(&Output, &Output)> = treatment
                .outputs
                .iter()
                .filter_map(|t| Some((self.view.control.outputs.iter().find(|c| c.name == t.name)?, t)))
                .collect();
            if shared.is_empty() {
                continue;
            }
            let differ: Vec<String> =
                shared.iter().filter(|(c, t)| c.digest != t.digest).map(|(c, _)| self.name(&c.name)).collect();
            let text = if differ.is_empty() {
                self.words.say("data.digests_equal", &json!({ "n": shared.len() }))?
            } else {
                let values = json!({ "n": differ.len(), "of": shared.len(), "list": self.few(differ, 4)? });
                self.words.say("data.digests_differ", &values)?
            };
            out.push(if several { format!("{}: {text}", self.name(&treatment.name)) } else { text });
        }
        Ok(out)
    }

    /// What happened on the machines.
    pub(crate) fn infrastructure(&self) -> Said {
        let Some(infrastructure) = &self.view.infrastructure else { return self.words.get("infrastructure.unknown") };
        let mut parts = Vec::new();
        let troubled: Vec<&ArmFacts> = infrastructure.arms.iter().filter(|arm| !arm.happened.is_empty()).collect();
        if troubled.is_empty() {
            parts.push(self.words.get("infrastructure.none")?);
        }
        for arm in troubled.into_iter().take(self.limits.list.min(8)) {
            let happened = arm
                .happened
                .iter()
                .map(|(what, n)| {
                    let number = if *n == 1 { "one" } else { "many" };
                    self.words.say(&format!("happened.{}.{number}", what.key()), &json!({ "n": numbers::count(*n) }))
                })
                .collect::<Result<Vec<_>, _>>()?;
            let values = json!({ "arm": self.name(&arm.arm), "happened": happened.join(", ") });
            parts.push(self.words.say("infrastructure.arm", &values)?);
        }
        if let Some(n) = infrastructure.replaced_rounds.filter(|n| *n > 0) {
            parts.push(self.counted("replaced", n)?);
        }
        let hosts: Vec<(String, String)> = infrastructure
            .arms
            .iter()
            .filter(|arm| !arm.host_classes.is_empty())
            .map(|arm| {
                let classes = arm.host_classes.iter().map(|class| self.name(class)).collect();
                Ok((self.name(&arm.arm), self.few(classes, 4)?))
            })
            .collect::<Result<_, RenderError>>()?;
        if let Some((_, first)) = hosts.first() {
            if hosts.len() > 1 && hosts.iter().all(|(_, classes)| classes == first) {
                parts.push(self.words.say("infrastructure.hosts_equal", &json!({ "hosts": first }))?);
            } else {
                let list = hosts.iter().map(|(arm, classes)| format!("{arm} {classes}")).collect();
                parts.push(self.words.say("infrastructure.hosts", &json!({ "list": self.few(list, 8)? }))?);
            }
        }
        let zones: BTreeSet<&str> = infrastructure.arms.iter().flat_map(|arm| &arm.zones).map(String::as_str).collect();
        if !zones.is_empty() {
            let list = zones.into_iter().map(|zone| self.name(zone)).collect();
            parts.push(self.words.say("infrastructure.zones", &json!({ "list": self.few(list, 4)? }))?);
        }
        if let Some(busy) = infrastructure.busy {
            let values = json!({ "load": format!("{:.1}", busy.load), "cores": self.counted("cores", busy.cores)? });
            parts.push(self.words.say("infrastructure.busy", &values)?);
        }
        let peaks: Vec<String> = infrastructure
            .arms
            .iter()
            .filter_map(|arm| Some((self.name(&arm.arm), arm.peak_task_mib?)))
            .map(|(arm, mib)| format!("{arm} {mib} MiB"))
            .collect();
        if !peaks.is_empty() {
            parts.push(self.words.say("infrastructure.peak", &json!({ "list": self.few(peaks, 8)? }))?);
        }
        if let Some(priority) = &infrastructure.priority {
            let values = json!({ "priority": self.dialect.prose(priority, 80) });
            parts.push(self.words.say("infrastructure.priority", &values)?);
        }
        let remarks = infrastructure.remarks.iter().take(self.limits.list.min(8));
        parts.extend(remarks.map(|remark| self.dialect.prose(remark, 240)));
        Ok(parts.join("; ") + ".")
    }

    /// The lines at the foot.
    pub(crate) fn footer(&self) -> Result<Vec<String>, RenderError> {
        let p = &self.view.provenance;
        let mut parts = Vec::new();
        if p.head.is_some() {
            parts.push(self.words.say("footer.head", &json!({ "sha": self.sha(p.head.as_ref())? }))?);
        }
        if p.merge_base.is_some() {
            parts.push(self.words.say("footer.merge_base", &json!({ "sha": self.sha(p.merge_base.as_ref())? }))?);
        }
        if let Some(run) = &p.run {
            parts.push(self.words.say("footer.run", &json!({ "run": self.dialect.code(run, 40) }))?);
        }
        let rounds = &self.view.rounds;
        if rounds.done > 0 || rounds.planned.is_some() {
            parts.push(match rounds.planned {
                Some(of) => self.words.say("footer.rounds_of", &json!({ "n": rounds.done, "of": of }))?,
                None => self.words.say("footer.rounds", &json!({ "n": rounds.done }))?,
            });
        }
        parts.extend(self.calibration()?);
        if let Some(evidence) = &p.evidence {
            parts.push(self.words.say("footer.evidence", &json!({ "digest": self.dialect.code(evidence, 24) }))?);
        }
        if let Some(page) = &p.page {
            parts.push(self.dialect.link(&self.words.get("footer.page")?, Some(page)));
        }
        let mut lines = Vec::new();
        if !parts.is_empty() {
            lines.push(parts.join(" · "));
        }
        if !self.view.offers.is_empty() {
            let offers: Vec<String> = self
                .view
                .offers
                .iter()
                .map(|offer| self.dialect.code(offer, 160).replace("/\u{200B}ab-test", "/ab-test"))
                .collect();
            lines.push(self.words.say("footer.offers", &json!({ "offers": self.few(offers, 8)? }))?);
        }
        Ok(lines)
    }

    fn calibration(&self) -> Result<Option<String>, RenderError> {
        let Some(calibration) = &self.view.calibration else { return Ok(None) };
        let mut parts = vec![self.words.say("footer.calibration", &json!({ "grade": calibration.grade.word() }))?];
        if let Some(n) = calibration.ratios {
            parts.push(self.counted("footer.ratios", n)?);
        }
        if let Some(days) = calibration.age_days {
            parts.push(self.counted("footer.age", days)?);
        }
        if let Some(frozen) = &calibration.frozen {
            parts.push(self.words.say("footer.frozen", &json!({ "date": self.dialect.prose(frozen, 40) }))?);
        }
        Ok(Some(parts.join(", ")))
    }
}

fn claim_key(claim: Claim) -> &'static str {
    match claim {
        Claim::Beyond => "legend.beyond",
        Claim::Open => "legend.open",
        Claim::Within => "legend.within",
        Claim::Lower | Claim::None => "legend.lower",
    }
}

fn items(row: &TableRow) -> Option<Both> {
    row.items
}

fn bytes(row: &TableRow) -> Option<Both> {
    row.bytes_processed
}

/// What counts of two arms say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    /// Both 0 or not there.
    NotCounted,
    /// Counted in one arm only.
    OneSided,
    /// The same per run.
    Equal,
    /// The ratio per run.
    Off(f64),
}

impl Work {
    /// `both` are sums over `runs` of control and treatment.
    pub(crate) fn of(both: Option<Both>, runs: [usize; 2]) -> Self {
        let [c, t] = both.unwrap_or([None, None]).map(|x| x.filter(|x| *x > 0.0));
        match (c, t) {
            (None, None) => Self::NotCounted,
            (Some(c), Some(t)) => {
                let ratio = (t / runs[1].max(1) as f64) / (c / runs[0].max(1) as f64);
                if (ratio - 1.0).abs() < 1e-12 { Self::Equal } else { Self::Off(ratio) }
            }
            _ => Self::OneSided,
        }
    }
}
