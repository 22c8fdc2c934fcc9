//! What a comment says beside what was measured: what becomes of a newer head, what people decided, what was merged.

use domain::pull::{Newer, NewerFate, NotAgain, PullState, Shown, Stage};
use domain::time::Ms;
use domain::view::Span;

use super::remarks::{self, Push, What, Why};

/// The remarks of a comment.
#[must_use]
pub(super) fn remarks(state: &PullState, shown: &Shown, now: Ms) -> Vec<Vec<Span>> {
    let Some(seen) = &state.seen else { return Vec::new() };
    let asked = &shown.asked;
    // Jobs that somebody named are none of another head: what is offered is to measure that one.
    let pairs = if asked.jobs { &[][..] } else { &asked.pairs[..] };
    let line = super::answers::without_sha(&asked.suite, pairs);
    let push = Push { line: &line, suite: &asked.suite, old: &asked.head, new: &seen.head };
    let over = matches!(shown.stage, Stage::Over(_));
    let mut told = Vec::new();
    if seen.base_ref != asked.base_ref {
        let base = seen.base_ref.clone();
        told.push(remarks::moved(&push, &What::NotAgain(Why::Retargeted { base })));
    } else if let Some(Newer { head, fate }) = &shown.newer
        && *head == seen.head
    {
        let due = state.next.get(&asked.suite).map(|next| next.due).filter(|due| *due > now);
        let what = match fate {
            NewerFate::Weighing => Some(What::BeingWeighed),
            NewerFate::Carried { why } => Some(What::CarriedOver { why: why.clone() }),
            NewerFate::Next { .. } if over => Some(What::Next { at: due }),
            NewerFate::Next { finishing: true, .. } => Some(What::Finishing { at: due }),
            NewerFate::Next { finishing: false, .. } => Some(What::Superseding { at: due }),
            NewerFate::Not { why } => match why {
                NotAgain::Fork => Some(What::NotAgain(Why::Fork)),
                NotAgain::Draft => Some(What::NotAgain(Why::Draft)),
                NotAgain::Off => Some(What::OnlyStale),
                NotAgain::SwitchedOff { .. } => Some(What::NotAgain(Why::Off)),
                NotAgain::Refused { why } => Some(What::NotAgain(Why::Budget(why.clone()))),
                NotAgain::Reopened => {
                    told.push(remarks::reopened(&line));
                    None
                }
                NotAgain::Ended => Some(What::NotAgain(Why::Ended)),
            },
        };
        told.extend(what.map(|what| remarks::moved(&push, &what)));
    }
    if seen.merged {
        let goes_on = !over || state.next.contains_key(&asked.suite);
        told.push(remarks::merged(&seen.head, &seen.base_ref, goes_on));
    }
    told
}
