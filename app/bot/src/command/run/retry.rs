//! From a finished folder without a verdict, or without one about the change, to a plan that measures what is missing.

use std::path::Path;

use domain::plan::Plan;
use domain::ports::How;
use domain::request::Options;
use evidence::bundle::CALIBRATION;
use evidence::{Bundle, DiskStorage, Folder, Storage};
use suite::{Backend, Suite};

use super::earlier::{again, finished, over};
use super::plan::{Commits, Prepared, usage};
use crate::cli::World;
use crate::failure::Failure;

/// Plans what is missing of a comparison that was cancelled, failed, or was inconclusive because of the infrastructure: the
/// same commits, steps, workload, looks and ledger. Its rounds stay counted, its looks stay taken. On a cluster, jobs of its
/// last round that may have ended well are collected again before anything is launched.
///
/// # Errors
/// [`Failure::Usage`] where the folder is no finished comparison, its verdict stands, or the suite has changed since.
pub fn retry(
    suite: &Suite,
    options: &Options,
    commits: &Commits<'_>,
    folder: &Path,
    config: Option<&Path>,
    world: &World<'_>,
) -> Result<Prepared, Failure> {
    if *options != Options::default() {
        return Err(usage("--retry repeats the request of the earlier run: nothing else may be given"));
    }
    let bundle = finished(folder)?;
    let (mirror, holds, run) = again(suite, &bundle.plan, folder, commits, "retry", world)?;
    let refused = |why: String| Err(usage(format!("{}: {why}", folder.display())));
    if !bundle.plan.origin.ran.is_empty() {
        return refused("it is of jobs that had run before: compare them again".to_owned());
    }
    let taken = evidence::retry::of(&bundle, &run, matches!(suite.backend, Backend::Iris(_)));
    if taken.undecided.is_empty() {
        return refused("it came to a verdict, which stands; nothing is missing".to_owned());
    }
    if taken.only_infrastructure(&bundle) == Some(false) {
        return refused(format!("{}, which is not for the infrastructure; its verdict stands", ended(&bundle)));
    }
    if taken.retry.looked as usize >= bundle.plan.looks.len() {
        return refused("every look that it declared is taken; only rounds can be added".to_owned());
    }
    let rounds = taken.rounds - bundle.plan.earlier_rounds;
    let mut notes = bundle.plan.notes.clone();
    notes.push(format!("goes on from {}, which {}: {}", bundle.plan.run, ended(&bundle), counted(rounds)));
    if !taken.retry.adopts.is_empty() {
        notes.push(format!("{} trials of its last round are collected again", taken.retry.adopts.len()));
    }
    // Nobody may have agreed to what was never begun.
    let confirm = bundle.plan.confirm.clone().filter(|_| bundle.fates.is_empty());
    let before = bundle.plan;
    let plan = Plan {
        run,
        continues: Some(before.run.clone()),
        earlier_rounds: taken.rounds,
        retry: Some(taken.retry),
        confirm: None,
        notes,
        ..before
    };
    let storage = DiskStorage::new(folder);
    let calibration = storage.read(CALIBRATION).map_err(anyhow::Error::from)?;
    let prepared = over(plan, suite, folder, (mirror, holds), config, world)?;
    Ok(Prepared { calibration, confirm, ..prepared })
}

fn counted(rounds: u32) -> String {
    match rounds {
        0 => "none of its rounds counts".to_owned(),
        1 => "1 round of it counts".to_owned(),
        rounds => format!("{rounds} rounds of it count"),
    }
}

/// How it ended, in words of this program's own.
fn ended(bundle: &Bundle) -> String {
    match bundle.ending.as_ref().map(|ending| &ending.how) {
        Some(How::Judged { judged, .. }) => {
            let code = judged.headline().map_or("nothing", |headline| headline.reason.code());
            format!("came to {code}")
        }
        Some(How::Ended { how, .. }) => format!("ended as {}", how.key().replace('_', " ")),
        None => "did not end".to_owned(),
    }
}

/// Writes into the folder of a run what it needs of the one that it goes on from, where there is one.
///
/// # Errors
/// That one cannot be read, or other content is there.
pub fn bring(prepared: &Prepared, folder: &Folder<DiskStorage>) -> anyhow::Result<()> {
    let Some(earlier) = &prepared.continues else { return Ok(()) };
    let (run, earlier) = (&prepared.plan.run, DiskStorage::new(earlier));
    match &prepared.plan.retry {
        Some(_) => folder.retries(run, &earlier)?,
        None => folder.continues(run, &earlier)?,
    };
    Ok(())
}
