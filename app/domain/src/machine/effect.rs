//! What the machines ask the world for.

use serde::{Deserialize, Serialize};

use crate::arms::Role;
use crate::ids::{Digest, JobId, RunId};
use crate::ports::{Ending, Look, LookKey, TrialFate};
use crate::rounds::TrialName;
use crate::time::Ms;

/// Something that is to be done. Written down before it is performed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// When.
    pub due: Ms,
    /// What.
    pub what: What,
}

/// Which answers of a probe are final, so that they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Complete ones that equal those of the probe before.
    Repeated,
    /// Those, and incomplete ones: it is the last probe.
    Partial,
    /// Whatever is there: the program failed, and this is evidence of it.
    Anything,
}

/// What is to be done. All of it may be repeated; what must be looked at before is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
pub enum What {
    /// Find out what the run is. Reads only.
    Resolve {
        /// Which attempt to plan, from 1.
        plan: u32,
    },
    /// Open the folder of the run. Opening it again with the same plan is fine.
    Open,
    /// Submit the job of a trial. Before repeating it, its job is looked for.
    Submit {
        /// The trial.
        trial: TrialName,
        /// Its arm.
        role: Role,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// Look for the job of a trial. Reads only.
    Find {
        /// The trial.
        trial: TrialName,
        /// The number of the question.
        n: u32,
    },
    /// Ask how a job is doing. Reads only.
    Poll {
        /// The trial.
        trial: TrialName,
        /// Its job.
        job: JobId,
        /// The number of the question.
        n: u32,
    },
    /// Ask for the answers of an ended job, and keep them where they are final. Kept answers are kept once.
    Collect {
        /// The trial.
        trial: TrialName,
        /// Its arm.
        role: Role,
        /// Its job.
        job: JobId,
        /// The number of the question.
        n: u32,
        /// The number of the probe, from 1.
        probe: u32,
        /// Digest of the complete answers of the probe before: equal ones are final.
        previous: Option<Digest>,
        /// Which answers are kept.
        keep: Keep,
    },
    /// Stop a job. Stopping what is over is fine.
    Terminate {
        /// The trial.
        trial: TrialName,
        /// Its job.
        job: JobId,
    },
    /// Write down what became of a trial. The same line is written once.
    Note {
        /// The line.
        fate: Box<TrialFate>,
    },
    /// Judge the folder. Pure; a look that was taken is never taken again.
    Judge {
        /// What the judgement depends on.
        look: Box<Look>,
    },
    /// Seal the folder. A folder that is sealed already with the same content is fine.
    Seal {
        /// The end of the run.
        ending: Box<Ending>,
    },
}

impl What {
    /// The key: the same thing to do has the same key.
    #[must_use]
    pub fn key(&self, run: &RunId) -> String {
        match self {
            Self::Resolve { plan } => format!("resolve:{run}:{plan}"),
            Self::Open => format!("open:{run}"),
            Self::Submit { trial, .. } => format!("submit:{trial}"),
            Self::Find { trial, n } => format!("find:{trial}:{n}"),
            Self::Poll { trial, n, .. } => format!("poll:{trial}:{n}"),
            Self::Collect { trial, n, .. } => format!("collect:{trial}:{n}"),
            Self::Terminate { job, .. } => format!("terminate:{job}"),
            Self::Note { fate } => format!("note:{}", fate.name),
            Self::Judge { look } => match LookKey::of(look) {
                Some(key) => format!("judge:{}:{}:{}", key.ledger, key.episode, key.look),
                None => format!("judge:{run}:{}", look.at),
            },
            Self::Seal { .. } => format!("seal:{run}"),
        }
    }

    /// Asks and changes nothing, so that nobody needs to know whether it was performed before.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Resolve { .. } | Self::Find { .. } | Self::Poll { .. })
    }

    /// Writes to the folder, which everything that is judged or started waits for.
    #[must_use]
    pub fn writes_records(&self) -> bool {
        matches!(self, Self::Open | Self::Note { .. })
    }

    /// Waits until what was to be written before it is written: nothing is started before the plan is on disk, and
    /// nothing is judged before every trial is noted.
    #[must_use]
    pub fn waits_for_records(&self) -> bool {
        matches!(self, Self::Submit { .. } | Self::Judge { .. } | Self::Seal { .. })
    }
}
