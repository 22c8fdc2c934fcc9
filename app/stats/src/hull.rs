//! Two ways of comparing one row, raw and per unit of work, as one.

use crate::family::{Direction, RowStats, Side};

/// What may be said when both the raw and the normalised ratio are judged: cost per unit of work has an elasticity
/// between 0 and 1, so a claim needs the two to agree.
#[must_use]
pub fn hull(raw: &RowStats, per_unit: &RowStats) -> RowStats {
    let (a, b) = (raw, per_unit);
    let same = a.direction == b.direction;
    let up = a.increase().is_some() && b.increase().is_some();
    let direction = if same {
        b.direction
    } else if up {
        Direction::Higher
    } else {
        Direction::Unknown
    };
    let hints = [a, b].map(|x| match x.direction {
        Direction::Higher => Some(Side::Higher),
        Direction::Lower => Some(Side::Lower),
        Direction::Flat | Direction::Unknown => x.suspect,
    });
    let suspect = if direction != Direction::Unknown {
        None
    } else if hints.contains(&Some(Side::Higher)) {
        Some(Side::Higher)
    } else if hints == [Some(Side::Lower); 2] {
        Some(Side::Lower)
    } else {
        None
    };
    RowStats {
        direction,
        small: if up && a.ni && b.ni {
            Some(Side::Higher)
        } else if same && a.small == Some(Side::Lower) && b.small == Some(Side::Lower) {
            Some(Side::Lower)
        } else {
            None
        },
        beyond: a.beyond && b.beyond,
        suspect,
        ni: a.ni && b.ni,
        margin_in_noise: a.margin_in_noise || b.margin_in_noise,
        lo: a.lo.min(b.lo),
        hi: a.hi.max(b.hi),
        p_higher: a.p_higher.max(b.p_higher),
        holm_higher: a.holm_higher.max(b.holm_higher),
        p_lower: a.p_lower.max(b.p_lower),
        holm_lower: a.holm_lower.max(b.holm_lower),
        band: a.band.max(b.band),
        mde90: a.mde90.max(b.mde90),
        ..b.clone()
    }
}
