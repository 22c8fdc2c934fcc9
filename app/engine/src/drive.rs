//! The loop that ticks and waits until a run is over.

use domain::ids::RunId;
use domain::machine::{Run, State};
use domain::ports::{Clock, Lab, Records, Store};
use domain::time::SECOND;
use tokio::sync::watch;

use crate::engine::{Engine, EngineError};
use crate::progress::Progress;

/// The shortest wait, milliseconds: an engine that has nothing to wait for must not turn in a circle.
const SHORTEST: u64 = 20;

/// Whether nothing will happen to a run any more. Jobs that could not be stopped may still be told to.
#[must_use]
pub fn is_finished(run: &Run) -> bool {
    match &run.state {
        State::Done { .. } => true,
        State::Ended { sealing, .. } => !sealing,
        _ => false,
    }
}

/// Ticks and waits until a run is over, and returns it. `seen` is told how far it is, about once a second. When the
/// name of somebody is sent through `cancel`, the run is cancelled by them: it returns when every trial is settled.
/// A dropped sender cancels nothing.
///
/// # Errors
/// See [`EngineError`].
pub async fn run_to_end<S: Store, L: Lab, R: Records, C: Clock>(
    engine: &Engine<S, L, R, C>,
    run: &RunId,
    mut cancel: watch::Receiver<Option<String>>,
    mut seen: impl FnMut(&Progress),
) -> Result<Run, EngineError> {
    let mut listening = true;
    loop {
        let by = if listening { cancel.borrow_and_update().clone() } else { None };
        if let Some(by) = by {
            engine.cancel(run, &by).await?;
            listening = false;
        }
        engine.tick(engine.clock.now()).await?;
        let state = engine.read(run).await?;
        let now = engine.clock.now();
        seen(&Progress::of(&state, now));
        if is_finished(&state) {
            return Ok(state);
        }
        let due = engine.next_due().await?.map_or(SECOND, |due| due.since(now));
        let wait = engine.clock.sleep(due.clamp(SHORTEST, SECOND));
        if listening {
            tokio::select! {
                () = wait => {}
                changed = cancel.changed() => listening = changed.is_ok(),
            }
        } else {
            wait.await;
        }
    }
}
