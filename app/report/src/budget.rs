//! What is left out when a text is too long: step by step, the least needed first, each step said.

/// The size of a text as the strictest reader counts it: UTF-8 bytes, which are never fewer than UTF-16 units.
pub(crate) fn size(text: &str) -> usize {
    text.len()
}

/// The largest comment and check text.
pub(crate) const LIMIT: usize = 60_000;

/// How much of everything is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Rows of the table that is always open.
    pub(crate) open_rows: usize,
    /// Rows of each table that is folded away.
    pub(crate) folded_rows: usize,
    /// How many of the details are dropped, in the order of [`crate::details::DROPS`].
    pub(crate) dropped: usize,
    /// Characters of a foreign name.
    pub(crate) name: usize,
    /// Entries of a list: workload facts, jobs, treatments, differences.
    pub(crate) list: usize,
}

impl Limits {
    /// Everything.
    pub(crate) const ALL: Self =
        Self { open_rows: usize::MAX, folded_rows: usize::MAX, dropped: 0, name: 200, list: usize::MAX };

    /// What a terminal has room for: the rows that matter most, and everything else.
    pub(crate) const TERMINAL: Self = Self { open_rows: 15, folded_rows: 15, ..Self::ALL };

    /// From the fullest to the barest.
    pub(crate) fn ladder() -> Vec<Self> {
        let full = Self { open_rows: 15, folded_rows: usize::MAX, dropped: 0, name: 64, list: 24 };
        let drops = crate::details::DROPS.len();
        let mut ladder = vec![full, Self { folded_rows: 100, ..full }];
        ladder.extend((1..drops - 1).map(|dropped| Self { folded_rows: 60, dropped, ..full }));
        let bare = Self { folded_rows: 60, dropped: drops - 2, ..full };
        ladder.extend([
            Self { folded_rows: 30, ..bare },
            Self { dropped: drops - 1, folded_rows: 30, ..full },
            Self { dropped: drops, folded_rows: 0, ..full },
            Self { dropped: drops, folded_rows: 0, open_rows: 8, name: 48, list: 8 },
            Self { dropped: drops, folded_rows: 0, open_rows: 4, name: 32, list: 3 },
        ]);
        ladder
    }
}
