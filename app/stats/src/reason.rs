//! The closed list of reasons and the verdict that each one belongs to.

use serde::{Deserialize, Serialize};

/// What a comparison comes to. The order is that of severity: the headline of several treatments is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Proven to cost more than is tolerated.
    Regression,
    /// Nothing is proven.
    Inconclusive,
    /// One of CPU and elapsed time got better, the other worse.
    Tradeoff,
    /// Proven to stay within what is tolerated.
    Pass,
}

impl Verdict {
    /// The word for people and for JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Inconclusive => "inconclusive",
            Self::Tradeoff => "tradeoff",
            Self::Pass => "pass",
        }
    }
}

/// Where a reason comes from when it is not found by the procedure itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Found by the procedure.
    Procedure,
    /// Found by the engine: the conditions were not equal. Comes before the guardrails.
    Conditions,
    /// Found by the engine: the run could not be completed. Comes after the guardrails.
    Ended,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $code:literal $verdict:ident $origin:ident;)*) => {
        /// Why a verdict is what it is. Closed: every verdict carries exactly one of these.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the list.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code that stands in JSON and in comments.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The verdict that this reason belongs to.
            #[must_use]
            pub fn verdict(self) -> Verdict {
                match self { $(Self::$name => Verdict::$verdict,)* }
            }

            /// Who finds this reason.
            #[must_use]
            pub fn origin(self) -> Origin {
                match self { $(Self::$name => Origin::$origin,)* }
            }

            /// The reason with this code.
            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|r| r.code() == code)
            }
        }
    };
}

reasons! {
    /// No row costs more than is tolerated, and no increase was confirmed.
    NoChange "NO_CHANGE" Pass Procedure;
    /// A confirmed increase is proven to stay within what is tolerated.
    WithinMargin "WITHIN_MARGIN" Pass Procedure;
    /// CPU time went down and nothing else got worse beyond what is tolerated.
    CpuLower "CPU_LOWER" Pass Procedure;
    /// Elapsed time went down in repeated rounds at equal CPU time.
    WallLowerRepeated "WALL_LOWER_REPEATED" Pass Procedure;
    /// A row is confirmed to need more CPU time than is tolerated.
    CpuHigher "CPU_HIGHER" Regression Procedure;
    /// Elapsed time went up by more than is tolerated, in repeated rounds.
    WallHigherRepeated "WALL_HIGHER_REPEATED" Regression Procedure;
    /// Out of memory more than once, in the treatment only.
    NewOom "NEW_OOM" Regression Procedure;
    /// Peak memory above the limit, in the treatment only.
    MemOverLimit "MEM_OVER_LIMIT" Regression Procedure;
    /// The application failed more than once, in the treatment only.
    NewAppFailure "NEW_APP_FAILURE" Regression Procedure;
    /// One of CPU and elapsed time got better, the other worse.
    CpuVsElapsed "CPU_VS_ELAPSED" Tradeoff Procedure;
    /// Some rows need more CPU, others less, at an equal total.
    StageTradeoff "STAGE_TRADEOFF" Tradeoff Procedure;
    /// There is not a single measured row.
    NoData "NO_DATA" Inconclusive Procedure;
    /// The arms ran different workloads, undeclared.
    FingerprintMismatch "FINGERPRINT_MISMATCH" Inconclusive Procedure;
    /// A condition that must be equal could not be read.
    FingerprintUnknown "FINGERPRINT_UNKNOWN" Inconclusive Conditions;
    /// The change alters the benchmark itself.
    BenchmarkChanged "BENCHMARK_CHANGED" Inconclusive Conditions;
    /// The arms ran on different kinds of machines.
    HostMix "HOST_MIX" Inconclusive Conditions;
    /// The arms ran with different scheduling priority.
    PriorityDiffers "PRIORITY_DIFFERS" Inconclusive Conditions;
    /// Both arms ran out of memory.
    OomBothArms "OOM_BOTH_ARMS" Inconclusive Procedure;
    /// Both arms used more memory than a worker may.
    MemOverLimitBothArms "MEM_OVER_LIMIT_BOTH_ARMS" Inconclusive Procedure;
    /// Both arms failed by themselves.
    AppFailureBothArms "APP_FAILURE_BOTH_ARMS" Inconclusive Procedure;
    /// The control failed and the treatment did not.
    ControlFailed "CONTROL_FAILED" Inconclusive Procedure;
    /// One out-of-memory in the treatment, not repeated yet.
    NewOomUnconfirmed "NEW_OOM_UNCONFIRMED" Inconclusive Procedure;
    /// One application failure in the treatment, not repeated yet.
    NewAppFailureUnconfirmed "NEW_APP_FAILURE_UNCONFIRMED" Inconclusive Procedure;
    /// The measurements could not be fetched.
    SourceUnavailable "SOURCE_UNAVAILABLE" Inconclusive Ended;
    /// Some executions have no measured rows yet.
    RowsMissing "ROWS_MISSING" Inconclusive Ended;
    /// An execution has more than one row for a stage.
    DuplicateRows "DUPLICATE_ROWS" Inconclusive Ended;
    /// The table of measurements has other columns or types.
    SchemaDrift "SCHEMA_DRIFT" Inconclusive Ended;
    /// The cluster had no room before the time was up.
    Capacity "CAPACITY" Inconclusive Ended;
    /// The jobs were stopped at the time limit.
    TimeLimit "TIME_LIMIT" Inconclusive Ended;
    /// Too many rounds were spoiled by the infrastructure.
    ChurnLimit "CHURN_LIMIT" Inconclusive Ended;
    /// Rounds were thrown away mostly because of the same arm.
    ChurnOneSided "CHURN_ONE_SIDED" Inconclusive Ended;
    /// The infrastructure spoiled a round.
    InfraChurn "INFRA_CHURN" Inconclusive Procedure;
    /// A row was measured in some trials only.
    MissingStage "MISSING_STAGE" Inconclusive Procedure;
    /// A stage did not finish.
    FailedStage "FAILED_STAGE" Inconclusive Procedure;
    /// A measured value is not a usable number.
    BadValue "BAD_VALUE" Inconclusive Procedure;
    /// A run took no time because its results came from a cache.
    Cached "CACHED" Inconclusive Procedure;
    /// The arms ran a different number of pipeline executions.
    ExecutionCountMismatch "EXECUTION_COUNT_MISMATCH" Inconclusive Procedure;
    /// The arms did not process the same amount of data.
    DifferentWork "DIFFERENT_WORK" Inconclusive Procedure;
    /// Rows with much of the CPU time do not count their work.
    WorkNotCounted "WORK_NOT_COUNTED" Inconclusive Procedure;
    /// A row claims more CPU time than its cores could spend.
    Implausible "IMPLAUSIBLE" Inconclusive Procedure;
    /// A row took no time in one trial and a measurable time in another.
    ZeroOneSided "ZERO_ONE_SIDED" Inconclusive Procedure;
    /// Every row is too short to measure.
    BelowFloor "BELOW_FLOOR" Inconclusive Procedure;
    /// The noise is not known, and there are too few rounds to tell it.
    NoCalibration "NO_CALIBRATION" Inconclusive Procedure;
    /// The noise is known from a similar setting only, and there are too few rounds.
    WeakCalibration "WEAK_CALIBRATION" Inconclusive Procedure;
    /// The rounds differ far more than the calibrated noise.
    NoiseChanged "NOISE_CHANGED" Inconclusive Procedure;
    /// A row spends most of its time on fixed cost.
    OverheadDominated "OVERHEAD_DOMINATED" Inconclusive Procedure;
    /// Only elapsed time seems to have changed, and that is not confirmed.
    WallOnlyUnrepeated "WALL_ONLY_UNREPEATED" Inconclusive Procedure;
    /// CPU time went up; elapsed time may have gone down.
    TradeoffOrRegression "TRADEOFF_OR_REGRESSION" Inconclusive Procedure;
    /// An increase is confirmed; whether it is tolerated is not.
    SmallIncrease "SMALL_INCREASE" Inconclusive Procedure;
    /// CPU time seems to have gone up, not yet beyond doubt.
    SuspectedRegression "SUSPECTED_REGRESSION" Inconclusive Procedure;
    /// The noise is as large as the margin.
    MarginInNoiseBand "MARGIN_IN_NOISE_BAND" Inconclusive Procedure;
    /// The result is neither clearly inside nor outside the margin.
    Undecided "UNDECIDED" Inconclusive Procedure;
    /// Peak memory came close to the limit for the first time.
    MemAtRisk "MEM_AT_RISK" Inconclusive Procedure;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_found_again() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
        }
        assert_eq!(Reason::from_code("NOPE"), None);
    }

    #[test]
    fn engine_reasons_never_decide_for_the_change() {
        for reason in Reason::ALL.iter().filter(|r| r.origin() != Origin::Procedure) {
            assert_eq!(reason.verdict(), Verdict::Inconclusive);
        }
    }

    #[test]
    fn severity_orders_the_headline() {
        assert!(Verdict::Regression < Verdict::Inconclusive);
        assert!(Verdict::Inconclusive < Verdict::Tradeoff);
        assert!(Verdict::Tradeoff < Verdict::Pass);
    }
}
