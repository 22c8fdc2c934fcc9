//! What is done to a run and to its pull request.

use std::fmt::Write as _;

use domain::ids::JobId;
use domain::machine::{Event, Run, State, Trial, TrialEvent, TrialState, step};
use domain::ports::desk::{RunRow, Settle, Settled};
use domain::ports::{Desk as _, Discard, Fate, Store as _, StoreError, Write};
use domain::rounds::TrialName;
use domain::time::utc;
use store::admin::Unstick;

use super::open::Opened;
use super::which::{What, key};
use crate::failure::Failure;

/// How often a run is tried to be moved that the service moves at the same time.
const TRIES: usize = 20;

fn failed(why: StoreError) -> Failure {
    Failure::Other(why.into())
}

/// Makes everything due that was put off.
pub(super) async fn unstick(opened: &Opened, what: &What, force: bool) -> Result<String, Failure> {
    let (store, now) = (&opened.store, opened.now());
    let mut subjects = vec![what.pull()];
    subjects.extend(what.run.as_ref().map(key));
    let mut still = Vec::new();
    for subject in &subjects {
        let held = store.lease(subject).await.map_err(failed)?.filter(|held| held.until >= now);
        still.extend(held.map(|held| format!("{subject} ({} until {})", held.owner, utc(held.until))));
    }
    let about = what.run.as_ref().map_or_else(|| what.pull(), key);
    let detail = if force { "everything due, leases freed by force" } else { "everything due" };
    let audit = opened.audit("unstick", &about, detail.to_owned());
    let done = store.unstick(Unstick { subjects, targets: what.targets(), force, now, audit }).await.map_err(failed)?;
    let mut text = format!(
        "due now: {} of run and pull request, {} of what is to be done, {} of what is to be said\n",
        done.subjects, done.effects, done.unsaid
    );
    // Writing to a text cannot fail.
    let _ =
        writeln!(text, "leases freed: {} that had ended, {} that still ran", done.ended_leases, done.running_leases);
    if !force && !still.is_empty() {
        let _ = writeln!(text, "somebody works on it: {}; --force takes that back", still.join(", "));
    }
    text.push_str(
        "what the service itself has put off in its memory it tries again when that is due, or when it is restarted\n",
    );
    Ok(text)
}

/// The trial that is meant.
fn named<'r>(run: &'r Run, text: &str) -> Result<&'r Trial, Failure> {
    let whole = if text.starts_with("zab-") { text.to_owned() } else { format!("zab-{}-{text}", run.id) };
    run.trials.iter().find(|trial| trial.name.to_string() == whole).ok_or_else(|| {
        let all: Vec<String> = run.trials.iter().map(|trial| trial.name.to_string()).collect();
        let all = if all.is_empty() { "none yet".to_owned() } else { all.join(", ") };
        Failure::Usage(format!("run {} has no trial {text}; it has {all}", run.id))
    })
}

/// Why a trial takes no job.
fn refusal(trial: &Trial) -> String {
    let job = trial.job.as_ref().map(|job| format!(", {job}")).unwrap_or_default();
    match &trial.state {
        TrialState::Live { .. } => format!("its job{job}, is known and alive"),
        TrialState::Settled { .. } | TrialState::Collecting { .. } => {
            format!("its job{job}, is over and its measurements are being collected")
        }
        TrialState::Over { fate: Fate::Discarded(Discard::Lost) } => {
            "that it was lost is written down as evidence, and its round is measured anew: adopt a job before ten minutes \
             have passed"
                .to_owned()
        }
        TrialState::Over { .. } => "it is over, and what became of it is written down as evidence".to_owned(),
        TrialState::Planned | TrialState::Submitting { .. } => "it takes one".to_owned(),
    }
}

/// Whether another trial has the job, as far as the store tells.
async fn taken(opened: &Opened, this: &TrialName, job: &JobId) -> Result<Option<String>, Failure> {
    if let Ok(of) = job.root_name().parse::<TrialName>()
        && of != *this
    {
        return Ok(Some(format!("{job} is by its name the job of trial {of}")));
    }
    for row in opened.store.active_runs().await.map_err(failed)? {
        let Some(subject) = opened.store.read(&key(&row)).await.map_err(failed)? else { continue };
        // One that cannot be read has its jobs under their own names.
        let Ok(run) = Run::from_json(&subject.state) else { continue };
        let other = run.trials.iter().find(|trial| trial.name != *this && trial.job.as_ref() == Some(job));
        if let Some(other) = other {
            return Ok(Some(format!("{job} is the job of trial {}", other.name)));
        }
    }
    Ok(None)
}

/// Says which job a trial is.
pub(super) async fn adopt(opened: &Opened, row: &RunRow, trial: &str, job: &JobId) -> Result<String, Failure> {
    let subject_key = key(row);
    for _ in 0..TRIES {
        let subject = opened.store.read(&subject_key).await.map_err(failed)?;
        let subject = subject.ok_or_else(|| Failure::Usage(format!("run {} has no state", row.id)))?;
        let before = Run::from_json(&subject.state).map_err(anyhow::Error::from)?;
        let of = named(&before, trial)?;
        if !matches!(before.state, State::Measuring { .. } | State::Stopping { .. }) || !of.adopts() {
            return Err(Failure::Usage(format!("trial {} takes no job: {}", of.name, refusal(of))));
        }
        if let Some(why) = taken(opened, &of.name, job).await? {
            return Err(Failure::Usage(why));
        }
        let (name, role, now) = (of.name.clone(), of.role.clone(), opened.now());
        let launched = matches!(of.state, TrialState::Submitting { .. });
        let (after, effects) = step(&before, &Event::Trial(name.clone(), TrialEvent::Adopted(job.clone())), now);
        let effects: Vec<_> = effects
            .into_iter()
            .map(|effect| {
                let body = serde_json::to_string(&effect.what).map_err(anyhow::Error::from)?;
                Ok((effect.what.key(&after.id), body, effect.due))
            })
            .collect::<Result<_, anyhow::Error>>()?;
        let write = Write {
            subject: subject_key.clone(),
            version: subject.version,
            fence: subject.fence,
            state: after.to_json().map_err(anyhow::Error::from)?,
            due: Some(now),
            finished: Vec::new(),
            effects,
            look: None,
            at: now,
        };
        let audit = vec![opened.audit("adopt job", &subject_key, format!("{job} is the job of trial {name}"))];
        let settle = Settle { writes: vec![write], audit, at: now, ..Settle::default() };
        // Whoever has claimed the run finds its own write outdated and reads again.
        if opened.store.settle(settle).await.map_err(failed)? == Settled::Done {
            let mut text = format!("{job} is the job of trial {name} ({role}); it is followed from here on\n");
            if job.root_name() != name.to_string() {
                text.push_str(
                    "it has another name than the service gives to jobs: that it runs this arm is on your word\n",
                );
                if launched {
                    let _ = writeln!(
                        text,
                        "a launch of {name} that was not answered may have made a job, which nobody follows now"
                    );
                }
            }
            return Ok(text);
        }
    }
    Err(Failure::Other(anyhow::anyhow!("the service moves run {} all the time: try again", row.id)))
}
