//! What happens outside of the service: pushes, people, rules, weather.

use domain::ports::forge::{CheckState, Permission};
use domain::pull::{OnPush, Push};
use domain::time::Ms;

use super::acts::{Act, Pushed, Verb};
use super::hub::{BRANCHES, Comment, Hub, SUITES, Told, Town, Typed, manners};

/// Does an act that is none of the service's.
pub(super) fn happen(town: &Town, act: Act) {
    let now = town.now();
    match act {
        Act::Silence { ms, source } => {
            let mut world = town.world.lock();
            let until = world.now.plus(ms);
            let silent = if source { &mut world.source_silent } else { &mut world.lab_silent };
            *silent = until;
        }
        act => {
            let mut hub = town.hub();
            hub.act(act, now);
            let numbers: Vec<u64> = hub.pulls.keys().copied().collect();
            for number in numbers {
                hub.noted(number);
            }
        }
    }
}

impl Hub {
    fn act(&mut self, act: Act, now: Ms) {
        match act {
            Act::Push { pull, what } => self.push(pull, what, now),
            Act::Draft { pull, on } => {
                if let Some(of) = self.pulls.get_mut(&pull).filter(|of| of.open && of.draft != on) {
                    of.draft = on;
                    self.deliver(Told::Pull { number: pull, push: None }, now);
                }
            }
            Act::Close { pull } | Act::Merge { pull } => {
                if let Some(of) = self.pulls.get_mut(&pull).filter(|of| of.open) {
                    of.open = false;
                    of.merged = matches!(act, Act::Merge { .. });
                    self.deliver(Told::Pull { number: pull, push: None }, now);
                }
            }
            Act::Reopen { pull } => self.reopen(pull, now),
            Act::Retarget { pull } => {
                if let Some(of) = self.pulls.get_mut(&pull).filter(|of| of.open) {
                    let other = usize::from(of.base_ref == BRANCHES[0]);
                    BRANCHES[other].clone_into(&mut of.base_ref);
                    if let Some(since) = self.since.get_mut(&pull) {
                        since.away = true;
                    }
                    self.deliver(Told::Pull { number: pull, push: None }, now);
                }
            }
            Act::Comment { pull, who, suite, verb } => self.comment(pull, who, SUITES[suite % SUITES.len()], verb, now),
            Act::Press { who, back, button } => {
                let check = self.checks.iter().rev().nth(back).map(|(id, _)| *id);
                if let Some(check) = check {
                    self.since.values_mut().for_each(|since| since.people = true);
                    self.deliver(Told::Pressed { check, by: who, button }, now);
                }
            }
            Act::Delete { pull } => {
                let last = self.comments.iter().rposition(|comment| comment.ours && comment.pull == pull);
                if let Some(last) = last {
                    self.comments.remove(last);
                    self.deleted.insert(pull);
                }
            }
            Act::Paste { pull } => {
                let ours = self.comments.iter().find(|comment| comment.ours && comment.pull == pull);
                if let Some(body) = ours.map(|comment| comment.body.clone()) {
                    let id = self.number();
                    self.comments.push(Comment { id, pull, ours: false, body });
                }
            }
            Act::Rights { who } => {
                let count = self.people.len();
                let right = &mut self.people[who % count].1;
                *right = if *right >= Permission::Write { Permission::Read } else { Permission::Write };
            }
            Act::Manners { suite, knob } => {
                let suite = SUITES[suite % SUITES.len()];
                self.manners.insert(suite, manners(knob));
            }
            Act::Needed { pull, state } => self.needs(pull, state),
            Act::Remove => {
                self.installed = false;
                self.deliver(Told::Removed, now);
            }
            Act::Limit { ms } => self.limited = now.plus(ms),
            _ => {}
        }
    }

    fn push(&mut self, number: u64, what: Pushed, now: Ms) {
        let Some(pull) = self.pulls.get(&number).filter(|pull| !pull.merged).cloned() else { return };
        let head = match what {
            Pushed::Matters => self.commit(None),
            Pushed::SameFiles => self.commit(Some(&pull.head)),
            Pushed::Back => {
                let heads = self.heads.get(&number).cloned().unwrap_or_default();
                let nth = self.chance.below(heads.len().max(1) as u64);
                heads.get(usize::try_from(nth).unwrap_or(0)).cloned()
            }
        };
        let Some(head) = head.filter(|head| *head != pull.head) else { return };
        if !pull.open {
            // The forge moves the head of a closed pull request only when it is opened again.
            self.held.insert(number, head);
            return;
        }
        self.moved(number, head, now);
    }

    fn moved(&mut self, number: u64, head: domain::ids::CommitSha, now: Ms) {
        let Some(pull) = self.pulls.get_mut(&number) else { return };
        let before = std::mem::replace(&mut pull.head, head.clone());
        self.heads.entry(number).or_default().push(head.clone());
        self.pushed(number);
        self.deliver(Told::Pull { number, push: Some(Push { before, after: head, at: now }) }, now);
    }

    fn reopen(&mut self, number: u64, now: Ms) {
        let Some(pull) = self.pulls.get_mut(&number).filter(|pull| !pull.open && !pull.merged) else { return };
        pull.open = true;
        let held = self.held.remove(&number);
        if let Some(head) = held {
            pull.head = head.clone();
            self.heads.entry(number).or_default().push(head);
            self.pushed(number);
        }
        if let Some(since) = self.since.get_mut(&number) {
            since.away = true;
        }
        self.deliver(Told::Pull { number, push: None }, now);
    }

    fn comment(&mut self, pull: u64, by: usize, suite: &'static str, verb: Verb, now: Ms) {
        let sha = self.pulls.get(&pull).filter(|_| verb == Verb::RunNamed).map(|pull| pull.head.clone());
        let comment = self.number();
        self.comments.push(Comment { id: comment, pull, ours: false, body: format!("/ab-test {suite} {verb:?}") });
        if let Some(since) = self.since.get_mut(&pull) {
            // Whoever asks for a run changes nothing about what pushes do.
            since.people |= !matches!(verb, Verb::Run | Verb::RunNamed);
        }
        let typed = Typed { comment, pull, by, suite, verb, sha, at: now };
        if self.installed {
            self.typed.push(typed.clone());
        }
        self.deliver(Told::Typed(typed), now);
    }

    fn needs(&mut self, number: u64, state: CheckState) {
        if let Some(pull) = self.pulls.get(&number) {
            self.needed.insert(pull.head.clone(), state);
        }
    }

    /// Whether pushes start something in a suite now.
    pub(super) fn is_off(&self, suite: &str) -> bool {
        self.manners.get(suite).is_some_and(|manners| manners.on_push == OnPush::Off)
    }
}
