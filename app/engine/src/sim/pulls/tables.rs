//! The tables of the simulated store of a service, and its transactions: each is done as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use domain::budget::Place;
use domain::ids::Digest;
use domain::ports::desk::{ClaimedWant, RunRow, Settle, Settled, Want};
use domain::ports::{Committed, LookKey, LookRow, StoredEffect, Subject, Write};
use domain::time::Ms;

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) subject: Subject,
    /// Up to which version everything is said.
    pub(super) said: Option<u64>,
    pub(super) unsaid: Ms,
    pub(super) lease: Option<(String, Ms)>,
    pub(super) effects: Vec<StoredEffect>,
}

impl Row {
    fn new(subject: Subject, at: Ms) -> Self {
        Self { subject, said: None, unsaid: at, lease: None, effects: Vec::new() }
    }

    pub(super) fn is_unsaid(&self) -> bool {
        self.said.is_none_or(|said| self.subject.version > said)
    }

    fn is_free(&self, now: Ms) -> bool {
        self.lease.as_ref().is_none_or(|(_, until)| *until < now)
    }

    /// When it can be claimed.
    pub(super) fn due(&self) -> Option<Ms> {
        let due = self.subject.due?;
        Some(self.lease.as_ref().map_or(due, |(_, until)| due.max(until.plus(1))))
    }
}

/// Something that is to be said.
#[derive(Clone, Debug)]
pub(super) struct Saying {
    pub(super) want: ClaimedWant,
    pub(super) said: Option<Digest>,
    pub(super) due: Ms,
    pub(super) lease: Option<(String, Ms)>,
}

impl Saying {
    pub(super) fn is_open(&self) -> bool {
        self.said.as_ref() != Some(&self.want.hash)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) subjects: BTreeMap<String, Row>,
    pub(super) looks: BTreeMap<LookKey, LookRow>,
    pub(super) runs: Vec<RunRow>,
    /// Runs that have asked for their turn, and whether they have it.
    pub(super) turns: BTreeMap<String, bool>,
    pub(super) outbox: BTreeMap<String, Saying>,
    /// Deliveries that are handled.
    pub(super) handled: BTreeSet<String>,
}

impl Tables {
    pub(super) fn create(&mut self, subject: Subject, at: Ms) -> bool {
        if self.subjects.contains_key(&subject.key) {
            return false;
        }
        self.subjects.insert(subject.key.clone(), Row::new(subject, at));
        true
    }

    pub(super) fn claim(&mut self, prefix: &str, owner: &str, now: Ms, until: Ms, limit: usize) -> Vec<Subject> {
        let due = |row: &&mut Row| row.subject.due.is_some_and(|due| due <= now) && row.is_free(now);
        let of = self.subjects.iter_mut().filter(|(key, _)| key.starts_with(prefix)).map(|(_, row)| row);
        let mut rows: Vec<&mut Row> = of.filter(due).collect();
        rows.sort_by(|a, b| (a.subject.due, &a.subject.key).cmp(&(b.subject.due, &b.subject.key)));
        let claim = |row: &mut Row| {
            row.lease = Some((owner.to_owned(), until));
            row.subject.fence += 1;
            row.subject.clone()
        };
        rows.into_iter().take(limit).map(claim).collect()
    }

    pub(super) fn write(&mut self, write: Write) -> Committed {
        let Some(row) = self.subjects.get_mut(&write.subject) else { return Committed::Outdated };
        if row.subject.version != write.version || row.subject.fence != write.fence {
            return Committed::Outdated;
        }
        if let Some(look) = write.look {
            if self.looks.contains_key(&look.key) {
                return Committed::LookTaken;
            }
            self.looks.insert(look.key.clone(), look);
        }
        if !row.is_unsaid() {
            row.unsaid = write.at;
        }
        row.subject.version += 1;
        row.subject.state = write.state;
        row.subject.due = write.due;
        row.effects.retain(|effect| !write.finished.contains(&effect.key));
        for (key, body, due) in write.effects {
            if !row.effects.iter().any(|effect| effect.key == key) {
                row.effects.push(StoredEffect { key, body, begun: false, attempts: 0, due });
            }
        }
        Committed::Done(row.subject.version)
    }

    /// One transaction: everything is looked at first, then all of it is done.
    pub(super) fn settle(&mut self, settle: Settle) -> Settled {
        if let Some(refused) = self.refusal(&settle) {
            return refused;
        }
        self.settled(settle);
        Settled::Done
    }

    /// Why nothing is done.
    fn refusal(&self, settle: &Settle) -> Option<Settled> {
        if settle.delivery.as_ref().is_some_and(|(guid, ..)| self.handled.contains(guid)) {
            return Some(Settled::Outdated);
        }
        let there = |subject: &Subject| self.subjects.contains_key(&subject.key);
        let fits = |write: &Write| {
            let row = self.subjects.get(&write.subject).map(|row| (row.subject.version, row.subject.fence));
            row == Some((write.version, write.fence))
        };
        if settle.create.iter().any(there) || !settle.writes.iter().all(fits) {
            return Some(Settled::Outdated);
        }
        let taken = |write: &Write| write.look.as_ref().is_some_and(|look| self.looks.contains_key(&look.key));
        if settle.writes.iter().any(taken) {
            return Some(Settled::LookTaken);
        }
        // What is over makes room for what begins; what begins and is over at once held it for that moment.
        let ends = |known: &RunRow| settle.over.iter().any(|(id, ..)| *id == known.id);
        let refuses = |run: &RunRow, known: &RunRow| {
            let busy = known.active && !ends(known) && (known.repo, known.number) == (run.repo, run.number);
            busy || known.id == run.id || known.request == run.request
        };
        let among = |n: usize, run: &RunRow| {
            settle
                .begin
                .iter()
                .skip(n + 1)
                .any(|other| other.request == run.request || (other.repo, other.number) == (run.repo, run.number))
        };
        let mut begins = settle.begin.iter().enumerate();
        let busy = begins.any(|(n, run)| among(n, run) || self.runs.iter().any(|known| refuses(run, known)));
        busy.then_some(Settled::Busy)
    }

    fn settled(&mut self, settle: Settle) {
        self.handled.extend(settle.delivery.map(|(guid, ..)| guid));
        for subject in settle.create {
            self.create(subject, settle.at);
        }
        for write in settle.writes {
            self.write(write);
        }
        for (key, version) in settle.said {
            if let Some(row) = self.subjects.get_mut(&key).filter(|row| row.said.is_none_or(|said| said < version)) {
                (row.said, row.unsaid) = (Some(version), settle.at);
            }
        }
        self.runs.extend(settle.begin);
        for (id, ledger) in settle.planned {
            if let Some(run) = self.runs.iter_mut().find(|run| run.id == id) {
                run.ledger = Some(ledger);
            }
        }
        for over in settle.over {
            self.over(over, settle.at);
        }
        for want in settle.wants {
            self.want(want);
        }
    }

    fn over(&mut self, (id, outcome, evidence): (domain::ids::RunId, String, Option<Digest>), at: Ms) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.id == id) {
            (run.active, run.outcome, run.evidence, run.ended) = (false, Some(outcome), evidence, Some(at));
        }
    }

    fn want(&mut self, want: Want) {
        let hash = Digest::of(want.wanted.as_bytes());
        let Some(known) = self.outbox.get_mut(&want.target) else {
            let (target, wanted) = (want.target.clone(), want.wanted);
            let claimed = ClaimedWant { target, wanted, hash, remote: None, gone: 0, attempts: 0, fence: 0 };
            self.outbox.insert(want.target, Saying { want: claimed, said: None, due: want.due, lease: None });
            return;
        };
        if known.want.hash != hash {
            known.due = if known.is_open() { known.due.min(want.due) } else { want.due };
            (known.want.hash, known.want.wanted) = (hash, want.wanted);
        }
    }

    pub(super) fn claim_wants(&mut self, owner: &str, now: Ms, until: Ms, limit: usize) -> Vec<ClaimedWant> {
        let free = |saying: &Saying| saying.lease.as_ref().is_none_or(|(_, until)| *until < now);
        let due = |saying: &&mut Saying| saying.is_open() && saying.due <= now && free(saying);
        let mut rows: Vec<&mut Saying> = self.outbox.values_mut().filter(due).collect();
        rows.sort_by(|a, b| (a.due, &a.want.target).cmp(&(b.due, &b.want.target)));
        let claim = |saying: &mut Saying| {
            (saying.lease, saying.said) = (Some((owner.to_owned(), until)), None);
            saying.want.fence += 1;
            saying.want.clone()
        };
        rows.into_iter().take(limit).map(claim).collect()
    }

    /// Whether a run has its turn: the longest waiting goes first.
    pub(super) fn grant(&mut self, key: &str, at_once: u32) -> bool {
        let Some(run) = key.strip_prefix("run:").and_then(|id| self.runs.iter().find(|run| run.id.as_str() == id))
        else {
            return true;
        };
        if !run.active {
            return false;
        }
        let id = run.id.to_string();
        let granted = *self.turns.entry(id.clone()).or_insert(false);
        let before = |other: &&RunRow| {
            other.active
                && other.id != run.id
                && match self.turns.get(other.id.as_str()) {
                    Some(true) => true,
                    Some(false) => (other.created, &other.id) < (run.created, &run.id),
                    None => false,
                }
        };
        let ahead = self.runs.iter().filter(before).count();
        let granted = granted || ahead < at_once as usize;
        self.turns.insert(id, granted);
        granted
    }

    /// The line of the runs that go on.
    pub(super) fn places(&self) -> Vec<Place> {
        let turn = |run: &RunRow| self.turns.get(run.id.as_str()).copied();
        let place = |run: &RunRow| Place {
            run: run.id.clone(),
            started: turn(run) == Some(true),
            ready: turn(run).is_some(),
            week_cpu_ms: 0,
            since: run.created,
        };
        self.runs.iter().filter(|run| run.active).map(place).collect()
    }

    /// When something is due next: a subject, or something to be said.
    pub(super) fn next_due(&self) -> Option<Ms> {
        let wants = self
            .outbox
            .values()
            .filter(|saying| saying.is_open())
            .map(|saying| saying.lease.as_ref().map_or(saying.due, |(_, until)| saying.due.max(until.plus(1))));
        self.subjects.values().filter_map(Row::due).chain(wants).min()
    }
}
