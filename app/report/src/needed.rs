//! How many rounds would decide, if the estimates stay as they are. The standard error falls with the square root of
//! the number of rounds; the quantile of t is taken as it is now, which is on the safe side.

use domain::view::{Config, Direction, Judgement, Metric, Ordered, Reason, RowStats, Side, Verdict, View};

/// More rounds than anybody runs.
const MANY: f64 = 200.0;

/// The smallest number of rounds, more than there are, at which `now` · sqrt(n / rounds) is below `wanted`.
fn scaled(n: usize, now: f64, wanted: f64) -> Option<u64> {
    let rounds = n as f64 * (now / wanted).powi(2);
    if !rounds.is_finite() || rounds >= MANY || wanted <= 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and MANY
    let rounds = rounds.floor() as u64 + 1;
    Some(rounds.max(n as u64 + 1))
}

/// Rounds at which the noise band of a row is narrower than its tolerance.
pub(crate) fn to_leave_the_noise(row: &RowStats) -> Option<u64> {
    scaled(row.n, row.band, row.margin_pass)
}

/// Rounds at which the interval of a row no longer lies across its tolerance.
fn to_decide(row: &RowStats) -> Option<u64> {
    scaled(row.n, row.band, (row.margin_pass - row.est).abs())
}

/// Rounds at which an increase of the size seen is confirmed with probability 0.9.
fn to_confirm(row: &RowStats) -> Option<u64> {
    scaled(row.n, row.mde90, row.est)
}

/// What adding rounds promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// This many in all.
    Rounds(u64),
    /// No fewer than this many in all; whether they decide cannot be told yet.
    AtLeast(u64),
    /// More than anybody runs.
    TooMany,
    /// There are no statistics to tell it from.
    Unknown,
}

/// How many rounds in all would decide what is open: the one rule for a row and for a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    judgement: &'a Judgement,
    /// Fewer rounds than these decide nothing, whatever they say.
    floor: u64,
    /// What the procedure asks for at least, 0 where it asks for nothing.
    asked: u64,
}

impl<'a> Rule<'a> {
    /// The rule of a judgement, with `done` rounds so far.
    #[must_use]
    pub fn new(judgement: &'a Judgement, settings: &Config, done: u64) -> Self {
        let asked = match judgement.reason {
            Reason::NoCalibration => whole(settings.min_rounds_c),
            Reason::WeakCalibration => whole(settings.min_rounds_b),
            Reason::WallOnlyUnrepeated => whole(settings.wall_min_rounds),
            _ => 0,
        };
        Self { judgement, floor: asked.max(done + 1), asked }
    }

    /// What would settle a row by a metric; `None` where that does not hold anything open.
    #[must_use]
    pub fn row(&self, name: &str, metric: Metric) -> Option<Promise> {
        let verdict = self.judgement.rows.as_ref()?.get(name)?;
        let row = self.judgement.row(metric, name)?;
        let open = match metric {
            Metric::Cpu => !row.fits() || across(row),
            Metric::Elapsed => unsettled(row),
        };
        if *verdict != Verdict::Inconclusive || !open {
            return None;
        }
        let rounds = if row.suspect == Some(Side::Higher) && row.ni { to_confirm(row) } else { to_decide(row) };
        // An estimate next to its tolerance would need endless rounds if it stayed there; it rarely does.
        Some(match (rounds, to_leave_the_noise(row)) {
            (Some(rounds), _) => Promise::Rounds(rounds.max(self.floor)),
            (None, Some(rounds)) => Promise::AtLeast(rounds.max(self.floor)),
            (None, None) => Promise::TooMany,
        })
    }

    /// What would decide the verdict: the largest need of its open rows.
    #[must_use]
    pub fn all(&self) -> Promise {
        let names = self.judgement.rows.iter().flat_map(Ordered::iter).map(|(name, _)| name);
        let needs = names.flat_map(|name| Metric::ALL.into_iter().filter_map(|metric| self.row(name, metric)));
        let none = if self.asked == 0 { Promise::Unknown } else { Promise::AtLeast(self.floor) };
        needs.reduce(Promise::and).unwrap_or(none)
    }
}

impl Promise {
    /// What two needs come to together.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rounds(a), Self::Rounds(b)) => Self::Rounds(a.max(b)),
            (Self::Rounds(a) | Self::AtLeast(a), Self::Rounds(b) | Self::AtLeast(b)) => Self::AtLeast(a.max(b)),
            (Self::TooMany, _) | (_, Self::TooMany) => Self::TooMany,
            (Self::Unknown, known) | (known, Self::Unknown) => known,
        }
    }
}

/// The largest number of rounds that any row rests on.
#[must_use]
pub fn done(view: &View) -> u64 {
    let tables = view.treatments.iter().filter_map(|treatment| treatment.judgement.as_ref()).map(|j| &j.table);
    let judged = tables.flat_map(Ordered::iter).map(|(_, row)| row.cpu.n_treatment as u64).max().unwrap_or(0);
    view.rounds.done.max(judged)
}

/// A confirmed increase whose interval lies across its tolerance.
fn across(row: &RowStats) -> bool {
    row.direction == Direction::Higher && !row.beyond && !row.ni
}

/// An elapsed time that keeps a row from passing.
fn unsettled(row: &RowStats) -> bool {
    across(row) || row.suspect == Some(Side::Higher)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive setting
fn whole(setting: f64) -> u64 {
    setting.clamp(0.0, 1e6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_shrinks_with_the_root_of_the_rounds() {
        // Twice as wide as wanted: four times the rounds, and one more so that it is below.
        assert_eq!(scaled(3, 0.1, 0.05), Some(13));
        assert_eq!(scaled(3, 0.049, 0.05), Some(4));
        assert_eq!(scaled(1, 1.0, 0.05), None);
        assert_eq!(scaled(1, f64::NAN, 0.05), None);
        assert_eq!(scaled(1, 0.1, 0.0), None);
    }

    #[test]
    fn the_largest_need_counts() {
        use Promise::{AtLeast, Rounds, TooMany, Unknown};
        for (one, other, both) in [
            (Rounds(4), Rounds(9), Rounds(9)),
            (Rounds(4), AtLeast(3), AtLeast(4)),
            (AtLeast(4), AtLeast(7), AtLeast(7)),
            (TooMany, Rounds(4), TooMany),
            (AtLeast(4), TooMany, TooMany),
            (Unknown, Rounds(4), Rounds(4)),
        ] {
            assert_eq!(one.and(other), both);
            assert_eq!(other.and(one), both);
        }
    }
}
