//! How a check ends, by what a comparison came to.

use domain::ports::forge::Conclusion;
use domain::view::{Ending, Verdict};

/// What a verdict means to whoever merges. Nothing but a proven pass is ever a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusions {
    /// Proven to cost more than is tolerated.
    pub regression: Conclusion,
    /// One of CPU and elapsed time got better, the other worse.
    pub tradeoff: Conclusion,
    /// Nothing is proven.
    pub inconclusive: Conclusion,
}

impl Default for Conclusions {
    /// A regression stands against the change, nothing else does.
    fn default() -> Self {
        Self { regression: Conclusion::Failure, tradeoff: Conclusion::Neutral, inconclusive: Conclusion::Neutral }
    }
}

impl Conclusions {
    /// The words that a configuration may have for a verdict, and what they are.
    pub const WORDS: [(&str, Conclusion); 3] = [
        ("failure", Conclusion::Failure),
        ("neutral", Conclusion::Neutral),
        ("action_required", Conclusion::ActionRequired),
    ];

    /// How a check ends; `None` while the run goes on. `decided` where a person accepted the verdict or said that no
    /// benchmark is needed: then nothing stands against the change, and nothing is proven either.
    #[must_use]
    pub fn of(&self, verdict: Option<Verdict>, ended: Option<Ending>, decided: bool) -> Option<Conclusion> {
        Some(match (verdict, ended) {
            (Some(Verdict::Pass), _) => Conclusion::Success,
            (Some(_), _) if decided => Conclusion::Neutral,
            (Some(Verdict::Regression), _) => self.regression,
            (Some(Verdict::Tradeoff), _) => self.tradeoff,
            (Some(Verdict::Inconclusive), _) => self.inconclusive,
            (None, Some(Ending::Cancelled | Ending::Superseded)) => Conclusion::Cancelled,
            (None, Some(Ending::Expired)) => Conclusion::TimedOut,
            (
                None,
                Some(Ending::Skipped | Ending::Refused | Ending::Failed | Ending::ChecksFailed | Ending::HeadMoved),
            ) => Conclusion::Neutral,
            (None, None) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_and_every_ending() {
        use Conclusion::{ActionRequired, Cancelled, Failure, Neutral, Success, TimedOut};
        let usual = Conclusions::default();
        let strict = Conclusions { regression: Failure, tradeoff: ActionRequired, inconclusive: Failure };
        for (verdict, by_usual, by_strict, decided) in [
            (Verdict::Pass, Success, Success, Success),
            (Verdict::Regression, Failure, Failure, Neutral),
            (Verdict::Tradeoff, Neutral, ActionRequired, Neutral),
            (Verdict::Inconclusive, Neutral, Failure, Neutral),
        ] {
            assert_eq!(usual.of(Some(verdict), None, false), Some(by_usual), "{verdict:?}");
            assert_eq!(strict.of(Some(verdict), None, false), Some(by_strict), "{verdict:?}");
            for rules in [usual, strict] {
                assert_eq!(rules.of(Some(verdict), None, true), Some(decided), "{verdict:?}");
            }
        }
        for how in Ending::ALL {
            let wanted = match how {
                Ending::Cancelled | Ending::Superseded => Cancelled,
                Ending::Expired => TimedOut,
                _ => Neutral,
            };
            assert_eq!(strict.of(None, Some(how), false), Some(wanted), "{how:?}");
        }
        assert_eq!(usual.of(None, None, true), None);
    }

    #[test]
    fn no_word_makes_a_success_of_what_is_not_proven() {
        for (word, conclusion) in Conclusions::WORDS {
            assert_eq!(word, conclusion.word());
            assert_ne!(conclusion, Conclusion::Success);
        }
    }
}
