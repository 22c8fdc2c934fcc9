//! The answers of a trial whose job is over: asked for until they are whole, or until it is known that they will not be.

use super::effect::{Effect, Keep, What};
use super::timing;
use super::trial::{Probe, Trial, TrialState, Unavailable};
use crate::ids::Digest;
use crate::ports::{Cause, Discard, End, Failure, Fate};
use crate::time::Ms;

impl Trial {
    pub(super) fn collect(
        &mut self,
        probe: u32,
        previous: Option<Digest>,
        keep: Keep,
        due: Ms,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.job.clone() else { return };
        self.asked = self.asked.saturating_add(1);
        let (trial, role, n) = (self.name.clone(), self.role.clone(), self.asked);
        effects.push(Effect { due, what: What::Collect { trial, role, job, n, probe, previous, keep } });
    }

    #[allow(clippy::too_many_arguments)] // the whole of what one state holds, and the event
    pub(super) fn probed(
        &mut self,
        end: End,
        probes: u32,
        before: Option<Digest>,
        unavailable: Option<Unavailable>,
        probe: &Probe,
        now: Ms,
        effects: &mut Vec<Effect>,
    ) {
        let failed = failure(&end);
        let is_failure = failed.is_some();
        let good = failed.clone().map_or(Fate::Counted, Fate::Failed);
        let poor = |discard| failed.clone().map_or(Fate::Discarded(discard), Fate::Failed);
        let probes = probes.saturating_add(u32::from(!matches!(probe, Probe::Unavailable(_))));
        let (previous, unavailable, due) = match probe {
            Probe::Complete { kept: true, .. } => return self.over(good),
            Probe::Complete { .. } if probes > 2 * self.late.probes() => {
                let why = "complete answers that stay the same".to_owned();
                return self.over(poor(Discard::Incomplete(vec![why])));
            }
            Probe::Complete { digest, .. } => (Some(digest.clone()), None, now.plus(self.late.repeat_after())),
            Probe::Incomplete { missing, kept } => {
                if *kept || probes > 2 * self.late.probes() {
                    return self.over(poor(Discard::Incomplete(missing.clone())));
                }
                (None, None, now.plus(self.late.probe_after(probes)))
            }
            Probe::Unavailable(why) => {
                let since = unavailable.as_ref().map_or(now, |before| before.since);
                let tries = unavailable.map_or(0, |before| before.tries).saturating_add(1);
                let silent = now.since(since) >= timing::SOURCE_FOR;
                if silent || (is_failure && tries >= timing::FAILED_TRIES) {
                    return self.over(poor(Discard::SourceUnavailable(why.clone())));
                }
                (before, Some(Unavailable { why: why.clone(), tries, since }), now.plus(timing::again_after(tries - 1)))
            }
            Probe::Unusable(why) => return self.over(poor(Discard::Infrastructure(why.clone()))),
        };
        let keep = match is_failure {
            true => Keep::Anything,
            false if probes >= self.late.probes() => Keep::Partial,
            false => Keep::Repeated,
        };
        self.state = TrialState::Collecting { end, probes, previous: previous.clone(), unavailable };
        self.collect(probes.saturating_add(1), previous, keep, due, effects);
    }
}

pub(super) fn failure(end: &End) -> Option<Failure> {
    match end {
        End::Failed { cause: Cause::Application { oom, text } } => Some(Failure { oom: *oom, text: text.clone() }),
        _ => None,
    }
}
