//! A folder of evidence whose reading and writing keeps nobody else from going on.

use std::sync::Arc;

use domain::arms::Role;
use domain::ids::RunId;
use domain::plan::Plan;
use domain::ports::{Answer, Ending, Judged, Look, Records, RecordsError, Sealed, TrialFate};
use domain::rounds::TrialName;
use domain::view::{State, View};
use engine::service::Archive;
use evidence::spent::TrialCpu;
use tokio::task::block_in_place;

/// The folder. Its calls block; others of the runtime take over meanwhile. Only in a runtime with several threads.
pub struct Blocking<R>(pub Arc<R>);

impl<R: Records> Records for Blocking<R> {
    fn open(&self, plan: &Plan) -> Result<(), RecordsError> {
        block_in_place(|| self.0.open(plan))
    }

    fn answer(&self, trial: &TrialName, role: &Role, answers: &[Answer]) -> Result<(), RecordsError> {
        block_in_place(|| self.0.answer(trial, role, answers))
    }

    fn note(&self, fate: &TrialFate) -> Result<(), RecordsError> {
        block_in_place(|| self.0.note(fate))
    }

    fn judge(&self, look: &Look) -> Result<Judged, RecordsError> {
        block_in_place(|| self.0.judge(look))
    }

    fn seal(&self, ending: &Ending) -> Result<Sealed, RecordsError> {
        block_in_place(|| self.0.seal(ending))
    }
}

impl<R: Archive> Archive for Blocking<R> {
    fn live(&self, run: &RunId, state: State) -> Result<View, String> {
        block_in_place(|| self.0.live(run, state))
    }

    fn sealed(&self, run: &RunId) -> Result<View, String> {
        block_in_place(|| self.0.sealed(run))
    }
    fn cpu(&self, run: &RunId) -> Result<Vec<TrialCpu>, String> {
        block_in_place(|| self.0.cpu(run))
    }
}
