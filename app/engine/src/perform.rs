//! One effect, performed through the ports.

use domain::ids::Digest;
use domain::machine::{Event, Frame, Keep, Probe, TrialEvent, What, timing};
use domain::ports::{Answer, Clock, Collected, Lab, Look, LookKey, LookRow, Records, RecordsError, Store, Submitted};
use domain::rounds::TrialName;
use domain::time::{Ms, SECOND};

use crate::engine::{Engine, EngineError};
use crate::work::{Held, Open};

/// How often a job is told to stop that cannot be reached: about a day.
const TERMINATE_TRIES: u32 = 150;

/// What came of an effect.
pub(crate) enum Answered {
    /// It is done; this happens.
    Event(Box<Event>),
    /// The folder was judged; the row of the look, where it is one that was not taken before.
    Look(Box<Event>, Option<LookRow>),
    /// It is done, and nothing follows.
    Nothing,
    /// It is tried again then.
    Later(Ms),
    /// The run is no longer ours.
    Outdated,
}

/// SHA-256 over names and contents, each with its length in front.
fn digest(answers: &[Answer]) -> Digest {
    let mut all = Vec::new();
    for answer in answers {
        for part in [answer.name.as_bytes(), &answer.bytes] {
            all.extend(part.len().to_le_bytes());
            all.extend(part);
        }
    }
    Digest::of(&all)
}

fn trial(name: &TrialName, event: TrialEvent) -> Answered {
    Answered::Event(Box::new(Event::Trial(name.clone(), event)))
}

impl<S: Store, L: Lab, R: Records, C: Clock> Engine<S, L, R, C> {
    pub(crate) async fn perform(&self, held: &Held, open: &Open) -> Result<Answered, EngineError> {
        if let What::Submit { trial: name, role, attempt } = &open.what {
            if let Some(job) = held.plan.retry.as_ref().and_then(|retry| retry.adopts.get(name)) {
                // Nothing is started, however often this is done.
                let answer = self.lab.adopt(&held.plan, name, role, job).await;
                return Ok(trial(name, TrialEvent::Submitted(*attempt, answer)));
            }
            if open.begun && self.habits.look_first {
                // It may have happened. A job of that name is ours; where none is seen, the trial looks again for as
                // long as the submission may still arrive.
                let found = self.lab.find(&held.plan, name).await.ok().flatten();
                let unknown = || Submitted::NoAnswer("the answer was lost with the engine that asked".to_owned());
                let answer = found.map_or_else(unknown, Submitted::AlreadyThere);
                return Ok(trial(name, TrialEvent::Submitted(*attempt, answer)));
            }
            if !open.begun && held.run.trials.iter().any(|known| known.name == *name && known.stop.is_some()) {
                return Ok(trial(name, TrialEvent::NotSubmitted(*attempt)));
            }
        }
        if !open.what.only_reads() && !self.store.begin(&held.key, &open.key, held.fence).await? {
            return Ok(Answered::Outdated);
        }
        Ok(match &open.what {
            What::Resolve { .. } => Answered::Event(Box::new(match held.plan.check() {
                Ok(()) => Event::Resolved(Box::new(Frame::of(&held.plan))),
                Err(error) => Event::Refused(error.to_string()),
            })),
            What::Open => self.recorded(self.records.open(&held.plan), open),
            What::Submit { trial: name, role, attempt } => {
                let answer = self.lab.submit(&held.plan, name, role).await;
                trial(name, TrialEvent::Submitted(*attempt, answer))
            }
            What::Find { trial: name, n } => {
                let found = self.lab.find(&held.plan, name).await;
                trial(name, TrialEvent::Found(*n, found.map_err(|error| error.0)))
            }
            What::Poll { trial: name, job, n } => {
                let state = self.lab.poll(job).await;
                trial(name, TrialEvent::Polled(*n, state.map_err(|error| error.0)))
            }
            What::Collect { .. } => self.collect(held, open).await,
            What::Terminate { job, .. } => match self.lab.terminate(job).await {
                Err(_) if open.attempts < TERMINATE_TRIES => {
                    Answered::Later(self.clock.now().plus(timing::again_after(open.attempts)))
                }
                Ok(()) | Err(_) => Answered::Nothing,
            },
            What::Note { fate } => self.recorded(self.records.note(fate), open),
            What::Judge { look } => self.judge(look, open).await?,
            What::Seal { ending } => match self.records.seal(ending) {
                Ok(sealed) => Answered::Event(Box::new(Event::Sealed(sealed.digest))),
                Err(error) => self.refused(&error, open),
            },
        })
    }

    fn recorded(&self, result: Result<(), RecordsError>, open: &Open) -> Answered {
        match result {
            Ok(()) => Answered::Nothing,
            Err(error) => self.refused(&error, open),
        }
    }

    /// The folder said no: again where that may help, else the run ends with it.
    fn refused(&self, error: &RecordsError, open: &Open) -> Answered {
        let again = matches!(error, RecordsError::Failed(_)) && open.attempts + 1 < self.settings.records_tries;
        if again {
            return Answered::Later(self.clock.now().plus(SECOND << open.attempts.min(6)));
        }
        Answered::Event(Box::new(Event::RecordsFailed(error.to_string())))
    }

    async fn judge(&self, look: &Look, open: &Open) -> Result<Answered, EngineError> {
        let key = LookKey::of(look);
        if let Some(key) = &key
            && let Some(row) = self.store.look(key).await?
        {
            // Taken before: that result stands, whatever would come out now.
            let event = Event::Judged(Box::new(look.clone()), row.judged);
            return Ok(Answered::Look(Box::new(event), None));
        }
        Ok(match self.records.judge(look) {
            Ok(judged) => {
                let row = key.map(|key| LookRow { key, run: look.run.clone(), judged: judged.clone(), at: look.at });
                Answered::Look(Box::new(Event::Judged(Box::new(look.clone()), judged)), row)
            }
            Err(error) => self.refused(&error, open),
        })
    }

    /// Asks for answers. Those that are final are written into the folder before anything is made of them.
    async fn collect(&self, held: &Held, open: &Open) -> Answered {
        let What::Collect { trial: name, role, job, n, probe, previous, keep } = &open.what else {
            return Answered::Nothing;
        };
        let (answers, missing) = match self.lab.collect(&held.plan, name, job, *probe).await {
            Collected::Unavailable(why) => return trial(name, TrialEvent::Collected(*n, Probe::Unavailable(why))),
            Collected::Gone(why) => return trial(name, TrialEvent::Collected(*n, Probe::Unusable(why))),
            Collected::Complete(answers) => (answers, None),
            Collected::Incomplete(answers, missing) => (answers, Some(missing)),
        };
        let digest = digest(&answers);
        let kept = match (keep, &missing) {
            (Keep::Anything, _) | (Keep::Partial, Some(_)) => true,
            (Keep::Repeated | Keep::Partial, None) => {
                self.lab.settles_at_once(job) || previous.as_ref() == Some(&digest)
            }
            (Keep::Repeated, Some(_)) => false,
        };
        if kept {
            match self.records.answer(name, role, &answers) {
                Ok(()) => {}
                // What is only evidence of a failure was kept the first time.
                Err(RecordsError::Conflict(_)) if *keep == Keep::Anything || missing.is_some() => {}
                Err(RecordsError::Conflict(why)) => {
                    return trial(name, TrialEvent::Collected(*n, Probe::Unusable(why)));
                }
                Err(error) => return self.refused(&error, open),
            }
        }
        let probe = match missing {
            None => Probe::Complete { digest, kept },
            Some(missing) => Probe::Incomplete { missing, kept },
        };
        trial(name, TrialEvent::Collected(*n, probe))
    }
}
