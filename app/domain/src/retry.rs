//! What a run takes over from one of the same comparison that came to no verdict, or to none about the change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::Reason;

use crate::arms::Role;
use crate::ids::{ArmName, JobId};
use crate::ports::{Decided, Discard, Fate, TrialFate};
use crate::rounds::TrialName;

/// What a run that retries another one begins with. The rounds that count are those of the earlier run as
/// [`crate::plan::Plan::earlier_rounds`]; the looks that it declared go on where they stopped, so that none is paid for twice
/// and none is taken for free. What speaks against an arm is not forgotten: retrying acquits nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// How many of the plan's looks were taken in this episode.
    pub looked: u32,
    /// Treatments that were decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Decided>,
    /// Failures per treatment that is not decided.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<ArmName, u32>,
    /// Trials that were discarded, per role, but for those whose jobs are asked again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub discards: BTreeMap<Role, u32>,
    /// Jobs of the earlier run that may have ended well, by the trials of this run that they become: their measurements
    /// are collected again, and nothing is launched. All trials of a round, or none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adopts: BTreeMap<TrialName, JobId>,
}

/// Whether a reason says that the infrastructure was in the way, and nothing about the change. A time limit that was
/// reached and discards of mostly one arm are not among these: both may be the change's own doing, and measuring until they
/// do not happen would hide that.
#[must_use]
pub fn is_infrastructure(reason: Reason) -> bool {
    match reason {
        Reason::SourceUnavailable
        | Reason::RowsMissing
        | Reason::Capacity
        | Reason::ChurnLimit
        | Reason::InfraChurn
        | Reason::HostMix => true,
        Reason::NoChange
        | Reason::WithinMargin
        | Reason::CpuLower
        | Reason::WallLowerRepeated
        | Reason::CpuHigher
        | Reason::WallHigherRepeated
        | Reason::NewOom
        | Reason::MemOverLimit
        | Reason::NewAppFailure
        | Reason::CpuVsElapsed
        | Reason::StageTradeoff
        | Reason::NoData
        | Reason::FingerprintMismatch
        | Reason::FingerprintUnknown
        | Reason::BenchmarkChanged
        | Reason::PriorityDiffers
        | Reason::OomBothArms
        | Reason::MemOverLimitBothArms
        | Reason::AppFailureBothArms
        | Reason::ControlFailed
        | Reason::NewOomUnconfirmed
        | Reason::NewAppFailureUnconfirmed
        | Reason::DuplicateRows
        | Reason::SchemaDrift
        | Reason::TimeLimit
        | Reason::ChurnOneSided
        | Reason::MissingStage
        | Reason::FailedStage
        | Reason::BadValue
        | Reason::Cached
        | Reason::ExecutionCountMismatch
        | Reason::DifferentWork
        | Reason::WorkNotCounted
        | Reason::Implausible
        | Reason::ZeroOneSided
        | Reason::BelowFloor
        | Reason::NoCalibration
        | Reason::WeakCalibration
        | Reason::NoiseChanged
        | Reason::OverheadDominated
        | Reason::WallOnlyUnrepeated
        | Reason::TradeoffOrRegression
        | Reason::SmallIncrease
        | Reason::SuspectedRegression
        | Reason::MarginInNoiseBand
        | Reason::Undecided
        | Reason::MemAtRisk => false,
    }
}

/// The job of a trial whose measurements may still be had: it ended well and its round or run did not, its records were
/// late, or nobody knows how it ended. Only a job whose name is that of a trial: those are ours to stop.
#[must_use]
pub fn may_have_ended_well(fate: &TrialFate) -> Option<&JobId> {
    let job = fate.job.as_ref().filter(|job| job.root_name().parse::<TrialName>().is_ok())?;
    let may = match &fate.fate {
        Fate::Counted => true,
        Fate::Discarded(discard) => match discard {
            Discard::Incomplete(_) | Discard::SourceUnavailable(_) | Discard::Abandoned => true,
            // Told to stop when it was over and only its records were waited for; what was running was stopped.
            Discard::Stopped => fate.ended.is_some_and(|ended| ended < fate.at),
            Discard::Refused(_) | Discard::Lost | Discard::Infrastructure(_) | Discard::TimeLimit => false,
        },
        Fate::Failed(_) => false,
    };
    may.then_some(job)
}

/// Whether a discard is held against the arm that lost the trial, as in [`crate::machine::churn`].
#[must_use]
pub fn counts_as_lost(discard: &Discard) -> bool {
    matches!(discard, Discard::Lost | Discard::Infrastructure(_) | Discard::Incomplete(_) | Discard::Abandoned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Standing, standing};
    use crate::time::Ms;

    #[test]
    fn what_is_the_infrastructures_doing_says_nothing_about_the_change() {
        let codes: Vec<&str> =
            Reason::ALL.iter().filter(|reason| is_infrastructure(**reason)).map(|reason| reason.code()).collect();
        assert_eq!(codes, ["HOST_MIX", "SOURCE_UNAVAILABLE", "ROWS_MISSING", "CAPACITY", "CHURN_LIMIT", "INFRA_CHURN"]);
        for reason in Reason::ALL.iter().filter(|reason| is_infrastructure(**reason)) {
            assert_eq!(reason.verdict(), stats::Verdict::Inconclusive);
            assert!(matches!(standing(*reason), Standing::Final | Standing::Replace), "{}", reason.code());
        }
    }

    #[test]
    fn jobs_that_may_have_ended_well() {
        let name: TrialName = "zab-20261129T202850Z-8d10c1b5-r2.1-1".parse().unwrap();
        let with = |fate: Fate, job: &str, ended: Option<u64>| {
            let job = Some(job.parse().unwrap());
            let ended = ended.map(Ms);
            let line = TrialFate {
                name: name.clone(),
                role: Role::Control,
                fate,
                job,
                submitted: None,
                running: None,
                ended,
                at: Ms(9),
            };
            may_have_ended_well(&line).is_some()
        };
        let own = format!("/bot/{name}");
        for (discard, ended, expected) in [
            (Discard::Incomplete(vec!["stage0".to_owned()]), Some(5), true),
            (Discard::SourceUnavailable("503".to_owned()), Some(5), true),
            (Discard::Abandoned, None, true),
            (Discard::Stopped, Some(5), true),
            (Discard::Stopped, Some(9), false),
            (Discard::Stopped, None, false),
            (Discard::Lost, Some(5), false),
            (Discard::Refused("no".to_owned()), None, false),
            (Discard::Infrastructure("preempted".to_owned()), Some(5), false),
            (Discard::TimeLimit, Some(5), false),
        ] {
            assert_eq!(with(Fate::Discarded(discard.clone()), &own, ended), expected, "{discard:?} {ended:?}");
        }
        assert!(with(Fate::Counted, &own, Some(5)));
        let failure = crate::ports::Failure { oom: false, text: String::new() };
        assert!(!with(Fate::Failed(failure), &own, Some(5)));
        // Somebody's job that is no trial's is nobody's to stop.
        assert!(!with(Fate::Counted, "/somebody/training", Some(5)));
    }
}
