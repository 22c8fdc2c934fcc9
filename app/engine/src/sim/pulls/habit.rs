//! Mistakes that can be planted, one at a time, each to show that what must hold can be found broken.

use domain::ports::desk::Want;

/// A mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Habit {
    /// None.
    #[default]
    Sound,
    /// That a run is over is not written down.
    LosesEnds,
    /// A run that a newer push makes needless is not stopped.
    LetsSupersededGoOn,
    /// What is measured by itself never begins.
    NeverBegins,
    /// Every head of a fork is taken for approved.
    ApprovesForks,
    /// Commands of everybody are done.
    AsksNobody,
    /// Comments get no reaction.
    NeverReacts,
    /// Comments are made without looking for one that is there.
    CommentsBlindly,
    /// Checks are made without looking for one that is there.
    ChecksBlindly,
    /// The end of a check is not said.
    LeavesChecksOpen,
    /// Nobody looks at a pull request after a push.
    LooksAway,
    /// A head that changes something is taken for the same.
    CarriesEverything,
    /// A plan of a new head goes on with the trials of an older one.
    KeepsControls,
    /// What was said counts as unsaid.
    NeverContent,
    /// A push to a draft is measured.
    MeasuresDrafts,
}

impl Habit {
    /// Every one of them.
    pub const ALL: [Self; 14] = [
        Self::LosesEnds,
        Self::LetsSupersededGoOn,
        Self::NeverBegins,
        Self::ApprovesForks,
        Self::AsksNobody,
        Self::NeverReacts,
        Self::CommentsBlindly,
        Self::ChecksBlindly,
        Self::LeavesChecksOpen,
        Self::LooksAway,
        Self::CarriesEverything,
        Self::KeepsControls,
        Self::NeverContent,
        Self::MeasuresDrafts,
    ];

    pub(super) fn forgets_effect(self, key: &str) -> bool {
        match self {
            Self::LetsSupersededGoOn => key.starts_with("cancel:") && key.ends_with(":superseded"),
            Self::NeverBegins => key.starts_with("begin:"),
            Self::NeverReacts => key.starts_with("react:"),
            _ => false,
        }
    }

    pub(super) fn forgets_want(self, want: &Want) -> bool {
        self == Self::LeavesChecksOpen
            && want.target.starts_with("check:")
            && !want.wanted.contains("\"conclusion\":null")
    }
}
