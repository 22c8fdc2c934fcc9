//! When discarded trials are one-sided.

/// Whether a treatment lost so many more trials than its control that its discards look like its own doing: 3 against
/// none, or a one-sided binomial test at 5 %. Then replacing rounds would hide a change that breaks machines.
#[must_use]
pub fn one_sided(control: u32, treatment: u32) -> bool {
    if treatment <= control {
        return false;
    }
    if control == 0 && treatment >= 3 {
        return true;
    }
    let n = control.saturating_add(treatment).min(1000);
    // P(X >= treatment) for X of n fair coins, summed from the far end.
    let (mut term, mut tail) = (0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX)), 0.0);
    for k in 0..=control.min(n) {
        tail += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    tail < 0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_to_none_or_five_percent() {
        // Tails of the binomial distribution: (4,1) 6/32, (6,1) 8/128, (7,1) 9/256, (8,2) 56/1024, (9,2) 67/2048.
        for (control, treatment, expected) in [
            (0, 2, false),
            (0, 3, true),
            (1, 4, false),
            (1, 6, false),
            (1, 7, true),
            (2, 8, false),
            (2, 9, true),
            (3, 3, false),
            (9, 0, false),
            (0, 0, false),
        ] {
            assert_eq!(one_sided(control, treatment), expected, "{control} : {treatment}");
        }
    }
}
