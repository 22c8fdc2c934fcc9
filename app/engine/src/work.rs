//! One claimed run: its effects one after the other, each answer in one transaction with what follows from it.

use domain::machine::{Effect, Event, Run, State, What, step};
use domain::plan::Plan;
use domain::ports::{Clock, Committed, Lab, LookRow, Records, Store, StoredEffect, Subject, Write};
use domain::time::{Ms, SECOND};

use crate::engine::{Engine, EngineError, plan_of};
use crate::perform::Answered;

/// Until a run that waits for its turn asks again, milliseconds.
const TURN_AGAIN: u64 = 2 * SECOND;
/// How much is done for one run before others have their turn.
const TURNS: usize = 256;

/// A claimed run.
pub(crate) struct Held {
    pub(crate) key: String,
    pub(crate) plan: Plan,
    pub(crate) run: Run,
    version: u64,
    pub(crate) fence: u64,
}

/// An open effect, read.
pub(crate) struct Open {
    pub(crate) key: String,
    pub(crate) what: What,
    pub(crate) begun: bool,
    pub(crate) attempts: u32,
    due: Ms,
}

/// Effects as they are stored: key, body, due.
pub(crate) fn stored(run: &Run, effects: Vec<Effect>) -> Result<Vec<(String, String, Ms)>, EngineError> {
    let store = |effect: Effect| {
        let key = effect.what.key(&run.id);
        match serde_json::to_string(&effect.what) {
            Ok(body) => Ok((key, body, effect.due)),
            Err(error) => Err(EngineError::Stored { what: "the effect", key, why: error.to_string() }),
        }
    };
    effects.into_iter().map(store).collect()
}

fn open(effect: StoredEffect) -> Result<Open, EngineError> {
    let StoredEffect { key, body, begun, attempts, due } = effect;
    match serde_json::from_str(&body) {
        Ok(what) => Ok(Open { key, what, begun, attempts, due }),
        Err(error) => Err(EngineError::Stored { what: "the effect", key, why: error.to_string() }),
    }
}

/// The effects that nothing else has to come before.
fn ready(effects: &[Open]) -> impl Iterator<Item = &Open> {
    let mut records_open = false;
    effects.iter().filter(move |effect| {
        let blocked = records_open && effect.what.waits_for_records();
        records_open |= effect.what.writes_records();
        !blocked
    })
}

impl<S: Store, L: Lab, R: Records, C: Clock> Engine<S, L, R, C> {
    /// Does what is due for a claimed run and gives it back.
    pub(crate) async fn work(&self, subject: Subject) -> Result<(), EngineError> {
        let Some(mut held) = Self::hold(subject)? else { return Ok(()) };
        let mut due = Some(self.clock.now());
        for _ in 0..TURNS {
            let now = self.clock.now();
            let effects = self.store.effects(&held.key).await?;
            let effects = effects.into_iter().map(open).collect::<Result<Vec<Open>, _>>()?;
            let unwanted: Vec<String> =
                effects.iter().filter(|open| !held.run.wants(&open.what)).map(|open| open.key.clone()).collect();
            let stays = if !unwanted.is_empty() {
                self.write(&mut held, &[], unwanted, None, now).await?
            } else if held.run.state == State::Queued {
                // What a person has to agree to first takes nobody's place until they have.
                let asks = held.run.frame.is_none() && held.plan.confirm.is_some();
                if !asks && !self.store.grant(&held.key, self.settings.at_once, now).await? {
                    due = Some(now.plus(TURN_AGAIN));
                    break;
                }
                self.write(&mut held, &[Event::SlotGranted], Vec::new(), None, now).await?
            } else if held.run.deadline().is_some_and(|deadline| deadline <= now) {
                self.write(&mut held, &[Event::Due], Vec::new(), None, now).await?
            } else if let Some(next) = ready(&effects).filter(|open| open.due <= now).min_by_key(|open| open.due) {
                match self.perform(&held, next).await? {
                    Answered::Event(event) => {
                        self.write(&mut held, &[*event], vec![next.key.clone()], None, now).await?
                    }
                    Answered::Look(event, row) => {
                        self.write(&mut held, &[*event], vec![next.key.clone()], row, now).await?
                    }
                    Answered::Nothing => self.write(&mut held, &[], vec![next.key.clone()], None, now).await?,
                    Answered::Later(at) => {
                        self.store.defer(&held.key, &next.key, held.fence, at).await?;
                        true
                    }
                    Answered::Outdated => false,
                }
            } else {
                due = ready(&effects).map(|open| open.due).chain(held.run.deadline()).min();
                break;
            };
            if !stays {
                // Somebody else wrote. What was done since is found again by looking.
                let Some(again) = self.store.read(&held.key).await? else { return Ok(()) };
                let same = again.fence == held.fence;
                let Some(read) = Self::hold(again)?.filter(|_| same) else { return Ok(()) };
                held = read;
            }
        }
        self.store.release(&held.key, held.fence, held.version, due).await?;
        Ok(())
    }

    fn hold(subject: Subject) -> Result<Option<Held>, EngineError> {
        let plan = plan_of(&subject)?;
        let run = Run::from_json(&subject.state)?;
        Ok(Some(Held { key: subject.key, plan, run, version: subject.version, fence: subject.fence }))
    }

    /// One transaction: the state after the events, what follows, what is finished. `false` where somebody else was
    /// faster: then everything is dropped.
    async fn write(
        &self,
        held: &mut Held,
        events: &[Event],
        finished: Vec<String>,
        look: Option<LookRow>,
        now: Ms,
    ) -> Result<bool, EngineError> {
        let mut run = held.run.clone();
        let mut effects = Vec::new();
        for event in events {
            for _ in 0..=u8::from(self.habits.answers_twice) {
                let (next, follow) = step(&run, event, now);
                run = next;
                effects.extend(follow);
            }
        }
        let write = Write {
            subject: held.key.clone(),
            version: held.version,
            fence: held.fence,
            state: run.to_json()?,
            due: Some(now),
            finished,
            effects: stored(&run, effects)?,
            look,
            at: now,
        };
        match self.store.commit(write).await? {
            Committed::Done(version) => {
                (held.run, held.version) = (run, version);
                Ok(true)
            }
            Committed::Outdated | Committed::LookTaken => Ok(false),
        }
    }
}
