//! How many rounds would decide, if the estimates stay as they are. The standard error falls with the square root of
//! the number of rounds; the quantile of t is taken as it is now, which is on the safe side.

use domain::view::{Config, Direction, Judgement, Metric, Ordered, Reason, RowStats, Side, Verdict};

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
pub(crate) enum Promise {
    /// This many in all.
    Rounds(u64),
    /// No fewer than this many in all; whether they decide cannot be told yet.
    AtLeast(u64),
    /// More than anybody runs.
    TooMany,
    /// There are no statistics to tell it from.
    Unknown,
}

/// How many rounds in all would decide a verdict that is open, with `done` rounds so far.
pub(crate) fn rounds(judgement: &Judgement, settings: &Config, done: u64) -> Promise {
    let floor = match judgement.reason {
        Reason::NoCalibration => whole(settings.min_rounds_c),
        Reason::WeakCalibration => whole(settings.min_rounds_b),
        Reason::WallOnlyUnrepeated => whole(settings.wall_min_rounds),
        _ => 0,
    };
    let mut most = 0;
    let mut open = 0;
    let mut certain = true;
    for (name, verdict) in judgement.rows.iter().flat_map(Ordered::iter) {
        if *verdict != Verdict::Inconclusive {
            continue;
        }
        let [cpu, elapsed] = Metric::ALL.map(|metric| judgement.row(metric, name));
        let wanted = [cpu.filter(|row| !row.fits() || across(row)), elapsed.filter(|row| unsettled(row))];
        for row in wanted.into_iter().flatten() {
            open += 1;
            let rounds = if row.suspect == Some(Side::Higher) && row.ni { to_confirm(row) } else { to_decide(row) };
            // An estimate next to its tolerance would need endless rounds if it stayed there; it rarely does.
            certain &= rounds.is_some();
            match rounds.or_else(|| to_leave_the_noise(row)) {
                Some(rounds) => most = most.max(rounds),
                None => return Promise::TooMany,
            }
        }
    }
    match (open, floor) {
        (0, 0) => Promise::Unknown,
        (0, floor) => Promise::AtLeast(floor.max(done + 1)),
        (_, floor) if !certain => Promise::AtLeast(most.max(floor).max(done + 1)),
        (_, floor) => Promise::Rounds(most.max(floor).max(done + 1)),
    }
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
}
