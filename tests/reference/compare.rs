//! Two answers: words, flags and the order of rows exactly, numbers to 1e-9.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Answer, Reference};
use crate::support::json::Json;

/// Where two answers differ.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) place: String,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n  ours   {}\n  theirs {}", self.place, self.ours, self.theirs)
    }
}

/// What came of comparing a case.
pub(crate) enum Compared {
    /// Both say the same: the reasons of every treatment, or none where both refuse.
    Same(Vec<String>),
    Different(Difference),
    /// The reference has no answer.
    Crashed(String),
}

fn short(text: &impl ToString) -> String {
    let text = text.to_string();
    if text.chars().count() > 300 { format!("{} ...", text.chars().take(300).collect::<String>()) } else { text }
}

/// Asks both for an answer and compares.
pub(crate) fn difference(reference: &mut Reference, case: &str) -> Compared {
    let theirs = reference.ask(case);
    let ours = catch_unwind(AssertUnwindSafe(|| {
        stats::input::parse(case).map(|case| Json::of(&stats::judge(&case))).map_err(|error| error.to_string())
    }));
    let differ = |place: &str, ours: String, theirs: String| {
        Compared::Different(Difference { place: place.to_owned(), ours, theirs })
    };
    match (ours, theirs) {
        (Err(_), theirs) => differ("", "a panic".to_owned(), short(&format!("{theirs:?}"))),
        (_, Answer::Crashed(message)) => Compared::Crashed(message),
        (Ok(Err(_)), Answer::Refused(_)) => Compared::Same(Vec::new()),
        (Ok(Err(error)), Answer::Result(result)) => differ("", format!("refused: {error}"), short(&result)),
        (Ok(Ok(result)), Answer::Refused(error)) => differ("", short(&result), format!("refused: {error}")),
        (Ok(Ok(ours)), Answer::Result(theirs)) => match unequal(&ours, &theirs, "") {
            Some(difference) => Compared::Different(difference),
            None => Compared::Same(reasons(&ours)),
        },
    }
}

fn reasons(answer: &Json) -> Vec<String> {
    let own = |answer: &Json| answer.at("reason").str().expect("a code").to_owned();
    match answer.get("treatments") {
        Some(treatments) => treatments.fields().iter().map(|(_, t)| own(t)).collect(),
        None => vec![own(answer)],
    }
}

/// Numbers agree to 1e-9 relative, or 1e-12 near 0.
pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= (1e-9 * a.abs().max(b.abs())).max(1e-12)
}

/// How far two p values of a row may lie apart where the arithmetic below them says no more.
///
/// At one degree of freedom and within 3e-8 of t = 0 the tail of the reference's library is a half, or off by 2e-9, where
/// the closed form 1/2 - atan(t)/pi is not; ours follows the closed form. And where a row does not vary at all and a case
/// allows that (`sd_floor` 0), the rounding of a sum over its rounds is the whole of t; ours sums in the order of the input.
fn slack(row: &Json, key: &str) -> f64 {
    let field = |key: &str| row.get(key).and_then(Json::number);
    let (Some(est), Some(se), Some(df)) = (field("est"), field("se"), field("df")) else { return 0.0 };
    if !matches!(key, "p_higher" | "p_lower" | "holm_higher" | "holm_lower") {
        0.0
    } else if est.abs() < 1e-13 {
        (1e-14 / se).min(1.0)
    } else if df == 1.0 {
        1e-8
    } else {
        0.0
    }
}

/// The first place where two values differ.
pub(crate) fn unequal(ours: &Json, theirs: &Json, place: &str) -> Option<Difference> {
    let differ = || Some(Difference { place: place.to_owned(), ours: short(ours), theirs: short(theirs) });
    match (ours, theirs) {
        (Json::Num(a), Json::Num(b)) => {
            let (a, b) = (a.parse().expect("a number"), b.parse().expect("a number"));
            if close(a, b) { None } else { differ() }
        }
        (Json::List(a), Json::List(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| unequal(a, b, &format!("{place}[{i}]")))
        }
        (Json::Object(a), Json::Object(b)) => {
            // Notes and declared differences are looked up; everything else is shown in its order.
            let notes = place.rsplit('.').next() == Some("notes") || place.contains(".declared");
            let keys = |fields: &[(String, Json)]| {
                let mut keys: Vec<String> = fields.iter().map(|(key, _)| key.clone()).collect();
                if notes {
                    keys.sort();
                }
                keys
            };
            if keys(a) != keys(b) {
                let (ours, theirs) = (format!("fields {:?}", keys(a)), format!("fields {:?}", keys(b)));
                return Some(Difference { place: place.to_owned(), ours, theirs });
            }
            a.iter().find_map(|(key, a)| {
                let (_, b) = b.iter().find(|(other, _)| other == key)?;
                if a.number().zip(b.number()).is_some_and(|(a, b)| (a - b).abs() < slack(ours, key)) {
                    return None;
                }
                unequal(a, b, &format!("{place}.{key}"))
            })
        }
        (a, b) if a == b => None,
        _ => differ(),
    }
}
