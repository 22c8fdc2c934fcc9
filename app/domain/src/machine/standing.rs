//! What a reason means for the rounds to come.

use stats::Reason;

/// What is to be done about a treatment with a judgement of this reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Decided by the statistics of a declared look.
    Decided,
    /// Decided by what needs no statistics: a guardrail.
    Guardrail,
    /// Nothing that more rounds can change.
    Final,
    /// More rounds may decide it.
    Undecided,
    /// One failure of the treatment that has to happen again, or be acquitted.
    Confirm,
    /// The control failed, alone or with the treatment: once is replaced, twice is final.
    ControlFailed,
    /// The round is spoiled; another one in its place may be clean.
    Replace,
}

impl Standing {
    /// Whether it holds at any time, not only at a declared look.
    #[must_use]
    pub fn holds_always(self) -> bool {
        matches!(self, Self::Guardrail | Self::Final)
    }
}

/// The standing of a reason. What a more favourable reading could still change is undecided: a row that counts no work
/// or is mostly overhead keeps a treatment from passing, but another row may still prove a regression.
#[must_use]
pub fn standing(reason: Reason) -> Standing {
    match reason {
        Reason::NoChange
        | Reason::WithinMargin
        | Reason::CpuLower
        | Reason::WallLowerRepeated
        | Reason::CpuHigher
        | Reason::WallHigherRepeated
        | Reason::CpuVsElapsed
        | Reason::StageTradeoff
        // All rows pass, and the peak that was seen stays seen.
        | Reason::MemAtRisk => Standing::Decided,
        Reason::NewOom | Reason::MemOverLimit | Reason::NewAppFailure | Reason::MemOverLimitBothArms => {
            Standing::Guardrail
        }
        Reason::NoData
        | Reason::FingerprintMismatch
        | Reason::FingerprintUnknown
        | Reason::BenchmarkChanged
        | Reason::PriorityDiffers
        | Reason::SourceUnavailable
        | Reason::RowsMissing
        | Reason::DuplicateRows
        | Reason::SchemaDrift
        | Reason::Capacity
        | Reason::TimeLimit
        | Reason::ChurnLimit
        | Reason::ChurnOneSided
        | Reason::MissingStage
        | Reason::FailedStage
        | Reason::BadValue
        | Reason::Cached
        | Reason::ExecutionCountMismatch
        | Reason::DifferentWork
        | Reason::Implausible
        | Reason::ZeroOneSided
        | Reason::BelowFloor => Standing::Final,
        Reason::NoCalibration
        | Reason::WeakCalibration
        | Reason::NoiseChanged
        | Reason::OverheadDominated
        | Reason::WorkNotCounted
        | Reason::WallOnlyUnrepeated
        | Reason::TradeoffOrRegression
        | Reason::SmallIncrease
        | Reason::SuspectedRegression
        | Reason::MarginInNoiseBand
        | Reason::Undecided => Standing::Undecided,
        Reason::NewOomUnconfirmed | Reason::NewAppFailureUnconfirmed => Standing::Confirm,
        Reason::OomBothArms | Reason::AppFailureBothArms | Reason::ControlFailed => Standing::ControlFailed,
        Reason::InfraChurn | Reason::HostMix => Standing::Replace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Verdict;

    const TABLE: &[(Standing, &[&str])] = &[
        (
            Standing::Decided,
            &[
                "NO_CHANGE",
                "WITHIN_MARGIN",
                "CPU_LOWER",
                "WALL_LOWER_REPEATED",
                "CPU_HIGHER",
                "WALL_HIGHER_REPEATED",
                "CPU_VS_ELAPSED",
                "STAGE_TRADEOFF",
                "MEM_AT_RISK",
            ],
        ),
        (Standing::Guardrail, &["NEW_OOM", "MEM_OVER_LIMIT", "NEW_APP_FAILURE", "MEM_OVER_LIMIT_BOTH_ARMS"]),
        (
            Standing::Final,
            &[
                "NO_DATA",
                "FINGERPRINT_MISMATCH",
                "FINGERPRINT_UNKNOWN",
                "BENCHMARK_CHANGED",
                "PRIORITY_DIFFERS",
                "SOURCE_UNAVAILABLE",
                "ROWS_MISSING",
                "DUPLICATE_ROWS",
                "SCHEMA_DRIFT",
                "CAPACITY",
                "TIME_LIMIT",
                "CHURN_LIMIT",
                "CHURN_ONE_SIDED",
                "MISSING_STAGE",
                "FAILED_STAGE",
                "BAD_VALUE",
                "CACHED",
                "EXECUTION_COUNT_MISMATCH",
                "DIFFERENT_WORK",
                "IMPLAUSIBLE",
                "ZERO_ONE_SIDED",
                "BELOW_FLOOR",
            ],
        ),
        (
            Standing::Undecided,
            &[
                "NO_CALIBRATION",
                "WEAK_CALIBRATION",
                "NOISE_CHANGED",
                "OVERHEAD_DOMINATED",
                "WORK_NOT_COUNTED",
                "WALL_ONLY_UNREPEATED",
                "TRADEOFF_OR_REGRESSION",
                "SMALL_INCREASE",
                "SUSPECTED_REGRESSION",
                "MARGIN_IN_NOISE_BAND",
                "UNDECIDED",
            ],
        ),
        (Standing::Confirm, &["NEW_OOM_UNCONFIRMED", "NEW_APP_FAILURE_UNCONFIRMED"]),
        (Standing::ControlFailed, &["OOM_BOTH_ARMS", "APP_FAILURE_BOTH_ARMS", "CONTROL_FAILED"]),
        (Standing::Replace, &["INFRA_CHURN", "HOST_MIX"]),
    ];

    #[test]
    fn every_reason_stands_once_in_the_table() {
        for reason in Reason::ALL {
            let rows: Vec<Standing> =
                TABLE.iter().filter(|(_, codes)| codes.contains(&reason.code())).map(|(row, _)| *row).collect();
            assert_eq!(rows, [standing(*reason)], "{}", reason.code());
        }
    }

    #[test]
    fn a_verdict_for_or_against_the_change_is_never_measured_on() {
        for reason in Reason::ALL.iter().filter(|reason| reason.verdict() != Verdict::Inconclusive) {
            assert!(matches!(standing(*reason), Standing::Decided | Standing::Guardrail), "{}", reason.code());
        }
    }
}
