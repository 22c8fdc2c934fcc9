//! Launching a job once, whatever becomes of the answers.

use serde::Deserialize;

use super::request::{ExistingJobPolicy, LaunchRequest};
use super::{Iris, LAUNCH};
use crate::error::{Code, Error};
use crate::ids::JobId;
use crate::transport;

/// Bytes of a bundle the controller takes.
pub const BUNDLE_LIMIT: usize = 25 << 20;

/// How a launch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launched {
    /// The job was made. Its id is the controller's word and may differ from the name asked for.
    Started(JobId),
    /// A job of the name exists.
    Existing {
        /// Its id.
        job: JobId,
        /// Whether it does what was asked for (see [`LaunchRequest::asks_the_same_as`]).
        same: bool,
        /// Whether a try before went without an answer, so that the job may come from it.
        answer_lost: bool,
    },
}

impl Iris {
    /// Launches a job. It is tried again after failures that may pass, which is safe: whatever the request says, it
    /// is sent with the policy that a job of the name is an error, so a try whose answer was lost shows itself.
    ///
    /// # Errors
    /// See [`Error`]: `UnsupportedField` before anything is sent where the controller is older than a field,
    /// `failed_precondition` where no worker can ever take the job, `permission_denied` for a band.
    pub async fn launch(&self, request: &LaunchRequest) -> Result<Launched, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            job_id: String,
        }
        JobId::new(&request.name)?;
        if request.bundle_blob.len() > BUNDLE_LIMIT {
            return Err(Error::BundleTooLarge { bytes: request.bundle_blob.len(), limit: BUNDLE_LIMIT });
        }
        let sent = LaunchRequest { existing_job_policy: ExistingJobPolicy::Error, ..request.clone() };
        let value = serde_json::to_value(&sent).map_err(|why| Error::Malformed {
            method: LAUNCH.into(),
            why: format!("the request is not JSON: {why}"),
        })?;
        self.capabilities().await?.check(&value)?;
        let body = transport::to_json(LAUNCH, &value)?;

        let transport = &self.transport;
        let start = transport.clock().elapsed();
        let (mut failed, mut lost): (u32, Option<Error>) = (0, None);
        loop {
            let tried = match transport.once(LAUNCH, &body, transport.limits().launch_timeout).await {
                Ok(answer) => transport::decode::<Answer>(LAUNCH, &answer),
                Err(error) => Err(error),
            };
            let error = match tried {
                Ok(answer) => return Ok(Launched::Started(JobId::new(&answer.job_id)?)),
                Err(error) => error,
            };
            if let Error::Rpc { code: Code::AlreadyExists, message, .. } = &error {
                let job = named_in(message).map_or_else(|| JobId::new(&request.name), Ok)?;
                let record = self.job(&job).await?;
                let (same, answer_lost) = (request.asks_the_same_as(&record.request), lost.is_some());
                return Ok(Launched::Existing { job, same, answer_lost });
            }
            failed += 1;
            let spent = transport.clock().elapsed().saturating_sub(start);
            let again = error.is_transient() || error.is_ambiguous();
            let wait = transport.retry().wait(failed, spent, transport.clock().jitter()).filter(|_| again);
            let ambiguous = error.is_ambiguous();
            match (wait, lost) {
                (Some(wait), before) => {
                    lost = if ambiguous { Some(error) } else { before };
                    transport.clock().sleep(wait).await;
                }
                // A try before may have made the job, whatever this one was refused for.
                (None, Some(before)) if !ambiguous => return Err(before),
                (None, _) => return Err(error),
            }
        }
    }
}

/// The id in `Job /user/job already exists ...`, which is under the caller's identity where the name was not.
fn named_in(message: &str) -> Option<JobId> {
    let (id, _) = message.strip_prefix("Job ")?.split_once(" already exists")?;
    JobId::new(id).ok()
}
