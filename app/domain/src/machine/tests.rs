//! The tables of the machines, row by row.

mod corners;
mod retry;
mod run;
mod trial;

use stats::Reason;

use super::{Effect, Event, Frame, Probe, Run, State, Stop, TrialEvent, What, step};
use crate::arms::Role;
use crate::ids::{Digest, JobId};
use crate::ports::{Cause, Decided, End, JobState, Judged, Look, LookKind, Submitted};
use crate::rounds::{RoundMode, TrialName};
use crate::time::{MINUTE, Ms};

/// A run that is driven by hand.
struct Bench {
    run: Run,
    now: Ms,
    effects: Vec<Effect>,
}

fn frame(mode: RoundMode, treatments: &[&str], looks: &[u64]) -> Frame {
    Frame {
        skip: false,
        late: crate::machine::timing::Late::default(),
        plan: Digest::of(b"plan"),
        treatments: treatments.iter().map(|name| name.parse().unwrap()).collect(),
        mode,
        looks: looks.to_vec(),
        replacements: 3,
        limit_ms: 60 * MINUTE,
        ledger: Digest::of(b"ledger"),
        episode: 1,
        earlier_rounds: 0,
        each_ms: None,
        retry: None,
        confirm: None,
    }
}

fn job(name: &TrialName) -> JobId {
    format!("/bot/{name}").parse().unwrap()
}

fn succeeded() -> JobState {
    JobState::Ended(End::Succeeded)
}

fn failed(oom: bool) -> JobState {
    JobState::Ended(End::Failed { cause: Cause::Application { oom, text: "it broke".to_owned() } })
}

fn preempted() -> JobState {
    JobState::Ended(End::Failed { cause: Cause::Infrastructure("preempted".to_owned()) })
}

fn stopped() -> JobState {
    JobState::Ended(End::Failed { cause: Cause::Stopped })
}

fn running() -> JobState {
    JobState::Running { step: None, done: 0, of: 0 }
}

impl Bench {
    fn queued() -> Self {
        let id = crate::ids::RunId::new(1_795_984_130, 7).unwrap();
        Self { run: Run::new(id, Ms(1000)), now: Ms(1000), effects: Vec::new() }
    }

    fn new(mode: RoundMode, treatments: &[&str], looks: &[u64]) -> Self {
        Self::of(frame(mode, treatments, looks))
    }

    fn of(frame: Frame) -> Self {
        let mut bench = Self::queued();
        bench.send(&Event::SlotGranted);
        bench.send(&Event::Resolved(Box::new(frame)));
        bench
    }

    /// One event, a second after the one before. The state survives being stored.
    fn send(&mut self, event: &Event) {
        self.now = self.now.plus(1000);
        let (run, effects) = step(&self.run, event, self.now);
        assert_eq!(Run::from_json(&run.to_json().unwrap()).unwrap(), run);
        self.run = run;
        self.effects.extend(effects);
    }

    fn name(&self, place: u32) -> TrialName {
        let (run, round, replacement) = (self.run.id.clone(), self.run.round, self.run.replacement);
        TrialName { run, round, replacement, place }
    }

    fn place(&self, role: &str) -> TrialName {
        let role: Role = role.parse().unwrap();
        let at = self.run.places.iter().position(|of| *of == role).unwrap();
        self.name(u32::try_from(at).unwrap() + 1)
    }

    fn asked(&self, name: &TrialName) -> u32 {
        self.run.trials.iter().find(|trial| trial.name == *name).unwrap().asked
    }

    fn tell(&mut self, name: &TrialName, event: TrialEvent) {
        self.send(&Event::Trial(name.clone(), event));
    }

    fn accept(&mut self, name: &TrialName) {
        self.tell(name, TrialEvent::Submitted(1, Submitted::Accepted(job(name))));
    }

    fn poll(&mut self, name: &TrialName, state: JobState) {
        let n = self.asked(name);
        self.tell(name, TrialEvent::Polled(n, Ok(state)));
    }

    fn collected(&mut self, name: &TrialName) {
        let n = self.asked(name);
        self.tell(name, TrialEvent::Collected(n, Probe::Complete { digest: Digest::of(b"rows"), kept: true }));
    }

    /// A trial of the current round that ends like this.
    fn end(&mut self, role: &str, state: &JobState) {
        let name = self.place(role);
        self.accept(&name);
        self.poll(&name, state.clone());
        if matches!(state, JobState::Ended(End::Succeeded | End::Failed { cause: Cause::Application { .. } })) {
            self.collected(&name);
        }
    }

    /// The whole round ends well, in the order of its places.
    fn good_round(&mut self) {
        for role in self.run.places.clone() {
            self.end(&role.to_string(), &succeeded());
        }
    }

    fn look(&self) -> Look {
        let State::Judging { look, .. } = &self.run.state else { panic!("{:?}", self.run.state) };
        look.as_ref().clone()
    }

    fn judged(&self, reasons: &[Reason]) -> Judged {
        let names = self.run.frame.as_ref().unwrap().treatments.clone();
        let of = |(treatment, reason): (_, &Reason)| Decided { treatment, verdict: reason.verdict(), reason: *reason };
        Judged { treatments: names.into_iter().zip(reasons).map(of).collect() }
    }

    /// Answers the judgement that is asked for.
    fn judge(&mut self, kind: LookKind, reasons: &[Reason]) {
        let look = self.look();
        assert_eq!(look.kind, kind);
        let judged = self.judged(reasons);
        self.send(&Event::Judged(Box::new(look), judged));
    }

    /// Nothing that needs no statistics.
    fn clean(&mut self) {
        let reasons = vec![Reason::Undecided; self.run.frame.as_ref().unwrap().treatments.len()];
        self.judge(LookKind::Guardrail, &reasons);
    }

    fn seal(&mut self) {
        self.send(&Event::Sealed(Digest::of(b"evidence")));
    }

    /// The effects since the last time, by the first part of their keys, in order.
    fn kinds(&mut self) -> String {
        let id = self.run.id.clone();
        let kinds: Vec<String> = std::mem::take(&mut self.effects)
            .iter()
            .map(|effect| effect.what.key(&id).split(':').next().unwrap().to_owned())
            .collect();
        kinds.join(" ")
    }

    fn submitted(&self) -> Vec<String> {
        let of = |effect: &Effect| match &effect.what {
            What::Submit { trial, role, .. } => Some(format!("{}.{} {role}", trial.round, trial.replacement)),
            _ => None,
        };
        self.effects.iter().filter_map(of).collect()
    }

    /// Round and replacement while measuring.
    fn measuring(&self) -> (u32, u32) {
        assert!(matches!(self.run.state, State::Measuring { .. }), "{:?}", self.run.state);
        (self.run.round, self.run.replacement)
    }

    fn stopping(&self) -> Stop {
        let State::Stopping { stop, .. } = &self.run.state else { panic!("{:?}", self.run.state) };
        stop.clone()
    }

    fn done(&mut self) -> Vec<Reason> {
        self.seal();
        let State::Done { judged, .. } = &self.run.state else { panic!("{:?}", self.run.state) };
        judged.treatments.iter().map(|of| of.reason).collect()
    }
}
