//! The forge of the simulated world as it is: pull requests, commits, people, comments, checks, and what it still has to
//! deliver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::{CommitSha, RunId};
use domain::ports::forge::{Account, CheckState, CheckWanted, Permission, Pull, PullId, Reaction, Repo};
use domain::ports::{Manners, Notify};
use domain::pull::{Asked, OnPush, Push};
use domain::time::{MINUTE, Ms};
use domain::view::Ending;

use super::acts::{Knob, Verb};
use super::habit::Habit;
use crate::sim::chance::{Chance, about};
use crate::sim::world::Shared;

/// The suites.
pub(super) const SUITES: [&str; 2] = ["sim", "wide"];
/// The check that some suites need.
pub(super) const NEEDED: &str = "unit";
/// The branches.
pub(super) const BRANCHES: [&str; 2] = ["main", "release"];

/// A commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// Equal for commits whose files that matter are equal.
    pub(super) scope: u64,
    /// How planning it ends, where it cannot be planned.
    pub(super) hopeless: Option<Ending>,
    /// Whether a person has to agree to its plan.
    pub(super) costly: bool,
}

/// A comment.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) pull: u64,
    pub(super) ours: bool,
    pub(super) body: String,
}

/// A command as it was written.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) comment: u64,
    pub(super) pull: u64,
    pub(super) by: usize,
    pub(super) suite: &'static str,
    pub(super) verb: Verb,
    /// The commit that was named.
    pub(super) sha: Option<CommitSha>,
    pub(super) at: Ms,
}

/// What a delivery tells of.
#[derive(Clone, Debug)]
pub(super) enum Told {
    Pull { number: u64, push: Option<Push> },
    Typed(Typed),
    Pressed { check: u64, by: usize, button: &'static str },
    Removed,
}

/// A delivery that is not handled.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) guid: String,
    pub(super) told: Told,
    pub(super) due: Ms,
    pub(super) attempts: u32,
}

/// What happened since the newest push of a pull request, and may explain why nobody measured it.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is one fact, noted and asked for apart.
pub(super) struct Since {
    /// It was a draft at some time.
    pub(super) draft: bool,
    /// It was no draft at some time.
    pub(super) ready: bool,
    /// It was closed, or went into another branch.
    pub(super) away: bool,
    /// A command was written or a button pressed.
    pub(super) people: bool,
    /// Pushes started nothing, by the rules of a suite, at some time.
    pub(super) off: BTreeSet<&'static str>,
    /// Pushes started something at some time.
    pub(super) on: BTreeSet<&'static str>,
    /// It could not be found out what it changes.
    pub(super) unknown: bool,
}

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) chance: Chance,
    pub(super) pulls: BTreeMap<u64, Pull>,
    /// Heads that were pushed while a pull request was closed.
    pub(super) held: BTreeMap<u64, CommitSha>,
    pub(super) commits: BTreeMap<CommitSha, Commit>,
    pub(super) heads: BTreeMap<u64, Vec<CommitSha>>,
    pub(super) since: BTreeMap<u64, Since>,
    pub(super) people: Vec<(Account, Permission)>,
    pub(super) comments: Vec<Comment>,
    /// Pull requests on which a person deleted a comment of ours.
    pub(super) deleted: BTreeSet<u64>,
    pub(super) reactions: BTreeSet<(u64, Reaction)>,
    pub(super) checks: Vec<(u64, CheckWanted)>,
    pub(super) needed: BTreeMap<CommitSha, CheckState>,
    pub(super) manners: BTreeMap<&'static str, Manners>,
    pub(super) installed: bool,
    /// How often the forge or a repository does not answer, in cases of 1000.
    pub(super) flaky: u64,
    /// Until when it wants to be left alone.
    pub(super) limited: Ms,
    pub(super) open: Vec<Delivery>,
    pub(super) typed: Vec<Typed>,
    /// Commands of people who had the right when they were handled, and of those who had not.
    pub(super) allowed: BTreeSet<u64>,
    pub(super) refused: BTreeSet<u64>,
    /// Heads of forks that somebody who may approved.
    pub(super) approved: BTreeSet<(u64, CommitSha)>,
    /// What was planned, or tried to be.
    pub(super) planned: BTreeMap<RunId, Asked>,
    /// Heads of which it was said that they are the same as what a run measured.
    pub(super) same: BTreeSet<(RunId, CommitSha)>,
    next: u64,
}

/// The forge and the world around it, shared by the ports.
#[derive(Clone, Debug)]
pub(super) struct Town {
    pub(super) world: Shared,
    pub(super) hub: Arc<Mutex<Hub>>,
    pub(super) habit: Habit,
    pub(super) seed: u64,
}

impl Town {
    pub(super) fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Ms {
        self.world.lock().now
    }

    pub(super) fn log(&self, line: &str) {
        self.world.lock().log(line);
    }

    pub(super) fn violated(&self, what: String) {
        self.world.lock().violated(what);
    }

    pub(super) fn all_violated(&self, broken: Vec<String>) {
        for what in broken {
            self.violated(what);
        }
    }
}

pub(super) fn repo() -> Repo {
    Repo { id: 7, name: "octo/demo".to_owned(), installation: 3 }
}

pub(super) fn id(number: u64) -> PullId {
    PullId { repo: repo(), number }
}

pub(super) fn manners(knob: Knob) -> Manners {
    let (on_push, debounce, checks) = match knob {
        Knob::Auto => (OnPush::Auto, 10, false),
        Knob::AtOnce => (OnPush::Auto, 0, false),
        Knob::Supersede => (OnPush::Supersede, 10, false),
        Knob::Finish => (OnPush::Finish, 2, false),
        Knob::Off => (OnPush::Off, 10, false),
        Knob::Checked => (OnPush::Auto, 5, true),
    };
    let require_checks = if checks { vec![NEEDED.to_owned()] } else { Vec::new() };
    Manners { on_push, debounce_ms: debounce * MINUTE, notify: Notify::Reply, require_checks }
}

impl Hub {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = about(seed, "hub");
        let person = |id: u64, login: &str, permission| (Account { id, login: login.to_owned() }, permission);
        let mut hub = Self {
            pulls: BTreeMap::new(),
            held: BTreeMap::new(),
            commits: BTreeMap::new(),
            heads: BTreeMap::new(),
            since: BTreeMap::new(),
            people: vec![
                person(5, "mona", Permission::Write),
                person(6, "hubot", Permission::Admin),
                person(8, "reader", Permission::Read),
                person(9, "stranger", Permission::None),
            ],
            comments: Vec::new(),
            deleted: BTreeSet::new(),
            reactions: BTreeSet::new(),
            checks: Vec::new(),
            needed: BTreeMap::new(),
            manners: SUITES.into_iter().map(|suite| (suite, manners(Knob::Auto))).collect(),
            installed: true,
            flaky: chance.pick([0, 0, 50, 200]),
            limited: Ms(0),
            open: Vec::new(),
            typed: Vec::new(),
            allowed: BTreeSet::new(),
            refused: BTreeSet::new(),
            approved: BTreeSet::new(),
            planned: BTreeMap::new(),
            same: BTreeSet::new(),
            next: 100,
            chance,
        };
        let fork = hub.chance.happens(500);
        for (number, fork) in [(1, false), (2, fork)] {
            let Some(head) = hub.commit(None) else { continue };
            let Some(base) = hub.commit(None) else { continue };
            let pull = Pull {
                id: id(number),
                head: head.clone(),
                head_ref: "topic".to_owned(),
                head_repo: Some(if fork { 77 } else { 7 }),
                base_ref: "main".to_owned(),
                base,
                open: true,
                merged: false,
                draft: false,
            };
            hub.pulls.insert(number, pull);
            hub.heads.insert(number, vec![head]);
            hub.pushed(number);
        }
        hub
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A new commit; of the same scope as another one where that is given.
    pub(super) fn commit(&mut self, like: Option<&CommitSha>) -> Option<CommitSha> {
        let number = self.number();
        let sha: CommitSha = format!("{number:07x}{number:033x}").parse().ok()?;
        let scope = like.and_then(|like| self.commits.get(like)).map_or(number, |like| like.scope);
        let hopeless = match self.chance.below(40) {
            0 => Some(Ending::Refused),
            1 => Some(Ending::Failed),
            _ => None,
        };
        let costly = self.chance.happens(120);
        self.commits.insert(sha.clone(), Commit { scope, hopeless, costly });
        Some(sha)
    }

    pub(super) fn is_same(&self, one: &CommitSha, other: &CommitSha) -> bool {
        let scope = |sha| self.commits.get(sha).map(|commit| commit.scope);
        one == other || scope(one).is_some_and(|scope| self.commits.get(other).is_some_and(|of| of.scope == scope))
    }

    /// The head is new: what explains that nobody measured it begins anew.
    pub(super) fn pushed(&mut self, number: u64) {
        self.since.insert(number, Since::default());
        self.noted(number);
    }

    /// Notes how things are with a pull request.
    pub(super) fn noted(&mut self, number: u64) {
        let (Some(pull), Some(since)) = (self.pulls.get(&number), self.since.get_mut(&number)) else { return };
        since.draft |= pull.draft;
        since.ready |= !pull.draft;
        since.away |= !(pull.open || pull.merged);
        for (suite, manners) in &self.manners {
            let of = if manners.on_push == OnPush::Off { &mut since.off } else { &mut since.on };
            of.insert(suite);
        }
    }

    pub(super) fn deliver(&mut self, told: Told, now: Ms) {
        if !self.installed && !matches!(told, Told::Removed) {
            return;
        }
        let guid = format!("guid-{}", self.number());
        self.open.push(Delivery { guid, told, due: now, attempts: 0 });
    }

    pub(super) fn permission(&self, who: &Account) -> Permission {
        self.people.iter().find(|(account, _)| account.id == who.id).map_or(Permission::None, |(_, of)| *of)
    }
}
