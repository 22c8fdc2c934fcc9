//! What must hold when time has passed and everything is done that can be done.

use domain::machine::{Run, State};
use domain::ports::forge::{CheckWanted, Reaction};
use domain::pull::{Asked, NewerFate, NotAgain, PullState, Shown, Stage as At};
use domain::time::{DAY, SECOND};
use domain::view::Ending;

use super::acts::Part;
use super::hub::{Comment, Typed};
use super::stage::Stage;
use super::tables::{Row, Tables};
use crate::service::Conclusions;
use crate::service::saying::{REPLY, reply_target, verdict_target};
use crate::sim::world::Faults;

/// Steps until everything is at rest, at most.
const STEPS: u64 = 4000;
/// What is said of a head that something is still to happen to.
const PROMISES: [&str; 4] =
    ["is measured as soon as", "is measured from", "is measured after it", "is being found out"];

impl Stage {
    /// Lets everything work from now on until nothing is left to do. Returns how many steps that took.
    pub(super) fn rest(&mut self) -> u64 {
        {
            let mut world = self.town.world.lock();
            world.faults = Faults::default();
            (world.crash_at, world.pause_at) = (None, None);
            let mut hub = self.town.hub();
            (hub.flaky, hub.limited) = (0, world.now);
        }
        while self.wake(0) {}
        let until = self.town.now().plus(90 * DAY);
        let mut steps = 0;
        loop {
            steps += 1;
            if steps > STEPS || self.town.now() > until {
                let what = self.open();
                self.town.violated(format!("it does not come to rest: {}", what.join(", ")));
                break;
            }
            let done = self.once(usize::from(steps % 3 == 0));
            self.check();
            if done > 0 {
                continue;
            }
            let unsaid = self.desk.tables().subjects.values().any(Row::is_unsaid);
            let now = self.town.now();
            if !self.town.hub().installed && self.open().is_empty() {
                // What the forge refuses to say is tried every day.
                break;
            }
            match self.next_due() {
                // Many things ask every few seconds whether they may go on.
                Some(due) => self.advance(due.max(now.plus(20 * SECOND))),
                None if unsaid => self.advance(now.plus(60 * SECOND)),
                None => break,
            }
        }
        self.work(0, Part::Retell);
        self.work(0, Part::Outbox);
        self.check();
        steps
    }

    /// What is not done yet, in words.
    fn open(&self) -> Vec<String> {
        let installed = self.town.hub().installed;
        let tables = self.desk.tables();
        let mut open: Vec<String> =
            tables.runs.iter().filter(|run| run.active).map(|run| format!("{} goes on", run.id)).collect();
        open.extend(
            tables
                .outbox
                .values()
                .filter(|saying| installed && saying.is_open())
                .map(|saying| format!("{} is not said", saying.want.target)),
        );
        for (key, row) in &tables.subjects {
            open.extend(row.effects.iter().map(|effect| format!("{key} has {}", effect.key)));
            if row.is_unsaid() {
                open.push(format!("{key} is not told of"));
            }
        }
        open
    }

    /// Checks what must hold at rest.
    pub(super) fn check_rest(&self) {
        let open = self.open();
        if !open.is_empty() {
            self.town.violated(format!("at rest, and {}", open.join(", ")));
        }
        let installed = self.town.hub().installed;
        let numbers: Vec<u64> = self.town.hub().pulls.keys().copied().collect();
        for number in numbers {
            let Some(state) = self.pull(number) else { continue };
            if state.active.is_some() || !state.next.is_empty() {
                self.town.violated(format!("{number} waits for something that never comes"));
            }
            if installed {
                self.check_comments(&state);
                for shown in state.shown.values() {
                    self.check_newest(&state, shown);
                    self.check_conclusion(shown);
                }
            }
        }
        if installed {
            self.check_answers();
            self.check_checks();
        }
    }

    fn ours(&self, number: u64, marker: &str) -> Vec<Comment> {
        let hub = self.town.hub();
        let begins = |of: &&Comment| of.ours && of.pull == number && of.body.lines().next() == Some(marker);
        hub.comments.iter().filter(begins).cloned().collect()
    }

    fn check_comments(&self, state: &PullState) {
        let number = state.id.number;
        let deleted = self.town.hub().deleted.contains(&number);
        let one = |marker: &str, what: &str| {
            let comments = self.ours(number, marker);
            if comments.len() > 1 || (comments.is_empty() && !deleted) {
                self.town.violated(format!("{number} has {} comments for {what}", comments.len()));
            }
            comments.into_iter().next()
        };
        if self.desk.tables().outbox.contains_key(&reply_target(&state.id)) {
            one(REPLY, "the reply");
        }
        for (suite, shown) in &state.shown {
            let marker = marker(&self.desk.tables(), &verdict_target(&state.id, suite));
            let Some(marker) = marker else {
                self.town.violated(format!("{number} has no comment for {suite}"));
                continue;
            };
            if let Some(comment) = one(&marker, suite) {
                self.check_stale(number, shown, &comment);
            }
        }
    }

    /// Whether the verdict comment says whether what was measured is what would be merged.
    fn check_stale(&self, number: u64, shown: &Shown, comment: &Comment) {
        let body = &comment.body;
        for promise in PROMISES.into_iter().filter(|promise| body.contains(promise)) {
            self.town.violated(format!("the comment of {number} promises that a head {promise}, and nothing will"));
        }
        let about: Vec<Asked> = {
            let hub = self.town.hub();
            hub.planned.values().filter(|asked| body.contains(asked.run.as_str())).cloned().collect()
        };
        let Some(asked) = about.iter().find(|asked| asked.suite == shown.asked.suite) else {
            // A head that was put away, or could not be planned, was never a run.
            return;
        };
        if !matches!(self.run(&asked.run), Some(Run { state: State::Done { .. }, .. })) {
            return;
        }
        let hub = self.town.hub();
        let Some(pull) = hub.pulls.get(&number) else { return };
        let outdated = pull.base_ref != asked.base_ref || pull.head != asked.head;
        let stale = body.contains("Stale: ");
        let carried = body.contains(&format!("stands for `{}`, too: ", pull.head.short()));
        let really = hub.is_same(&asked.head, &pull.head)
            && hub.same.contains(&(asked.run.clone(), pull.head.clone()))
            && pull.base_ref == asked.base_ref;
        let any = body.contains("stands for `");
        let (run, head) = (&asked.run, pull.head.short().to_owned());
        let broken = match (outdated, stale, carried) {
            (true, false, false) => Some("does not say that it is stale"),
            (true, true, true) => Some("says that it is stale and carried over"),
            (true, false, true) if !really => Some("is carried over to a head that is another"),
            (true, true, false) if any => Some("is carried over to a head of before"),
            (false, true, _) => Some("says that it is stale and is not"),
            (false, false, _) if any => Some("is carried over to itself"),
            _ => None,
        };
        drop(hub);
        if let Some(what) = broken {
            self.town.violated(format!("the verdict of {run} on {number} {what}; the head is {head}"));
        }
    }

    /// The newest push is the one that is measured, where nothing speaks against it.
    fn check_newest(&self, state: &PullState, shown: &Shown) {
        let (number, suite) = (state.id.number, shown.asked.suite.as_str());
        let hub = self.town.hub();
        let Some(pull) = hub.pulls.get(&number) else { return };
        let since = hub.since.get(&number).cloned().unwrap_or_default();
        let fate = shown.newer.as_ref().filter(|newer| newer.head == pull.head).map(|newer| &newer.fate);
        let ended = match &shown.stage {
            At::Over(over) => over.ended.as_ref().map(|(how, _)| *how),
            At::Planning | At::Running => None,
        };
        let by_people = !matches!(ended, None | Some(Ending::Failed | Ending::Superseded | Ending::ChecksFailed));
        let excused = pull.is_fork()
            || !(pull.open || pull.merged)
            || shown.asked.base_ref != pull.base_ref
            || since.draft
            || since.away
            || since.people
            || since.unknown
            || since.off.contains(suite)
            || hub.is_off(suite)
            || state.auto.get(suite).is_some_and(|auto| !auto.on)
            || by_people
            || matches!(fate, Some(NewerFate::Carried { .. })) && ended.is_none()
            || matches!(fate, Some(NewerFate::Not { why: NotAgain::Refused { .. } }));
        let head = pull.head.clone();
        drop(hub);
        if !excused && shown.asked.head != head {
            let (measured, now) = (shown.asked.head.short(), head.short());
            self.town
                .violated(format!("the newest push {now} of {number} is not measured; {measured} is, and {fate:?}"));
        }
    }

    /// A head with a verdict has one check that says it.
    fn check_conclusion(&self, shown: &Shown) {
        let At::Over(over) = &shown.stage else { return };
        let Some(verdict) = over.verdict else { return };
        let hub = self.town.hub();
        let is = |of: &&CheckWanted| of.external == shown.asked.run.as_str() && of.head == shown.asked.head;
        let checks: Vec<&CheckWanted> = hub.checks.iter().map(|(_, of)| of).filter(is).collect();
        let other_base = hub.pulls.get(&shown.asked.pull.number).is_some_and(|of| of.base_ref != shown.asked.base_ref);
        let wanted = if other_base {
            Some(domain::ports::forge::Conclusion::Neutral)
        } else {
            Conclusions::default().of(Some(verdict), None, shown.decision.is_some())
        };
        let right = matches!(checks.as_slice(), [one] if one.conclusion == wanted);
        let count = checks.len();
        drop(hub);
        if !right {
            let run = &shown.asked.run;
            self.town
                .violated(format!("{count} checks of {run} are there, and should be one that ended as {wanted:?}"));
        }
    }

    fn check_checks(&self) {
        let hub = self.town.hub();
        let mut broken = Vec::new();
        for (id, check) in &hub.checks {
            // Of one name, the newest one is shown.
            let newer = |of: &(u64, CheckWanted)| of.0 > *id && (&of.1.head, &of.1.name) == (&check.head, &check.name);
            if check.conclusion.is_none() && !hub.checks.iter().any(newer) {
                broken.push(format!("the check {} stays as if something went on", check.external));
            }
            let same = |of: &&(u64, CheckWanted)| (&of.1.head, &of.1.external) == (&check.head, &check.external);
            let count = hub.checks.iter().filter(same).count();
            if count > 1 {
                broken.push(format!("{count} checks for {}", check.external));
            }
        }
        drop(hub);
        self.town.all_violated(broken);
    }

    /// Whoever may is answered.
    fn check_answers(&self) {
        let hub = self.town.hub();
        let reacted = |typed: &Typed, with: Reaction| hub.reactions.contains(&(typed.comment, with));
        let mut broken = Vec::new();
        for typed in &hub.typed {
            let any =
                [Reaction::Eyes, Reaction::Rocket, Reaction::Confused].into_iter().any(|with| reacted(typed, with));
            if !any {
                broken.push(format!("comment {} with {:?} was never answered", typed.comment, typed.verb));
            }
            let started =
                hub.planned.values().any(|of| of.comment == typed.comment && of.cause == domain::pull::Cause::Command);
            if hub.refused.contains(&typed.comment) && (started || !reacted(typed, Reaction::Confused)) {
                broken.push(format!("comment {} by somebody who may not was not refused", typed.comment));
            }
        }
        drop(hub);
        self.town.all_violated(broken);
    }
}

/// The line by which the comment of a target is found.
fn marker(tables: &Tables, target: &str) -> Option<String> {
    let saying = serde_json::from_str::<crate::service::Saying>(&tables.outbox.get(target)?.want.wanted).ok()?;
    match saying {
        crate::service::Saying::Verdict { comment, .. }
        | crate::service::Saying::Reply { comment }
        | crate::service::Saying::Notification { comment, .. } => Some(comment.marker),
        crate::service::Saying::Check { .. }
        | crate::service::Saying::Withdrawn
        | crate::service::Saying::Repost { .. }
        | crate::service::Saying::Labels { .. } => None,
    }
}
