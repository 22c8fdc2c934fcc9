//! What a person sees while a run goes on: one line that changes on a terminal, lines elsewhere.

use std::collections::BTreeSet;
use std::io::Write;

use domain::arms::Role;
use domain::ids::JobId;
use engine::Progress;
use engine::progress::Phase;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::World;

/// Tells how far a run is.
pub(super) struct Teller<'w> {
    out: &'w mut dyn Write,
    bar: Option<ProgressBar>,
    last: String,
    /// Jobs that were named.
    jobs: BTreeSet<JobId>,
}

impl<'w> Teller<'w> {
    pub(super) fn new(world: &'w mut World<'_>) -> Self {
        let bar = world.terminal.then(|| {
            let bar = ProgressBar::new(0);
            // The template is a constant that the tests draw.
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} trials · {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { out: &mut *world.stderr, bar, last: String::new(), jobs: BTreeSet::new() }
    }

    /// Tells of the progress. Elsewhere than on a terminal a line is printed only when something other than the time
    /// has changed.
    pub(super) fn tell(&mut self, progress: &Progress) {
        let said = sentence(progress);
        for (role, job) in &progress.jobs {
            // Processes of this machine have no names that anybody could look up.
            if !job.as_str().starts_with("/local/") && self.jobs.insert(job.clone()) {
                let line = format!("round {}, {role}: job {job}", progress.round);
                match &self.bar {
                    Some(bar) => bar.println(line),
                    // As below.
                    None => drop(writeln!(self.out, "{line}")),
                }
            }
        }
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.trials_planned);
                bar.set_position(progress.trials_done);
                let left = progress.remaining_ms.map(|ms| format!(" · about {} left", duration(ms)));
                bar.set_message(format!("{said}{}", left.unwrap_or_default()));
            }
            None if said != self.last => {
                let left = progress.remaining_ms.map(|ms| format!("; about {} left", duration(ms)));
                // Nobody watching is no reason to stop measuring.
                let _ = writeln!(self.out, "{said}{}", left.unwrap_or_default());
                self.last = said;
            }
            None => {}
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn sentence(progress: &Progress) -> String {
    let round = if u64::from(progress.round) > progress.of {
        format!("round {}, beside those that were planned", progress.round)
    } else {
        format!("round {} of at most {}", progress.round, progress.of)
    };
    let replaced = match (&progress.spoiled, progress.replacement) {
        (_, 0) => String::new(),
        (None, _) => ", measured anew".to_owned(),
        (Some((role, why)), _) => format!(", measured anew ({role} before: {})", plain(why)),
    };
    let arms: Vec<String> = progress.arms.iter().map(Role::to_string).collect();
    let arms = if arms.is_empty() { String::new() } else { format!(": {}", arms.join(", ")) };
    let waits = progress.waits.as_ref().map(|why| format!(" ({})", plain(why))).unwrap_or_default();
    match progress.phase {
        Phase::Queued | Phase::Planning => "starting".to_owned(),
        Phase::AwaitingConfirmation => "waiting for agreement".to_owned(),
        Phase::Waiting => format!("{round}{replaced}{arms}, preparing{waits}"),
        Phase::Running => {
            let step = progress.step.as_ref().map(|step| match (&step.name, step.of) {
                (_, 0) => ", starting".to_owned(),
                (Some(name), of) => format!(", {} ({} of {of})", plain(name), (step.done + 1).min(of)),
                (None, of) => format!(", {} of {of} stages done", step.done),
            });
            format!("{round}{replaced}{arms}{}", step.unwrap_or_default())
        }
        Phase::Collecting => format!("{round}{replaced}{arms}, collecting{waits}"),
        Phase::Judging => format!("judging after {} of at most {} rounds", progress.round, progress.of),
        Phase::Stopping => "stopping what was started".to_owned(),
        Phase::Sealing => "sealing the evidence".to_owned(),
        Phase::Over => format!("done in {}", duration(progress.elapsed_ms)),
    }
}

/// A name from a cluster, as a terminal may see it.
fn plain(name: &str) -> String {
    name.chars().take(160).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Seconds up to two minutes, then minutes, then hours and minutes.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (ms, said) in [(0, "0 s"), (1, "1 s"), (119_000, "119 s"), (121_000, "3 min"), (7_260_000, "2 h 01 min")] {
            assert_eq!(duration(ms), said);
        }
    }
}
