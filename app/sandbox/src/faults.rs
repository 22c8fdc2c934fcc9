//! What goes wrong on purpose.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dice::Dice;

/// Probabilities from 0 to 1, of each delivery and of each request to the API, which are thrown with the sandbox's seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// A delivery never arrives. The log says so.
    pub lost: f64,
    /// A delivery arrives twice.
    pub doubled: f64,
    /// A delivery arrives after the next one.
    pub reordered: f64,
    /// A delivery arrives late.
    pub late: f64,
    /// How late, milliseconds.
    pub late_ms: u64,
    /// A request is answered 502, and nothing was done.
    pub refused: f64,
    /// A request is answered 502, though it was done.
    pub forgotten: f64,
    /// The connection is closed without an answer and nothing was done.
    pub cut: f64,
    /// The connection is closed without an answer, though it was done.
    pub cut_after: f64,
    /// The hourly limit is said to be used up.
    pub primary: f64,
    /// The limit for bursts is said to be reached.
    pub secondary: f64,
    /// An answer takes longer.
    pub slow: f64,
    /// How much longer, milliseconds.
    pub slow_ms: u64,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// This status is answered, and nothing is done.
    Refused(u16),
    /// It is done, and then this status is answered.
    Forgotten(u16),
    /// The connection is closed without an answer, and nothing is done.
    Cut,
    /// It is done, and then the connection is closed without an answer.
    CutAfter,
    /// 403 with no requests left; they come back after so many seconds.
    Primary(u64),
    /// 429 with `retry-after`, seconds.
    Secondary(u64),
    /// 403 with `retry-after`, seconds.
    SecondaryForbidden(u64),
    /// It is done and answered, so many milliseconds later.
    Slow(u64),
    /// 404, as after a transfer.
    Gone,
    /// 403 "Resource not accessible by integration".
    Forbidden,
}

/// A fault for the next requests of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `POST` and so on; `*` is any.
    pub method: String,
    /// The path below the prefix, where `*` stands for any number of characters.
    pub path: String,
    /// So many matching requests go well first.
    #[serde(default)]
    pub skip: u32,
    /// So many then meet the fault.
    #[serde(default = "once")]
    pub times: u32,
    /// What happens.
    pub fault: Fault,
}

fn once() -> u32 {
    1
}

impl Rule {
    /// The next request of this kind meets the fault.
    #[must_use]
    pub fn next(method: &str, path: &str, fault: Fault) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), skip: 0, times: 1, fault }
    }
}

/// What happens to a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journey {
    pub(crate) lost: bool,
    pub(crate) doubled: bool,
    pub(crate) reordered: bool,
    pub(crate) late: Option<Duration>,
}

impl Faults {
    pub(crate) fn journey(&self, dice: &mut Dice) -> Journey {
        Journey {
            lost: dice.happens(self.lost),
            doubled: dice.happens(self.doubled),
            reordered: dice.happens(self.reordered),
            late: dice.happens(self.late).then(|| Duration::from_millis(self.late_ms)),
        }
    }

    fn request(&self, dice: &mut Dice) -> Option<Fault> {
        let all = [
            (self.refused, Fault::Refused(502)),
            (self.forgotten, Fault::Forgotten(502)),
            (self.cut, Fault::Cut),
            (self.cut_after, Fault::CutAfter),
            (self.primary, Fault::Primary(60)),
            (self.secondary, Fault::Secondary(1)),
            (self.slow, Fault::Slow(self.slow_ms)),
        ];
        all.into_iter().find(|(probability, _)| dice.happens(*probability)).map(|(_, fault)| fault)
    }
}

/// The fault that a request meets: by the first rule that matches, or else by chance.
pub(crate) fn met(rules: &mut Vec<Rule>, faults: &Faults, dice: &mut Dice, method: &str, path: &str) -> Option<Fault> {
    for rule in rules.iter_mut() {
        let matches = (rule.method == "*" || rule.method == method) && is_like(path, &rule.path);
        if !matches {
            continue;
        }
        if rule.skip > 0 {
            rule.skip -= 1;
            continue;
        }
        if rule.times > 0 {
            rule.times -= 1;
            let fault = rule.fault;
            rules.retain(|rule| rule.times > 0);
            return Some(fault);
        }
    }
    faults.request(dice)
}

/// Whether a text is like a pattern in which `*` stands for any number of characters.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(text) = text.strip_prefix(first) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| is_like(&text[at..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("/app", "/app", true),
            ("/app/x", "/app", false),
            ("/repos/o/r/issues/1/comments", "/repos/*/comments", true),
            ("/repos/o/r/issues/1/comments", "*", true),
            ("/repos/o/r/issues/1/comments/", "/repos/*/comments", false),
            ("/repos/o/r", "/repos/*/*/issues", false),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn a_rule_holds_for_as_many_as_it_says() {
        let mut rules = vec![Rule { skip: 1, times: 2, ..Rule::next("POST", "/x*", Fault::Cut) }];
        let mut dice = Dice::new(1);
        let mut ask = |method| met(&mut rules, &Faults::default(), &mut dice, method, "/x/y");
        let asked = [ask("POST"), ask("GET"), ask("POST"), ask("POST"), ask("POST")];
        assert_eq!(asked, [None, None, Some(Fault::Cut), Some(Fault::Cut), None]);
        assert!(rules.is_empty());
    }

    #[test]
    fn chance_is_thrown_with_the_seed() {
        let faults = Faults { refused: 0.5, lost: 0.5, ..Faults::default() };
        let all = |seed| {
            let mut dice = Dice::new(seed);
            let met: Vec<_> = (0..50).map(|_| met(&mut Vec::new(), &faults, &mut dice, "GET", "/")).collect();
            (met, (0..50).map(|_| faults.journey(&mut dice)).collect::<Vec<_>>())
        };
        assert_eq!(all(3), all(3));
        assert!(all(3).0.contains(&None) && all(3).0.contains(&Some(Fault::Refused(502))));
    }
}
