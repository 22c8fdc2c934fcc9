//! What is known of a run and of its pull request.

use std::fmt::Write as _;

use domain::machine::{Run, Trial, TrialState};
use domain::ports::desk::RunRow;
use domain::ports::{Desk as _, Fate, Store as _, StoredEffect};
use domain::time::{Ms, utc};
use engine::Progress;
use serde::Serialize;
use serde_json::Value;
use store::admin::{Lease, Line};

use super::open::Opened;
use super::which::{What, key};
use crate::command::doctor::said::seconds;
use crate::failure::Failure;

/// The word by which something is stored.
fn word(value: &impl Serialize, tag: &str) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.get(tag).and_then(Value::as_str).unwrap_or("?").replace('_', " ")
}

/// When something is due, seen from now.
pub(super) fn due(at: Option<Ms>, now: Ms) -> String {
    match at {
        None => "nothing is to be done".to_owned(),
        Some(Ms(u64::MAX)) => "never".to_owned(),
        Some(at) if at <= now => format!("due since {}", seconds(now.since(at))),
        Some(at) => format!("due in {}", seconds(at.since(now))),
    }
}

fn lease(lease: Option<&Lease>, now: Ms) -> String {
    match lease {
        None => "nobody works on it".to_owned(),
        Some(lease) if lease.until < now => {
            format!("{} had it until {}, which is over", lease.owner, utc(lease.until))
        }
        Some(lease) => format!("{} works on it until {}", lease.owner, utc(lease.until)),
    }
}

fn failed(why: domain::ports::StoreError) -> Failure {
    Failure::Other(why.into())
}

/// All of it as lines.
pub(super) async fn show(opened: &Opened, what: &What, lines: usize) -> Result<String, Failure> {
    let (store, now) = (&opened.store, opened.now());
    let repo = store.repo(what.repo).await.map_err(failed)?;
    let name = repo.map_or_else(|| format!("repository {}", what.repo), |repo| repo.name);
    let mut text = String::new();
    // Writing to a text cannot fail; so below.
    let _ = writeln!(text, "pull request {name}#{} ({})", what.number, what.pull());
    subject(opened, &mut text, &what.pull(), now).await?;
    if let Some(run) = &what.run {
        of_run(&mut text, run);
        subject(opened, &mut text, &key(run), now).await?;
        state(opened, &mut text, &key(run), now).await?;
    } else {
        text.push_str("no run\n");
    }
    said(&mut text, &store.lines(&what.targets()).await.map_err(failed)?, now);
    let run = what.run.as_ref().map(key).unwrap_or_default();
    let audit = store.audit_of(&what.pull(), &run, lines).await.map_err(failed)?;
    let _ = writeln!(text, "audit log, the newest first{}", if audit.is_empty() { ": nothing" } else { "" });
    for line in audit {
        let _ =
            writeln!(text, "  {}  {}  {}  {}  {}", utc(line.at), line.actor, line.action, line.subject, line.detail);
    }
    Ok(text)
}

fn of_run(text: &mut String, run: &RunRow) {
    let ended = run.ended.map(|at| format!(", ended {}", utc(at))).unwrap_or_default();
    let how = match (&run.outcome, run.active) {
        (Some(outcome), _) => outcome.clone(),
        (None, true) => "goes on".to_owned(),
        (None, false) => "is over".to_owned(),
    };
    let _ = writeln!(text, "run {} of suite {}: {how}", run.id, run.suite);
    let _ = writeln!(text, "  head       {}", run.head);
    let _ = writeln!(text, "  made       {}{ended}", utc(run.created));
    if let Some(evidence) = &run.evidence {
        let _ = writeln!(text, "  evidence   {evidence}");
    }
}

/// Who works on a subject, when it is due, and what is to be done for it.
async fn subject(opened: &Opened, text: &mut String, key: &str, now: Ms) -> Result<(), Failure> {
    let store = &opened.store;
    let Some(subject) = store.read(key).await.map_err(failed)? else {
        let _ = writeln!(text, "  it has no state");
        return Ok(());
    };
    let held = store.lease(key).await.map_err(failed)?;
    let _ = writeln!(text, "  work       {}; {}", due(subject.due, now), lease(held.as_ref(), now));
    let effects = store.effects(key).await.map_err(failed)?;
    for effect in &effects {
        let _ = writeln!(text, "  to do      {}", to_do(effect, now));
    }
    Ok(())
}

fn to_do(effect: &StoredEffect, now: Ms) -> String {
    let body: Value = serde_json::from_str(&effect.body).unwrap_or_default();
    let kind = body.get("effect").and_then(Value::as_str).unwrap_or("?");
    let begun = match (effect.begun, effect.attempts) {
        (false, _) => "not begun".to_owned(),
        (true, 1) => "begun once".to_owned(),
        (true, more) => format!("begun {more} times"),
    };
    format!("{kind} ({}): {begun}, {}", effect.key, due(Some(effect.due), now))
}

/// How far a run is, and its trials.
async fn state(opened: &Opened, text: &mut String, key: &str, now: Ms) -> Result<(), Failure> {
    let Some(subject) = opened.store.read(key).await.map_err(failed)? else { return Ok(()) };
    let run = match Run::from_json(&subject.state) {
        Ok(run) => run,
        Err(why) => {
            let _ = writeln!(text, "  state      {why}");
            return Ok(());
        }
    };
    let progress = Progress::of(&run, now);
    let of = if progress.of == 0 { String::new() } else { format!(", round {} of {}", progress.round, progress.of) };
    let _ = writeln!(text, "  state      {}{of}", word(&run.state, "state"));
    if let Some(waits) = &progress.waits {
        let _ = writeln!(text, "  waits      {waits}");
    }
    for one in &run.trials {
        let _ = writeln!(text, "  trial      {}", trial(one));
    }
    for alive in run.alive() {
        let job = alive.job.map_or_else(|| "a job whose id is not known".to_owned(), |job| job.to_string());
        let _ = writeln!(text, "  may live   {job} of {}", alive.trial);
    }
    Ok(())
}

fn trial(trial: &Trial) -> String {
    let job = trial.job.as_ref().map_or_else(|| "no job known".to_owned(), |job| format!("job {job}"));
    let more = match &trial.state {
        TrialState::Over { fate: Fate::Counted } => ": counted".to_owned(),
        TrialState::Over { fate: Fate::Failed(failure) } => {
            format!(": failed, {}", failure.text.lines().next().unwrap_or_default())
        }
        TrialState::Over { fate: Fate::Discarded(discard) } => {
            match serde_json::to_value(discard).unwrap_or_default() {
                Value::String(word) => format!(": {}", word.replace('_', " ")),
                other => format!(": {other}"),
            }
        }
        TrialState::Submitting { attempt, .. } => format!(", attempt {attempt}"),
        TrialState::Live { unknown_since: Some(since), .. } => {
            format!(", not known to the backend since {}", utc(*since))
        }
        TrialState::Live { silent_since: Some(since), .. } => format!(", the backend is silent since {}", utc(*since)),
        _ => String::new(),
    };
    let stop = trial.stop.map(|at| format!(", told to stop {}", utc(at))).unwrap_or_default();
    format!("{} {}: {}{more}, {job}{stop}", trial.name, trial.role, word(&trial.state, "state"))
}

fn said(text: &mut String, lines: &[Line], now: Ms) {
    let _ = writeln!(text, "what is said{}", if lines.is_empty() { ": nothing yet" } else { "" });
    for line in lines {
        let remote = line.remote.map(|remote| format!(" as {remote}")).unwrap_or_default();
        if line.said {
            let _ = writeln!(text, "  said       {}{remote}", line.target);
            continue;
        }
        let tries =
            if line.attempts == 0 { String::new() } else { format!(", failed {} times in a row", line.attempts) };
        let trouble = line.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let held = line.lease.as_ref().map(|held| format!("; {}", lease(Some(held), now))).unwrap_or_default();
        let _ =
            writeln!(text, "  to say     {}{remote}, {}{tries}{trouble}{held}", line.target, due(Some(line.due), now));
    }
}
