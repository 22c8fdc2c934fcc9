//! Leaves acts out of a schedule as long as it still breaks.

use super::habit::Habit;
use super::{Act, PullReport, acts_of, played};

/// What broke, without the numbers and names that change when acts are left out.
fn kind(report: &PullReport) -> Option<String> {
    let first = report.violations.first()?;
    Some(first.split_whitespace().filter(|word| word.chars().all(|c| c.is_alphabetic() || c == ',')).collect())
}

/// The shortest schedule found in which the same breaks as in that of the seed, one line for each act, and what breaks.
/// Nothing where nothing breaks.
#[must_use]
pub fn shrunk(seed: u64, habit: Habit) -> Option<(Vec<String>, Vec<String>)> {
    let mut acts: Vec<Act> = acts_of(seed);
    let wanted = kind(&played(seed, habit, &acts))?;
    let mut size = acts.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < acts.len() {
            let end = (at + size).min(acts.len());
            let fewer: Vec<Act> =
                acts.iter().enumerate().filter(|(n, _)| !(at..end).contains(n)).map(|(_, act)| *act).collect();
            if kind(&played(seed, habit, &fewer)).as_ref() == Some(&wanted) {
                acts = fewer;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    let violations = played(seed, habit, &acts).violations;
    Some((acts.iter().map(|act| format!("{act:?}")).collect(), violations))
}
